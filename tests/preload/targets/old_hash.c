/* An allocator whose functions only the older of the two hash tables has, and a program that is linked with it. */
#include <stdio.h>
#include <stdlib.h>

extern volatile size_t old_hash_calls;

#ifdef LIBRARY
void *__libc_malloc(size_t size);
void __libc_free(void *ptr);
void *__libc_calloc(size_t nmemb, size_t size);
void *__libc_realloc(void *ptr, size_t size);

volatile size_t old_hash_calls;

void *malloc(size_t size)
{
    old_hash_calls++;
    return __libc_malloc(size);
}

void free(void *ptr)
{
    __libc_free(ptr);
}

void *calloc(size_t nmemb, size_t size)
{
    return __libc_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size)
{
    return __libc_realloc(ptr, size);
}
#else
int main(void)
{
    size_t before = old_hash_calls;
    void *volatile block = malloc(100);
    printf("%zu call\n", old_hash_calls - before);
    free(block);
    return 0;
}
#endif
