package main

import pprofdelta "github.com/pprofdelta/pprofdelta/bindings/go"

// ours makes computers that share a pool.
func ours(cache string) (func() (computer, error), error) {
	var opts []pprofdelta.PoolOption
	if cache != "" {
		opts = append(opts, pprofdelta.WithCacheDir(cache))
	}
	pool, err := pprofdelta.NewPool(opts...)
	if err != nil {
		return nil, err
	}
	return func() (computer, error) {
		return pprofdelta.New(pprofdelta.WithPool(pool), pprofdelta.WithFastdeltaDefaults())
	}, nil
}
