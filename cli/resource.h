/* The resource of OTLP output: --resource, and the environment variables of OpenTelemetry.
 *
 * From weak to strong: service.name=unknown_service, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME,
 * --resource. */
#ifndef CLI_RESOURCE_H
#define CLI_RESOURCE_H

#include "pprofdelta.h"

typedef struct cli_resource {
    pprofdelta_attribute *list; /* for the options of the library */
    size_t len;
    char *texts; /* the strings that are not the caller's */
} cli_resource;  /* zero it to begin */

/* Returns whether --resource may have this value: KEY=VALUE. Prints what is wrong if not; returns an
 * exit code. */
int cli_resource_check(const char *value);

/* Makes the list from given[0..len), values that were checked, and from the environment. A variable
 * with a bad value is left out, with a note. Prints what is wrong; returns an exit code. */
int cli_resource_make(cli_resource *resource, const char *const *given, size_t len);

/* The list as text, in the form of OTEL_RESOURCE_ATTRIBUTES. The caller frees it. NULL: no memory. */
char *cli_resource_text(const cli_resource *resource);

void cli_resource_free(cli_resource *resource);

#endif
