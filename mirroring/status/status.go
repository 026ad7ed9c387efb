// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Reporter makes the writes that report something. Now is the time that they record.
type Reporter struct {
	Now time.Time
}

// ownStatus are the keys of a Machine API object's status that say which API is authoritative. They are never mirrored.
var ownStatus = []string{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"}

// ownConditions are the conditions that are never mirrored, because each object has its own: whether its controller is paused, and what Poundlock reports.
var ownConditions = []string{authority.ConditionPaused, authority.ConditionSynchronized, "AuthoritySettled"}

// passing are keys of status that may disappear again. If the authoritative object no longer has such a key, the mirror must not have it either.
var passing = []string{"addresses", "errorMessage", "errorReason", "failureMessage", "failureReason", "lastUpdated", "nodeRef"}

// Report returns the write that mirrors status to an object; nil if the object has that status already.
func (r Reporter) Report(live *unstructured.Unstructured, wanted map[string]any) *pairs.Write {
	if live == nil {
		return nil
	}
	return statusWrite(live, r.statusPatch(wanted, pairs.Below(live.Object, "status")))
}

func statusWrite(live *unstructured.Unstructured, status map[string]any) *pairs.Write {
	if len(status) == 0 {
		return nil
	}
	return &pairs.Write{Verb: pairs.PatchStatus, Object: live, Fields: pairs.SortedKeys(status), Patch: map[string]any{"status": status}}
}

// statusPatch returns the merge patch that makes the status live equal to wanted. Status is patched and never replaced, because the controllers of each side
// have fields of their own in it.
func (r Reporter) statusPatch(wanted, live map[string]any) map[string]any {
	out := map[string]any{}
	for _, k := range pairs.SortedKeys(wanted) {
		switch {
		case slices.Contains(ownStatus, k):
		case k == "conditions":
			if merged, changed := r.conditions(pairs.List(wanted[k]), pairs.List(live[k])); changed {
				out[k] = merged
			}
		case !ownership.Has(live[k], wanted[k]):
			out[k] = wanted[k]
		}
	}
	if len(wanted) == 0 {
		return out
	}
	ended(wanted, live, out)
	old := map[string]any{}
	ended(pairs.Under(wanted, "deprecated", "v1beta1"), pairs.Under(live, "deprecated", "v1beta1"), old)
	for key := range old {
		_ = unstructured.SetNestedField(out, nil, "deprecated", "v1beta1", key) // fails only if "deprecated" or "v1beta1" is no object
	}
	return out
}

// ended adds to the patch out the removal of the keys in passing that live has and wanted lacks.
func ended(wanted, live, out map[string]any) {
	for _, k := range passing {
		if _, given := wanted[k]; !given && live[k] != nil {
			out[k] = nil
		}
	}
}

// conditions merges the wanted conditions into the live list. It keeps the order of the live list, because the order has no meaning.
func (r Reporter) conditions(wanted, live []any) (merged []any, changed bool) {
	merged = live
	for _, w := range wanted {
		condition, ok := w.(map[string]any)
		if !ok || slices.Contains(ownConditions, conditionlist.Text(condition, "type")) {
			continue
		}
		var did bool
		merged, did = conditionlist.Set(merged, condition, r.Now)
		changed = changed || did
	}
	return merged, changed
}

// Synchronized returns the write that reports success: the mirror equals the source in this generation. If Cluster API is the source, wanted is the status that
// Cluster API reports, and is written in the same patch.
func (r Reporter) Synchronized(s *pairs.State, generation int64, wanted map[string]any) *pairs.Write {
	live := pairs.Below(s.MachineAPI.Object, "status")
	status := r.statusPatch(wanted, live)
	// The CRD lets synchronizedGeneration decrease only when a move ends, and then the handoff resets it. If the source was recreated, its generation begins at 1
	// again. Until that generation exceeds the generation of the former source, only the condition Synchronized changes.
	if generation > s.Shape().SynchronizedGeneration {
		status["synchronizedGeneration"] = generation
	}
	if g, stale := observed(s, wanted != nil); stale {
		status["observedGeneration"] = g
	}
	conditions, _ := status["conditions"].([]any)
	if conditions == nil {
		conditions = pairs.List(live["conditions"])
	}
	if merged, changed := conditionlist.Set(conditions, synchronizedCondition(metav1.ConditionTrue, "ResourceSynchronized", inStep(s)), r.Now); changed {
		status["conditions"] = merged
	}
	w := statusWrite(s.MachineAPI, status)
	if w != nil && status["conditions"] != nil && s.Shape().Condition(authority.ConditionSynchronized).Status != metav1.ConditionTrue {
		w.Reason, w.Note = "Synchronized", inStep(s)
	}
	return w
}

// observed returns the observedGeneration that the Machine API mirror should have because Cluster API's controllers have processed the newest generation, and
// whether the mirror's status has another one. The mirror's own controllers are paused and do not write this field, and `kubectl wait` ignores the conditions
// of an object whose status.observedGeneration is behind.
func observed(s *pairs.State, fromClusterAPI bool) (generation int64, stale bool) {
	value, counts := pairs.Below(s.MachineAPI.Object, "status")["observedGeneration"]
	if !fromClusterAPI || !counts || !jsonnumbers.Equal(pairs.Below(s.Core.Object, "status")["observedGeneration"], s.Core.GetGeneration()) {
		return 0, false
	}
	generation = s.MachineAPI.GetGeneration()
	return generation, !jsonnumbers.Equal(value, generation)
}

func inStep(s *pairs.State) string {
	source := s.Source()
	return source.Other().Text() + " mirrors " + source.Text()
}

func synchronizedCondition(status metav1.ConditionStatus, reason, message string) map[string]any {
	c := conditionlist.New(authority.ConditionSynchronized, status, reason, message)
	switch status { // a condition that is True has no severity
	case metav1.ConditionFalse:
		c["severity"] = "Error"
	case metav1.ConditionUnknown:
		c["severity"] = "Info"
	case metav1.ConditionTrue:
	}
	return c
}

// Fails returns the write that reports why the pair cannot be mirrored; nil if the condition already has this report. The mirror stays as it is.
func (r Reporter) Fails(s *pairs.State, reason, message string) *pairs.Write {
	if s.MachineAPI == nil {
		return nil
	}
	w := r.withCondition(s, metav1.ConditionFalse, reason, message)
	if w != nil {
		w.Failure = true
	}
	return w
}

// Refused returns the write that reports that the API server refuses the mirror, for this reason; nil if the condition already has this report.
func Refused(s *pairs.State, why string, now time.Time) *pairs.Write {
	return Reporter{Now: now}.Fails(s, "MirrorRefused", why)
}

// Observe returns the write that mirrors only the status. This happens while the authoritative API's controller deletes the machine.
func (r Reporter) Observe(s *pairs.State) *pairs.Write {
	if s.Source() == authority.ClusterAPI {
		status := core.StatusToMachineAPI(s.Kind.Name, core.Twin{Core: s.Core, Infra: s.Infra}, s.Env)
		return r.Report(s.MachineAPI, status)
	}
	coreStatus, infraStatus := ToClusterAPI(s)
	return pairs.First(
		func() *pairs.Write { return r.Report(s.MirrorOnly(s.Core), coreStatus) },
		func() *pairs.Write { return r.Report(s.MirrorOnly(s.Infra), infraStatus) },
	)
}

// ToClusterAPI returns the status of the two Cluster API objects: the core object and the infrastructure object. While authority moves it leaves out the fields
// that end with the move. So Cluster API's controllers do not find these fields when they begin, and the Machine API's mirror does not get them back. If the
// move is cancelled, the fields return.
func ToClusterAPI(s *pairs.State) (coreStatus, infraStatus map[string]any) {
	o := s.MachineAPI
	if s.Shape().Current == authority.Migrating {
		ends := authority.LeftBehind(pairs.ObjectOf(o), authority.ClusterAPI)
		if len(ends) > 0 {
			o = o.DeepCopy()
		}
		for _, name := range ends {
			unstructured.RemoveNestedField(o.Object, "status", name)
		}
	}
	return core.StatusToClusterAPI(s.Kind.Name, o, s.Env)
}

// The reasons of the condition while a pair waits for a kind that the API server does not serve.
const (
	reasonNoClusterAPI = "ClusterAPINotInstalled"
	reasonNoMachineAPI = "MachineAPINotInstalled"
	reasonNoProvider   = "ProviderNotInstalled"
)

// Waits returns the write that reports on the Machine API object for which kind the pair waits; nil if the condition already has this report.
func (r Reporter) Waits(s *pairs.State) *pairs.Write {
	if s.MachineAPI == nil || s.Source() == authority.Unset {
		return nil
	}
	reason, what := reasonNoProvider, "the platform's provider of Cluster API"
	switch s.Unserved.Group {
	case s.Kind.ClusterAPI.Group:
		reason, what = reasonNoClusterAPI, "Cluster API"
	case s.Kind.MachineAPI.Group:
		reason, what = reasonNoMachineAPI, "the Machine API"
	}
	return r.withCondition(s, metav1.ConditionUnknown, reason,
		fmt.Sprintf("The API server does not serve %s of %s. Poundlock mirrors this %s when %s is installed.",
			s.Unserved.Kind, s.Unserved.GroupVersion(), s.Kind.Name, what))
}

// Exists returns the write that records that the authoritative Cluster API object exists, and so may act already; nil if this is recorded. This write comes
// before anything else about the object is known, because Poundlock was away when the pair was adopted, and may be away again before its first report.
func Exists(s *pairs.State) *pairs.Write {
	if !unrecorded(s) || pairs.IsPaused(s.Core) {
		return nil
	}
	return statusWrite(s.MachineAPI, map[string]any{"synchronizedGeneration": 0})
}

// unrecorded reports two things: no generation of the authoritative Cluster API object has been mirrored, and nothing records that the object exists
// (authority.Shape.Existed).
func unrecorded(s *pairs.State) bool {
	return s.Source() == authority.ClusterAPI && s.Core != nil && !s.Shape().Recorded
}

// withCondition returns the write of the condition Synchronized to the Machine API object; nil if the object has this condition already.
func (r Reporter) withCondition(s *pairs.State, status metav1.ConditionStatus, reason, message string) *pairs.Write {
	patch := map[string]any{}
	if merged, changed := conditionlist.Set(conditionlist.Of(s.MachineAPI), synchronizedCondition(status, reason, message), r.Now); changed {
		patch["conditions"] = merged
	}
	if unrecorded(s) {
		patch["synchronizedGeneration"] = 0
	}
	w := statusWrite(s.MachineAPI, patch)
	if w != nil {
		w.Reason, w.Note = reason, message
	}
	return w
}
