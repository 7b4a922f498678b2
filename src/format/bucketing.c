/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of keys. Fluss's own is MurmurHash3's mixing with seed 42, but every tail byte is mixed in
 * by itself; the Java client sign-extends that byte and the Rust client does not, so keys with tail
 * bytes from 0x80 on hash differently. Iceberg uses the standard MurmurHash3
 * (x86, 32 bits). Source: MurmurHashUtils and bucketing/, Fluss 1.0. */
#include "format/bucketing.h"

#include "base/attrs.h"

enum { WORD_SIZE = 4, FLUSS_SEED = 42 };

static uint32_t rotate_left(uint32_t value, unsigned count)
{
    return (value << count) | (value >> (32 - count));
}

static uint32_t mix_word(uint32_t word)
{
    return rotate_left(word * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static uint32_t mix_hash(uint32_t hash, uint32_t word)
{
    return rotate_left(hash ^ word, 13) * 5 + 0xe6546b64u;
}

static uint32_t finish(uint32_t hash)
{
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    return hash ^ (hash >> 16);
}

/* Mix in all full words; the position behind them. */
static size_t mix_words(fl_slice key, uint32_t *hash)
{
    size_t at = 0;
    for (; at + WORD_SIZE <= key.size; at += WORD_SIZE) {
        *hash = mix_hash(*hash, mix_word(fl_load_u32(key.data + at)));
    }
    return at;
}

uint32_t fl_fluss_hash(fl_slice key, fl_hash_variant variant)
{
    uint32_t hash = FLUSS_SEED;
    for (size_t at = mix_words(key, &hash); at < key.size; at++) {
        const uint32_t word =
            variant == FL_HASH_JAVA ? (uint32_t)(int8_t)key.data[at] : (uint32_t)key.data[at];
        hash = mix_hash(hash, mix_word(word));
    }
    return finish(hash ^ (uint32_t)key.size);
}

int32_t fl_int_hash(int32_t code)
{
    const uint32_t mixed = mix_hash(0, mix_word((uint32_t)code)) ^ WORD_SIZE;
    const int32_t hash = (int32_t)finish(mixed);
    if (hash >= 0) {
        return hash;
    }
    return hash == INT32_MIN ? 0 : -hash;
}

uint32_t fl_murmur3_32(fl_slice key, uint32_t seed)
{
    uint32_t hash = seed;
    const size_t at = mix_words(key, &hash);
    uint32_t tail = 0;
    for (size_t i = key.size; i > at; i--) {
        tail = (tail << 8) | key.data[i - 1];
    }
    if (at < key.size) {
        hash ^= mix_word(tail);
    }
    return finish(hash ^ (uint32_t)key.size);
}

int32_t fl_bucket_of(fl_slice key, int32_t bucket_count, fl_lake_format lake,
                     fl_hash_variant variant)
{
    FL_ASSERT(bucket_count > 0);
    switch (lake) {
    case FL_LAKE_PAIMON: {
        const int32_t rest = (int32_t)fl_fluss_hash(key, variant) % bucket_count;
        return rest < 0 ? -rest : rest;
    }
    case FL_LAKE_ICEBERG:
        return (int32_t)(fl_murmur3_32(key, 0) & INT32_MAX) % bucket_count;
    case FL_LAKE_HUDI: {
        const uint32_t code = key.size >= WORD_SIZE ? fl_load_be32(key.data) : 0;
        return (int32_t)(code & INT32_MAX) % bucket_count;
    }
    case FL_LAKE_NONE:
    case FL_LAKE_LANCE:
        break;
    }
    return fl_int_hash((int32_t)fl_fluss_hash(key, variant)) % bucket_count;
}
