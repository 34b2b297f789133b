/* From a record to the window: which part of its stack is shown, its ledger entry, and what is
 * stored of it. */
#include "profile/identity.h"
#include "record/recorder.h"

/* The seeds of keys that never leave the process. */
enum { SEED_RECORD = 201, SEED_BLOCK_SIZE };

static pd_key key_of(const pprofdelta_record *record, const uint64_t *stack, size_t depth)
{
    pd_identity identity = {0};
    pd_identity_addresses(&identity, stack, depth * sizeof *stack, SEED_RECORD);
    for (size_t i = 0; i < record->labels_len; i++) {
        pd_label_parts l = pd_label_parts_of(&record->labels[i]);
        pd_identity_label(&identity, pd_label_parts_key(&l));
    }
    if (record->block_size) {
        uint64_t word = (uint64_t)record->block_size;
        pd_identity_label(&identity, pd_key_of_words(&word, 1, SEED_BLOCK_SIZE));
    }
    return pd_identity_key(&identity);
}

/* The number of leading frames that are hidden; 0 if all frames would be hidden. */
static pprofdelta_status count_hidden(pprofdelta_recorder *r, const pprofdelta_record *record,
                                      size_t *out, pprofdelta_error *err)
{
    for (*out = 0; *out < record->depth; ++*out) {
        uint32_t place;
        PD_TRY(pd_places_find(&r->places, &r->mem, record->stack[*out], &place, err));
        if (!r->places.places[place].is_hidden)
            return PPROFDELTA_OK;
        r->may_hide = true;
    }
    *out = 0;
    return PPROFDELTA_OK;
}

/* Bytes of a stack in the arena. */
static size_t stack_size(const pprofdelta_recorder *r, size_t depth)
{
    return r->options.flags & PPROFDELTA_BORROW_STACKS ? 0 : depth * sizeof(uint64_t);
}

/* Stores what is needed if the record is written. */
static pprofdelta_status keep_record(pprofdelta_recorder *r, const pprofdelta_record *record,
                                     size_t hidden, size_t entry, pprofdelta_error *err)
{
    pd_buffer *arena = &r->arena;
    pd_kept kept = {.depth = record->depth - hidden,
                    .labels_len = record->labels_len,
                    .block_size = record->block_size,
                    .stack = record->depth ? record->stack + hidden : NULL};
    size_t size = stack_size(r, kept.depth);
    PD_TRY(pd_buffer_room(&r->mem, arena, sizeof(uint64_t) + sizeof kept + size, err));
    PD_TRY(PD_GROW(&r->mem, r->kept_at, entry + 1, err));
    arena->len = (arena->len + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
    r->kept_at[entry] = arena->len;
    pd_buffer_put(arena, &kept, sizeof kept);
    pd_buffer_put(arena, kept.stack, size);
    for (size_t i = 0; i < record->labels_len; i++) {
        pd_label_parts l = pd_label_parts_of(&record->labels[i]);
        PD_TRY(pd_pack_label(&r->mem, arena, &l, err));
    }
    return PPROFDELTA_OK;
}

pd_kept pd_recorder_kept(const pprofdelta_recorder *r, size_t row)
{
    pd_kept kept;
    const uint8_t *at = r->arena.ptr + r->kept_at[r->window.entry[row]];
    memcpy(&kept, at, sizeof kept);
    at += sizeof kept;
    if (!(r->options.flags & PPROFDELTA_BORROW_STACKS))
        kept.stack = (const void *)at; /* aligned: see keep */
    kept.labels = at + stack_size(r, kept.depth);
    return kept;
}

/* The number of hidden frames, and the key. If a stack is already known as it is and nothing was
 * ever hidden, its program counters are not looked up. */
static pprofdelta_status identify_record(pprofdelta_recorder *r, const pprofdelta_record *record,
                                         size_t *hidden, pd_key *key, pprofdelta_error *err)
{
    *hidden = 0;
    *key = key_of(record, record->stack, record->depth);
    if (!r->places.symbolize ||
        (!r->may_hide && pd_keymap_is_at(&r->ledger.keys, r->window.guess, *key)))
        return PPROFDELTA_OK;
    PD_TRY(count_hidden(r, record, hidden, err));
    if (*hidden)
        *key = key_of(record, record->stack + *hidden, record->depth - *hidden);
    return PPROFDELTA_OK;
}

/* After a failure, the window can only be abandoned. */
static pprofdelta_status add_record(pprofdelta_recorder *r, const pprofdelta_record *record,
                                    const int64_t *row, pprofdelta_error *err)
{
    const pd_row_set *w = &r->window;
    size_t hidden, rows = w->len, entries = w->len + w->unchanged;
    pd_key key;
    PD_TRY(identify_record(r, record, &hidden, &key, err));
    PD_TRY(pd_row_set_add(&r->window, &r->mem, key, r->samples_in, row, err));
    size_t entry = w->guess - 1; /* the one that was just added */
    bool is_first = w->len + w->unchanged > entries, is_kept = r->keeps_unchanged && is_first;
    if (is_kept && r->options.on_reset == PPROFDELTA_ON_RESET_AUTO)
        r->keeps_unchanged = pd_reset_watch_add(&r->watch, &r->ledger, entry, row);
    return is_kept || w->len > rows ? keep_record(r, record, hidden, entry, err) : PPROFDELTA_OK;
}

static pprofdelta_status add_checked(pprofdelta_recorder *r, const pprofdelta_record *record,
                                     pprofdelta_error *err)
{
    int64_t row[PPROFDELTA_MAX_TYPES], any = 0;
    PD_TRY(pd_need(record, err));
    PD_TRY(pd_need(record->values, err));
    PD_TRY(pd_need_array(record->stack, record->depth, err));
    PD_TRY(pd_need_array(record->labels, record->labels_len, err));
    for (size_t i = 0; i < r->columns.len; i++)
        any |= row[r->columns.slot[i]] = record->values[i];
    pprofdelta_status status = any ? add_record(r, record, row, err) : PPROFDELTA_OK;
    if (status)
        err->offset = PPROFDELTA_NOWHERE; /* the offset of a row is the number of its record */
    r->samples_in++;
    return status;
}

pprofdelta_status pprofdelta_recorder_add(pprofdelta_recorder *r, const pprofdelta_record *record,
                                          pprofdelta_error *err)
{
    if (r->steps.stage == PD_IDLE || r->is_full)
        return pd_refuse(err, r->steps.stage == PD_IDLE ? "no window is under way: begin one first"
                                                        : "the window was written already");
    if (!r->trouble.status)
        add_checked(r, record, &r->trouble);
    return r->trouble.status ? pd_fail_as(err, &r->trouble) : PPROFDELTA_OK;
}
