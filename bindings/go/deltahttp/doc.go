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
// nothing by itself. [Heap], [Mutex] and [Block] serve one profile each, for programs that mount them by hand. The
// deltas are those of a [pprofdelta.Profiler], from the records of package runtime: no profile is written or parsed.
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
// goroutine is started. A reader costs 24 bytes for each record of each profile that it has asked for.
//
// # Windows that are lost
//
// The cursor moves when the response was written. If that fails, or if the client has gone before its last byte, as
// one that has cut the body, the window is part of the reader's next one.
//
// A ResponseWriter that cannot flush may hold the response until the handlers around this one have returned, as that of
// [http.TimeoutHandler] does. Then the cursor moves at the reader's next request: if the context of the first one has
// been canceled, as it is when a request is over. If it has ended by a deadline, or not at all, the window is part of the
// next one. Where both were delivered, they have the same sequence, and the later one has the higher attempt.
//
// A response that was written may still be lost: the kernel takes bytes that the client never reads, and a proxy may
// fail. A reader that must not lose a window uses the parameter after, which is the sequence of the last window that
// it has stored, and 0 at the beginning:
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
// not move the cursor. Other methods get status 405. With [Profiler] and a format of OTLP, a window without samples has
// no bytes: its status is 204, there is nothing to send on, and the cursor moves. Errors are in plain text, and `go tool pprof` prints them.
//
// A profile tells much about a program. Do not serve it to the public.
package deltahttp
