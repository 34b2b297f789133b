/* The bytes of an input as a program of calls: each step reads what it needs from the front, and
 * behind the end there are zeros. Numbers are as long as they have to be, so that most programs are
 * short. */
#ifndef PD_TESTS_FUZZ_PROGRAM_H
#define PD_TESTS_FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer inputs are not programs: nothing new comes of them, slowly. */
enum { PROGRAM_MOST_BYTES = 2048 };

typedef struct program {
    const uint8_t *at, *end;
} program;

static inline program program_of(const uint8_t *data, size_t size)
{
    return (program){data, data + size};
}

static inline bool program_has_more(const program *p)
{
    return p->at < p->end;
}

static inline unsigned program_byte(program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

/* 0 .. below - 1 */
static inline size_t program_below(program *p, size_t below)
{
    return program_byte(p) % below;
}

/* A byte below 0xf8 is the number; the others say how many bytes follow, 1 to 8, little-endian. */
static inline uint64_t program_number(program *p)
{
    unsigned first = program_byte(p);
    uint64_t number = 0;
    if (first < 0xf8)
        return first;
    for (unsigned i = 0; i <= (first & 7); i++)
        number |= (uint64_t)program_byte(p) << 8 * i;
    return number;
}

#endif
