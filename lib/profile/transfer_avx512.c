/* Copies stacks into the compact writer on processors with AVX-512 and byte compression: sixteen
 * ids are looked up at once, and their bytes that are not 0 are written. */
#include "profile/transfer.h"

#include "base/processor.h"

#if PD_HAS_AVX512_FILES
#include "profile/ids_avx512.h"

/* Adds those of sixteen locations that were not added yet. */
static void meet_all(pd_transfer *t, const uint32_t index[16], uint32_t which)
{
    for (; which; which &= which - 1) {
        uint32_t i = index[__builtin_ctz(which)];
        if (!t->locations[i]) /* it may be in the sixteen twice */
            pd_transfer_add_location(t, i);
    }
}

/* Writes sixteen locations, or the last `len`, to `out`. Returns NULL if an id is not sequential, or
 * if a location has the id 0, whose only byte is 0. */
FAST static inline uint8_t *put_sixteen(pd_transfer *t, unsigned len, __m512i id, uint8_t *out)
{
    __m512i most = _mm512_set1_epi32((int)t->tables->location_map.sequential);
    __mmask16 here = (__mmask16)_bzhi_u32(0xffff, len);
    __m512i index = _mm512_sub_epi32(id, _mm512_set1_epi32(1)), zero = _mm512_setzero_si512();
    if (__builtin_expect(_mm512_mask_cmpge_epu32_mask(here, index, most), 0))
        return NULL;
    __m512i words = _mm512_mask_i32gather_epi32(zero, here, index, t->locations, 4);
    __mmask16 unmet = _mm512_mask_testn_epi32_mask(here, words, words);
    if (__builtin_expect(unmet, 0)) {
        uint32_t indices[16];
        _mm512_storeu_si512(indices, index);
        meet_all(t, indices, unmet);
        words = _mm512_mask_i32gather_epi32(zero, here, index, t->locations, 4);
        if (_mm512_mask_testn_epi32_mask(here, words, words))
            return NULL;
    }
    __mmask64 bytes = _mm512_test_epi8_mask(words, words);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(bytes, words));
    return out + _mm_popcnt_u64(bytes);
}

FAST uint8_t *pd_transfer_run_avx512(pd_transfer *t, const uint8_t *p, const uint8_t *end,
                                     uint8_t *out)
{
    size_t sequential = t->tables->location_map.sequential;
    bool has_three = sequential >= TWO_BYTES;
    if (sequential > INT32_MAX / 2)
        return NULL;
    while (p < end) {
        ids some;
        if (!take_apart(p, (size_t)(end - p), has_three, &some))
            return NULL;
        out = put_sixteen(t, some.len, PUT_TOGETHER(&some, 0, has_three), out);
        if (out && some.len > 16)
            out = put_sixteen(t, some.len - 16, PUT_TOGETHER(&some, 1, has_three), out);
        if (out && some.len > 32)
            out = put_sixteen(t, some.len - 32, PUT_TOGETHER(&some, 2, has_three), out);
        if (out && some.len > 48)
            out = put_sixteen(t, some.len - 48, PUT_TOGETHER(&some, 3, has_three), out);
        if (!out)
            return NULL;
        p += some.bytes;
    }
    return out;
}

#else
uint8_t *pd_transfer_run_avx512(pd_transfer *t, const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    (void)t, (void)p, (void)end, (void)out;
    return NULL;
}
#endif
