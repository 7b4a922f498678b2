/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the child of a fork from its parent: a page that the kernel hands to the child empty
 * (MADV_WIPEONFORK), so that the check is one load. Without that advice the process id is compared.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "client/client.h"

struct fl_fork_guard {
    volatile pid_t *page; /* holds the maker's process id */
    size_t page_size;
    pid_t pid;
    bool is_wiped_by_fork;
};

fl_fork_guard *fl_fork_guard_new(void)
{
    fl_fork_guard *guard = fl_calloc(1, sizeof(*guard));
    if (guard == NULL) {
        return NULL;
    }
    guard->pid = getpid();
    guard->page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page =
        mmap(NULL, guard->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        guard->page = page;
        *guard->page = guard->pid;
#ifdef MADV_WIPEONFORK
        guard->is_wiped_by_fork = madvise(page, guard->page_size, MADV_WIPEONFORK) == 0;
#endif
    }
    return guard;
}

bool fl_fork_guard_is_child(const fl_fork_guard *guard)
{
    return guard->is_wiped_by_fork ? *guard->page == 0 : getpid() != guard->pid;
}

void fl_fork_guard_free(fl_fork_guard *guard)
{
    if (guard != NULL) {
        if (guard->page != NULL) {
            (void)munmap((void *)(uintptr_t)guard->page, guard->page_size);
        }
        fl_free(guard);
    }
}
