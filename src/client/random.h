/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for delays and for choices among equals; not for secrets. */
#ifndef FL_RANDOM_H
#define FL_RANDOM_H
#include <stdint.h>
#include <sys/random.h>

/** 64 random bits. Thread: any. */
static inline uint64_t fl_random(void)
{
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != (long)sizeof(bits)) {
        bits = (uint64_t)(uintptr_t)&bits * 0x9E3779B97F4A7C15u;
    }
    return bits;
}
#endif
