// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/neighbours"
	"github.com/poundlock/poundlock/test/testcluster"
)

// autoscalerMay grants the cluster autoscaler and its operator their rights on the API that they know.
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
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cluster-autoscaler, namespace: openshift-machine-api}
rules:
- {apiGroups: [machine.openshift.io], resources: [machinesets, machinesets/scale, machines], verbs: [get, list, watch, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cluster-autoscaler, namespace: openshift-machine-api}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cluster-autoscaler}
subjects:
- {kind: ServiceAccount, name: cluster-autoscaler, namespace: openshift-machine-api}
- {kind: ServiceAccount, name: cluster-autoscaler-operator, namespace: openshift-machine-api}
`

// converting › The Cluster Autoscaler in mixed MachineSet clusters: the autoscaler of a future release only looks at Cluster API, whichever API is
// authoritative.
func TestTheAutoscalerScalesTheAuthoritativeSet(t *testing.T) {
	stories.Long(t)
	together(t)
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
	refused(t, kubectl(t, "", asAutoscaler(append(mirror.args("patch"), "--type=merge", "-p", `{"spec":{"deletion":{"order":"Newest"}}}`))...),
		"authority/spec-locked")
	refused(t, kubectl(t, "", append(capiMachine(old).args("annotate"), "cluster.x-k8s.io/delete-machine=now")...), "authority/metadata-reserved")

	// The autoscaler chooses a Machine, and takes that back.
	a, err := neighbours.NewClusterAPIAutoscaler(stage.Plane.Admin(), capi)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		persists(t, func() error {
			return map[bool]func(context.Context, string) error{true: a.Mark, false: a.Unmark}[want](t.Context(), old)
		})
		eventually(t, "the choice has come over", func() string {
			return fmt.Sprint(annotation(t, mapiMachine(old), "machine.openshift.io/delete-machine") != "",
				annotation(t, capiMachine(old), "cluster.x-k8s.io/delete-machine") != "")
		}, fmt.Sprint(want, want))
	}

	// The autoscaler chooses the Machine that it has drained, then scales down, this time by a patch of the set itself. The chosen Machine is deleted.
	must(t, asAutoscaler(append(capiMachine(old).args("annotate"), "cluster.x-k8s.io/delete-machine=now"))...)
	eventually(t, "the choice has come over", func() string {
		return field(t, mapiMachine(old), `.metadata.annotations.machine\.openshift\.io/delete-machine`)
	}, "now")
	must(t, asAutoscaler(append(mirror.args("patch"), "--type=merge", "-p", `{"spec":{"replicas":1}}`))...)
	sized(t, set, 1)
	gone(t, old)

	// After that, a person's request on the authoritative side applies again.
	must(t, set.args("scale", "--replicas=2")...)
	sized(t, set, 2)

	move(t, set, "ClusterAPI")
	must(t, asAutoscaler(scaled(mirror, 1))...)
	sized(t, set, 1)
	// However a person scales the set, the message has the same command.
	const instead = "kubectl -n openshift-cluster-api scale machinesets.cluster.x-k8s.io autoscaled --replicas=3"
	manifest := strings.Replace(testcluster.MachineSet(set.name, 3), "authoritativeAPI: MachineAPI", "authoritativeAPI: ClusterAPI", 1)
	for rule, a := range map[string]answer{
		"authority/scale-locked]": kubectl(t, "", set.args("scale", "--replicas=3")...),
		"authority/spec-locked":   kubectl(t, "", append(set.args("patch"), "--type=json", "-p", `[{"op":"replace","path":"/spec/replicas","value":3}]`)...),
		"authority/spec-locked]":  kubectl(t, manifest, "apply", "--server-side", "--force-conflicts", "-f", "-"),
	} {
		refused(t, a, rule)
		refused(t, a, instead)
	}
	move(t, set, "MachineAPI")
	must(t, set.args("scale", "--replicas=0")...)
	sized(t, set, 0)
}

// TestTheAutoscalerOfTheMachineAPIScalesTheAuthoritativeAPI: the autoscaler of the releases so far, and its operator, only know the Machine API.
func TestTheAutoscalerOfTheMachineAPIScalesTheAuthoritativeAPI(t *testing.T) {
	stories.Long(t)
	story(t)
	apply(t, autoscalerMay)
	a, operator := autoscalers(t)
	for _, api := range []string{"MachineAPI", "ClusterAPI"} {
		t.Run(api, func(t *testing.T) {
			set := newSet(t, "scaled-by-"+strings.ToLower(api), 1)
			persists(t, func() error { return operator.Limit(t.Context(), set.name, 2, 4) })
			limited(t, set, "2", "4")
			if api == "ClusterAPI" {
				move(t, set, api)
				move(t, mapiMachine(machinesOf(t, set.name)[0]), api)
			}
			persists(t, func() error { return operator.Release(t.Context(), set.name) })
			limited(t, set, "", "")
			persists(t, func() error { return operator.Limit(t.Context(), set.name, 0, 5) })
			limited(t, set, "0", "5")
			persists(t, func() error { return a.Scale(t.Context(), set.name, 4) })
			sized(t, set, 4)

			machines := machinesOf(t, set.name)
			persists(t, func() error { return a.Mark(t.Context(), machines[0]) })
			chosen(t, machines[0], true)
			persists(t, func() error { return a.Unmark(t.Context(), machines[0]) })
			chosen(t, machines[0], false)

			// The marked Machines are deleted: the first and the last by name.
			persists(t, func() error { return a.Remove(t.Context(), set.name, machines[0], 4) })
			gone(t, machines[0])
			persists(t, func() error { return a.Remove(t.Context(), set.name, machines[3], 3) })
			gone(t, machines[3])
			sized(t, set, 2)
			if diff := cmp.Diff(machines[1:3], machinesOf(t, set.name)); diff != "" {
				t.Errorf("Machines left (-want +got):\n%s", diff)
			}
			persists(t, func() error { return a.Remove(t.Context(), set.name, machines[1], 2) })
			persists(t, func() error { return a.Remove(t.Context(), set.name, machines[2], 1) })
			sized(t, set, 0)

			persists(t, func() error { return operator.Limit(t.Context(), set.name, 1, 3) })
			limited(t, set, "1", "3")
			persists(t, func() error { return operator.Release(t.Context(), set.name) })
			limited(t, set, "", "")
			still(t)
		})
	}
}

// If a set's template does not convert, the autoscaler would never see a new Machine of the set. So its scale is refused, and a user's is warned of. Such a
// Machine also prevents scaling down, because the autoscaler would count one Machine too few. After the repair the autoscaler scales the set again.
func TestTheAutoscalerDoesNotScaleWhatItDoesNotSee(t *testing.T) {
	stories.Long(t)
	story(t)
	apply(t, autoscalerMay)
	a, operator := autoscalers(t)
	set := newSet(t, "scaled-unseen", 1)
	persists(t, func() error { return operator.Limit(t.Context(), set.name, 0, 5) })
	limited(t, set, "0", "5")
	seen := machinesOf(t, set.name)
	move(t, set, "ClusterAPI")
	move(t, mapiMachine(seen[0]), "ClusterAPI")

	must(t, append(capiSet(set.name).args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"version":"v1.36.0"}}}}`)...)
	isRefused := func(what string, replicas int) {
		t.Helper()
		eventually(t, what, func() string {
			err := a.Scale(t.Context(), set.name, replicas)
			return fmt.Sprint(err != nil && strings.Contains(err.Error(), "authority/scale-unseen") && strings.Contains(err.Error(), "spec.template.spec.version"))
		}, "true")
	}
	isRefused("it does not scale up", 2)
	warned := kubectl(t, "", capiSet(set.name).args("scale", "--replicas=2")...)
	if !warned.ok || !strings.Contains(warned.err, "get no Machine API object. The autoscaler does not see these Machines") {
		t.Errorf("a person scales: %s", warned.err)
	}
	eventually(t, "replicas come over", func() string { return field(t, set, ".spec.replicas") }, "2")
	var unseen string
	eventually(t, "Cluster API's Machine is there", func() string {
		all := slices.DeleteFunc(strings.Fields(must(t, "-n", capi, "get", "machines.cluster.x-k8s.io", "-l", "machine.openshift.io/cluster-api-machineset="+set.name,
			"-o", "jsonpath={.items[*].metadata.name}").out), func(name string) bool { return name == seen[0] })
		unseen = strings.Join(all, " ")
		return fmt.Sprint(len(all))
	}, "1")
	isRefused("it does not scale down", 1)

	must(t, append(capiSet(set.name).args("patch"), "--type=json", "-p", `[{"op":"remove","path":"/spec/template/spec/version"}]`)...)
	must(t, append(capiMachine(unseen).args("patch"), "--type=json", "-p", `[{"op":"remove","path":"/spec/version"}]`)...)
	eventually(t, "its Machine API object is there", func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, "2")
	persists(t, func() error { return a.Remove(t.Context(), set.name, unseen, 2) })
	gone(t, unseen)
	sized(t, set, 1)
	persists(t, func() error { return operator.Release(t.Context(), set.name) })
	still(t)
}

// The autoscaler goes on while a set moves. It retries what is refused. What it writes right after the switch counts.
func TestTheAutoscalerScalesDuringAMove(t *testing.T) {
	stories.Long(t)
	story(t)
	apply(t, autoscalerMay)
	a, operator := autoscalers(t)
	set := newSet(t, "scaled-on-the-move", 2)
	persists(t, func() error { return operator.Limit(t.Context(), set.name, 0, 5) })
	limited(t, set, "0", "5")
	victim := machinesOf(t, set.name)[1]
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	request(t, set, "ClusterAPI")
	authorityIs(t, set, "Migrating")
	deniedBy(t, "authority/scale-locked", func() error { return a.Remove(t.Context(), set.name, victim, 2) })
	thaw()
	persists(t, func() error { return a.Remove(t.Context(), set.name, victim, 2) })
	authorityIs(t, set, "ClusterAPI")
	gone(t, victim)
	settled(t, set)
	sized(t, set, 1)

	last := machinesOf(t, set.name)[0]
	request(t, set, "MachineAPI")
	persists(t, func() error { return a.Remove(t.Context(), set.name, last, 1) })
	authorityIs(t, set, "MachineAPI")
	settled(t, set)
	sized(t, set, 0)
	still(t)
}

// The autoscaler marks a Machine, cannot scale the Machine's set, and takes the mark back once. Even if the Machine has begun to move meanwhile, neither side
// keeps a mark by which the next scale down would choose the Machine.
func TestTheAutoscalerTakesItsMarkBackDuringAMove(t *testing.T) {
	stories.Long(t)
	story(t)
	apply(t, autoscalerMay)
	a, _ := autoscalers(t)
	set := newSet(t, "unmarked-on-the-move", 1)
	machine := machinesOf(t, set.name)[0]
	persists(t, func() error { return a.Mark(t.Context(), machine) })
	chosen(t, machine, true)
	settled(t, mapiMachine(machine))
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	request(t, mapiMachine(machine), "ClusterAPI")
	authorityIs(t, mapiMachine(machine), "Migrating")
	persists(t, func() error { return a.Unmark(t.Context(), machine) })
	deniedBy(t, "authority/metadata-reserved", func() error { return a.Mark(t.Context(), machine) })
	thaw()
	authorityIs(t, mapiMachine(machine), "ClusterAPI")
	settled(t, mapiMachine(machine))
	chosen(t, machine, false)
	still(t)
}

func autoscalers(t *testing.T) (neighbours.Autoscaler, neighbours.AutoscalerOperator) {
	t.Helper()
	a, errA := neighbours.NewAutoscaler(stage.Plane.Admin(), mapi)
	operator, errO := neighbours.NewAutoscalerOperator(stage.Plane.Admin(), mapi)
	if err := errors.Join(errA, errO); err != nil {
		t.Fatal(err)
	}
	return a, operator
}

// persists retries what a controller would retry: a conflict, and a request that is refused while authority moves.
func persists(t *testing.T, do func() error) {
	t.Helper()
	eventually(t, "the request is taken", func() string {
		err := do()
		if err != nil && !apierrors.IsConflict(err) && !strings.Contains(err.Error(), "try again in a moment") {
			t.Fatal(err)
		}
		return fmt.Sprint(err)
	}, "<nil>")
}

// deniedBy retries a request that conflicts with a write of the status, and expects that the rule denies the request.
func deniedBy(t *testing.T, rule string, do func() error) {
	t.Helper()
	eventually(t, "the request is refused by "+rule, func() string {
		err := do()
		if err == nil || !apierrors.IsConflict(err) && !strings.Contains(err.Error(), rule) {
			t.Fatalf("during the move: %v", err)
		}
		return fmt.Sprint(!apierrors.IsConflict(err))
	}, "true")
}

// limited waits until both sets have the limits, each under its API's names. It checks that annotations which only the Machine API has are not on Cluster API's
// set.
func limited(t *testing.T, set object, least, most string) {
	t.Helper()
	const size = "cluster-api-autoscaler-node-group-"
	for domain, o := range map[string]object{"machine": set, "cluster": capiSet(set.name)} {
		suffix := map[string]string{"machine": ".openshift.io/", "cluster": ".x-k8s.io/"}[domain]
		for limit, want := range map[string]string{"min-size": least, "max-size": most} {
			eventually(t, limit+" of "+o.resource, func() string { return annotation(t, o, domain+suffix+size+limit) }, want)
		}
	}
	for _, name := range []string{neighbours.TargetOwner, neighbours.Capacity} {
		if value := annotation(t, capiSet(set.name), name); value != "" {
			t.Errorf("Cluster API's set has %s: %s", name, value)
		}
	}
	if owned := annotation(t, set, neighbours.TargetOwner) != ""; owned != (least != "") {
		t.Errorf("the Machine API's set belongs to a MachineAutoscaler: %t, want %t", owned, least != "")
	}
}

// chosen waits until a Machine is marked on both sides, or on neither. It checks that Cluster API's Machine has no mark with a name of the Machine API's.
func chosen(t *testing.T, machine string, want bool) {
	t.Helper()
	eventually(t, "marks of "+machine, func() string {
		all := []bool{
			annotation(t, mapiMachine(machine), "machine.openshift.io/delete-machine") != "",
			annotation(t, mapiMachine(machine), "machine.openshift.io/cluster-api-delete-machine") != "",
			annotation(t, capiMachine(machine), "cluster.x-k8s.io/delete-machine") != "",
		}
		return fmt.Sprint(all)
	}, fmt.Sprint([]bool{want, want, want}))
	for _, name := range []string{"machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine"} {
		if value := annotation(t, capiMachine(machine), name); value != "" {
			t.Errorf("Cluster API's Machine has %s: %s", name, value)
		}
	}
}

func annotation(t *testing.T, o object, name string) string {
	t.Helper()
	return field(t, o, `.metadata.annotations.`+strings.ReplaceAll(name, ".", `\.`))
}

// still checks that the fleet comes to rest, and that nobody writes to it after that.
func still(t *testing.T) {
	t.Helper()
	before := atRest(t)
	timer := time.NewTimer(3 * time.Second) // that nothing happens cannot be waited for otherwise
	defer timer.Stop()
	<-timer.C
	all := slices.DeleteFunc(moved(before, versions(t)), func(m string) bool { return strings.Contains(m, "Cluster ") }) // Clusters count their Machines later
	if len(all) > 0 {
		t.Errorf("moved:\n%s", strings.Join(all, "\n"))
	}
}

// asAutoscaler adds the autoscaler's identity and field manager to a kubectl command.
func asAutoscaler(args []string) []string {
	return append(slices.Clone(args), "--as="+neighbours.AutoscalerIdentity, "--field-manager="+authority.AutoscalerManager)
}

// scaled returns a patch of /scale, as the autoscaler sends it; `kubectl scale` takes no field manager.
func scaled(set object, n int) []string {
	return append(set.args("patch"), "--subresource=scale", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

// sized waits until both sets have n replicas and there are n Machines.
func sized(t *testing.T, set object, n int) {
	t.Helper()
	for _, o := range []object{set, capiSet(set.name)} {
		eventually(t, "replicas of "+o.resource, func() string { return field(t, o, ".spec.replicas") }, fmt.Sprint(n))
	}
	eventually(t, "Machines of "+set.name, func() string { return fmt.Sprint(len(machinesOf(t, set.name))) }, fmt.Sprint(n))
	if n > 0 {
		eventually(t, "available", func() string { return field(t, set, ".status.availableReplicas") }, fmt.Sprint(n))
	}
	eventually(t, "replicas of the authoritative set, still", func() string { return field(t, set, ".spec.replicas") }, fmt.Sprint(n))
}
