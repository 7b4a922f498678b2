/* SPDX-License-Identifier: Apache-2.0 */
/* Bitmaps of 64-bit integers: a radix tree from the upper 48 bits of a value to a container of its
 * lower 16. Little endian, where not said otherwise:
 *
 *   0 u8                     an empty bitmap, nothing follows
 *   1 u8 · keys i64          how many leaves the tree has; then its nodes, parents first, children
 *                            by key: kind u8 · child count u16 · prefix size u8 · prefix · body
 *   kind 0, 1  up to 4, 16   keys ascending, the bytes of each 4 (kind 0) or 8 (kind 1) reversed
 *   kind 2     up to 48      for each of 256 keys a slot, 255: none; each 8 bytes reversed
 *   kind 3     up to 256     a bit for each key
 *   kind 4     a leaf        the whole key, 6 bytes big endian · index i64 of its container; its
 *                            count is 0; its prefix has no meaning, and is kept until a
 *                            branch takes its place
 *   then       1 i32 · -2 i8 · slot count i32, and for each slot 0 u8 for none, or
 *              1 u8 · form u8 · cardinality i32 · container
 *   then       container count i64 · 0 i32 · last slot used i32
 *
 * The tree and the slots of `a` are kept and grow as in Java: a node that is full becomes the next
 * larger kind, slots are made half as many more. So the bytes are those of Java. */
#include "format/roaring_private.h"

enum { KEY_SIZE = 6, HEAD_SIZE = 4, SLOTS_MARK = 0xFE, NO_SLOT = 0xFF, CONTAINER_HEAD_SIZE = 6 };
typedef enum { NODE_4, NODE_16, NODE_48, NODE_256, LEAF } node_kind;

typedef struct node node;
struct node {
    uint8_t kind;
    uint8_t prefix_size;
    uint16_t count;
    uint8_t prefix[KEY_SIZE]; /* a leaf: without meaning, kept as it was */
    uint8_t key[KEY_SIZE];    /* of a leaf */
    uint8_t *keys;            /* 4 or 16 keys, 256 slots, or 256 bits, in order */
    node **children;          /* 4, 16, 48 by place or slot; 256 by key */
    size_t container;         /* of a leaf */
};

typedef struct bitmap64 {
    fl_arena *arena;
    node *root; /* NULL: empty */
    int64_t key_count;
    fl_roaring_container **slots; /* NULL: none */
    size_t slot_count, last_slot, container_count;
} bitmap64;

static const struct {
    uint16_t children_max, keys_size, reversed; /* bytes that are reversed together */
} kinds[] = {[NODE_4] = {4, 4, 4},
             [NODE_16] = {16, 16, 8},
             [NODE_48] = {48, 256, 8},
             [NODE_256] = {256, 32, 1}};

/* ---- nodes ---- */

static node *new_leaf(fl_arena *arena, const uint8_t key[KEY_SIZE], size_t container)
{
    node *leaf = fl_arena_alloc(arena, sizeof(*leaf));
    if (leaf != NULL) {
        leaf->kind = LEAF;
        leaf->container = container;
        memcpy(leaf->key, key, KEY_SIZE);
    }
    return leaf;
}

static node *new_branch(fl_arena *arena, node_kind kind, const uint8_t *prefix, size_t prefix_size)
{
    node *branch = fl_arena_alloc(arena, sizeof(*branch));
    if (branch == NULL) {
        return NULL;
    }
    branch->kind = (uint8_t)kind;
    branch->prefix_size = (uint8_t)prefix_size;
    memcpy(branch->prefix, prefix, prefix_size);
    branch->keys = fl_arena_alloc(arena, kinds[kind].keys_size);
    branch->children = fl_arena_array(arena, kinds[kind].children_max, sizeof(node *));
    if (branch->keys == NULL || branch->children == NULL) {
        return NULL;
    }
    memset(branch->keys, kind == NODE_48 ? NO_SLOT : 0, kinds[kind].keys_size);
    return branch;
}

static bool has_bit(const node *branch, uint8_t key)
{
    return (branch->keys[key / 8] >> (key % 8) & 1) != 0;
}

/* Where the child of a key is; NULL: there is none. */
static node **find_child(const node *branch, uint8_t key)
{
    switch ((node_kind)branch->kind) {
    case NODE_48:
        return branch->keys[key] != NO_SLOT ? &branch->children[branch->keys[key]] : NULL;
    case NODE_256:
        return has_bit(branch, key) ? &branch->children[key] : NULL;
    default:
        break;
    }
    for (size_t i = 0; i < branch->count; i++) {
        if (branch->keys[i] == key) {
            return &branch->children[i];
        }
    }
    return NULL;
}

static void insert_sorted(node *branch, uint8_t key, node *child)
{
    size_t at = branch->count++;
    for (; at != 0 && branch->keys[at - 1] > key; at--) {
        branch->keys[at] = branch->keys[at - 1];
        branch->children[at] = branch->children[at - 1];
    }
    branch->keys[at] = key;
    branch->children[at] = child;
}

static void insert_child(node *branch, uint8_t key, node *child)
{
    size_t slot = branch->count;
    switch ((node_kind)branch->kind) {
    case NODE_4:
    case NODE_16:
        insert_sorted(branch, key, child);
        return;
    case NODE_48:
        if (branch->children[slot] != NULL) {
            for (slot = 0; branch->children[slot] != NULL;) {
                slot++;
            }
        }
        branch->keys[key] = (uint8_t)slot;
        branch->children[slot] = child;
        break;
    case NODE_256:
        branch->keys[key / 8] |= (uint8_t)(1u << (key % 8));
        branch->children[key] = child;
        break;
    case LEAF:
        break;
    }
    branch->count++;
}

/* The children of a full node in a larger one. */
static node *enlarge(fl_arena *arena, const node *full)
{
    node *larger = new_branch(arena, (node_kind)(full->kind + 1), full->prefix, full->prefix_size);
    if (larger == NULL) {
        return NULL;
    }
    if (full->kind == NODE_48) {
        for (uint32_t key = 0; key < 256; key++) {
            if (full->keys[key] != NO_SLOT) {
                insert_child(larger, (uint8_t)key, full->children[full->keys[key]]);
            }
        }
        return larger;
    }
    for (size_t i = 0; i < full->count; i++) {
        insert_child(larger, full->keys[i], full->children[i]);
    }
    return larger;
}

/* A branch over a node and a new leaf, which differ in the byte after the prefix. */
static node *split(fl_arena *arena, node *old, uint8_t old_key, node *leaf, size_t depth,
                   size_t prefix_size)
{
    const uint8_t *key = leaf->key;
    node *branch = new_branch(arena, NODE_4, key + depth, prefix_size);
    if (branch != NULL) {
        insert_child(branch, old_key, old);
        insert_child(branch, key[depth + prefix_size], leaf);
    }
    return branch;
}

static size_t common_size(const uint8_t *a, const uint8_t *b, size_t size)
{
    size_t common = 0;
    while (common < size && a[common] == b[common]) {
        common++;
    }
    return common;
}

/* Put a leaf whose key is not there. `link` is where the node hangs, at a depth in bytes. */
static fluss_code_t insert_leaf(fl_arena *arena, node **link, node *leaf, fluss_error_t *err)
{
    const uint8_t *key = leaf->key;
    for (size_t depth = 0; *link != NULL; depth++) {
        node *at = *link;
        const bool is_leaf = at->kind == LEAF;
        const uint8_t *own = is_leaf ? at->key + depth : at->prefix;
        const size_t own_size = is_leaf ? KEY_SIZE - depth : at->prefix_size;
        const size_t common = common_size(own, key + depth, own_size);
        if (common < own_size) {
            *link = split(arena, at, own[common], leaf, depth, common);
            at->prefix_size = is_leaf ? 0 : (uint8_t)(own_size - common - 1);
            memmove(at->prefix, at->prefix + (is_leaf ? 0 : common + 1), at->prefix_size);
            return *link != NULL ? 0 : fl_error_nomem(err);
        }
        FL_ASSERT(!is_leaf); /* a leaf whose whole key is equal was found by find_leaf */
        depth += own_size;
        node **child = find_child(at, key[depth]);
        if (child == NULL) {
            *link = at->count == kinds[at->kind].children_max ? enlarge(arena, at) : at;
            if (*link == NULL) {
                return fl_error_nomem(err);
            }
            insert_child(*link, key[depth], leaf);
            return 0;
        }
        link = child;
    }
    *link = leaf;
    return 0;
}

static node *find_leaf(node *root, const uint8_t key[KEY_SIZE])
{
    node *at = root;
    for (size_t depth = 0; at != NULL && at->kind != LEAF; depth++) {
        if (memcmp(at->prefix, key + depth, at->prefix_size) != 0) {
            return NULL;
        }
        depth += at->prefix_size;
        node **child = find_child(at, key[depth]);
        at = child != NULL ? *child : NULL;
    }
    return at != NULL && memcmp(at->key, key, KEY_SIZE) == 0 ? at : NULL;
}

/* ---- reading ---- */

/* Bytes whose groups are reversed, either way. */
static void copy_reversed(uint8_t *to, const uint8_t *from, size_t size, size_t group)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = from[i / group * group + (group - 1 - i % group)];
    }
}

/* The children of a node by their keys. true: one more; slot where it goes */
static bool next_key(const node *branch, uint32_t *key, size_t *slot)
{
    for (; *key < 256; (*key)++) {
        if (branch->kind == NODE_48 && branch->keys[*key] != NO_SLOT) {
            *slot = branch->keys[*key];
            return true;
        }
        if (branch->kind == NODE_256 && has_bit(branch, (uint8_t)*key)) {
            *slot = *key;
            return true;
        }
        if (branch->kind < NODE_48) {
            *slot = *key; /* they lie in order */
            return *key < branch->count;
        }
    }
    return false;
}

static fluss_code_t check_branch(const fl_roaring_reader *reader, const node *branch,
                                 fluss_error_t *err)
{
    bool is_used[256] = {false};
    size_t count = 0, slot = 0;
    for (uint32_t at = 0; next_key(branch, &at, &slot); at++, count++) {
        const bool ascends =
            branch->kind >= NODE_48 || at == 0 || branch->keys[at] > branch->keys[at - 1];
        if (slot >= kinds[branch->kind].children_max || is_used[slot] || !ascends) {
            return fl_roaring_refuse(reader, "the keys of a node are not in order", err);
        }
        is_used[slot] = true;
    }
    return count == branch->count && count != 0
               ? 0
               : fl_roaring_refuse(reader, "a node has not as many keys as it says", err);
}

static fluss_code_t read_leaf(bitmap64 *bitmap, fl_roaring_reader *reader,
                              const uint8_t path[KEY_SIZE], size_t depth, fl_slice prefix,
                              node **out, fluss_error_t *err)
{
    fl_slice body = {0};
    FL_TRY(fl_roaring_take(reader, KEY_SIZE + sizeof(int64_t), &body, err));
    if (memcmp(body.data, path, depth) != 0) {
        return fl_roaring_refuse(reader, "a leaf is not where its key says", err);
    }
    const uint64_t container = fl_load_u64(body.data + KEY_SIZE);
    *out = new_leaf(bitmap->arena, body.data, container);
    if (*out == NULL) {
        return fl_error_nomem(err);
    }
    (*out)->prefix_size = (uint8_t)prefix.size;
    memcpy((*out)->prefix, prefix.data, prefix.size);
    return 0;
}

/* A node and what is below. Each level takes a byte of the key, so there are at most six. */
static fluss_code_t read_node(bitmap64 *bitmap, fl_roaring_reader *reader, uint8_t path[KEY_SIZE],
                              size_t depth, node **out, fluss_error_t *err)
{
    fl_slice head = {0}, prefix = {0}, keys = {0};
    FL_TRY(fl_roaring_take(reader, HEAD_SIZE, &head, err));
    const uint8_t kind = head.data[0];
    const size_t prefix_size = head.data[3];
    if (kind > LEAF || prefix_size > KEY_SIZE || (kind < LEAF && depth + prefix_size >= KEY_SIZE)) {
        return fl_roaring_refuse(reader, "a node is of an unknown kind or too deep", err);
    }
    FL_TRY(fl_roaring_take(reader, prefix_size, &prefix, err));
    if (kind == LEAF) {
        return read_leaf(bitmap, reader, path, depth, prefix, out, err);
    }
    FL_TRY(fl_roaring_take(reader, kinds[kind].keys_size, &keys, err));
    node *branch = new_branch(bitmap->arena, (node_kind)kind, prefix.data, prefix_size);
    if (branch == NULL) {
        return fl_error_nomem(err);
    }
    branch->count = fl_load_u16(head.data + 1);
    copy_reversed(branch->keys, keys.data, keys.size, kinds[kind].reversed);
    if (branch->count > kinds[kind].children_max) {
        return fl_roaring_refuse(reader, "a node has too many children", err);
    }
    FL_TRY(check_branch(reader, branch, err));
    memcpy(path + depth, prefix.data, prefix_size);
    depth += prefix_size;
    size_t slot = 0;
    for (uint32_t at = 0; next_key(branch, &at, &slot); at++) {
        path[depth] = kind < NODE_48 ? branch->keys[at] : (uint8_t)at;
        FL_TRY(read_node(bitmap, reader, path, depth + 1, &branch->children[slot], err));
    }
    *out = branch;
    return 0;
}

static fluss_code_t read_container(bitmap64 *bitmap, fl_roaring_reader *reader, size_t slot,
                                   fluss_error_t *err)
{
    fl_slice mark = {0}, head = {0};
    FL_TRY(fl_roaring_take(reader, 1, &mark, err));
    if (mark.data[0] == 0) {
        return 0;
    }
    FL_TRY(fl_roaring_take(reader, CONTAINER_HEAD_SIZE - 1, &head, err));
    const uint32_t cardinality = fl_load_u32(head.data + 1);
    if (mark.data[0] != 1 || head.data[0] > FL_ROARING_ARRAY ||
        cardinality > FL_ROARING_VALUES_MAX) {
        return fl_roaring_refuse(reader, "a container has no known form", err);
    }
    fl_roaring_container *container = fl_arena_alloc(bitmap->arena, sizeof(*container));
    if (container == NULL) {
        return fl_error_nomem(err);
    }
    bitmap->slots[slot] = container;
    bitmap->container_count++;
    return fl_roaring_read(reader, (fl_roaring_form)head.data[0], cardinality, container, err);
}

static fluss_code_t read_containers(bitmap64 *bitmap, fl_roaring_reader *reader, fluss_error_t *err)
{
    fl_slice head = {0}, tail = {0};
    FL_TRY(fl_roaring_take(reader, 9, &head, err));
    bitmap->slot_count = fl_load_u32(head.data + 5);
    if (fl_load_u32(head.data) != 1 || head.data[4] != SLOTS_MARK ||
        bitmap->slot_count > reader->rest.size) {
        return fl_roaring_refuse(reader, "no list of containers", err);
    }
    bitmap->slots = fl_arena_array(bitmap->arena, bitmap->slot_count, sizeof(bitmap->slots[0]));
    if (bitmap->slots == NULL) {
        return fl_error_nomem(err);
    }
    for (size_t i = 0; i < bitmap->slot_count; i++) {
        FL_TRY(read_container(bitmap, reader, i, err));
    }
    FL_TRY(fl_roaring_take(reader, 16, &tail, err));
    bitmap->last_slot = fl_load_u32(tail.data + 12);
    if (bitmap->last_slot >= bitmap->slot_count || fl_load_u32(tail.data + 8) != 0) {
        return fl_roaring_refuse(reader, "the last container is not in the list", err);
    }
    return 0;
}

/* Every leaf must have a container of its own. */
static fluss_code_t check_leaves(const fl_roaring_reader *reader, const bitmap64 *bitmap,
                                 const node *at, bool *is_used, fluss_error_t *err)
{
    size_t slot = 0;
    if (at->kind == LEAF) {
        if (at->container >= bitmap->slot_count || bitmap->slots[at->container] == NULL ||
            at->container > bitmap->last_slot || is_used[at->container]) {
            return fl_roaring_refuse(reader, "a leaf has no container of its own", err);
        }
        is_used[at->container] = true;
        return 0;
    }
    for (uint32_t key = 0; next_key(at, &key, &slot); key++) {
        FL_TRY(check_leaves(reader, bitmap, at->children[slot], is_used, err));
    }
    return 0;
}

static fluss_code_t read_bitmap(fl_slice bytes, fl_arena *arena, bitmap64 *bitmap,
                                fluss_error_t *err)
{
    fl_roaring_reader reader = {.rest = bytes, .start = bytes.data};
    fl_slice tag = {0}, count = {0};
    uint8_t path[KEY_SIZE] = {0};
    *bitmap = (bitmap64){.arena = arena};
    FL_TRY(fl_roaring_take(&reader, 1, &tag, err));
    if (tag.data[0] == 0) {
        return 0;
    }
    if (tag.data[0] != 1) {
        return fl_roaring_refuse(&reader, "it does not begin as a bitmap of 64-bit integers", err);
    }
    FL_TRY(fl_roaring_take(&reader, sizeof(int64_t), &count, err));
    bitmap->key_count = fl_load_i64(count.data);
    FL_TRY(read_node(bitmap, &reader, path, 0, &bitmap->root, err));
    FL_TRY(read_containers(bitmap, &reader, err));
    if (bitmap->key_count < 1 || (uint64_t)bitmap->key_count > bitmap->slot_count) {
        return fl_roaring_refuse(&reader, "more leaves than containers, or none", err);
    }
    bool *is_used = fl_arena_array(arena, bitmap->slot_count, sizeof(*is_used));
    if (is_used == NULL) {
        return fl_error_nomem(err);
    }
    return check_leaves(&reader, bitmap, bitmap->root, is_used, err);
}

/* ---- uniting ---- */

/* A slot behind the last one used. */
static fluss_code_t add_slot(bitmap64 *bitmap, size_t *slot, fluss_error_t *err)
{
    *slot = bitmap->slot_count == 0 ? 0 : bitmap->last_slot + 1;
    if (*slot >= bitmap->slot_count) {
        const size_t grown = bitmap->slot_count + bitmap->slot_count / 2;
        const size_t count = grown > *slot ? grown : *slot + 1;
        fl_roaring_container **slots =
            fl_arena_array(bitmap->arena, count, sizeof(bitmap->slots[0]));
        if (slots == NULL) {
            return fl_error_nomem(err);
        }
        if (bitmap->slot_count != 0) {
            memcpy(slots, bitmap->slots, bitmap->slot_count * sizeof(slots[0]));
        }
        bitmap->slots = slots;
        bitmap->slot_count = count;
    }
    bitmap->last_slot = *slot;
    return 0;
}

static fluss_code_t add_leaf(bitmap64 *bitmap, const node *leaf, fl_roaring_container *container,
                             fluss_error_t *err)
{
    node *found = find_leaf(bitmap->root, leaf->key);
    if (found != NULL) {
        fl_roaring_container **own = &bitmap->slots[found->container];
        fl_roaring_container *both = fl_arena_alloc(bitmap->arena, sizeof(*both));
        if (both == NULL) {
            return fl_error_nomem(err);
        }
        FL_TRY(fl_roaring_unite(*own, container, true, bitmap->arena, both, err));
        *own = both;
        return 0;
    }
    size_t slot;
    FL_TRY(add_slot(bitmap, &slot, err));
    bitmap->slots[slot] = container;
    bitmap->container_count++;
    bitmap->key_count++;
    node *added = new_leaf(bitmap->arena, leaf->key, slot);
    if (added == NULL) {
        return fl_error_nomem(err);
    }
    return insert_leaf(bitmap->arena, &bitmap->root, added, err);
}

static fluss_code_t add_all(bitmap64 *bitmap, const bitmap64 *other, const node *at,
                            fluss_error_t *err)
{
    size_t slot = 0;
    if (at->kind == LEAF) {
        return add_leaf(bitmap, at, other->slots[at->container], err);
    }
    for (uint32_t key = 0; next_key(at, &key, &slot); key++) {
        FL_TRY(add_all(bitmap, other, at->children[slot], err));
    }
    return 0;
}

/* ---- writing ---- */

static fluss_code_t write_node(const node *at, fl_buf *out, fluss_error_t *err)
{
    uint8_t head[HEAD_SIZE] = {at->kind}, keys[256], leaf[KEY_SIZE + sizeof(int64_t)];
    size_t slot = 0;
    fl_store_u16(head + 1, at->count);
    head[3] = at->prefix_size;
    FL_TRY(fl_buf_append(out, head, sizeof(head), err));
    FL_TRY(fl_buf_append(out, at->prefix, at->prefix_size, err));
    if (at->kind == LEAF) {
        memcpy(leaf, at->key, KEY_SIZE);
        fl_store_i64(leaf + KEY_SIZE, (int64_t)at->container);
        return fl_buf_append(out, leaf, sizeof(leaf), err);
    }
    copy_reversed(keys, at->keys, kinds[at->kind].keys_size, kinds[at->kind].reversed);
    FL_TRY(fl_buf_append(out, keys, kinds[at->kind].keys_size, err));
    for (uint32_t key = 0; next_key(at, &key, &slot); key++) {
        FL_TRY(write_node(at->children[slot], out, err));
    }
    return 0;
}

static fluss_code_t write_containers(const bitmap64 *bitmap, fl_buf *out, fluss_error_t *err)
{
    uint8_t head[9], tail[16] = {0};
    fl_store_u32(head, 1);
    head[4] = SLOTS_MARK;
    fl_store_u32(head + 5, (uint32_t)bitmap->slot_count);
    FL_TRY(fl_buf_append(out, head, sizeof(head), err));
    for (size_t i = 0; i < bitmap->slot_count; i++) {
        uint8_t mark[CONTAINER_HEAD_SIZE] = {0};
        fl_roaring_container container;
        if (bitmap->slots[i] == NULL) {
            FL_TRY(fl_buf_append_byte(out, 0, err));
            continue;
        }
        FL_TRY(fl_roaring_unite(bitmap->slots[i], NULL, true, bitmap->arena, &container, err));
        mark[0] = 1;
        mark[1] = container.form;
        fl_store_u32(mark + 2, container.cardinality);
        FL_TRY(fl_buf_append(out, mark, sizeof(mark), err));
        FL_TRY(fl_buf_append_slice(out, container.bytes, err));
    }
    fl_store_i64(tail, (int64_t)bitmap->container_count);
    fl_store_u32(tail + 12, (uint32_t)bitmap->last_slot);
    return fl_buf_append(out, tail, sizeof(tail), err);
}

fluss_code_t fl_roaring64_or(fl_slice a, fl_slice b, fl_arena *arena, fl_buf *out,
                             fluss_error_t *err)
{
    bitmap64 bitmap, other;
    uint8_t count[sizeof(int64_t)];
    FL_TRY(read_bitmap(a, arena, &bitmap, err));
    FL_TRY(read_bitmap(b, arena, &other, err));
    if (other.root != NULL) {
        FL_TRY(add_all(&bitmap, &other, other.root, err));
    }
    if (bitmap.root == NULL) {
        return fl_buf_append_byte(out, 0, err);
    }
    fl_store_i64(count, bitmap.key_count);
    FL_TRY(fl_buf_append_byte(out, 1, err));
    FL_TRY(fl_buf_append(out, count, sizeof(count), err));
    FL_TRY(write_node(bitmap.root, out, err));
    return write_containers(&bitmap, out, err);
}
