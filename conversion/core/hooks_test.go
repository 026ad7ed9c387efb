// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion/core"
)

// TestEtcdsHookHoldsTheTerminationToo: Cluster API leaves hooks before the drain out once each Machine of the control plane is being deleted, and never
// one that holds the termination.
func TestEtcdsHookHoldsTheTerminationToo(t *testing.T) {
	const hook = ".delete.hook.machine.cluster.x-k8s.io/EtcdQuorumOperator"
	const drain, terminate = "pre-drain" + hook, "pre-terminate" + hook
	hooks := func(text string) map[string]any { return fields(t, text) }
	m := object(t, fullMachine)
	spec := m.Object["spec"].(map[string]any)
	spec["lifecycleHooks"] = hooks(`{preDrain: [{name: EtcdQuorumOperator, owner: clusteroperator/etcd}]}`)
	twin, errs := core.ToClusterAPI("Machine", m, env())
	diff(t, []string(nil), paths(errs))
	annotations := twin.Core.GetAnnotations()
	diff(t, [2]string{"clusteroperator/etcd", "clusteroperator/etcd"}, [2]string{annotations[drain], annotations[terminate]})
	back, errs := core.ToMachineAPI("Machine", twin, env())
	diff(t, []string(nil), paths(errs))
	diff(t, any(spec["lifecycleHooks"]), back.Object["spec"].(map[string]any)["lifecycleHooks"])

	// Another's hook of that name is none of etcd's, and one that would hide behind the companion does not convert.
	spec["lifecycleHooks"] = hooks(`{preDrain: [{name: EtcdQuorumOperator, owner: somebody}]}`)
	twin, _ = core.ToClusterAPI("Machine", m, env())
	if _, has := twin.Core.GetAnnotations()[terminate]; has {
		t.Error("another's hook has a companion")
	}
	for _, owner := range []string{"clusteroperator/etcd", "somebody"} {
		spec["lifecycleHooks"] = hooks(`{preTerminate: [{name: EtcdQuorumOperator, owner: ` + owner + `}]}`)
		_, errs = core.ToClusterAPI("Machine", m, env())
		if got := strings.Join(paths(errs), " "); !strings.HasPrefix(got, "spec.lifecycleHooks.preTerminate") {
			t.Errorf("a hook of that name that holds the termination: %q", got)
		}
	}
}

// TestAPauseStaysWhereItIs: the Machine API's health checks and the autoscaler obey Cluster API's annotation, too, so that of one side must not come to
// the other.
func TestAPauseStaysWhereItIs(t *testing.T) {
	const paused = "cluster.x-k8s.io/paused"
	for kind, text := range map[string]string{"Machine": fullMachine, "MachineSet": fullSet, "MachineHealthCheck": fullCheck} {
		m := object(t, text)
		annotations := m.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[paused] = ""
		m.SetAnnotations(annotations)
		twin, errs := core.ToClusterAPI(kind, m, env())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		there := twin.Core.GetAnnotations()
		if _, has := there[paused]; has {
			t.Errorf("%s: a person's pause is mirrored to Cluster API", kind)
		}
		if there == nil {
			there = map[string]string{}
		}
		there[paused] = "true"
		twin.Core.SetAnnotations(there)
		back, errs := core.ToMachineAPI(kind, twin, env())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if _, has := back.GetAnnotations()[paused]; has {
			t.Errorf("%s: Cluster API's pause is mirrored to the Machine API", kind)
		}
	}
}
