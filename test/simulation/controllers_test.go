// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/simulation"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

const (
	mapi = "openshift-machine-api"
	capi = "openshift-cluster-api"
)

// TestControllers is one story on a cluster without Poundlock, since a control plane costs seconds: what each side's controllers do by
// themselves, how they pause, and that they fall silent.
func TestControllers(t *testing.T) {
	stories.Long(t)
	stage, err := testcluster.Set(t.Context(), testcluster.Options{Bare: true, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	c := stage.Admin
	t.Run("Machine API runs its Machines and adds its finalizer", func(t *testing.T) { machineAPIRuns(t, c) })
	t.Run("Machine API's set scales down and the instance goes", func(t *testing.T) { machineAPIScalesDown(t, c) })
	t.Run("Cluster API clones, provisions and labels what its set makes", func(t *testing.T) { clusterAPIRuns(t, c) })
	t.Run("what is paused acknowledges it, is still labelled by its set, and hangs when deleted", func(t *testing.T) { pauses(t, c) })
	t.Run("a pod runs on its Node, ends when it is deleted, and waits while the Node is silent", func(t *testing.T) { podsLive(t, c) })
	t.Run("a stopped instance's Node is silent", func(t *testing.T) { stops(t, stage) })
	t.Run("a copy in the other API's namespace is left alone", func(t *testing.T) { keepToTheirNamespaces(t, c) })
	t.Run("etcd's operator holds a Machine until its replacement votes", func(t *testing.T) { etcdHolds(t, stage) })
	t.Run("a fleet at rest writes nothing", func(t *testing.T) { rests(t, c) })
	t.Run("what an instance leaves behind goes with it", func(t *testing.T) { leavesNothing(t, stage) })
	if err := stage.Cloud.Audit(); err != nil {
		t.Error(err)
	}
}

func machineAPIRuns(t *testing.T, c client.Client) {
	m := &machinev1beta1.Machine{}
	get(t, c, mapi, "master-0", m)
	if len(m.Finalizers) != 1 || m.Finalizers[0] != "machine.machine.openshift.io" {
		t.Errorf("finalizers %v", m.Finalizers)
	}
	if m.Status.NodeRef == nil || m.Spec.ProviderID == nil || !strings.HasPrefix(*m.Spec.ProviderID, "aws:///us-east-1a/i-") {
		t.Errorf("nodeRef %v, providerID %v", m.Status.NodeRef, m.Spec.ProviderID)
	}
}

func machineAPIScalesDown(t *testing.T, c client.Client) {
	set := &machinev1beta1.MachineSet{}
	get(t, c, mapi, "worker-a", set)
	patch(t, c, set, `{"spec":{"replicas":1}}`)
	eventually(t, "one Machine of worker-a", func() bool {
		machines := &machinev1beta1.MachineList{}
		list(t, c, machines, client.InNamespace(mapi), client.MatchingLabels{"machine.openshift.io/cluster-api-machineset": "worker-a"})
		return len(machines.Items) == 1
	})
}

func clusterAPIRuns(t *testing.T, c client.Client) {
	template := &awsv1.AWSMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "blue", Namespace: capi}}
	template.Spec.Template.Spec.InstanceType = "m6i.large"
	labels := map[string]string{"set": "blue"}
	one, secret := int32(1), "worker-user-data"
	set := &clusterv1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Name: "blue", Namespace: capi},
		Spec: clusterv1.MachineSetSpec{
			ClusterName: "lock-7x2k9", Replicas: &one, Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: "lock-7x2k9", Bootstrap: clusterv1.Bootstrap{DataSecretName: &secret},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: awsv1.GroupVersion.Group, Kind: "AWSMachineTemplate", Name: "blue"},
				},
			},
		},
	}
	for _, o := range []client.Object{template, set} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	m := clusterAPIMachine(t, c, func(m clusterv1.Machine) bool { return m.Status.Phase == "Running" })
	infra := &awsv1.AWSMachine{}
	get(t, c, capi, m.Name, infra)
	if infra.Annotations[clusterv1.TemplateClonedFromNameAnnotation] != "blue" || !metav1.IsControlledBy(infra, &m) {
		t.Errorf("AWSMachine: annotations %v, owners %v", infra.Annotations, infra.OwnerReferences)
	}
	if len(infra.Finalizers) != 1 || infra.Finalizers[0] != awsv1.MachineFinalizer || m.Finalizers[0] != clusterv1.MachineFinalizer {
		t.Errorf("finalizers of the AWSMachine %v, of the Machine %v", infra.Finalizers, m.Finalizers)
	}
}

func pauses(t *testing.T, c client.Client) {
	m := clusterAPIMachine(t, c, func(clusterv1.Machine) bool { return true })
	patch(t, c, &m, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"no matter what"}}}`)
	m = clusterAPIMachine(t, c, func(m clusterv1.Machine) bool { return meta.IsStatusConditionTrue(m.Status.Conditions, "Paused") })
	infra := &awsv1.AWSMachine{}
	get(t, c, capi, m.Name, infra)
	patch(t, c, infra, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	eventually(t, "a paused AWSMachine", func() bool {
		get(t, c, capi, m.Name, infra)
		for _, condition := range infra.Status.Conditions {
			if condition.Type == "Paused" {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	})
	set := &clusterv1.MachineSet{}
	get(t, c, capi, "blue", set)
	patch(t, c, set, `{"spec":{"template":{"metadata":{"labels":{"painted":"yes"}}}}}`)
	clusterAPIMachine(t, c, func(m clusterv1.Machine) bool { return m.Labels["painted"] == "yes" })
	patch(t, c, set, `{"spec":{"replicas":0}}`)
	m = clusterAPIMachine(t, c, func(m clusterv1.Machine) bool { return m.DeletionTimestamp != nil })
	patch(t, c, &m, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	patch(t, c, infra, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
	eventually(t, "no Machine of blue", func() bool {
		machines := &clusterv1.MachineList{}
		list(t, c, machines, client.InNamespace(capi))
		return len(machines.Items) == 0
	})
}

func podsLive(t *testing.T, c client.Client) {
	node := &corev1.Node{}
	get(t, c, "", nodeOf(t, c, "master-0"), node)
	first := bind(t, c, "first", node.Name)
	running(t, c, first)
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	gone(t, c, first)
	patch(t, c, node, `{"metadata":{"annotations":{"simulation.poundlock.io/not-ready":"the disk is on fire"}}}`)
	ready(t, c, node.Name, corev1.ConditionFalse, "the disk is on fire")
	second := bind(t, c, "second", node.Name)
	third := bind(t, c, "third", node.Name)
	if err := c.Delete(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	pause(time.Second) // several beats of a kubelet that lives
	get(t, c, "default", second.Name, second)
	if second.Status.Phase == corev1.PodRunning {
		t.Error("a pod was started by a kubelet that is silent")
	}
	get(t, c, "default", third.Name, third) // to end it is the kubelet's
	patch(t, c, node, `{"metadata":{"annotations":{"simulation.poundlock.io/not-ready":null}}}`)
	ready(t, c, node.Name, corev1.ConditionTrue, "simulated")
	running(t, c, second)
	gone(t, c, third)
}

func stops(t *testing.T, stage *testcluster.Stage) {
	i := stage.Cloud.InstancesOf("master-0")[0]
	if err := stage.Cloud.Act(i.ID, machinetest.Stop); err != nil {
		t.Fatal(err)
	}
	ready(t, stage.Admin, i.DNS(), corev1.ConditionFalse, "the instance is stopped")
	if err := stage.Cloud.Act(i.ID, machinetest.Boot); err != nil {
		t.Fatal(err)
	}
	ready(t, stage.Admin, i.DNS(), corev1.ConditionTrue, "simulated")
}

// keepToTheirNamespaces: Machines of each API in the other's namespace, which have the ID of an instance that runs, and then one in its own namespace.
func keepToTheirNamespaces(t *testing.T, c client.Client) {
	workers, cluster := &machinev1beta1.MachineList{}, &clusterv1.Cluster{}
	list(t, c, workers, client.InNamespace(mapi), client.MatchingLabels{"machine.openshift.io/cluster-api-machineset": "worker-a"})
	spec := workers.Items[0].Spec
	get(t, c, capi, "lock-7x2k9", cluster)
	elsewhere := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: mapi, Name: cluster.Name}, Spec: cluster.Spec}
	create(t, c, elsewhere)
	running := *spec.ProviderID
	wrong := []client.Object{machineAPIMachine(t, c, capi, spec, running), awsMachine(t, c, mapi, running)}
	right := []client.Object{machineAPIMachine(t, c, mapi, spec, ""), awsMachine(t, c, capi, "")}
	for _, o := range right {
		eventually(t, fmt.Sprintf("the finalizer of %T %s", o, o.GetName()), func() bool {
			get(t, c, o.GetNamespace(), o.GetName(), o)
			return len(o.GetFinalizers()) > 0
		})
	}
	for _, o := range wrong {
		get(t, c, o.GetNamespace(), o.GetName(), o)
		if len(o.GetFinalizers()) > 0 {
			t.Errorf("%T in %s has the finalizers %v", o, o.GetNamespace(), o.GetFinalizers())
		}
	}
	for _, o := range append(wrong, elsewhere, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: mapi, Name: "copied"}},
		right[0], &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: capi, Name: "copied"}}) {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Error(err)
		}
	}
	gone(t, c, right[0])
	gone(t, c, right[1])
}

// machineAPIMachine makes a Machine whose instance is known, or is to be made.
func machineAPIMachine(t *testing.T, c client.Client, namespace string, spec machinev1beta1.MachineSpec, id string) *machinev1beta1.Machine {
	t.Helper()
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copy"}, Spec: *spec.DeepCopy()}
	m.Spec.ProviderID = nil
	if id != "" {
		m.Spec.ProviderID = &id
	}
	create(t, c, m)
	return m
}

// awsMachine makes an AWSMachine with the Machine that owns it.
func awsMachine(t *testing.T, c client.Client, namespace, id string) *awsv1.AWSMachine {
	t.Helper()
	secret := "worker-user-data"
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copied"}}
	owner.Spec = clusterv1.MachineSpec{
		ClusterName: "lock-7x2k9", Bootstrap: clusterv1.Bootstrap{DataSecretName: &secret}, ProviderID: id,
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: awsv1.GroupVersion.Group, Kind: "AWSMachine", Name: "copied"},
	}
	create(t, c, owner)
	m := &awsv1.AWSMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "copied"}, Spec: awsv1.AWSMachineSpec{InstanceType: "m6i.large"}}
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine"))}
	if id != "" {
		m.Spec.ProviderID = &id
	}
	create(t, c, m)
	return m
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func etcdHolds(t *testing.T, stage *testcluster.Stage) {
	c := stage.Admin
	if err := stage.RaiseControlPlane(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	old := &machinev1beta1.Machine{}
	get(t, c, mapi, "master-2", old)
	node := &corev1.Node{}
	get(t, c, "", nodeOf(t, c, "master-2"), node)
	for _, role := range []string{"master", "control-plane"} {
		if _, ok := node.Labels["node-role.kubernetes.io/"+role]; !ok {
			t.Errorf("the Node has not the role %s: %v", role, node.Labels)
		}
	}
	if err := c.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	eventually(t, "master-2 to be held by etcd's hook", func() bool {
		get(t, c, mapi, "master-2", old)
		return slices.ContainsFunc(old.Status.Conditions, func(c machinev1beta1.Condition) bool {
			return c.Type == machinev1beta1.MachineDrainable && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, simulation.EtcdHook)
		})
	})
	next := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: mapi, Name: "master-x7k2p-2", Labels: old.Labels}}
	next.Spec.ProviderSpec = old.Spec.ProviderSpec
	if err := c.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	gone(t, c, old)
	etcd, err := stage.Etcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fewest, _ := etcd.Fewest(3); fewest != 3 || len(etcd.History) != 5 || etcd.History[3].Machine != next.Name || etcd.History[4].Machine != old.Name {
		t.Errorf("etcd's members came and went: %v", etcd.History)
	}
}

func leavesNothing(t *testing.T, stage *testcluster.Stage) {
	c := stage.Admin
	i := stage.Cloud.InstancesOf("master-0")[0]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "second"}}
	if err := stage.Cloud.Act(i.ID, machinetest.End); err != nil {
		t.Fatal(err)
	}
	gone(t, c, pod)
	gone(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: i.DNS()}})
}

func nodeOf(t *testing.T, c client.Client, machine string) string {
	t.Helper()
	m := &machinev1beta1.Machine{}
	get(t, c, mapi, machine, m)
	if m.Status.NodeRef == nil {
		t.Fatalf("Machine %s has no Node", machine)
	}
	return m.Status.NodeRef.Name
}

func bind(t *testing.T, c client.Client, name, node string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.com/none"}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	eventually(t, "the namespace's service account, without which there is no pod", func() bool {
		err := c.Create(t.Context(), pod)
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	return pod
}

func running(t *testing.T, c client.Client, pod *corev1.Pod) {
	t.Helper()
	eventually(t, "pod "+pod.Name+" to run", func() bool {
		get(t, c, pod.Namespace, pod.Name, pod)
		return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
}

func gone(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	eventually(t, "the end of "+o.GetName(), func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	})
}

func ready(t *testing.T, c client.Client, name string, status corev1.ConditionStatus, message string) {
	t.Helper()
	eventually(t, fmt.Sprintf("Node %s to be Ready=%s: %s", name, status, message), func() bool {
		node := &corev1.Node{}
		get(t, c, "", name, node)
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == status && c.Message == message
		})
	})
}

// rests compares the whole fleet over a time in which every controller polls several times, once what was done to it has settled.
func rests(t *testing.T, c client.Client) {
	before := versions(t, c)
	eventually(t, "a fleet that has settled", func() bool {
		pause(time.Second)
		last := before
		before = versions(t, c)
		return maps.Equal(last, before)
	})
	pause(3 * time.Second)
	after := versions(t, c)
	for name, version := range after {
		if before[name] != version {
			t.Errorf("%s moved from %s to %s", name, before[name], version)
		}
	}
}

// pause lets time pass in which nothing should happen: that cannot be waited for otherwise.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

func versions(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range []client.ObjectList{
		&machinev1beta1.MachineList{}, &machinev1beta1.MachineSetList{}, &clusterv1.MachineList{}, &clusterv1.MachineSetList{},
		&awsv1.AWSMachineList{}, &awsv1.AWSMachineTemplateList{}, &corev1.NodeList{},
	} {
		list(t, c, l)
		items, err := meta.ExtractList(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			o := item.(client.Object)
			out[fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName())] = o.GetResourceVersion()
		}
	}
	return out
}

func clusterAPIMachine(t *testing.T, c client.Client, is func(clusterv1.Machine) bool) clusterv1.Machine {
	t.Helper()
	var found clusterv1.Machine
	eventually(t, "a Machine of Cluster API", func() bool {
		machines := &clusterv1.MachineList{}
		list(t, c, machines, client.InNamespace(capi))
		for _, m := range machines.Items {
			if is(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func get(t *testing.T, c client.Client, namespace, name string, o client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, c client.Client, l client.ObjectList, options ...client.ListOption) {
	t.Helper()
	if err := c.List(t.Context(), l, options...); err != nil {
		t.Fatal(err)
	}
}

func patch(t *testing.T, c client.Client, o client.Object, json string) {
	t.Helper()
	if err := c.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(json))); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
