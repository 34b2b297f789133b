module github.com/pprofdelta/pprofdelta/bindings/go

go 1.25.0
