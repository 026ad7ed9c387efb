// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

func TestARollout(t *testing.T) {
	for _, replicas := range []int{3, 5} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			w := newWorld(t, replicas)
			r := w.operator(nil)
			w.found()
			w.waitForRest(r)
			w.wantDone("m6i.xlarge", replicas)
			if got := w.names()[0]; got != "c-master-0" {
				t.Errorf("a set that changes nothing replaced a Machine: %v", w.names())
			}
			w.edit(larger)
			pass(t, r)
			pass(t, r)
			w.wantCondition("Progressing", "True RollingOut", "instanceType m6i.xlarge → m6i.2xlarge")
			if got := w.operatorCondition("Upgradeable"); !strings.HasPrefix(got, "False RollingOut") {
				t.Errorf("Upgradeable says %q while Machines are replaced", got)
			}
			w.waitForRest(r)
			w.wantDone("m6i.2xlarge", replicas)
			for _, name := range w.names() {
				if !regexp.MustCompile(`^c-master-[a-z0-9]{5}-[0-4]$`).MatchString(name) {
					t.Errorf("the Machine is called %s", name)
				}
			}
		})
	}
}

func TestAnIdlePassWritesNothing(t *testing.T) {
	w := newWorld(t, 3)
	w.found()
	w.waitForRest(w.operator(nil))
	s := &script{}
	r := w.operator(s)
	for range 5 {
		w.now = w.now.Add(time.Hour)
		pass(t, r)
	}
	if s.writes > 0 {
		t.Errorf("it wrote %v", s.log)
	}
}

func TestARolloutIsCutOffAtEachOfItsWrites(t *testing.T) {
	stories.Long(t)
	count := &script{}
	w := newWorld(t, 3)
	w.found(larger)
	w.waitForRest(w.operator(count))
	w.wantDone("m6i.2xlarge", 3)
	t.Logf("%d writes: %v", count.writes, count.log)
	first := rand.IntN(2) // each write is cut off before or after it in one run, and the other way in another: both take five minutes
	for at := 1; at <= count.writes; at++ {
		sent := (at+first)%2 == 0
		t.Run(fmt.Sprintf("write %d sent %t", at, sent), func(t *testing.T) {
			w := newWorld(t, 3)
			w.found(larger)
			s := &script{at: at, sent: sent}
			w.waitForRest(w.operator(s))
			w.waitForRest(w.operator(nil))
			w.wantDone("m6i.2xlarge", 3)
		})
	}
}

func TestTwoOperatorsMakeNoMoreThanOne(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	one, other := w.operator(nil), w.operator(nil)
	w.found(larger)
	w.waitForRest(one, other)
	w.wantDone("m6i.2xlarge", 3)

	// Both have decided before either writes: they mean the same Machine.
	w.edit(sized("m6i.4xlarge"))
	states := []*state{}
	for _, r := range []*reconciler{one, other} {
		s, err := r.gather(t.Context(), r.live, true)
		w.must(err)
		states = append(states, s)
	}
	w.must(carryOut(t.Context(), one.steps(states[0])))
	if err := carryOut(t.Context(), other.steps(states[1])); err == nil {
		t.Error("the second one's was made, too")
	}
	w.waitForRest(one, other)
	w.wantDone("m6i.4xlarge", 3)
}

// Beside OpenShift's own operator nothing is written, neither a Machine nor a status that both would write in turns.
func TestAnotherOperatorRuns(t *testing.T) {
	w := newWorld(t, 3)
	w.found(larger)
	labelled := map[string]string{"app": "other"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.pair.MachineAPI, Name: controlplane.OtherOperator}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labelled},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelled}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "o", Image: "o"}}}},
	}}
	w.must(w.Create(t.Context(), d))
	s := &script{}
	r := w.operator(s)
	for range 3 {
		if result, _ := pass(t, r); result.RequeueAfter != time.Minute {
			t.Errorf("it looks again after %v", result.RequeueAfter)
		}
	}
	if s.writes != 0 {
		t.Errorf("it wrote %v", s.log)
	}
	none := int32(0)
	d.Spec.Replicas = &none
	w.must(w.Update(t.Context(), d))
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
}

func TestOnDelete(t *testing.T) {
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found(larger, strategy(machinev1.OnDelete))
	w.waitForRest(r)
	w.wantCondition("Progressing", "False WaitingForDeletion", "c-master-1", "instanceType m6i.xlarge → m6i.2xlarge")
	if got := w.names(); got[0] != "c-master-0" || len(got) != 3 {
		t.Errorf("it replaced by itself: %v", got)
	}
	w.delete("c-master-1")
	w.waitForRest(r)
	if got := w.names(); len(got) != 3 || !strings.HasSuffix(got[2], "-1") || got[2] == "c-master-1" {
		t.Errorf("Machines are %v", got)
	}
	if n := w.set().Status.UpdatedReplicas; n != 1 {
		t.Errorf("%d are updated", n)
	}
}

func TestRecreate(t *testing.T) {
	w := newWorld(t, 3)
	w.found(larger, strategy(machinev1.Recreate))
	w.waitForRest(w.operator(nil))
	w.wantCondition("Degraded", "True RecreateDisabled")
	w.mayRecreate = true
	r := w.operator(nil)
	w.waitForRest(r)
	w.wantCondition("Progressing", "True WaitingForHook", "c-master-0", "EtcdQuorumOperator of clusteroperator/etcd",
		"edit machines.machine.openshift.io c-master-0")
	for range 3 {
		for _, m := range w.machines() {
			if m.DeletionTimestamp != nil { // a person does what the message says
				m.Spec.LifecycleHooks.PreDrain = nil
				w.must(w.Update(t.Context(), &m))
			}
		}
		w.waitForRest(r)
	}
	w.wantDone("m6i.2xlarge", 2)
	if w.most > 3 {
		t.Errorf("there were %d Machines", w.most)
	}
}

func TestOneThatIsNotReadyIsReplacedBeforeItGoes(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	w.silence("c-master-1")
	w.least = 2
	r := w.operator(nil)
	w.found(larger)
	w.etcdAway = true
	for range 4 {
		pass(t, r)
		w.live()
	}
	all := w.machines()
	for _, m := range all {
		if m.Name == "c-master-1" && m.DeletionTimestamp == nil && len(all) < 4 {
			t.Error("its replacement is not there yet, and it is not being replaced")
		}
	}
	if made := w.names(); len(made) != 4 {
		t.Fatalf("Machines are %v", made)
	}
	w.etcdAway = false
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 2)
}

func TestAReplacementThatFails(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.broken = true
	w.found(larger)
	w.waitForRest(r)
	w.wantCondition("Degraded", "True FailedMachines", "-0")
	if got := w.operatorCondition("Degraded"); !strings.HasPrefix(got, "True FailedMachines") {
		t.Errorf("the ClusterOperator says %q", got)
	}
	if len(w.names()) != 4 {
		t.Errorf("Machines are %v", w.names())
	}
	failed := ""
	for _, m := range w.machines() {
		if *m.Status.Phase == "Failed" {
			failed = m.Name
		}
	}
	w.broken = false
	w.delete(failed)
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
}

func TestOneThatFailsAloneStopsNothingElse(t *testing.T) {
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found()
	w.waitForRest(r)
	for _, m := range w.machines() {
		if m.Name == "c-master-0" {
			w.must(w.phase(&m, "Failed", m.Status.NodeRef))
		}
	}
	w.delete("c-master-1")
	w.waitForRest(r)
	w.wantCondition("Degraded", "True FailedMachines", "c-master-0")
	if got := w.names(); len(got) != 3 || slices.Contains(got, "c-master-1") {
		t.Errorf("Machines are %v", got)
	}
}

func TestANodeWithoutAMachine(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found(larger)
	stray := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.pair.MachineAPI + "-stray", Labels: map[string]string{controlplane.Roles()[1]: ""}}}
	w.must(w.Create(t.Context(), stray))
	w.now = stray.CreationTimestamp.Add(time.Minute)
	pass(t, r)
	result, _ := pass(t, r)
	if left := controlplane.Grace - time.Minute; result.RequeueAfter != left {
		t.Errorf("it comes back after %s, want %s", result.RequeueAfter, left)
	}
	w.now = stray.CreationTimestamp.Add(controlplane.Grace)
	pass(t, r)
	w.wantCondition("Degraded", "True UnmanagedNodes", stray.Name)
	w.waitForRest(r)
	if len(w.names()) > 4 || w.set().Status.UpdatedReplicas > 1 {
		t.Errorf("it went on: %v", w.names())
	}
	w.must(w.Delete(t.Context(), stray))
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
}

// A restore without status leaves an Infrastructure that names no platform, and failure domains that place nothing.
func TestAnInfrastructureThatIsLost(t *testing.T) {
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found()
	w.waitForRest(r)
	before := w.names()
	w.must(w.Delete(t.Context(), &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}))
	w.waitForRest(r)
	w.wantCondition("Degraded", "True UnknownPlatform", "status.platformStatus.type")
	w.must(w.Create(t.Context(), &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}))
	w.edit(larger)
	w.waitForRest(r)
	w.wantCondition("Degraded", "True UnknownPlatform")
	if got := w.names(); !slices.Equal(got, before) {
		t.Errorf("Machines are %v, and were %v", got, before)
	}
	w.edit(sized("m6i.xlarge"))
	w.describe()
	w.waitForRest(r)
	w.wantDone("m6i.xlarge", 3)
	if got := w.names(); !slices.Equal(got, before) {
		t.Errorf("Machines are %v, and were %v", got, before)
	}
}

// TestANodeThatOutlivesItsMachine: the Machine's finalizer is gone a moment before its Node is.
func TestANodeThatOutlivesItsMachine(t *testing.T) {
	w := newWorld(t, 3)
	w.now = w.now.Add(time.Hour)
	r := w.operator(nil)
	w.found()
	w.waitForRest(r)
	w.delete("c-master-2")
	for _, m := range w.machines() {
		if m.Name == "c-master-2" {
			m.Finalizers, m.Spec.LifecycleHooks.PreDrain = nil, nil
			w.must(w.Update(t.Context(), &m))
		}
	}
	pass(t, r)
	w.wantCondition("Degraded", "False AsExpected")
	w.wantCondition("Progressing", "True RollingOut", "has just lost its Machine and is still ready")
	if got := w.names(); len(got) != 2 {
		t.Errorf("Machines are %v, and the instance at index 2 runs on", got)
	}
	w.silence("c-master-2")
	pass(t, r)
	if got := w.names(); len(got) != 3 {
		t.Errorf("Machines are %v, and none was created at index 2", got)
	}
	w.now = w.now.Add(controlplane.Grace)
	pass(t, r)
	w.wantCondition("Degraded", "True UnmanagedNodes", "c-master-2")
}

// TestAReboot: a Node that was ready counts for as long as the setting grants, in the condition, the numbers and the metric, and the set looks again when
// that is over.
func TestAReboot(t *testing.T) {
	const grace = 5 * time.Minute
	w := newWorld(t, 3)
	w.notReadyGrace = grace
	r := w.operator(nil)
	w.found()
	w.waitForRest(r)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.pair.MachineAPI + "-c-master-1"}}
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(n), n))
	since := n.CreationTimestamp.Add(controlplane.Grace)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since)}}
	w.must(w.Status().Update(t.Context(), n))
	for _, c := range []struct {
		after     time.Duration
		available string
		ready     int32
		again     time.Duration
	}{
		{grace - time.Second, "True AsExpected", 3, time.Second},
		{grace, "False UnavailableReplicas", 2, 0},
	} {
		w.now = since.Add(c.after)
		pass(t, r)
		result, _ := pass(t, r)
		w.wantCondition("Available", c.available, "c-master-1")
		if got := w.operatorCondition("Available"); !strings.HasPrefix(got, c.available) {
			t.Errorf("after %s the ClusterOperator says %q", c.after, got)
		}
		status, metric := w.set().Status, testutil.ToFloat64(r.meters.machines.WithLabelValues("ready"))
		if status.ReadyReplicas != c.ready || status.UnavailableReplicas != 3-c.ready || metric != float64(c.ready) {
			t.Errorf("after %s: %+v, metric %v", c.after, status, metric)
		}
		if c.again > 0 && result.RequeueAfter != c.again {
			t.Errorf("after %s it looks again after %s", c.after, result.RequeueAfter)
		}
	}
	if got := w.names(); len(got) != 3 {
		t.Errorf("Machines are %v", got)
	}
}

func TestADanglingNodeReferenceStopsNothingElse(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.must(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.pair.MachineAPI + "-c-master-1"}}))
	w.unready["c-master-1"], w.least = true, 2
	w.found(larger)
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 2)
}

func TestWhatIsGoneIsMadeAgain(t *testing.T) {
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found()
	w.waitForRest(r)
	w.delete("c-master-2")
	w.waitForRest(r)
	w.wantDone("m6i.xlarge", 2)
	if got := w.names()[2]; !strings.HasSuffix(got, "-2") || got == "c-master-2" {
		t.Errorf("Machines are %v", w.names())
	}
}

func TestATemplateThatIsTakenBack(t *testing.T) {
	stories.Long(t)
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found(larger)
	w.etcdAway = true
	w.waitForRest(r)
	w.edit(sized("m6i.4xlarge"))
	w.etcdAway = false
	w.waitForRest(r)
	w.edit(sized("m6i.xlarge"))
	pass(t, r)
	w.live()
	w.edit(sized("m6i.4xlarge"))
	w.waitForRest(r)
	w.wantDone("m6i.4xlarge", 3)
}

func TestWhatDiffersInPlaceIsChangedInPlace(t *testing.T) {
	w := newWorld(t, 3)
	r := w.operator(nil)
	w.found(func(set *machinev1.ControlPlaneMachineSet) {
		t := set.Spec.Template.OpenShiftMachineV1Beta1Machine
		t.ObjectMeta.Annotations = map[string]string{"team": "x"}
		t.Spec.Labels = map[string]string{"rack": "1"}
		t.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.waitForRest(r)
	w.wantDone("m6i.xlarge", 3)
	for _, m := range w.machines() {
		if m.Annotations["team"] != "x" || m.Spec.Labels["rack"] != "1" || len(m.Spec.Taints) != 1 || len(m.Spec.LifecycleHooks.PreDrain) != 1 {
			t.Errorf("%s has %v, %v, %v", m.Name, m.Annotations, m.Spec.Labels, m.Spec.Taints)
		}
	}
	w.edit(func(set *machinev1.ControlPlaneMachineSet) {
		set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.Taints = nil
	})
	w.waitForRest(r)
	for _, m := range w.machines() {
		if len(m.Spec.Taints) > 0 {
			t.Errorf("%s has still %v", m.Name, m.Spec.Taints)
		}
	}
}

func TestAnInactiveSetOnlyReports(t *testing.T) {
	w := newWorld(t, 3)
	s := &script{}
	r := w.operator(s)
	w.found(larger, inactive)
	w.waitForRest(r)
	w.wantCondition("Progressing", "False Inactive", "If it were Active, it would replace 3 of 3")
	if n := w.set().Status; n.Replicas != 3 || n.ReadyReplicas != 3 || n.UpdatedReplicas != 0 || len(w.set().Finalizers) > 0 {
		t.Errorf("%+v", n)
	}
	for _, m := range w.machines() {
		if len(m.OwnerReferences) > 0 {
			t.Errorf("%s was adopted", m.Name)
		}
	}
	if got := w.operatorCondition("Available"); !strings.HasPrefix(got, "True Inactive") {
		t.Errorf("the ClusterOperator says %q", got)
	}
}

func configv1Type(kind string) configv1.ClusterStatusConditionType {
	return configv1.ClusterStatusConditionType(kind)
}

func TestWithoutASet(t *testing.T) {
	w := newWorld(t, 3)
	r := w.operator(nil)
	pass(t, r)
	pass(t, r)
	for kind, want := range map[string]string{"Available": "True", "Progressing": "False", "Degraded": "False", "Upgradeable": "True"} {
		if got := w.operatorCondition(configv1Type(kind)); !strings.HasPrefix(got, want+" NoControlPlaneMachineSet") {
			t.Errorf("%s says %q", kind, got)
		}
	}
}

// TestADeletionWaitsForTheFinalizerOfTheMirror: Poundlock has just been installed again, and its mirror reconciler has not seen the Machine yet.
func TestADeletionWaitsForTheFinalizerOfTheMirror(t *testing.T) {
	w := newWorld(t, 3)
	w.must(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.pair.ClusterAPI}}))
	mirror := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": map[string]any{"name": "c-master-0", "namespace": w.pair.ClusterAPI},
		"spec": map[string]any{"clusterName": "c", "bootstrap": map[string]any{"dataSecretName": "s"},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "c-master-0"}}}}
	w.must(w.Create(t.Context(), mirror))
	r := w.operator(nil)
	w.found()
	w.waitForRest(r)
	w.edit(larger)
	first := func() *machinev1beta1.Machine {
		m := &machinev1beta1.Machine{}
		w.must(w.Get(t.Context(), client.ObjectKey{Namespace: w.pair.MachineAPI, Name: "c-master-0"}, m))
		return m
	}
	for range 20 {
		pass(t, r)
		w.live()
	}
	if len(w.names()) != 4 || first().DeletionTimestamp != nil {
		t.Fatalf("the Machines are %v, and the first is deleted at %v", w.names(), first().DeletionTimestamp)
	}
	m := first()
	m.Finalizers = append(m.Finalizers, authority.SyncFinalizer)
	w.must(w.Update(t.Context(), m))
	pass(t, r)
	if m = first(); m.DeletionTimestamp == nil {
		t.Error("the Machine has the finalizer, and is not deleted")
	}
	m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == authority.SyncFinalizer })
	w.must(w.Update(t.Context(), m))
	w.waitForRest(r)
	w.wantDone("m6i.2xlarge", 3)
}
