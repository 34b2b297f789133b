package pprofdelta

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The default levels, chosen for speed.
const (
	gzipLevel = 1
	zstdLevel = 3
)

// gzipWriters and zstdWriters have a pool of compressors for each level, 0 to 9.
var (
	gzipWriters [10]sync.Pool
	zstdWriters [10]sync.Pool
)

// deflate appends the compressed bytes of in to out. Equal input gives equal bytes: the header has no
// time and no name.
func deflate(out, in []byte, compression Compression, level int) ([]byte, error) {
	switch compression {
	case Gzip:
		return toGzip(out, in, level)
	case Zstd:
		return toZstd(out, in, level)
	}
	return append(out, in...), nil
}

func toGzip(out, in []byte, level int) ([]byte, error) {
	to := bytes.NewBuffer(out)
	w, ok := gzipWriters[level].Get().(*gzip.Writer)
	if ok {
		w.Reset(to)
	} else {
		var err error
		if w, err = gzip.NewWriterLevel(to, orDefault(level, gzipLevel)); err != nil {
			return nil, failFor(ErrUsage, "options", "there is no gzip compressor", err)
		}
	}
	defer func() {
		w.Reset(nil)
		gzipWriters[level].Put(w)
	}()
	_, err := w.Write(in)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, failFor(ErrMemory, "write", "the delta was not compressed", err)
	}
	return to.Bytes(), nil
}

func toZstd(out, in []byte, level int) ([]byte, error) {
	w, ok := zstdWriters[level].Get().(*zstd.Encoder)
	if !ok {
		var err error
		w, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true),
			zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(orDefault(level, zstdLevel))))
		if err != nil {
			return nil, failFor(ErrUsage, "options", "there is no zstd compressor", err)
		}
	}
	defer zstdWriters[level].Put(w)
	return w.EncodeAll(in, out), nil
}

func orDefault(level, standard int) int {
	if level == 0 {
		return standard
	}
	return level
}
