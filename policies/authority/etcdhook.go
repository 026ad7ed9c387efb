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

// The hook by which the etcd operator holds a Machine of the control plane until the Machine's etcd member has left. The operator reads and writes the hook
// only in the Machine API, whichever API is authoritative.
const (
	EtcdHookName  = "EtcdQuorumOperator"
	EtcdHookOwner = "clusteroperator/etcd"
	// EtcdHookAnnotation is the hook on a Cluster API Machine. The annotation's value is the hook's owner.
	EtcdHookAnnotation = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/" + EtcdHookName
	// EtcdHookSeenAnnotation, on a Machine API Machine, records that Poundlock has seen the hook on this Machine. The annotation's value contains the Machine's
	// UID (EtcdHookRecord).
	EtcdHookSeenAnnotation = Domain + "/etcd-hook-seen"
)

// etcdHookToCome is the end of a record that was written before Cluster API's Machine had the hook.
const etcdHookToCome = "/to-be-added"

// EtcdHookRecord returns the value of EtcdHookSeenAnnotation for a Machine API Machine. there says whether Cluster API's Machine has the hook too, or is about
// to be created with the hook.
func EtcdHookRecord(uid string, there bool) string {
	if there {
		return uid
	}
	return uid + etcdHookToCome
}

// ReadEtcdHookRecord reads a value of EtcdHookSeenAnnotation. seen reports whether the record is that of the object with this UID. toCome reports whether
// Cluster API's Machine did not have the hook yet when the record was written.
func ReadEtcdHookRecord(record, uid string) (seen, toCome bool) {
	toCome = record == EtcdHookRecord(uid, false)
	return uid != "" && (toCome || record == uid), uid != "" && toCome
}

// preDrainField is the path of the list that has the hook in a Machine API Machine.
const preDrainField = "spec.lifecycleHooks.preDrain"

// ControlPlaneRole returns the label that marks a Machine API Machine as one of the control plane, and the values of the label that do so.
func ControlPlaneRole() (label string, values []string) {
	return machineapi.RoleLabel, slices.Clone(controlPlaneRoles)
}

// OfControlPlane reports whether these labels of a Machine API Machine mark it as one of the control plane.
func OfControlPlane(labels map[string]string) bool {
	return slices.Contains(controlPlaneRoles, labels[machineapi.RoleLabel])
}

// changesEtcdHook reports whether a request leaves the preDrain list of a control plane Machine as it is, except for etcd's hook.
func changesEtcdHook(c policies.Change) bool {
	if c.Old == nil || c.New == nil || !OfControlPlane(c.Old.Metadata.Labels) {
		return false
	}
	before, after := otherHooks(c.Old), otherHooks(c.New)
	return len(before)+len(after) == 0 || sameJSON(before, after)
}

// otherHooks returns the items of the preDrain list without etcd's hook, each with all its fields, including those that this build does not know.
func otherHooks(o *policies.Object) []any {
	var spec struct {
		LifecycleHooks struct {
			PreDrain []any `json:"preDrain"`
		} `json:"lifecycleHooks"`
	}
	// If preDrain is not a list of hooks, the whole spec is compared.
	if json.Unmarshal(orNull(o.Spec), &spec) != nil {
		return []any{string(o.Spec)}
	}
	hook := map[string]any{"name": EtcdHookName, "owner": EtcdHookOwner}
	return slices.DeleteFunc(spec.LifecycleHooks.PreDrain, func(h any) bool { return reflect.DeepEqual(h, any(hook)) })
}

// hooks returns the hooks of a Machine API Machine, as a map from a hook's annotation on Cluster API's Machine to the hook's owner. It returns false if the
// hooks cannot be read.
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

// hooksCarried reports whether the two Machines of a pair have the same hooks, as far as a move away from source needs that. The generations do not show it,
// because the hooks on Cluster API's Machine are annotations, and a change of annotations does not change the generation. A hook that only a Cluster API mirror
// has does not count, because the mirror's MachineSet may have propagated it.
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

// isHook reports whether an annotation is a hook. Cluster API takes any annotation that begins with the prefix of preDrain or preTerminate hooks for a hook.
func isHook(annotation string) bool {
	return strings.HasPrefix(annotation, clusterv1.PreDrainDeleteHookAnnotationPrefix) ||
		strings.HasPrefix(annotation, clusterv1.PreTerminateDeleteHookAnnotationPrefix)
}

// losesEtcdHook reports whether a person removes etcd's hook from a Machine that is being deleted. If the Machine is not being deleted, no warning is needed,
// because the etcd operator restores the hook and Poundlock mirrors it.
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

// etcdHookNeeds asks for the twin of a Cluster API Machine. For a Machine API Machine it asks for nothing, because that object itself has the fields of
// authority.
func etcdHookNeeds(c policies.Change) policies.Need {
	if c.Side == policies.SideClusterAPI && losesEtcdHook(c) {
		return policies.NeedTwin
	}
	return 0
}

// EtcdHookRemoved warns a person who removes etcd's hook from a Machine that is being deleted. The hook "EtcdQuorumOperator" holds a Machine of the control
// plane until the Machine's etcd member has left (converting › Machine lifecycle hooks). Other rules refuse the removal from the object that is not
// authoritative. There is no warning if the etcd operator has already removed the hook in the Machine API, and the request removes the hook from Cluster API's
// Machine before Poundlock has mirrored that.
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
