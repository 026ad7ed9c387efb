// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/versioned"
)

// Writer simulates one component of OpenShift.
type Writer interface {
	// Identity is the user name that the component has in a cluster.
	Identity() string
	// Pass does what the component does each time it looks: it reads, and sends the writes that follow. If a request is refused, Pass returns an error, and still
	// sends the others.
	Pass(ctx context.Context, c client.Client) error
}

// Start calls a writer's Pass at every interval, with the writer's identity, until ctx ends. config must be allowed to impersonate. A conflict, or an object
// that is gone meanwhile, is no error for a controller, because it looks again.
func Start(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, every time.Duration, w Writer) (*Log, error) {
	log := &Log{}
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: w.Identity()}
	config.Wrap(log.Wrap)
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", w.Identity(), err)
	}
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			_ = w.Pass(ctx, c) // the log has the errors
		}
	}()
	return log, nil
}

// Log records what writers requested of the API server. The zero Log is ready for use.
type Log struct {
	mu      sync.Mutex
	written []string
	refused []string
}

// Wrap records the writes of a client, with how the API server answered.
func (l *Log) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet {
			err = l.note(r, answer)
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *Log) note(r *http.Request, answer *http.Response) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	what := r.Method + " " + r.URL.Path
	switch {
	case answer.StatusCode < http.StatusMultipleChoices:
		l.written = append(l.written, what)
	case answer.StatusCode != http.StatusConflict && answer.StatusCode != http.StatusNotFound:
		value, err := io.ReadAll(answer.Body)
		answer.Body = io.NopCloser(bytes.NewReader(value))
		l.refused = append(l.refused, fmt.Sprintf("%s: %d %s", what, answer.StatusCode, value))
		return err
	}
	return nil
}

// Written returns the requests that changed something in a resource: "PUT /apis/…/machines/NAME".
func (l *Log) Written(resource string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.written), func(w string) bool { return !strings.Contains(w, "/"+resource) })
}

// Refused returns the requests that the API server refused, with its messages.
func (l *Log) Refused() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.refused)
}

// quiet returns nil for an error that a controller does not take for one: a conflict, an object that is gone, or the end of the context.
func quiet(err error) error {
	if versioned.Outdated(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
