// Package pprofdelta computes deltas of cumulative pprof profiles: what a program did between two looks
// at it. Heap, mutex and block profiles of Go, C and C++ programs count from the start of the process
// and only grow. A [Computer] remembers the counters of the last profile of one target, and computes the
// small profile of the time in between.
//
//	computer, err := pprofdelta.New()
//	...
//	for each scrape {
//		err := computer.Delta(profile, w) // gzip, zstd or plain in; gzip out
//	}
//
// The package replaces fastdelta: New(WithFastdeltaDefaults()) makes what NewDeltaComputer makes, and Delta
// is called in the same way. It needs no cgo and no toolchain: it contains libpprofdelta, a C library, translated
// to Go.
//
// # Windows
//
// A delta that was lost on its way must not leave a gap. [Computer.Delta] remembers the profile only if the
// writer has taken the delta. Where that is not enough, [Computer.Window] computes the delta, and
// [Window.Commit] or [Window.Abandon] says later what became of it. After an abandoned window, the next one
// covers its time, too. Each delta has a stamp with its sequence and attempt, by which a receiver notices
// what it has already.
//
// [Computer.Save] and [Computer.Load] keep what a computer remembers over the end of the process. A state
// is the same for this package and for the command pprofdelta.
//
// A [Profiler] computes the windows of its own process, without profiles. Package deltahttp serves them.
//
// # Memory and concurrency
//
// Between windows, a computer holds its state: 20 to 25 bytes for each sample. Windows are computed by the
// instances of a [Pool], GOMAXPROCS by default, which all computers share. An instance is in use while a
// window is computed, and not while the delta is compressed, written or uploaded. [WithMaxMemory] limits all
// memory that a call takes. All types may be used by several goroutines at once. The calls of one computer that
// change what it remembers run one after the other; [Computer] has the details.
//
// A context that ends stops the call, also while a window is being computed. The instance is then dropped, and the
// computer is as before.
//
// # Errors
//
// An error is an [*Error] with a [Status], the field and the byte offset, or the error of a context. After an
// error, a computer is as before. A panic in the translated code is an error with [ErrEngine]: it ends the
// window, and no other.
package pprofdelta
