// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// kubelets registers a Node for each instance that runs: all that is seen of the software on it.
type kubelets struct {
	client.Client
	live  client.Reader
	cloud *Cloud
}

func addKubelets(m manager.Manager, o Options) error {
	k := &kubelets{Client: m.GetClient(), live: m.GetAPIReader(), cloud: o.Cloud}
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		known := map[string]bool{}
		wait.UntilWithContext(ctx, func(ctx context.Context) { k.register(ctx, known, m.GetLogger().Error) }, poll)
		return nil
	}))
}

// register creates the Node of each running instance once: a Node that somebody deletes stays away.
func (k *kubelets) register(ctx context.Context, known map[string]bool, log func(error, string, ...any)) {
	for _, i := range k.cloud.Instances() {
		if i.State != Running || known[i.ID] {
			continue
		}
		if err := k.join(ctx, i); err != nil {
			log(err, "registering a Node", "instance", i.ID)
			continue
		}
		known[i.ID] = true
	}
}

func (k *kubelets) join(ctx context.Context, i Instance) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: i.DNS(), Labels: map[string]string{
			corev1.LabelHostname: i.DNS(), corev1.LabelTopologyZone: i.Zone, corev1.LabelInstanceTypeStable: i.Type,
		}},
		Spec: corev1.NodeSpec{ProviderID: i.ProviderID()},
	}
	if err := k.Create(ctx, node); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return fmt.Errorf("creating the Node of %s: %w", i.ID, err)
	}
	before := node.DeepCopy()
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	node.Status.Conditions = healthy(now)
	return k.Status().Patch(ctx, node, client.MergeFrom(before))
}

// healthy are the conditions that a kubelet reports, all of them: to Cluster API a Node that is silent about one is not known to be healthy.
func healthy(now metav1.Time) []corev1.NodeCondition {
	var all []corev1.NodeCondition
	for _, c := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"},
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"},
	} {
		all = append(all, corev1.NodeCondition{
			Type: c.kind, Status: c.status, Reason: c.reason, Message: "simulated", LastHeartbeatTime: now, LastTransitionTime: now,
		})
	}
	return all
}

// nodeOf returns the name of the Node that an instance registered, "" while there is none.
func nodeOf(ctx context.Context, c client.Reader, i Instance) (string, error) {
	node := &corev1.Node{}
	err := c.Get(ctx, client.ObjectKey{Name: i.DNS()}, node)
	if err != nil || node.Spec.ProviderID != i.ProviderID() {
		return "", client.IgnoreNotFound(err)
	}
	return node.Name, nil
}
