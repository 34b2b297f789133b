// A program, and a library that has operators for what is aligned and no others: what they gave must
// come back to them. The program says how many of their blocks are left.
#include <cstddef>
#include <new>

#ifdef LIBRARY
#include <cstdlib>

static const std::size_t ALIGNMENT = 256;
alignas(ALIGNMENT) static char pool[64 << 10];
static std::size_t used;
static int alive;

int blocks_alive()
{
    return alive;
}

void *operator new(std::size_t size, std::align_val_t)
{
    void *block = pool + used;
    used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    alive++;
    return used <= sizeof pool ? block : nullptr;
}

void operator delete(void *block, std::align_val_t) noexcept
{
    if (block < static_cast<void *>(pool) || block >= static_cast<void *>(pool + sizeof pool))
        std::abort();
    alive--;
}

void operator delete(void *block, std::size_t, std::align_val_t alignment) noexcept
{
    operator delete(block, alignment);
}
#else
#include <cstdio>

int blocks_alive();

struct alignas(64) Wide {
    char bytes[64];
};

int main()
{
    int *volatile plain = new int(7);
    Wide *volatile wide = new Wide, *volatile other = new Wide;
    std::printf("%d, ", blocks_alive());
    delete plain;
    delete wide;
    delete other;
    std::printf("then %d\n", blocks_alive());
    return 0;
}
#endif
