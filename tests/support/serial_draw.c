/* Draws styles. */
#include "serial.h"

static unsigned draw_percent(rng *r)
{
    static const unsigned percents[] = {0, 0, 0, 5, 30, 100};
    return percents[rng_below(r, sizeof percents / sizeof *percents)];
}

serial_style serial_draw(rng *r)
{
    serial_style style = {.seed = rng_next(r)};
    style.ids = (serial_ids)rng_below(r, 4);
    style.tables = (serial_tables)rng_below(r, 4);
    style.packing = (emit_packing)rng_below(r, 4);
    style.pack = rng_chance(r, 70) ? PACK_PLAIN : rng_chance(r, 50) ? PACK_GZIP : PACK_ZSTD;
    style.members = 1 + (unsigned)rng_below(r, 3);
    style.shuffle_fields = rng_chance(r, 40);
    style.shuffle_tables = rng_chance(r, 50);
    style.shuffle_labels = rng_chance(r, 50);
    style.shuffle_columns = rng_chance(r, 40);
    style.shuffle_samples = rng_chance(r, 40);
    style.write_unused = rng_chance(r, 40);
    style.wide_splits = rng_chance(r, 5);
    style.explicit_zeros = draw_percent(r);
    style.long_varints = draw_percent(r);
    style.unknown_fields = draw_percent(r);
    style.said_twice = rng_chance(r, 20) ? 10 : 0;
    style.split_samples = draw_percent(r);
    style.repeat_strings = draw_percent(r);
    style.repeat_records = draw_percent(r);
    return style;
}
