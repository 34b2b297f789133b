/* Times and spans from and to text. The locale and TZ do not matter. */
#ifndef CLI_INSTANT_H
#define CLI_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds since 1970. */
int64_t cli_instant_now(void);

/* Nanoseconds of a clock that nobody sets. */
int64_t cli_monotonic_now(void);

/* Reads an RFC 3339 time (2026-11-21T08:00:00Z, a fraction, an offset like +01:00) or @SECONDS
 * since 1970, into nanoseconds since 1970. Digits behind the ninth of a fraction are dropped. False
 * for everything else and for what 64 bits do not hold; *nanos is then untouched. */
bool cli_instant_parse(const char *text, int64_t *nanos);

/* Writes a time in nanoseconds since 1970 as an RFC 3339 time in UTC and returns buf. */
char *cli_instant_format(int64_t nanos, char buf[48]);

/* Reads a span above 0 and of a year at most: 30, 30s, 1.5s, 500ms, 2m, 1h, 1d. */
bool cli_span_parse(const char *text, int64_t *nanos);

/* "59.96 s": a span, exactly. Returns buf. */
char *cli_span_format(int64_t nanos, char buf[48]);

#endif
