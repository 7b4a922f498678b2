/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects, checked. The parser refuses what is not UTF-8 and strings with a NUL, so
 * texts can be used as C strings; its depth is limited, ours is the depth of types. */
#include "format/json_read.h"

#include <stdlib.h>

enum { JSON_SIZE_MAX = 16 << 20 };

static fluss_code_t invalid_kind(const char *key, const char *wanted, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT, "'%s' is not %s", key, wanted);
}

fluss_code_t fl_json_missing(const char *key, fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT, "'%s' is missing", key);
}

fluss_code_t fl_json_load(fl_slice text, json_t **root, fluss_error_t *err)
{
    *root = NULL;
    if (text.size > JSON_SIZE_MAX) {
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "JSON of %zu bytes, at most %d are read", text.size, JSON_SIZE_MAX);
    }
    json_error_t where;
    json_t *parsed = json_loadb((const char *)text.data, text.size, 0, &where);
    if (parsed == NULL) {
        return json_error_code(&where) == json_error_out_of_memory
                   ? fl_error_nomem(err)
                   : fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                              "JSON at byte %d: %s", where.position, where.text);
    }
    if (!json_is_object(parsed)) {
        json_decref(parsed);
        return fl_error(err, FLUSS_E_INVALID_TABLE, FLUSS_KIND_ARGUMENT,
                        "JSON: expected an object");
    }
    *root = parsed;
    return 0;
}

fluss_code_t fl_json_is_object(const json_t *value, const char *what, fluss_error_t *err)
{
    return json_is_object(value) ? 0 : invalid_kind(what, "an object", err);
}

fluss_code_t fl_json_get_str(const json_t *object, const char *key, const char **text,
                             fluss_error_t *err)
{
    const json_t *member = json_object_get(object, key);
    *text = NULL;
    if (member == NULL || json_is_null(member)) {
        return 0;
    }
    *text = json_string_value(member);
    return *text != NULL ? 0 : invalid_kind(key, "a string", err);
}

fluss_code_t fl_json_get_array(const json_t *object, const char *key, const json_t **array,
                               fluss_error_t *err)
{
    *array = json_object_get(object, key);
    if (*array == NULL || json_is_null(*array)) {
        *array = NULL;
        return 0;
    }
    return json_is_array(*array) ? 0 : invalid_kind(key, "an array", err);
}

fluss_code_t fl_json_get_object(const json_t *object, const char *key, const json_t **member,
                                fluss_error_t *err)
{
    *member = json_object_get(object, key);
    if (*member == NULL || json_is_null(*member)) {
        *member = NULL;
        return 0;
    }
    return fl_json_is_object(*member, key, err);
}

fluss_code_t fl_json_get_int(const json_t *object, const char *key, int32_t fallback,
                             int32_t *number, fluss_error_t *err)
{
    const json_t *member = json_object_get(object, key);
    *number = fallback;
    if (member == NULL || json_is_null(member)) {
        return 0;
    }
    const json_int_t value = json_integer_value(member);
    if (!json_is_integer(member) || value < INT32_MIN || value > INT32_MAX) {
        return invalid_kind(key, "a 32-bit integer", err);
    }
    *number = (int32_t)value;
    return 0;
}

fluss_code_t fl_json_str_list(const json_t *array, const char *key, fl_arena *arena,
                              const char ***texts, size_t *count, fluss_error_t *err)
{
    *count = json_array_size(array);
    *texts = fl_arena_array(arena, *count, sizeof(**texts));
    if (*texts == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < *count; i++) {
        (*texts)[i] = json_string_value(json_array_get(array, i));
        if ((*texts)[i] == NULL) {
            return invalid_kind(key, "an array of strings", err);
        }
    }
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const fluss_kv_t *)a)->key, ((const fluss_kv_t *)b)->key);
}

fluss_code_t fl_json_str_map_read(const json_t *object, const char *key, fl_arena *arena,
                                  fluss_kv_t **entries, size_t *count, fluss_error_t *err)
{
    *count = 0;
    *entries = fl_arena_array(arena, json_object_size(object), sizeof(**entries));
    if (*entries == NULL) {
        return fl_error_nomem(err);
    }
    /* The iterator takes a mutable object, but only json_object_iter_set would change it. */
    json_t *map = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(map); at != NULL; at = json_object_iter_next(map, at)) {
        const char *text = json_string_value(json_object_iter_value(at));
        if (text == NULL) {
            fluss_code_t rc = invalid_kind(json_object_iter_key(at), "a string", err);
            fl_error_prefix(err, "%s: ", key);
            return rc;
        }
        fluss_kv_t *entry = &(*entries)[*count];
        entry->key = fl_arena_strdup(arena, json_object_iter_key(at));
        entry->value = fl_arena_strdup(arena, text);
        if (entry->key == NULL || entry->value == NULL) {
            return fl_error_nomem(err);
        }
        (*count)++;
    }
    qsort(*entries, *count, sizeof(**entries), compare_keys);
    return 0;
}
