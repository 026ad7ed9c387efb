// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
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
	// EtcdHookSeenAnnotation, on a Machine API Machine, records by the object's UID that Poundlock saw the hook on it and on Cluster API's Machine.
	EtcdHookSeenAnnotation = Domain + "/etcd-hook-seen"
)

// preDrainField is the list that has the hook.
const preDrainField = "spec.lifecycleHooks.preDrain"

// ControlPlaneRole is the label, with its values, that identifies a Machine of the control plane.
func ControlPlaneRole() (label string, values []string) {
	return machineapi.RoleLabel, slices.Clone(controlPlaneRoles)
}

// changesEtcdHook reports whether a request adds or removes no item of the list but the hook, on a Machine of the control plane.
func changesEtcdHook(c policies.Change) bool {
	if c.Old == nil || c.New == nil || !slices.Contains(controlPlaneRoles, c.Old.Metadata.Labels[machineapi.RoleLabel]) {
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
