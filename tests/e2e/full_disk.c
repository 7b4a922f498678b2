/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that is as full as a test wants: loaded before the C library (LD_PRELOAD), it says that
 * only as many KiB are free as the file says that $FULL_DISK_FREE_KIB names. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* With 64-bit file offsets, which the build asks for, this is statvfs64. */
__attribute__((visibility("default"))) int statvfs(const char *path, struct statvfs *disk)
{
    int (*real)(const char *, struct statvfs *);
    *(void **)&real = dlsym(RTLD_NEXT, "statvfs64");
    const int rc = real(path, disk);
    const char *name = getenv("FULL_DISK_FREE_KIB");
    const int fd = rc == 0 && name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    char text[24] = "";
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0) {
        disk->f_bavail = strtoull(text, NULL, 10) * 1024 / disk->f_frsize;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}
