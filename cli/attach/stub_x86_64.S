/* The code in the target, for x86-64: see stub.h. The stopped thread enters with the arguments of mmap. */
#include "stub.h"
#define SLOT(number) slots + 8 * (number)(%rip)
    .section cli_stub, "ax"
    .balign 16
    .globl cli_stub_slots, cli_stub_entry
    .hidden cli_stub_slots, cli_stub_entry, cli_stub_raw
cli_stub_slots:
slots: .fill STUB_SLOTS, 8, 0
cli_stub_entry:
    syscall
    mov SLOT(STUB_NEGATED), %rcx
    lea (%rax, %rcx), %rcx
    jrcxz 1f                            /* the storage is where it was wanted */
    jmp resume
1:  movabs $0xfffffffe7fffffff, %rsi    /* all but the two of the C library */
    mov %rsi, STORE_ALL(%rax)
    lea STORE_ALL(%rax), %rsi
    lea STORE_BEFORE(%rax), %rdx
    mov $2, %edi
    mov $8, %r10d
    mov $14, %eax                       /* rt_sigprocmask */
    syscall
    mov SLOT(STUB_STORAGE), %r9
    mov $0x3d0f00, %edi                 /* as the C library makes a thread */
    lea STORE_STACK_END(%r9), %rsi
    lea STORE_TID(%r9), %rdx
    lea STORE_TID(%r9), %r10
    mov SLOT(STUB_POINTER), %r8
    mov $56, %eax                       /* clone */
    syscall
    mov %rax, %rcx
    jrcxz raw
    mov %rax, STORE_CLONED(%r9)
    lea STORE_BEFORE(%r9), %rsi
    mov $0, %edx
    mov $2, %edi
    mov $8, %r10d
    mov $14, %eax
    syscall
resume:
    mov SLOT(STUB_SAVED + 0), %rax
    mov SLOT(STUB_SAVED + 1), %rdi
    mov SLOT(STUB_SAVED + 2), %rsi
    mov SLOT(STUB_SAVED + 3), %rdx
    mov SLOT(STUB_SAVED + 4), %rcx
    mov SLOT(STUB_SAVED + 5), %r8
    mov SLOT(STUB_SAVED + 6), %r9
    mov SLOT(STUB_SAVED + 7), %r10
    mov SLOT(STUB_SAVED + 8), %r11
    jmp *SLOT(STUB_RESUME)
raw:
    mov %r9, %rdi
    call cli_stub_raw
    .section .note.GNU-stack, "", %progbits
