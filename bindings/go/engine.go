package pprofdelta

// An engine makes instances of the C library. There are two: engine_wazero.go runs the library as
// WebAssembly; engine_cgo.go (build tag pprofdelta_cgo) calls the installed library. Each defines
//
//	func newEngine(o *poolOptions) (engine, error)
//
// An engine is used by several goroutines at once.
type engine interface {
	newInstance() (instance, error)
	// close is called when no instance is in use.
	close() error
}

// An instance is one context of the C library, and the buffers around it. It is used by one goroutine
// at a time. Output is never compressed, and input is inflated: compression is the business of
// codec.go.
//
// What fails is an *Error. After one with ErrEngine or ErrMemory, the pool closes the instance.
// Slices that a call returns last until the next call.
type instance interface {
	// room returns a buffer of n bytes for an input, of which there are two (slot 0 and 1). The first
	// `keep` bytes are those of the last room of this slot. It lasts until the slot's next room. A
	// profile that is given to another call may be in it; otherwise the engine copies the profile
	// where it has to.
	room(slot, n, keep int) ([]byte, error)

	// prepare makes the context anew, with these options. The other calls are made after it.
	prepare(o *options) error
	load(state []byte) error
	// save returns what the context remembers, with the attempt of a pending window.
	save() ([]byte, error)
	base(profile []byte) error
	// window leaves the window pending.
	window(profile []byte, started int64) ([]byte, *Report, error)
	commit() error
	abandon() error
	describe() (*Memory, error)
	compare(prev, cur []byte) ([]byte, *Report, error)
	check(profile []byte) (*Census, error)

	// A sum is apart from the context. sumBegin drops the sum that was begun before.
	sumBegin(o *options) error
	sumAdd(profile []byte) (Joint, error)
	sumFinish() ([]byte, error)

	// size is how many bytes the instance holds.
	size() int64
	close()
}
