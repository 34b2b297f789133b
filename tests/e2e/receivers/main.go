// Receivers tells what receivers of OTLP make of requests, by their own code: for each path on stdin, which may be a
// request that is damaged, a line with the path and, for each receiver, its name with "takes" or why it refuses.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// judges has the receivers with which this program was built: one for each build tag.
var judges = map[string]func(request []byte) error{}

func verdict(judge func([]byte) error, request []byte) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return judge(request)
}

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		request, err := os.ReadFile(in.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for name, judge := range judges {
			said := "takes"
			if err := verdict(judge, request); err != nil {
				said = strings.ReplaceAll(err.Error(), "\n", "; ")
			}
			fmt.Printf("%s\t%s\t%s\n", in.Text(), name, said)
		}
	}
}
