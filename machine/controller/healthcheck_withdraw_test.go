// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/health"
)

// storedChecks reads the checks of these names alone.
type storedChecks []string

func (n storedChecks) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	for _, name := range n {
		if name == key.Name {
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "machinehealthchecks"}, key.Name)
}

func (storedChecks) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// A check that was deleted while nobody ran has left its requests: another check of their kind withdraws them, and nothing else of others.
func TestUnneededRequests(t *testing.T) {
	own := &unstructured.Unstructured{}
	own.SetName("own")
	machine := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{UID: "m"}}
	unhealthy := health.Judgement{Assessments: []health.Assessment{{Target: health.Target{Machine: machine}, Cause: "Ready"}}}
	for name, c := range map[string]struct {
		by     string
		cached storedChecks
		stored storedChecks
		want   string
	}{
		"of another check": {by: "other", cached: storedChecks{"own", "other"}, stored: storedChecks{"own", "other"}},
		"of another check that was deleted": {by: "other", cached: storedChecks{"own"}, stored: storedChecks{"own"}, want: "the MachineHealthCheck other, " +
			"which created the request, was deleted"},
		"of another check that the cache does not have yet": {by: "other", cached: storedChecks{"own"}, stored: storedChecks{"own", "other"}},
		"of another check that the cache still has":         {by: "other", cached: storedChecks{"own", "other"}, stored: storedChecks{"own"}},
		"its own, of a Machine that is unhealthy":           {by: "own"},
		"of a controller that named no check":               {},
	} {
		t.Run(name, func(t *testing.T) {
			request := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "r", OwnerReferences: []metav1.OwnerReference{{UID: "m"}}}}
			if c.by != "" {
				request.Annotations = map[string]string{checkAnnotation: c.by}
			}
			r := &healthChecks{checks: c.cached, live: c.stored}
			gone, err := r.gone(t.Context(), own, request)
			if err != nil {
				t.Fatal(err)
			}
			if got := unneeded(request, &check{stored: own}, unhealthy, gone); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
