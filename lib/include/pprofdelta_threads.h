/* Two threads for one window: where the caller of pprofdelta.h, which includes this, has a second
 * processor to spare.
 *
 * The library starts none; what is "for another thread" is called by one that the caller has
 * started, and all else by the one that uses the context. The caller's allocator is called by both at
 * once. There are two ways. Profiles that are held whole are read ahead, one by each thread
 * (pprofdelta_ahead, pprofdelta_pack); those that are not are read by one, with help
 * (pprofdelta_helper). */
#ifndef PPROFDELTA_THREADS_H
#define PPROFDELTA_THREADS_H

#include "pprofdelta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reading half. Most of what a profile costs does not depend on what the context remembers, and
 * can be done ahead: while the context is given its base, or its state.
 *
 *     another thread    ahead_open, ahead_read
 *     the first         ahead_new ... base or load ... ahead_window, pack_finish, join, ahead_free
 *
 * An ahead is lent half of the memory that max_memory leaves, and goes on only as far as that
 * allows: a base for which the rest is too little may come again after pprofdelta_ahead_free. */
typedef struct pprofdelta_ahead pprofdelta_ahead;

/* The writing half: a window that was made, and whose delta is not compressed yet, or not all of
 * it. */
typedef struct pprofdelta_pack pprofdelta_pack;

/* Makes an ahead, one at a time for each context. Until pprofdelta_ahead_free the context may be
 * used for all but pprofdelta_window and pprofdelta_pack_window. */
PPROFDELTA_API pprofdelta_status pprofdelta_ahead_new(pprofdelta *pd, pprofdelta_ahead **out,
                                                      pprofdelta_error *err);

/* For another thread, once: inflates the profile and reads its tables. Returns 0 where the bytes
 * are needed no longer; else (they are plain) they must stay until pprofdelta_ahead_free. Whether
 * it went well, pprofdelta_ahead_window tells. */
PPROFDELTA_API int pprofdelta_ahead_open(pprofdelta_ahead *ahead, const void *bytes, size_t len);

/* For the same thread, then, and in any case, once: lets the window begin and takes part in reading
 * its samples, until nobody wants them any more; then in compressing the delta, while it is written
 * and until there is nothing left of it to begin. Without pprofdelta_ahead_open before it, says that
 * there is nothing. */
PPROFDELTA_API void pprofdelta_ahead_read(pprofdelta_ahead *ahead);

/* pprofdelta_window of what is read ahead, but for its output. Waits until the other thread has
 * come to pprofdelta_ahead_read, so there has to be one. Where the profile could not be read ahead,
 * for whatever reason, this is PPROFDELTA_E_AHEAD: after pprofdelta_ahead_free, pprofdelta_window
 * or pprofdelta_pack_window goes on in its place. */
PPROFDELTA_API pprofdelta_status pprofdelta_ahead_window(pprofdelta_ahead *ahead,
                                                         pprofdelta_pack **out,
                                                         pprofdelta_report *report,
                                                         pprofdelta_error *err);

/* Lets the other thread return soon: for who wants no window. */
PPROFDELTA_API void pprofdelta_ahead_stop(pprofdelta_ahead *ahead);

/* Gives everything back, when no other thread is at it any more. NULL is fine. */
PPROFDELTA_API void pprofdelta_ahead_free(pprofdelta_ahead *ahead);

/* pprofdelta_window, but for its output. Until pprofdelta_pack_free the window may be committed or
 * abandoned, and saved; another window or base is PPROFDELTA_E_USAGE. */
PPROFDELTA_API pprofdelta_status pprofdelta_pack_window(pprofdelta *pd, const void *bytes,
                                                        size_t len, pprofdelta_pack **out,
                                                        pprofdelta_report *report,
                                                        pprofdelta_error *err);

/* Is there so much to compress that it pays to start another thread? */
PPROFDELTA_API int pprofdelta_pack_is_large(const pprofdelta_pack *pack);

/* For another thread, where there is one: compresses what nobody is at, and returns. With an ahead
 * the thread that read does that. */
PPROFDELTA_API void pprofdelta_pack_help(pprofdelta_pack *pack);

/* Compresses what is left and hands it to the sink; report, which may be NULL, then has output_len.
 * A sink that refuses, perhaps in the middle, may be followed by another, which gets all of it. The
 * bytes are those of pprofdelta_window. */
PPROFDELTA_API pprofdelta_status pprofdelta_pack_finish(pprofdelta_pack *pack,
                                                        const pprofdelta_sink *sink,
                                                        pprofdelta_report *report,
                                                        pprofdelta_error *err);

/* Gives everything back, when no other thread is at it any more. NULL is fine. The window stays
 * pending until it is committed or abandoned. */
PPROFDELTA_API void pprofdelta_pack_free(pprofdelta_pack *pack);

/* Both halves for what is never in memory whole, and inflated a piece at a time: a profile for which
 * max_memory may not suffice, or a large one in a context with PPROFDELTA_NO_SAVE. The other thread
 * inflates ahead of what this one reads, and then compresses what this one writes for a pack.
 *
 *     another thread    helper_work
 *     the first         helper_new ... base, pack_window, pack_finish ... helper_stop, join,
 *                       helper_free
 *
 * The calls return what they return without it, and the bytes that they are given are the caller's
 * again when they return. A helper takes a little of the memory that max_memory leaves (less than
 * 1 MiB) where that is much. Where memory is short, a call does without it. */
typedef struct pprofdelta_helper pprofdelta_helper;

/* Makes a helper, one at a time for each context. */
PPROFDELTA_API pprofdelta_status pprofdelta_helper_new(pprofdelta *pd, pprofdelta_helper **out,
                                                       pprofdelta_error *err);

/* Would the context read these bytes, as a base or as what comes behind one, a piece at a time, and
 * be helped by that? It looks at their beginning. Where it would not, pprofdelta_ahead is the better
 * use of another thread. 0 while a window is pending. */
PPROFDELTA_API int pprofdelta_helper_pays(pprofdelta *pd, const void *bytes, size_t len);

/* For another thread, once: helps until it is to stop. */
PPROFDELTA_API void pprofdelta_helper_work(pprofdelta_helper *helper);

/* Lets the other thread return soon. */
PPROFDELTA_API void pprofdelta_helper_stop(pprofdelta_helper *helper);

/* Gives everything back, when the other thread is not at it any more, and before the context goes.
 * NULL is fine. */
PPROFDELTA_API void pprofdelta_helper_free(pprofdelta_helper *helper);

#ifdef __cplusplus
}
#endif
#endif
