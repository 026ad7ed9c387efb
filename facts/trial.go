// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Creator creates an object, as a client does.
type Creator interface {
	Create(ctx context.Context, o client.Object, options ...client.CreateOption) error
}

// atOnce is how many dry runs are sent at the same time.
const atOnce = 8

// Try returns for each Machine whether the API server would accept it, which it finds out by a dry run. Nothing is stored. The error is about answers that a
// later attempt may get. If a dry run is impossible, there is neither an answer nor an error.
func Try(ctx context.Context, c Creator, trials []controlplane.Trial) ([]policies.Trial, error) {
	out, errs := make([]policies.Trial, len(trials)), make([]error, len(trials))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, t := range trials {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i], errs[i] = try(ctx, c, t)
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

func try(ctx context.Context, c Creator, t controlplane.Trial) (policies.Trial, error) {
	out := policies.Trial{Of: t.Of}
	m, err := Unstructured(t.Machine)
	if err != nil {
		return out, err
	}
	err = c.Create(ctx, m, client.DryRunAll)
	switch {
	case err == nil:
		out.Machine = &machinev1beta1.Machine{}
		return out, runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object, out.Machine)
	case undryable(err):
		out.Unanswered = err.Error()
		return out, nil
	}
	if out.Refused = Refusal(m.GetName(), err); out.Refused != "" {
		return out, nil
	}
	out.Unanswered = err.Error()
	return out, fmt.Errorf("trying to create a Machine with a dry run: %w", err)
}

// Unstructured returns a Machine in the form in which it is created: without a status, which only its controllers write.
func Unstructured(m *machinev1beta1.Machine) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	out := &unstructured.Unstructured{Object: content}
	out.SetCreationTimestamp(metav1.Time{})
	return out, nil
}

// undryable reports whether an error is about the dry run and not about the Machine. The API server sends no dry run to a webhook with side effects, and
// Poundlock may lack the right to create Machines.
func undryable(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run") ||
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), `cannot create resource "machines"`)
}

// Refusal returns the API server's reason for refusing a Machine; "" if the API server did not answer, or if its answer is not about the Machine. The reason
// does not contain the Machine's name, because each attempt uses another name.
func Refusal(name string, err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || undryable(err) {
		return ""
	}
	s := status.Status()
	passing := []int32{http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}
	if s.Code < 400 || s.Code >= 500 || slices.Contains(passing, s.Code) {
		return ""
	}
	words := s.Message
	if _, rest, ok := strings.Cut(words, fmt.Sprintf("%q is ", name)); ok {
		words = rest
	}
	return strings.ReplaceAll(words, name, "the Machine")
}
