// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/diff"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

var on = flag.String("on", "VSphere", "the platforms to play on, separated by commas; all for every one that there is")

// TestTheFleetMoves: on each platform a set moves to Cluster API, is scaled there and moves back, and so does each Machine that can.
func TestTheFleetMoves(t *testing.T) {
	stories.Long(t)
	embedded.LeaveOut(t)
	for _, name := range chosen() {
		t.Run(name, func(t *testing.T) {
			stage, err := testcluster.Set(t.Context(), testcluster.Options{Platform: name, Out: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := stage.Strike(); err != nil {
					t.Error(err)
				}
			})
			play{stage, name}.all(t)
			if err := stage.Cloud.Audit(); err != nil {
				t.Error(err)
			}
		})
	}
}

func chosen() []string {
	if *on != "all" {
		return strings.Split(*on, ",")
	}
	var out []string
	for _, kit := range platformstest.Kits() {
		out = append(out, kit.Platform.Name)
	}
	return out
}

// play is the story on one stage.
type play struct {
	*testcluster.Stage
	platform string
}

func (p play) all(t *testing.T) {
	set := p.machineAPI("MachineSet", "worker-a")
	p.same(t)
	p.move(t, set, "ClusterAPI")
	p.scale(t, p.clusterAPI("MachineSet", "worker-a"), 3)
	p.running(t, 3)
	p.same(t)
	p.move(t, set, "MachineAPI")
	p.same(t)
	p.scale(t, set, 4)
	p.running(t, 4)

	check := p.check(t)
	p.move(t, check, "ClusterAPI")
	p.same(t)
	p.move(t, check, "MachineAPI")
	p.same(t)

	p.request(t, p.machineAPI("MachineSet", "worker-b"), "ClusterAPI")
	p.eventually(t, "worker-b says which fields keep it", func() string {
		return condition(p.get(t, p.machineAPI("MachineSet", "worker-b")), "Synchronized", "reason")
	}, "FieldsNotConvertible")

	alone := p.machineAPI("Machine", p.Alone())
	p.move(t, alone, "ClusterAPI")
	p.same(t)
	p.kept(t, "acts")
	p.move(t, alone, "MachineAPI")
	p.same(t)
	p.kept(t, "paused")
	like := p.get(t, alone)
	if err := p.Admin.Delete(t.Context(), alone.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	p.kept(t, "gone")
	p.deletedTooEarly(t, like)
	p.lostItsInstance(t, like)
}

// check makes a MachineHealthCheck of the Machine API's that remediates nothing, and waits until it is mirrored.
func (p play) check(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	check := p.machineAPI("MachineHealthCheck", "patient")
	check.Object["spec"] = map[string]any{
		"authoritativeAPI":    "MachineAPI",
		"selector":            map[string]any{"matchLabels": map[string]any{"machine.openshift.io/cluster-api-machineset": "worker-a"}},
		"unhealthyConditions": []any{map[string]any{"type": "Ready", "status": "False", "timeout": "8h"}},
		"maxUnhealthy":        "40%", "nodeStartupTimeout": "8h",
	}
	if err := p.Admin.Create(t.Context(), check); err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "MachineHealthCheck patient is mirrored", func() string { return condition(p.get(t, check), "Synchronized", "status") }, "True")
	return check
}

// deletedTooEarly: a Machine moves and is deleted before its provider could make the object that it keeps for the instance. The instance ends nevertheless,
// once the provider can. On vSphere there is one before the move.
func (p play) deletedTooEarly(t *testing.T, like *unstructured.Unstructured) {
	t.Helper()
	platform, _ := platforms.For(p.platform)
	if platform.InfraInstance.Empty() {
		return
	}
	const name = "early"
	early := p.another(t, name, like)
	lift := p.refuseInstances(t, platform.InfraInstance)
	p.move(t, early, "ClusterAPI")
	twin := p.clusterAPI("Machine", name)
	if err := p.Admin.Delete(t.Context(), twin.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if platform.InstanceSpec == nil {
		p.eventually(t, "Machine early waits for its provider", func() string { return condition(p.get(t, twin), "Deleting", "reason") },
			"WaitingForPreTerminateHook")
		if n := len(p.Cloud.InstancesOf(name)); n != 1 {
			t.Errorf("%d instances of Machine early while it waits, want 1", n)
		}
	}
	lift()
	p.leavesNothing(t, twin)
}

// lostItsInstance: somebody deletes what the provider keeps for the instance of a Machine of Cluster API's, and the provider terminates the instance. Each API
// reports that it is gone, once it is authoritative.
func (p play) lostItsInstance(t *testing.T, like *unstructured.Unstructured) {
	t.Helper()
	platform, _ := platforms.For(p.platform)
	kind := platform.InfraInstance
	if kind.Empty() {
		return
	}
	lost := p.another(t, "lost", like)
	p.move(t, lost, "ClusterAPI")
	if err := p.Admin.Delete(t.Context(), named(kind.GroupVersion().String(), kind.Kind, p.Pairs[0].ClusterAPI, lost.GetName())); err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "the mirror of a Machine whose instance is gone", func() string { return condition(p.get(t, lost), "InstanceExists", "status") }, "False")
	p.eventually(t, "a move is allowed, once what was deleted is gone", func() string {
		err := p.Admin.Patch(t.Context(), lost.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"authoritativeAPI":"MachineAPI"}}`)))
		return fmt.Sprint(err)
	}, "<nil>")
	p.move(t, lost, "MachineAPI")
	// It fails the Machine two minutes after its creation.
	p.eventually(t, "the Machine API has looked for it", func() string { return condition(p.get(t, lost), "InstanceExists", "reason") }, "InstanceMissing")
	if err := p.Admin.Delete(t.Context(), lost.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	p.leavesNothing(t, lost)
}

// another makes a Machine of the Machine API like one that there is, and waits until it runs and is mirrored.
func (p play) another(t *testing.T, name string, like *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	m := p.machineAPI("Machine", name)
	m.SetLabels(like.GetLabels())
	m.Object["spec"] = map[string]any{"providerSpec": like.Object["spec"].(map[string]any)["providerSpec"], "authoritativeAPI": "MachineAPI"}
	if err := p.Admin.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "Machine "+name+" runs, and is mirrored", func() string {
		now := p.get(t, m)
		phase, _, _ := unstructured.NestedString(now.Object, "status", "phase")
		return phase + " " + condition(now, "Synchronized", "status")
	}, "Running True")
	return m
}

// leavesNothing waits until a Machine that is being deleted and its instance are gone.
func (p play) leavesNothing(t *testing.T, m *unstructured.Unstructured) {
	t.Helper()
	p.eventually(t, "Machine "+m.GetName()+" and its instance are gone", func() string {
		err := p.Admin.Get(t.Context(), client.ObjectKeyFromObject(m), m.DeepCopy())
		left := slices.DeleteFunc(p.Cloud.InstancesOf(m.GetName()), machinetest.Instance.Gone)
		return fmt.Sprintf("%t, %d instances", apierrors.IsNotFound(err), len(left))
	}, "true, 0 instances")
}

// refuseInstances has the API server refuse to create what the provider keeps for its instances, until lift is called.
func (p play) refuseInstances(t *testing.T, kind conversion.Resource) (lift func()) {
	t.Helper()
	policy := named("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "refuse-instances")
	policy.Object["spec"] = map[string]any{
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []any{kind.Group}, "apiVersions": []any{"*"}, "resources": []any{kind.Plural}, "operations": []any{"CREATE"},
		}}},
		"validations": []any{map[string]any{"expression": "false", "message": "refused for a while"}},
	}
	binding := named("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", "refuse-instances")
	binding.Object["spec"] = map[string]any{"policyName": policy.GetName(), "validationActions": []any{"Deny"}}
	for _, o := range []client.Object{policy, binding} {
		if err := p.Admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	probe := named(kind.GroupVersion().String(), kind.Kind, p.Pairs[0].ClusterAPI, "probe")
	p.eventually(t, "the policy refuses", func() string {
		err := p.Admin.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)
		return fmt.Sprint(err != nil && strings.Contains(err.Error(), "refused for a while"))
	}, "true")
	return func() {
		t.Helper()
		for _, o := range []client.Object{binding, policy} {
			if err := p.Admin.Delete(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
	}
}

// kept waits until what the provider keeps for the instance of the Machine that no set owns is as wanted, where the provider keeps something.
func (p play) kept(t *testing.T, want string) {
	t.Helper()
	platform, _ := platforms.For(p.platform)
	if platform.InfraInstance.Empty() {
		return
	}
	o := named(platform.InfraInstance.GroupVersion().String(), platform.InfraInstance.Kind, p.Pairs[0].ClusterAPI, p.Alone())
	p.eventually(t, platform.InfraInstance.Kind+" of "+p.Alone(), func() string {
		now := o.DeepCopy()
		err := p.Admin.Get(t.Context(), client.ObjectKeyFromObject(o), now)
		_, paused := now.GetAnnotations()[authority.PausedAnnotation]
		switch {
		case apierrors.IsNotFound(err):
			return "gone"
		case err != nil:
			return err.Error()
		case paused:
			return "paused"
		}
		return "acts"
	}, want)
}

// same waits until no pair that is Synchronized differs, in the words of either API: what the mirror calls equal, kubectl poundlock diff calls equal.
func (p play) same(t *testing.T) {
	t.Helper()
	client, err := dynamic.NewForConfig(p.Plane.Admin())
	if err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "fields that differ where Synchronized is True", func() string {
		f, err := inventory.FromCluster(t.Context(), client, inventory.Query{Pairs: authority.Pairs{inventory.DefaultPair}})
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, pair := range f.Pairs {
			if pair.Shape().Condition(authority.ConditionSynchronized).Status == "True" {
				out = append(out, differing(f, pair)...)
			}
		}
		return strings.Join(out, "\n")
	}, "")
}

func differing(f *inventory.Fleet, pair inventory.Pair) []string {
	env, err := f.Env(f.Describe(inventory.Cluster{}), pair)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, in := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		c, err := diff.Compare(pair, in, env, f.SelectsBy(pair))
		if err != nil {
			return []string{pair.Ref() + ": " + err.Error()}
		}
		for _, u := range c.Unspeakable {
			out = append(out, pair.Ref()+" "+u.Path+" "+u.Reason)
		}
		for _, r := range c.Rows {
			if r.Differs() {
				out = append(out, fmt.Sprintf("%s %s: %s, %s", pair.Ref(), r.Path, r.MachineAPI, r.ClusterAPI))
			}
		}
	}
	return out
}

func (p play) machineAPI(kind, name string) *unstructured.Unstructured {
	return named("machine.openshift.io/v1beta1", kind, p.Pairs[0].MachineAPI, name)
}

func (p play) clusterAPI(kind, name string) *unstructured.Unstructured {
	return named("cluster.x-k8s.io/v1beta2", kind, p.Pairs[0].ClusterAPI, name)
}

func named(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// move asks for authority and waits until the controllers of both sides have acknowledged it.
func (p play) move(t *testing.T, o *unstructured.Unstructured, to string) {
	t.Helper()
	p.request(t, o, to)
	p.eventually(t, fmt.Sprintf("%s %s is %s's, and settled", o.GetKind(), o.GetName(), to), func() string {
		now := p.get(t, o)
		authoritative, _, _ := unstructured.NestedString(now.Object, "status", "authoritativeAPI")
		return authoritative + " " + condition(now, "AuthoritySettled", "status") + " " + condition(now, "Synchronized", "status")
	}, to+" True True")
}

func (p play) request(t *testing.T, o *unstructured.Unstructured, to string) {
	t.Helper()
	p.patch(t, o, fmt.Sprintf(`{"spec":{"authoritativeAPI":%q}}`, to))
}

func (p play) scale(t *testing.T, o *unstructured.Unstructured, replicas int) {
	t.Helper()
	p.patch(t, o, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

func (p play) patch(t *testing.T, o *unstructured.Unstructured, body string) {
	t.Helper()
	if err := p.Admin.Patch(t.Context(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// running waits until so many Machines of worker-a run, by the word of each API.
func (p play) running(t *testing.T, want int) {
	t.Helper()
	for _, list := range []*unstructured.Unstructured{p.machineAPI("MachineList", ""), p.clusterAPI("MachineList", "")} {
		p.eventually(t, fmt.Sprintf("Machines of worker-a that run, in %s", list.GetAPIVersion()), func() string {
			n := 0
			for _, m := range p.list(t, list) {
				phase, _, _ := unstructured.NestedString(m.Object, "status", "phase")
				if strings.HasPrefix(m.GetName(), "worker-a-") && phase == "Running" {
					n++
				}
			}
			return fmt.Sprint(n)
		}, fmt.Sprint(want))
	}
}

func (p play) list(t *testing.T, like *unstructured.Unstructured) []unstructured.Unstructured {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(like.GroupVersionKind())
	if err := p.Admin.List(t.Context(), all, client.InNamespace(like.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func (p play) get(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	now := o.DeepCopy()
	if err := p.Admin.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
		t.Fatal(err)
	}
	return now
}

func condition(o *unstructured.Unstructured, kind, field string) string {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			text, _ := c[field].(string)
			return text
		}
	}
	return ""
}

// patience is for a machine whose processors are busy with something else.
const patience = 90 * time.Second

func (p play) eventually(t *testing.T, what string, state func() string, want string) {
	t.Helper()
	var got string
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		got = state()
		return got == want, p.Cause()
	})
	if err != nil {
		t.Fatalf("%s: %q, want %q: %v", what, got, want, err)
	}
}
