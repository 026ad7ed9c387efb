// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcilers

import (
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers/handoff"
	"github.com/poundlock/poundlock/reconcilers/mirror"
	"github.com/poundlock/poundlock/reconcilers/remediation"
)

// Options are what reconcilers are told.
type Options struct {
	// Pairs are the namespaces that mirror each other.
	Pairs authority.Pairs
	// Enabled says whether authority over a kind can move: handoff.Options has it.
	Enabled func(authority.Kind) bool
}

// All adds every reconciler to the manager.
func All(mgr ctrl.Manager, o Options) error {
	return errors.Join(
		mirror.SetupWithManager(mgr, mirror.Options{Pairs: o.Pairs}),
		handoff.SetupWithManager(mgr, handoff.Options{Pairs: o.Pairs, Enabled: o.Enabled}),
		remediation.SetupWithManager(mgr, remediation.Options{Pairs: o.Pairs, Enabled: o.Enabled}),
	)
}
