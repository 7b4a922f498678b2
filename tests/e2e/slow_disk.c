/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that stands still as long as a test wants: loaded before the C library (LD_PRELOAD), it
 * lets fdatasync wait while another process holds a lock on the file that $SLOW_DISK_GATE names. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    const char *gate = getenv("SLOW_DISK_GATE");
    const int lock = gate != NULL ? open(gate, O_RDONLY | O_CLOEXEC) : -1;
    if (lock >= 0) {
        const int rc = flock(lock, LOCK_SH);
        (void)rc; /* interrupted: as good as open */
        (void)close(lock);
    }
    return (int)syscall(SYS_fdatasync, fd);
}
