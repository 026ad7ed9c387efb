// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/neighbours"
	"github.com/poundlock/poundlock/test/simulation"
)

// These are the phases of a move in which neighbours write.
const (
	byMachineAPI = "MachineAPI"
	migrating    = "Migrating"
	byClusterAPI = "ClusterAPI"
)

// write is a request of a neighbour to a MachineSet or its Machine.
type write struct {
	sentence, who string
	machine       bool
	clusterAPI    bool
	// dry: the request is sent as a dry run. It would end a Machine, and is allowed.
	dry bool
	do  func(context.Context, client.Client, *unstructured.Unstructured) error
	// refused names the rule that refuses the write, by the phase of the move. In other phases the write is allowed.
	refused map[string]string
	// kept lists fields that must have the same value afterwards.
	kept []string
	// back undoes a change that was allowed.
	back func(context.Context, client.Client, *unstructured.Unstructured) error
}

const (
	config  = "system:serviceaccount:openshift-machine-config-operator:machine-config-controller"
	admin   = "system:admin"
	manager = "system:serviceaccount:openshift-cluster-api:capi-manager"
)

func writes() []write {
	elsewhere := map[string]string{migrating: "authority/in-transit", byClusterAPI: "authority/spec-locked"}
	return []write{
		{sentence: "Machine API's controller writes what the instance is", who: neighbours.MachineAPIIdentity, machine: true,
			do: merged(`{"metadata":{"labels":{"machine.openshift.io/zone":"us-east-1a","machine.openshift.io/instance-type":"m6i.large"},"annotations":{"machine.openshift.io/instance-state":"running"}}}`)},
		{sentence: "it sends its own conditions alone", who: neighbours.MachineAPIIdentity, machine: true, do: status(neighbours.StatusWriter{Kind: "Machine"}), kept: []string{"status", "conditions"}},
		{sentence: "its controller of sets does", who: neighbours.MachineAPIIdentity, do: status(neighbours.StatusWriter{Kind: "MachineSet"}), kept: []string{"status", "conditions"}},
		{sentence: "a provider writes how large a machine is", who: neighbours.MachineAPIIdentity, do: merged(
			`{"metadata":{"annotations":{"machine.openshift.io/vCPU":"4","machine.openshift.io/memoryMb":"16384","machine.openshift.io/GPU":"0","capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=amd64"}}}`)},
		{sentence: "somebody else does", who: admin, dry: true, refused: map[string]string{migrating: "authority/metadata-reserved", byClusterAPI: "authority/metadata-reserved"},
			do: merged(`{"metadata":{"annotations":{"capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=arm64"}}}`)},
		{sentence: "a controller that is older than authoritativeAPI sends a whole set", who: neighbours.MachineAPIIdentity, do: put(func(o *unstructured.Unstructured) {
			unstructured.RemoveNestedField(o.Object, "spec", "authoritativeAPI")
			annotateWith(o, "machine.openshift.io/vCPU", "8")
		}), kept: []string{"spec", "authoritativeAPI"}},
		{sentence: "the health check asks for a reboot", who: neighbours.MachineAPIIdentity, machine: true, do: put(func(o *unstructured.Unstructured) { annotateWith(o, "host.metal3.io/external-remediation", "") }),
			back: merged(`{"metadata":{"annotations":{"host.metal3.io/external-remediation":null}}}`)},
		{sentence: "the machine-config-operator writes a boot image", who: config, refused: elsewhere,
			do:   merged(`{"spec":{"template":{"spec":{"providerSpec":{"value":{"ami":{"id":"ami-new"}}}}}}}`),
			back: merged(`{"spec":{"template":{"spec":{"providerSpec":{"value":{"ami":{"id":"ami-0f3c7d07486cad139"}}}}}}}`)},
		{sentence: "Hive labels a set", who: admin, do: put(func(o *unstructured.Unstructured) { label(o, "hive.openshift.io/managed", "true") }), back: merged(`{"metadata":{"labels":{"hive.openshift.io/managed":null}}}`)},
		{sentence: "Hive scales it", who: admin, dry: true, refused: elsewhere, do: put(replicas(2))},
		{sentence: "the console scales a set by its own field", who: admin, dry: true, refused: elsewhere, do: listed(`[{"op":"replace","path":"/spec/replicas","value":2}]`)},
		{sentence: "it marks a Machine, and takes all else off", who: admin, machine: true, do: listed(`[{"op":"replace","path":"/metadata/annotations","value":{"machine.openshift.io/cluster-api-delete-machine":"true"}}]`),
			refused: map[string]string{migrating: "authority/metadata-reserved", byClusterAPI: "authority/metadata-reserved"},
			back:    merged(`{"metadata":{"annotations":{"machine.openshift.io/cluster-api-delete-machine":null}}}`)},
		{sentence: "the storage version migrator sends back what it read", who: neighbours.StorageMigrator{}.Identity(), machine: true, do: put(func(*unstructured.Unstructured) {})},
		{sentence: "GitOps writes whose the set is", who: neighbours.GitOps{}.Identity(), do: merged(`{"metadata":{"labels":{"app.kubernetes.io/instance":"fleet"},"annotations":{"argocd.argoproj.io/tracking-id":"fleet:x"}}}`),
			back: merged(`{"metadata":{"labels":{"app.kubernetes.io/instance":null},"annotations":{"argocd.argoproj.io/tracking-id":null}}}`)},
		{sentence: "a restore is noted", who: admin, machine: true, do: merged(`{"metadata":{"labels":{"velero.io/restore-name":"r"}}}`), back: merged(`{"metadata":{"labels":{"velero.io/restore-name":null}}}`)},
		{sentence: "Cluster API's migrator applies nothing", who: manager, machine: true, clusterAPI: true, do: func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
			nothing := &unstructured.Unstructured{}
			nothing.SetGroupVersionKind(o.GroupVersionKind())
			nothing.SetNamespace(o.GetNamespace())
			nothing.SetName(o.GetName())
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(nothing), client.FieldOwner("crdmigrator"), client.ForceOwnership)
		}},
	}
}

func merged(patch string) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return sent(types.MergePatchType, patch)
}

func listed(patch string) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return sent(types.JSONPatchType, patch)
}

func sent(kind types.PatchType, patch string) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		return c.Patch(ctx, o, client.RawPatch(kind, []byte(patch)))
	}
}

// put sends the whole object, as it was read a moment before. It retries after a conflict.
func put(change func(*unstructured.Unstructured)) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
		var err error
		for range 20 {
			if err = c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			change(o)
			if err = c.Update(ctx, o); err == nil || !strings.Contains(err.Error(), "has been modified") {
				return err
			}
		}
		return err
	}
}

func status(w neighbours.StatusWriter) func(context.Context, client.Client, *unstructured.Unstructured) error {
	return func(ctx context.Context, c client.Client, _ *unstructured.Unstructured) error { return w.Pass(ctx, c) }
}

func replicas(n int64) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, n, "spec", "replicas") }
}

func annotateWith(o *unstructured.Unstructured, key, value string) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	o.SetAnnotations(all)
}

func label(o *unstructured.Unstructured, key, value string) {
	all := o.GetLabels()
	all[key] = value
	o.SetLabels(all)
}

// Each neighbour meets the lock at each phase of a move. What it must be able to write is allowed. A write on which two controllers would act is refused. A
// field that the neighbour drops because it does not know it is restored.
func TestNeighboursMeetTheLock(t *testing.T) {
	stories.Long(t)
	story(t)
	var writers []neighbours.Writer
	for _, w := range writes() {
		writers = append(writers, user(w.who))
	}
	if err := stage.Admit(t.Context(), append(writers, slices.Collect(maps.Values(neighbours.Residents("")))...)...); err != nil {
		t.Fatal(err)
	}
	set := newSet(t, "neighbourly", 1)
	machine := machinesOf(t, set.name)[0]
	meet := func(where string) {
		for _, w := range writes() {
			t.Run(where+": "+w.sentence, func(t *testing.T) { w.meets(t, where, set.name, machine) })
		}
	}
	meet(byMachineAPI)
	for _, o := range []object{set, mapiMachine(machine)} {
		settled(t, o)
	}
	stage.Freeze()
	thaw := sync.OnceFunc(stage.Thaw)
	t.Cleanup(thaw)
	request(t, set, "ClusterAPI")
	request(t, mapiMachine(machine), "ClusterAPI")
	authorityIs(t, set, "Migrating")
	authorityIs(t, mapiMachine(machine), "Migrating")
	meet(migrating)
	thaw()
	for _, o := range []object{set, mapiMachine(machine)} {
		authorityIs(t, o, "ClusterAPI")
		settled(t, o)
	}
	meet(byClusterAPI)
	for _, o := range []object{set, mapiMachine(machine)} {
		settled(t, o)
		if got := field(t, o, ".spec.authoritativeAPI"); got != "ClusterAPI" {
			t.Errorf("%s: by the neighbours' writes authority is asked for %s", o.name, got)
		}
	}
	if got := machinesOf(t, set.name); !slices.Equal(got, []string{machine}) || len(instances(machine)) != 1 {
		t.Errorf("Machines %v, instances of the first %v", got, instances(machine))
	}
}

// user is a writer that only has a name.
type user string

func (u user) Identity() string                        { return string(u) }
func (user) Pass(context.Context, client.Client) error { return nil }

func (w write) meets(t *testing.T, where, set, machine string) {
	t.Helper()
	as := clientrest.CopyConfig(stage.Plane.Admin())
	as.Impersonate = clientrest.ImpersonationConfig{UserName: w.who}
	as.WarningHandler = clientrest.NoWarnings{}
	c, err := client.New(as, client.Options{Scheme: simulation.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if w.dry {
		c = client.NewDryRunClient(c)
	}
	on := mapiSet(set)
	switch {
	case w.machine && w.clusterAPI:
		on = capiMachine(machine)
	case w.machine:
		on = mapiMachine(machine)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kindOf(t, on.resource))
	o.SetNamespace(on.namespace)
	o.SetName(on.name)
	before := w.keptIn(t, on)
	err = w.do(t.Context(), c, o.DeepCopy())
	rule := w.refused[where]
	switch {
	case rule == "" && err != nil:
		t.Errorf("refused: %v", err)
	case rule != "" && (err == nil || !strings.Contains(err.Error(), rule)):
		t.Errorf("want a refusal by %s: %v", rule, err)
	}
	if after := w.keptIn(t, on); after != before {
		t.Errorf("%v is %s, and was %s", w.kept, after, before)
	}
	if w.back != nil && err == nil && !w.dry {
		if err := w.back(t.Context(), stage.Admin, o.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
}

// keptIn returns what must not be lost. For conditions, that is their types.
func (w write) keptIn(t *testing.T, on object) string {
	t.Helper()
	if w.kept == nil {
		return ""
	}
	text := field(t, on, "."+strings.Join(w.kept, "."))
	var conditions []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &conditions) != nil {
		return text
	}
	var names []string
	for _, c := range conditions {
		names = append(names, c.Type)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// Everything that every cluster has writes beside the fleet. The fleet is still at rest with either API authoritative, and no request is refused.
func TestAFleetWithNeighboursIsAtRest(t *testing.T) {
	stories.Long(t)
	story(t)
	set := newSet(t, "visited", 1)
	machine := machinesOf(t, set.name)[0]
	residents := neighbours.Residents(set.name)
	if err := stage.Admit(t.Context(), slices.Collect(maps.Values(residents))...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer func() {
		stop()
		must(t, "-n", mapi, "delete", "machinehealthchecks.machine.openshift.io", "machine-api-termination-handler", "--ignore-not-found")
	}()
	logs := map[string]*neighbours.Log{}
	for name, w := range residents {
		log, err := neighbours.Start(ctx, stage.Plane.Admin(), simulation.Scheme(), 300*time.Millisecond, w)
		if err != nil {
			t.Fatal(err)
		}
		logs[name] = log
	}
	for _, api := range []string{byMachineAPI, byClusterAPI} {
		if api == byClusterAPI {
			move(t, set, api)
			move(t, mapiMachine(machine), api)
		}
		undisturbed(t, api, func() int { return len(logs["storage version migrator, sets"].Written("machinesets")) })
	}
	for name, log := range logs {
		// A list of conditions from before the pause is refused. The neighbour sends it again with what is stored (authority/status-owned).
		refused := slices.DeleteFunc(log.Refused(), func(r string) bool { return strings.Contains(r, "status.conditions[Paused]: Forbidden") })
		if len(refused) > 0 {
			t.Errorf("%s was refused: %v", name, refused)
		}
	}
}

// undisturbed requires a time in which only the neighbours write, every third of a second. The time is a minute beside OpenShift's own controllers (make proof
// WHAT=neighbours), else fifteen seconds. What a move or an earlier story leaves is written before that (the marks on namespaces, CRDs and the Cluster are
// written some seconds after a move). A fight over a field never ends.
func undisturbed(t *testing.T, api string, looks func() int) {
	t.Helper()
	const times = 6
	long := 15 * time.Second
	if *realAPI {
		long = time.Minute
	}
	for i := range times {
		before, reported, first := versions(t), scrape(t), looks()
		timer := time.NewTimer(long) // that nothing happens cannot be waited for otherwise
		<-timer.C
		if looked := looks() - first; looked < int(long/time.Second) {
			t.Fatalf("under %s, the neighbours looked %d times in %s: they have stopped", api, looked, long)
		}
		all := slices.DeleteFunc(moved(before, versions(t)), func(m string) bool { return strings.Contains(m, "Cluster ") }) // Clusters count Machines later
		writes := scrape(t).writes - reported.writes
		if len(all) == 0 && writes == 0 {
			return
		}
		t.Logf("under %s, in the %s number %d, Poundlock wrote %v times, and moved:\n%s", api, long, i+1, writes, strings.Join(all, "\n"))
	}
	t.Errorf("under %s, not one of %d times %s is at rest", api, times, long)
}
