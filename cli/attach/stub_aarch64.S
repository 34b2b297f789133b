/* The code in the target, for arm64: see stub.h. The stopped thread enters with the arguments of mmap, and goes on by the
 * branch that the command puts into a slot: no register is free for its address. */
#include "stub.h"
    .section .rodata.stub, "a"
    .balign 16
    .globl cli_stub_begin, cli_stub_entry, cli_stub_end
    .hidden cli_stub_begin, cli_stub_entry, cli_stub_end
.macro slot register, number
    ldr \register, slots + 8 * (\number)
.endm
.macro call off
    ldr x9, [x19, #\off]
    blr x9
.endm
cli_stub_begin:
slots: .fill STUB_SLOTS, 8, 0
cli_stub_entry:
    svc #0
    slot x1, STUB_NEGATED
    add x1, x1, x0
    cbnz x1, resume                     /* the storage is not where it was wanted */
    mov x3, #0xfffffffe7fffffff         /* all but the two of the C library */
    str x3, [x0, #STORE_ALL]
    mov w3, #0x4240
    movk w3, #0xf, lsl #16              /* 1,000,000 */
    str x3, [x0, #STORE_PAUSE + 8]
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
    mov x19, x5
    add x20, x19, #STORE_GO
    bl await
    ldr w0, [x20]
    cbz w0, 3f
    add x0, x19, #STORE_THREAD
    mov x1, #0
    adr x2, thread
    mov x3, x19
    call STORE_CREATE
    str w0, [x19, #STORE_ERROR]
    cbnz w0, 2f
    ldr x0, [x19, #STORE_THREAD]
    call STORE_DETACH
    b 3f
2:  mov w0, #3
    str w0, [x19, #STORE_DONE]
3:  mov x0, #0
    mov x8, #93                         /* exit */
    svc #0
await:                                  /* until the word at x20 is set */
    mov w21, #STORE_PATIENCE
4:  ldr w0, [x20]
    cbnz w0, 5f
    add x0, x19, #STORE_PAUSE
    mov x1, #0
    mov x8, #101                        /* nanosleep */
    svc #0
    subs w21, w21, #1
    b.ne 4b
5:  ret
thread:
    hint #34                            /* bti c */
    stp x29, x30, [sp, #-48]!
    stp x19, x20, [sp, #16]
    str x21, [sp, #32]
    mov x19, x0
    ldr w0, [x19, #STORE_WANTS_FILE]
    cbz w0, 6f
    add x0, x19, #STORE_NAME
    mov x1, #1                          /* MFD_CLOEXEC */
    mov x8, #279                        /* memfd_create */
    svc #0
    str w0, [x19, #STORE_FILE]
    add x20, x19, #STORE_FILLED
    bl await
6:  add x0, x19, #STORE_PATH
    mov x1, #2                          /* RTLD_NOW */
    call STORE_DLOPEN
    cbz x0, 7f
    add x1, x19, #STORE_SYMBOL
    call STORE_DLSYM
    cbz x0, 7f
    mov x9, x0
    mov x0, #0
    blr x9
    mov w1, #1
    b 8f
7:  call STORE_DLERROR
    mov w1, #2
8:  str x0, [x19, #STORE_RESULT]
    str w1, [x19, #STORE_DONE]
    ldr w0, [x19, #STORE_FILE]
    cmp w0, #0
    b.le 9f
    mov x8, #57                         /* close */
    svc #0
9:  mov x0, #0
    ldr x21, [sp, #32]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
cli_stub_end:
    .section .note.GNU-stack, "", %progbits
