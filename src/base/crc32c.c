/* SPDX-License-Identifier: Apache-2.0 */
/* isa-l keeps the register un-inverted and takes an int length. */
#include "base/crc32c.h"

#include <isa-l/crc.h>

enum { STEP_SIZE_MAX = 1 << 30 };

uint32_t fl_crc32c_extend(uint32_t crc, fl_slice bytes)
{
    uint32_t state = ~crc;
    while (bytes.size != 0) {
        const size_t step = bytes.size < STEP_SIZE_MAX ? bytes.size : STEP_SIZE_MAX;
        /* The library's signature lacks const; it only reads. */
        state = crc32_iscsi((unsigned char *)(uintptr_t)bytes.data, (int)step, state);
        bytes = fl_slice_sub(bytes, step, bytes.size - step);
    }
    return ~state;
}

uint32_t fl_crc32c(fl_slice bytes)
{
    return fl_crc32c_extend(0, bytes);
}
