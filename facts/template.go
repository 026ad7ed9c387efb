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

// Getter gets objects through a reader, as conversions want them.
func Getter(ctx context.Context, r client.Reader) environment.Get {
	return func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
		return served.Get(ctx, r, kind, namespace, name)
	}
}

// Resolved reads a set from its JSON, with the template in the form of the Machine API, whichever member of the union the set's template has. It takes the
// JSON and not the published type, which has no member for Cluster API. Where the template has the member for Machine API, Resolved reads nothing from the
// cluster. accounts has the account of the cloud that the cluster is in.
func Resolved(ctx context.Context, r client.Reader, accounts *Accounts, pair authority.Pair, set []byte) (controlplane.Resolved, error) {
	return controlplanetemplate.Resolve(Getter(ctx, r), func(platform conversion.Platform, infrastructure map[string]any) (string, error) {
		return accounts.Of(ctx, platform, infrastructure)
	}, pair, set)
}
