// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

// TestRequestsThatWouldOutliveAMove: the check that makes a request to remediate also deletes it. A paused check does neither, and a check that acts ignores a
// paused Machine.
func TestRequestsThatWouldOutliveAMove(t *testing.T) {
	const (
		mapi    = `{"spec":{"authoritativeAPI":"ClusterAPI","remediationTemplate":{"kind":"XTemplate","name":"t"}},"status":{"authoritativeAPI":"MachineAPI","expectedMachines":3,"currentHealthy":2}}`
		sound   = `{"spec":{"remediationTemplate":{"kind":"XTemplate","name":"t"}},"status":{"authoritativeAPI":"MachineAPI","expectedMachines":3,"currentHealthy":3}}`
		deletes = `{"spec":{},"status":{"authoritativeAPI":"MachineAPI","expectedMachines":3,"currentHealthy":2}}`
		moved   = `{"spec":{"remediationTemplate":{"kind":"XTemplate","name":"t"}},"status":{"authoritativeAPI":"ClusterAPI","expectedMachines":3,"currentHealthy":3}}`
		capi    = `{"spec":{"clusterName":"k","remediation":{"templateRef":{"kind":"XTemplate","name":"t"}}},"status":{"expectedMachines":3,"currentHealthy":2}}`
		plain   = `{"spec":{"clusterName":"k"},"status":{"expectedMachines":3,"currentHealthy":2}}`
		machine = `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"k"}},"status":{"conditions":[{"type":"HealthCheckSucceeded","status":"False"},{"type":"ExternallyRemediated","status":"False"}]}}`
		again   = `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"k"}},"status":{"conditions":[{"type":"HealthCheckSucceeded","status":"True"},{"type":"ExternallyRemediated","status":"False"}]}}`
		spared  = `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"k"},"annotations":{"cluster.x-k8s.io/skip-remediation":""}},"status":{"conditions":[{"type":"HealthCheckSucceeded","status":"False"},{"type":"ExternallyRemediated","status":"False"}]}}`
		ofCAPI  = `{"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"ClusterAPI"}}`
		ofMAPI  = `{"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"MachineAPI"}}`
	)
	for name, c := range map[string]struct {
		kind, machineAPI, clusterAPI, check string
		want                                bool
	}{
		"a check of Machine API's whose Machines are not all healthy": {"MachineHealthCheck", mapi, capi, "", true},
		"one whose Machines are":                                              {"MachineHealthCheck", sound, capi, "", false},
		"one that deletes Machines itself":                                    {"MachineHealthCheck", deletes, plain, "", false},
		"a check of Cluster API's whose Machines are not all healthy":         {"MachineHealthCheck", moved, capi, "", true},
		"one of Cluster API's that has the set delete Machines":               {"MachineHealthCheck", ofCAPI, plain, "", false},
		"a Machine of Cluster API's that a check had somebody else remediate": {"Machine", ofCAPI, machine, capi, true},
		"it is healthy again, and the request is deleted":                     {"Machine", ofCAPI, again, capi, false},
		"its check was deleted":                                               {"Machine", ofCAPI, machine, "", false},
		"its check has the set delete it":                                     {"Machine", ofCAPI, machine, plain, false},
		"somebody has spared it: its check looks at it no longer":             {"Machine", ofCAPI, spared, capi, false},
		"a Machine of the Machine API's, at which its check goes on looking":  {"Machine", ofMAPI, machine, capi, false},
	} {
		t.Run(name, func(t *testing.T) {
			kind, _ := KindNamed(c.kind)
			o := Objects{Kind: kind, Enabled: true, MachineAPI: parsed(t, c.machineAPI), ClusterAPI: parsed(t, c.clusterAPI)}
			if c.check != "" {
				o.Checks = []*policies.Object{parsed(t, c.check)}
			}
			if got := o.State().RequestsOpen; got != c.want {
				t.Errorf("requests are open: %t", got)
			}
		})
	}
}

// TestRemediator: Cluster API looks for the template in its own namespace, and nobody copies the template there.
func TestRemediator(t *testing.T) {
	const (
		before = `{"spec":{"remediationTemplate":{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediationTemplate","name":"t"}},"status":{"authoritativeAPI":"MachineAPI"}}`
		after  = `{"spec":{"authoritativeAPI":"ClusterAPI","remediationTemplate":{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediationTemplate","name":"t"}},"status":{"authoritativeAPI":"MachineAPI"}}`
		itself = `{"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"MachineAPI"}}`
		partly = `{"spec":{"authoritativeAPI":"ClusterAPI","remediationTemplate":{"kind":"XTemplate","name":"t"}},"status":{"authoritativeAPI":"MachineAPI"}}`
	)
	for name, c := range map[string]struct {
		kind, asks string
		found      policies.Existence
		want       string
	}{
		"it is there": {"MachineHealthCheck", after, policies.Exists, ""},
		"it is not": {"MachineHealthCheck", after, policies.Absent, "SelfNodeRemediationTemplate t in namespace c, and none exists there: create it in that " +
			"namespace like the one in m"},
		"nobody may look": {"MachineHealthCheck", after, "", "SelfNodeRemediationTemplate t in namespace c, which Poundlock could not read: check that the template " +
			"exists"},
		"it deletes Machines": {"MachineHealthCheck", itself, policies.Absent, ""},
		"the field does not":  {"MachineHealthCheck", partly, policies.Absent, ""}, // the conversion reports that itself
		"a set":               {"MachineSet", after, policies.Absent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: c.kind, Namespace: "m", Name: "x", TwinNamespace: "c"},
				Operation: admissionv1.Update, Old: parsed(t, before), New: parsed(t, c.asks), Facts: policies.Facts{Remediation: c.found}}
			if need := needOf(change); c.kind == "MachineHealthCheck" && !need.Has(policies.NeedRemediation) {
				t.Errorf("nobody looks: %b", need)
			}
			var warned string
			for _, w := range RequestWarning(change).Warnings {
				if strings.HasPrefix(w, "spec.remediationTemplate") {
					warned = w
				}
			}
			if (warned != "") != (c.want != "") || !strings.Contains(warned, c.want) || len(warned) > 256 {
				t.Errorf("%q, want %q", warned, c.want)
			}
		})
	}
}

func needOf(c policies.Change) (n policies.Need) {
	for _, r := range Rules() {
		if r.ID == "authority/request-warning" && r.Needs != nil {
			n |= r.Needs(c)
		}
	}
	return n
}

// If a reviewed request meets another write, the API server reviews it again, and its answer has the warnings of both reviews. Warnings with equal words are
// shown once.
func TestTheReviewsOfOneRequestForASetHaveOneWarning(t *testing.T) {
	review := func(replicas string) []string {
		const set = `{"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":"MachineAPI","replicas":%s,"conditions":[{"type":"Synchronized","status":"True"}]}}`
		return RequestWarning(policies.Change{
			Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineSet"},
			Operation: admissionv1.Update, Old: parsed(t, fmt.Sprintf(set, "MachineAPI", replicas)), New: parsed(t, fmt.Sprintf(set, "ClusterAPI", replicas)),
		}).Warnings
	}
	if diff := cmp.Diff(review("3"), review("4")); diff != "" {
		t.Errorf("(-before the set was scaled +after it):\n%s", diff)
	}
}
