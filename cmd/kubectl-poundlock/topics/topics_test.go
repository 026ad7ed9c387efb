// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package topics_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

func TestFind(t *testing.T) {
	all := topics.Topics()
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
		"status.authoritativeAPI":  "status.authoritativeAPI",
		"status.synchronizedAPI":   "status.synchronizedAPI",
		"synchronizedGeneration":   "status.synchronizedGeneration",
		"spec.authoritativeAPI":    "spec.authoritativeAPI",
		"spec.template.spec.providerSpec.value.blockDevices[3].ebs.iops": "blockDevices[].ebs.iops",
		"spec.template.spec.providerspec.value.blockdevices[0].ebs.IOPS": "blockDevices[].ebs.iops",
		"providerSpec.value.instancetype":                                "instanceType",
		"awsmachine.spec.rootvolume.size":                                "blockDevices[].ebs.volumeSize",
		"AWSMachine.spec.rootVolume.size":                                "blockDevices[].ebs.volumeSize",
		"GCPCluster.spec.network.hostProject":                            "networkInterfaces[].projectID",
		"spec.template.spec.taints":                                      "spec.template.spec.taints[].key",
		"spec.taints":                                                    "spec.template.spec.taints[].key",
		"taints":                                                         "spec.template.spec.taints[].key",
		"is there":                                                       "is there",
		"spec.deletePolicy":                                              "spec.deletePolicy",
		"spec.remediation.templateRef.name":                              "spec.remediationTemplate.apiVersion",
		"spec.machineNaming.template":                                    "spec.machineNaming.*",
		"metal3.io/autoscale-to-hosts":                                   "metal3.io/autoscale-to-hosts",
		"autoscale-to-hosts":                                             "metal3.io/autoscale-to-hosts",
		"machinetaintpropagation":                                        "MachineTaintPropagation",
		"node-role.kubernetes.io/infra":                                  "node-role.kubernetes.io/*",
		"pre-drain.delete.hook.machine.cluster.x-k8s.io/EtcdQuorum":      "pre-drain.delete.hook.machine.cluster.x-k8s.io/*",
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
	for asked, want := range map[string]string{
		"deviceindx":           "deviceIndex",
		"WaitingForPaus":       "WaitingForPause",
		"WaitForPaus":          "WaitingForPause",
		"FieldNotConvertable":  "FieldsNotConvertible",
		"athority/spec-locked": "authority/spec-locked",
		"spec.template.spec.providerSpec.value.blockDevices[0].ebs.volumSize": "blockDevices[].ebs.volumeSize",
		"blockDevices.ebs.kmsKey.filter":                                      "blockDevices[].ebs.kmsKey.filters.*",
		"spec.template.spec.instanceTyp":                                      "instanceType",
		"foo":                                                                 "",
	} {
		if similar := append(all.Similar(asked), ""); similar[0] != want {
			t.Errorf("%s: %q first, want %q", asked, similar, want)
		}
	}
}

// An object's metadata is not that inside a providerSpec.
func TestMetadataOfAnObject(t *testing.T) {
	all := topics.Topics()
	for asked, inProviderSpec := range map[string]bool{
		"metadata.ownerReferences":                   false,
		"metadata.labels[node-role.kubernetes.io/x]": false,
		"metadata.labels":                            false,
		"metadata":                                   false,
		"spec.template.metadata.ownerReferences":     false,
		"spec.template.spec.providerSpec.value.metadata.ownerReferences":     true,
		"spec.providerSpec.value.metadata.labels[node-role.kubernetes.io/x]": true,
		"metadata.creationTimestamp":                                         true, // only there does anybody print it
	} {
		found := all.Find(asked)
		if len(found) == 0 {
			t.Errorf("%s: nothing", asked)
		}
		for _, topic := range found {
			if strings.Contains(topic.Parts[len(topic.Parts)-1].Text, "inside a providerSpec") != inProviderSpec {
				t.Errorf("%s: %s, %s: %+v", asked, topic.Name, topic.About, topic.Parts)
			}
		}
	}
	if found := all.Find("metadata.ownerReferences"); len(found) != 1 || found[0].Name != "metadata.ownerReferences" {
		t.Errorf("owners: %+v", found)
	}
}

// Every condition that a person reads while waiting is explained.
func TestEveryReasonThatOneWaitsForIsExplained(t *testing.T) {
	all := topics.Topics()
	for _, reason := range []string{
		authority.ReasonDisabled, authority.ReasonUnknownOrigin, authority.ReasonDeleting, authority.ReasonNotSynchronized, authority.ReasonTwinMissing,
		authority.ReasonCatchingUp, authority.ReasonNotProvisioned, authority.ReasonInstanceUnknown, authority.ReasonInstanceShared, authority.ReasonNotPaused,
		authority.ReasonInfraShared, authority.ReasonNotResumed, authority.ReasonPausedElsewhere, authority.ReasonUncounted, authority.ReasonJudged, authority.ReasonRequestsOpen,
		readiness.ReasonFields, readiness.ReasonNoObject, readiness.ReasonNotManaged, readiness.ReasonRefused,
	} {
		if len(all.Find(reason)) == 0 {
			t.Errorf("%s is not explained: docs/runbooks.md has a table of reasons", reason)
		}
	}
}

// A reader has no page around the text: it names the document that it means, and whose the thing is.
func TestATopicNamesItsDocumentAndItsAPI(t *testing.T) {
	all := topics.Topics()
	for asked, want := range map[string]string{
		"InstanceUnknown":              "see the runbook An instance is unknown",
		"machine.machine.openshift.io": "of a Machine API Machine",
		"machine.cluster.x-k8s.io":     "of a Cluster API Machine",
		"metadata.annotations":         "docs/fields/core.md lists",
	} {
		text := ""
		for _, found := range all.Find(asked) {
			for _, part := range found.Parts {
				text += part.Text + "\n"
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: want %q in\n%s", asked, want, text)
		}
	}
}

// Every installed set of AWS has deviceIndex 0, which converts.
func TestAFieldMovesWithItsZeroValue(t *testing.T) {
	found := topics.Topics().Find("deviceIndex")
	if len(found) == 0 || !strings.Contains(found[0].Parts[0].Text, "another value than zero") {
		t.Errorf("%+v", found)
	}
}

func TestATopicIsWhole(t *testing.T) {
	all := topics.Topics()
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

// explain finds everything of Poundlock's that a person can read. The sources list it; docs compares conditions, events, alerts and metrics with them.
func TestWhatIsPrintedIsExplained(t *testing.T) {
	all := topics.Topics()
	asked := map[string]string{standing.ReasonRequested: "a reason of status", "error_type": "a label", "enforced": "a label's value"}
	for _, v := range readiness.Readinesses() {
		asked[string(v)] = "a verdict"
	}
	for _, answer := range readiness.Answers() {
		asked[answer] = "an answer"
	}
	for _, api := range []authority.API{authority.MachineAPI, authority.ClusterAPI, authority.Migrating} {
		asked[string(api)] = "a value of authoritativeAPI"
	}
	for _, phase := range []string{machinev1beta1.PhaseFailed, machinev1beta1.PhaseProvisioning, machinev1beta1.PhaseProvisioned, machinev1beta1.PhaseRunning,
		machinev1beta1.PhaseDeleting} {
		asked[phase] = "a phase"
	}
	for _, r := range slices.Concat(authority.Rules(), admission.Rules()) {
		asked[r.ID] = "a rule"
	}
	for _, reason := range topics.ReasonNames() {
		asked[reason] = "a reason"
	}
	for what, of := range map[string]struct {
		files []string
		name  *regexp.Regexp
		// prefix completes a name from the sources.
		prefix string
		least  int
	}{
		"an error type":           {[]string{"webhooks/shim/metrics.go", "proxy/metrics.go"}, regexp.MustCompile(`\n\t[a-zA-Z]+ += "([a-z]+-[a-z-]+|overloaded)"`), "", 9},
		"an annotation":           {[]string{"*/*.go", "*/*/*.go", "*/*/*/*.go"}, regexp.MustCompile(`= (?:authority\.)?Domain \+ "(/[a-z-]+)"`), authority.Domain, 13},
		"an annotation, in whole": {[]string{"*/*.go", "*/*/*.go", "*/*/*/*.go"}, regexp.MustCompile(`= "(poundlock\.openshift\.io/[a-z-]+)"\n`), "", 15},
		"another writer":          {[]string{"policies/authority/neighbours.go"}, regexp.MustCompile(`Who: "([^"]+)"`), "", 5},
		"an alert":                {[]string{"manifests/*/*/*.yaml", "manifests/*/*.yaml"}, regexp.MustCompile(`alert: (\w+)`), "", 15},
		"a metric":                {[]string{"*/*.go", "*/*/*.go"}, regexp.MustCompile(`"((?:poundlock|mapi|hypershift)_[a-z]+_[a-z_]+)"`), "", 30},
		"a reason to wait":        {[]string{"policies/authority/*.go", "mirroring/*.go"}, regexp.MustCompile(`\b[Rr]eason\w+ += "([A-Z]\w+)"`), "", 20},
	} {
		found := 0
		for _, pattern := range of.files {
			files, err := filepath.Glob("../../../" + pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				for _, m := range of.name.FindAllStringSubmatch(string(raw), -1) {
					found++
					asked[of.prefix+m[1]] = what
				}
			}
		}
		if found < of.least {
			t.Errorf("%s: %d were found, want %d at least: has the code moved?", what, found, of.least)
		}
	}
	for name, what := range asked {
		if len(all.Find(name)) == 0 {
			t.Errorf("%s (%s) is not explained: docs/meanings has the tables", name, what)
		}
	}
}

// The reader of a plan, or of a page, looks up its words.
func TestTheWordsOfAPlanAreExplained(t *testing.T) {
	for _, word := range []string{
		readiness.PlanAsk, readiness.PlanTakeBack, readiness.PlanCancel, readiness.PlanFollow, readiness.PlanLeave, readiness.PlanWillWait, "is there", "unknown",
		"mirror", "twin", "being deleted",
	} {
		if len(topics.Topics().Find(word)) != 1 {
			t.Errorf("%q has %d explanations", word, len(topics.Topics().Find(word)))
		}
	}
}

// TestEveryMetricOfAnAlertIsExplained: also those that others name, because an alert shows its expression.
func TestEveryMetricOfAnAlertIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../../manifests/components/monitoring/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, seen := topics.Topics(), 0
	for _, expr := range regexp.MustCompile(`(?m)^ *expr: (.*)$`).FindAllStringSubmatch(string(text), -1) {
		for _, name := range regexp.MustCompile(`\b[a-z]+(?:_[a-z]+){2,}\b`).FindAllString(expr[1], -1) {
			seen++
			if len(all.Find(name)) == 0 {
				t.Errorf("%s is not explained: docs/meanings has the tables", name)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d metrics were found in the alerts", seen)
	}
}
