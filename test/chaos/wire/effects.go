// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conflict answers as an API server does that has a newer object.
func Conflict() Effect {
	return refused(func(r Request) *apierrors.StatusError {
		return apierrors.NewConflict(r.GroupResource, r.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	})
}

// TooManyRequests answers as an overloaded API server does, and says when to come again.
func TooManyRequests(after time.Duration) Effect {
	return refused(func(Request) *apierrors.StatusError {
		return apierrors.NewTooManyRequests("the server has received too many requests and has asked us to try again later", int(after.Seconds()))
	})
}

// InternalError answers 500.
func InternalError() Effect {
	return refused(func(Request) *apierrors.StatusError {
		return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	})
}

// Unavailable answers 503, without a word on when to come again.
func Unavailable() Effect {
	return refused(func(Request) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable("the server is shutting down")
	})
}

// refused answers in the server's place.
func refused(by func(Request) *apierrors.StatusError) Effect {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			status := by(asked(r)).ErrStatus
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
				rw.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
			}
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(int(status.Code))
			_ = json.NewEncoder(rw).Encode(status)
		})
	}
}

// TimedOut has the server do it, and answers that this may or may not be so.
func TimedOut() Effect {
	late := refused(func(Request) *apierrors.StatusError {
		return apierrors.NewTimeoutError("the server was unable to return a response in the time allotted, but may still be processing the request", 0)
	})
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&answer{header: http.Header{}}, r)
			late(next).ServeHTTP(rw, r)
		})
	}
}

// LoseRequest breaks off before the server receives the request.
func LoseRequest() Effect { return Before(func() {}) }

// LoseAnswer has the server execute it, and breaks off before the client receives the answer.
func LoseAnswer() Effect { return After(func() {}) }

// Before calls do and breaks off: the server never receives the request.
func Before(do func()) Effect {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			do()
			panic(http.ErrAbortHandler)
		})
	}
}

// After has the server answer, calls do and breaks off: the client never receives the answer.
func After(do func()) Effect {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&answer{header: http.Header{}}, r)
			do()
			panic(http.ErrAbortHandler)
		})
	}
}

// Then has the server answer, calls do, and lets the client have the answer.
func Then(do func()) Effect {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			a := &answer{header: http.Header{}}
			next.ServeHTTP(a, r)
			do()
			a.send(rw)
		})
	}
}

// Slow waits before the server receives the request.
func Slow(by time.Duration) Effect {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !wait(r.Context(), by) {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(rw, r)
		})
	}
}

func wait(ctx context.Context, by time.Duration) bool {
	timer := time.NewTimer(by)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Hang never answers: it ends when the client gives up.
func Hang() Effect {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
	}
}

// Stale answers each GET and LIST as it was last answered before now; what was never asked goes to the server.
func (w *Wire) Stale() Effect {
	old := w.memory.snapshot()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if a := old[question(asked(r))]; a != nil {
				a.send(rw)
				return
			}
			next.ServeHTTP(rw, r)
		})
	}
}
