package register

import (
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof" // its patterns must not conflict
	"testing"

	"github.com/pprofdelta/pprofdelta/bindings/go/internal/proftest"
)

func TestTheDefaultMuxHasTheProfiles(t *testing.T) {
	for kind, isEmpty := range map[string]bool{"heap": false, "delta_heap": false, "delta_mutex": true, "delta_block": true} {
		w := httptest.NewRecorder()
		http.DefaultServeMux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/pprof/"+kind, nil))
		// Neither mutexes nor blocks are profiled here, so their profiles have types and no sample.
		p := proftest.Read(w.Body.Bytes())
		if w.Code != http.StatusOK || len(p.Types) == 0 || isEmpty && len(p.Samples) > 0 {
			t.Errorf("%s: status %d: %v", kind, w.Code, p)
		}
	}
}
