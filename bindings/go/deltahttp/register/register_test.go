package register

import (
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof" // its patterns must not conflict
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/profile"
)

func TestTheDefaultMuxHasTheProfiles(t *testing.T) {
	w := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil))
	if w.Code != http.StatusOK {
		t.Errorf("net/http/pprof: status %d: %s", w.Code, w.Body)
	}
	for _, kind := range []string{"heap", "mutex", "block"} {
		w := httptest.NewRecorder()
		http.DefaultServeMux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/delta_"+kind, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", kind, w.Code, w.Body)
		}
		// Neither mutexes nor blocks are profiled here, so their profiles have types and no sample.
		p, err := profile.ParseData(w.Body.Bytes())
		if err != nil || len(p.SampleType) == 0 || kind != "heap" && len(p.Sample) > 0 {
			t.Errorf("%s: %v, %v", kind, err, p)
		}
	}
}
