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

// etcdHookManager is the field manager of the writes that follow from etcd's hook. It is not the mirror's own, because the mirror's applies do not contain
// them.
const etcdHookManager = "poundlock-etcd-hook"

// EtcdHook carries the hook of etcd's operator from the mirror to the authoritative object. The operator writes to the Machine API's Machines alone, so while
// Cluster API is authoritative it writes to the mirror (authority.Grants).
//
// An addition is always carried over: it only holds a drain. A removal lets the drain begin. That the mirror lacks the hook does not prove a removal: a
// mirror that was just created or restored lacks the hook, too, and managed fields keep no trace of who removed what. So Poundlock records on the mirror that
// it saw this very object, by its UID, with the hook. It carries over a removal only from an object with that record that is being deleted, which is when the
// operator removes the hook. It writes the record before Cluster API's Machine has the hook. Until then the record's value has an ending of its own
// (authority.EtcdHookRecord). That distinguishes a hook that is yet to be added to the authoritative object from one that this object has lost. The record is
// reliable, since
//   - it is written only on top of the resourceVersion that has the hook, and admission lets nobody else write it;
//   - only the operator can remove the hook from then on: admission lets nobody else, and the mirror itself removes it only together with the record;
//   - an object that was recreated has another UID, and nothing is added to an object that is being deleted, so a stale read can only be too careful;
//   - Cluster API's object is written by its resourceVersion, and each step is decided anew from what is stored, so a crash between two of them loses
//     nothing.
//
// Poundlock writes the record before it requests the mirror's deletion. Where somebody else deletes the mirror, and Poundlock is down until the operator has
// removed the hook, there may be no record: the hook of Cluster API's Machine then stays, and a person removes it.
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
		return s.recordHook(authority.EtcdHookRecord(uid, false)) // without the record, nothing proves a removal that follows the addition at once
	case here && !there && toCome:
		return s.carryHook(authority.EtcdHookOwner, "added the hook %s to %s")
	case here && !there && !deleting:
		return s.dropHook()
	case here && owner == authority.EtcdHookOwner && (!seen || toCome):
		return s.recordHook(authority.EtcdHookRecord(uid, true))
	case !here && seen && deleting && owner == authority.EtcdHookOwner:
		return s.carryHook(nil, "removed the hook %s from %s")
	case !here && seen && !deleting:
		return s.forgetHook() // the mirror gets the authoritative object's hook again, or that is gone as well
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

// dropHook removes from the mirror a hook that the authoritative object no longer has, and the record in the same write: if only the hook were removed, the
// record would prove a removal by the operator.
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

// recordFirst records the hook before Cluster API's Machine is created with it. Once that exists, the Machine API object may be deleted, and lose the hook,
// before the mirror reads it again. An object that is deleted before it has a twin needs no record: its hook holds nothing.
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
