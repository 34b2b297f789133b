package deltahttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

func TestMain(m *testing.M) {
	runtime.MemProfileRate = 8192
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	os.Exit(m.Run())
}

// A fake computes the windows of one reader from profiles.
type fake struct {
	computer *pprofdelta.Computer
	next     func() ([]byte, error)
}

func (f fake) Window(ctx context.Context) (*pprofdelta.Window, error) {
	profile, err := f.next()
	if err != nil {
		return nil, err
	}
	return f.computer.Window(ctx, profile)
}

// feed makes the handler compute windows from these profiles instead of records.
func feed(h *handler, next func(kind string) ([]byte, error)) {
	h.open = func(kind int) (profiler, error) {
		c, err := pprofdelta.New(h.profiler...)
		return fake{c, func() ([]byte, error) { return next(kinds[kind].profile) }}, err
	}
}

// A tap feeds the handler with the profiles of this process, and keeps the last one.
type tap struct {
	mutex sync.Mutex
	last  []byte
}

func (c *tap) put(h *handler) {
	feed(h, func(name string) ([]byte, error) {
		var out bytes.Buffer
		err := pprof.Lookup(name).WriteTo(&out, 0)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.last = out.Bytes()
		return c.last, err
	})
}

// scripted feeds the handler with these profiles, one after the other.
func scripted(h *handler, profiles ...[]byte) {
	feed(h, func(string) ([]byte, error) {
		if len(profiles) == 0 {
			return nil, errors.New("no profile is left")
		}
		next := profiles[0]
		profiles = profiles[1:]
		return next, nil
	})
}

func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// get returns the window of a request that must succeed.
func get(t *testing.T, h http.Handler, target string) []byte {
	t.Helper()
	w := ask(h, http.MethodGet, target)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %.300q", target, w.Code, w.Body.String())
	}
	return w.Body.Bytes()
}

// objects returns alloc_objects of a window.
func objects(t *testing.T, window []byte) int64 {
	t.Helper()
	return columnOf(t, parsed(t, window), "alloc_objects")
}

// wants gets a window, which must have this many objects.
func wants(t *testing.T, h http.Handler, target string, n int64) {
	t.Helper()
	if got := objects(t, get(t, h, target)); got != n {
		t.Errorf("%s: the window has %d objects, not %d", target, got, n)
	}
}

// kept has some of what was allocated, so that something is in use.
var kept [50]atomic.Pointer[[]byte]

//go:noinline
func allocate(n int) {
	for i := range n {
		b := make([]byte, 1000+i%3*3000)
		kept[i%len(kept)].Store(&b)
	}
	runtime.GC() // what was allocated is in the profile after the next collection
	runtime.GC()
}

func TestTwoReadersEachGetTheWholeTruth(t *testing.T) {
	var tapped tap
	h := newHandler(nil)
	tapped.put(h)
	windows := map[string][][]byte{}
	last := map[string][]byte{}
	scrape := func(reader string) {
		windows[reader] = append(windows[reader], get(t, h, "/debug/pprof/delta_heap?gc=1&reader="+reader))
		last[reader] = tapped.last
	}
	for round := range 7 {
		allocate(100 * (round + 1))
		scrape("often")
		if round%3 == 2 {
			scrape("seldom")
		}
	}
	for reader := range windows {
		wantSum(t, windows[reader], last[reader])
	}
	if n, m := len(windows["often"]), len(windows["seldom"]); n != 7 || m != 2 {
		t.Errorf("%d and %d windows", n, m)
	}
}

func TestRequestsWithoutANameAreOneReader(t *testing.T) {
	h := newHandler(nil)
	scripted(h, made(t, 100, 5), made(t, 200, 8), made(t, 300, 9))
	wants(t, h, "/delta_heap", 5)
	wants(t, h, "/delta_heap", 3)
	wants(t, h, "/delta_heap?reader=other", 9)
}

func TestTheNameMayBeInTheHeader(t *testing.T) {
	h := newHandler(nil)
	scripted(h, made(t, 100, 5), made(t, 200, 8))
	get(t, h, "/delta_heap?reader=one")
	r := httptest.NewRequest(http.MethodGet, "/delta_heap", nil)
	r.Header.Set(ReaderHeader, "one")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got := objects(t, w.Body.Bytes()); got != 3 {
		t.Errorf("the window has %d objects, not 3", got)
	}
}

// A broken writer fails after some bytes, at the Flush, or panics.
type broken struct {
	*httptest.ResponseRecorder
	at string
}

func (b broken) Write(p []byte) (int, error) {
	switch b.at {
	case "write":
		return len(p) / 2, errors.New("the connection is gone")
	case "short":
		return max(0, len(p)-1), nil
	case "panic":
		panic(http.ErrAbortHandler)
	}
	return b.ResponseRecorder.Write(p)
}

func (b broken) FlushError() error {
	if b.at == "flush" {
		return errors.New("the connection is gone")
	}
	return nil
}

func TestAWindowThatWasNotWrittenIsInTheNextOne(t *testing.T) {
	for _, at := range []string{"write", "short", "flush", "panic"} {
		t.Run(at, func(t *testing.T) {
			h := newHandler(nil)
			scripted(h, made(t, 100, 5), made(t, 200, 8), made(t, 300, 9), made(t, 400, 10))
			get(t, h, "/delta_heap")
			func() {
				defer func() {
					if got := recover(); (got != nil) != (at == "panic") {
						t.Errorf("panic: %v", got)
					}
				}()
				h.ServeHTTP(broken{httptest.NewRecorder(), at}, httptest.NewRequest(http.MethodGet, "/delta_heap", nil))
			}()
			w := ask(h, http.MethodGet, "/delta_heap")
			if got := objects(t, w.Body.Bytes()); got != 9-5 {
				t.Errorf("the next window has %d objects, not 4", got)
			}
			if s, a := w.Header().Get(SequenceHeader), w.Header().Get(AttemptHeader); s != "2" || a != "2" {
				t.Errorf("sequence %s, attempt %s; not 2 and 2", s, a)
			}
			wants(t, h, "/delta_heap", 1)
		})
	}
}

// waiting writes when the client has gone.
type waiting struct {
	http.ResponseWriter
	gone <-chan struct{}
}

func (w waiting) Write(p []byte) (int, error) {
	<-w.gone
	return w.ResponseWriter.Write(p)
}

func (w waiting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestAReaderThatBreaksOff(t *testing.T) {
	var tapped tap
	h := newHandler(nil)
	tapped.put(h)
	writing := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Break-Off") != "" {
			writing <- struct{}{}
			w = waiting{w, r.Context().Done()}
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	var windows [][]byte
	scrape := func() { windows = append(windows, fetch(t, server.URL+"/debug/pprof/delta_heap?gc=1&reader=one")) }

	scrape()
	for range 3 {
		allocate(200)
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(connection, "GET /debug/pprof/delta_heap?reader=one HTTP/1.1\r\nHost: test\r\nBreak-Off: 1\r\n\r\n")
		<-writing
		connection.Close()
	}
	allocate(300)
	scrape()
	wantSum(t, windows, tapped.last)
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %.300q", url, answer.Status, err, body)
	}
	return body
}

// narrow connections hold few bytes that were written and not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4096)
	}
	return c, err
}

func TestAReaderThatStopsReading(t *testing.T) {
	h := newHandler([]Option{WriteTimeout(100 * time.Millisecond), Profiler(pprofdelta.WithCompression(pprofdelta.None))})
	first, second := wide(t, 100, 5), wide(t, 200, 8)
	scripted(h, first, first, second)
	server := httptest.NewUnstartedServer(h)
	server.Listener = narrow{server.Listener}
	server.Start()
	defer server.Close()

	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(connection, "GET /delta_heap?reader=stalled HTTP/1.1\r\nHost: test\r\n\r\n")
	head := make([]byte, 12)
	if _, err := io.ReadFull(connection, head); err != nil || !strings.HasSuffix(string(head), "200") {
		t.Fatalf("%q, %v", head, err)
	}
	// Another reader is answered at once. The same reader is answered when the write has failed, with all of it.
	wants(t, h, "/delta_heap?reader=other", 5)
	wants(t, h, "/delta_heap?reader=stalled", 8)
}

// wide returns a profile of some megabytes: one sample, and a function with a long name.
func wide(t *testing.T, nanos, n int64) []byte {
	t.Helper()
	p := parsed(t, made(t, nanos, n))
	p.Function[0].Name = strings.Repeat("wide", 1<<20)
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestConcurrentRequestsOfOneReaderAreAnsweredInTurn(t *testing.T) {
	var tapped tap
	h := newHandler(nil)
	tapped.put(h)
	server := httptest.NewServer(h)
	defer server.Close()
	const scrapers, rounds = 5, 4
	var mutex sync.Mutex
	var all sync.WaitGroup
	windows := make([][]byte, scrapers*rounds+1)
	for range scrapers {
		all.Go(func() {
			for range rounds {
				allocate(100)
				answer, err := http.Get(server.URL + "/delta_heap?reader=one&gc=1")
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				var sequence int
				fmt.Sscan(answer.Header.Get(SequenceHeader), &sequence)
				if err != nil || sequence < 1 || sequence > scrapers*rounds {
					t.Errorf("sequence %d, %v", sequence, err)
					return
				}
				mutex.Lock()
				if windows[sequence] != nil {
					t.Errorf("two windows have the sequence %d", sequence)
				}
				windows[sequence] = body
				mutex.Unlock()
			}
		})
	}
	all.Wait()
	if !t.Failed() {
		wantSum(t, windows[1:], tapped.last)
	}
}

func TestAfter(t *testing.T) {
	h := newHandler(nil)
	scripted(h, made(t, 100, 5), made(t, 200, 8), made(t, 300, 9), made(t, 400, 15), made(t, 500, 20), made(t, 600, 30))
	steps := []struct {
		after, sequence, attempt string
		objects                  int64
	}{
		{"0", "1", "1", 5},
		{"0", "1", "2", 8},  // the first has not arrived
		{"1", "2", "1", 1},  // it has
		{"1", "2", "2", 7},  // the second has not
		{"2", "3", "1", 5},  // it has
		{"7", "1", "1", 30}, // another process, so everything
	}
	for i, s := range steps {
		w := ask(h, http.MethodGet, "/delta_heap?after="+s.after)
		if w.Code != http.StatusOK {
			t.Fatalf("step %d: %s", i, w.Body)
		}
		header := w.Header()
		if header.Get(SequenceHeader) != s.sequence || header.Get(AttemptHeader) != s.attempt || objects(t, w.Body.Bytes()) != s.objects {
			t.Errorf("step %d: sequence %s, attempt %s, %d objects; want %v", i, header.Get(SequenceHeader),
				header.Get(AttemptHeader), objects(t, w.Body.Bytes()), s)
		}
	}
}

func TestAfterBesideRequestsWithoutIt(t *testing.T) {
	h := newHandler(nil)
	scripted(h, made(t, 100, 5), made(t, 200, 8), made(t, 300, 9))
	get(t, h, "/delta_heap?after=0")
	wants(t, h, "/delta_heap", 3)         // a request without after takes the last window as arrived
	wants(t, h, "/delta_heap?after=1", 9) // the cursor is behind window 2, and the reader is not
}

func TestTheReaderKnowsBetterThanTheWriter(t *testing.T) {
	for _, c := range []struct {
		next     string // the request after one whose write has failed
		sequence string
		objects  int64
	}{
		{"/delta_heap?after=2", "3", 1}, // it has arrived nevertheless
		{"/delta_heap?after=1", "2", 4},
		{"/delta_heap", "2", 4},
	} {
		h := newHandler(nil)
		scripted(h, made(t, 100, 5), made(t, 200, 8), made(t, 300, 9))
		get(t, h, "/delta_heap?after=0")
		h.ServeHTTP(broken{httptest.NewRecorder(), "flush"}, httptest.NewRequest(http.MethodGet, "/delta_heap?after=1", nil))
		w := ask(h, http.MethodGet, c.next)
		if got := objects(t, w.Body.Bytes()); w.Header().Get(SequenceHeader) != c.sequence || got != c.objects {
			t.Errorf("%s: sequence %s, %d objects; want %s, %d", c.next, w.Header().Get(SequenceHeader), got, c.sequence, c.objects)
		}
	}
}

func TestHeadDoesNotMoveTheCursor(t *testing.T) {
	h := newHandler(nil)
	scripted(h, made(t, 100, 5), made(t, 200, 8))
	get(t, h, "/delta_heap")
	w := ask(h, http.MethodHead, "/delta_heap")
	if w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "application/octet-stream" {
		t.Errorf("HEAD: status %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
	wants(t, h, "/delta_heap", 3)
	if len(h.readers.named) != 1 {
		t.Errorf("%d readers", len(h.readers.named))
	}
}

func TestHeaders(t *testing.T) {
	mux := http.NewServeMux()
	Register(mux)
	for _, kind := range []string{"delta_heap", "delta_mutex", "delta_block"} {
		w := ask(mux, http.MethodGet, Prefix+kind)
		want := map[string]string{
			"Content-Type":           "application/octet-stream",
			"Content-Disposition":    `attachment; filename="` + kind + `.pb.gz"`,
			"X-Content-Type-Options": "nosniff",
			"Cache-Control":          "no-store",
			"Content-Length":         fmt.Sprint(w.Body.Len()),
			"Content-Encoding":       "",
			SequenceHeader:           "1",
			AttemptHeader:            "1",
		}
		for name, value := range want {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s: %s is %q, not %q", kind, name, got, value)
			}
		}
		if !bytes.HasPrefix(w.Body.Bytes(), []byte{0x1f, 0x8b}) {
			t.Errorf("%s is not gzip: %x", kind, w.Body.Bytes()[:2])
		}
	}
}

// TestRegisterBesideOtherPatterns: Register panics if its patterns conflict with those of the program.
func TestRegisterBesideOtherPatterns(t *testing.T) {
	for _, other := range []string{"/debug/pprof/", "GET /debug/pprof/", "/debug/pprof/{profile}",
		"GET /debug/pprof/{profile}", "/{any}/pprof/delta_heap", "/", "GET /{rest...}", "POST /debug/pprof/delta_heap"} {
		mux := http.NewServeMux()
		mux.Handle(other, http.NotFoundHandler())
		Register(mux)
		get(t, mux, Prefix+"delta_heap")
		if w := ask(mux, http.MethodHead, Prefix+"delta_heap"); w.Code != http.StatusOK {
			t.Errorf("HEAD beside %s: status %d", other, w.Code)
		}
	}
	mux := http.NewServeMux()
	Register(mux)
	if w := ask(mux, http.MethodPost, Prefix+"delta_heap"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

func TestTypesAreThoseOfTheRuntime(t *testing.T) {
	h := Handler()
	for kind, want := range map[string]string{
		"heap":  "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes",
		"mutex": "contentions/count delay/nanoseconds",
		"block": "contentions/count delay/nanoseconds",
	} {
		var got []string
		for _, typ := range parsed(t, get(t, h, "/delta_"+kind)).SampleType {
			got = append(got, typ.Type+"/"+typ.Unit)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has the types %v, not %s", kind, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	h := newHandler([]Option{MaxReaders(2)})
	for _, c := range []struct {
		method, target string
		status         int
		says           string
	}{
		{"GET", "/debug/pprof/heap", 404, "delta_mutex"},
		{"GET", "/", 404, "delta_mutex"},
		{"POST", "/delta_heap", 405, "use GET"},
		{"PUT", "/delta_heap", 405, "use GET"},
		{"GET", "/delta_heap?seconds=5", 400, "/debug/pprof/heap?seconds=5"},
		{"HEAD", "/delta_heap?seconds=5", 400, "/debug/pprof/heap?seconds=5"},
		{"GET", "/delta_block?debug=1", 400, "pprof -raw"},
		{"GET", "/delta_heap?debug=x", 400, "debug=x"},
		{"GET", "/delta_heap?gc=yes", 400, "gc=yes"},
		{"GET", "/delta_heap?gc=-1", 400, "gc=-1"},
		{"GET", "/delta_heap?after=-1", 400, SequenceHeader},
		{"GET", "/delta_heap?after=x", 400, SequenceHeader},
		{"GET", "/delta_heap?reader=a&reader=b", 400, "two readers"},
		{"GET", "/delta_heap?reader=", 400, "1 to 128 bytes"},
		{"GET", "/delta_heap?reader=%20a", 400, "1 to 128 bytes"},
		{"GET", "/delta_heap?reader=%00", 400, "1 to 128 bytes"},
		{"GET", "/delta_heap?reader=%ff", 400, "1 to 128 bytes"},
		{"GET", "/delta_heap?reader=" + strings.Repeat("x", 129), 400, "1 to 128 bytes"},
		{"GET", "/delta_heap?reader=%zz", 400, "query"},
	} {
		w := ask(h, c.method, c.target)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: status %d: %s", c.method, c.target, w.Code, w.Body)
		}
		header := w.Header()
		if header.Get("Content-Type") != "text/plain; charset=utf-8" || header.Get("X-Go-Pprof") != "1" ||
			header.Get("Content-Disposition") != "" || (c.status == 405) != (header.Get("Allow") == "GET, HEAD") {
			t.Errorf("%s %s: %v", c.method, c.target, header)
		}
	}
	if len(h.readers.named) != 0 {
		t.Errorf("%d readers were made by requests that were refused", len(h.readers.named))
	}
}

func TestParametersThatMeanNothingHere(t *testing.T) {
	get(t, Handler(), "/delta_heap?gc=&debug=0&seconds=&after=&other=1")
}

func TestTheReaderThatAskedLeastRecentlyIsForgotten(t *testing.T) {
	h := newHandler([]Option{MaxReaders(3), Expiry(time.Hour)})
	now := time.Now()
	h.readers.now = func() time.Time { return now }
	var last int64
	feed(h, func(string) ([]byte, error) { last++; return made(t, last, last), nil })
	for _, step := range []struct {
		query   string
		objects int64         // the whole count, for a reader that is new
		after   time.Duration // then
	}{
		{"", 1, time.Minute},
		{"?reader=a", 2, time.Minute},
		{"?reader=b", 3, time.Minute},
		{"", 3, time.Minute},          // from 1 to 4
		{"?reader=c", 5, time.Minute}, // a is forgotten
		{"", 2, time.Minute},
		{"?reader=b", 4, time.Minute},
		{"?reader=a", 8, time.Minute}, // c is
		{"?reader=d", 9, time.Hour},   // the one without a name is
		{"", 10, 0},                   // all have expired
	} {
		wants(t, h, "/delta_heap"+step.query, step.objects)
		now = now.Add(step.after)
	}
	if len(h.readers.named) != 1 {
		t.Errorf("the readers are %v", h.readers.named)
	}
}

// TestManyNamesLockNobodyOut: requests with other names do not keep a scraper from being answered.
func TestManyNamesLockNobodyOut(t *testing.T) {
	h := newHandler(nil)
	for i := range 5 * defaultMaxReaders {
		get(t, h, fmt.Sprintf("/delta_block?reader=%d", i))
		get(t, h, "/delta_block")
	}
	if n := len(h.readers.named); n != defaultMaxReaders {
		t.Errorf("%d readers", n)
	}
}

func TestTheWindowOfAForgottenReaderBeginsWithTheProcess(t *testing.T) {
	h := newHandler([]Option{Expiry(time.Minute)})
	scripted(h, made(t, 100, 5), made(t, 200, 8), made(t, 300, 9))
	now := time.Now()
	h.readers.now = func() time.Time { return now }
	wants(t, h, "/delta_heap?reader=one", 5)
	now = now.Add(time.Minute)
	wants(t, h, "/delta_heap?reader=one", 8)
	wants(t, h, "/delta_heap?reader=one", 1)
}

func TestAReaderInUseIsNotForgotten(t *testing.T) {
	h := newHandler([]Option{MaxReaders(1), Expiry(0)})
	one := h.readers.take("one")
	if w := ask(h, http.MethodGet, "/delta_heap?reader=two"); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	h.readers.give(one)
	get(t, h, "/delta_heap?reader=two")
}

func TestErrorsAreTold(t *testing.T) {
	h := newHandler(nil)
	scripted(h, made(t, 100, 5), []byte("no profile"), made(t, 200, 8))
	get(t, h, "/delta_heap")
	if w := ask(h, http.MethodGet, "/delta_heap"); w.Code != 500 || !strings.Contains(w.Body.String(), "delta_heap: pprofdelta: ") ||
		w.Header().Get(SequenceHeader) != "" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("status %d: %s: %v", w.Code, w.Body, w.Header())
	}
	wants(t, h, "/delta_heap", 3)
	wrong := Handler(Profiler(pprofdelta.WithLevel(99)))
	if w := ask(wrong, http.MethodGet, "/delta_heap"); w.Code != 500 || !strings.Contains(w.Body.String(), "evel") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestARequestThatEndsWhileItWaits(t *testing.T) {
	h := newHandler(nil)
	one := h.readers.take("one")
	c := &one.cursors[0]
	if err := c.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/delta_heap?reader=one", nil)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"one" is being answered`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	c.unlock()
	get(t, h, "/delta_heap?reader=one")
}

func TestNoGoroutineIsLeft(t *testing.T) {
	server := httptest.NewServer(Handler(MaxReaders(100)))
	before := runtime.NumGoroutine()
	for i := range 50 {
		fetch(t, fmt.Sprintf("%s/delta_block?reader=%d", server.URL, i))
	}
	http.DefaultClient.CloseIdleConnections()
	server.Close()
	for range 200 { // the server's goroutines end soon after
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
}

func TestHandlersForOneProfileEach(t *testing.T) {
	for want, serve := range map[string]http.HandlerFunc{"alloc_objects": Heap, "contentions": Mutex, "delay": Block} {
		for _, target := range []string{"/profiles/mine", "/?reader=other"} {
			columnOf(t, parsed(t, get(t, serve, target)), want)
		}
	}
	if w := ask(http.HandlerFunc(Heap), http.MethodGet, "/?debug=1"); w.Code != 400 {
		t.Errorf("debug: status %d", w.Code)
	}
}
