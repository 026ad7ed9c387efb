// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"errors"
	"io"
	"sync"
)

// size is how many bytes a Reader reads at a time.
const size = 32 << 10

// window is the memory of a Reader.
type window struct {
	piece [size]byte
	out   []byte // translated, but not read by the caller yet
}

// largest is how much memory for translated bytes a window keeps for the next Reader. More memory is seldom needed. It is needed only while a large object is
// held until it is known whether the object is hidden.
const largest = 4 * size

var windows = sync.Pool{New: func() any { return &window{} }}

// Reader reads from another reader, and returns the bytes translated. It returns bytes as soon as it has some, and does not wait for more.
type Reader struct {
	mu      sync.Mutex // held by Read: an HTTP client may close a request's body while it reads the body
	scanner *Scanner
	source  io.Reader
	window  *window
	rest    []byte // the part of window.out that the caller has not read
	err     error
}

// NewReader returns a Reader that translates the bytes of source. Close releases its memory, and closes source if source has a Close.
func NewReader(source io.Reader, scanner *Scanner) *Reader {
	return &Reader{scanner: scanner, source: source, window: windows.Get().(*window)}
}

// Read implements io.Reader. If source ends before its document is complete, Read returns an error that wraps ErrMalformed, and never io.EOF.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if len(p) == 0 {
			return 0, nil
		}
		r.fill(0)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Lead reads until more than limit bytes are translated or the source has ended. whole is true if the source has ended. length is how many bytes the next calls
// of Read will return without waiting. Call it before the first Read.
func (r *Reader) Lead(limit int) (length int, whole bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil && len(r.rest) <= limit {
		r.fill(len(r.rest))
	}
	if whole = errors.Is(r.err, io.EOF); !whole {
		err = r.err
	}
	return len(r.rest), whole, err
}

// fill reads and translates the next piece of the source. It keeps the first "kept" bytes of window.out, and appends to them.
func (r *Reader) fill(kept int) {
	if r.window == nil {
		r.err = io.ErrClosedPipe
		return
	}
	piece := r.window.piece[:]
	n, err := r.source.Read(piece)
	out, bad := r.scanner.Append(r.window.out[:kept], piece[:n])
	if errors.Is(err, io.EOF) && bad == nil {
		out, bad = r.scanner.Finish(out)
	}
	if bad != nil {
		err = bad
	}
	r.window.out, r.rest, r.err = out, out, err
}

// Whole returns an error that wraps ErrMalformed if the source has ended or broken off within a document. Call it after the last Read.
func (r *Reader) Whole() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.scanner.Finish(nil)
	return err
}

// Close implements io.Closer. It does not wait for a Read that is still running. That Read keeps its memory, which then goes to no other Reader.
func (r *Reader) Close() error {
	if r.mu.TryLock() {
		if r.window != nil {
			if cap(r.window.out) <= largest {
				windows.Put(r.window)
			}
			r.window, r.rest, r.err = nil, nil, io.ErrClosedPipe
		}
		r.mu.Unlock()
	}
	if c, ok := r.source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Writer translates the bytes that are written to it, and writes the translation to another writer.
type Writer struct {
	scanner *Scanner
	target  io.Writer
	out     []byte
}

// NewWriter returns a Writer whose translation goes to target.
func NewWriter(target io.Writer, scanner *Scanner) *Writer {
	return &Writer{scanner: scanner, target: target}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	for written := 0; written < len(p); {
		piece := p[written:min(written+size, len(p))]
		out, err := w.scanner.Append(w.out[:0], piece)
		w.out = out
		if err != nil {
			return written, err
		}
		if _, err := w.target.Write(out); err != nil {
			return written, err
		}
		written += len(piece)
	}
	return len(p), nil
}

// Close writes the rest of the translation, and returns an error if the document is not complete. It does not close the target.
func (w *Writer) Close() error {
	out, err := w.scanner.Finish(w.out[:0])
	if err != nil {
		return err
	}
	_, err = w.target.Write(out)
	return err
}

// Malformed reports whether an error means that a body cannot be translated. Errors of the body's source do not count.
func Malformed(err error) bool {
	return errors.Is(err, ErrMalformed) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrProtobuf)
}
