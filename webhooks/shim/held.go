// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/semaphore"
)

// errFull is why a review is not taken now.
var errFull = errors.New("other reviews hold the memory that this one needs")

// held is the memory that one review and its answer have of all reviews' together. It is taken as bytes come in, and not by the length that a caller announces:
// who sends nothing keeps nobody from being answered.
type held struct {
	all   *semaphore.Weighted
	most  int64 // of all
	bytes int64
	spare int64 // of bytes, for the answer
}

// backTo gives back what has been taken since.
func (h *held) backTo(before held) {
	h.all.Release(h.bytes - before.bytes)
	*h = before
}

// body takes memory for what is read of a review, and as much for its answer: reviews that fill the memory with nothing left for an answer would all be read in
// vain.
func (h *held) body(ctx context.Context, of io.Reader) io.Reader {
	wait := h.patient(ctx)
	return readerFunc(func(p []byte) (int, error) {
		n, err := of.Read(p)
		if failed := h.take(2*int64(n), wait); failed != nil {
			return 0, failed
		}
		h.spare += int64(n)
		return n, err
	})
}

// answer takes memory for what is read of an answer, as far as it is longer than the review.
func (h *held) answer(ctx context.Context, of io.Reader) io.Reader {
	wait := h.patient(ctx)
	return readerFunc(func(p []byte) (int, error) {
		n, err := of.Read(p)
		spare := min(h.spare, int64(n))
		if failed := h.take(int64(n)-spare, wait); failed != nil {
			return 0, failed
		}
		h.spare -= spare
		return n, err
	})
}

// patient waits for memory up to a second, and not as long as others do: of several that wait for each other, the first that gives up lets the others go on.
func (h *held) patient(ctx context.Context) func(int64) bool {
	patience := rand.N(time.Second)
	return func(n int64) bool {
		if h.all.TryAcquire(n) {
			return true
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return h.all.Acquire(ctx, n) == nil
	}
}

// tooMuch is the error about a review that would not fit if it were alone.
type tooMuch struct{ most int64 }

func (t *tooMuch) Error() string {
	return fmt.Sprintf("the review and its answer need more than the %d bytes that all may have at once: raise --in-flight-mib", t.most)
}

func (h *held) take(n int64, from func(int64) bool) error {
	switch {
	case n == 0:
		return nil
	case h.bytes+n > h.most:
		return &tooMuch{h.most}
	case !from(n):
		return errFull
	}
	h.bytes += n
	return nil
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
