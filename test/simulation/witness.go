// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// LiveWitness asks the API server, at each call, who is in charge of the Machine. live must not be a cache.
//
// While authority is moving the side that it comes from may still finish what it was at, until it has said that it
// is paused; the side that it goes to may do nothing.
func LiveWitness(live client.Reader, pairs authority.Pairs) Witness {
	return func(ctx context.Context, caller authority.API, namespace, name string) string {
		pair, ok := pairs.Of(namespace)
		if !ok {
			return "no pair of namespaces has " + namespace
		}
		m := &machinev1beta1.Machine{}
		err := live.Get(ctx, client.ObjectKey{Namespace: pair.MachineAPI, Name: name}, m)
		switch {
		case apierrors.IsNotFound(err):
			return "" // one side alone has it: there is nobody to be in the way of
		case err != nil:
			return "" // the server is going down; it is no proof of anything
		}
		return objection(caller, m.Spec.AuthoritativeAPI, m.Status)
	}
}

func objection(caller authority.API, requested machinev1beta1.MachineAuthority, status machinev1beta1.MachineStatus) string {
	current := authority.API(status.AuthoritativeAPI)
	switch {
	case current == caller:
		return ""
	case current == authority.Unset && authority.API(requested) == caller:
		return "" // a new object: it will be this side's
	case current == authority.Migrating && authority.API(status.SynchronizedAPI) == caller && !saysPaused(caller, status):
		return ""
	}
	return fmt.Sprintf("status.authoritativeAPI was %q, coming from %q", current, status.SynchronizedAPI)
}

// saysPaused looks at Machine API's own acknowledgement; Cluster API's is on objects of its own, and the switch away from
// Migrating, which is checked, follows it.
func saysPaused(caller authority.API, status machinev1beta1.MachineStatus) bool {
	if caller != authority.MachineAPI {
		return false
	}
	for _, c := range status.Conditions {
		if string(c.Type) == authority.ConditionPaused {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
