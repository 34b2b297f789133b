/* Notes which files are mapped where, for a recovery: see pd_heap_maps.
 *
 * The tables of pd_places change while they are read and grow by moving. A recovery may find them in
 * any state. So each reading is copied, and the copy then takes the place of the last one. */
#include "heap/heap.h"

static void copy_spans(const pd_places *places, pd_heap_maps *to)
{
    to->main = PD_MAP_NONE;
    for (size_t i = 0; i < to->len; i++) {
        const pd_place_span *span = &places->spans[i];
        const pd_map *map = &places->maps.maps[span->map];
        to->at[i] = (pd_heap_map){.start = map->start,
                                  .limit = map->limit,
                                  .file_offset = map->file_offset,
                                  .name_off = map->name_off,
                                  .build_id_off = map->build_id_off,
                                  .name_len = map->name_len,
                                  .build_id_len = map->build_id_len,
                                  .born = span->born,
                                  .gone = span->gone};
        if (span->map == places->maps.main)
            to->main = (uint32_t)i;
    }
}

/* Puts the copy in the place of the last one. */
static void replace(pprofdelta_heap *heap, pd_heap_maps *fresh)
{
    pd_heap_maps *former = heap->maps;
    PD_WRITTEN_FIRST();
    heap->maps = fresh;
    PD_WRITTEN_FIRST();
    heap->maps_again = ~(uintptr_t)fresh;
    PD_WRITTEN_FIRST();
    if (!former || !pd_heap_enter(heap))
        return;
    pd_pages_unmap(&heap->pages, former, former->size);
    pd_heap_leave(heap);
}

void pd_heap_note_maps(pprofdelta_heap *heap)
{
    const pd_places *places = &heap->writer.places;
    if (!places->is_whole || (heap->maps && heap->maps->era == places->era))
        return;
    uint64_t size = sizeof(pd_heap_maps) + places->spans_len * sizeof(pd_heap_map);
    pd_heap_maps to = {.size = size + places->maps.text.len,
                       .len = places->spans_len,
                       .text_len = places->maps.text.len,
                       .era = places->era};
    if (!pd_heap_enter(heap))
        return;
    pd_heap_maps *fresh = pd_pages_map(&heap->pages, to.size);
    pd_heap_leave(heap);
    if (!fresh)
        return;
    *fresh = to;
    copy_spans(places, fresh);
    if (to.text_len)
        memcpy(&fresh->at[to.len], places->maps.text.ptr, to.text_len);
    fresh->check = pd_heap_maps_check(fresh, fresh->size);
    replace(heap, fresh);
}
