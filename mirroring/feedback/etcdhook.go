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

// hook is a pair, with the steps that copy the hook of etcd's operator from the mirror.
type hook struct{ *pairs.State }

// etcdHookManager is the field manager of the writes that follow from the hook of etcd's operator. It is not the mirror's own field manager, because the
// mirror's applies do not contain these fields.
const etcdHookManager = "poundlock-etcd-hook"

// EtcdHook returns the write that copies the hook of etcd's operator from the mirror to the authoritative object, nil if there is none. The operator writes
// only to the Machine API's Machines, so while Cluster API is authoritative it writes to the mirror (authority.Grants).
//
// An addition of the hook is always copied, because it only delays a drain. A removal lets the drain begin. If the mirror lacks the hook, that does not prove a
// removal: a mirror that was just created or restored lacks the hook, too, and managed fields do not show who removed what. So Poundlock records on the mirror,
// by the mirror's UID, that it has seen this object with the hook. It copies a removal only from an object with that record that is being deleted, which is
// when the operator removes the hook. It writes the record before Cluster API's Machine has the hook. Until then the record's value has an ending of its own
// (authority.EtcdHookRecord). The ending distinguishes a hook that is yet to be added to the authoritative object from a hook that this object has lost. The
// record is reliable, because
//   - it is written only at the resourceVersion that has the hook, and admission lets nobody else write it;
//   - after that, only the operator can remove the hook: admission lets nobody else remove it, and the mirror itself removes it only together with the record;
//   - a recreated object has another UID, and nothing is added to an object that is being deleted, so a stale read can only be too careful;
//   - Cluster API's object is written at its resourceVersion, and each step is decided anew from what is stored, so a crash between two steps loses
//     nothing.
//
// Poundlock writes the record before it requests the mirror's deletion. If somebody else deletes the mirror, and Poundlock is down until the operator has
// removed the hook, there may be no record. Then the hook of Cluster API's Machine stays, and a user must remove it.
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

// carryHook returns the write by which Cluster API's Machine gets the change that etcd's operator made to the mirror.
func (s hook) carryHook(value any, what string) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, By: etcdHookManager, Object: s.Core, Reason: "EtcdHookFollowed",
		Fields: []string{"metadata.annotations." + authority.EtcdHookAnnotation},
		Patch:  pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.EtcdHookAnnotation: value}}),
		Note:   fmt.Sprintf(what, authority.EtcdHookName, pairs.Describe(s.Core)) + ", as etcd's operator has done in the Machine API"}
}

// dropHook returns the write that removes from the mirror a hook that the authoritative object no longer has. It removes the record in the same write: if only
// the hook were removed, the record would look like the proof that the operator removed the hook.
func (s hook) dropHook() *pairs.Write {
	w := s.recordHook(nil)
	others := slices.DeleteFunc(slices.Clone(preDrainHooks(s.MachineAPI)), isEtcdHook)
	w.Patch["spec"] = map[string]any{"lifecycleHooks": map[string]any{"preDrain": others}}
	w.Reason, w.Fields = "MirrorUpdated", []string{"spec.lifecycleHooks.preDrain"}
	w.Note = fmt.Sprintf("removed the hook %s from %s, because %s no longer has the hook", authority.EtcdHookName,
		pairs.Describe(s.MachineAPI), pairs.Describe(s.Core))
	return w
}

func (s hook) forgetHook() *pairs.Write { return s.recordHook(nil) }

func (s hook) recordHook(value any) *pairs.Write {
	return &pairs.Write{Verb: pairs.Patch, By: etcdHookManager, Object: s.MachineAPI, Reason: "EtcdHookSeen",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.EtcdHookSeenAnnotation: value}})}
}

// recordFirst returns the write that records the hook before Cluster API's Machine is created with it. Once that Machine exists, the Machine API object may be
// deleted, and lose the hook, before the mirror reads it again. An object that is deleted before it has a twin needs no record, because its hook delays
// nothing.
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
