// Typecheck checks the types of a package and of its tests for the system of GOOS and GOARCH: typecheck FOLDER
//
// What the package imports is read from its sources, without the bodies of its functions. So nothing is compiled.
package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
)

func check(folder string) error {
	found, err := build.ImportDir(folder, 0)
	if err != nil {
		return err
	}
	set, files := token.NewFileSet(), []*ast.File(nil)
	for _, name := range append(found.GoFiles, found.TestGoFiles...) {
		file, err := parser.ParseFile(set, filepath.Join(folder, name), nil, 0)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	config := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	_, err = config.Check(found.Name, set, files, nil)
	return err
}

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
