package main

/*
#cgo pkg-config: pprofdelta
#include <pprofdelta.h>
#include <stdio.h>
static int put(void *out, const void *data, size_t len) { return fwrite(data, 1, len, out) != len; }
static pprofdelta_sink to_stdout(void) { return (pprofdelta_sink){.write = put, .cookie = stdout}; }
*/
import "C"
import "errors"
import "os"
import "unsafe"

func main() { // consumer PREV CUR >DELTA
	var pd *C.pprofdelta
	var err C.pprofdelta_error
	sink := C.to_stdout()
	prev, wrong := os.ReadFile(os.Args[1])
	cur, wrongToo := os.ReadFile(os.Args[2])
	if errors.Join(wrong, wrongToo) != nil {
		os.Stderr.WriteString(errors.Join(wrong, wrongToo).Error())
		os.Exit(1)
	}
	if C.pprofdelta_new(nil, nil, &pd, &err) != C.PPROFDELTA_OK ||
		C.pprofdelta_base(pd, unsafe.Pointer(unsafe.SliceData(prev)), C.size_t(len(prev)), &err) != 0 ||
		C.pprofdelta_window(pd, unsafe.Pointer(unsafe.SliceData(cur)), C.size_t(len(cur)), &sink, nil, &err) != 0 {
		os.Stderr.WriteString(C.GoString(&err.text[0]))
		os.Exit(1)
	}
	C.fflush(C.stdout)
}
