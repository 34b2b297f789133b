package main

import "sync"

// cache is a map behind a lock that never evicts: the leak that a heap delta should find.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*entry[V]
}

type entry[V any] struct {
	value V
	uses  int
}

func newCache[K comparable, V any]() *cache[K, V] {
	return &cache[K, V]{entries: make(map[K]*entry[V])}
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = wrap(value)
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if ok {
		e.uses++
		value = e.value
	}
	return value, ok
}

func (c *cache[K, V]) values() []V {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]V, 0, len(c.entries))
	for _, e := range c.entries {
		all = append(all, e.value)
	}
	return all
}

// wrap is small enough to be inlined into put.
func wrap[V any](value V) *entry[V] {
	return &entry[V]{value: value, uses: 1}
}

// filter keeps what the test lets pass.
func filter[T any](all []T, keep func(T) bool) []T {
	var kept []T
	for _, one := range all {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// groupBy sorts things into drawers.
func groupBy[K comparable, T any](all []T, key func(T) K) map[K][]T {
	drawers := make(map[K][]T)
	for _, one := range all {
		drawers[key(one)] = append(drawers[key(one)], one)
	}
	return drawers
}
