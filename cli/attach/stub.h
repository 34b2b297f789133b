/* The code that runs in the target, and its storage there.
 *
 *     stopped thread    entry: maps the storage, blocks signals, makes a raw thread, unblocks them, takes its registers
 *                       from the slots, and goes on where it was. No stack, no flags, no floating point
 *     raw thread        waits until its thread-local storage was written from outside, calls pthread_create, ends
 *     new thread        as any thread of the program: dlopen of the agent, and its entry. Ends
 *
 * The code is written into the zeros behind the code of some object, up to the end of the page: no page becomes
 * executable. It stays there, since nobody knows when the last thread has left it. If a run was killed, the next one
 * takes other zeros: the thread that was stopped may not have read its slots yet. */
#ifndef CLI_ATTACH_STUB_H
#define CLI_ATTACH_STUB_H

/* The slots at the beginning of the code, words of 8 bytes. */
#define STUB_STORAGE 0 /* the address of the storage */
#define STUB_NEGATED 1 /* ... and 0 minus it */
#define STUB_POINTER 2 /* the thread pointer of the raw thread */
#define STUB_RESUME  3 /* where the stopped thread goes on */
#define STUB_SAVED   4 /* its registers */
#define STUB_SLOTS   14

/* The storage: offsets. */
#define STORE_ALL        0  /* the signals that are blocked */
#define STORE_BEFORE     8  /* ... and those that were */
#define STORE_TID        16 /* of the raw thread; 0 when it has ended */
#define STORE_GO         20 /* its thread-local storage is complete */
#define STORE_PAUSE      24 /* a timespec: a millisecond */
#define STORE_CREATE     40 /* pthread_create */
#define STORE_DETACH     48 /* pthread_detach */
#define STORE_DLOPEN     56
#define STORE_DLSYM      64
#define STORE_DLERROR    72
#define STORE_THREAD     80  /* of pthread_create */
#define STORE_ERROR      88  /* its result */
#define STORE_CLONED     96  /* the result of clone */
#define STORE_DONE       104 /* 1: the entry returned; 2: not loaded; 3: no thread */
#define STORE_RESULT     112 /* of the entry, or dlerror */
#define STORE_WANTS_FILE 120 /* the agent comes as a file without a name */
#define STORE_FILE       124 /* its descriptor, 0: not yet; below 0: the error */
#define STORE_FILLED     128 /* it is complete */
#define STORE_SYMBOL     136 /* texts */
#define STORE_NAME       168
#define STORE_PATH       192
#define STORE_STACK_END  65536 /* of the raw thread; behind it is its thread-local storage */
#define STORE_PATIENCE   10000 /* milliseconds */

#ifndef __ASSEMBLER__
extern const unsigned char cli_stub_begin[] __attribute__((visibility("hidden")));
extern const unsigned char cli_stub_entry[] __attribute__((visibility("hidden")));
extern const unsigned char cli_stub_end[] __attribute__((visibility("hidden")));
#endif

#endif
