/* The records door: what a recorder of the public API holds.
 *
 *     record -> key -> window, stack -> arena                         (recorder_add.c)
 *     window -> verdict -> subtraction -> unsampling -> emission      (recorder_window.c)
 *     emission -> places -> compact -> compress -> sink    (recorder_write.c, recorder_equal.c)
 *
 * A stack is known by its program counters as they are. Within one process they and the places that
 * they stand for are the same, and so the many stacks of which nothing comes cost a hash of their
 * bytes and nothing else: no program counter is looked up for them. (Those that lead a stack are,
 * where a callback may hide them: what is hidden takes no part in the key.)
 *
 * Most records have not moved since the last window, and they get no row (see window.h). Should it
 * turn out that counting began anew, all of them come out: so where that is for the recorder to
 * find out, they are kept until so much of what was there before has been met that it cannot be.
 *
 * The arena keeps what the rows of the window under way will need if they come out:
 *
 *     kept | depth program counters, or where they are borrowed | kept_label text | kept_label text ...
 */
#ifndef PD_RECORD_RECORDER_H
#define PD_RECORD_RECORDER_H

#include "codec/compress.h"
#include "delta/reset.h"
#include "delta/subtract.h"
#include "delta/types.h"
#include "process/maps.h"
#include "base/scale.h"
#include "record/symbol_table.h"

typedef struct pd_kept_record {
    size_t depth;
    size_t labels_len;
    int64_t block_size;
} pd_kept_record;

typedef struct pd_kept_label {
    int64_t num;
    size_t key_len, str_len, num_unit_len; /* the three texts stand behind it */
} pd_kept_label;

/* A record that stands still, and where in the arena it is kept. */
typedef struct pd_asleep {
    size_t entry, at;
} pd_asleep;

/* A sample that comes out: its row, and in `frames` its places; its values are in `values`, in the
 * order of columns. */
typedef struct pd_emitted {
    size_t row;
    size_t frames_first, depth;
} pd_emitted;

typedef enum pd_recorder_state {
    PD_RECORDER_IDLE,
    PD_RECORDER_FILLING,
    PD_RECORDER_WRITING
} pd_recorder_state;

struct pprofdelta_recorder {
    pd_mem mem;
    /* What the caller chose. */
    unsigned flags;
    pprofdelta_kind kind;
    pprofdelta_on_reset on_reset;
    pprofdelta_first first;
    bool has_period_type;
    pprofdelta_symbolizer *symbolize;
    void *symbolize_cookie;
    int64_t started_nanos;
    pd_schema schema;
    pd_columns columns;
    pd_buffer text; /* period type, period unit and default type, each with a NUL behind it */
    size_t period_unit_off, default_type_off;
    /* What is remembered. The side of a ledger entry is the carries of its counters. */
    pd_ledger ledger;
    int64_t last_nanos;
    uint64_t sequence; /* of the last committed window */
    uint64_t attempts; /* at the next one, that were handed out and abandoned */
    /* The window under way. */
    pd_recorder_state state;
    bool is_written;    /* the last write succeeded */
    bool is_handed_out; /* a write gave it to the sink */
    bool is_scaled;
    bool has_base;       /* something is remembered */
    bool keeps_still;    /* as long as counting may have begun anew */
    bool may_hide;       /* a program counter is or may be hidden */
    bool has_read_again; /* the maps, in this write */
    bool restarted; /* the caller said so, in this window or in one that was abandoned since the
                            last commit */
    int64_t time_nanos, period;
    pd_scale scales[PPROFDELTA_MAX_TYPES]; /* in the row's order; not of a heap */
    pprofdelta_error trouble;              /* a record is missing, and why */
    uint64_t samples_in;
    pd_window window; /* a row's origin is the number of its record, from 0 */
    size_t *kept_at;  /* of each row, in the arena */
    size_t kept_at_cap;
    pd_buffer arena;
    pd_asleep *asleep;
    size_t asleep_len, asleep_cap;
    uint64_t to_meet[PPROFDELTA_MAX_TYPES]; /* of each counter, until it cannot have begun anew */
    pd_subtraction how;
    pprofdelta_restart restart;
    /* Machinery, kept for its capacity. */
    pd_symbols symbols;
    size_t by_lines; /* places that are known by their lines */
    pd_maps maps;
    pd_compact compact;
    pd_compressor compressor;
    pd_keymap shown; /* what the emitted samples look like, where two may look the same */
    pd_emitted *emitted;
    uint32_t *frames;
    int64_t *values;
    size_t emitted_len, frames_len;
    size_t emitted_cap, frames_cap, values_cap;
    pprofdelta_type_report types[PPROFDELTA_MAX_TYPES];
};

/* What was kept of a row. */
static inline const uint8_t *pd_recorder_kept(const pprofdelta_recorder *recorder, size_t row,
                                              pd_kept_record *kept)
{
    const uint8_t *at = recorder->arena.ptr + recorder->kept_at[row];
    memcpy(kept, at, sizeof *kept);
    return at + sizeof *kept;
}

/* The stack of a row: `depth` program counters. */
const uintptr_t *pd_recorder_stack(const pprofdelta_recorder *recorder, size_t row, size_t *depth);

/* Where the labels of a row begin, as many as *kept says. */
static inline const uint8_t *pd_recorder_labels(const pprofdelta_recorder *recorder, size_t row,
                                                pd_kept_record *kept)
{
    const uint8_t *at = pd_recorder_kept(recorder, row, kept);
    return at + (recorder->flags & PPROFDELTA_BORROW_STACKS ? sizeof(uintptr_t *)
                                                            : kept->depth * sizeof(uintptr_t));
}

/* The label at *at, which moves on to the next. */
static inline pd_label_parts pd_recorder_take_label(const uint8_t **at)
{
    pd_kept_label label;
    memcpy(&label, *at, sizeof label);
    const uint8_t *key = *at + sizeof label, *str = key + label.key_len,
                  *num_unit = str + label.str_len;
    *at = num_unit + label.num_unit_len;
    return (pd_label_parts){.key = {key, label.key_len},
                            .str = {str, label.str_len},
                            .num_unit = {num_unit, label.num_unit_len},
                            .num = label.num};
}

/* recorder_places.c: the place of a program counter, which is symbolised if it is new. */
pprofdelta_status pd_recorder_place(pprofdelta_recorder *recorder, uintptr_t pc, uint32_t *out,
                                    pprofdelta_error *err);

/* ... with its mapping, as the output needs it. */
pprofdelta_status pd_recorder_mapped_place(pprofdelta_recorder *recorder, uintptr_t pc,
                                           uint32_t *out, pprofdelta_error *err);

/* recorder_equal.c: adds those of the emitted samples up that look the same. */
pprofdelta_status pd_recorder_add_up_equal(pprofdelta_recorder *recorder, pprofdelta_error *err);

/* recorder_window.c: what to do with records that stand still. */
void pd_recorder_watch(pprofdelta_recorder *recorder);

/* One of this entry was met, for the first time. */
void pd_recorder_met(pprofdelta_recorder *recorder, size_t entry);

/* What the window is (how, restart). */
pprofdelta_status pd_recorder_judge(pprofdelta_recorder *recorder, pprofdelta_error *err);

/* The unsampled values of a row's increment, in the row's order. carries are those of its counters,
 * before and after. */
void pd_recorder_unsample(const pprofdelta_recorder *recorder, int64_t block_size,
                          const int64_t *raw, pd_carry *carries, int64_t *out);

/* The carries that a row begins the window with. */
void pd_recorder_load_carries(const pprofdelta_recorder *recorder, size_t row, pd_carry *carries);

/* Moves the carries of the rows on, before the window is committed. */
void pd_recorder_carry_on(pprofdelta_recorder *recorder);

#endif
