/* What the process is made of, at the end of each window.
 *
 * Every resident byte of the process (RSS) belongs to one part. The parts are samples of the type
 * rss_space/bytes, whose sum is RSS. The leaf of each stack is the part:
 *
 *     [live heap]                       what the program allocated and has not freed, as estimated
 *     [allocator slack]                 resident memory of the allocator beyond that
 *     [anonymous mappings] <- stack     mapped by mmap, mremap, brk and sbrk, by stack
 *     [file mappings, private dirty] <- file, [file mappings, clean or shared] <- file
 *     [thread stacks]
 *     [heap agent]                      memory of this agent, without its file
 *     [left over] <- name               everything else
 *
 * The same samples have the type mapped_space/bytes: the size of the mappings in which the pages are, except
 * for the heap and the agent.
 *
 * All resident bytes come from one reading of /proc/self/smaps, so that the sum is exact. What an
 * area is comes from its name, from the table in mappings.h, from the C library's records
 * (areas.h) and from the segments of loaded files. If an area has several
 * owners, /proc/self/pagemap shows which pages are resident.
 *
 * The estimate of the live heap counts allocations, resident or not. If it is more than what is
 * resident of the heap, [live heap] is what is resident, and there is no slack. The comment in the
 * profile has both numbers.
 *
 * Reading smaps takes the kernel time in proportion to the resident memory. Accounts take at most
 * 1% of one processor in the long run. A window without one has a comment that says so. The last
 * window always has an account, but not that of a process that lived for less than
 * 100 times as long as an account takes: 100 ms where none was made before. */
#ifndef PD_AGENT_ACCOUNT_H
#define PD_AGENT_ACCOUNT_H

#include "agent/base/remains.h"
#include "pprofdelta_heap.h"

/* Adds the account to the batch under way. Call pd_account_done when that is committed or
 * abandoned. Only the thread that delivers a profile may call these. */
void pd_account_add(pprofdelta_heap *heap, bool is_last);
void pd_account_done(void);

/* Call at the start and in the child of a fork, with the time when the process began. */
void pd_account_begin(int64_t nanos);

#endif
