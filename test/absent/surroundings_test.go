// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package absent

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/testcluster"
)

var (
	complete = flag.Bool("complete", false, "delete everything in TestSurroundingsAreDeleted, and not only what the seed draws")
	only     = flag.String("only", "", "delete only what has these words in its name")
	seed     = flag.Uint64("seed", 0, "of what is drawn where not everything is played; 0: another one each time")
)

// loss is the deletion of an object that Machines live in: a namespace, CRD or Cluster.
type loss struct {
	kind, namespace, name string
	// takes is the API whose Machines may be deleted with the object.
	takes string
	// spares: no Machine is deleted with the object.
	spares bool
	// refuses: no Machine moves to the API `takes` while the object is being deleted.
	refuses bool
	// unseen: Poundlock is killed once the object is gone. It starts again after the object has been recreated and the garbage collector has run.
	unseen bool
	// restarts: Poundlock is killed while the object is being deleted, and starts again at once.
	restarts bool
	// late: Poundlock is killed once the object is gone, and starts again before the object is recreated. If Machine API stays, a Machine of it is
	// deleted then.
	late bool
	// held: a MachineSet is deleted, too. Its deletion waits, because another set of its API would adopt a Machine that it leaves.
	held bool
}

func (l loss) String() string {
	out := l.kind + " " + l.name
	if l.unseen {
		out += ", unseen"
	}
	if l.restarts {
		out += ", with a restart"
	}
	if l.late {
		out += ", with a late restart"
	}
	if l.held {
		out += ", with a deletion that waits"
	}
	return out
}

func losses() []loss {
	const crd = "CustomResourceDefinition"
	const machineAPI, clusterAPI = "MachineAPI", "ClusterAPI"
	return []loss{
		{kind: "Cluster", namespace: capi, name: "lock-7x2k9", takes: clusterAPI, refuses: true},
		{kind: crd, name: "machines.cluster.x-k8s.io", takes: clusterAPI, refuses: true},
		{kind: crd, name: "machinesets.cluster.x-k8s.io", takes: clusterAPI},
		{kind: crd, name: "clusters.cluster.x-k8s.io", takes: clusterAPI, refuses: true},
		{kind: crd, name: "clusters.cluster.x-k8s.io", takes: clusterAPI, late: true},
		{kind: crd, name: "machinedeployments.cluster.x-k8s.io", takes: clusterAPI, spares: true},
		{kind: crd, name: "awsclusters.infrastructure.cluster.x-k8s.io", takes: clusterAPI, spares: true},
		{kind: crd, name: "controlplanemachinesets.machine.openshift.io", takes: machineAPI, spares: true},
		{kind: crd, name: "machinehealthchecks.cluster.x-k8s.io", takes: clusterAPI, spares: true},
		{kind: crd, name: "awsmachines.infrastructure.cluster.x-k8s.io", takes: clusterAPI, refuses: true},
		{kind: crd, name: "awsmachinetemplates.infrastructure.cluster.x-k8s.io", takes: clusterAPI, spares: true},
		{kind: "Namespace", name: capi, takes: clusterAPI, refuses: true},
		{kind: "Namespace", name: capi, takes: clusterAPI, restarts: true},
		{kind: crd, name: "machines.machine.openshift.io", takes: machineAPI},
		{kind: crd, name: "machines.machine.openshift.io", takes: machineAPI, late: true},
		{kind: crd, name: "machinesets.machine.openshift.io", takes: machineAPI},
		{kind: crd, name: "machinesets.machine.openshift.io", takes: machineAPI, unseen: true},
		{kind: crd, name: "machinesets.cluster.x-k8s.io", takes: clusterAPI, unseen: true},
		{kind: crd, name: "machinehealthchecks.machine.openshift.io", takes: machineAPI, spares: true},
		{kind: "Namespace", name: mapi, takes: machineAPI},
		{kind: "Namespace", name: mapi, takes: machineAPI, held: true},
		{kind: "Namespace", name: capi, takes: clusterAPI, held: true},
		{kind: crd, name: "machinesets.machine.openshift.io", takes: machineAPI, held: true},
		{kind: "Cluster", namespace: capi, name: "lock-7x2k9", takes: clusterAPI, held: true},
	}
}

// TestSurroundingsAreDeleted allows and makes one of the losses, and recreates what was deleted. No Machine of the other API may lose its instance. One loss is
// drawn, unless -complete is set.
func TestSurroundingsAreDeleted(t *testing.T) {
	stories.Long(t)
	embedded.LeaveOut(t)
	all := slices.DeleteFunc(losses(), func(l loss) bool { return !strings.Contains(l.String(), *only) })
	if *seed == 0 {
		*seed = rand.Uint64() //nolint:gosec // a draw that can be repeated
	}
	if !*complete && *only == "" {
		all = all[*seed%uint64(len(all)):][:1]
	}
	t.Logf("seed %d", *seed)
	stage, err := testcluster.Set(t.Context(), testcluster.Options{Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	var table []string
	for i, l := range all {
		t.Run(l.String(), func(t *testing.T) {
			line := ""
			defer func() {
				table = append(table, fmt.Sprintf("%-80s | %s | failed: %t", l, line, t.Failed()))
			}()
			world{T: t, Stage: stage}.loses(l, "w"+strconv.Itoa(i), &line)
		})
	}
	t.Logf("what came of each deletion (seed %d):\n%s", *seed, strings.Join(table, "\n"))
}

// fleet has the Machines that a loss is played with: by name, the API that is authoritative and the instance.
type fleet struct {
	name     string
	hands    map[string]string
	instance map[string]string
}

func (w world) loses(l loss, name string, line *string) {
	w.Helper()
	process := w.Plane.PID(testcluster.Poundlock)
	f := w.fleet(name, l)
	if l.held {
		w.hold(f, l.takes)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(map[string]schema.GroupVersionKind{
		"Cluster":                  {Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"},
		"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		"Namespace":                {Version: "v1", Kind: "Namespace"},
	}[l.kind])
	o.SetNamespace(l.namespace)
	o.SetName(l.name)
	// A CRD that was recreated just now is marked within a minute.
	w.eventually("a deletion to be refused before anybody has allowed it", func(ctx context.Context) error {
		if err := w.Admin.Delete(ctx, o.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "authority/surroundings") {
			return fmt.Errorf("the answer is %v", err)
		}
		return nil
	})
	if err := w.Admin.Delete(w.Context(), o.DeepCopy()); err == nil || !strings.Contains(err.Error(), "authority/surroundings") {
		w.Errorf("deleting it before anybody has allowed it: %v", err)
	}
	w.allow(o, "true")
	w.must(w.Admin.Get(w.Context(), client.ObjectKeyFromObject(o), o))
	uid := o.GetUID()
	if l.kind == "Namespace" {
		w.grantEverywhere(l.name)
	}
	err := w.Admin.Delete(w.Context(), o.DeepCopy())
	if err != nil && l.takes == "MachineAPI" && strings.Contains(err.Error(), "[authority/control-plane-ends]") { // because of the fleet's master-0
		w.allow(o, "with-control-plane")
		err = w.Admin.Delete(w.Context(), o.DeepCopy())
	}
	w.must(err)
	if l.restarts {
		w.must(w.StopManager())
		w.must(w.StartManager(w.Context()))
		process = w.Plane.PID(testcluster.Poundlock)
	}
	if l.refuses {
		w.ask(name+"-lone-machineapi", l.takes)
	}
	began, before := time.Now(), w.writes(w.Context())
	gone := func(ctx context.Context) error {
		now := o.DeepCopy()
		err := w.Admin.Get(ctx, client.ObjectKeyFromObject(o), now)
		if served.Missing(err) || apierrors.IsNotFound(err) || err == nil && now.GetUID() != uid {
			return nil
		}
		return fmt.Errorf("it is there: %v, %v", err, now.Object["status"])
	}
	_ = wait.PollUntilContextTimeout(w.Context(), 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		return gone(ctx) == nil, nil
	}) // the error of gone says more than a timeout
	if err := gone(w.Context()); err != nil {
		w.Errorf("it does not go: %v", err)
	}
	took, meanwhile := time.Since(began).Round(time.Second), w.writes(w.Context())-before
	if most := float64(len(f.hands) * writesPerMachine); meanwhile > most {
		w.Errorf("%.0f writes while it was being deleted, want at most %.0f", meanwhile, most)
	}
	if l.refuses {
		w.ask(name+"-lone-machineapi", "MachineAPI")
	}
	if l.unseen {
		w.must(w.StopManager())
		w.eventually("the collector to delete what the sets owned", func(ctx context.Context) error { return w.collected(ctx, l, name) })
		w.must(w.Restore(w.Context()))
		w.must(w.StartManager(w.Context()))
		process = w.Plane.PID(testcluster.Poundlock)
	}
	if l.late {
		w.must(w.StopManager())
		w.must(w.StartManager(w.Context()))
		process = w.Plane.PID(testcluster.Poundlock)
		if l.takes == "ClusterAPI" {
			w.deletes(f, name+"-lone-machineapi")
		}
	}
	writes := w.writesEnd()
	alive := w.survivors(f, l)
	w.stands(process)
	w.must(w.Restore(w.Context()))
	back := w.comesBack(f)
	w.stands(process)
	if now := w.survivors(f, l); !maps.Equal(alive, now) {
		w.Errorf("after the deletion ran: %v, now %v", alive, now)
	}
	w.untilMirrored(f)
	if now := w.survivors(f, l); !maps.Equal(alive, now) {
		w.Errorf("before the mirrors were recreated: %v, now %v", alive, now)
	}
	w.replacedOnly(f, alive)
	if err := w.Cloud.Audit(); err != nil {
		w.Error(err)
	}
	w.tidy(f)
	*line = fmt.Sprintf("gone after %s, %.0f writes until then, %.1f/s afterwards | %s | back: %s", took, meanwhile, writes, f.fates(alive), back)
}

// deletes deletes a Machine for which Machine API is authoritative, and waits until it is gone with its instance.
func (w world) deletes(f fleet, name string) {
	w.Helper()
	w.must(w.Admin.Delete(w.Context(), object("machine.openshift.io/v1beta1", mapi, name)))
	w.eventually(name+" to go", func(ctx context.Context) error {
		if o, err := w.machineAPI(ctx, name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it has the finalizers %v: %v", o.GetFinalizers(), err)
		}
		if id := w.running()[name]; id != "" {
			return fmt.Errorf("%s runs", id)
		}
		return nil
	})
	delete(f.hands, name)
	delete(f.instance, name)
}

// writesPerMachine is how many writing requests Poundlock may send for each Machine and its sets while what they live in is being deleted. A pair that waits is
// not retried again and again.
const writesPerMachine = 40

// allow annotates a namespace, CRD or Cluster so that it may be deleted although mirrors live in it.
func (w world) allow(o *unstructured.Unstructured, value string) {
	w.Helper()
	w.must(w.Admin.Patch(w.Context(), o.DeepCopy(),
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"poundlock.openshift.io/allow-deletion":"`+value+`"}}}`))))
}

// collected returns an error if a Machine is not being deleted although the definition of its set was. l names that definition, and name the fleet.
func (w world) collected(ctx context.Context, l loss, name string) error {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(schema.GroupVersionKind{Group: strings.TrimPrefix(l.name, "machinesets."), Version: "v1beta1", Kind: "MachineList"})
	if err := w.Admin.List(ctx, all); err != nil {
		return err
	}
	for _, m := range all.Items {
		if owner := metav1.GetControllerOf(&m); owner != nil && owner.Kind == "MachineSet" && strings.HasPrefix(m.GetName(), name+"-") &&
			m.GetDeletionTimestamp() == nil {
			return fmt.Errorf("%s is not", m.GetName())
		}
	}
	return nil
}

// ask requests a move of a Machine.
func (w world) ask(name, api string) {
	w.Helper()
	w.must(w.Admin.Patch(w.Context(), object("machine.openshift.io/v1beta1", mapi, name),
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"authoritativeAPI":"`+api+`"}}`))))
}

// hold deletes the set of an API that is not authoritative, as the garbage collector, because a person's deletion would be refused. It waits until the deletion
// waits: the API's other set would adopt a Machine that the deleted set leaves.
func (w world) hold(f fleet, api string) {
	w.Helper()
	set := object("machine.openshift.io/v1beta1", mapi, f.name+"-clusterapi")
	if api == "ClusterAPI" {
		set = object("cluster.x-k8s.io/v1beta2", capi, f.name+"-machineapi")
	}
	set.SetKind("MachineSet")
	as := rest.CopyConfig(w.Plane.Admin())
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:generic-garbage-collector", Groups: []string{"system:masters"}}
	collector, err := client.New(as, client.Options{})
	w.must(err)
	w.must(collector.Delete(w.Context(), set))
	w.eventually("the deletion to wait", func(ctx context.Context) error {
		o := object("machine.openshift.io/v1beta1", mapi, set.GetName())
		o.SetKind("MachineSet")
		if err := w.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if is := fmt.Sprint(o.Object["status"]); !strings.Contains(is, "WouldBeAdopted") {
			return fmt.Errorf("its status is %s", is)
		}
		return nil
	})
}

// overlapping makes the set of an API select the Machines of both sets of a fleet.
func overlapping(set map[string]any, name string, takes bool) error {
	labels := map[string]any{"pool": name}
	if !takes {
		labels["set"] = "left"
	}
	return cmp.Or(unstructured.SetNestedField(set, labels, "spec", "selector", "matchLabels"),
		unstructured.SetNestedField(set, name, "spec", "template", "metadata", "labels", "pool"),
		unstructured.SetNestedField(set, map[bool]string{true: "taking", false: "left"}[takes], "spec", "template", "metadata", "labels", "set"))
}

// fleet creates two sets of four Machines, one for each API. Each has two Machines of either API. It also creates two Machines that no set owns.
func (w world) fleet(name string, l loss) fleet {
	w.Helper()
	f := fleet{name: name, hands: map[string]string{}, instance: map[string]string{}}
	for _, api := range []string{"MachineAPI", "ClusterAPI"} {
		set := map[string]any{}
		w.must(yaml.Unmarshal([]byte(testcluster.MachineSet(name+"-"+strings.ToLower(api), 4)), &set))
		if l.held {
			w.must(overlapping(set, name, api == l.takes))
		}
		w.must(w.Admin.Create(w.Context(), &unstructured.Unstructured{Object: set}))
		w.must(w.Admin.Create(w.Context(), loneOf(set, name+"-lone-"+strings.ToLower(api))))
	}
	w.eventually("the fleet to run and to be mirrored", func(ctx context.Context) error {
		machines := w.machines(ctx, name)
		if len(machines) != 10 {
			return fmt.Errorf("%d Machines", len(machines))
		}
		return w.allSynchronized(ctx, machines)
	})
	var toMove []*unstructured.Unstructured
	of := map[string]int{}
	for _, m := range w.machines(w.Context(), name) {
		api := "MachineAPI"
		owner := metav1.GetControllerOf(m)
		switch {
		case owner == nil && strings.HasSuffix(m.GetName(), "clusterapi"):
			api = "ClusterAPI"
		case owner != nil:
			if of[owner.Name]++; of[owner.Name] > 2 {
				api = "ClusterAPI"
			}
		}
		f.hands[m.GetName()] = api
		if api == "ClusterAPI" {
			toMove = append(toMove, m)
		}
	}
	set := object("machine.openshift.io/v1beta1", mapi, name+"-clusterapi")
	set.SetKind("MachineSet")
	toMove = append(toMove, set)
	for _, o := range toMove {
		w.must(w.Admin.Patch(w.Context(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`))))
	}
	for _, o := range toMove {
		w.eventually(o.GetName()+" to move", func(ctx context.Context) error {
			if err := w.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if is, _, _ := unstructured.NestedString(o.Object, "status", "authoritativeAPI"); is != "ClusterAPI" || conditionOf(o, "AuthoritySettled") != "True" {
				return fmt.Errorf("authority is %s: %v", is, o.Object["status"])
			}
			return nil
		})
	}
	for name := range f.hands {
		f.instance[name] = w.running()[name]
	}
	w.eventually("the surroundings to be marked", func(ctx context.Context) error {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		if err := w.Admin.Get(ctx, client.ObjectKey{Name: capi}, o); err != nil {
			return err
		}
		if mark := o.GetAnnotations()["poundlock.openshift.io/holds-mirrors"]; mark == "" {
			return fmt.Errorf("no mark")
		}
		return nil
	})
	return f
}

// loneOf returns a Machine like those of a set, but one that no set owns.
func loneOf(set map[string]any, name string) *unstructured.Unstructured {
	labels, _, _ := unstructured.NestedStringMap(set, "spec", "template", "metadata", "labels")
	spec, _, _ := unstructured.NestedMap(set, "spec", "template", "spec")
	for _, chosenBy := range []string{"machine.openshift.io/cluster-api-machineset", "pool", "set"} {
		delete(labels, chosenBy)
	}
	o := object("machine.openshift.io/v1beta1", mapi, name)
	o.Object["spec"] = spec
	o.SetLabels(labels)
	return o
}

// machines returns the Machine API's objects of a fleet.
func (w world) machines(ctx context.Context, name string) (out []*unstructured.Unstructured) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(schema.FromAPIVersionAndKind("machine.openshift.io/v1beta1", "MachineList"))
	if err := w.Admin.List(ctx, all, client.InNamespace(mapi)); err != nil {
		return nil
	}
	for i := range all.Items {
		if strings.HasPrefix(all.Items[i].GetName(), name+"-") {
			out = append(out, &all.Items[i])
		}
	}
	return out
}

func conditionOf(o *unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}

func (w world) allSynchronized(ctx context.Context, machines []*unstructured.Unstructured) error {
	for _, m := range machines {
		if phase, _, _ := unstructured.NestedString(m.Object, "status", "phase"); phase != "Running" {
			return fmt.Errorf("%s is %s", m.GetName(), phase)
		}
		if err := w.synchronized(ctx, m.GetName(), "True", "ResourceSynchronized", ""); err != nil {
			return fmt.Errorf("%s: %w", m.GetName(), err)
		}
	}
	return nil
}

// running returns the instances that nobody has terminated, by Machine.
func (w world) running() map[string]string {
	out := map[string]string{}
	for _, i := range w.Cloud.Instances() {
		if i.Ended.IsZero() {
			out[i.Machine.Name] = strings.TrimSpace(out[i.Machine.Name] + " " + i.ID)
		}
	}
	return out
}

// survivors returns the Machines of the fleet that still have their instance. The Machines of the API that the loss does not take must be among them.
func (w world) survivors(f fleet, l loss) map[string]string {
	w.Helper()
	out, now := map[string]string{}, w.running()
	for name, id := range f.instance {
		switch {
		case id == "":
			w.Errorf("%s had no instance", name)
		case now[name] == id:
			out[name] = id
		case l.spares || f.hands[name] != l.takes:
			w.Errorf("%s is the Machine of %s. It had the instance %s, and has %q", name, f.hands[name], id, now[name])
		}
	}
	ever := map[string]int{}
	for _, i := range w.Cloud.Instances() {
		if ever[i.Machine.Name]++; ever[i.Machine.Name] > 1 {
			w.Errorf("%s has had a second instance", i.Machine.Name)
		}
	}
	return out
}

// fates returns how many Machines still run, by the API that was authoritative and by the kind of Machine.
func (f fleet) fates(alive map[string]string) string {
	all, run := map[string]int{}, map[string]int{}
	for name, hands := range f.hands {
		kind := hands + " of " + strings.TrimPrefix(name[:strings.LastIndex(name, "-")], f.name+"-")
		if strings.Contains(name, "-lone-") {
			kind = hands + " lone"
		}
		all[kind]++
		if alive[name] != "" {
			run[kind]++
		}
	}
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fmt.Sprintf("%s %d/%d", kind, run[kind], all[kind]))
	}
	return strings.Join(out, ", ")
}

// stands checks that Poundlock is still the same process, and ready.
func (w world) stands(process int) {
	w.Helper()
	if now := w.Plane.PID(testcluster.Poundlock); now != process || process == 0 {
		w.Errorf("Poundlock's process was %d and is %d", process, now)
	}
	w.eventually("Poundlock to be ready", w.Ready)
}

// writesEnd waits until Poundlock hardly writes any more, and returns its writes per second.
func (w world) writesEnd() (rate float64) {
	w.Helper()
	const window = 10 * time.Second
	w.eventually("Poundlock's writes to end", func(ctx context.Context) error {
		before := w.writes(ctx)
		w.pass(window)
		if rate = (w.writes(ctx) - before) / window.Seconds(); rate > 1 {
			return fmt.Errorf("%.1f writes a second", rate)
		}
		return nil
	})
	return rate
}

// pass waits for a fixed time. There is no event to wait for, or the test checks that nothing happens.
func (w world) pass(long time.Duration) {
	w.Helper()
	timer := time.NewTimer(long)
	defer timer.Stop()
	<-timer.C
}

// writes returns the number of Poundlock's requests that write, by its metrics.
func (w world) writes(ctx context.Context) (n float64) {
	w.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.MetricsURL(), nil)
	w.must(err)
	answer, err := http.DefaultClient.Do(request)
	w.must(err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "rest_client_requests_total{") || strings.Contains(line, `method="GET"`) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		w.must(err)
		n += value
	}
	w.must(lines.Err())
	return n
}

// comesBack returns how many Machines that run have no Machine API object, as a text; "all" if each has one.
func (w world) comesBack(f fleet) string {
	w.Helper()
	w.pass(3 * time.Second)
	there := map[string]bool{}
	for _, m := range w.machines(w.Context(), f.name) {
		there[m.GetName()] = true
	}
	missing := 0
	for name := range f.hands {
		if w.running()[name] != "" && !there[name] {
			missing++
			w.Logf("%s (%s) has no Machine API object", name, f.hands[name])
		}
	}
	return cmp.Or(strings.TrimSuffix(fmt.Sprintf("%d without a Machine API object", missing), "0 without a Machine API object"), "all")
}

// replacedOnly checks that the set of Cluster API has created no more Machines than it has lost, and that no instance of these Machines has been terminated. If
// the set were to count the Machines that Machine API runs too late, it would create too many, and then delete some of its Machines.
func (w world) replacedOnly(f fleet, alive map[string]string) {
	w.Helper()
	lost, created := 0, []string{}
	for name := range f.hands {
		if strings.HasPrefix(name, f.name+"-clusterapi-") && alive[name] == "" {
			lost++
		}
	}
	for _, i := range w.Cloud.Instances() {
		if _, had := f.hands[i.Machine.Name]; had || !strings.HasPrefix(i.Machine.Name, f.name+"-clusterapi-") {
			continue
		}
		if created = append(created, i.Machine.Name); !i.Ended.IsZero() {
			w.Errorf("the instance of %s, which replaced another Machine, was terminated", i.Machine.Name)
		}
	}
	if len(created) > lost {
		w.Errorf("Cluster API's set has lost %d Machines, and has created %v", lost, created)
	}
}

// untilMirrored waits until each Machine that runs is mirrored.
func (w world) untilMirrored(f fleet) {
	w.Helper()
	w.eventually("every Machine that runs to be mirrored", func(ctx context.Context) error {
		running := w.running()
		return w.allSynchronized(ctx, slices.DeleteFunc(w.machines(ctx, f.name), func(m *unstructured.Unstructured) bool { return running[m.GetName()] == "" }))
	})
	// When a CRD has been recreated, Cluster API's manager at first counts no Machines of a set, until it has read them. If the set were deleted in that time, the
	// manager would let it go before its Machines.
	w.eventually("Cluster API to see the Machines of its set", func(ctx context.Context) error {
		set := object("cluster.x-k8s.io/v1beta2", capi, f.name+"-clusterapi")
		set.SetKind("MachineSet")
		err := w.Admin.Get(ctx, client.ObjectKeyFromObject(set), set)
		if apierrors.IsNotFound(err) || set.GetAnnotations()["cluster.x-k8s.io/paused"] != "" {
			return nil
		}
		want, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
		if has, _, _ := unstructured.NestedInt64(set.Object, "status", "replicas"); err == nil && has != want {
			return fmt.Errorf("it counts %d of %d", has, want)
		}
		return err
	})
}

// grantEverywhere gives Poundlock, in all namespaces, the rights that its Role gives it in one namespace. docs/runbooks.md asks for that before the namespace
// is deleted, because the Role is deleted first.
func (w world) grantEverywhere(namespace string) {
	w.Helper()
	role, as := &unstructured.Unstructured{}, "poundlock-"+namespace
	role.SetGroupVersionKind(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"})
	w.must(w.Admin.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: "poundlock"}, role))
	for _, o := range []map[string]any{
		{"kind": "ClusterRole", "rules": role.Object["rules"]},
		{
			"kind": "ClusterRoleBinding", "roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": as},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "poundlock", "namespace": capi}},
		},
	} {
		o["apiVersion"], o["metadata"] = "rbac.authorization.k8s.io/v1", map[string]any{"name": as}
		w.must(client.IgnoreAlreadyExists(w.Admin.Create(w.Context(), &unstructured.Unstructured{Object: o})))
	}
}

// tidy deletes the fleet on both sides, which must be possible.
func (w world) tidy(f fleet) {
	w.Helper()
	w.eventually("the fleet to go", func(ctx context.Context) error {
		var left []string
		for _, kind := range []string{"MachineSetList", "MachineList"} {
			for namespace, version := range map[string]string{mapi: "machine.openshift.io/v1beta1", capi: "cluster.x-k8s.io/v1beta2"} {
				all := &unstructured.UnstructuredList{}
				all.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
				if err := w.Admin.List(ctx, all, client.InNamespace(namespace)); err != nil {
					return err
				}
				for _, o := range all.Items {
					if !strings.HasPrefix(o.GetName(), f.name+"-") {
						continue
					}
					left = append(left, fmt.Sprintf("%s %s/%s, deleted %v, finalizers %v", o.GetKind(), namespace, o.GetName(),
						o.GetDeletionTimestamp() != nil, o.GetFinalizers()))
					if o.GetDeletionTimestamp() == nil {
						if err := client.IgnoreNotFound(w.Admin.Delete(ctx, &o)); err != nil {
							return err
						}
					}
				}
			}
		}
		for name := range w.running() {
			if strings.HasPrefix(name, f.name+"-") {
				return fmt.Errorf("%s runs; these are left: %s", name, strings.Join(left, "; "))
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("these are left: %s", strings.Join(left, "; "))
		}
		return nil
	})
}
