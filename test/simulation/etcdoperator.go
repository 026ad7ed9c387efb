// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/test/neighbours"
)

// installConfig is the ConfigMap in kube-system with the configuration that a cluster was installed with. It says how many members etcd is to have.
const installConfig = "cluster-config-v1"

// roleLabel marks a Machine of the control plane.
const roleLabel = "machine.openshift.io/cluster-api-machine-role"

// etcd simulates etcd and its operator. The members of etcd are those that its ConfigMap lists. The operator holds a Machine by a hook in the Machine API,
// whichever API is authoritative. The mirror carries the hook to the other API.
type etcd struct {
	client.Client
	// live reads ConfigMaps past the cache, because the operator may not list all of them.
	live client.Reader
}

func addEtcd(m manager.Manager, o Options) error {
	e := &etcd{Client: m.GetClient(), live: m.GetAPIReader()}
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := e.beat(ctx); err != nil && ctx.Err() == nil && !versioned.Outdated(err) {
				o.Log.Error(err, "the simulated etcd operator")
			}
		}, poll)
		return nil
	}))
}

// beat lets the operator look at the hooks, and then makes the next change of the membership. Members of a real etcd also join and leave one after the other.
func (e *etcd) beat(ctx context.Context) error {
	kept, q, err := e.quorum(ctx)
	if err != nil {
		return err
	}
	operator := neighbours.EtcdOperator{Member: func(m *machinev1beta1.Machine) bool { return q.has(voterOf(m).node) }}
	if err := operator.Pass(ctx, e.Client); err != nil {
		return err
	}
	if q.voters, err = e.masters(ctx); err != nil {
		return err
	}
	if d := q.next(); d.verb != nothing {
		return e.keep(ctx, kept, q.with(d.verb == leave, d.node, d.machine))
	}
	return nil
}

// quorum reads everything that does not depend on Machines, and the ConfigMap in which it is stored.
func (e *etcd) quorum(ctx context.Context) (*corev1.ConfigMap, quorum, error) {
	q := quorum{healthy: map[string]bool{}}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: EtcdNamespace, Name: EtcdMembers}}
	if err := e.live.Get(ctx, client.ObjectKeyFromObject(kept), kept); client.IgnoreNotFound(err) != nil {
		return nil, q, err
	}
	var err error
	if q.Membership, err = ReadMembership(kept); err != nil {
		return nil, q, err
	}
	nodes := &corev1.NodeList{}
	if err := e.List(ctx, nodes, client.HasLabels{controlPlaneRole}); err != nil {
		return nil, q, err
	}
	for _, n := range nodes.Items {
		q.healthy[n.Name] = slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	}
	q.desired, err = e.desired(ctx)
	return kept, q, err
}

func (e *etcd) desired(ctx context.Context) (int, error) {
	found := &corev1.ConfigMap{}
	if err := e.live.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: installConfig}, found); err != nil {
		// %v: without this ConfigMap nobody knows how many members are enough.
		return 0, fmt.Errorf("reading how many members etcd is to have: %v", err)
	}
	var config struct {
		ControlPlane struct {
			Replicas int `json:"replicas"`
		} `json:"controlPlane"`
	}
	if err := yaml.Unmarshal([]byte(found.Data["install-config"]), &config); err != nil || config.ControlPlane.Replicas == 0 {
		return 0, fmt.Errorf("ConfigMap %s does not say controlPlane.replicas in install-config: %v", installConfig, err)
	}
	return config.ControlPlane.Replicas, nil
}

// keep writes the membership. The first time it creates the ConfigMap. If two writers write at once, the resourceVersion lets only one of them succeed.
func (e *etcd) keep(ctx context.Context, kept *corev1.ConfigMap, now Membership) error {
	before := kept.DeepCopy()
	now.write(kept)
	if kept.ResourceVersion == "" {
		return e.Create(ctx, kept)
	}
	_, err := versioned.PatchFrom(ctx, e, before, kept)
	return err
}

// masters returns the Machines of the control plane, by name, as the operator reads them: only in the Machine API.
func (e *etcd) masters(ctx context.Context) ([]voter, error) {
	all := &machinev1beta1.MachineList{}
	if err := e.List(ctx, all, client.MatchingLabels{roleLabel: "master"}); err != nil {
		return nil, err
	}
	var out []voter
	for i := range all.Items {
		out = append(out, voterOf(&all.Items[i]))
	}
	slices.SortFunc(out, func(a, b voter) int { return cmp.Compare(a.machine, b.machine) })
	return out, nil
}

// voterOf returns what matters to etcd about a Machine.
func voterOf(m *machinev1beta1.Machine) voter {
	v := voter{machine: m.Name, deleting: m.DeletionTimestamp != nil}
	if m.Status.NodeRef != nil {
		v.node = m.Status.NodeRef.Name
	}
	v.hooked = slices.ContainsFunc(m.Spec.LifecycleHooks.PreDrain, func(h machinev1beta1.LifecycleHook) bool { return h.Name == EtcdHook })
	return v
}
