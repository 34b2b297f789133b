/* The quick reader of samples for processors with AVX-512, byte compression (VBMI2) and BMI2: see
 * sample_quick.h. Decodes the ids of a stack together (ids_avx512.h), and gathers and multiplies
 * the identities eight at a time. */
#include "profile/samples.h"

#include "base/processor.h"

#if PD_HAS_AVX512_FILES
#include "profile/ids_avx512.h"

FAST static inline const uint8_t *take_value(const uint8_t *p, uint64_t *value)
{
    uint64_t word = pd_load64(p), stops = ~word & PD_VARINT_CONTINUATION;
    if (__builtin_expect(!stops, 0))
        return NULL;
    *value = _pext_u64(word & (stops ^ (stops - 1)), ~PD_VARINT_CONTINUATION);
    return p + (_tzcnt_u64(stops) >> 3) + 1;
}

typedef struct sums {
    __m512i lo, hi;
    size_t position;
    __m512i most; /* largest sequential id */
} sums;

/* Adds the locations of these eight indices that are in the mask, at positions from `position` on.
 */
FAST static inline void add_eight(sums *s, const pd_sample_reader *r, size_t position,
                                  __m256i index, __mmask8 mask)
{
    const pd_key *idents = r->tables->idents;
    __m512i zero = _mm512_setzero_si512();
    __m256i word = _mm256_slli_epi32(index, 1); /* an identity is two words */
    __m512i lo = _mm512_mask_i32gather_epi64(zero, mask, word, &idents->lo, 8);
    __m512i hi = _mm512_mask_i32gather_epi64(zero, mask, word, &idents->hi, 8);
    __m512i number_lo = _mm512_loadu_si512(r->numbers->lo + position);
    __m512i number_hi = _mm512_loadu_si512(r->numbers->hi + position);
    s->lo = _mm512_add_epi64(s->lo, _mm512_mullo_epi64(lo, number_lo));
    s->hi = _mm512_add_epi64(s->hi, _mm512_mullo_epi64(hi, number_hi));
}

/* Adds sixteen locations, or the last `len`. `at` is the index of the first one in the ids. */
FAST static inline bool add_sixteen(sums *s, const pd_sample_reader *r, unsigned at, unsigned len,
                                    __m512i id)
{
    __mmask16 here = (__mmask16)_bzhi_u32(0xffff, len);
    __m512i index = _mm512_sub_epi32(id, _mm512_set1_epi32(1));
    if (__builtin_expect(_mm512_mask_cmpge_epu32_mask(here, index, s->most), 0))
        return false;
    add_eight(s, r, s->position + at, _mm512_castsi512_si256(index), (__mmask8)here);
    if (len > 8)
        add_eight(s, r, s->position + at + 8, _mm512_extracti64x4_epi64(index, 1),
                  (__mmask8)(here >> 8));
    return true;
}

FAST static inline bool add_ids(sums *s, const pd_sample_reader *r, const ids *in, bool has_three)
{
    bool ok = add_sixteen(s, r, 0, in->len, PUT_TOGETHER(in, 0, has_three));
    if (in->len > 16)
        ok &= add_sixteen(s, r, 16, in->len - 16, PUT_TOGETHER(in, 1, has_three));
    if (in->len > 32)
        ok &= add_sixteen(s, r, 32, in->len - 32, PUT_TOGETHER(in, 2, has_three));
    if (in->len > 48)
        ok &= add_sixteen(s, r, 48, in->len - 48, PUT_TOGETHER(in, 3, has_three));
    s->position += in->len;
    return ok;
}

/* The portable form, on a copy of the hash: a hash whose address is taken is not kept in registers.
 */
static bool take_portably(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                          pd_identity *stack)
{
    pd_identity hash = {0};
    bool ok = pd_sample_stack(r, p, end, &hash);
    stack->lo = hash.lo;
    stack->hi = hash.hi;
    stack->depth = hash.depth;
    return ok;
}

FAST static inline bool take_stack(const pd_sample_reader *r, const uint8_t *p, const uint8_t *end,
                                   pd_identity *stack)
{
    const uint8_t *start = p;
    size_t sequential = r->tables->location_map.sequential;
    bool has_three = sequential >= TWO_BYTES;
    sums s = {_mm512_setzero_si512(), _mm512_setzero_si512(), 0,
              _mm512_set1_epi32((int)sequential)};
    if (end - p >= PD_STACK_BLOCK || sequential > INT32_MAX / 2)
        return take_portably(r, start, end, stack);
    while (p < end) {
        ids some;
        if (!take_apart(p, (size_t)(end - p), has_three, &some) ||
            !add_ids(&s, r, &some, has_three))
            return take_portably(r, start, end, stack);
        p += some.bytes;
    }
    __m512i pairs = _mm512_add_epi64(_mm512_unpacklo_epi64(s.lo, s.hi), /* lo, hi, lo, hi ... */
                                     _mm512_unpackhi_epi64(s.lo, s.hi));
    __m256i four =
        _mm256_add_epi64(_mm512_castsi512_si256(pairs), _mm512_extracti64x4_epi64(pairs, 1));
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    stack->lo = (uint64_t)_mm_cvtsi128_si64(two);
    stack->hi = (uint64_t)_mm_extract_epi64(two, 1);
    stack->depth = s.position;
    return true;
}

#define PD_QUICK_RUN    pd_sample_run_avx512
#define PD_QUICK_VALUES pd_sample_values_avx512
#define PD_QUICK_TARGET FAST
#include "profile/sample_quick.h"

#else
pprofdelta_status pd_sample_run_avx512(pd_sample_reader *r, pd_reader *top, pd_sample_taker taker)
{
    return pd_sample_run_portable(r, top, taker);
}

bool pd_sample_values_avx512(const pd_columns *columns, const uint8_t *p, const uint8_t *end,
                             int64_t *values)
{
    return pd_sample_values_portable(columns, p, end, values);
}
#endif
