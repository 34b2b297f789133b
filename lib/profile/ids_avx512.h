/* Decodes packed ids, up to 64 bytes at a time, on processors with AVX-512 and byte compression
 * (VBMI2). For the files *_avx512.c only.
 *
 * A byte without its top bit ends an id. The bytes at the ends, compressed, are the last bytes of
 * the ids in order; the bytes before the ends, compressed by the same mask, are the last but one,
 * and so on. There is no branch on a length:
 *
 *     bytes   05   83 01   a9 c4 02   7f          last     05  01  02  7f
 *                                                 second   -   83  c4  -
 *                                                 third    -   -   a9  - */
#ifndef PD_PROFILE_IDS_AVX512_H
#define PD_PROFILE_IDS_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

/* Without optimisation gcc's gathers are macros that pass a mask as a signed number. */
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define FAST                                                                                       \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi,bmi2,lzcnt,"         \
                          "popcnt")))

/* The first id of three bytes. Smaller tables have no valid id of three bytes. */
enum { TWO_BYTES = 1 << 14 };

/* Up to 64 ids: the last byte of each, the byte before, and the byte before that; 0 if there is
 * none (a byte that is not the last is never 0: its top bit is set). */
typedef struct ids {
    __m512i last, second, third;
    unsigned len;
    unsigned bytes; /* their length; an incomplete id follows */
} ids;

/* Splits the ids at p, up to 64 bytes. Returns false if there is no end, or an id is too long. */
FAST static inline bool take_apart(const uint8_t *p, size_t len, bool has_three, ids *out)
{
    __mmask64 here = _bzhi_u64(UINT64_MAX, (unsigned)(len < 64 ? len : 64));
    __m512i bytes = _mm512_maskz_loadu_epi8(here, p);
    __mmask64 goes_on = _mm512_movepi8_mask(bytes), ends = here & ~goes_on;
    __mmask64 after1 = goes_on << 1, after2 = after1 & goes_on << 2; /* this many bytes before */
    __mmask64 too_long = has_three ? after2 & goes_on << 3 : after2;
    if (__builtin_expect(!ends || too_long, 0))
        return false;
    __m512i before1 = _mm512_maskz_loadu_epi8(here & after1, p - 1);
    out->last = out->third = _mm512_maskz_compress_epi8(ends, bytes);
    out->second = _mm512_maskz_compress_epi8(ends, before1);
    if (has_three)
        out->third =
            _mm512_maskz_compress_epi8(ends, _mm512_maskz_loadu_epi8(here & after2, p - 2));
    out->len = (unsigned)_mm_popcnt_u64(ends);
    out->bytes = 64 - (unsigned)_lzcnt_u64(ends);
    return true;
}

/* Appends seven bits to the ids that have a byte there. */
FAST static inline __m512i append(__m512i id, __m128i bytes)
{
    __m512i byte = _mm512_cvtepu8_epi32(bytes);
    __mmask16 has = _mm512_test_epi32_mask(byte, byte);
    return _mm512_mask_or_epi32(id, has, _mm512_slli_epi32(id, 7),
                                _mm512_and_si512(byte, _mm512_set1_epi32(0x7f)));
}

/* Sixteen of the ids, from number 16 * N on. N must be a constant. */
#define SIXTEEN(v, N) _mm512_extracti32x4_epi32(v, N)
#define PUT_TOGETHER(in, N, has_three)                                                             \
    ((has_three)                                                                                   \
         ? append(append(_mm512_cvtepu8_epi32(SIXTEEN((in)->last, N)), SIXTEEN((in)->second, N)),  \
                  SIXTEEN((in)->third, N))                                                         \
         : append(_mm512_cvtepu8_epi32(SIXTEEN((in)->last, N)), SIXTEEN((in)->second, N)))

#endif
