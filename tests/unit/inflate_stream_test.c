/* The backends that inflate streams: every one gives the same bytes and ends at the same byte,
 * whatever the pieces are, and refuses what is cut off or damaged. */
#include "codec_kit.h"

#include "codec/inflate_stream.h"

/* The build's backend, and zlib, which every build has. */
static const pd_inflate_backend *backend_at(int i)
{
    return i ? &pd_inflate_zlib : pd_inflate_backend_used();
}

typedef struct outcome {
    pd_inflate_end end;
    size_t used;
    pd_buffer out;
} outcome;

/* Inflates `packed` by pieces of this length, each into memory of its own. */
static outcome inflate_by(const pd_inflate_backend *backend, void *state, pd_buffer packed,
                          size_t piece)
{
    outcome o = {.end = PD_INFLATE_FULL};
    uint8_t *room = malloc(piece);
    if (!room || !packed.ptr)
        abort();
    pd_inflate_run run = {.in = packed.ptr, .in_end = packed.ptr + packed.len};
    CHECK(backend->begin(state));
    while (o.end == PD_INFLATE_FULL) {
        run.out = room;
        run.out_end = room + piece;
        o.end = backend->some(state, &run);
        if (o.end == PD_INFLATE_BAD)
            break;
        CHECK(run.out <= run.out_end && (o.end == PD_INFLATE_DONE || run.out == run.out_end));
        append(&o.out, room, (size_t)(run.out - room));
        memset(room, 0xee, piece); /* the backend keeps what copies reach back to */
        o.used = (size_t)(run.in - packed.ptr);
    }
    free(room);
    return o;
}

static void *new_state(const pd_inflate_backend *backend)
{
    void *state = malloc(backend->size);
    if (!state)
        abort();
    memset(state, 0xee, backend->size);
    return state;
}

static void check_pieces(pd_buffer content, int level)
{
    static const size_t pieces[] = {1, 7, 4096, 32768, 128 << 10, 2 << 20};
    pd_buffer packed = {0};
    append_deflated(&packed, content, level);
    size_t len = packed.len;
    append(&packed, "\xff\x03\0\0\0\0\0\0 behind the end", 22);
    for (int b = 0; b < 2; b++) {
        void *state = new_state(backend_at(b));
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            outcome o = inflate_by(backend_at(b), state, packed, pieces[i]);
            CHECK_MSG(o.end == PD_INFLATE_DONE && o.used == len,
                      "%s, level %d, pieces of %zu: %zu of %zu bytes used", backend_at(b)->name,
                      level, pieces[i], o.used, len);
            CHECK(equal((pd_bytes){o.out.ptr, o.out.len}, content.ptr, content.len));
            free(o.out.ptr);
        }
        free(state);
    }
    free(packed.ptr);
}

TEST(all_pieces_give_the_same_bytes)
{
    static const size_t sizes[] = {0, 1, 100, 32768, 300000, 1200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pd_buffer content = content_of(sizes[i], (uint32_t)i);
        if (i % 2)
            memset(content.ptr, 'x', content.len / 2);
        for (int level = 0; level <= 12; level += 3)
            check_pieces(content, level);
        free(content.ptr);
    }
}

/* Copies of 258 bytes from 32 KiB before, in every position against the pieces. */
TEST(copies_reach_back_over_pieces)
{
    pd_buffer content = content_of(200000, 3);
    for (size_t i = 32768; i < content.len; i++)
        content.ptr[i] = i % 263 ? content.ptr[i - 32768] : (uint8_t)i;
    check_pieces(content, 12);
    free(content.ptr);
}

TEST(data_cut_off_at_any_byte_is_bad)
{
    pd_buffer content = content_of(900, 5);
    for (int level = 0; level <= 6; level += 3)
        for (int b = 0; b < 2; b++) {
            pd_buffer packed = {0};
            append_deflated(&packed, content, level);
            void *state = new_state(backend_at(b));
            for (size_t len = 1; len < packed.len; len++) {
                pd_buffer cut = prefix_of(packed, len);
                outcome o = inflate_by(backend_at(b), state, cut, 1 + len % 500);
                CHECK_MSG(o.end == PD_INFLATE_BAD, "%s, %zu bytes", backend_at(b)->name, len);
                free(o.out.ptr);
                free(cut.ptr);
            }
            free(state);
            free(packed.ptr);
        }
    free(content.ptr);
}

/* Damage that a backend does not see changes only bytes, which the CRC sees. zlib is the strictest. */
TEST(damage_is_seen_by_every_backend_or_by_the_crc)
{
    pd_buffer content = content_of(700, 10), packed = {0};
    append_deflated(&packed, content, 6);
    void *state[2] = {new_state(backend_at(0)), new_state(backend_at(1))};
    unsigned long bad = 0;
    for (size_t bit = 0; bit < packed.len * 8; bit++) {
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        outcome o[2];
        for (int b = 0; b < 2; b++)
            o[b] = inflate_by(backend_at(b), state[b], packed, 1 + bit % 300);
        bad += o[1].end == PD_INFLATE_BAD;
        CHECK_MSG(o[1].end == PD_INFLATE_BAD ||
                      (o[0].end == PD_INFLATE_DONE && o[0].used == o[1].used &&
                       equal((pd_bytes){o[0].out.ptr, o[0].out.len}, o[1].out.ptr, o[1].out.len)),
                  "bit %zu", bit);
        free(o[0].out.ptr);
        free(o[1].out.ptr);
        packed.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(bad > 0);
    free(state[0]);
    free(state[1]);
    free(packed.ptr);
    free(content.ptr);
}

TEST_MAIN(CASE(all_pieces_give_the_same_bytes), CASE(copies_reach_back_over_pieces),
          CASE(data_cut_off_at_any_byte_is_bad),
          CASE(damage_is_seen_by_every_backend_or_by_the_crc))
