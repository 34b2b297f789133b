/* Processor features, found at run time. */
#ifndef PD_BASE_PROCESSOR_H
#define PD_BASE_PROCESSOR_H

#include <stdbool.h>
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

/* AVX-512 with byte compression, and BMI2: used by the files *_avx512.c, which are empty on other
 * architectures. */
#if defined(__x86_64__)
#define PD_HAS_AVX512_FILES 1
#ifdef CPU_FEATURE_ACTIVE
/* glibc's macro for this shifts a bit into the sign. */
static inline bool pd_is_active(unsigned feature)
{
    enum { REGISTER = 32, LEAF = 4 * REGISTER };
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / LEAF);
    return leaf->active_array[feature % LEAF / REGISTER] >> feature % REGISTER & 1;
}
#endif

static inline bool pd_has_avx512(void)
{
#ifdef CPU_FEATURE_ACTIVE
    /* The C library has read cpuid already. __builtin_cpu_supports executes it twelve times before
     * main; in a virtual machine each execution is an exit of some microseconds. */
    return pd_is_active(x86_cpu_AVX512F) && pd_is_active(x86_cpu_AVX512BW) &&
           pd_is_active(x86_cpu_AVX512DQ) && pd_is_active(x86_cpu_AVX512VL) &&
           pd_is_active(x86_cpu_AVX512_VBMI2) && pd_is_active(x86_cpu_BMI2);
#else
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
#endif
}
#else
#define PD_HAS_AVX512_FILES 0
static inline bool pd_has_avx512(void)
{
    return false;
}
#endif

#endif
