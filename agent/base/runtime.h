/* Which language runtime a program is. Such a runtime takes the memory of its objects from the kernel
 * and not from malloc, so a heap agent sees only a part of its heap. */
#ifndef PD_AGENT_RUNTIME_H
#define PD_AGENT_RUNTIME_H

typedef enum pd_runtime {
    PD_RUNTIME_NONE = 0, /* none of these */
    PD_RUNTIME_GO,
    PD_RUNTIME_JAVA,
    PD_RUNTIME_NODE,
    PD_RUNTIME_PYTHON
} pd_runtime;

/* Reads the ELF file at path. It is the runtime if it carries the build note of Go, needs a library
 * of the runtime, or has the function by which a launcher starts the runtime. The file's name does
 * not count. Does not allocate. */
pd_runtime pd_runtime_of(const char *path);

/* Returns one sentence, with no period at its end: what is seen of the heap, what is not, and what
 * shows the rest, if it is not set in the environment already. Empty for PD_RUNTIME_NONE. */
const char *pd_runtime_advice(pd_runtime runtime);

#endif
