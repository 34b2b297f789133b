/* What the processor can do, asked at run time. */
#ifndef PD_BASE_PROCESSOR_H
#define PD_BASE_PROCESSOR_H

#include <stdbool.h>

/* AVX-512 with byte compression, and BMI2: what the files named *_avx512.c need, which are empty on
 * other architectures. */
#if defined(__x86_64__)
#define PD_HAS_AVX512_FILES 1
static inline bool pd_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
}
#else
#define PD_HAS_AVX512_FILES 0
static inline bool pd_has_avx512(void)
{
    return false;
}
#endif

#endif
