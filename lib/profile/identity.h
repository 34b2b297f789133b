/* Identities, from content: of files, functions and locations, of labels, and of whole samples. Ids
 * are never used. States on disk hold these keys: a change needs a new format of the state.
 *
 * A location. The loader puts a binary at another address each time. Its file and the offset in the
 * file stay the same. So a location is identified by its mapping's file, by whether it is folded,
 * and by
 *
 *     address - memory_start + file_offset   =   address + bias
 *
 * An address before memory_start is not in the memory of the mapping: eBPF profilers write addresses of the file
 * beside the place of the mapping. It is used as it is.
 *
 * There, its lines are not used: the same program counter is the same place even if the symbolizer
 * gave it another file name. Without a file, an address may be no program counter (interpreters put
 * the offset of a bytecode there). So every other location is identified by its lines, and by its
 * address if it has one; without lines, by its address alone.
 *
 * A file is identified by its build id, else by its name without the mark of a deleted file. A
 * mapping without a build id and with no name, or a made-up one (see below), has no file: its
 * addresses are used as they are, and bias is 0. Two such regions are the same only in profiles of
 * one process.
 *
 * A sample is identified by its stack in order and its labels in any order. There are two rules for
 * the stack:
 *
 *     places       the identities of the locations: parsed samples, and samples of a builder
 *     addresses    bytes that have a meaning within one process only: program counters (records and heap
 *                  events), ids of locations (records as they are written)
 *
 * and one for the labels: each is hashed separately, and the hashes are added.
 *
 * Places are hashed one at a time. Each half x of an identity is multiplied by an odd random number
 * k[i] for its position i, and the products are added up:
 *
 *     sum  =  x[0] * k[0]  +  x[1] * k[1]  +  x[2] * k[2]  +  ...     (mod 2^64)
 *
 * A change of x[i] by d changes the sum by d * k[i]. The identities are XXH3's, so d has few
 * trailing zeros and the product is as good as random. There are two sums with different numbers,
 * one for each half. A location costs two multiplications, which do not depend on each other;
 * hashing the bytes of the identities costs three times that. After each PD_STACK_BLOCK locations
 * the sums are folded through XXH3 and the positions begin again at 0. */
#ifndef PD_PROFILE_IDENTITY_H
#define PD_PROFILE_IDENTITY_H

#include "base/key.h"
#include "base/mem.h"
#include "wire/varint.h"

/* ---- file names ------------------------------------------------------------------------------ */

/* The only place with these rules, for the mappings of parsed profiles, of
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
 * of files, not devices. */

/* Returns the name without the mark of a deleted file. The result points into `name`. */
pd_bytes pd_filename_unmarked(pd_bytes name);

/* Returns the file of the name, without the mark; empty if the name is made up. */
pd_bytes pd_filename_file(pd_bytes name);

/* May the two main binaries be of one service? The folder does not count, nor do the parts of a name
 * that a deploy changes: behind the first word every word with a digit or of 7 and more hexadecimal
 * digits, and the digits at the end of the first word. "/releases/41/app" and "app-1.3" are of one
 * service. A name without a first word may be of any. */
bool pd_filename_may_be_one_service(pd_bytes a, pd_bytes b);

/* ---- files, functions and locations ---------------------------------------------------------- */

/* The file of a mapping, and what is added to the addresses in its memory. */
typedef struct pd_place {
    pd_key file; /* {0, 0}: none */
    uint64_t start, bias;
    bool has_range; /* the mapping has a limit behind its start */
} pd_place;

/* The place of a location without a mapping. */
#define PD_NOWHERE_MAPPED ((pd_place){{0, 0}, 0, 0, false})

/* Is the address before the mapping, and so one of the file? A difference that moves with the mapping decides. */
static inline bool pd_place_is_before(pd_place place, uint64_t address)
{
    return place.has_range && address && (int64_t)(address - place.start) < 0;
}

/* The key of a mapping's file; {0, 0}: none. */
pd_key pd_file_key(pd_bytes filename, pd_bytes build_id);
pd_place pd_place_in_file(pd_key file, uint64_t start, uint64_t limit, uint64_t file_offset);

/* The address in the file; 0 if the address is 0. */
uint64_t pd_place_address(pd_place place, uint64_t address);

/* Do its lines take part in the identity of a location that has lines? */
static inline bool pd_location_is_by_lines(pd_place place, uint64_t address)
{
    return !address || !pd_key_is_set(place.file);
}

/* The identity of a location by its address, or of one with neither address nor lines. */
pd_key pd_location_key_address(pd_place place, uint64_t address, bool is_folded);

/* The identity of a location by its lines, with its address or 0: begin, then each line in order. */
pd_key pd_location_key_lines_begin(uint64_t address, bool is_folded);
pd_key pd_location_key_line(pd_key so_far, pd_key function, int64_t line, int64_t column);

/* A function from the keys of its strings. */
pd_key pd_string_key(pd_bytes string);
pd_key pd_function_key_of(pd_key name, pd_key system_name, pd_key filename, int64_t start_line);

/* The function of a frame that a caller gives. key is made of the other members, which point into
 * the frame. */
typedef struct pd_function_parts {
    pd_key key;
    pd_bytes name, system_name, filename;
    int64_t start_line;
} pd_function_parts;

pd_function_parts pd_function_parts_of(const pprofdelta_frame *frame);

/* ---- labels ---------------------------------------------------------------------------------- */

/* The key of a label: the key of its strings, of which there are few, with its number. */
pd_key pd_label_names_key(pd_bytes key, pd_bytes str, pd_bytes num_unit);

static inline pd_key pd_label_key(pd_key names, int64_t num)
{
    uint64_t words[] = {names.lo, names.hi, (uint64_t)num};
    return pd_key_of_words(words, 3, 0);
}

/* A label that a caller gives. If str is not empty, num is 0 and num_unit is empty. The members
 * point into the label. */
typedef struct pd_label_parts {
    pd_bytes key, str, num_unit;
    int64_t num;
} pd_label_parts;

pd_label_parts pd_label_parts_of(const pprofdelta_label *label);
pd_key pd_label_parts_key(const pd_label_parts *parts);

/* ---- samples --------------------------------------------------------------------------------- */

enum { PD_STACK_BLOCK = 256 };

/* A number for each half and position. */
typedef struct pd_stack_numbers {
    uint64_t lo[PD_STACK_BLOCK], hi[PD_STACK_BLOCK];
} pd_stack_numbers;

/* Always sets the same numbers. */
void pd_stack_numbers_init(pd_stack_numbers *numbers);

typedef struct pd_identity {
    uint64_t lo, hi; /* places: the sums of this block; addresses: their hash */
    size_t depth;    /* places so far */
    pd_key labels;   /* the sum of the labels' keys */
    uint64_t labels_len;
} pd_identity; /* zero it to begin */

/* Folds a full block. */
void pd_identity_fold(pd_identity *identity);

/* Adds the next place of the stack. */
static inline void pd_identity_place(pd_identity *identity, const pd_stack_numbers *numbers,
                                     pd_key place)
{
    size_t position = identity->depth++ % PD_STACK_BLOCK;
    identity->lo += place.lo * numbers->lo[position];
    identity->hi += place.hi * numbers->hi[position];
    if (__builtin_expect(position == PD_STACK_BLOCK - 1, 0))
        pd_identity_fold(identity);
}

/* The other rule: sets the whole stack. Stacks of different kinds are different. */
static inline void pd_identity_addresses(pd_identity *identity, const void *stack, size_t bytes,
                                         uint64_t kind)
{
    pd_key key = pd_key_of_bytes(stack, bytes, kind);
    identity->lo = key.lo;
    identity->hi = key.hi;
}

static inline void pd_identity_label(pd_identity *identity, pd_key label)
{
    identity->labels.lo += label.lo;
    identity->labels.hi += label.hi;
    identity->labels_len++;
}

/* The sums of random values are random: no final mixing is needed. */
static inline pd_key pd_identity_key(const pd_identity *identity)
{
    return (pd_key){
        identity->lo + identity->labels.lo + identity->depth * UINT64_C(0x9e3779b97f4a7c15),
        identity->hi + identity->labels.hi + identity->labels_len * UINT64_C(0xc2b2ae3d27d4eb4f)};
}

#endif
