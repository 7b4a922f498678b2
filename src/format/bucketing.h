/* SPDX-License-Identifier: Apache-2.0 */
/* From a key's bytes to its bucket. */
#ifndef FL_BUCKETING_H
#define FL_BUCKETING_H
#include "base/slice.h"

typedef enum {
    FL_LAKE_NONE,
    FL_LAKE_PAIMON,
    FL_LAKE_ICEBERG,
    FL_LAKE_LANCE,
    FL_LAKE_HUDI
} fl_lake_format;
/** How tail bytes >= 0x80 enter Fluss's murmur: Java sign-extends, Rust and Python zero-extend. */
typedef enum { FL_HASH_JAVA, FL_HASH_RUST } fl_hash_variant;

uint32_t fl_fluss_hash(fl_slice key, fl_hash_variant variant);
int32_t fl_int_hash(int32_t code);
uint32_t fl_murmur3_32(fl_slice key, uint32_t seed);
/** Bucket of a non-empty key, 0..bucket_count-1. */
int32_t fl_bucket_of(fl_slice key, int32_t bucket_count, fl_lake_format lake,
                     fl_hash_variant variant);
#endif
