// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// compress returns content as gzip, without a name and a time, so that equal content gives equal bytes.
func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}

// decompress returns the content of gzip or zstd, whichever packed is. It fails if the content has more than "most" bytes.
func decompress(packed []byte, most int) ([]byte, error) {
	if bytes.HasPrefix(packed, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		// The options bound the memory, too: one goroutine, and no window larger than the content may be.
		r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(most)), zstd.WithDecoderMaxMemory(uint64(most)+1))
		if err != nil {
			return nil, fmt.Errorf("decompressing zstd: %w", err)
		}
		defer r.Close()
		return bounded(r, most)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("decompressing gzip: %w", err)
	}
	return bounded(r, most)
}

func bounded(r io.Reader, most int) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if len(content) > most {
		return nil, fmt.Errorf("decompressing the provider's content: it has more than %d bytes, the maximum. Bundle fewer objects", most)
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return content, nil
}
