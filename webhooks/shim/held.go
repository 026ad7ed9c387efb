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

// errFull is the error of a review that is not accepted now, because other reviews use the memory. The API server then gets the status 429.
var errFull = errors.New("other conversion reviews use the memory that this review needs")

// held is the memory that one review and its answer use, out of the memory for all reviews. It grows with the bytes that arrive, and not by the announced
// length, so that a client who sends nothing blocks no one.
type held struct {
	all   *semaphore.Weighted
	most  int64 // the size of all
	bytes int64
	spare int64 // the part of bytes that is reserved for the answer
}

// backTo releases the memory that was taken since the state before.
func (h *held) backTo(before held) {
	h.all.Release(h.bytes - before.bytes)
	*h = before
}

// body returns a reader of a review's body that takes memory for each byte, and as much again for the answer. If reviews could use all the memory and leave
// nothing for answers, none of them could be answered.
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

// answer returns a reader of a converter's answer. It takes memory only for the bytes by which the answer is longer than the review, because the rest is
// reserved.
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

// patient returns a function that takes n bytes. If these are not free, it waits for a random time of up to a second, and returns false if they are not free by
// then. Reviews may wait for each other. Then the first one that gives up lets the others continue.
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

// tooMuch is the error of a review that would not fit into the memory even if it were the only one.
type tooMuch struct{ most int64 }

func (t *tooMuch) Error() string {
	return fmt.Sprintf("this conversion review and its answer need more than the %d bytes that all reviews together may use: raise --in-flight-mib", t.most)
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
