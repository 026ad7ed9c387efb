// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"slices"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
)

const autoscaler = "system:serviceaccount:openshift-machine-api:cluster-autoscaler"

// autoscalerMay is what the cluster autoscaler is granted on Cluster API, where it looks and scales.
const autoscalerMay = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cluster-autoscaler, namespace: openshift-cluster-api}
rules:
- {apiGroups: [cluster.x-k8s.io], resources: [machinesets, machinesets/scale, machines], verbs: [get, list, watch, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cluster-autoscaler, namespace: openshift-cluster-api}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cluster-autoscaler}
subjects: [{kind: ServiceAccount, name: cluster-autoscaler, namespace: openshift-machine-api}]
`

// converting › The Cluster Autoscaler in mixed MachineSet clusters: it looks at Cluster API alone, whoever is in charge.
func TestTheAutoscalerScalesWhoeverIsInCharge(t *testing.T) {
	story(t)
	apply(t, autoscalerMay)
	set := newSet(t, "autoscaled", 1)
	mirror, old := capiSet(set.name), machinesOf(t, set.name)[0]
	const size = "cluster-api-autoscaler-node-group-"
	must(t, append(set.args("annotate"), "machine.openshift.io/"+size+"min-size=1", "machine.openshift.io/"+size+"max-size=3")...)
	for limit, want := range map[string]string{"min-size": "1", "max-size": "3"} {
		eventually(t, limit+" has come over", func() string { return field(t, mirror, `.metadata.annotations.cluster\.x-k8s\.io/`+size+limit) }, want)
	}

	must(t, asAutoscaler(scaled(mirror, 2))...)
	sized(t, set, 2)
	refused(t, kubectl(t, "", mirror.args("scale", "--replicas=3")...), "authority/scale-locked")
	refused(t, kubectl(t, "", append(mirror.args("patch"), "--type=merge", "-p", `{"spec":{"replicas":3}}`)...), "authority/spec-locked")
	refused(t, kubectl(t, "", asAutoscaler(append(mirror.args("patch"), "--type=merge", "-p", `{"spec":{"deletion":{"order":"Newest"}}}`))...), "authority/spec-locked")
	refused(t, kubectl(t, "", append(capiMachine(old).args("annotate"), "cluster.x-k8s.io/delete-machine=now")...), "authority/metadata-reserved")

	// It chooses the Machine that it has drained, then scales down, on the object this time: it is that one which goes.
	must(t, asAutoscaler(append(capiMachine(old).args("annotate"), "cluster.x-k8s.io/delete-machine=now"))...)
	eventually(t, "the choice has come over", func() string {
		return field(t, mapiMachine(old), `.metadata.annotations.machine\.openshift\.io/delete-machine`)
	}, "now")
	must(t, asAutoscaler(append(mirror.args("patch"), "--type=merge", "-p", `{"spec":{"replicas":1}}`))...)
	sized(t, set, 1)
	gone(t, old)

	// A person's word on the side in charge is the last one again.
	must(t, set.args("scale", "--replicas=2")...)
	sized(t, set, 2)

	move(t, set, "ClusterAPI")
	must(t, asAutoscaler(scaled(mirror, 1))...)
	sized(t, set, 1)
	refused(t, kubectl(t, "", set.args("scale", "--replicas=3")...), "authority/scale-locked")
	move(t, set, "MachineAPI")
	must(t, set.args("scale", "--replicas=0")...)
	sized(t, set, 0)
}

// asAutoscaler writes under its identity and its field manager.
func asAutoscaler(args []string) []string {
	return append(slices.Clone(args), "--as="+autoscaler, "--field-manager="+authority.AutoscalerManager)
}

// scaled patches /scale, as the autoscaler does; `kubectl scale` takes no field manager.
func scaled(set object, n int) []string {
	return append(set.args("patch"), "--subresource=scale", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

// sized waits until both sets say so and there are so many Machines.
func sized(t *testing.T, set object, n int) {
	t.Helper()
	for _, o := range []object{set, capiSet(set.name)} {
		eventually(t, "replicas of "+o.resource, func() string { return field(t, o, ".spec.replicas") }, fmt.Sprint(n))
	}
	eventually(t, "Machines of "+set.name, func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, fmt.Sprint(n))
	if n > 0 {
		eventually(t, "available", func() string { return field(t, set, ".status.availableReplicas") }, fmt.Sprint(n))
	}
	eventually(t, "replicas of the set in charge, still", func() string { return field(t, set, ".spec.replicas") }, fmt.Sprint(n))
}
