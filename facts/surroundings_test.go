// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies/authority"
)

// clusters answers each read of a Cluster with the same metadata or error.
type clusters struct {
	client.Reader
	has metav1.ObjectMeta
	err error
}

func (c clusters) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if o, ok := into.(*metav1.PartialObjectMetadata); ok {
		o.ObjectMeta = c.has
		o.Name = key.Name
	}
	return c.err
}

func TestLeaving(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Group: facts.ClusterKind.Group, Resource: "clusters"}, "c")
	unmapped := apierrors.NewNotFound(schema.GroupResource{}, "")
	unmapped.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}
	began := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later := metav1.NewTime(began.Add(time.Minute))
	for text, c := range map[string]struct {
		from clusters
		want string
		gone bool
	}{
		"it stays":                              {from: clusters{has: metav1.ObjectMeta{UID: "u", CreationTimestamp: began}}},
		"it is being deleted":                   {clusters{has: metav1.ObjectMeta{UID: "u", DeletionTimestamp: &later}}, "Cluster c is being deleted", false},
		"it is gone":                            {clusters{err: notFound}, "Cluster c does not exist", true},
		"its CRD is gone":                       {clusters{err: unmapped}, "Cluster c does not exist", true},
		"its CRD was gone at the process start": {clusters{err: &meta.NoKindMatchError{GroupKind: facts.ClusterKind.GroupKind()}}, "Cluster c does not exist", true},
		"another has its name":                  {clusters{has: metav1.ObjectMeta{UID: "v"}}, "Cluster c with the UID u does not exist", true},
		"it was recreated":                      {clusters{has: metav1.ObjectMeta{UID: "u", CreationTimestamp: later}}, "Cluster c was deleted and recreated", true},
		"the API server gives no answer":        {from: clusters{err: errors.New("no answer")}},
	} {
		t.Run(text, func(t *testing.T) {
			why, gone, err := facts.Leaving(t.Context(), c.from, authority.Surrounding{Kind: authority.Cluster, Namespace: "n", Name: "c", UID: "u", Since: began})
			if fails := c.from.err != nil && c.want == ""; why != c.want || gone != c.gone || (err != nil) != fails {
				t.Errorf("%q, gone %t, %v", why, gone, err)
			}
		})
	}
}
