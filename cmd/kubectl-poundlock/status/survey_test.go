// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies/authority"
)

// In a large fleet nobody sees what is below the table.
func TestARivalIsNamedFirst(t *testing.T) {
	out, f := &bytes.Buffer{}, &inventory.Fleet{}
	f.Rival = "Deployment a/b"
	glance{Output: printers.Output{Writer: out, Width: 200}, now: time.Now()}.write(surveyOf(f))
	const want = "Nothing moves: Poundlock does nothing while OpenShift's own migration exists, because both would write the same fields. " +
		"Stop or remove Deployment a/b. "
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.HasPrefix(text, want) || !strings.Contains(text, "kubectl poundlock explain RivalMigration") {
		t.Errorf("not first:\n%s", out)
	}
}

// Checks whose CRD has no fields of authority are there, also where nothing else was asked for.
func TestChecksThatAreLeftAloneAreCounted(t *testing.T) {
	const check = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1"},"spec":{}}`
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(check), authority.Pairs{inventory.DefaultPair})
	if err != nil {
		t.Fatal(err)
	}
	out, s := &bytes.Buffer{}, surveyOf(f)
	s.nothing = "No MachineHealthCheck was found."
	glance{Output: printers.Output{Writer: out, Width: 200}, now: time.Now()}.write(s)
	if want := "1 MachineHealthCheck left alone: the CRD has no field spec.authoritativeAPI.\n"; out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// A Machine that a set of Cluster API has made, and that does not convert, has no Machine API object to report that on.
func TestAMachineThatIsNotReflectedHasItsReason(t *testing.T) {
	const (
		cluster = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"lock","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}
---
{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}`
		sets = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"s","namespace":"openshift-machine-api","uid":"1"},"spec":{"authoritativeAPI":%[1]q},"status":{"authoritativeAPI":%[1]q}}
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","metadata":{"name":"s","namespace":"openshift-cluster-api","uid":"2"},"spec":{"clusterName":"lock"}}`
		machine = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"m","namespace":"openshift-cluster-api","uid":"3","creationTimestamp":"2026-01-01T00:00:00Z",
"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"s","uid":%q,"controller":true}]},"spec":{"clusterName":"lock","bootstrap":{"dataSecretName":"worker-user-data"},
"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"m"}}}`
		provided = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachine","metadata":{"name":"m","namespace":"openshift-cluster-api","uid":"4"},
"spec":{"instanceType":"m6i.large","ami":{"id":"ami-1"},"subnet":{"id":"subnet-1"},"iamInstanceProfile":"x"%s}}`
		ignition = `,"ignition":{"version":"3.4","storageType":"UnencryptedUserData"}`
	)
	for sentence, c := range map[string]struct {
		source, owner, ignition string
		row                     []string
	}{
		"it does not convert":          {"ClusterAPI", "2", "", []string{"machine/m", "Cluster API", "no", "FieldsNotConvertible"}},
		"it converts, and is new":      {"ClusterAPI", "2", ignition, []string{"machine/m", "Cluster API", "-", ""}},
		"the set is the Machine API's": {"MachineAPI", "2", "", []string{"machine/m", "Cluster API", "-", ""}},
		"its set is not mirrored":      {"ClusterAPI", "9", "", []string{"machine/m", "Cluster API", "-", ""}},
	} {
		documents := []string{cluster, fmt.Sprintf(sets, c.source), fmt.Sprintf(machine, c.owner), fmt.Sprintf(provided, c.ignition)}
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Problems) > 0 {
			t.Fatal(err, f.Problems)
		}
		out := &bytes.Buffer{}
		for i := range f.Pairs {
			f.Pairs[i].Source = ""
		}
		glance{Output: printers.Output{Writer: out, Width: 200}, now: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)}.write(surveyOf(f))
		row := ""
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "machine/m ") {
				row = line
			}
		}
		reason := c.row[3]
		if got := strings.Join(strings.Fields(row), " "); !strings.HasPrefix(got, strings.Join(c.row[:3], " ")+" ") || strings.Contains(row, "FieldsNotConvertible") != (reason != "") ||
			strings.Contains(out.String(), "kubectl poundlock check --to machineapi lists each field") != (reason != "") {
			t.Errorf("%s: %q in\n%s", sentence, got, out)
		}
	}
}
