// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
)

func TestALookupThatTakesTooLongIsSaidInPlainWords(t *testing.T) {
	limited, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	<-limited.Done()
	short, end := context.WithTimeout(t.Context(), 1e9)
	defer end()
	limiter := flowcontrol.NewTokenBucketRateLimiter(0.01, 1)
	limiter.Accept()
	const late = "the API server did not answer in time"
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a deadline":                  {limited.Err(), late},
		"of a connection":             {fmt.Errorf("listing Nodes: %w", &url.Error{Op: "Get", URL: "https://192.0.2.1/", Err: limited.Err()}), "listing Nodes: " + late},
		"of a cache":                  {apierrors.NewTimeoutError("failed waiting for *unstructured.Unstructured Informer to sync", 0), late},
		"of the API server":           {apierrors.NewServerTimeout(schema.GroupResource{Resource: "nodes"}, "list", 1), late},
		"of the client's own limit":   {fmt.Errorf("client rate limiter Wait returned an error: %w", limiter.Wait(short)), late},
		"anything else is not hidden": {errors.New("connection refused"), "connection refused"},
	} {
		if got := unanswered(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
