/* pprofdelta --state FILE [CUR]: one window, from the look before to this one. */
#ifndef CLI_WINDOW_H
#define CLI_WINDOW_H

#include "options.h"

/* Prints; returns an exit code. */
int cli_window_run(const cli_options *options);

#endif
