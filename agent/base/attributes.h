/* The attributes of the resource of OTLP, in an environment variable.
 *
 *     KEY=VALUE,KEY=VALUE      bytes of either may be written %XX; , = and % must be
 *
 * `pprofdelta record` writes the variable, and the agent reads it. The form is that of
 * OTEL_RESOURCE_ATTRIBUTES. */
#ifndef PD_AGENT_ATTRIBUTES_H
#define PD_AGENT_ATTRIBUTES_H

#include "pprofdelta_common.h"

#include <stdbool.h>

/* Reads the text into static memory: *list has *len attributes. Returns false if it is not valid or has
 * PD_RESOURCE_MAX bytes or more. */
bool pd_attributes_read(const char *text, const pprofdelta_attribute **list, size_t *len);

#endif
