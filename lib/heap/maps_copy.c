/* Notes which files are mapped where, for a recovery: see pd_heap_maps.
 *
 * The tables of pd_places change while they are read and grow by moving. A recovery may find them in
 * any state. So each reading is copied, and the copy then takes the place of the last one. */
#include "heap/heap.h"

/* Puts the copy in the place of the last one. */
static void replace_copy(pprofdelta_heap *heap, pd_heap_maps *fresh)
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

void pd_heap_copy_maps(pprofdelta_heap *heap)
{
    const pd_places *places = &heap->writer.places;
    if (!places->is_whole || (heap->maps && heap->maps->era == places->era))
        return;
    const pd_maps *maps = &places->maps;
    const size_t of_maps = maps->len * sizeof(pd_map);
    const size_t of_spans = places->spans_len * sizeof(pd_place_span);
    const pd_heap_maps head = {.size = sizeof head + of_maps + of_spans + maps->text.len,
                               .len = maps->len,
                               .spans_len = places->spans_len,
                               .text_len = maps->text.len,
                               .era = places->era,
                               .main = maps->main};
    if (!pd_heap_enter(heap))
        return;
    pd_heap_maps *fresh = pd_pages_map(&heap->pages, head.size);
    pd_heap_leave(heap);
    if (!fresh)
        return;
    pd_buffer to = {.ptr = (uint8_t *)fresh};
    pd_buffer_put(&to, &head, sizeof head);
    pd_buffer_put(&to, maps->maps, of_maps);
    pd_buffer_put(&to, places->spans, of_spans);
    pd_buffer_put(&to, maps->text.ptr, maps->text.len);
    fresh->check = pd_heap_check_of(fresh, (size_t)fresh->size);
    replace_copy(heap, fresh);
}
