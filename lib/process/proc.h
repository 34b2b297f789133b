/* Files of /proc about this process.
 *
 * /proc/self is the thread group leader. When the leader has ended and other threads go on, its
 * maps and its memory are empty, and its exe cannot be read. /proc/thread-self (Linux 3.17) is the
 * calling thread and stays complete. But emulators such as qemu's user mode replace the files of
 * /proc/self only: in /proc/thread-self they show the emulator. So /proc/self comes first. */
#ifndef PD_PROCESS_PROC_H
#define PD_PROCESS_PROC_H

#include <fcntl.h>
#include <unistd.h>

/* Each of these returns a descriptor, or -1 and errno. */

/* For a file that is empty when the leader has ended. */
static inline int pd_proc_open_text(const char *of_self, const char *of_thread)
{
    char first;
    int fd = open(of_self, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &first, 1, 0) == 1)
        return fd;
    if (fd >= 0)
        close(fd);
    return open(of_thread, O_RDONLY | O_CLOEXEC);
}

static inline int pd_proc_open_maps(void)
{
    return pd_proc_open_text("/proc/self/maps", "/proc/thread-self/maps");
}

static inline int pd_proc_open_exe(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : open("/proc/thread-self/exe", O_RDONLY | O_CLOEXEC);
}

/* An emulator does not replace this one. */
static inline int pd_proc_open_mem(void)
{
    int fd = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

/* Writes the path of the program, without a NUL at its end. Returns its length, or -1 and errno. */
static inline ssize_t pd_proc_program(char *buffer, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", buffer, size);
    return len >= 0 ? len : readlink("/proc/thread-self/exe", buffer, size);
}

#endif
