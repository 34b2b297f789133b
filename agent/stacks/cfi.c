/* Call frame information: see cfi.h.
 *
 *     .eh_frame_hdr   sorted table: function's address -> its FDE
 *     FDE             the function's range, its program, and a pointer to its
 *     CIE             shared by many functions: encodings, and the beginning of every program
 *
 * A program is a list of rules, each with the first address to which it applies. The rule for an
 * address is found by running the program up to that address. A rule that is not a distance from
 * a register is reported as COMPLEX, and so is one behind an instruction that compilers seldom write. */
#include "agent/stacks/cfi.h"

#include "agent/base/code.h"

#include <dlfcn.h>
#include <string.h>

/* The numbers of the registers in the tables. */
#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7 };
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31 };
#else
enum { REG_FP = -1, REG_SP = -2 }; /* every rule is COMPLEX */
#endif

/* ---- numbers of fixed and of variable length, and encoded pointers ----------------------------
 * An error is sticky: the caller reads on and checks `bad` once. */

typedef struct cursor {
    const uint8_t *at, *end;
    bool bad; /* a read went beyond the end, or found an unknown encoding */
} cursor;

static void read_into(cursor *c, void *out, size_t len)
{
    if (c->bad || (size_t)(c->end - c->at) < len) {
        c->bad = true;
        memset(out, 0, len);
        return;
    }
    memcpy(out, c->at, len);
    c->at += len;
}

static uint8_t read_u8(cursor *c)
{
    uint8_t value;
    read_into(c, &value, sizeof value);
    return value;
}

static uint16_t read_u16(cursor *c)
{
    uint16_t value;
    read_into(c, &value, sizeof value);
    return value;
}

static uint32_t read_u32(cursor *c)
{
    uint32_t value;
    read_into(c, &value, sizeof value);
    return value;
}

static uint64_t read_uleb(cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = true;
    return 0;
}

static int64_t read_sleb(cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint8_t byte = read_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80))
            return (int64_t)(byte & 0x40 && shift < 64 ? value | ~UINT64_C(0) << shift : value);
    }
    c->bad = true;
    return 0;
}

static void skip(cursor *c, uint64_t len)
{
    if (c->bad || (uint64_t)(c->end - c->at) < len)
        c->bad = true;
    else
        c->at += len;
}

/* The encoding of a pointer: a format, and what the pointer is relative to. */
enum {
    ENC_ABSOLUTE = 0x00,
    ENC_U4 = 0x03,
    ENC_U8 = 0x04,
    ENC_S4 = 0x0b,
    ENC_S8 = 0x0c,
    ENC_FORMAT = 0x0f,
    ENC_PC_RELATIVE = 0x10,
    ENC_BASE = 0x70,
    ENC_HEADER_TABLE =
        0x3b /* the table that linkers write: 4 bytes, signed, relative to the header */
};

static uint64_t read_pointer(cursor *c, uint8_t encoding)
{
    uint64_t here = (uint64_t)(uintptr_t)c->at, value = 0;
    switch (encoding & ENC_FORMAT) {
    case ENC_ABSOLUTE:
    case ENC_U8:
    case ENC_S8:
        read_into(c, &value, sizeof value);
        break;
    case ENC_U4:
        value = read_u32(c);
        break;
    case ENC_S4:
        value = (uint64_t)(int64_t)(int32_t)read_u32(c);
        break;
    default:
        c->bad = true;
    }
    if ((encoding & ENC_BASE) == ENC_PC_RELATIVE)
        return value + here;
    if (encoding & ENC_BASE)
        c->bad = true;
    return value;
}

/* ---- from an address to its FDE -------------------------------------------------------------- */

#ifdef DLFO_EH_SEGMENT_TYPE
static const uint8_t *header_of(uintptr_t pc)
{
    struct dl_find_object object;
    return _dl_find_object((void *)pc, &object) ? NULL : object.dlfo_eh_frame; // NOLINT
}
#else
typedef struct search {
    uintptr_t pc;
    const uint8_t *header;
} search;

static int note_header(struct dl_phdr_info *info, size_t size, void *cookie)
{
    (void)size;
    search *wanted = cookie;
    if (!pd_object_holds(info, wanted->pc))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            wanted->header =
                (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); // NOLINT
    return 1;
}

static const uint8_t *header_of(uintptr_t pc)
{
    search wanted = {pc, NULL};
    dl_iterate_phdr(note_header, &wanted);
    return wanted.header;
}
#endif

typedef struct table_row {
    int32_t function, fde; /* relative to the header */
} table_row;

static table_row row_at(const uint8_t *rows, size_t i)
{
    table_row row;
    memcpy(&row, rows + i * sizeof row, sizeof row);
    return row;
}

/* Returns the FDE of the last function that begins at pc or before it, or NULL. */
static const uint8_t *fde_before(const uint8_t *header, uintptr_t pc, bool *is_readable)
{
    enum { LONGEST_HEADER = 24 };
    cursor c = {header, header + LONGEST_HEADER, false};
    uint8_t version = read_u8(&c), frame_encoding = read_u8(&c);
    uint8_t count_encoding = read_u8(&c), table_encoding = read_u8(&c);
    *is_readable = version == 1 && table_encoding == ENC_HEADER_TABLE;
    if (!*is_readable)
        return NULL;
    read_pointer(&c, frame_encoding);
    uint64_t count = read_pointer(&c, count_encoding);
    *is_readable = !c.bad;
    intptr_t wanted = (intptr_t)(pc - (uintptr_t)header);
    size_t low = 0, high = c.bad ? 0 : (size_t)count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row_at(c.at, middle).function <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? header + row_at(c.at, low - 1).fde : NULL;
}

/* ---- the program ----------------------------------------------------------------------------- */

typedef enum saved_where { UNCHANGED, SAVED, UNDEFINED } saved_where;

typedef struct saved {
    saved_where where;
    int64_t off; /* from the CFA, where SAVED */
} saved;

typedef struct frame {
    uint64_t cfa_register;
    int64_t cfa_off;
    saved ra, fp;
} frame;

typedef struct common {
    uint64_t code_align, ra_register;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool is_signal;
    cursor program;
} common;

static void set(frame *f, const common *cie, uint64_t reg, saved value)
{
    if (reg == cie->ra_register)
        f->ra = value;
    else if (reg == (uint64_t)REG_FP)
        f->fp = value;
}

enum { OP_ADVANCE = 1, OP_OFFSET = 2, OP_RESTORE = 3 }; /* in the two top bits */
enum {
    OP_NOP = 0x00,
    OP_ADVANCE1 = 0x02,
    OP_ADVANCE2,
    OP_ADVANCE4,
    OP_OFFSET_EXTENDED,
    OP_RESTORE_EXTENDED,
    OP_UNDEFINED,
    OP_SAME_VALUE,
    OP_REMEMBER = 0x0a,
    OP_RESTORE_STATE,
    OP_DEF_CFA,
    OP_DEF_CFA_REGISTER,
    OP_DEF_CFA_OFFSET,
    OP_NEGATE_RA_STATE = 0x2d,
    OP_GNU_ARGS_SIZE = 0x2e
};

enum { REMEMBERED = 8, NO_REGISTER = 1 << 16 };

typedef struct machine {
    const common *cie;
    uint64_t loc;
    frame now, initial, stack[REMEMBERED];
    size_t depth;
} machine;

static void save(machine *m, uint64_t reg, uint64_t factor)
{
    set(&m->now, m->cie, reg, (saved){SAVED, (int64_t)factor * m->cie->data_align});
}

static void restore(machine *m, uint64_t reg)
{
    set(&m->now, m->cie, reg, reg == m->cie->ra_register ? m->initial.ra : m->initial.fp);
}

/* Executes an instruction that says where a register is saved. */
static void step_register(machine *m, uint8_t op, cursor *c)
{
    uint64_t reg = read_uleb(c);
    switch (op) {
    case OP_OFFSET_EXTENDED:
        save(m, reg, read_uleb(c));
        break;
    case OP_RESTORE_EXTENDED:
        restore(m, reg);
        break;
    case OP_UNDEFINED:
        set(&m->now, m->cie, reg, (saved){UNDEFINED, 0});
        break;
    case OP_SAME_VALUE:
        set(&m->now, m->cie, reg, (saved){UNCHANGED, 0});
        break;
    default:
        c->bad = true;
    }
}

/* Executes an instruction that says where the CFA is, or that saves or restores the state. */
static void step_frame(machine *m, uint8_t op, cursor *c)
{
    switch (op) {
    case OP_NOP:
    case OP_NEGATE_RA_STATE: /* the walk always removes signatures from return addresses */
        break;
    case OP_GNU_ARGS_SIZE:
        read_uleb(c);
        break;
    case OP_DEF_CFA:
        m->now.cfa_register = read_uleb(c);
        m->now.cfa_off = (int64_t)read_uleb(c);
        break;
    case OP_DEF_CFA_REGISTER:
        m->now.cfa_register = read_uleb(c);
        break;
    case OP_DEF_CFA_OFFSET:
        m->now.cfa_off = (int64_t)read_uleb(c);
        break;
    case OP_REMEMBER:
        if (m->depth < REMEMBERED)
            m->stack[m->depth++] = m->now;
        else
            c->bad = true;
        break;
    case OP_RESTORE_STATE:
        if (m->depth)
            m->now = m->stack[--m->depth];
        else
            c->bad = true;
        break;
    default:
        step_register(m, op, c);
    }
}

static void step(machine *m, uint8_t op, cursor *c)
{
    uint8_t low = op & 0x3f;
    if (op >> 6 == OP_ADVANCE)
        m->loc += low * m->cie->code_align;
    else if (op >> 6 == OP_OFFSET)
        save(m, low, read_uleb(c));
    else if (op >> 6 == OP_RESTORE)
        restore(m, low);
    else if (op == OP_ADVANCE1)
        m->loc += read_u8(c) * m->cie->code_align;
    else if (op == OP_ADVANCE2)
        m->loc += read_u16(c) * m->cie->code_align;
    else if (op == OP_ADVANCE4)
        m->loc += read_u32(c) * m->cie->code_align;
    else
        step_frame(m, op, c);
}

/* Runs the program until it ends or reaches addresses behind pc. Returns false if it has an
 * unknown instruction. */
static bool execute(machine *m, cursor program, uint64_t pc)
{
    while (program.at < program.end && !program.bad) {
        frame before = m->now;
        step(m, read_u8(&program), &program);
        if (m->loc > pc) {
            m->now = before;
            break;
        }
    }
    return !program.bad;
}

/* ---- CIE and FDE ----------------------------------------------------------------------------- */

/* Returns the content of the record at this address. Its length comes first. */
static cursor record_at(const uint8_t *at)
{
    uint32_t len;
    memcpy(&len, at, sizeof len);
    bool is_long = len == UINT32_MAX; /* a record in the 64-bit form, which is not supported */
    return (cursor){at + sizeof len, at + sizeof len + (is_long ? 0 : len), is_long};
}

static bool read_common(const uint8_t *at, common *out)
{
    cursor c = record_at(at);
    uint32_t id = read_u32(&c);
    uint8_t version = read_u8(&c);
    if (c.bad || id != 0 || (version != 1 && version != 3))
        return false;
    const char *augmentation = (const char *)c.at;
    while (read_u8(&c) != 0)
        continue;
    out->code_align = read_uleb(&c);
    out->data_align = read_sleb(&c);
    out->ra_register = version == 1 ? read_u8(&c) : read_uleb(&c);
    out->pointer_encoding = ENC_ABSOLUTE;
    out->is_signal = false;
    if (c.bad || *augmentation != 'z') /* every compiler writes it */
        return false;
    uint64_t len = read_uleb(&c);
    out->program = c;
    skip(&out->program, len);
    for (const char *letter = augmentation + 1; *letter && !c.bad; letter++) {
        if (*letter == 'R')
            out->pointer_encoding = read_u8(&c);
        else if (*letter == 'L')
            read_u8(&c);
        else if (*letter == 'P')
            read_pointer(&c, read_u8(&c) & ENC_FORMAT);
        else if (*letter == 'S')
            out->is_signal = true;
        else if (*letter != 'B') /* B: the key that signs return addresses */
            c.bad = true;
    }
    return !c.bad && !out->program.bad;
}

static bool is_below(saved value)
{
    return value.where == SAVED && value.off < 0 && value.off % 8 == 0 &&
           value.off > -8 * PD_FRAME_BELOW_MAX;
}

static pd_frame_rule to_rule(const frame *f)
{
    bool has_fp = f->fp.where == SAVED;
    bool is_plain = f->cfa_off >= 0 && f->cfa_off % 8 == 0 && f->cfa_off < 8 * PD_FRAME_CFA_MAX &&
                    is_below(f->ra) &&
                    (f->fp.where == UNCHANGED || f->fp.where == UNDEFINED || is_below(f->fp)) &&
                    (f->cfa_register == (uint64_t)REG_FP || f->cfa_register == (uint64_t)REG_SP);
    if (!is_plain)
        return (pd_frame_rule){.kind = f->ra.where == UNDEFINED ? PD_FRAME_END : PD_FRAME_COMPLEX};
    return (pd_frame_rule){.kind = PD_FRAME_RULE,
                           .from_fp = f->cfa_register == (uint64_t)REG_FP,
                           .cfa_off = (uint64_t)f->cfa_off / 8 & (PD_FRAME_CFA_MAX - 1),
                           .ra_below = (uint64_t)-f->ra.off / 8 & (PD_FRAME_BELOW_MAX - 1),
                           .fp_below =
                               has_fp ? (uint64_t)-f->fp.off / 8 & (PD_FRAME_BELOW_MAX - 1) : 0};
}

pd_frame_rule pd_cfi_find(uintptr_t pc, void *room)
{
    _Static_assert(sizeof(machine) <= PD_CFI_ROOM, "the machine has room");
    const pd_frame_rule unknown = {.kind = PD_FRAME_UNKNOWN}, complex = {.kind = PD_FRAME_COMPLEX};
    const pd_frame_rule of_signal = {.kind = PD_FRAME_SIGNAL};
    const uint8_t *header = header_of(pc);
    if (!header)
        return unknown;
    bool is_readable;
    const uint8_t *at = fde_before(header, pc, &is_readable);
    if (!at)
        return is_readable ? unknown : complex;
    cursor c = record_at(at);
    const uint8_t *back = c.at;
    uint32_t distance = read_u32(&c);
    common cie;
    if (c.bad || !read_common(back - distance, &cie))
        return complex;
    uint64_t begin = read_pointer(&c, cie.pointer_encoding);
    uint64_t len = read_pointer(&c, cie.pointer_encoding & ENC_FORMAT);
    if (!c.bad && pc - begin >= len)
        return unknown; /* between two functions */
    skip(&c, read_uleb(&c));
    if (c.bad)
        return complex;
    if (cie.is_signal)
        return of_signal;
    machine *m = room;
    *m = (machine){.cie = &cie};
    m->now.cfa_register = NO_REGISTER;
    if (!execute(m, cie.program, UINT64_MAX))
        return complex;
    m->initial = m->now;
    m->loc = begin;
    return execute(m, c, pc) ? to_rule(&m->now) : complex;
}
