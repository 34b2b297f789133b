/* The one stop of one thread of the target: see stub.h. */
#ifndef CLI_ATTACH_STOP_H
#define CLI_ATTACH_STOP_H

#include "attach/target.h"

typedef enum cli_stopped {
    CLI_STOP_LATER, /* no thread could be stopped at a good place: try again */
    CLI_STOP_DONE,
    CLI_STOP_TRACED,  /* another process traces the thread */
    CLI_STOP_REFUSED, /* the kernel does not let this process: error says why */
    CLI_STOP_FILTERED, /* a filter of seccomp may kill for what `forbidden` names; empty: it cannot be read */
} cli_stopped;

typedef struct cli_stop {
    /* Before: where the code is, the storage, its length, and the thread pointer. */
    uint64_t code, storage, storage_len, pointer;
    /* After. */
    int error;
    char forbidden[64];
    uint64_t other;     /* the thread pointer of the thread that was stopped */
    int64_t number_off; /* see cli_tls_find_number */
    double millis;      /* how long it was */
    int tid;
} cli_stop;

/* Stops a thread, makes it start a raw thread, and lets it go on: in a process of its own, so that whatever it leaves is
 * undone by the kernel. */
cli_stopped cli_stop_once(const cli_target *t, cli_stop *stop);

#endif
