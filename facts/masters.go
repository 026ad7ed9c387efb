// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
)

// machineKind is the kind of the Machine API's Machines.
func machineKind() schema.GroupVersionKind {
	kind, _ := authority.KindNamed("Machine")
	return kind.MachineAPIGVK()
}

// masters reads the control plane's Machines of a namespace, which are few. It reads them from a cache on which IndexByRole was called. Callers must not change
// the result, which belongs to the cache. If the kind is not served, it returns none.
func masters(ctx context.Context, cache client.Reader, namespace string) ([]conversion.Master, error) {
	found, err := served.List(ctx, cache, machineKind(), namespace, OfControlPlane(), client.UnsafeDisableDeepCopy)
	if err != nil && !served.Missing(err) {
		return nil, err
	}
	return core.Masters(found), nil
}
