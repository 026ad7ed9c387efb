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

// errFull is why a review is not accepted now.
var errFull = errors.New("other reviews hold the memory that this one needs")

// held is one review's share of the memory of all reviews, with its answer. It grows with the bytes that arrive, and not by the announced length: a caller who
// sends nothing blocks no one.
type held struct {
	all   *semaphore.Weighted
	most  int64 // of all
	bytes int64
	spare int64 // of bytes, for the answer
}

// backTo returns what has been taken since.
func (h *held) backTo(before held) {
	h.all.Release(h.bytes - before.bytes)
	*h = before
}

// body takes memory for a review's bytes, and as much for its answer: if reviews filled the memory with nothing left for answers, all would be read in vain.
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

// answer takes memory for an answer's bytes, as far as it is longer than the review.
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

// patient waits for memory for a random time of up to a second: among several that wait for each other, the first that gives up lets the others continue.
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

// tooMuch is the error of a review that would not fit even alone.
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
