/* What a receiver would do with a file: check --for=RECEIVER.
 *
 * The rules are those of the receivers' own code (cli_receivers has the versions), and of profcheck, the checker of
 * OpenTelemetry. Each is a row of the table in receiver_rules.c: for whom, what the receiver does, and the function that
 * finds it. Those of profcheck are in profcheck.c. */
#ifndef CLI_RECEIVER_RULES_H
#define CLI_RECEIVER_RULES_H

#include "keep.h"
#include "receiver.h"
#include "view.h"

/* Prints what the receiver would refuse, drop, rename or multiply, and what to do. Returns CLI_FAILED if something is
 * refused or lost. */
int cli_receiver_check(cli_receiver receiver, const cli_profile *profile);

/* ---- between the files --------------------------------------------------------------------------- */

/* The file, and what the last rule has found. */
typedef struct cli_checked {
    const cli_profile *profile;
    const Pd__Otlp__Request *request; /* NULL: it is no request */
    cli_receiver receiver;
    bool **used;   /* of cli_profcheck_orphans: the entries of each table */
    size_t number; /* of the Profile, over the request */
    const char *found;
} cli_checked;

/* Sets what was found: true. */
#define cli_found(j, ...) ((j)->found = cli_keep_print(__VA_ARGS__), true)

/* Calls visit for each Profile of a request until it finds something. */
typedef bool cli_visit_profile(cli_checked *j, const Pd__Otlp__Profile *p);
bool cli_any_profile(cli_checked *j, cli_visit_profile *visit);

/* profcheck.c: each returns whether it has found something. */
bool cli_profcheck_tables(cli_checked *j);
bool cli_profcheck_profiles(cli_checked *j);
bool cli_profcheck_orphans(cli_checked *j);
bool cli_profcheck_duplicates(cli_checked *j);
bool cli_profcheck_entries(cli_checked *j);

#endif
