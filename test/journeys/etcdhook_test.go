// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/go-logr/logr"
	clientrest "k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/neighbours"
	"github.com/poundlock/poundlock/test/simulation"
)

// etcdsOperator runs etcd's operator in this process, in the place of its own process, and records its requests.
func etcdsOperator(t *testing.T) *neighbours.Log {
	t.Helper()
	log, config := &neighbours.Log{}, clientrest.CopyConfig(stage.Plane.Admin())
	config.Wrap(log.Wrap)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- simulation.Run(ctx, simulation.Options{Config: config, Pairs: stage.Pairs, Log: logr.Discard()}, simulation.Etcd)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := stage.StartSide(simulation.Etcd); err != nil {
			t.Error(err)
		}
	})
	return log
}

// drainsNothing runs the simulated drain controller of the Machine API until the test ends, and returns it. The test can then check that it would have drained
// nothing.
func drainsNothing(t *testing.T) *neighbours.DrainController {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	drain := &neighbours.DrainController{}
	if _, err := neighbours.Start(ctx, stage.Plane.Admin(), simulation.Scheme(), 20*time.Millisecond, drain); err != nil {
		t.Fatal(err)
	}
	return drain
}

// The operator of etcd only knows the Machine API, and drains nothing itself. What it writes there blocks and releases a Machine that Cluster API runs.
func TestEtcdHoldsAMachineThatClusterAPIRuns(t *testing.T) {
	stories.Long(t)
	controlPlane(t, true)
	if err := stage.StopSide(simulation.Etcd); err != nil {
		t.Fatal(err)
	}
	start := sync.OnceValue(func() *neighbours.Log { return etcdsOperator(t) })
	t.Cleanup(func() { start() }) // or the operator's own process would not come back
	drain := drainsNothing(t)
	one := masters(t)[0]
	name, books := one.Name, opened()
	move(t, mapiMachine(name), "ClusterAPI")

	must(t, append(capiMachine(name).args("delete"), "--wait=false")...)
	reason := func() string { return field(t, capiMachine(name), `.status.conditions[?(@.type=="Deleting")].reason`) }
	eventually(t, "Cluster API waits for the hook", reason, "WaitingForPreDrainHook")
	eventually(t, "the mirror is being deleted", func() string {
		return fmt.Sprint(field(t, mapiMachine(name), ".metadata.deletionTimestamp") != "")
	}, "true")
	for range 10 { // each look takes longer than a pass of any controller
		if got := reason(); got != "WaitingForPreDrainHook" {
			t.Fatalf("the hook does not hold it: %s", got)
		}
		if got := field(t, mapiMachine(name), ".status.phase") + condition(t, mapiMachine(name), "Drained"); got != "Running" {
			t.Errorf("the mirror looks like work: %s", got)
		}
		if cordoned := field(t, object{"", "nodes", one.Status.NodeRef.Name}, ".spec.unschedulable"); cordoned != "" {
			t.Error("its Node is being drained")
		}
	}
	if got := field(t, mapiMachine(name), ".spec.lifecycleHooks.preDrain[*].name"); got != simulation.EtcdHook {
		t.Errorf("its hooks are %q", got)
	}

	// Only the operator may remove the hook, and it may remove nothing else.
	without := `[{"op":"remove","path":"/spec/lifecycleHooks/preDrain"}]`
	refused(t, kubectl(t, "", append(mapiMachine(name).args("patch"), "--type=json", "-p", without)...), "authority/spec-locked")
	more := `{"spec":{"lifecycleHooks":{"preDrain":null},"providerSpec":{"value":{"instanceType":"m6i.metal"}}}}`
	refused(t, kubectl(t, "", append(mapiMachine(name).args("patch"), "--type=merge", "-p", more, "--as="+neighbours.EtcdOperator{}.Identity())...),
		"authority/spec-locked")

	log := start()
	for _, o := range []object{capiMachine(name), awsMachine(name), mapiMachine(name)} {
		eventually(t, o.resource+" "+name+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
	}
	updated(t, 3)
	voting(t)
	if drain.Drained(name) {
		t.Error("the Machine API's drain controller would have drained the Node, too")
	}
	if phases := drain.Phases(name); phases[0] != "Running" || slices.Contains(phases, "") {
		t.Errorf("while it was being deleted, the mirror was in the phases %q", phases)
	}
	if ended := slices.IndexFunc(stage.Cloud.Ledger()[books.calls:], func(c machinetest.Call) bool {
		return c.Verb == machinetest.Terminate && c.Machine.Name == name && string(c.Caller) == "ClusterAPI"
	}); ended < 0 {
		t.Error("Cluster API did not end the instance")
	}
	if all := log.Refused(); len(all) > 0 {
		t.Errorf("requests of etcd's operator were refused:\n%s", strings.Join(all, "\n"))
	}
	// It sends one PUT to release the Machine, and one to hold the Machine's replacement.
	if puts := log.Written("machines/"); len(puts) > 2 {
		t.Errorf("etcd's operator had to write %d times:\n%s", len(puts), strings.Join(puts, "\n"))
	}
}

// The operator's hook is also added to a Machine that Cluster API runs. It is restored if somebody removes it there.
func TestEtcdHoldsAMachineAnew(t *testing.T) {
	stories.Long(t)
	controlPlane(t, true)
	if err := stage.StopSide(simulation.Etcd); err != nil {
		t.Fatal(err)
	}
	log := etcdsOperator(t)
	name := masters(t)[0].Name
	move(t, mapiMachine(name), "ClusterAPI")
	hook := `pre-drain.delete.hook.machine.cluster.x-k8s.io/` + simulation.EtcdHook
	must(t, append(capiMachine(name).args("annotate"), hook+"-")...)
	eventually(t, "etcd's operator adds it again", func() string { return fmt.Sprint(len(log.Written("machines/" + name))) }, "1")
	eventually(t, "and it is carried over", func() string { return etcdHook(t, name) }, simulation.EtcdHookOwner)
	move(t, mapiMachine(name), "MachineAPI")
	if got := field(t, mapiMachine(name), ".spec.lifecycleHooks.preDrain[*].name"); got != simulation.EtcdHook {
		t.Errorf("back in the Machine API, its hooks are %q", got)
	}
	if all := log.Refused(); len(all) > 0 || len(log.Written("machines/")) != 1 {
		t.Errorf("etcd's operator wrote %v, and was refused %v", log.Written("machines/"), all)
	}
}
