// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// hook is a pair whose hook of etcd is carried.
type hook struct{ *pairs.State }

// etcdHookManager is who writes what follows from etcd's hook, in managed fields: apart from the mirror's applies, which know nothing of it.
const etcdHookManager = "poundlock-etcd-hook"

// EtcdHook carries the hook of etcd's operator against the stream. The operator writes to the Machine API's Machines alone, so while Cluster
// API is authoritative its writes are to the mirror (authority.Grants).
//
// An addition is carried always: it only holds a drain. A removal lets the drain begin, and that the mirror lacks the hook proves no removal:
// one that was just made or restored lacks it too, and managed fields keep no trace of who removed what. So Poundlock keeps a record on the
// mirror that it saw this very object, by its UID, with the hook. The removal is carried only from an object with that record that is being deleted, which is
// when the operator removes it. The record comes before Cluster API's Machine has the hook, and until then its value has an end of its own
// (authority.EtcdHookRecord): a hook that is to be added to the authority is not one that the authority has lost. That is sound, since
//   - the record is written only on top of the resourceVersion that has the hook, and admission lets nobody else write it;
//   - who removes the hook from then on is the operator: admission lets nobody else, and the mirror itself removes it only together with the record;
//   - an object that was recreated has another UID, and nothing comes back on one that is being deleted, so a stale look can only be too careful;
//   - Cluster API's object is written by its resourceVersion, and each step is decided anew from what is stored, so a crash between two of them loses nothing.
//
// The record comes before the mirror's deletion is requested. Where somebody else deletes the mirror, and Poundlock is down until the operator has removed
// the hook, there may be none: Cluster API's then stays, and a person removes it.
func EtcdHook(s *pairs.State) *pairs.Write { return hook{s}.next() }

func (s hook) next() *pairs.Write {
	if !s.Kind.InfraActs() || s.MachineAPI == nil {
		return nil
	}
	record, kept := s.MachineAPI.GetAnnotations()[authority.EtcdHookSeenAnnotation]
	switch {
	case s.Source() == authority.MachineAPI && kept:
		return s.forgetHook()
	case s.Source() != authority.ClusterAPI:
		return nil
	case s.Core == nil:
		return s.recordFirst(record)
	}
	owner, there := s.Core.GetAnnotations()[authority.EtcdHookAnnotation]
	uid, here := string(s.MachineAPI.GetUID()), hasEtcdHook(s.MachineAPI)
	seen, toCome := authority.ReadEtcdHookRecord(record, uid)
	deleting := pairs.PresenceOf(s.MachineAPI) == authority.Deleting
	switch {
	case here && !there && !seen:
		return s.recordHook(authority.EtcdHookRecord(uid, false)) // else nothing proves a removal that follows the addition at once
	case here && !there && toCome:
		return s.carryHook(authority.EtcdHookOwner, "added the hook %s to %s")
	case here && !there && !deleting:
		return s.dropHook()
	case here && owner == authority.EtcdHookOwner && (!seen || toCome):
		return s.recordHook(authority.EtcdHookRecord(uid, true))
	case !here && seen && deleting && owner == authority.EtcdHookOwner:
		return s.carryHook(nil, "removed the hook %s from %s")
	case !here && seen && !deleting:
		return s.forgetHook() // the authority's comes back to the mirror, or has gone as well
	}
	return nil
}

// carryHook writes what etcd's operator did to Cluster API's Machine.
func (s hook) carryHook(value any, what string) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, By: etcdHookManager, Object: s.Core, Reason: "EtcdHookFollowed",
		Fields: []string{"metadata.annotations." + authority.EtcdHookAnnotation},
		Patch:  pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.EtcdHookAnnotation: value}}),
		Note:   fmt.Sprintf(what, authority.EtcdHookName, pairs.Describe(s.Core)) + ", as etcd's operator has done in the Machine API"}
}

// dropHook takes off the mirror what the authority has no more, and the record in the same write: without the one, the other would prove a removal.
func (s hook) dropHook() *pairs.Write {
	w := s.recordHook(nil)
	others := slices.DeleteFunc(slices.Clone(preDrainHooks(s.MachineAPI)), isEtcdHook)
	w.Patch["spec"] = map[string]any{"lifecycleHooks": map[string]any{"preDrain": others}}
	w.Reason, w.Fields = "MirrorUpdated", []string{"spec.lifecycleHooks.preDrain"}
	w.Note = fmt.Sprintf("removed the hook %s from %s, as %s no longer has it", authority.EtcdHookName, pairs.Describe(s.MachineAPI), pairs.Describe(s.Core))
	return w
}

func (s hook) forgetHook() *pairs.Write { return s.recordHook(nil) }

func (s hook) recordHook(value any) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, By: etcdHookManager, Object: s.MachineAPI, Reason: "EtcdHookSeen",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.EtcdHookSeenAnnotation: value}})}
}

// recordFirst records the hook before Cluster API's Machine is created with it. Afterwards the Machine API object may be deleted, and lose the hook, before the
// mirror looks again. What is deleted before it has a twin holds nothing.
func (s hook) recordFirst(record string) *pairs.Write {
	uid := string(s.MachineAPI.GetUID())
	if seen, _ := authority.ReadEtcdHookRecord(record, uid); seen || !hasEtcdHook(s.MachineAPI) || pairs.PresenceOf(s.MachineAPI) != authority.Present ||
		!slices.Contains(s.MachineAPI.GetFinalizers(), authority.SyncFinalizer) {
		return nil
	}
	return s.recordHook(authority.EtcdHookRecord(uid, true))
}

func hasEtcdHook(machineAPI *unstructured.Unstructured) bool {
	return slices.ContainsFunc(preDrainHooks(machineAPI), isEtcdHook)
}

func preDrainHooks(machineAPI *unstructured.Unstructured) []any {
	return pairs.List(pairs.Under(machineAPI.Object, "spec", "lifecycleHooks")["preDrain"])
}

func isEtcdHook(item any) bool {
	hook, _ := item.(map[string]any)
	return hook["name"] == authority.EtcdHookName && hook["owner"] == authority.EtcdHookOwner
}
