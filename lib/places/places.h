/* An address becomes a location: for records and for live heaps.
 *
 *     address -> symbol -> place -> mapping -> identity -> location of the profile
 *
 * A place is an address in a mapping, or in none, with the lines that the symbolizer has for it. A
 * number in no mapping has no meaning in other processes, and may be no address: the frames of an
 * interpreter have numbers of their own. If the symbolizer has lines for it, the place is identified
 * by them and has no address. All other places are identified by address and mapping.
 *
 * When code is unloaded, its addresses stay in stacks, and other code may be loaded there. So
 * mappings are never removed. Each has spans of eras in which it was there; an era is one reading of
 * /proc/self/maps. Eras count from 1. An address of an earlier era has the mapping of that era. */
#ifndef PD_PLACES_PLACES_H
#define PD_PLACES_PLACES_H

#include "places/packed.h"
#include "process/maps.h"

/* When the mappings are read again, besides when an address is in none of them. */
typedef enum pd_places_watch {
    PD_WATCH_NOTHING,
    PD_WATCH_LOADER, /* if the loader has loaded or unloaded something */
    PD_WATCH_ALWAYS, /* for each profile: the loader may not be asked in the child of a fork */
    PD_WATCH_GONE    /* not even then: they are those of a process that has ended */
} pd_places_watch;

/* What the mappings in a profile are marked as having, with a symbolizer. Readers do not search for
 * what a mapping has. */
typedef enum pd_places_names {
    PD_NAMES_IF_COMPLETE, /* everything, if all its places have lines */
    PD_NAMES_ALL,         /* everything */
    PD_NAMES_FUNCTIONS    /* functions, if a place in it has lines; nothing else */
} pd_places_names;

typedef struct pd_symbol_place {
    pd_key ident; /* see identity.h; that of its lines until its mapping is known */
    uint64_t address;
    uint64_t round;   /* of the profile in which it has the id `out` */
    size_t frames_at; /* where its lines stand in `frames` */
    uint32_t frames_len;
    uint32_t mapping;
    pd_encoded out;
    bool is_hidden;
} pd_symbol_place;

typedef struct pd_place_span {
    uint32_t map;        /* the mapping's number */
    uint32_t born, gone; /* gone 0: it is there */
} pd_place_span;

/* What is known of a mapping. */
typedef struct pd_place_map {
    uint32_t span;      /* its last span */
    bool lacks_symbols; /* a place in it has no lines */
} pd_place_map;

typedef struct pd_places {
    /* Set by the owner. */
    pprofdelta_symbolizer *symbolize; /* NULL: none */
    void *symbolize_cookie;
    bool has_mappings;
    bool has_return_addresses; /* the address of a place is that of the byte before */
    pd_places_watch watch;
    pd_places_names names;
    /* Places and mappings. */
    pd_keymap keys;
    pd_symbol_place *places; /* of each key */
    pd_buffer frames;        /* packed: the lines of all places */
    uint64_t round;  /* of the profile that is being written; 0: none yet. So nothing has to be
                         cleared between profiles */
    size_t by_lines; /* places that are identified by their lines */
    pd_maps maps;
    pd_place_span *spans; /* oldest first; a mapping that came back has several */
    pd_place_map *known_maps;
    size_t spans_len, known_maps_len;
    uint32_t era;
    uint64_t loads; /* of the loader, at the last reading */
    bool is_whole;  /* the last reading succeeded */
    bool is_reread; /* the mappings were read again for this profile, or cannot be */
} pd_places;        /* zero it to begin */

/* What the loader has loaded by now, for the next two. Waits for a dlopen that is under way, so it is called without
 * a lock that a fork waits for. */
uint64_t pd_places_loads(const pd_places *places);

/* Reads the mappings if they were never read, or as `watch` says. */
pprofdelta_status pd_places_read(pd_places *places, uint64_t loads, pd_mem *mem,
                                 pprofdelta_error *err);

/* Begins a profile: reads the mappings, and nothing is written yet. */
pprofdelta_status pd_places_begin(pd_places *places, uint64_t loads, pd_mem *mem,
                                  pprofdelta_error *err);

/* The number of the place of an address. A new one is symbolized. Its mapping is not known yet. */
pprofdelta_status pd_places_find(pd_places *places, pd_mem *mem, uint64_t address, uint32_t *out,
                                 pprofdelta_error *err);

/* The following write to a profile. A failure is in the writer's status. */

static inline bool pd_places_has_main(const pd_places *places)
{
    return places->has_mappings && places->maps.main != PD_MAP_NONE;
}

/* The main binary, as the first mapping: pprof expects that. */
void pd_places_write_main(pd_places *places, pd_model *out);

/* PD_NAMES_IF_COMPLETE, after all places: marks the mappings that are complete. */
void pd_places_write_complete(const pd_places *places, pd_model *out);

/* A stack, the leaf first: frames without addresses, then addresses. */
typedef struct pd_place_stack {
    const pprofdelta_frame *frames;
    size_t frames_len;
    const uint64_t *stack;
    size_t depth;
    uint32_t era; /* of the mappings of its addresses; 0: now. PD_ERA_ANY: see below */
} pd_place_stack;

/* An address has the mapping that it had when it was written first, since the places were forgotten. */
#define PD_ERA_ANY UINT32_MAX

/* Puts the stack of the next sample. The mappings are read again at most once for each profile. An
 * address that is in none of them after that is code that was generated at run time. */
void pd_places_write_stack(pd_places *places, pd_model *out, const pd_place_stack *stack);

/* Forgets the places, and everything; keeps the capacity. */
void pd_places_clear_places(pd_places *places);
void pd_places_clear(pd_places *places);

/* Releases the memory of the places. They must have been forgotten before the next profile. */
void pd_places_trim(pd_places *places, pd_mem *mem);

#endif
