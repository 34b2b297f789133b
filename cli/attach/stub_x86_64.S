/* The code in the target, for x86-64: see stub.h. The stopped thread enters with the arguments of mmap. */
#include "stub.h"
#define SLOT(number) slots + 8 * (number)(%rip)
    .section .rodata.stub, "a"
    .balign 16
    .globl cli_stub_begin, cli_stub_entry, cli_stub_end
    .hidden cli_stub_begin, cli_stub_entry, cli_stub_end
cli_stub_begin:
slots: .fill STUB_SLOTS, 8, 0
cli_stub_entry:
    syscall
    mov SLOT(STUB_NEGATED), %rcx
    lea (%rax, %rcx), %rcx
    jrcxz 1f                            /* the storage is where it was wanted */
    jmp resume
1:  movabs $0xfffffffe7fffffff, %rsi    /* all but the two of the C library */
    mov %rsi, STORE_ALL(%rax)
    movl $1000000, STORE_PAUSE + 8(%rax)
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
    mov %r9, %rbx
    lea STORE_GO(%rbx), %r12
    call await
    cmpl $0, (%r12)
    je 3f
    lea STORE_THREAD(%rbx), %rdi
    xor %esi, %esi
    lea thread(%rip), %rdx
    mov %rbx, %rcx
    call *STORE_CREATE(%rbx)
    mov %eax, STORE_ERROR(%rbx)
    test %eax, %eax
    jne 2f
    mov STORE_THREAD(%rbx), %rdi
    call *STORE_DETACH(%rbx)
    jmp 3f
2:  movl $3, STORE_DONE(%rbx)
3:  xor %edi, %edi
    mov $60, %eax                       /* exit */
    syscall
await:                                  /* until the word at r12 is set */
    mov $STORE_PATIENCE, %ebp
4:  cmpl $0, (%r12)
    jne 5f
    lea STORE_PAUSE(%rbx), %rdi
    xor %esi, %esi
    mov $35, %eax                       /* nanosleep */
    syscall
    dec %ebp
    jne 4b
5:  ret
thread:
    push %rbx
    push %r12
    push %rbp
    mov %rdi, %rbx
    cmpl $0, STORE_WANTS_FILE(%rbx)
    je 6f
    lea STORE_NAME(%rbx), %rdi
    mov $1, %esi                        /* MFD_CLOEXEC */
    mov $319, %eax                      /* memfd_create */
    syscall
    mov %eax, STORE_FILE(%rbx)
    lea STORE_FILLED(%rbx), %r12
    call await
6:  lea STORE_PATH(%rbx), %rdi
    mov $2, %esi                        /* RTLD_NOW */
    call *STORE_DLOPEN(%rbx)
    test %rax, %rax
    je 7f
    mov %rax, %rdi
    lea STORE_SYMBOL(%rbx), %rsi
    call *STORE_DLSYM(%rbx)
    test %rax, %rax
    je 7f
    xor %edi, %edi
    call *%rax
    mov $1, %ecx
    jmp 8f
7:  call *STORE_DLERROR(%rbx)
    mov $2, %ecx
8:  mov %rax, STORE_RESULT(%rbx)
    mov %ecx, STORE_DONE(%rbx)
    mov STORE_FILE(%rbx), %edi
    mov $3, %eax                        /* close */
    cmp $0, %edi
    jle 9f
    syscall
9:  xor %eax, %eax
    pop %rbp
    pop %r12
    pop %rbx
    ret
cli_stub_end:
    .section .note.GNU-stack, "", %progbits
