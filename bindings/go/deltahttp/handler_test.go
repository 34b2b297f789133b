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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
	"github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"
)

func TestMain(m *testing.M) {
	runtime.MemProfileRate = 8192
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	os.Exit(m.Run())
}

func must[T any](result T, err error) T { return proftest.Must(result, err) }

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

// tapped is a handler of the profiles of this process, which keeps the last one.
func tapped() (h *handler, last *atomic.Pointer[[]byte]) {
	h, last = newHandler(nil), new(atomic.Pointer[[]byte])
	feed(h, func(name string) ([]byte, error) {
		var out bytes.Buffer
		err := pprof.Lookup(name).WriteTo(&out, 0)
		profile := out.Bytes()
		last.Store(&profile)
		return profile, err
	})
	return h, last
}

// made is a heap profile with one sample.
func made(nanos, objects int64, function string) []byte {
	p := proftest.Process{Clock: nanos, Types: []string{"alloc_objects/count", "inuse_objects/count"}, Functions: []string{function},
		Places: []proftest.Place{{Address: 0x402000, Functions: []int{0}}},
		Stacks: []*proftest.Stack{{Places: []int{0}, Values: []int64{objects, 1}}}}
	return p.Bytes()
}

// scripted is a handler of profiles with these objects, one after the other; a negative number is no profile.
func scripted(opts []Option, objects ...int64) *handler {
	h, at := newHandler(opts), 0
	feed(h, func(string) ([]byte, error) {
		if at++; at > len(objects) || objects[at-1] < 0 {
			return []byte("no profile"), nil
		}
		return made(int64(100*at), objects[at-1], "site"), nil
	})
	return h
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

// wants gets a window, which must have this many objects.
func wants(t *testing.T, h http.Handler, target string, n int64) {
	t.Helper()
	if got := objects(get(t, h, target)); got != n {
		t.Errorf("%s: the window has %d objects, not %d", target, got, n)
	}
}

func objects(window []byte) int64 { return proftest.Read(window).Sum("alloc_objects/count") }

// A request of OTLP without samples is answered by status 204, and the cursor moves.
func TestAWindowWithNothingToSend(t *testing.T) {
	h, clock := newHandler([]Option{Profiler(pprofdelta.WithFormat(pprofdelta.OTLP))}), int64(0)
	values := map[int64]int64{1: 5, 2: 5, 3: 7}
	feed(h, func(string) ([]byte, error) {
		clock++
		p := proftest.Process{Clock: 100 * clock, Types: []string{"contentions/count"}, Functions: []string{"site"},
			Places: []proftest.Place{{Address: 0x402000, Functions: []int{0}}},
			Stacks: []*proftest.Stack{{Places: []int{0}, Values: []int64{values[clock]}}}}
		return p.Bytes(), nil
	})
	server := httptest.NewServer(h)
	defer server.Close()
	for window, want := range []int{http.StatusOK, http.StatusNoContent, http.StatusOK} {
		answer := must(http.Get(server.URL + "/delta_mutex?reader=a"))
		body := must(io.ReadAll(answer.Body))
		answer.Body.Close()
		if answer.StatusCode != want || (len(body) == 0) != (want == http.StatusNoContent) ||
			(answer.Header.Get("Content-Type") == "") != (want == http.StatusNoContent) {
			t.Errorf("window %d: status %d, %d bytes, %v", window, answer.StatusCode, len(body), answer.Header)
		}
		if got := answer.Header.Get(SequenceHeader) + answer.Header.Get(AttemptHeader); got != fmt.Sprint(window+1, 1)[:1]+"1" {
			t.Errorf("window %d is the attempt %s", window, got)
		}
	}
}

// numbered checks a window of a response: "sequence attempt objects".
func numbered(t *testing.T, what string, w *httptest.ResponseRecorder, want string) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", what, w.Code, w.Body)
	}
	got := fmt.Sprint(w.Header().Get(SequenceHeader), " ", w.Header().Get(AttemptHeader), " ", objects(w.Body.Bytes()))
	if got != want {
		t.Errorf("%s: sequence, attempt and objects are %s, not %s", what, got, want)
	}
}

// wantSum fails the test unless the windows add up to the cumulative profile, sample by sample.
func wantSum(t *testing.T, windows [][]byte, cumulative []byte) {
	t.Helper()
	sum := proftest.Read(windows[0])
	for _, window := range windows[1:] {
		sum = proftest.Read(window).Plus(sum)
	}
	if wrong := sum.Difference(proftest.Read(cumulative)); wrong != "" {
		t.Errorf("the sum of %d windows: %s", len(windows), wrong)
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
	h, profile := tapped()
	windows, last := map[string][][]byte{}, map[string][]byte{}
	scrape := func(reader string) {
		windows[reader] = append(windows[reader], get(t, h, "/debug/pprof/delta_heap?gc=1&reader="+reader))
		last[reader] = *profile.Load()
	}
	for round := range 7 {
		allocate(100 * (round + 1))
		scrape("often")
		if round%3 == 2 {
			scrape("seldom")
		}
	}
	for reader, n := range map[string]int{"often": 7, "seldom": 2} {
		if len(windows[reader]) != n {
			t.Errorf("%s: %d windows", reader, len(windows[reader]))
		}
		wantSum(t, windows[reader], last[reader])
	}
}

func TestNamesOfReaders(t *testing.T) {
	h := scripted(nil, 5, 8, 9, 11)
	wants(t, h, "/delta_heap", 5)
	wants(t, h, "/delta_heap", 3) // requests without a name are one reader
	wants(t, h, "/delta_heap?reader=other", 9)
	r := httptest.NewRequest(http.MethodGet, "/delta_heap", nil)
	r.Header.Set(ReaderHeader, "other")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	numbered(t, "the name in the header", w, "2 1 2")
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
		h := scripted(nil, 5, 8, 9, 10)
		get(t, h, "/delta_heap")
		func() {
			defer func() {
				if got := recover(); (got != nil) != (at == "panic") {
					t.Errorf("%s: panic: %v", at, got)
				}
			}()
			h.ServeHTTP(broken{httptest.NewRecorder(), at}, httptest.NewRequest(http.MethodGet, "/delta_heap", nil))
		}()
		numbered(t, at, ask(h, http.MethodGet, "/delta_heap"), "2 2 4")
		wants(t, h, "/delta_heap", 1)
	}
}

// waiting writes when the client has gone.
type waiting struct {
	http.ResponseWriter
	writing chan<- struct{}
	gone    <-chan struct{}
}

func (w waiting) Write(p []byte) (int, error) {
	w.writing <- struct{}{}
	<-w.gone
	return w.ResponseWriter.Write(p)
}

func (w waiting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// dial sends a request for the heap, and returns the connection.
func dial(server *httptest.Server, query, header string) net.Conn {
	connection := must(net.Dial("tcp", server.Listener.Addr().String()))
	fmt.Fprintf(connection, "GET /delta_heap?%s HTTP/1.1\r\nHost: test\r\n%s\r\n", query, header)
	return connection
}

func TestAReaderThatBreaksOff(t *testing.T) {
	h, last := tapped()
	writing := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Break-Off") != "" {
			w = waiting{w, writing, r.Context().Done()}
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	var windows [][]byte
	scrape := func() {
		body, _ := fetch(t, server.URL+"/debug/pprof/delta_heap?gc=1&reader=one")
		windows = append(windows, body)
	}
	scrape()
	for range 3 {
		allocate(200)
		connection := dial(server, "reader=one", "Break-Off: 1\r\n")
		<-writing
		connection.Close()
	}
	allocate(300)
	scrape()
	wantSum(t, windows, *last.Load())
}

// behind serves h with a ResponseWriter that holds the response until h and `then` have returned, or the time is over.
func behind(h http.Handler, timeout time.Duration, then func(r *http.Request)) *httptest.Server {
	inner := func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		then(r)
	}
	return httptest.NewServer(http.TimeoutHandler(http.HandlerFunc(inner), timeout, "late"))
}

// TestAResponseThatIsHeld counts when it was sent, and is part of the next one if it was dropped.
func TestAResponseThatIsHeld(t *testing.T) {
	for _, after := range []bool{false, true} {
		h := scripted(nil, 5, 8, 9, 15, 20)
		inTime := behind(h, time.Minute, func(*http.Request) {})
		defer inTime.Close()
		late := behind(h, 10*time.Millisecond, func(r *http.Request) { <-r.Context().Done() })
		defer late.Close()
		for i, want := range []int64{5, 3, 0, 7, 5} {
			query := "/delta_heap"
			if after {
				query += fmt.Sprint("?after=", []int{0, 1, 2, 2, 3}[i])
			}
			if want == 0 {
				answer := must(http.Get(late.URL + query))
				answer.Body.Close()
				if answer.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("status %d", answer.StatusCode)
				}
				continue
			}
			if body, _ := fetch(t, inTime.URL+query); objects(body) != want {
				t.Errorf("request %d: %d objects, not %d", i, objects(body), want)
			}
		}
	}
}

// TestAHeldResponseOfAClientThatHasGone is dropped, too.
func TestAHeldResponseOfAClientThatHasGone(t *testing.T) {
	h := scripted(nil, 5, 8, 9)
	get(t, h, "/delta_heap")
	writing, over := make(chan struct{}), make(chan struct{})
	server := behind(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(waiting{w, writing, r.Context().Done()}, r)
	}), time.Minute, func(*http.Request) { close(over) })
	defer server.Close()
	connection := dial(server, "", "")
	<-writing
	connection.Close()
	<-over
	numbered(t, "the next one", ask(h, http.MethodGet, "/delta_heap"), "2 2 4")
}

// TestAResponseWhoseRequestIsNotOver may be held still.
func TestAResponseWhoseRequestIsNotOver(t *testing.T) {
	h := scripted(nil, 5, 8)
	holding := struct{ http.ResponseWriter }{httptest.NewRecorder()}
	h.ServeHTTP(holding, httptest.NewRequest(http.MethodGet, "/delta_heap", nil))
	numbered(t, "the next one", ask(h, http.MethodGet, "/delta_heap"), "1 2 8")
}

func fetch(t *testing.T, url string) ([]byte, http.Header) {
	t.Helper()
	answer := must(http.Get(url))
	defer answer.Body.Close()
	body := must(io.ReadAll(answer.Body))
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %s: %.300q", url, answer.Status, body)
	}
	return body, answer.Header
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
	wide := strings.Repeat("wide", 1<<20)
	profiles := [][]byte{made(100, 5, wide), made(100, 5, wide), made(200, 8, wide)}
	feed(h, func(string) (next []byte, _ error) {
		next, profiles = profiles[0], profiles[1:]
		return next, nil
	})
	server := httptest.NewUnstartedServer(h)
	server.Listener = narrow{server.Listener}
	server.Start()
	defer server.Close()
	connection := dial(server, "reader=stalled", "")
	defer connection.Close()
	connection.(*net.TCPConn).SetReadBuffer(4096)
	head := make([]byte, 12)
	if _, err := io.ReadFull(connection, head); err != nil || !strings.HasSuffix(string(head), "200") {
		t.Fatalf("%q, %v", head, err)
	}
	// Another reader is answered at once. The same reader is answered when the write has failed, with all of it.
	wants(t, h, "/delta_heap?reader=other", 5)
	wants(t, h, "/delta_heap?reader=stalled", 8)
}

func TestConcurrentRequestsOfOneReaderAreAnsweredInTurn(t *testing.T) {
	h, last := tapped()
	server := httptest.NewServer(h)
	defer server.Close()
	const scrapers, rounds = 5, 4
	var all sync.WaitGroup
	var windows [scrapers*rounds + 1]atomic.Pointer[[]byte]
	for range scrapers {
		all.Go(func() {
			for range rounds {
				allocate(100)
				body, header := fetch(t, server.URL+"/delta_heap?reader=one&gc=1")
				sequence := 0
				fmt.Sscan(header.Get(SequenceHeader), &sequence)
				if sequence < 1 || sequence >= len(windows) || !windows[sequence].CompareAndSwap(nil, &body) {
					t.Errorf("two windows have the sequence %d, or it is not right", sequence)
				}
			}
		})
	}
	all.Wait()
	var inOrder [][]byte
	for i := 1; i < len(windows) && !t.Failed(); i++ {
		inOrder = append(inOrder, *windows[i].Load())
	}
	if !t.Failed() {
		wantSum(t, inOrder, *last.Load())
	}
}

func TestAfter(t *testing.T) {
	h := scripted(nil, 5, 8, 9, 15, 20, 30)
	for i, step := range [][2]string{
		{"0", "1 1 5"},
		{"0", "1 2 8"},  // the first has not arrived
		{"1", "2 1 1"},  // it has
		{"1", "2 2 7"},  // the second has not
		{"2", "3 1 5"},  // it has
		{"7", "1 1 30"}, // another process, so everything
	} {
		numbered(t, fmt.Sprint("step ", i), ask(h, http.MethodGet, "/delta_heap?after="+step[0]), step[1])
	}
	h = scripted(nil, 5, 8, 9)
	get(t, h, "/delta_heap?after=0")
	wants(t, h, "/delta_heap", 3)         // a request without after takes the last window as arrived
	wants(t, h, "/delta_heap?after=1", 9) // the cursor is behind window 2, and the reader is not
}

func TestTheReaderKnowsBetterThanTheWriter(t *testing.T) {
	for next, want := range map[string]string{ // the request after one whose write has failed
		"/delta_heap?after=2": "3 1 1", // it has arrived nevertheless
		"/delta_heap?after=1": "2 2 4",
		"/delta_heap":         "2 2 4",
	} {
		h := scripted(nil, 5, 8, 9)
		get(t, h, "/delta_heap?after=0")
		h.ServeHTTP(broken{httptest.NewRecorder(), "flush"}, httptest.NewRequest(http.MethodGet, "/delta_heap?after=1", nil))
		numbered(t, next, ask(h, http.MethodGet, next), want)
	}
}

func TestHeadDoesNotMoveTheCursor(t *testing.T) {
	h := scripted(nil, 5, 8)
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

func TestWhatIsServed(t *testing.T) {
	mux := http.NewServeMux()
	Register(mux)
	for _, kind := range []string{"delta_heap", "delta_mutex", "delta_block"} {
		w := ask(mux, http.MethodGet, Prefix+kind)
		for name, value := range map[string]string{
			"Content-Type":           "application/octet-stream",
			"Content-Disposition":    `attachment; filename="` + kind + `.pb.gz"`,
			"X-Content-Type-Options": "nosniff",
			"Cache-Control":          "no-store",
			"Content-Length":         fmt.Sprint(w.Body.Len()),
			"Content-Encoding":       "",
			SequenceHeader:           "1",
			AttemptHeader:            "1",
		} {
			if got := w.Header().Get(name); got != value {
				t.Errorf("%s: %s is %q, not %q", kind, name, got, value)
			}
		}
		if !bytes.HasPrefix(w.Body.Bytes(), []byte{0x1f, 0x8b}) {
			t.Errorf("%s is not gzip: %x", kind, w.Body.Bytes()[:2])
		}
		want := "contentions/count delay/nanoseconds"
		if kind == "delta_heap" {
			want = "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes"
		}
		if got := strings.Join(proftest.Read(w.Body.Bytes()).Types, " "); got != want {
			t.Errorf("%s has the types %v, not %s", kind, got, want)
		}
	}
	get(t, mux, Prefix+"delta_heap?gc=&debug=0&seconds=&after=&other=1") // these mean nothing here
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

func TestTheReaderThatAskedLeastRecentlyIsForgotten(t *testing.T) {
	h := scripted([]Option{MaxReaders(3), Expiry(time.Hour)}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	now := time.Now()
	h.readers.now = func() time.Time { return now }
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
	h := scripted(nil, 5, -1, 8)
	get(t, h, "/delta_heap")
	w := ask(h, http.MethodGet, "/delta_heap")
	if w.Code != 500 || !strings.Contains(w.Body.String(), "delta_heap: pprofdelta: ") ||
		w.Header().Get(SequenceHeader) != "" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("status %d: %s: %v", w.Code, w.Body, w.Header())
	}
	wants(t, h, "/delta_heap", 3)
	w = ask(Handler(Profiler(pprofdelta.WithLevel(99))), http.MethodGet, "/delta_heap")
	if w.Code != 500 || !strings.Contains(w.Body.String(), "evel") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestARequestThatEndsWhileItWaits(t *testing.T) {
	h := newHandler(nil)
	c := &h.readers.take("one").cursors[0]
	must(0, c.lock(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/delta_heap?reader=one", nil).WithContext(ctx))
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
	for want, serve := range map[string]http.HandlerFunc{"alloc_objects/count": Heap, "contentions/count": Mutex, "delay/nanoseconds": Block} {
		for _, target := range []string{"/profiles/mine", "/?reader=other"} {
			if types := proftest.Read(get(t, serve, target)).Types; !slices.Contains(types, want) {
				t.Errorf("%s: the types are %v", want, types)
			}
		}
	}
	if w := ask(http.HandlerFunc(Heap), http.MethodGet, "/?debug=1"); w.Code != 400 {
		t.Errorf("debug: status %d", w.Code)
	}
}
