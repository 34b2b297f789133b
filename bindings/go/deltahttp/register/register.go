// Package register registers the profiles of package deltahttp on http.DefaultServeMux, with the defaults. It is
// imported for that side effect only:
//
//	import _ "github.com/pprofdelta/pprofdelta/bindings/go/deltahttp/register"
//
// A program may import net/http/pprof, too.
//
// It replaces github.com/grafana/pyroscope-go/godeltaprof/http/pprof. A program with both registers the same
// patterns twice, and http.Handle panics.
package register

import (
	"net/http"

	"github.com/pprofdelta/pprofdelta/bindings/go/deltahttp"
)

func init() {
	deltahttp.Register(http.DefaultServeMux)
}
