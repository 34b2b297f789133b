package pprofdelta

import (
	"compress/gzip"
	"errors"
	"io"
	"sync"
)

// compressor makes compressors of one kind, and keeps those that can be used again.
type compressor struct {
	open func(w io.Writer) (io.WriteCloser, error)
	idle sync.Pool
}

// resetter is a compressor that can be used again, as those of compress/gzip.
type resetter interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// gzips has a compressor for each level; level 0 is the default. Equal input gives equal bytes: the header has
// no time and no name.
var gzips [10]compressor

func init() {
	for level := range gzips {
		gzips[level].open = func(w io.Writer) (io.WriteCloser, error) {
			return gzip.NewWriterLevel(w, max(level, gzip.BestSpeed))
		}
	}
}

// codec returns what compresses the delta, or nil.
func (o *options) codec() *compressor {
	switch {
	case o.compressor != nil:
		return o.compressor
	case o.compression == None:
		return nil
	}
	return &gzips[o.level]
}

// encode appends the compressed bytes of a profile to out.
func (c *compressor) encode(out, profile []byte) ([]byte, error) {
	to := &appender{out}
	w, err := c.take(to)
	if err == nil {
		_, err = writeAll(w, profile)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return nil, failFor(ErrSink, StageWrite, "the delta was not compressed", err)
	}
	encoded := to.bytes
	if _, ok := w.(resetter); ok {
		to.bytes = nil // a compressor that is kept keeps the appender
		c.idle.Put(w)
	}
	return encoded, nil
}

// appender is a writer that appends.
type appender struct{ bytes []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.bytes = append(a.bytes, p...)
	return len(p), nil
}

func (c *compressor) take(to io.Writer) (io.WriteCloser, error) {
	if kept, ok := c.idle.Get().(resetter); ok {
		kept.Reset(to)
		return kept, nil
	}
	w, err := c.open(to)
	if w == nil && err == nil {
		err = errors.New("the function of WithCompressor returned nil")
	}
	return w, err
}
