/* The registers of a stopped thread of arm64: a part of stop.c.
 *
 * The kernel has gone back to a system call that it would begin again before a tracer sees the thread. It has not for a call
 * that gives EINTR; then the first argument is in no register any more. Sleeps that go on with what is left of the time
 * have another number then. */
#ifndef CLI_ATTACH_STOP_AARCH64_H
#define CLI_ATTACH_STOP_AARCH64_H

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif
#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

typedef struct user_regs_struct registers;

static bool get_registers(pid_t tid, registers *r, uint64_t *pointer)
{
    struct iovec all = {r, sizeof *r}, tls = {pointer, sizeof *pointer};
    return !ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all) && all.iov_len == sizeof *r &&
           !ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &tls);
}

/* Returns what the thread was in when it was stopped. Its arguments can be read while it has a number. */
static waiting wait_until_stop(const cli_target *t, pid_t tid, uint64_t call)
{
    int number = (int)call;
    struct iovec one = {&number, sizeof number};
    ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &one);
    waiting in = wait_of(t, tid);
    number = -1;
    ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &one);
    return in;
}

static bool is_behind_call(const cli_target *t, const registers *r)
{
    const uint32_t call = 0xd4000001; /* svc #0 */
    uint32_t instruction = 0;
    return cli_target_read(t, r->pc - sizeof call, &instruction, sizeof call) &&
           instruction == call;
}

static void go_back(const cli_target *t, pid_t tid, registers *r, const waiting *before)
{
    enum { INSTRUCTION = 4, ABSOLUTE = 1, FIRST = 0, FLAGS = 1, NUMBER = 8 };
    const uint64_t call = r->regs[NUMBER];
    if ((int64_t)r->regs[FIRST] == -EINTR && begins_again(call) && is_behind_call(t, r) &&
        !has_signal(t, tid)) {
        const waiting in = wait_until_stop(t, tid, call);
        if (in.call != call)
            return;
        r->regs[FIRST] = in.first;
        r->pc -= INSTRUCTION;
    } else if (before->call == call && r->regs[FIRST] == before->first &&
               (call == SYS_nanosleep ||
                (call == SYS_clock_nanosleep && !(r->regs[FLAGS] & ABSOLUTE)))) {
        r->regs[NUMBER] = SYS_restart_syscall;
    }
}

static uint64_t place_of(const registers *r)
{
    return r->pc;
}

/* The branch to where the thread goes on reaches 128 MiB. */
static bool save_registers(const registers *r, const cli_stop *s, uint64_t slots[STUB_SLOTS])
{
    const uint64_t slot = s->code + STUB_PLACE(cli_stub_slots) + 8 * STUB_RESUME;
    const int64_t most = 127 << 20, away = (int64_t)(r->pc - slot);
    const uint64_t branch = 0x14000000, mask = 0x3ffffff;
    memcpy(&slots[STUB_SAVED], r->regs, 6 * sizeof *slots);
    slots[STUB_SAVED + 6] = r->regs[8];
    slots[STUB_RESUME] = branch | (((uint64_t)away >> 2) & mask);
    return away < most && away > -most;
}

static void enter_stub(registers *r, const cli_stop *s)
{
    const uint64_t arguments[] = {s->storage,
                                  s->storage_len,
                                  PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* MAP_FIXED_NOREPLACE */,
                                  UINT64_MAX,
                                  0};
    memcpy(r->regs, arguments, sizeof arguments);
    r->regs[8] = SYS_mmap;
    r->pc = s->code + STUB_PLACE(cli_stub_entry);
}

#endif
