// A program with operators of its own, of the plain kind alone, as most have that have any: the
// runtime's others (for arrays, with a size) are to lead to them. Says how many blocks are left.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

static const std::size_t FRONT = 64;
static int alive;

void *operator new(std::size_t size)
{
    char *whole = static_cast<char *>(std::malloc(FRONT + size));
    if (!whole)
        throw std::bad_alloc();
    alive++;
    return whole + FRONT;
}

void operator delete(void *block) noexcept
{
    if (!block)
        return;
    alive--;
    std::free(static_cast<char *>(block) - FRONT);
}

int main()
{
    int *volatile one = new int(7);
    char *volatile several = new char[100];
    void *volatile perhaps = operator new(100, std::nothrow);
    std::printf("%d, ", alive);
    delete one;
    delete[] several;
    operator delete(perhaps, std::nothrow);
    std::printf("then %d\n", alive);
    return 0;
}
