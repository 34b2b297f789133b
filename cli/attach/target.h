/* A process that runs already, seen from outside: its memory, its objects, their symbols, and its thread-local storage. */
#ifndef CLI_ATTACH_TARGET_H
#define CLI_ATTACH_TARGET_H

#include "lib/process/elf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An object that its loader has loaded. */
typedef struct cli_object {
    uint64_t base, link;     /* link: the loader's record of it */
    uint64_t code, code_end; /* where its code is; 0: it has none */
    pd_elf_symbols tables;   /* at these addresses */
    uint64_t tls, tls_file_len,
        tls_len; /* the image of its thread-local storage; tls 0: it has none */
} cli_object;

enum { CLI_OBJECTS_MAX = 1024 };

typedef struct cli_target {
    pid_t pid;
    int folder, memory; /* /proc/PID, and its mem: of the program that it was when it was opened */
    int memory_error;   /* errno, if memory is -1 */
    cli_object *objects;
    size_t objects_len;
} cli_target;

/* Reads or writes memory. Returns false if not all of it is there. */
bool cli_target_read(const cli_target *t, uint64_t at, void *out, size_t len);
bool cli_target_write(const cli_target *t, uint64_t at, const void *from, size_t len);

/* Returns the number behind a word at the beginning of a line, "Seccomp:", or -1. */
long cli_number_behind(const char *text, const char *word);

/* Returns the number of a thread as the process sees it itself. */
uint32_t cli_target_number(const cli_target *t, pid_t tid);

/* Finds the loader and its objects. Returns false if there is no loader of glibc. */
bool cli_target_objects(cli_target *t);

/* Returns the address of what the object defines under the name, or 0. */
uint64_t cli_object_symbol(const cli_target *t, const cli_object *o, const char *name);

/* Returns the first object from which on that defines it, or NULL. */
const cli_object *cli_target_definer(const cli_target *t, size_t from, const char *name,
                                     uint64_t *symbol);

/* ---- thread-local storage -------------------------------------------------------------------- */

typedef struct cli_tls {
    uint64_t pointer;      /* where the thread pointer will be */
    uint64_t below, above; /* bytes that it needs before and behind that */
    uint64_t
        place_off; /* of the place in the loader's record of an object; the module is behind it */
    int64_t
        number_off; /* from a thread pointer to the thread's number in the C library's record of it */
} cli_tls;

/* Finds how much a thread needs. Returns false if the C library is not glibc. */
bool cli_tls_measure(const cli_target *t, cli_tls *tls);

/* Finds where the C library has the number of a thread. Returns false if it is no thread of it. */
bool cli_tls_find_number(const cli_target *t, uint64_t pointer, uint32_t tid, int64_t *off);

/* Writes it. other: the thread pointer of a thread of the target; tid: the number of the new one. */
bool cli_tls_write(const cli_target *t, const cli_tls *tls, uint64_t other, int tid);

#endif
