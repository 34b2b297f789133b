/* The table of `show`: what show_top.c has added up and show_table.c lays out. */
#ifndef CLI_SHOW_TOP_H
#define CLI_SHOW_TOP_H

#include "show.h"

/* One function, with its sums of the column to sort by. */
typedef struct cli_row {
    size_t symbol;
    pprofdelta_sum flat, cum;
} cli_row;

typedef struct cli_top {
    const cli_profile *profile;
    cli_symbols symbols;
    size_t sort; /* the column to sort by */
    pprofdelta_sum total;
    size_t columns[PPROFDELTA_MAX_TYPES]; /* to be shown, by their number in the profile */
    size_t columns_len;
    pprofdelta_sum *flat; /* flat[symbol * n_sample_type + column] */
    cli_row *rows;        /* sorted, without those that are zero all over */
    size_t rows_len;
} cli_top;

/* Prints the first `rows` rows. Columns that leave no room for the names are dropped from *top;
 * has_shares adds percentages of the total. */
void cli_table_print(cli_top *top, bool has_shares, size_t rows);

#endif
