// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"errors"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The hook that etcd's operator puts on a Machine.
const (
	EtcdHook      = "EtcdQuorumOperator"
	EtcdHookOwner = "clusteroperator/etcd"
)

// roleLabel marks a Machine of the control plane.
const roleLabel = "machine.openshift.io/cluster-api-machine-role"

// EtcdOperator simulates what cluster-etcd-operator writes to Machines (rows 40 and 41 of the survey of writers). It only knows the Machine API. Every minute
// it adds its hook to each Machine of role master that is not being deleted. It removes the hook from a Machine that is being deleted, once no member of etcd
// is on that Machine's addresses. Each write is a PUT of the whole object, in the Go type that the operator was built with. If no master is in phase Running,
// it takes the Machine API as not functional, and writes nothing.
type EtcdOperator struct {
	// Member reports whether a member of etcd is on the Machine's addresses.
	Member func(*machinev1beta1.Machine) bool
}

// Identity is the operator's service account.
func (EtcdOperator) Identity() string {
	return "system:serviceaccount:openshift-etcd-operator:etcd-operator"
}

// Pass looks at all masters once.
func (e EtcdOperator) Pass(ctx context.Context, c client.Client) error {
	masters := &machinev1beta1.MachineList{}
	if err := c.List(ctx, masters, client.MatchingLabels{roleLabel: "master"}); err != nil {
		return err
	}
	running := func(m machinev1beta1.Machine) bool {
		return m.Status.Phase != nil && *m.Status.Phase == machinev1beta1.PhaseRunning
	}
	if !slices.ContainsFunc(masters.Items, running) {
		return nil
	}
	var failed []error
	for i := range masters.Items {
		if m := masters.Items[i].DeepCopy(); e.change(m) {
			failed = append(failed, quiet(c.Update(ctx, m, client.FieldOwner("cluster-etcd-operator"))))
		}
	}
	return errors.Join(failed...)
}

// change adds the hook to a Machine, or removes it from one that is being deleted and has no etcd member any more. It reports whether it changed the Machine.
func (e EtcdOperator) change(m *machinev1beta1.Machine) bool {
	hooks := &m.Spec.LifecycleHooks.PreDrain
	switch held := slices.Contains(*hooks, etcdHook()); {
	case m.DeletionTimestamp == nil && !held:
		*hooks = append(*hooks, etcdHook())
		return true
	case m.DeletionTimestamp != nil && held && !e.Member(m):
		*hooks = slices.DeleteFunc(*hooks, func(h machinev1beta1.LifecycleHook) bool { return h == etcdHook() })
		return true
	}
	return false
}

func etcdHook() machinev1beta1.LifecycleHook {
	return machinev1beta1.LifecycleHook{Name: EtcdHook, Owner: EtcdHookOwner}
}
