// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/controlplanetemplate"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Getter returns a function that reads objects through a reader, in the form that conversions need.
func Getter(ctx context.Context, r client.Reader) environment.Get {
	return func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
		return served.Get(ctx, r, kind, namespace, name)
	}
}

// Resolved reads a set from its JSON. It returns the set's template in the form of the Machine API, whether the template is for Machine API or for Cluster API.
// It takes the JSON and not the published Go type, which has no member for Cluster API. For a template for Machine API, it reads nothing from the cluster.
// accounts has the account of the cloud in which the cluster runs.
func Resolved(ctx context.Context, r client.Reader, accounts *Accounts, pair authority.Pair, set []byte) (controlplane.Resolved, error) {
	return controlplanetemplate.Resolve(Getter(ctx, r), func(platform conversion.Platform, infrastructure map[string]any) (string, error) {
		return accounts.Of(ctx, platform, infrastructure)
	}, pair, set)
}
