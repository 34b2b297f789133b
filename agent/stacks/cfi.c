/* Call frame information: see cfi.h.
 *
 *     FDE   of one function: its range, its program, and a pointer to its
 *     CIE   shared by many functions: encodings, and the beginning of every program
 *
 * The compiler's unwinder finds the FDE. A program is a list of rules, each with the first address to which
 * it applies. The rule for an address is found by running the program up to that address. A rule that is not
 * a distance from a register is reported as COMPLEX, and so is one behind an instruction that compilers
 * seldom write. */
#include "agent/stacks/cfi.h"

#include <stddef.h>

/* The numbers of the registers in the tables. */
#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7 };
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31 };
#else
enum { REG_FP = -1, REG_SP = -2 }; /* not known: every rule is COMPLEX */
#endif

/* ---- numbers of fixed and of variable length, and encoded pointers ----------------------------
 * An error is sticky: the caller reads on and checks `bad` once. */

typedef struct cursor {
    const uint8_t *at, *end;
    bool bad; /* a read went beyond the end, or found an unknown encoding */
} cursor;

/* Reads a number of so many bytes, the lowest first. */
static uint64_t read_fixed(cursor *c, unsigned len)
{
    uint64_t value = 0;
    c->bad |= (size_t)(c->end - c->at) < len;
    for (unsigned i = 0; i < len && !c->bad; i++)
        value |= (uint64_t)*c->at++ << (8 * i);
    return value;
}

static uint64_t read_leb(cursor *c, bool is_signed)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint64_t byte = read_fixed(c, 1);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return is_signed && byte & 0x40 ? value | ~UINT64_C(0x7f) << shift : value;
    }
    c->bad = true; /* a number that no table has */
    return 0;
}

static uint64_t read_uleb(cursor *c)
{
    return read_leb(c, false);
}

static void skip_bytes(cursor *c, uint64_t len)
{
    c->bad |= (uint64_t)(c->end - c->at) < len;
    c->at += c->bad ? 0 : len;
}

/* The encoding of a pointer: a format, and what the pointer is relative to. */
enum {
    ENC_U4 = 0x03,
    ENC_U8 = 0x04,
    ENC_SIGNED = 0x08,
    ENC_FORMAT = 0x0f,
    ENC_PC_RELATIVE = 0x10,
    ENC_BASE = 0x70
};

static uint64_t read_pointer(cursor *c, uint8_t encoding)
{
    uint64_t here = (uint64_t)(uintptr_t)c->at, value;
    uint8_t format = encoding & ENC_FORMAT & ~ENC_SIGNED, base = encoding & ENC_BASE;
    value = read_fixed(c, format == ENC_U4 ? 4 : 8);
    if (format == ENC_U4 && encoding & ENC_SIGNED)
        value = (uint64_t)(int64_t)(int32_t)value;
    c->bad |= (format && format != ENC_U4 && format != ENC_U8) || (base && base != ENC_PC_RELATIVE);
    return base ? value + here : value;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Where a register is saved: its distance from the CFA, which is below 0, or one of these. */
enum { UNCHANGED = 0, UNDEFINED = 1 };

typedef struct frame {
    uint64_t cfa_register;
    int64_t cfa_off;
    int64_t ra, fp; /* where these are saved */
} frame;

typedef struct common {
    uint64_t code_align, ra_register;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool is_signal;
    cursor program;
} common;

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
    OP_GNU_ARGS_SIZE = 0x2e,
    OP_ADVANCE = 0x40, /* these three have an operand in the other six bits */
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0
};

enum { REMEMBERED = 8, NO_REGISTER = 1 << 16 };

typedef struct machine {
    const common *cie;
    uint64_t loc;
    frame now, initial, stack[REMEMBERED];
    size_t depth;
} machine;

static void set_rule(machine *m, uint64_t reg, int64_t where)
{
    if (reg == m->cie->ra_register)
        m->now.ra = where;
    else if (reg == (uint64_t)REG_FP)
        m->now.fp = where;
}

/* Executes one instruction. */
static void execute_one(machine *m, cursor *c)
{
    uint64_t op = read_fixed(c, 1), reg = op & 0x3f;
    switch (op < OP_ADVANCE ? op : op - reg) {
    case OP_NOP:
    case OP_NEGATE_RA_STATE: /* the walk always removes signatures from return addresses */
        break;
    case OP_GNU_ARGS_SIZE:
        read_uleb(c);
        break;
    case OP_ADVANCE:
        m->loc += reg * m->cie->code_align;
        break;
    case OP_ADVANCE1:
    case OP_ADVANCE2:
    case OP_ADVANCE4:
        m->loc += read_fixed(c, 1U << (op - OP_ADVANCE1)) * m->cie->code_align;
        break;
    case OP_OFFSET_EXTENDED:
    case OP_OFFSET:
        reg = op == OP_OFFSET_EXTENDED ? read_uleb(c) : reg;
        set_rule(m, reg, (int64_t)read_uleb(c) * m->cie->data_align);
        break;
    case OP_RESTORE_EXTENDED:
    case OP_RESTORE:
        reg = op == OP_RESTORE_EXTENDED ? read_uleb(c) : reg;
        set_rule(m, reg, reg == m->cie->ra_register ? m->initial.ra : m->initial.fp);
        break;
    case OP_UNDEFINED:
    case OP_SAME_VALUE:
        set_rule(m, read_uleb(c), op == OP_UNDEFINED ? UNDEFINED : UNCHANGED);
        break;
    case OP_DEF_CFA:
    case OP_DEF_CFA_REGISTER:
    case OP_DEF_CFA_OFFSET:
        if (op != OP_DEF_CFA_OFFSET)
            m->now.cfa_register = read_uleb(c);
        if (op != OP_DEF_CFA_REGISTER)
            m->now.cfa_off = (int64_t)read_uleb(c);
        break;
    case OP_REMEMBER:
        c->bad |= m->depth == REMEMBERED;
        if (!c->bad)
            m->stack[m->depth++] = m->now;
        break;
    case OP_RESTORE_STATE:
        c->bad |= !m->depth;
        if (!c->bad)
            m->now = m->stack[--m->depth];
        break;
    default:
        c->bad = true;
    }
}

/* Runs the program until it ends or reaches addresses behind pc. Returns false if it has an
 * unknown instruction. */
static bool execute_program(machine *m, cursor program, uint64_t pc)
{
    while (program.at < program.end && !program.bad) {
        frame before = m->now;
        execute_one(m, &program);
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
    cursor c = {at, at + sizeof(uint32_t), false};
    uint64_t len = read_fixed(&c, sizeof(uint32_t));
    c.bad = len == UINT32_MAX; /* a record in the 64-bit form, which is not supported */
    c.end += c.bad ? 0 : len;
    return c;
}

static bool read_common(const uint8_t *at, common *out)
{
    cursor c = record_at(at);
    uint64_t id = read_fixed(&c, sizeof(uint32_t)), version = read_fixed(&c, 1);
    if (c.bad || id != 0 || (version != 1 && version != 3))
        return false;
    const char *augmentation = (const char *)c.at;
    while (read_fixed(&c, 1) != 0)
        continue;
    out->code_align = read_uleb(&c);
    out->data_align = (int64_t)read_leb(&c, true);
    out->ra_register = version == 1 ? read_fixed(&c, 1) : read_uleb(&c);
    out->pointer_encoding = 0;
    out->is_signal = false;
    if (c.bad || *augmentation != 'z') /* every compiler writes it */
        return false;
    uint64_t len = read_uleb(&c);
    out->program = c;
    skip_bytes(&out->program, len);
    for (const char *letter = augmentation + 1; *letter && !c.bad; letter++) {
        if (*letter == 'R')
            out->pointer_encoding = (uint8_t)read_fixed(&c, 1);
        else if (*letter == 'L')
            read_fixed(&c, 1);
        else if (*letter == 'P')
            read_pointer(&c, read_fixed(&c, 1) & ENC_FORMAT);
        else if (*letter == 'S')
            out->is_signal = true;
        else if (*letter != 'B') /* B: the key that signs return addresses */
            c.bad = true;
    }
    return !c.bad && !out->program.bad;
}

/* Is the register saved at a distance that a rule can have? */
static bool is_below(int64_t where)
{
    const int64_t most = INT64_C(8) * PD_FRAME_BELOW_MAX;
    return where < 0 && where % 8 == 0 && where > -most;
}

static pd_frame_rule to_rule(const frame *f)
{
    bool has_fp = f->fp != UNCHANGED && f->fp != UNDEFINED;
    bool is_plain = f->cfa_off >= 0 && f->cfa_off % 8 == 0 &&
                    f->cfa_off < INT64_C(8) * PD_FRAME_CFA_MAX && is_below(f->ra) &&
                    (!has_fp || is_below(f->fp)) &&
                    (f->cfa_register == (uint64_t)REG_FP || f->cfa_register == (uint64_t)REG_SP);
    if (!is_plain)
        return (pd_frame_rule){.kind = f->ra == UNDEFINED ? PD_FRAME_END : PD_FRAME_COMPLEX};
    return (pd_frame_rule){.kind = PD_FRAME_RULE,
                           .from_fp = f->cfa_register == (uint64_t)REG_FP,
                           .cfa_off = (uint64_t)f->cfa_off / 8 & (PD_FRAME_CFA_MAX - 1),
                           .ra_below = (uint64_t)-f->ra / 8 & (PD_FRAME_BELOW_MAX - 1),
                           .fp_below =
                               has_fp ? (uint64_t)-f->fp / 8 & (PD_FRAME_BELOW_MAX - 1) : 0};
}

/* The unwinder's search, as unwind-dw2-fde.h of GCC declares it. Returns the FDE of the function that holds
 * the address, or NULL. */
struct dwarf_eh_bases {
    void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

pd_frame_rule pd_cfi_find(uintptr_t pc)
{
    const pd_frame_rule complex = {.kind = PD_FRAME_COMPLEX};
    struct dwarf_eh_bases bases;
    if (REG_FP < 0)
        return complex;
    const uint8_t *at = _Unwind_Find_FDE((void *)pc, &bases); // NOLINT(performance-no-int-to-ptr)
    if (!at)
        return (pd_frame_rule){.kind = PD_FRAME_UNKNOWN};
    cursor c = record_at(at);
    const uint8_t *back = c.at;
    uint64_t distance = read_fixed(&c, sizeof(uint32_t));
    common cie;
    if (c.bad || !read_common(back - distance, &cie))
        return complex;
    uint64_t begin = read_pointer(&c, cie.pointer_encoding);
    read_pointer(&c, cie.pointer_encoding & ENC_FORMAT); /* the length */
    skip_bytes(&c, read_uleb(&c));
    if (c.bad)
        return complex;
    if (cie.is_signal)
        return (pd_frame_rule){.kind = PD_FRAME_SIGNAL};
    machine m = {.cie = &cie, .now.cfa_register = NO_REGISTER};
    if (!execute_program(&m, cie.program, UINT64_MAX))
        return complex;
    m.initial = m.now;
    m.loc = begin;
    return execute_program(&m, c, pc) ? to_rule(&m.now) : complex;
}
