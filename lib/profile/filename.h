/* File names of mappings: whether a name is that of a file, and of which.
 *
 * The only place with these rules, for the mappings of parsed profiles, of /proc/self/maps and of
 * the maps in text dumps. pprofdelta_file_len is the public form.
 *
 * A deleted file. Linux appends " (deleted)" to the name of a file that was removed or replaced
 * while it was mapped. The code in the mapping is unchanged, so "/usr/bin/app (deleted)" is the
 * same file as "/usr/bin/app". Some producers (Go) remove the mark and others do not. It is removed
 * here as often as it is there.
 *
 * A made-up name. Memory without a file has a name too, and many regions have the same one:
 *
 *     (no name)                     private anonymous memory
 *     //anon                        the same in perf and what is made from its records
 *     [heap] [stack] [anon] [anon:NAME] [anon_shmem:NAME] [uprobes] ...
 *                                   all names in brackets, except those below
 *     /memfd:NAME                   memfd_create(2): how most JIT compilers map code twice
 *     /dev/zero                     shared anonymous memory, or the device itself
 *     /dev/ashmem/NAME, /dev/...    memory of a device
 *     /SYSV0123abcd                 System V shared memory: the key in 8 hexadecimal digits
 *     /anon_hugepage                MAP_HUGETLB
 *     /secretmem  /[aio]  /dmabuf:NAME  anon_inode:NAME  socket:[N]
 *                                   memory of other kernel objects
 *
 * Such a name is no identity: two regions with one name have different code at equal offsets. They
 * are distinguished by their addresses.
 *
 * Exceptions. "[vdso]", "[vsyscall]", "[vectors]" and "[sigpage]" are code that the kernel maps
 * once into each process, with the same content everywhere. /dev/shm and /dev/hugepages are folders
 * of files, not devices. */
#ifndef PD_PROFILE_FILENAME_H
#define PD_PROFILE_FILENAME_H

#include "base/mem.h"

#include <stdbool.h>

/* Returns the name without the mark of a deleted file. The result points into `name`. */
pd_bytes pd_filename_unmarked(pd_bytes name);

/* Returns the file of the name, without the mark; empty if the name is made up. */
pd_bytes pd_filename_file(pd_bytes name);

/* May the two main binaries be of one service? The folder does not count, nor do the parts of a name
 * that a deploy changes: behind the first word every word with a digit or of 7 and more hexadecimal
 * digits, and the digits at the end of the first word. "/releases/41/app" and "app-1.3" are of one
 * service. A name without a first word may be of any. */
bool pd_filename_may_be_one_service(pd_bytes a, pd_bytes b);

#endif
