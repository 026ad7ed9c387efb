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

// Conflict answers as an API server does whose object is newer.
func Conflict() Effect {
	return refused(func(r Request) *apierrors.StatusError {
		return apierrors.NewConflict(r.GroupResource, r.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	})
}

// TooManyRequests answers as an overloaded API server does, and says when to retry.
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

// Unavailable answers 503, and does not say when to retry.
func Unavailable() Effect {
	return refused(func(Request) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable("the server is shutting down")
	})
}

// refused returns an effect that answers in the server's place, with the error that by returns.
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

// TimedOut lets the server carry out the request, and answers that the server may or may not have done that.
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

// LoseRequest closes the connection before the server receives the request.
func LoseRequest() Effect { return Before(func() {}) }

// LoseAnswer lets the server carry out the request, and closes the connection before the client receives the answer.
func LoseAnswer() Effect { return After(func() {}) }

// Before calls do and closes the connection: the server never receives the request.
func Before(do func()) Effect {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			do()
			panic(http.ErrAbortHandler)
		})
	}
}

// After lets the server answer, calls do and closes the connection: the client never receives the answer.
func After(do func()) Effect {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&answer{header: http.Header{}}, r)
			do()
			panic(http.ErrAbortHandler)
		})
	}
}

// Then lets the server answer, calls do, and sends the answer to the client.
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

// Hang never answers. It ends when the client gives up.
func Hang() Effect {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
	}
}

// Stale answers each GET and LIST with the last answer that the wire saw before the call of Stale. A request that the wire had not seen by then goes to the
// server.
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
