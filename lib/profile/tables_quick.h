/* The quick way to read the tables of a profile: see tables_quick.c. */
#ifndef PD_PROFILE_TABLES_QUICK_H
#define PD_PROFILE_TABLES_QUICK_H

#include "profile/fields.h"
#include "profile/tables.h"
#include "wire/reader.h"

/* Reads fields of the profile into the tables, and counts samples, up to one that is not for the
 * quick way; there it leaves `top`. */
void pd_tables_read_quick(pd_tables *tables, pd_reader *top);

#endif
