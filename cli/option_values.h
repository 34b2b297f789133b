/* The values of options that several verbs have.
 *
 * The functions that return an int print what is wrong and return CLI_USAGE, or return CLI_DONE.
 * They change what their last parameter points to only if the value is allowed. */
#ifndef CLI_OPTION_VALUES_H
#define CLI_OPTION_VALUES_H

#include "pprofdelta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value is wrong. `allowed` ends the sentence "must be ...". Returns CLI_USAGE. */
int cli_bad_value(const char *option, const char *value, const char *allowed);

/* Sets *chosen to the index of value among names, which NULL ends. */
int cli_choose(const char *option, const char *value, const char *const *names, int *chosen);

/* Reads a number of bytes, as cli_size_parse. */
int cli_take_size(const char *option, const char *value, uint64_t *size);

/* Reads a number of rows of a table, above 0. */
int cli_take_rows(const char *option, const char *value, size_t *rows);

/* Reads a span, as cli_span_parse. */
int cli_take_span(const char *option, const char *value, int64_t *nanos);

/* Reads the name of a sample type: TYPE or TYPE/UNIT. */
int cli_take_type(const char *option, const char *value, const char **type);

/* --output, --compress and --format. */
int cli_take_output(const char *value, const char **output);
int cli_take_compression(const char *value, pprofdelta_compression *compression);
int cli_take_format(const char *value, pprofdelta_format *format);

/* Reads a number of bytes above 0: 4096, 64k, 512M, 8G, 1T, 64KiB; k is 1024. Returns false if the
 * text is not such a number. cli_size_allowed describes them. */
bool cli_size_parse(const char *text, uint64_t *size);
extern const char cli_size_allowed[];

#endif
