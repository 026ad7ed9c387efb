// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// sparedFor is how long after its move Cluster API's health checks skip a Machine whose infrastructure does not become ready. It is twice the checks' default
// for a start.
const sparedFor = 20 * time.Minute

// Spared returns the write that removes the annotation that keeps Cluster API's health checks from remediating a Machine that has moved without an instance.
// The annotation is removed once the Machine's infrastructure is ready, because the checks count the Machine's start from then on, or once sparedFor has passed
// since the move.
func Spared(s *pairs.State, now time.Time) *pairs.Write {
	if until := sparedUntil(s); !spared(s) || !ready(s) && (until.IsZero() || now.Before(until)) {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.Core, Reason: "ChecksResumed",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.SparedAnnotation: nil}}),
		Note: "removed " + authority.SparedAnnotation + " from " + pairs.Describe(s.Core) + ": the Machine moved without an instance, and health checks count " +
			"its start time from now on"}
}

// SparedLeft returns after how long Spared is due even without an event of the pair; 0 if there is nothing to wait for.
func SparedLeft(s *pairs.State, now time.Time) time.Duration {
	if !spared(s) || sparedUntil(s).IsZero() {
		return 0
	}
	return max(sparedUntil(s).Sub(now), 0)
}

func spared(s *pairs.State) bool {
	return s.Core != nil && s.Source() != authority.MachineAPI && s.Core.GetAnnotations()[authority.SparedAnnotation] == authority.SparedUntilReady
}

func ready(s *pairs.State) bool {
	return isTrue(conditionlist.Find(conditionlist.Of(s.Core), clusterv1.MachineInfrastructureReadyCondition))
}

// sparedUntil returns the time at which sparedFor has passed since the controllers of both APIs acknowledged the move. It returns zero before they have,
// because until then nobody creates an instance.
func sparedUntil(s *pairs.State) time.Time {
	if s.MachineAPI == nil {
		return time.Time{}
	}
	settled := conditionlist.Find(conditionlist.Of(s.MachineAPI), authority.ConditionSettled)
	since, err := time.Parse(time.RFC3339, conditionlist.Text(settled, "lastTransitionTime"))
	if !isTrue(settled) || err != nil {
		return time.Time{}
	}
	return since.Add(sparedFor)
}

func isTrue(condition map[string]any) bool {
	return conditionlist.Text(condition, "status") == string(metav1.ConditionTrue)
}
