/* The code in the target, for arm64: see stub.h. The stopped thread enters with the arguments of mmap, and goes on by the
 * branch that the command puts into a slot: no register is free for its address. */
#include "stub.h"
    .section cli_stub, "ax"
    .balign 16
    .globl cli_stub_slots, cli_stub_entry
    .hidden cli_stub_slots, cli_stub_entry, cli_stub_raw
.macro slot register, number
    ldr \register, slots + 8 * (\number)
.endm
cli_stub_slots:
slots: .fill STUB_SLOTS, 8, 0
cli_stub_entry:
    svc #0
    slot x1, STUB_NEGATED
    add x1, x1, x0
    cbnz x1, resume                     /* the storage is not where it was wanted */
    mov x3, #0xfffffffe7fffffff         /* all but the two of the C library */
    str x3, [x0, #STORE_ALL]
    add x1, x0, #STORE_ALL
    add x2, x0, #STORE_BEFORE
    mov x0, #2
    mov x3, #8
    mov x8, #135                        /* rt_sigprocmask */
    svc #0
    slot x5, STUB_STORAGE
    mov w0, #0x0f00
    movk w0, #0x3d, lsl #16             /* as the C library makes a thread */
    add x1, x5, #STORE_STACK_END
    add x2, x5, #STORE_TID
    slot x3, STUB_POINTER
    add x4, x5, #STORE_TID
    mov x8, #220                        /* clone */
    svc #0
    cbz x0, raw
    str x0, [x5, #STORE_CLONED]
    add x1, x5, #STORE_BEFORE
    mov x0, #2
    mov x2, #0
    mov x3, #8
    mov x8, #135
    svc #0
resume:
    slot x0, STUB_SAVED + 0
    slot x1, STUB_SAVED + 1
    slot x2, STUB_SAVED + 2
    slot x3, STUB_SAVED + 3
    slot x4, STUB_SAVED + 4
    slot x5, STUB_SAVED + 5
    slot x8, STUB_SAVED + 6
    b slots + 8 * STUB_RESUME
raw:
    mov x0, x5
    bl cli_stub_raw
    .section .note.GNU-stack, "", %progbits
