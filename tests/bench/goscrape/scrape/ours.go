package main

import "github.com/pprofdelta/pprofdelta/bindings/go/pprofdelta"

// ours makes computers that share a pool.
func ours() (func() (computer, error), error) {
	pool, err := pprofdelta.NewPool()
	if err != nil {
		return nil, err
	}
	return func() (computer, error) {
		return pprofdelta.New(pprofdelta.WithPool(pool), pprofdelta.WithFastdeltaDefaults())
	}, nil
}
