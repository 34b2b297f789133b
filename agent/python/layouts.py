#!/usr/bin/env python3
"""Makes layouts.inc: where CPython keeps what the agent reads, for each minor version.

usage: agent/python/layouts.py INTERPRETER|HEADERS... > agent/python/layouts.inc

For each interpreter a C program is compiled against its headers, which are asked for or given as their folder, and run.
CPython keeps these places within a minor version. An interpreter without its headers, or of a version that the program
does not know, ends this with a message."""

import os
import re
import subprocess
import sys
import tempfile

PROGRAM = r"""
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#include <internal/pycore_code.h>
#else
#include <code.h>
#endif
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_runtime.h>
#define PUBLISHED(member) offsetof(_PyRuntimeState, debug_offsets.member)
#endif
#define PLACE(member, type, of) printf(" ." #member " = %zu,", offsetof(type, of))
#define SIZE(member, type) printf(" ." #member " = %zu,", sizeof(type))

int main(void)
{
    printf("{.minor = %d,", PY_MINOR_VERSION);
    SIZE(str_size, PyUnicodeObject);
    PLACE(thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
    SIZE(code_size, PyCodeObject);
    PLACE(thread_frame, PyThreadState, frame);
    PLACE(frame_previous, PyFrameObject, f_back);
    PLACE(frame_code, PyFrameObject, f_code);
    PLACE(frame_instruction, PyFrameObject, f_lasti);
    PLACE(code_name, PyCodeObject, co_name);
#else
    PLACE(code_size, PyCodeObject, co_code_adaptive);
#if PY_VERSION_HEX < 0x030d0000
    PLACE(thread_record, PyThreadState, cframe);
    PLACE(thread_frame, __typeof__(*((PyThreadState *)0)->cframe), current_frame);
    PLACE(record_previous, __typeof__(*((PyThreadState *)0)->cframe), previous);
#else
    PLACE(thread_frame, PyThreadState, current_frame);
#endif
    PLACE(frame_previous, _PyInterpreterFrame, previous);
#if PY_VERSION_HEX < 0x030c0000
    PLACE(frame_is_entry, _PyInterpreterFrame, is_entry);
#endif
    PLACE(frame_owner, _PyInterpreterFrame, owner);
#if PY_VERSION_HEX < 0x030d0000
    PLACE(frame_code, _PyInterpreterFrame, f_code);
    PLACE(frame_instruction, _PyInterpreterFrame, prev_instr);
#else
    PLACE(frame_code, _PyInterpreterFrame, f_executable);
    PLACE(frame_instruction, _PyInterpreterFrame, instr_ptr);
#endif
    PLACE(code_name, PyCodeObject, co_qualname);
#endif
#if PY_VERSION_HEX >= 0x030d0000
    printf(" .published = {%zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu},",
           PUBLISHED(thread_state.thread_id), PUBLISHED(thread_state.current_frame),
           PUBLISHED(interpreter_frame.previous), PUBLISHED(interpreter_frame.executable),
           PUBLISHED(interpreter_frame.instr_ptr), PUBLISHED(interpreter_frame.owner), PUBLISHED(code_object.qualname),
           PUBLISHED(code_object.filename), PUBLISHED(code_object.firstlineno), PUBLISHED(code_object.linetable),
           PUBLISHED(code_object.co_code_adaptive));
#endif
    PLACE(code_file, PyCodeObject, co_filename);
    PLACE(code_first_line, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX < 0x030a0000
    PLACE(code_lines, PyCodeObject, co_lnotab);
#else
    PLACE(code_lines, PyCodeObject, co_linetable);
#endif
    PLACE(bytes_length, PyBytesObject, ob_base.ob_size);
    PLACE(bytes_text, PyBytesObject, ob_sval);
    PLACE(str_length, PyASCIIObject, length);
    PLACE(str_state, PyASCIIObject, state);
    SIZE(str_ascii, PyASCIIObject), SIZE(str_wide, PyCompactUnicodeObject);
    union {
        PyASCIIObject object;
        unsigned char bytes[sizeof(PyASCIIObject)];
    } kind, ascii;
    memset(&kind, 0, sizeof kind), memset(&ascii, 0, sizeof ascii);
    kind.object.state.kind = 1, ascii.object.state.ascii = 1;
    size_t at = offsetof(PyASCIIObject, state);
    printf(" .str_kind_bit = %d, .str_ascii_bit = %d},\n",
           __builtin_ctz(*(unsigned *)(kind.bytes + at)), __builtin_ctz(*(unsigned *)(ascii.bytes + at)));
    return 0;
}
"""


def headers_of(place):
    ask = "import sysconfig; print(sysconfig.get_path('include'))"
    if os.path.isdir(place):
        return place
    return subprocess.run([place, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def row_of(place, folder):
    include = headers_of(place)
    source, program = os.path.join(folder, "places.c"), os.path.join(folder, "places")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    compiled = subprocess.run(["cc", "-I", include, "-I", os.path.join(include, "internal"), source, "-o", program], check=False)
    if compiled.returncode:
        sys.exit(f"{place}: its headers are needed in {include}")
    row = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    minor = int(re.search(r"minor = (\d+)", row)[1])
    if not 9 <= minor <= 15:
        sys.exit(f"{place}: version 3.{minor} is not one of 3.9 to 3.15, for which this program is written")
    return minor, row


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        rows = dict(row_of(place, temporary) for place in sys.argv[1:])
    print("/* Where each minor version of CPython keeps what the agent reads. Made by layouts.py: do not edit. */")
    print("/* clang-format off */")
    print("".join(rows[minor] for minor in sorted(rows)), end="")
    print("/* clang-format on */")
