// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// The hook by which etcd's operator holds a Machine of the control plane until its member has left. The operator reads and writes only the Machine API,
// whichever API is authoritative.
const (
	EtcdHookName  = "EtcdQuorumOperator"
	EtcdHookOwner = "clusteroperator/etcd"
	// EtcdHookAnnotation is the hook on a Machine of Cluster API; its value is the owner.
	EtcdHookAnnotation = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/" + EtcdHookName
	// EtcdHookSeenAnnotation, on a Machine API Machine, records by the object's UID that Poundlock saw the hook on it (EtcdHookRecord).
	EtcdHookSeenAnnotation = Domain + "/etcd-hook-seen"
)

// etcdHookToCome ends the record of a hook that Cluster API's Machine does not have yet.
const etcdHookToCome = "/to-be-added"

// EtcdHookRecord is the record of the hook on a Machine API Machine: there reports whether Cluster API's Machine has the hook, too, or is about to be
// created with it.
func EtcdHookRecord(uid string, there bool) string {
	if there {
		return uid
	}
	return uid + etcdHookToCome
}

// ReadEtcdHookRecord reports whether a record is that of this very object, and whether the hook was to be added to Cluster API's Machine when it was written.
func ReadEtcdHookRecord(record, uid string) (seen, toCome bool) {
	toCome = record == EtcdHookRecord(uid, false)
	return uid != "" && (toCome || record == uid), uid != "" && toCome
}

// preDrainField is the list that has the hook.
const preDrainField = "spec.lifecycleHooks.preDrain"

// ControlPlaneRole is the label, with its values, that identifies a Machine of the control plane.
func ControlPlaneRole() (label string, values []string) {
	return machineapi.RoleLabel, slices.Clone(controlPlaneRoles)
}

// OfControlPlane reports whether labels are those of a Machine of the control plane.
func OfControlPlane(labels map[string]string) bool {
	return slices.Contains(controlPlaneRoles, labels[machineapi.RoleLabel])
}

// changesEtcdHook reports whether a request adds or removes no item of the list but the hook, on a Machine of the control plane.
func changesEtcdHook(c policies.Change) bool {
	if c.Old == nil || c.New == nil || !OfControlPlane(c.Old.Metadata.Labels) {
		return false
	}
	before, after := otherHooks(c.Old), otherHooks(c.New)
	return len(before)+len(after) == 0 || sameJSON(before, after)
}

// otherHooks are the items of the list but the hook, whatever fields they have.
func otherHooks(o *policies.Object) []any {
	var spec struct {
		LifecycleHooks struct {
			PreDrain []any `json:"preDrain"`
		} `json:"lifecycleHooks"`
	}
	// What is no list of hooks is compared whole.
	if json.Unmarshal(orNull(o.Spec), &spec) != nil {
		return []any{string(o.Spec)}
	}
	hook := map[string]any{"name": EtcdHookName, "owner": EtcdHookOwner}
	return slices.DeleteFunc(spec.LifecycleHooks.PreDrain, func(h any) bool { return reflect.DeepEqual(h, any(hook)) })
}

// hooks are those that a Machine API Machine has, by the annotation that each is on Cluster API's; false: they cannot be read.
func hooks(o *policies.Object) (map[string]string, bool) {
	type hook struct{ Name, Owner string }
	var spec struct {
		LifecycleHooks struct{ PreDrain, PreTerminate []hook }
	}
	if json.Unmarshal(orNull(o.Spec), &spec) != nil {
		return nil, false
	}
	out := map[string]string{}
	for prefix, all := range map[string][]hook{
		clusterv1.PreDrainDeleteHookAnnotationPrefix:     spec.LifecycleHooks.PreDrain,
		clusterv1.PreTerminateDeleteHookAnnotationPrefix: spec.LifecycleHooks.PreTerminate,
	} {
		for _, h := range all {
			out[prefix+"/"+h.Name] = h.Owner
		}
	}
	return out, true
}

// hooksCarried reports whether each side of a Machine has the other's hooks: on Cluster API's they are annotations, which do not change its generation. A
// hook that only Cluster API's mirror has is no obstacle: its MachineSet may propagate it.
func (o Objects) hooksCarried(source API) bool {
	if !o.Kind.InfraActs() || o.MachineAPI == nil || o.ClusterAPI == nil {
		return true
	}
	ours, ok := hooks(o.MachineAPI)
	if !ok {
		return false
	}
	theirs := o.ClusterAPI.Metadata.Annotations
	for annotation, owner := range ours {
		if now, has := theirs[annotation]; !has || source == ClusterAPI && now != owner {
			return false
		}
	}
	for annotation := range theirs {
		if _, has := ours[annotation]; !has && source == ClusterAPI && isHook(annotation) && annotation != InstanceHookAnnotation {
			return false
		}
	}
	return true
}

// isHook: Cluster API takes any annotation that begins with one of the prefixes for a hook.
func isHook(annotation string) bool {
	return strings.HasPrefix(annotation, clusterv1.PreDrainDeleteHookAnnotationPrefix) ||
		strings.HasPrefix(annotation, clusterv1.PreTerminateDeleteHookAnnotationPrefix)
}

// losesEtcdHook reports whether a person removes etcd's hook from a Machine that is being deleted. On one that nobody deletes, the etcd operator puts it back,
// and Poundlock carries that over: no word is needed.
func losesEtcdHook(c policies.Change) bool {
	return c.Actor == policies.Anyone && c.Old.Deleting() && hasEtcdHook(c.Side, c.Old) && !hasEtcdHook(c.Side, c.New)
}

func hasEtcdHook(side policies.Side, o *policies.Object) bool {
	if side == policies.SideClusterAPI {
		return o.HasAnnotation(EtcdHookAnnotation)
	}
	all, ok := hooks(o)
	_, has := all[EtcdHookAnnotation]
	return ok && has
}

// etcdHookNeeds: the Machine API's object has its authority itself.
func etcdHookNeeds(c policies.Change) policies.Need {
	if c.Side == policies.SideClusterAPI && losesEtcdHook(c) {
		return policies.NeedTwin
	}
	return 0
}

// EtcdHookRemoved: "EtcdQuorumOperator" keeps a Machine of the control plane until its member has left (converting › Machine lifecycle hooks). What is
// removed from the object that is not authoritative is refused by other rules. On Cluster API's it may be the consequence of the operator's own removal,
// that Poundlock has not carried over.
func EtcdHookRemoved(c policies.Change) policies.Verdict {
	s := stand(c)
	if !losesEtcdHook(c) || s.mirror() || s.moving() && c.Side == policies.SideMachineAPI {
		return policies.Verdict{}
	}
	at, back := preDrainField, []string(nil)
	if c.Side == policies.SideClusterAPI {
		mapi := c.Facts.Twin
		if mapi != nil && !hasEtcdHook(policies.SideMachineAPI, mapi) {
			if seen, _ := ReadEtcdHookRecord(mapi.Metadata.Annotations[EtcdHookSeenAnnotation], string(mapi.Metadata.UID)); seen {
				return policies.Verdict{}
			}
		}
		at, back = "metadata.annotations", []string{fmt.Sprintf("to put the hook back before the drain begins: kubectl -n %s annotate %s %s %s=%s",
			c.Namespace, c.Resource, c.Name, EtcdHookAnnotation, EtcdHookOwner)}
	}
	return policies.Warn(append([]string{
		fmt.Sprintf("%s: without the hook %s the instance is terminated even if its etcd member has not left, and etcd may lose its quorum. The etcd operator "+
			"itself removes the hook once a replacement votes", at, EtcdHookName),
		"see which members etcd has: oc -n openshift-etcd rsh POD etcdctl member list. Remove the one of this Machine if it stays: etcdctl member remove ID",
	}, back...)...)
}
