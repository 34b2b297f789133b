/* Sums of 128 bits as text. */
#ifndef CLI_DECIMAL_H
#define CLI_DECIMAL_H

#include <pprofdelta.h>

/* Writes the sum in decimal and returns buf. */
char *cli_sum_format(pprofdelta_sum sum, char buf[48]);

#endif
