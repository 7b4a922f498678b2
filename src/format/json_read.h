/* SPDX-License-Identifier: Apache-2.0 */
/* Reading descriptors: parsing, members by name with errors that say what is wrong, and the readers
 * of nested objects. Private to format/. Every failure is FLUSS_E_INVALID_TABLE. */
#ifndef FL_JSON_READ_H
#define FL_JSON_READ_H
#include <jansson.h>

#include "format/table_desc.h"

/** Parse a document that must be an object. gives (json_decref). */
FLUSS_CHECKED fluss_code_t fl_json_load(fl_slice text, json_t **root, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_json_is_object(const json_t *value, const char *what,
                                             fluss_error_t *err);
/** Members: absent and null give NULL (or `fallback`), another kind is an error. Views the
 * document. */
FLUSS_CHECKED fluss_code_t fl_json_get_str(const json_t *object, const char *key, const char **text,
                                           fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_json_get_array(const json_t *object, const char *key,
                                             const json_t **array, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_json_get_object(const json_t *object, const char *key,
                                              const json_t **member, fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_json_get_int(const json_t *object, const char *key, int32_t fallback,
                                           int32_t *number, fluss_error_t *err);
/** An array of strings; strings view the document, the list lies in the arena. `key` for errors. */
FLUSS_CHECKED fluss_code_t fl_json_str_list(const json_t *array, const char *key, fl_arena *arena,
                                            const char ***texts, size_t *count, fluss_error_t *err);
/** A map of strings, copied into the arena, sorted by key. */
FLUSS_CHECKED fluss_code_t fl_json_str_map_read(const json_t *object, const char *key,
                                                fl_arena *arena, fluss_kv_t **entries,
                                                size_t *count, fluss_error_t *err);
/** A member that must be there. */
FLUSS_CHECKED fluss_code_t fl_json_missing(const char *key, fluss_error_t *err);

/** A data type; texts are copied into the arena. */
FLUSS_CHECKED fluss_code_t fl_type_read(const json_t *json, fl_arena *arena, fl_type *type,
                                        fluss_error_t *err);
FLUSS_CHECKED fluss_code_t fl_schema_read(const json_t *json, fl_schema **schema,
                                          fluss_error_t *err);
#endif
