//go:build other

package main

import "net/http"

// Early stands before what main.go has, so that everything there has other addresses than in the server
// that is built without the tag.
//
//go:noinline
func early(w http.ResponseWriter, r *http.Request) {
	for _, text := range []string{r.Method, r.Host, r.URL.Path, r.URL.RawQuery, r.RemoteAddr, r.Proto} {
		w.Write([]byte(text + "\n"))
	}
}

func init() { http.HandleFunc("/early", early) }
