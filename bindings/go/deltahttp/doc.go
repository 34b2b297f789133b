// Package deltahttp serves the delta profiles of its own process over HTTP: what it has allocated, and where
// it has waited, since the last request.
//
//	deltahttp.Register(mux)
//
// registers three profiles for GET and HEAD, with the paths and the sample types of godeltaprof's HTTP handlers. A
// program may import net/http/pprof, too.
//
//	/debug/pprof/delta_heap
//	/debug/pprof/delta_mutex (needs runtime.SetMutexProfileFraction)
//	/debug/pprof/delta_block (needs runtime.SetBlockProfileRate)
//
// Package deltahttp/register does the same on http.DefaultServeMux when it is imported. This package registers
// nothing by itself. The deltas are computed by package pprofdelta from what runtime/pprof writes. The first
// request compiles the engine of the default pool, which takes some hundred milliseconds; to have that done
// earlier, or to share a pool, use Computer(pprofdelta.WithPool(pool)).
//
// # Readers
//
// Each reader has a cursor for each profile, so two scrapers that name themselves do not steal from each other.
// The parameter reader or the header Pprofdelta-Reader has the name:
//
//	curl -o heap.pb.gz 'http://localhost:6060/debug/pprof/delta_heap?reader=alloy-1'
//
// Requests without a name share one reader. The first window of a reader begins with the process. Requests of one
// reader for one profile are answered one after the other.
//
// The number of readers is limited ([MaxReaders]). For a further one, the reader is forgotten that has asked least
// recently; if all of them are being answered, the further one gets status 503. A reader without a request for
// [Expiry] is forgotten when another request arrives. The next window of a forgotten reader begins with the process,
// so it has again what earlier windows had; a reader that must notice that uses the parameter after (see below). No
// goroutine is started. A reader costs about 25 bytes for each sample of each profile that it has asked for.
//
// # Windows that are lost
//
// The cursor moves when the response was written. If that fails, or if the client has gone before its last byte,
// the next window of the reader covers this one, too. A response that was written may still be lost: the kernel takes bytes that the
// client never reads, and a proxy may fail. A reader that must not lose a window uses the parameter after, which is
// the sequence of the last window that it has stored, and 0 at the beginning:
//
//	GET /debug/pprof/delta_heap?reader=alloy-1&after=41
//
// The sequence is in the header Pprofdelta-Sequence of each response. If the sequence of the response is after
// plus 1, then the window begins where window `after` ended, whatever has been lost in between. If it is 1, then
// the window begins with the process: the process has restarted, or the reader was forgotten. No other value
// occurs.
//
// # Parameters
//
//   - reader=NAME and after=SEQUENCE: see above.
//   - gc=1: collect garbage before the heap profile, as net/http/pprof does.
//   - seconds and debug are refused with status 400: the window is the time since the last request, and a delta has
//     no text form. The error says what to use instead.
//   - Other parameters are ignored.
//
// GET returns a gzip profile as runtime/pprof does, without a Content-Encoding. HEAD returns the headers and does
// not move the cursor. Other methods get status 405. Errors are in plain text, and `go tool pprof` prints them.
//
// A profile tells much about a program. Do not serve it to the public.
package deltahttp
