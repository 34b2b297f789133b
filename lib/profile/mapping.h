/* Mappings: of which file they are, and which of them earlier profiles had.
 *
 * File names. The only place with these rules, for the mappings of parsed profiles, of
 * /proc/self/maps and of the maps in text dumps.
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
 * of files, not devices.
 *
 * Mappings of earlier profiles. Go reads the build id and the name of a mapping from its path at
 * each dump. A deploy replaces or removes the file at that path while the process lives. The next
 * profile then has the same mapping, in the same place, with another identity. So each known mapping
 * is kept with its place (start, limit and file offset). A mapping of a later profile
 *
 *     has a known identity                    is the mapping with this identity, in the same place
 *                                             if several mappings have it
 *     has a known place, an unknown           is the mapping in this place: its file was replaced
 *     identity, and no mapping has the
 *     identity known there
 *     else                                    is a new mapping
 *
 * pd_mapped.file is what the ledger's keys were made with. It stays the same when the identity of
 * the mapping changes. The counters decide whether a replaced file means a restart: see
 * ledger/reset.h. */
#ifndef PD_PROFILE_MAPPING_H
#define PD_PROFILE_MAPPING_H

#include "ledger/state.h"

/* ---- file names ------------------------------------------------------------------------------ */

/* Returns the name without the mark of a deleted file. The result points into `name`. */
pd_bytes pd_filename_unmarked(pd_bytes name);

/* Returns the file of the name, without the mark; empty if the name is made up. */
pd_bytes pd_filename_file(pd_bytes name);

/* May the two main binaries be of one service? The folder does not count, nor do the parts of a name
 * that a deploy changes: behind the first word every word with a digit or of 7 and more hexadecimal
 * digits, and the digits at the end of the first word. "/releases/41/app" and "app-1.3" are of one
 * service. A name without a first word may be of any. */
bool pd_filename_may_be_one_service(pd_bytes a, pd_bytes b);

/* ---- mappings of earlier profiles ------------------------------------------------------------ */

struct pd_tables;

/* The result for a profile. */
typedef struct pd_mapped_facts {
    bool is_renamed; /* some places were changed, and the locations identified again */
    bool main_moved; /* the main mapping is new and in another place, and the known one is gone */
    bool has_main;   /* the main mapping is a known one, perhaps by its place only */
    bool has_common; /* a mapping of a file has a known identity */
    size_t files_replaced; /* mappings recognised by their place only */
} pd_mapped_facts;

/* Replaces the places of sealed tables, which are of the profile's own identities, by those of the
 * ledger's keys, and identifies the locations accordingly. Sets pd_mapping.mark. */
pprofdelta_status pd_mapped_recognise(pd_mapped_facts *out, pd_mem *mem,
                                      const pd_mapped_list *known, struct pd_tables *tables,
                                      pprofdelta_error *err);

/* Makes *out the list for a ledger with the profile's samples: the main mapping, the mappings that
 * locations use, and then the mappings of `known` that the profile does not have, up to the same
 * number. The places are as pd_mapped_recognise left them. known may be NULL. */
pprofdelta_status pd_mapped_remember(pd_mapped_list *out, pd_mem *mem,
                                     const struct pd_tables *tables, const pd_mapped_list *known,
                                     pprofdelta_error *err);

void pd_mapped_release(pd_mapped_list *list, pd_mem *mem);

#endif
