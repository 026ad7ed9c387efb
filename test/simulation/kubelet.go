// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// NotReadyAnnotation on a Node silences its kubelet. The Node turns NotReady, with the annotation's value as the message, and its pods are neither started nor
// ended. All that is undone when the annotation is removed.
const NotReadyAnnotation = "simulation.poundlock.io/not-ready"

// kubelets simulates the kubelets on all instances. It also simulates the controllers that clean up after an instance: the cloud's, which deletes the Node, and
// the collector of its pods.
type kubelets struct {
	client.Client
	// live reads past the cache the Machine that an instance was made for. It does that once for each instance.
	live  client.Reader
	cloud instances
	now   func() time.Time
	// joined are the instances whose kubelet has registered its Node since it was started. If somebody deletes such a Node, the kubelet does not register it
	// again.
	joined map[string]bool
}

// instances is the only call of a cloud that kubelets needs.
type instances interface {
	Instances(context.Context) ([]machinetest.Instance, error)
}

func addKubelets(m manager.Manager, o Options) error {
	k := &kubelets{Client: m.GetClient(), live: m.GetAPIReader(), cloud: o.Cloud, now: time.Now, joined: map[string]bool{}}
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := k.beat(ctx); err != nil && ctx.Err() == nil {
				o.Log.Error(err, "the simulated kubelets")
			}
		}, poll)
		return nil
	}))
}

// beat updates each instance's Node, and the pods on it. An error about one does not keep it from the others.
func (k *kubelets) beat(ctx context.Context) error {
	all, err := k.cloud.Instances(ctx)
	if err != nil {
		return err
	}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := errors.Join(k.List(ctx, nodes), k.List(ctx, pods)); err != nil {
		return err
	}
	on := map[string][]*corev1.Pod{}
	for i := range pods.Items {
		on[pods.Items[i].Spec.NodeName] = append(on[pods.Items[i].Spec.NodeName], &pods.Items[i])
	}
	known := map[string]*corev1.Node{}
	for i := range nodes.Items {
		known[nodes.Items[i].Spec.ProviderID] = &nodes.Items[i]
	}
	var failures []error
	for _, i := range all {
		if err := k.attend(ctx, i, known[i.ProviderID()], on[i.DNS()]); err != nil && !versioned.Outdated(err) {
			failures = append(failures, fmt.Errorf("instance %s: %w", i.ID, err))
		}
	}
	return errors.Join(failures...)
}

// attend updates the Node and the pods of one instance. node is nil if there is no Node.
func (k *kubelets) attend(ctx context.Context, i machinetest.Instance, node *corev1.Node, pods []*corev1.Pod) error {
	switch {
	case node == nil && i.State == machinetest.Running && !k.joined[i.ID]:
		return k.join(ctx, i)
	case node == nil:
		return nil
	case i.Gone():
		return k.bury(ctx, node, pods)
	}
	k.joined[i.ID] = true
	silence, silent := node.Annotations[NotReadyAnnotation]
	if i.State != machinetest.Running {
		silence, silent = "the instance is "+string(i.State), true
	}
	if err := k.report(ctx, node, silence, silent); err != nil || silent {
		return err
	}
	return k.run(ctx, pods)
}

// join registers the Node.
func (k *kubelets) join(ctx context.Context, i machinetest.Instance) error {
	labels := map[string]string{
		corev1.LabelHostname: i.DNS(), corev1.LabelTopologyZone: i.Zone, corev1.LabelInstanceTypeStable: i.Type,
	}
	switch master, err := k.isMaster(ctx, i); {
	case err != nil:
		return err
	case master:
		labels[controlPlaneRole], labels[masterRole] = "", ""
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: i.DNS(), Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: i.ProviderID()},
	}
	if err := k.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("registering its Node: %w", err)
	}
	k.joined[i.ID] = true
	return k.report(ctx, node, "", false)
}

// The labels of a Node of the control plane.
const (
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	masterRole       = "node-role.kubernetes.io/master"
)

// masterUserData is what the instances of a control plane are launched with.
const masterUserData = "master-user-data"

// isMaster reports whether an instance belongs to the control plane. It reads that, as a kubelet does, from what the instance was launched with.
func (k *kubelets) isMaster(ctx context.Context, i machinetest.Instance) (bool, error) {
	key := client.ObjectKey{Namespace: i.Machine.Namespace, Name: i.Machine.Name}
	if i.CreatedBy == authority.ClusterAPI {
		m := &clusterv1.Machine{}
		err := k.live.Get(ctx, key, m)
		name := m.Spec.Bootstrap.DataSecretName
		return name != nil && *name == masterUserData, client.IgnoreNotFound(err)
	}
	m := &machinev1beta1.Machine{}
	if err := k.live.Get(ctx, key, m); err != nil || m.Spec.ProviderSpec.Value == nil {
		return false, client.IgnoreNotFound(err)
	}
	var spec struct {
		UserDataSecret struct {
			Name string `json:"name"`
		} `json:"userDataSecret"`
	}
	err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &spec)
	return spec.UserDataSecret.Name == masterUserData, err
}

// report writes the Node's conditions if they differ from what they should be.
func (k *kubelets) report(ctx context.Context, node *corev1.Node, silence string, silent bool) error {
	before := node.DeepCopy()
	for _, c := range conditions(silence, silent) {
		k.set(node, c)
	}
	_, err := versioned.PatchStatusFrom(ctx, k, before, node)
	return err
}

// conditions returns all conditions that a kubelet reports. Cluster API does not take a Node for healthy if one of them is missing.
func conditions(silence string, silent bool) []corev1.NodeCondition {
	if silent {
		return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: silence}}
	}
	return []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "simulated"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "simulated"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "simulated"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "simulated"},
	}
}

func (k *kubelets) set(node *corev1.Node, c corev1.NodeCondition) {
	c.LastTransitionTime = metav1.NewTime(k.now().Truncate(time.Second))
	c.LastHeartbeatTime = c.LastTransitionTime
	for i, old := range node.Status.Conditions {
		switch {
		case old.Type != c.Type:
			continue
		case old.Status == c.Status && old.Message == c.Message:
			return
		case old.Status == c.Status:
			c.LastTransitionTime = old.LastTransitionTime
		}
		node.Status.Conditions[i] = c
		return
	}
	node.Status.Conditions = append(node.Status.Conditions, c)
}

// run starts the pods that were bound to the Node, and removes those that are being deleted. They need no time to end.
func (k *kubelets) run(ctx context.Context, pods []*corev1.Pod) error {
	var failures []error
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			failures = append(failures, k.remove(ctx, pod))
		case pod.Status.Phase == "" || pod.Status.Phase == corev1.PodPending:
			failures = append(failures, k.start(ctx, pod))
		}
	}
	return errors.Join(failures...)
}

func (k *kubelets) start(ctx context.Context, pod *corev1.Pod) error {
	before := pod.DeepCopy()
	now := metav1.NewTime(k.now().Truncate(time.Second))
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	_, err := versioned.PatchStatusFrom(ctx, k, before, pod)
	return err
}

func (k *kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	return client.IgnoreNotFound(k.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}))
}

// bury removes the Node and the pods that an instance leaves behind.
func (k *kubelets) bury(ctx context.Context, node *corev1.Node, pods []*corev1.Pod) error {
	var failures []error
	for _, pod := range pods {
		failures = append(failures, k.remove(ctx, pod))
	}
	failures = append(failures, client.IgnoreNotFound(k.Delete(ctx, node, client.Preconditions{UID: &node.UID})))
	return errors.Join(failures...)
}
