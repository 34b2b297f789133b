/* What Python 3.14 publishes, in an interpreter whose structures lie elsewhere than in any that was built: one thread, in
 * one function. Only what is published tells where things are. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is published. */
enum { THREAD_ID = 312, THREAD_FRAME = 16, FRAME_PREVIOUS = 24, FRAME_CODE = 40, FRAME_AT = 8 };
enum { FRAME_OWNER = 90, NAME = 304, FILE_NAME = 72, FIRST_LINE = 88, LINES = 24, CODE = 408 };

#define PLACE(off) [(off) / sizeof(uint64_t)]
uint64_t _PyRuntime[128] = {
    UINT64_C(0x7970677562656478), /* "xdebugpy" */
    PLACE(216) = THREAD_ID,
    PLACE(208) = THREAD_FRAME,
    PLACE(256) = FRAME_PREVIOUS,
    PLACE(264) = FRAME_CODE,
    PLACE(272) = FRAME_AT,
    PLACE(288) = FRAME_OWNER,
    PLACE(336) = NAME,
    PLACE(320) = FILE_NAME,
    PLACE(352) = FIRST_LINE,
    PLACE(344) = LINES,
    PLACE(384) = CODE,
};

struct type {
    char head[32];
    size_t basic_size;
};
struct type PyCode_Type = {.basic_size = CODE}, PyUnicode_Type = {.basic_size = 64}, PyBytes_Type;
static _Alignas(8) char thread[400], code[500];

const char *Py_GetVersion(void);
const char *Py_GetVersion(void)
{
    return "3.14.99 (made up)";
}

void *PyThreadState_GetUnchecked(void);
void *PyThreadState_GetUnchecked(void)
{
    return thread;
}

void *PyGILState_GetThisThreadState(void);
void *PyGILState_GetThisThreadState(void)
{
    return thread;
}

int Py_IsFinalizing(void);
int Py_IsFinalizing(void)
{
    return 0;
}

static void put(void *object, size_t off, const void *value)
{
    memcpy((char *)object + off, &value, sizeof value);
}

/* A str of one byte a letter, or bytes. */
static void *made(const struct type *type, const char *text, size_t text_off)
{
    const size_t len = strlen(text);
    const unsigned compact_ascii = 1u << 2 | 1u << 5 | 1u << 6;
    char *object = calloc(1, text_off + len + 1);
    put(object, 8, type);
    memcpy(object + 16, &len, sizeof len);
    if (type == &PyUnicode_Type)
        memcpy(object + 32, &compact_ascii, sizeof compact_ascii);
    memcpy(object + text_off, text, len);
    return object;
}

int main(void)
{
    _Alignas(8) char frame[128] = {0};
    const int first_line = 41;
    const pthread_t self = pthread_self();
    put(code, 8, &PyCode_Type);
    put(code, NAME, made(&PyUnicode_Type, "Made.up", 40));
    put(code, FILE_NAME, made(&PyUnicode_Type, "/srv/rows.py", 40));
    put(code, LINES, made(&PyBytes_Type, "\xd8\xd8", 32)); /* a unit on the line behind */
    memcpy(code + FIRST_LINE, &first_line, sizeof first_line);
    put(frame, FRAME_CODE, code + 1); /* the lowest bits of a reference say how it is counted */
    put(frame, FRAME_AT, code + CODE);
    frame[FRAME_OWNER] = 3;
    put(thread, THREAD_FRAME, frame);
    memcpy(thread + THREAD_ID, &self, sizeof self);
    void *(*volatile allocate)(size_t) = malloc; /* so that the frame is written before */
    return allocate(7777) == NULL;
}
