/* What the file name of a mapping says: which file it is, if it is one.
 *
 * This is the one place that knows it, for the mappings of parsed profiles, of /proc/self/maps and
 * of the maps in text dumps. pprofdelta_file_len is the same for callers of the library.
 *
 * A deleted file. Linux appends " (deleted)" to the name of a file that was removed or replaced
 * while it was mapped. The code in the mapping is the same as before, so "/usr/bin/app (deleted)"
 * is the same file as "/usr/bin/app". Some producers (Go) take the mark off, others leave it, so it
 * has no meaning here. The mark is taken off as often as it is there.
 *
 * A made-up name. Memory without a file has a name, too, and many regions have the same one:
 *
 *     (no name)                     private anonymous memory
 *     //anon                        the same in perf and what is made from its records
 *     [heap] [stack] [anon] [anon:NAME] [anon_shmem:NAME] [uprobes] ...
 *                                   all names in brackets, but for those below
 *     /memfd:NAME                   memfd_create(2): how most JIT compilers map code twice
 *     /dev/zero                     shared anonymous memory, or the device itself
 *     /dev/ashmem/NAME, /dev/...    memory of a device
 *     /SYSV0123abcd                 System V shared memory: the key in 8 hexadecimal digits
 *     /anon_hugepage                MAP_HUGETLB
 *     /secretmem  /[aio]  /dmabuf:NAME  anon_inode:NAME  socket:[N]
 *                                   memory of other kernel objects
 *
 * Such a name is no identity: two regions with one name have different code at equal offsets. What
 * distinguishes them is their address.
 *
 * A file nevertheless. "[vdso]", "[vsyscall]", "[vectors]" and "[sigpage]" are code that the kernel
 * maps once into a process, with the same content everywhere. /dev/shm and /dev/hugepages are
 * folders of files, not devices. */
#ifndef PD_PROFILE_FILENAME_H
#define PD_PROFILE_FILENAME_H

#include "base/mem.h"

/* The name without the mark of a deleted file. The result points into `name`. */
pd_bytes pd_filename_unmarked(pd_bytes name);

/* The file that the name stands for, without the mark; empty where the name is made up. */
pd_bytes pd_filename_file(pd_bytes name);

#endif
