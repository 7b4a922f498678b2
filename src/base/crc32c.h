/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), the checksum of log and KV batches. */
#ifndef FL_CRC32C_H
#define FL_CRC32C_H
#include "base/slice.h"

/** Checksum of bytes. Cost: about 70 GB/s for blocks of 4 KiB on x86-64 (isa-l). */
uint32_t fl_crc32c(fl_slice bytes);
/** Go on from the checksum of the bytes before. */
uint32_t fl_crc32c_extend(uint32_t crc, fl_slice bytes);
#endif
