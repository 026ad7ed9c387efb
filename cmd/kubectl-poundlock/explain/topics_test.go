// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/check"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/explain"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestFind(t *testing.T) {
	all := explain.Topics()
	for asked, want := range map[string]string{
		"authority/spec-locked":    "authority/spec-locked",
		"[authority/spec-locked]":  "authority/spec-locked",
		"spec-locked":              "authority/spec-locked",
		"authority/default":        "authority/default",
		"waitingforpause":          "WaitingForPause",
		"handoffstarted":           "HandoffStarted",
		"Pausing":                  "Pausing",
		"AuthoritySettled":         "AuthoritySettled",
		"AutoscalerFollowed":       "AutoscalerFollowed",
		"FailureDomainsReflected":  "FailureDomainsReflected",
		"PoundlockHandoffWaits":    "PoundlockHandoffWaits",
		"poundlock_handoffs_total": "poundlock_handoffs_total",
		"FieldsNotConvertible":     "FieldsNotConvertible",
		"deviceIndex":              "deviceIndex",
		"spec.template.spec.providerSpec.value.blockDevices[3].ebs.iops": "blockDevices[].ebs.iops",
		"AWSMachine.spec.rootVolume.size":                                "blockDevices[].ebs.volumeSize",
		"GCPCluster.spec.network.hostProject":                            "networkInterfaces[].projectID",
		"spec.deletePolicy":                                              "spec.deletePolicy",
		"spec.remediation.templateRef.name":                              "spec.remediationTemplate.apiVersion",
		"spec.machineNaming.template":                                    "spec.machineNaming.*",
	} {
		t.Run(asked, func(t *testing.T) {
			found := all.Find(asked)
			if len(found) == 0 {
				t.Fatalf("nothing; similar: %q", all.Similar(asked))
			}
			if found[0].Name != want {
				t.Errorf("%s, want %s", found[0].Name, want)
			}
		})
	}
	for _, asked := range []string{"", "nonsense", "authority/", "spec", "*"} {
		for _, f := range all.Find(asked) {
			if asked != "spec" {
				t.Errorf("%q is %s", asked, f.Name)
			}
		}
	}
	if got := strings.Join(all.Similar("deviceindx"), " "); !strings.Contains(got, "deviceIndex") {
		t.Errorf("similar: %s", got)
	}
}

// What a person reads in a condition, and waits because of, is explained.
func TestEveryReasonThatOneWaitsForIsExplained(t *testing.T) {
	all := explain.Topics()
	for _, reason := range []string{
		authority.ReasonDisabled, authority.ReasonUnknownOrigin, authority.ReasonDeleting, authority.ReasonNotSynchronized, authority.ReasonTwinMissing,
		authority.ReasonCatchingUp, authority.ReasonNotProvisioned, authority.ReasonInstanceUnknown, authority.ReasonInstanceShared, authority.ReasonNotPaused,
		authority.ReasonNotResumed, authority.ReasonPausedElsewhere, authority.ReasonUncounted, authority.ReasonJudged, authority.ReasonRequestsOpen,
		check.ReasonFields, check.ReasonNoObject, check.ReasonNotManaged, check.ReasonRefused,
	} {
		if len(all.Find(reason)) == 0 {
			t.Errorf("%s is not explained: docs/runbooks.md has a table of reasons", reason)
		}
	}
}

// Every installed set of AWS has deviceIndex 0, which moves.
func TestAFieldMovesWithItsZeroValue(t *testing.T) {
	found := explain.Topics().Find("deviceIndex")
	if len(found) == 0 || !strings.Contains(found[0].Parts[0].Text, "another value than zero") {
		t.Errorf("%+v", found)
	}
}

func TestATopicIsWhole(t *testing.T) {
	all := explain.Topics()
	for _, topic := range all {
		for _, part := range topic.Parts {
			if part.Text == "" {
				t.Errorf("%s (%s): %q says nothing", topic.Name, topic.About, part.Heading)
			}
		}
		if len(all.Find(topic.Name)) == 0 {
			t.Errorf("%s is not found by its name", topic.Name)
		}
	}
}
