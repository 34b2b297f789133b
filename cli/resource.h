/* The resource of OTLP output: --resource, and the environment variables of OpenTelemetry.
 *
 * From weak to strong: service.name=unknown_service, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, the
 * resource of CUR if it is a request, --resource. */
#ifndef CLI_RESOURCE_H
#define CLI_RESOURCE_H

#include "arguments.h"

#include "pprofdelta.h"

typedef struct cli_resource {
    pprofdelta_attribute *list; /* for the options of the library; free it */
    size_t len, weak;           /* weak: the first so many yield to what a request has */
} cli_resource;                 /* zero it to begin */

typedef struct cli_resources {
    const char **values; /* of --resource; the caller allocates one for each argument */
    size_t len;
} cli_resources;

/* For cli_option.take of --resource: adds a value, which must be KEY=VALUE. */
int cli_resource_take(const cli_option *option, const char *value, void *member);

/* Makes the list from what was given and from the environment. A variable with a bad value is left
 * out, with a note. Prints what is wrong; returns an exit code. */
int cli_resource_make(cli_resource *resource, const cli_resources *given);

/* Makes the list from such a text of len bytes. What it has that is wrong is left out, with a note. Prints what is
 * wrong; returns an exit code. */
int cli_resource_read(cli_resource *resource, const char *text, size_t len);

/* The list as text, in the form of OTEL_RESOURCE_ATTRIBUTES. The caller frees it. NULL: no memory. */
char *cli_resource_text(const cli_resource *resource);

#endif
