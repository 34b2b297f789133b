// The module has the path of the one that fastdelta is internal to, so that fastdelta's test files find this
// tree's adapter and their own pprofutils under the names that they import.
module github.com/DataDog/dd-trace-go/v2

go 1.26.0

require (
	github.com/google/pprof v0.0.0-20250607225305-033d6d78b36a
	github.com/pprofdelta/pprofdelta/bindings/go v0.0.0
	github.com/richardartoul/molecule v1.0.1-0.20240531184615-7ca0df43c0b3
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/pprofdelta/pprofdelta/bindings/go => ../../../bindings/go
