/* Allocates; with MANY, the file has the names of 30,000 functions that nobody calls. */
#include "program.h"

LEAK(leak_early)

#ifdef MANY
__asm__(".pushsection .text\n"
        ".macro one_of_many\n"
        ".type a_function_that_is_never_called_\\@, %function\n"
        "a_function_that_is_never_called_\\@: nop\n"
        ".size a_function_that_is_never_called_\\@, 1\n"
        ".endm\n"
        ".rept 30000\n"
        "one_of_many\n"
        ".endr\n"
        ".popsection\n");
#endif

int main(void)
{
    leak_early();
    return 0;
}
