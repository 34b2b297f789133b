/* A small program for a debugger: 100 blocks of 7,777 bytes, of which 60 are freed. */
#include "program.h"

static void *volatile blocks[100];

int main(void)
{
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(7777);
    for (int i = 0; i < 60; i++)
        free(blocks[i]);
    return 0;
}
