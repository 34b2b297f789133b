package deltahttp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

// Prefix is where Register puts the profiles.
const Prefix = "/debug/pprof/"

// What a request says about its reader, and a response about its window.
const (
	ReaderParameter = "reader"
	ReaderHeader    = "Pprofdelta-Reader" // instead of the parameter
	AfterParameter  = "after"
	SequenceHeader  = "Pprofdelta-Sequence"
	AttemptHeader   = "Pprofdelta-Attempt"
)

const (
	defaultMaxReaders   = 16
	defaultExpiry       = time.Hour
	defaultWriteTimeout = 30 * time.Second
	longestName         = 128
)

// A kind is a profile of runtime/pprof.
type kind struct {
	path, profile string
	collectsFirst bool // gc=1 has an effect
	open          func(...pprofdelta.Option) (*pprofdelta.Profiler, error)
}

const heap, mutex, block = 0, 1, 2

var kinds = [...]kind{
	heap:  {"delta_heap", "heap", true, pprofdelta.NewHeapProfiler},
	mutex: {"delta_mutex", "mutex", false, pprofdelta.NewMutexProfiler},
	block: {"delta_block", "block", false, pprofdelta.NewBlockProfiler},
}

// A profiler computes the windows of one reader.
type profiler interface {
	Window(ctx context.Context) (*pprofdelta.Window, error)
}

// Option changes a handler.
type Option func(*handler)

// MaxReaders sets how many readers are known at the same time. For a further one, the reader is forgotten that has
// asked least recently. The default is 16. Values below 1 count as 1.
func MaxReaders(n int) Option {
	return func(h *handler) { h.readers.most = max(1, n) }
}

// Expiry sets after how much time without a request a reader is forgotten. The default is an hour. The next
// window of a forgotten reader begins with the process.
func Expiry(d time.Duration) Option {
	return func(h *handler) { h.readers.expiry = max(0, d) }
}

// WriteTimeout sets how long the writing of one response may take where the http.Server has no WriteTimeout.
// The default is 30 seconds. A reader that stops reading keeps its own other requests waiting for that time,
// but not those of other readers.
func WriteTimeout(d time.Duration) Option {
	return func(h *handler) { h.writeTimeout = d }
}

// Profiler adds options for the profilers of all readers, for example pprofdelta.WithCompression.
func Profiler(opts ...pprofdelta.Option) Option {
	return func(h *handler) { h.profiler = append(h.profiler, opts...) }
}

// FullStacks gives the stacks all of their frames, for more processor time: see [pprofdelta.WithFullStacks].
func FullStacks() Option { return Profiler(pprofdelta.WithFullStacks()) }

type handler struct {
	readers      readers
	writeTimeout time.Duration
	profiler     []pprofdelta.Option
	open         func(kind int) (profiler, error) // tests replace it
}

// Handler returns a handler that serves the profiles delta_heap, delta_mutex and delta_block under any prefix:
// only the last element of the path counts. Its readers are its own.
func Handler(opts ...Option) http.Handler {
	return newHandler(opts)
}

// Register adds the profiles of a new handler to mux, below Prefix. The patterns have the method GET, so they do not
// conflict with "GET /debug/pprof/" of net/http/pprof.
func Register(mux *http.ServeMux, opts ...Option) {
	h := newHandler(opts)
	for _, k := range kinds {
		mux.Handle(pattern(Prefix+k.path), h)
	}
}

var usual = sync.OnceValue(func() *handler { return newHandler(nil) })

// Heap serves the heap profile under any path, as the function of that name in godeltaprof/http/pprof. Heap, Mutex and
// Block have their readers in common, and the defaults of all options.
func Heap(w http.ResponseWriter, r *http.Request) { usual().answer(w, r, heap) }

// Mutex serves the mutex profile under any path.
func Mutex(w http.ResponseWriter, r *http.Request) { usual().answer(w, r, mutex) }

// Block serves the block profile under any path.
func Block(w http.ResponseWriter, r *http.Request) { usual().answer(w, r, block) }

// pattern returns the pattern for GET and HEAD. With GODEBUG=httpmuxgo121=1, patterns have no method.
func pattern(path string) string {
	probe := http.NewServeMux()
	probe.Handle("GET "+path, http.NotFoundHandler())
	if _, found := probe.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}}); found == "" {
		return path
	}
	return "GET " + path
}

func newHandler(opts []Option) *handler {
	h := &handler{
		readers: readers{most: defaultMaxReaders, expiry: defaultExpiry, now: time.Now,
			named: make(map[string]*reader)},
		writeTimeout: defaultWriteTimeout,
	}
	for _, o := range opts {
		o(h)
	}
	h.open = func(kind int) (profiler, error) { return kinds[kind].open(h.profiler...) }
	return h
}

// A problem is an answer that is not a profile.
type problem struct {
	status int
	text   string
}

func refuse(status int, format string, args ...any) *problem {
	return &problem{status, fmt.Sprintf(format, args...)}
}

// A request is what the parameters of an HTTP request say.
type request struct {
	kind       int
	reader     string
	collectsGC bool
	hasAfter   bool
	after      uint64 // the sequence of the last window that has arrived
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	h.answer(w, r, slices.IndexFunc(kinds[:], func(k kind) bool { return k.path == name }))
}

// answer serves a kind of profile; -1 is none.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, kind int) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	req, wrong := parse(r, kind)
	if wrong == nil {
		describe(w.Header(), req.kind)
		if r.Method == http.MethodHead {
			return // a cursor is moved by a profile that was sent, only
		}
		wrong = h.serve(w, r, req)
	}
	if wrong != nil {
		if wrong.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, HEAD")
		}
		wrong.write(w)
	}
}

// serve answers with the next window of the reader. The other requests of the reader for this kind of profile
// wait meanwhile.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, req request) *problem {
	one := h.readers.take(req.reader)
	if one == nil {
		w.Header().Set("Retry-After", "1")
		return refuse(http.StatusServiceUnavailable, "%d readers are being answered, which is the limit; raise deltahttp.MaxReaders", h.readers.most)
	}
	defer h.readers.give(one)
	c := &one.cursors[req.kind]
	if err := c.lock(r.Context()); err != nil {
		return refuse(http.StatusServiceUnavailable, "another request of the reader %q is being answered: %v", req.reader, err)
	}
	defer c.unlock()
	c.settle(req)
	body, window, err := h.compute(r.Context(), c, req)
	if err != nil {
		return refuse(http.StatusInternalServerError, "%s: %v", kinds[req.kind].path, err)
	}
	c.pending = window
	c.written, c.held = false, nil
	defer func() { // also if w panics, as it may to end the connection
		if !req.hasAfter && c.held == nil {
			c.end(c.written)
		}
	}()
	w.Header().Set(SequenceHeader, strconv.FormatUint(window.Report.Sequence, 10))
	w.Header().Set(AttemptHeader, strconv.FormatUint(window.Report.Attempt, 10))
	var held bool
	if c.written, held = h.send(w, r, body); held {
		c.held = r.Context()
	}
	return nil
}

// compute computes the delta between the cursor and now.
func (h *handler) compute(ctx context.Context, c *cursor, req request) ([]byte, *pprofdelta.Window, error) {
	if c.profiler == nil {
		opened, err := h.open(req.kind)
		if err != nil {
			return nil, nil, err
		}
		c.profiler = opened
	}
	if req.collectsGC {
		runtime.GC()
	}
	window, err := c.profiler.Window(ctx)
	if err != nil {
		return nil, nil, err
	}
	body, err := window.Bytes()
	if err != nil {
		window.Abandon()
		return nil, nil, err
	}
	return body, window, nil
}

// send writes the body, and returns whether all of it was taken, and whether w may hold it still. The last byte is held
// back until the rest was sent: a client that has gone by then has not got the window. A client that goes after the
// last byte may have got it, so that is no failure.
func (h *handler) send(w http.ResponseWriter, r *http.Request, body []byte) (written, held bool) {
	control := http.NewResponseController(w)
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if h.writeTimeout > 0 && (server == nil || server.WriteTimeout <= 0) {
		if control.SetWriteDeadline(time.Now().Add(h.writeTimeout)) == nil {
			defer control.SetWriteDeadline(time.Time{}) // the connection may have more requests
		}
	}
	if len(body) == 0 { // a request of OTLP without samples
		w.Header().Del("Content-Type")
		w.Header().Del("Content-Disposition")
		w.WriteHeader(http.StatusNoContent)
		return put(w, control, nil)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	last := len(body) - 1
	if written, _ = put(w, control, body[:last]); !written || r.Context().Err() != nil {
		return false, false
	}
	return put(w, control, body[last:])
}

// put writes and flushes. What w cannot flush, it may hold still.
func put(w http.ResponseWriter, control *http.ResponseController, body []byte) (written, held bool) {
	if n, err := w.Write(body); err != nil || n < len(body) {
		return false, false
	}
	err := control.Flush()
	held = errors.Is(err, http.ErrNotSupported)
	return err == nil || held, held
}

// describe sets the headers of a response with a profile. No cache may answer for this process: a reader
// would get a window twice.
func describe(header http.Header, number int) {
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.pb.gz"`, kinds[number].path))
	header.Set("Cache-Control", "no-store")
}

// write answers as net/http/pprof does, so that `go tool pprof` prints the text.
func (p *problem) write(w http.ResponseWriter) {
	w.Header().Del("Content-Disposition")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Go-Pprof", "1")
	w.WriteHeader(p.status)
	fmt.Fprintln(w, p.text)
}

func parse(r *http.Request, kind int) (req request, wrong *problem) {
	if req.kind = kind; kind < 0 {
		return req, refuse(http.StatusNotFound, "%q is not a profile of this handler, which has delta_heap, delta_mutex and delta_block", path.Base(r.URL.Path))
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return req, refuse(http.StatusMethodNotAllowed, "the method %s is not allowed; use GET, or HEAD, which leaves the reader where it is", r.Method)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return req, refuse(http.StatusBadRequest, "the query cannot be parsed: %v", err)
	}
	if seconds := query.Get("seconds"); seconds != "" { // an empty value is none, as for net/http/pprof
		return req, refuse(http.StatusBadRequest, "seconds=%s: a delta covers the time since the last request of its reader; leave seconds out, or use %s%s?seconds=%s of net/http/pprof", seconds, Prefix, kinds[kind].profile, url.QueryEscape(seconds))
	}
	gc, wrong := number(query, "gc")
	if wrong != nil {
		return req, wrong
	}
	req.collectsGC = gc > 0 && kinds[kind].collectsFirst
	debug, wrong := number(query, "debug")
	if wrong != nil {
		return req, wrong
	}
	if debug != 0 {
		return req, refuse(http.StatusBadRequest, "debug=%d: a delta has no text form; save it without debug and print it with `go tool pprof -raw FILE`", debug)
	}
	if after := query.Get(AfterParameter); after != "" {
		req.hasAfter = true
		if req.after, err = strconv.ParseUint(after, 10, 64); err != nil {
			return req, refuse(http.StatusBadRequest, "after=%s: not a sequence; use the value of the header %s of the last response that has arrived, or 0", after, SequenceHeader)
		}
	}
	req.reader, wrong = readerName(query, r.Header)
	return req, wrong
}

// number returns the value of a parameter, 0 if it is missing.
func number(query url.Values, name string) (int, *problem) {
	value := query.Get(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, refuse(http.StatusBadRequest, "%s=%s: not a number from 0 to %d", name, value, math.MaxInt)
	}
	return n, nil
}

// readerName returns the name of the reader, which is "" if the request has none. All requests without a name
// are of one reader.
func readerName(query url.Values, header http.Header) (string, *problem) {
	names := append(query[ReaderParameter], header.Values(ReaderHeader)...)
	if len(names) == 0 {
		return "", nil
	}
	for _, other := range names[1:] {
		if other != names[0] {
			return "", refuse(http.StatusBadRequest, "the request names two readers, %q and %q; a request is of one reader", names[0], other)
		}
	}
	if !isName(names[0]) {
		return "", refuse(http.StatusBadRequest, "the name of the reader must have 1 to %d bytes of printable UTF-8 without spaces at its ends", longestName)
	}
	return names[0], nil
}

func isName(name string) bool {
	isOther := func(r rune) bool { return !unicode.IsPrint(r) }
	return name != "" && len(name) <= longestName && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, isOther)
}
