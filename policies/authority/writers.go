// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// Effect is what a request does to a field, or to a whole object, as a set of bits.
type Effect uint8

// The effects that a grant may name.
const (
	Adds Effect = 1 << iota
	Changes
	Removes
	// Deletes is the deletion of the whole object. A grant of Deletes has metadata.name as its field.
	Deletes
	Writes = Adds | Changes | Removes
)

// Phase is a set of states of a pair, as bits. A lock depends on the state.
type Phase uint8

// The phases of a pair.
const (
	Uninitialized Phase = 1 << iota
	ByMachineAPI
	ByClusterAPI
	// LeavingMachineAPI and LeavingClusterAPI are the phases of a move from the named API, until the controllers of the object under review acknowledge their
	// pause. LeftMachineAPI and LeftClusterAPI are the phases from then on to the end of the move: the mirror has caught up, and a later write would be lost.
	LeavingMachineAPI
	LeavingClusterAPI
	LeftMachineAPI
	LeftClusterAPI
	// LeavingUnknown is a move without an origin: status.synchronizedAPI does not say where authority comes from.
	LeavingUnknown

	Moving   = LeavingMachineAPI | LeavingClusterAPI | LeftMachineAPI | LeftClusterAPI | LeavingUnknown
	AnyPhase = Uninitialized | ByMachineAPI | ByClusterAPI | Moving
	// MirroredByClusterAPI are the phases outside a move in which the Cluster API side is locked.
	MirroredByClusterAPI = Uninitialized | ByMachineAPI
)

// Grant lets one writer through one lock. It names fields, effects and phases, and never grants a whole object. What no row grants is locked. The rules that
// lock objects call Granted; the CEL policies and the mirror use the same rows.
type Grant struct {
	// Writer is the writer's name in documents.
	Writer string
	Actor  policies.Actor
	// Manager is the writer's field manager on the authoritative object, if the mirror carries the writer's changes over to that object; "" if the mirror leaves
	// the changes where they are.
	Manager string
	Side    policies.Side
	Kinds   []string
	// Fields are paths as denials spell them. [*] stands for every key of a map.
	Fields  []string
	Effects Effect
	While   Phase
	// Only reports whether the row applies to a request. If Only is nil, the row applies to every request.
	Only func(policies.Change) bool
	// Why is the reason for the grant: what the writer does, or what fails if it is refused.
	Why string
	// Unverified reports that nobody has checked the row against the component's source.
	Unverified bool
}

// Treatment returns what happens to the writes that a row grants: CarriedOver if the row has a Manager or is for the etcd operator, else LetThrough. The etcd
// operator's writes are carried over by a separate part of the mirror.
func (g Grant) Treatment() Treatment {
	if g.Manager != "" || g.Actor == policies.EtcdOperator {
		return CarriedOver
	}
	return LetThrough
}

// String returns the phases in words, as documents have them after "while".
func (p Phase) String() string {
	if p == AnyPhase {
		return "always"
	}
	var out []string
	for _, row := range []struct {
		of   Phase
		text string
	}{
		{Uninitialized, "authority is not stored yet"}, {ByMachineAPI, "Machine API is authoritative"}, {ByClusterAPI, "Cluster API is authoritative"},
	} {
		if p&row.of != 0 {
			out = append(out, row.text)
		}
	}
	switch p & Moving {
	case 0:
	case Moving:
		out = append(out, "authority moves")
	case LeavingMachineAPI:
		out = append(out, "authority leaves Machine API, until its controllers acknowledge")
	case LeavingClusterAPI:
		out = append(out, "authority leaves Cluster API, until its controllers acknowledge")
	default:
		out = append(out, "authority moves, in part")
	}
	return strings.Join(out, "; ")
}

// Grants returns every exception that the locks make for an identity other than Poundlock's.
func Grants() []Grant {
	infra := pausedInfra
	owners, finalizers := []string{"metadata.ownerReferences"}, []string{"metadata.finalizers"}
	names := []string{"metadata.labels[*]", "metadata.annotations[*]"}
	return []Grant{
		{
			Writer: "cluster-autoscaler", Actor: policies.Autoscaler, Manager: AutoscalerManager,
			Side: policies.SideClusterAPI, Kinds: machineSet, Fields: []string{"spec.replicas"}, Effects: Writes, While: MirroredByClusterAPI,
			Why: "it scales the Cluster API set, whichever side is authoritative",
		},
		{
			Writer: "cluster-autoscaler", Actor: policies.Autoscaler, Manager: AutoscalerManager,
			Side: policies.SideClusterAPI, Kinds: machine, Fields: []string{"metadata.annotations[" + clusterv1.DeleteMachineAnnotation + "]"},
			Effects: Writes, While: ByMachineAPI,
			Why: "it marks the Machine that it has drained, because otherwise another one would be deleted, and removes the mark if it could not scale",
		},
		{
			Writer: "cluster-autoscaler", Actor: policies.Autoscaler, Manager: AutoscalerManager,
			Side: policies.SideMachineAPI, Kinds: machineSet, Fields: []string{"spec.replicas"}, Effects: Writes, While: ByClusterAPI,
			Why: "in releases so far it only knows and scales the Machine API's sets",
		},
		{
			Writer: "cluster-autoscaler", Actor: policies.Autoscaler, Manager: AutoscalerManager,
			Side: policies.SideMachineAPI, Kinds: machine, Fields: annotated(machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation),
			Effects: Writes, While: ByClusterAPI,
			Why: "it marks the Machine that it has drained under both names, and removes both marks",
		},
		{
			Writer: "cluster-autoscaler", Actor: policies.Autoscaler, Manager: AutoscalerManager,
			Side: policies.SideMachineAPI, Kinds: machine, Fields: annotated(machineapi.DeleteAnnotation, machineapi.OldDeleteAnnotation),
			Effects: Removes, While: Moving,
			Why: "it removes a mark once if the move refuses its scaling. If the mark stayed, this Machine would be deleted whenever anybody scales the set down",
		},
		{
			Writer: "cluster-autoscaler", Actor: policies.Autoscaler, Manager: AutoscalerManager,
			Side: policies.SideClusterAPI, Kinds: machine, Fields: []string{"metadata.annotations[" + clusterv1.DeleteMachineAnnotation + "]"},
			Effects: Removes, While: Moving,
			Why: "it removes a mark once if the move refuses its scaling, in a future release that knows Cluster API",
		},
		{
			Writer: "Machine API's machine controllers", Actor: policies.MachineAPIController,
			Side: policies.SideMachineAPI, Kinds: machine, Fields: []string{"spec.providerID", "spec.metadata"}, Effects: Writes, While: LeavingMachineAPI,
			Why: "until they have acknowledged their pause they record the instance that they have requested, and mark an interruptible one",
		},
		{
			Writer: "Machine API's machine controllers", Actor: policies.MachineAPIController,
			Side: policies.SideMachineAPI, Kinds: machine, Fields: append(
				labelled(machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel, machineapi.InterruptibleLabel),
				annotated("machine.openshift.io/instance-state", "machine.openshift.io/instance-power-state")...), Effects: Writes, While: ByClusterAPI | Moving,
			Why: "with the feature gate off they ignore authoritativeAPI, and record the type and state of the instance although Cluster API is authoritative",
		},
		{
			Writer: "providers' MachineSet controllers of the Machine API", Actor: policies.MachineAPIController,
			Side: policies.SideMachineAPI, Kinds: machineSet, Fields: annotated(
				"machine.openshift.io/vCPU", "machine.openshift.io/memoryMb", "machine.openshift.io/GPU", "capacity.cluster-autoscaler.kubernetes.io/labels",
			), Effects: Writes, While: ByClusterAPI | Moving,
			Why: "most of them do not read authoritativeAPI, and record the size of the set's Machines for the autoscaler",
		},
		{
			Writer: "Cluster API's core controllers", Actor: policies.ClusterAPIController,
			Side: policies.SideClusterAPI, Kinds: machine, Fields: []string{"spec.providerID", "spec.failureDomain", "spec.bootstrap", "spec.infrastructureRef"},
			Effects: Writes, While: LeavingClusterAPI,
			Why: "until they have acknowledged their pause they record what the provider and the bootstrap provider report",
		},
		{
			Writer: "Cluster API's core controllers", Actor: policies.ClusterAPIController,
			Side: policies.SideClusterAPI, Kinds: []string{"MachineSet", "MachineHealthCheck"}, Fields: names, Effects: Writes, While: LeavingClusterAPI,
			Why: "until they have acknowledged their pause they write the label of the Cluster",
		},
		{
			Writer: "infrastructure provider", Actor: policies.InfrastructureController,
			Side: policies.SideInfrastructure, Kinds: []string{InfraMachine, InfraInstance}, Fields: append([]string{"spec"}, names...), Effects: Writes,
			While: LeavingClusterAPI,
			Why:   "until it has acknowledged its pause it records the instance that it has requested. The fields differ between providers",
		},
		{
			Writer: "Cluster API's MachineSet controller", Actor: policies.ClusterAPIController,
			Side: policies.SideClusterAPI, Kinds: machine, Fields: slices.Concat(names, PropagatedFields()), Effects: Writes, While: MirroredByClusterAPI | Moving,
			Why: "it writes its template's metadata and some fields onto its Machines in place, paused ones too, and stalls if it may not",
		},
		{
			Writer: "Cluster API's MachineSet controller", Actor: policies.ClusterAPIController,
			Side: policies.SideInfrastructure, Kinds: []string{InfraMachine}, Fields: names, Effects: Writes, While: MirroredByClusterAPI | Moving,
			Why: "it writes its template's metadata onto the infrastructure machines, too",
		},
		{
			Writer: "garbage collector", Actor: policies.GarbageCollector,
			Side: policies.SideMachineAPI, Kinds: kinds, Fields: owners, Effects: Writes, While: AnyPhase,
			Unverified: true, Why: "it removes references to owners that are gone",
		},
		{
			Writer: "garbage collector", Actor: policies.GarbageCollector,
			Side: policies.SideClusterAPI, Kinds: kinds, Fields: owners, Effects: Writes, While: AnyPhase,
			Unverified: true, Why: "the same",
		},
		{
			Writer: "garbage collector", Actor: policies.GarbageCollector,
			Side: policies.SideInfrastructure, Kinds: infra, Fields: slices.Concat(owners, finalizers), Effects: Writes, While: AnyPhase,
			Unverified: true, Why: "it removes references to owners that are gone, and its own finalizers",
		},
		{
			Writer: "garbage collector", Actor: policies.GarbageCollector,
			Side: policies.SideInfrastructure, Kinds: infra, Fields: []string{"metadata.name"}, Effects: Deletes, While: AnyPhase,
			Unverified: true, Why: "it deletes what belongs to an owner that is gone",
		},
		{
			Writer: "namespace controller", Actor: policies.NamespaceController,
			Side: policies.SideInfrastructure, Kinds: infra, Fields: []string{"metadata.name"}, Effects: Deletes, While: AnyPhase,
			Unverified: true, Why: "it empties a namespace that is being deleted",
		},
		{
			Writer: "infrastructure provider", Actor: policies.InfrastructureController,
			Side: policies.SideInfrastructure, Kinds: infra, Fields: finalizers, Effects: Writes, While: AnyPhase,
			Why: "it adds its finalizer even while paused",
		},
		{
			Writer: "infrastructure provider of Azure", Actor: policies.InfrastructureController,
			Side: policies.SideInfrastructure, Kinds: []string{InfraMachine}, Fields: annotated(BlockMoveAnnotation), Effects: Removes,
			While: MirroredByClusterAPI | Moving,
			Why:   "it acknowledges a pause by that, also one that began while Machine API was authoritative",
		},
		{
			Writer: "control-plane-machine-set-operator", Actor: policies.ControlPlaneOperator,
			Side: policies.SideMachineAPI, Kinds: machine, Fields: owners, Effects: Writes, While: AnyPhase, Only: ownedByControlPlane,
			Why: "it makes an active ControlPlaneMachineSet the owner of its Machines, whichever API is authoritative, and releases the Machines when the set is " +
				"deleted, because otherwise that deletion never ends",
		},
		{
			Writer: "cluster-etcd-operator", Actor: policies.EtcdOperator,
			Side: policies.SideMachineAPI, Kinds: machine, Fields: []string{preDrainField}, Effects: Writes, While: AnyPhase, Only: changesEtcdHook,
			Why: "it holds each Machine of the control plane until the etcd member has left, and removes its hook only from the Machine API object. Poundlock " +
				"copies both changes to the mirror",
		},
		{
			Writer: "cluster-autoscaler-operator", Actor: policies.AutoscalerOperator, Manager: "cluster-autoscaler-operator",
			Side: policies.SideMachineAPI, Kinds: machineSet, Fields: annotated(
				machineapi.AutoscalerMinSizeAnnotation, machineapi.AutoscalerMaxSizeAnnotation,
			), Effects: Writes, While: ByClusterAPI,
			Why: "it writes the limits of a MachineAutoscaler, which only supports the Machine API's MachineSet. A MachineAutoscaler is not deleted before the " +
				"limits are removed",
		},
		{
			Writer: "cluster-autoscaler-operator", Actor: policies.AutoscalerOperator,
			Side: policies.SideMachineAPI, Kinds: machineSet, Fields: annotated(machineapi.AutoscalerOperatorAnnotations()...), Effects: Writes, While: ByClusterAPI,
			Why: "it writes these annotations together with the limits, only on the Machine API's set",
		},
	}
}

func labelled(keys ...string) []string  { return keyed("metadata.labels", keys) }
func annotated(keys ...string) []string { return keyed("metadata.annotations", keys) }

func keyed(of string, keys []string) []string {
	var out []string
	for _, key := range keys {
		out = append(out, of+"["+key+"]")
	}
	return out
}

// grants is the table that Grants returns. It is built only once, because every review reads it.
var grants = Grants()

// Granted reports whether a row of grants lets the request's writer have this effect on the field at path.
func Granted(c policies.Change, path string, effect Effect) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return g.Effects&effect == effect && g.applies(c) && slices.ContainsFunc(g.Fields, func(f string) bool { return covers(f, path) })
	})
}

// grantedFields returns those paths, among root and the paths beneath it, at which a row of grants lets the request's writer add, change and remove values.
func grantedFields(c policies.Change, root string) []string {
	var out []string
	for _, g := range grants {
		if g.Effects&Writes != Writes || !g.applies(c) {
			continue
		}
		for _, f := range g.Fields {
			if f == root || strings.HasPrefix(f, root+".") {
				out = append(out, f)
			}
		}
	}
	return out
}

func (g Grant) applies(c policies.Change) bool {
	return g.Actor == c.Actor && g.Side == c.Side && slices.Contains(g.Kinds, c.Kind) && g.While&phase(c) != 0 && (g.Only == nil || g.Only(c))
}

// Annotated returns the rows of one side that grant changes of annotations. The Fields of each returned row are the keys of these annotations. It is for the
// mirror.
func Annotated(side policies.Side) []Grant {
	var out []Grant
	for _, g := range grants {
		if keys := g.Names("metadata.annotations"); g.Side == side && len(keys) > 0 {
			g.Fields = keys
			out = append(out, g)
		}
	}
	return out
}

// LeftAlone returns the names of those labels or annotations of a Machine API object that its own controllers keep up to date while Cluster API is
// authoritative, and that are not carried over: the mirror leaves them as they are. The path "of" is metadata.labels or metadata.annotations.
func LeftAlone(kind, of string) []string {
	var out []string
	for _, g := range grants {
		if g.Side == policies.SideMachineAPI && slices.Contains(g.Kinds, kind) && g.While&ByClusterAPI != 0 && g.Manager == "" {
			out = append(out, g.Names(of)...)
		}
	}
	return out
}

// Names returns the names of the row's fields directly beneath the path "of" (for example spec). If that path is a map, such as metadata.labels, it returns the
// keys that the row names in the map.
func (g Grant) Names(of string) []string {
	var out []string
	for _, f := range g.Fields {
		if name, is := strings.CutPrefix(f, of+"."); is && !strings.Contains(name, ".") {
			out = append(out, name)
		}
		if key, is := strings.CutPrefix(f, of+"["); is && key != "*]" {
			out = append(out, strings.TrimSuffix(key, "]"))
		}
	}
	return out
}

// covers reports whether a row's field includes a path: it is this path, or it ends with [*] and the path is a key of that map.
func covers(field, path string) bool {
	every, wild := strings.CutSuffix(field, "[*]")
	return field == path || wild && strings.HasPrefix(path, every+"[")
}

func phase(c policies.Change) Phase {
	s := stand(c)
	switch s.Current {
	case MachineAPI:
		return ByMachineAPI
	case ClusterAPI:
		return ByClusterAPI
	case Migrating:
		return moving(c, s)
	}
	return Uninitialized
}

func moving(c policies.Change, s standing) Phase {
	left := acknowledged(c)
	switch {
	case s.SynchronizedAPI == MachineAPI && left:
		return LeftMachineAPI
	case s.SynchronizedAPI == MachineAPI:
		return LeavingMachineAPI
	case s.SynchronizedAPI == ClusterAPI && left:
		return LeftClusterAPI
	case s.SynchronizedAPI == ClusterAPI:
		return LeavingClusterAPI
	}
	return LeavingUnknown
}

// controlPlaneRoles are the values of machineapi.RoleLabel on a Machine of the control plane.
var controlPlaneRoles = []string{"master", "control-plane"}

// ownedByControlPlane reports whether a request, on a control plane Machine, changes only owners that are ControlPlaneMachineSets.
func ownedByControlPlane(c policies.Change) bool {
	return c.Old != nil && c.New != nil && OfControlPlane(c.Old.Metadata.Labels) &&
		changesOwners(c, machinev1beta1.GroupName, ControlPlane)
}

// changesOwners reports whether a request changes only owners of one kind.
func changesOwners(c policies.Change, group, kind string) bool {
	before, after := otherOwners(c.Old, group, kind), otherOwners(c.New, group, kind)
	return len(before)+len(after) == 0 || sameJSON(before, after)
}

func otherOwners(o *policies.Object, group, kind string) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(o.Metadata.OwnerReferences), func(r metav1.OwnerReference) bool {
		of, _, _ := strings.Cut(r.APIVersion, "/")
		return r.Kind == kind && of == group
	})
}
