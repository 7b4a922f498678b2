/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that stands still as long as a test wants: loaded before the C library (LD_PRELOAD), it
 * lets fdatasync wait while another process holds a lock on the file that $SLOW_DISK_GATE names.
 * With $SLOW_DISK_ONLY that counts for files only whose path has this text. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_meant(int fd)
{
    const char *only = getenv("SLOW_DISK_ONLY");
    char link[32], path[4096];
    if (only == NULL) {
        return true;
    }
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = '\0';
    return strstr(path, only) != NULL;
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    const char *gate = getenv("SLOW_DISK_GATE");
    const int lock = gate != NULL && is_meant(fd) ? open(gate, O_RDONLY | O_CLOEXEC) : -1;
    if (lock >= 0) {
        const int rc = flock(lock, LOCK_SH);
        (void)rc; /* interrupted: as good as open */
        (void)close(lock);
    }
    return (int)syscall(SYS_fdatasync, fd);
}
