/* A profile read in one pass: its samples as they come, though what their mappings and labels are
 * called comes later.
 *
 * It can be done where every location stands before the first sample that uses it, as Go writes
 * them, and is known by an address: then its identity needs but the mapping's name, and an assumed
 * one does until the end (naming.h). Where it cannot be done, or anything is wrong, it says no more
 * than that: the ordinary way, in two passes, finds out what. */
#ifndef PD_PROFILE_ONCE_H
#define PD_PROFILE_ONCE_H

#include "profile/parts.h"
#include "profile/samples.h"

typedef struct pd_once {
    pd_tables *tables;
    pd_buffer *text;
    pd_mem *mem;
    pd_parts parts;
    pd_reader top;
    pd_parse parse;
    pd_sample_reader reader;
    pd_sample_taker taker;
    size_t strings;     /* that are kept */
    pd_triples triples; /* the labels' names that were assumed */
} pd_once;

/* Reads up to the first sample: the sample types stand before it. The stream has begun; all that is
 * given is borrowed. False where it cannot be done, here and below. */
bool pd_once_begin(pd_once *once, pd_tables *tables, pd_buffer *text, pd_stream *stream,
                   const pd_stack_numbers *numbers, pd_mem *mem);

/* Hands all samples on, their columns being these, and seals the tables: they are as after
 * pd_chunks_tables, but for the identities, which have assumed names. */
bool pd_once_read(pd_once *once, const pd_columns *columns, pd_sample_taker taker);

#endif
