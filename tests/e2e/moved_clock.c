/* SPDX-License-Identifier: Apache-2.0 */
/* A wall clock that a test moves: loaded before the C library (LD_PRELOAD), it adds to the time of
 * day the milliseconds that the file has which $MOVED_CLOCK names, 8 bytes in the machine's order.
 * Clocks that only measure, and the times of files, stay as they are. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t read_shift_ms(void)
{
    const char *name = getenv("MOVED_CLOCK");
    const int file = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    int64_t shift_ms = 0;
    if (file >= 0) {
        if (read(file, &shift_ms, sizeof(shift_ms)) != (ssize_t)sizeof(shift_ms)) {
            shift_ms = 0;
        }
        (void)close(file);
    }
    return shift_ms;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (rc == 0 && clock == CLOCK_REALTIME) {
        const int64_t shift_ms = read_shift_ms();
        now->tv_sec += shift_ms / 1000;
        now->tv_nsec += shift_ms % 1000 * 1000000;
        if (now->tv_nsec >= 1000000000) {
            now->tv_sec++;
            now->tv_nsec -= 1000000000;
        }
    }
    return rc;
}
