/* pprofdelta --state FILE --status: what FILE remembers, in words or as JSON. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "options.h"

/* Prints; returns an exit code. */
int cli_status_print(const cli_options *options);

#endif
