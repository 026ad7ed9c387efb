// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"errors"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// Witness reads the objects for which a call is made, when the call begins. It is called again at the end of a call that took time.
type Witness func(ctx context.Context, caller authority.API, m Machine) Testimony

// Testimony is what a Witness saw.
type Testimony struct {
	// Objection is why the caller may not make the call, "" if it may.
	Objection string
	// Incarnation has the UIDs of the objects, of either API, that represent the Machine and are not being deleted.
	Incarnation []types.UID
}

// Census lists the Machines of both APIs, and returns a function that reports whether one of them has the name of a given Machine. It is called for each audit.
type Census func(context.Context) (func(Machine) bool, error)

// LiveCensus returns a Census that lists what the API server has. live must not be a cache.
func LiveCensus(live client.Reader, pairs authority.Pairs) Census {
	return func(ctx context.Context) (func(Machine) bool, error) {
		found := map[client.ObjectKey]bool{}
		for _, pair := range pairs {
			old, twins := &machinev1beta1.MachineList{}, &clusterv1.MachineList{}
			if err := errors.Join(live.List(ctx, old, client.InNamespace(pair.MachineAPI)), live.List(ctx, twins, client.InNamespace(pair.ClusterAPI))); err != nil {
				return nil, err
			}
			for _, m := range old.Items {
				found[client.ObjectKey{Namespace: pair.MachineAPI, Name: m.Name}] = true
			}
			for _, m := range twins.Items {
				found[client.ObjectKey{Namespace: pair.MachineAPI, Name: m.Name}] = true
			}
		}
		return func(m Machine) bool {
			pair, ok := pairs.Of(m.Namespace)
			return !ok || found[client.ObjectKey{Namespace: pair.MachineAPI, Name: m.Name}]
		}, nil
	}
}

// LiveWitness returns a Witness that reads from the API server which API is authoritative for the Machine. live must not be a cache.
//
// While authority is moving, the API that was authoritative may still finish what it has begun, until it acknowledges that it is paused. The next authoritative
// API must not do anything.
func LiveWitness(live client.Reader, pairs authority.Pairs) Witness {
	return func(ctx context.Context, caller authority.API, m Machine) Testimony {
		pair, ok := pairs.Of(m.Namespace)
		if !ok {
			return Testimony{Objection: fmt.Sprintf("no pair of namespaces has the namespace %q", m.Namespace)}
		}
		var t Testimony
		// Any error but "not found" means that the server shuts down. It proves nothing.
		old := &machinev1beta1.Machine{}
		if live.Get(ctx, client.ObjectKey{Namespace: pair.MachineAPI, Name: m.Name}, old) == nil {
			t.Objection = objection(caller, old.Spec.AuthoritativeAPI, old.Status)
			t.stands(old)
		} // otherwise only one API has the Machine, and cannot conflict with the other
		twin := &clusterv1.Machine{}
		if live.Get(ctx, client.ObjectKey{Namespace: pair.ClusterAPI, Name: m.Name}, twin) == nil {
			t.stands(twin)
		}
		return t
	}
}

// stands adds the UID of an object to the Incarnation, unless the object is being deleted: a new Machine may soon have the name of a deleted one.
func (t *Testimony) stands(o client.Object) {
	if o.GetDeletionTimestamp().IsZero() {
		t.Incarnation = append(t.Incarnation, o.GetUID())
	}
}

func objection(caller authority.API, requested machinev1beta1.MachineAuthority, status machinev1beta1.MachineStatus) string {
	current := authority.API(status.AuthoritativeAPI)
	switch {
	case current == caller:
		return ""
	case current == authority.Unset && (authority.API(requested) == caller || requested == "" && caller == authority.MachineAPI):
		return "" // a new object: the caller's API will be authoritative for it
	case current == authority.Migrating && authority.API(status.SynchronizedAPI) == caller && !acknowledgedPause(caller, status):
		return ""
	}
	return fmt.Sprintf("status.authoritativeAPI was %q, coming from %q", current, status.SynchronizedAPI)
}

// acknowledgedPause reports whether the Machine API's controller has acknowledged its pause. For Cluster API it returns false: the acknowledgement is on other
// objects, and the switch from Migrating, which the Witness checks, comes after it.
func acknowledgedPause(caller authority.API, status machinev1beta1.MachineStatus) bool {
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
