/* The quick reader of the tables: see tables_quick.c. */
#ifndef PD_PROFILE_TABLES_QUICK_H
#define PD_PROFILE_TABLES_QUICK_H

#include "profile/fields.h"
#include "profile/tables.h"
#include "wire/reader.h"

/* Reads fields of the profile into the tables, and counts samples, up to a field that the quick
 * reader does not read; `top` is then at that field. */
void pd_tables_read_quick(pd_tables *tables, pd_reader *top);

#endif
