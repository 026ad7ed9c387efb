// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/mirror"
)

// Options are what reconcilers are told.
type Options struct {
	// Pairs are the namespaces that mirror each other.
	Pairs authority.Pairs
}

// All adds every reconciler to the manager.
func All(mgr ctrl.Manager, o Options) error {
	return mirror.SetupWithManager(mgr, mirror.Options{Pairs: o.Pairs})
}
