package deltahttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/pprofdelta/pprofdelta/bindings/go/deltahttp"
)

func Example() {
	mux := http.NewServeMux()
	deltahttp.Register(mux, deltahttp.MaxReaders(4), deltahttp.Expiry(10*time.Minute))
	server := httptest.NewServer(mux)
	defer server.Close()

	for range 2 {
		answer, err := http.Get(server.URL + "/debug/pprof/delta_heap?reader=example")
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		fmt.Println(answer.Status, "window", answer.Header.Get(deltahttp.SequenceHeader))
	}
	// Output:
	// 200 OK window 1
	// 200 OK window 2
}

// A reader that stores windows says which one it has stored last, so that none is lost.
func Example_after() {
	server := httptest.NewServer(deltahttp.Handler())
	defer server.Close()

	stored := "0"
	scrape := func(store bool) {
		answer, err := http.Get(server.URL + "/delta_heap?reader=careful&after=" + stored)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer answer.Body.Close()
		io.Copy(io.Discard, answer.Body)
		window, attempt := answer.Header.Get(deltahttp.SequenceHeader), answer.Header.Get(deltahttp.AttemptHeader)
		fmt.Println("after", stored, "window", window, "attempt", attempt)
		if store {
			stored = window
		}
	}
	scrape(true)
	scrape(false) // for example since the disk is full
	scrape(true)  // covers the time of both
	scrape(true)
	// Output:
	// after 0 window 1 attempt 1
	// after 1 window 2 attempt 1
	// after 1 window 2 attempt 2
	// after 2 window 3 attempt 1
}
