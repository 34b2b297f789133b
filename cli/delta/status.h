/* pprofdelta --state FILE --status: prints what is in FILE, as text or JSON. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "delta/options.h"

/* Returns an exit code. */
int cli_status_print(const cli_options *options);

#endif
