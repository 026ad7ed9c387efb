// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies"
)

// Defaulters returns the rows that say which fields Poundlock fills in, and when.
func Defaulters() []policies.Defaulter {
	return []policies.Defaulter{
		{
			ID:     "authority/default",
			Clause: "converting › Summary of the rules outlined above",
			Description: "When a Machine API object is created with an empty spec.authoritativeAPI, the field becomes ClusterAPI if a Cluster API object of the same " +
				"name exists that is not a paused mirror, and MachineAPI otherwise. In the release's MachineHealthCheck machine-api-termination-handler the field stays " +
				"empty, which means MachineAPI: the cluster-version-operator would remove any value.",
			On: []policies.Scope{{Side: policies.SideMachineAPI, Kinds: kinds, Operations: []admissionv1.Operation{admissionv1.Create}}},
			Needs: func(c policies.Change) policies.Need {
				if Read(c.New).Requested != Unset {
					return 0
				}
				return policies.NeedLiveTwin
			},
			Default: DefaultRequest,
		},
		{
			ID:     "authority/request-kept",
			Clause: workflow,
			Description: "If spec.authoritativeAPI of an object or of a MachineSet's template is ClusterAPI, and a controller's request leaves the field out, the " +
				"stored value stays. A client whose types lack the field drops it, and the CRD's default would turn this into a request to move. If a person's request " +
				"leaves the " +
				"field out, the value stays only if the CRD has no default, as for MachineHealthChecks.",
			On:      []policies.Scope{{Side: policies.SideMachineAPI, Kinds: withControlPlane(kinds), Operations: []admissionv1.Operation{admissionv1.Update}}},
			Default: KeepRequest,
		},
		{
			ID:     "authority/finalizers-kept",
			Clause: deletion,
			Description: "If a person or GitOps replaces an object that exists in both APIs with a manifest, Poundlock's sync finalizer stays. The owners of a " +
				"MachineSet or " +
				"MachineHealthCheck stay too, if the manifest names none. A request that would only remove these is refused (authority/finalizers-owned).",
			On: []policies.Scope{{Side: policies.SideMachineAPI, Kinds: kinds, Operations: []admissionv1.Operation{admissionv1.Update}},
				{Side: policies.SideClusterAPI, Kinds: kinds, Operations: []admissionv1.Operation{admissionv1.Update}}},
			Needs:   when(replacesOwned, policies.NeedTwin),
			Default: KeepOwned,
		},
		{
			ID:     "authority/mark-kept",
			Clause: "DESIGN §3.3 › Deletion of the surroundings",
			Description: "If somebody replaces a namespace, a CRD, the Cluster or the infrastructure cluster with a manifest, the annotation " +
				"poundlock.openshift.io/holds-mirrors stays. A request that would only remove it is refused (authority/surroundings).",
			On: []policies.Scope{{Side: policies.Surroundings, Kinds: []string{Namespace, Definition, Cluster, InfraCluster},
				Operations: []admissionv1.Operation{admissionv1.Update}}},
			Default: KeepMark,
		},
		{
			ID:     "authority/status-default",
			Clause: "converting › Authority of resources and controller reconciliations",
			Description: "When any client first writes the status of an object, an absent status.authoritativeAPI becomes the stored spec.authoritativeAPI. (An API " +
				"server drops the status on creation, so the value cannot be stored earlier.) If the value is ClusterAPI and the Cluster API object exists already, " +
				"status.synchronizedGeneration becomes 0 to record this. Later, if a request leaves out authoritativeAPI, synchronizedAPI, synchronizedGeneration or " +
				"one of the conditions Synchronized and AuthoritySettled, the stored value stays. A client whose types lack such a field replaces the whole status " +
				"without it, and a client that read the conditions earlier replaces the whole list of conditions.",
			On: []policies.Scope{{Side: policies.SideMachineAPI, Kinds: withControlPlane(kinds),
				Operations: []admissionv1.Operation{admissionv1.Update}, Subresource: "status"}},
			Needs:   when(adoptsForClusterAPI, policies.NeedLiveTwin),
			Default: DefaultStatus,
		},
	}
}

// DefaultRequest fills in spec.authoritativeAPI if a new Machine API object asks for no authority. It fills in ClusterAPI if a Cluster API object of the same
// name exists that is not the new object's paused mirror, and MachineAPI otherwise. The MachineHealthCheck that belongs to the release does not get MachineAPI.
func DefaultRequest(c policies.Change) []policies.Patch {
	switch {
	case Read(c.New).Requested != Unset:
		return nil
	case c.Facts.Twin != nil && !besideMirror(c):
		return []policies.Patch{{Path: "/spec/authoritativeAPI", Value: ClusterAPI}}
	case ofRelease(c.Kind, c.New):
		return nil // the release's manifest lacks the field, so the cluster-version-operator would remove it again and again
	}
	return []policies.Patch{{Path: "/spec/authoritativeAPI", Value: MachineAPI}}
}

// DefaultStatus fills in Poundlock's own fields of status. It takes status.authoritativeAPI from the stored spec, because the requested spec in a PUT to
// /status is whatever the client sent. It restores those of Poundlock's fields and conditions that a request leaves out. If a request changes one of them,
// StatusOwned refuses the request. When Cluster API becomes authoritative and the Cluster API object exists, DefaultStatus records that this object exists
// (status.synchronizedGeneration 0), whichever client writes. Without that record, Poundlock would take the pair for a new one if the Cluster API object were
// deleted while Poundlock is away (Shape.Existed).
func DefaultStatus(c policies.Change) []policies.Patch {
	var out []policies.Patch
	if Read(c.Old).Current == Unset && Read(c.New).Current == Unset {
		out = append(out, policies.Patch{Path: "/status/authoritativeAPI", Value: askedFor(c.Old)})
	}
	if adoptsForClusterAPI(c) && c.Facts.Twin != nil {
		out = append(out, policies.Patch{Path: "/status/synchronizedGeneration", Value: 0})
	}
	if c.Actor == policies.Poundlock || len(out) > 0 {
		return out
	}
	before, after := statusFields(c.Old), statusFields(c.New)
	for _, name := range ownStatus {
		if nothing(after[name]) && !nothing(before[name]) {
			out = append(out, policies.Patch{Path: "/status/" + name, Value: before[name]})
		}
	}
	if lost := lostConditions(before, after); len(lost) > 0 {
		out = append(out, policies.Patch{Path: "/status/conditions", Value: append(conditions(after), lost...)})
	}
	return out
}

// adoptsForClusterAPI reports whether a write of status stores an authority for the first time, and that authority is Cluster API.
func adoptsForClusterAPI(c policies.Change) bool {
	before, after := Read(c.Old), Read(c.New)
	_, mirrored := KindNamed(c.Kind)
	return mirrored && before.Current == Unset && (after.Current == Unset || after.Current == ClusterAPI) && before.Requested == ClusterAPI &&
		!before.Recorded && !after.Recorded
}

// KeptConditions are Poundlock's own conditions on a Machine API object, which DefaultStatus restores. The Machine API's controllers patch the whole list of
// conditions from a cache, and so may drop a condition that is newer than the cache.
var KeptConditions = []string{ConditionSynchronized, ConditionSettled}

func lostConditions(before, after map[string]json.RawMessage) []any {
	var out []any
	for _, name := range KeptConditions {
		if kept := ofType(before, name); len(kept) > 0 && len(ofType(after, name)) == 0 {
			out = append(out, kept[0])
		}
	}
	return out
}

// nothing reports whether a member of status is absent, in any of the ways in which clients leave out a field.
func nothing(value json.RawMessage) bool {
	return len(value) == 0 || string(value) == "null" || string(value) == `""`
}

// conditions returns the conditions of a status, each with all fields that the client sent.
func conditions(status map[string]json.RawMessage) []any {
	var out []any
	_ = json.Unmarshal(orNull(status["conditions"]), &out)
	return out
}

// requestPaths are the fields by which a Machine API object asks for an authority.
var requestPaths = []string{authorityField, "spec.template.spec.authoritativeAPI"}

// KeepRequest restores a request for Cluster API that somebody has left out. No controller asks for a move. So if a controller leaves out or changes a request,
// KeepRequest always restores it. For a person's request it depends on the CRD. If the CRD has a default (MachineAPI), the API server has already filled in
// that default, and KeepRequest keeps it, because it cannot be distinguished from a value that the person typed: even a review of a PATCH has the options of an
// UPDATE. If the CRD has no default, the field is still absent, and KeepRequest restores the request. The CRD of MachineHealthChecks has none.
func KeepRequest(c policies.Change) []policies.Patch {
	if c.Actor == policies.Poundlock {
		return nil
	}
	var out []policies.Patch
	for _, path := range requestPaths {
		asked := requestAt(c.New, path)
		if requestAt(c.Old, path) == ClusterAPI && asked != ClusterAPI && (c.Actor != policies.Anyone || asked == Unset) {
			out = append(out, policies.Patch{Path: "/" + strings.ReplaceAll(path, ".", "/"), Value: ClusterAPI})
		}
	}
	return out
}

// KeepOwned restores the sync finalizer and the owners if an object is replaced as a whole without them. Otherwise FinalizersOwned would refuse the request.
// kubectl replace, and Argo CD if it is so configured, send a manifest that has neither the finalizer nor the Cluster as an owner.
func KeepOwned(c policies.Change) []policies.Patch {
	if !replacesOwned(c) || !mirrored(c, stand(c)) {
		return nil
	}
	var out []policies.Patch
	if losesFinalizer(c) {
		out = append(out, policies.Patch{Path: "/metadata/finalizers", Value: append(slices.Clone(c.New.Metadata.Finalizers), SyncFinalizer)})
	}
	if losesOwners(c) {
		out = append(out, policies.Patch{Path: "/metadata/ownerReferences", Value: c.Old.Metadata.OwnerReferences})
	}
	return out
}

// KeepMark restores the annotation HoldsMirrorsAnnotation if an object is replaced as a whole without it. Otherwise SurroundingsKept would refuse the request.
// kubectl replace, Argo CD and OLM replace CRDs that way.
func KeepMark(c policies.Change) []policies.Patch {
	mark, has := c.Old.Metadata.Annotations[HoldsMirrorsAnnotation]
	others := slices.DeleteFunc(metadataChanges(c), func(m metadataChange) bool { return m.annotation && m.key == HoldsMirrorsAnnotation })
	if !has || c.New.HasAnnotation(HoldsMirrorsAnnotation) || c.Actor == policies.Poundlock || c.Old.Deleting() || allowed(c.Old) || allowed(c.New) ||
		len(others) == 0 && !changesSpec(c) {
		return nil
	}
	return []policies.Patch{{Path: "/metadata/annotations/" + strings.ReplaceAll(HoldsMirrorsAnnotation, "/", "~1"), Value: mark}}
}

// replacesOwned reports whether a person's request leaves out the sync finalizer or all owners of an object, and also changes something else, as a replaced
// manifest does.
func replacesOwned(c policies.Change) bool {
	return c.Actor == policies.Anyone && !c.Old.Deleting() && (losesFinalizer(c) || losesOwners(c)) && (len(metadataChanges(c)) > 0 || changesSpec(c))
}

func losesFinalizer(c policies.Change) bool {
	return c.Old.HasFinalizer(SyncFinalizer) && !c.New.HasFinalizer(SyncFinalizer)
}

// losesOwners reports whether a request leaves an object without any owner. It is false for Machines, because somebody who removes a Machine's owner together
// with a label may want to release the Machine from its set. Another rule refuses that request and gives the reason.
func losesOwners(c policies.Change) bool {
	return c.Kind != "Machine" && len(c.Old.Metadata.OwnerReferences) > 0 && len(c.New.Metadata.OwnerReferences) == 0
}

func requestAt(o *policies.Object, path string) API {
	var spec map[string]any
	_ = json.Unmarshal(orNull(o.Spec), &spec)
	_, beneath, _ := strings.Cut(path, ".")
	value, _, _ := unstructured.NestedString(spec, strings.Split(beneath, ".")...)
	return API(value)
}
