/* What a receiver would do with a file: check --for=RECEIVER.
 *
 * The rules are those of the receivers' own code (cli_receivers has the versions), and of profcheck, the checker of
 * OpenTelemetry. Each is a row of the table in receiver_rules.c: for whom, what the receiver does, and the function that
 * finds it. */
#ifndef CLI_RECEIVER_RULES_H
#define CLI_RECEIVER_RULES_H

#include "receiver.h"
#include "view.h"

/* Prints what the receiver would refuse, drop, rename or multiply, and what to do. Returns CLI_FAILED if something is
 * refused or lost. */
int cli_receiver_check(cli_receiver receiver, const cli_profile *profile);

#endif
