// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"
)

// EtcdOperator is the identity under which the operator of etcd runs in a cluster.
const EtcdOperator = "system:serviceaccount:openshift-etcd-operator:etcd-operator"

// hookAnnotation is how Cluster API writes the hook.
const hookAnnotation = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/" + EtcdHook

// installConfig is the ConfigMap in kube-system in which a cluster keeps what it was installed with: how many members etcd has is read there.
const installConfig = "cluster-config-v1"

// roleLabel tells a Machine of the control plane, on either side.
const roleLabel = "machine.openshift.io/cluster-api-machine-role"

// etcd stands for the operator of etcd, and for etcd: who is a member is what its ConfigMap says. It holds a Machine by a hook on the side that is in charge of
// it; the mirror carries that to the other.
type etcd struct {
	client.Client
	// live reads ConfigMaps, of which the operator may not see all.
	live client.Reader
}

func addEtcd(m manager.Manager, o Options) error {
	e := &etcd{Client: m.GetClient(), live: m.GetAPIReader()}
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := e.beat(ctx); err != nil && ctx.Err() == nil && !passes(err) {
				o.Log.Error(err, "the simulated etcd operator")
			}
		}, poll)
		return nil
	}))
}

// beat does the next thing: like the members of a real etcd, one after the other.
func (e *etcd) beat(ctx context.Context) error {
	all, err := e.machines(ctx)
	if err != nil {
		return err
	}
	kept, q, err := e.quorum(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		q.voters = append(q.voters, m.voter())
	}
	d := q.next()
	switch d.verb {
	case hook, unhook:
		return e.hold(ctx, all[slices.IndexFunc(all, func(m twins) bool { return m.voter().machine == d.machine })], d.verb == hook)
	case join, leave:
		return e.keep(ctx, kept, q.with(d.verb == leave, d.node, d.machine))
	case nothing:
	}
	return nil
}

// quorum reads all that does not depend on Machines, and the ConfigMap that it is kept in.
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
		// %v: without it nobody knows how many are enough.
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

// keep writes the membership. The first time it makes the ConfigMap; two writers meet at its resource version.
func (e *etcd) keep(ctx context.Context, kept *corev1.ConfigMap, now Membership) error {
	before := kept.DeepCopy()
	now.write(kept)
	if kept.ResourceVersion == "" {
		return e.Create(ctx, kept)
	}
	_, err := patch(ctx, e, before, kept)
	return err
}

// twins are a Machine on both sides; either may be nil.
type twins struct {
	machineAPI *machinev1beta1.Machine
	clusterAPI *clusterv1.Machine
}

func (e *etcd) machines(ctx context.Context) ([]twins, error) {
	ours, theirs := &machinev1beta1.MachineList{}, &clusterv1.MachineList{}
	masters := client.MatchingLabels{roleLabel: "master"}
	if err := e.List(ctx, ours, masters); err != nil {
		return nil, err
	}
	if err := e.List(ctx, theirs, masters); err != nil {
		return nil, err
	}
	all := map[string]twins{}
	for i := range ours.Items {
		all[ours.Items[i].Name] = twins{machineAPI: &ours.Items[i]}
	}
	for i := range theirs.Items {
		all[theirs.Items[i].Name] = twins{all[theirs.Items[i].Name].machineAPI, &theirs.Items[i]}
	}
	var out []twins
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out, nil
}

// inCharge is the side that is.
func (m twins) inCharge() machinev1beta1.MachineAuthority {
	if m.machineAPI == nil {
		return machinev1beta1.MachineAuthorityClusterAPI
	}
	return cmp.Or(m.machineAPI.Status.AuthoritativeAPI, machinev1beta1.MachineAuthorityMachineAPI)
}

// voter is what etcd makes of the Machine. That it is deleted is told by the side that is in charge: what befalls the other is the mirror's business.
func (m twins) voter() voter {
	if m.inCharge() == machinev1beta1.MachineAuthorityClusterAPI {
		c := m.clusterAPI
		if c == nil { // it is about to be made
			return voter{machine: m.machineAPI.Name, moving: true}
		}
		return voter{machine: c.Name, node: c.Status.NodeRef.Name, deleting: c.DeletionTimestamp != nil, hooked: c.Annotations[hookAnnotation] != ""}
	}
	o := m.machineAPI
	v := voter{machine: o.Name, deleting: o.DeletionTimestamp != nil, moving: m.inCharge() == machinev1beta1.MachineAuthorityMigrating}
	if o.Status.NodeRef != nil {
		v.node = o.Status.NodeRef.Name
	}
	v.hooked = slices.ContainsFunc(o.Spec.LifecycleHooks.PreDrain, isEtcdHook)
	return v
}

func isEtcdHook(h machinev1beta1.LifecycleHook) bool { return h.Name == EtcdHook }

// hold puts the hook on the side that is in charge, or takes it off.
func (e *etcd) hold(ctx context.Context, m twins, on bool) error {
	if m.inCharge() == machinev1beta1.MachineAuthorityClusterAPI {
		before := m.clusterAPI.DeepCopy()
		delete(m.clusterAPI.Annotations, hookAnnotation)
		if on {
			metav1.SetMetaDataAnnotation(&m.clusterAPI.ObjectMeta, hookAnnotation, EtcdHookOwner)
		}
		_, err := patch(ctx, e, before, m.clusterAPI)
		return err
	}
	before := m.machineAPI.DeepCopy()
	hooks := &m.machineAPI.Spec.LifecycleHooks.PreDrain
	*hooks = slices.DeleteFunc(*hooks, isEtcdHook)
	if on {
		*hooks = append(*hooks, machinev1beta1.LifecycleHook{Name: EtcdHook, Owner: EtcdHookOwner})
	}
	_, err := patch(ctx, e, before, m.machineAPI)
	return err
}
