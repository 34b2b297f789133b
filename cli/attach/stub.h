/* The code that runs in the target, and its storage there.
 *
 *     stopped thread    entry: maps the storage, blocks signals, makes a raw thread, unblocks them, takes its registers
 *                       from the slots, and goes on where it was. No stack, no flags, no floating point
 *     raw thread        waits until its thread-local storage was written from outside, calls pthread_create, ends
 *     new thread        as any thread of the program: dlopen of the agent, and its entry. Ends
 *
 * The first is assembly (stub_PROCESSOR.S), the others are C (stub.c); the linker lays them into one section. It is written
 * into the zeros behind the code of some object, up to the end of the page: no page becomes executable. It stays there,
 * since nobody knows when the last thread has left it. If a run was killed, the next one takes other zeros: the thread
 * that was stopped may not have read its slots yet. */
#ifndef CLI_ATTACH_STUB_H
#define CLI_ATTACH_STUB_H

/* The slots in the code, words of 8 bytes. */
#define STUB_STORAGE 0 /* the address of the storage */
#define STUB_NEGATED 1 /* ... and 0 minus it */
#define STUB_POINTER 2 /* the thread pointer of the raw thread */
#define STUB_RESUME  3 /* where the stopped thread goes on */
#define STUB_SAVED   4 /* its registers */
#define STUB_SLOTS   14

/* Offsets in the storage. */
#define STORE_ALL       0
#define STORE_BEFORE    8
#define STORE_CLONED    16
#define STORE_TID       24
#define STORE_STACK_END 65536 /* of the raw thread; behind it is its thread-local storage */

#ifndef __ASSEMBLER__
#include <limits.h>
#include <stdint.h>
#include <time.h>

enum { STORE_PATIENCE = 10000 /* milliseconds */ };

/* What the threads need: the functions are those of the target, and `load` is the code's own. */
typedef struct cli_given {
    int (*create)(uint64_t *thread, const void *attributes, void *(*run)(void *), void *argument);
    int (*detach)(uint64_t thread);
    void *(*open)(const char *path, int flags);
    int (*(*find)(void *library, const char *name))(const char *settings);
    char *(*error)(void);
    void *(*load)(void *store);
    uint64_t wants_file; /* the agent comes as a file without a name */
    char symbol[32], name[24], path[PATH_MAX];
} cli_given;

typedef enum cli_store_end { STORE_LOADED = 1, STORE_NOT_LOADED, STORE_NO_THREAD } cli_store_end;

typedef struct cli_store {
    uint64_t all, before; /* the signals that are blocked, and those that were */
    int64_t cloned;       /* the result of clone */
    uint32_t tid;         /* of the raw thread; 0 when it has ended */
    uint32_t go;          /* its thread-local storage is complete */
    struct timespec pause;
    uint64_t thread;    /* of pthread_create */
    uint64_t result;    /* of the entry, or dlerror */
    uint32_t done;      /* cli_store_end */
    int32_t file;       /* the descriptor of the agent's file, 0: not yet; below 0: the error */
    uint32_t is_filled; /* it is complete */
    cli_given given;
} cli_store;

/* The section, and what is in it. Its places count from its beginning. */
extern const unsigned char __start_cli_stub[] __attribute__((visibility("hidden")));
extern const unsigned char __stop_cli_stub[] __attribute__((visibility("hidden")));
extern const unsigned char cli_stub_slots[] __attribute__((visibility("hidden")));
extern const unsigned char cli_stub_entry[] __attribute__((visibility("hidden")));

#define STUB_PLACE(symbol) ((uint64_t)((const unsigned char *)(symbol)-__start_cli_stub))

void cli_stub_raw(cli_store *store);
void *cli_stub_load(void *store);
#endif

#endif
