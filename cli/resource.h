/* The resource of OTLP output: --resource, and the environment variables of OpenTelemetry.
 *
 * From weak to strong: service.name=unknown_service, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, the
 * resource of CUR if it is a request, --resource. */
#ifndef CLI_RESOURCE_H
#define CLI_RESOURCE_H

#include "arguments.h"

#include "pprofdelta.h"

/* Zero it to begin. */
typedef struct cli_resource {
    pprofdelta_attribute *list; /* for the options of the library; kept (keep.h) */
    size_t list_len, list_cap;
    size_t weak; /* the first so many yield to what a request has */
} cli_resource;

/* For cli_option.take of --resource: adds a value, which must be KEY=VALUE, to a cli_resource. */
void cli_resource_take(const cli_option *option, const char *value, void *given);

/* Makes the whole list from what was given and from the environment. A variable with a bad value is left
 * out, with a note. */
cli_resource cli_resource_make(const cli_resource *given);

/* Makes the list from a text of len bytes in the form of OTEL_RESOURCE_ATTRIBUTES. A bad text is left out, with
 * a note. */
cli_resource cli_resource_read(const char *text, size_t len);

/* The list as text in that form; kept. */
char *cli_resource_text(const cli_resource *resource);

#endif
