/* The build id of an ELF file: the bytes of a note by which the linker names this build. */
#ifndef PD_PROCESS_BUILDID_H
#define PD_PROCESS_BUILDID_H

#include "process/elf.h"

enum { PD_BUILD_ID_MAX = 64 }; /* bytes; longer ones are cut */

/* Writes the build id in hexadecimal to out. The file is read as the loader maps it: addresses
 * count from the first byte. Returns the length in out, or 0 if there is none. */
size_t pd_elf_build_id(const pd_elf *elf, char out[2 * PD_BUILD_ID_MAX]);

/* The same for the file whose first byte is mapped at `address` of this process. The path of the
 * file is never used, since a deploy may have replaced or removed the file. Memory is read
 * through the kernel, which cannot fault. */
size_t pd_build_id_at(uint64_t address, char out[2 * PD_BUILD_ID_MAX]);

#endif
