import sys
from ctypes import *  # consumer.py PREV CUR >DELTA

lib = CDLL("libpprofdelta.so.0")
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
class Sink(Structure):
    _fields_ = [("write", WRITE), ("cookie", c_void_p)]
class Error(Structure):
    _fields_ = [("status", c_int), ("reason", c_int), ("stage", c_int),
                ("is_prev", c_int), ("field", c_char_p), ("element", c_uint64),
                ("offset", c_uint64), ("text", c_char * 472)]

prev, cur = (open(name, "rb").read() for name in sys.argv[1:3])
sink = Sink(WRITE(lambda _, data, size: sys.stdout.buffer.write(string_at(data, size)) != size))
pd, err = c_void_p(), Error()
if (lib.pprofdelta_new(None, None, byref(pd), byref(err))
        or lib.pprofdelta_base(pd, prev, c_size_t(len(prev)), byref(err))
        or lib.pprofdelta_window(pd, cur, c_size_t(len(cur)), byref(sink), None, byref(err))):
    sys.exit(err.text.decode())
lib.pprofdelta_free(pd)
