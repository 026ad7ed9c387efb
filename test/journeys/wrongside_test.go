// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// attempt is a request that a person tries on the side that is not authoritative.
type attempt struct {
	sentence string
	args     []string
	// rule is the id that the answer must name. refused: the request is refused; otherwise it is only warned of.
	rule    string
	refused bool
}

func TestTheWrongSideAnswersAtOnce(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	set := newSet(t, "wrong-side", 1)
	name := machinesOf(t, set.name)[0]
	template := object{capi, "awsmachinetemplates.infrastructure.cluster.x-k8s.io", field(t, capiSet(set.name), ".spec.template.spec.infrastructureRef.name")}
	t.Run("Machine API is authoritative", func(t *testing.T) { try(t, set, underMachineAPI(set.name, name, template)) })

	request(t, set, "ClusterAPI")
	request(t, mapiMachine(name), "ClusterAPI")
	authorityIs(t, set, "ClusterAPI")
	authorityIs(t, mapiMachine(name), "ClusterAPI")
	settled(t, set)
	settled(t, mapiMachine(name))
	t.Run("Cluster API is authoritative", func(t *testing.T) { try(t, set, underClusterAPI(set.name, name)) })
}

func underMachineAPI(set, machine string, template object) []attempt {
	return []attempt{
		{"edit the set", append(capiSet(set).args("patch"), "--type=merge", "-p", `{"spec":{"replicas":4}}`), "authority/spec-locked", true},
		{"scale the set", capiSet(set).args("scale", "--replicas=4"), "authority/scale-locked", true},
		{"edit the Machine", append(capiMachine(machine).args("patch"), "--type=merge", "-p", `{"spec":{"failureDomain":"us-east-1c"}}`), "authority/spec-locked", true},
		{"edit its AWSMachine", append(awsMachine(machine).args("patch"), "--type=merge", "-p", `{"spec":{"instanceType":"m6i.4xlarge"}}`), "authority/infra-locked", true},
		{"give the authority another instance", append(mapiMachine(machine).args("patch"), "--type=merge", "-p", `{"spec":{"providerID":"aws:///us-east-1a/i-0"}}`), "authority/provider-id", true},
		{"edit the set's template", append(template.args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"instanceType":"m6i.4xlarge"}}}}`), "authority/infra-locked", true},
		{"delete its AWSMachine", awsMachine(machine).args("delete", "--wait=false"), "authority/infra-locked", true},
		{"unpause the set", append(capiSet(set).args("annotate"), "cluster.x-k8s.io/paused-"), "authority/paused-owned", true},
		{"unpause the Machine", append(capiMachine(machine).args("annotate"), "cluster.x-k8s.io/paused-"), "authority/paused-owned", true},
		{"unpause the AWSMachine", append(awsMachine(machine).args("annotate"), "cluster.x-k8s.io/paused-"), "authority/", true},
		{"set a reserved label", append(capiMachine(machine).args("label"), "node.kubernetes.io/mine=yes"), "authority/metadata-reserved", true},
		{"set a label of one's own", append(capiMachine(machine).args("label"), "example.com/mine=yes"), "", false},
		{"forge the status", append(mapiSet(set).args("patch", "--subresource=status"), "--type=merge", "-p", `{"status":{"authoritativeAPI":"Migrating"}}`), "authority/status-owned", true},
		{"forge the pause", append(mapiSet(set).args("patch", "--subresource=status"), "--type=merge", "-p",
			`{"status":{"conditions":[{"type":"Paused","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`), "authority/status-owned", true},
		{"delete the set", capiSet(set).args("delete", "--wait=false"), "authority/delete-recreated", false},
		{"delete the Machine", capiMachine(machine).args("delete", "--wait=false"), "authority/delete-propagates", false},
	}
}

func underClusterAPI(set, machine string) []attempt {
	return []attempt{
		{"edit the set", append(mapiSet(set).args("patch"), "--type=merge", "-p", `{"spec":{"template":{"spec":{"lifecycleHooks":{"preDrain":[{"name":"abc","owner":"abcd"}]}}}}}`), "authority/spec-locked", true},
		{"scale the set", mapiSet(set).args("scale", "--replicas=4"), "authority/scale-locked", true},
		{"edit the Machine", append(mapiMachine(machine).args("patch"), "--type=merge", "-p", `{"spec":{"providerID":"aws:///us-east-1a/i-0"}}`), "authority/spec-locked", true},
		{"give the authority another instance", append(capiMachine(machine).args("patch"), "--type=merge", "-p", `{"spec":{"providerID":"aws:///us-east-1a/i-0"}}`), "authority/provider-id", true},
		{"give its AWSMachine no instance", append(awsMachine(machine).args("patch"), "--type=merge", "-p", `{"spec":{"providerID":null}}`), "authority/provider-id", true},
		{"set a reserved label", append(mapiMachine(machine).args("label"), "machine.openshift.io/mine=yes"), "authority/metadata-reserved", true},
		{"set a label of one's own", append(mapiMachine(machine).args("label"), "example.com/mine=yes"), "", false},
		{"delete the set", mapiSet(set).args("delete", "--wait=false"), "authority/delete-detached", false},
		{"delete the Machine", mapiMachine(machine).args("delete", "--wait=false"), "authority/delete-propagates", false},
	}
}

// try sends each attempt as a dry run. It also sends the refused ones without dry run: the answer is the same, and nothing changes.
func try(t *testing.T, set object, attempts []attempt) {
	before := atRest(t, set)
	for _, a := range attempts {
		t.Run(a.sentence, func(t *testing.T) {
			dry := kubectl(t, "", append(a.args, "--dry-run=server")...)
			check(t, a, dry)
			if a.refused {
				earnest := kubectl(t, "", a.args...)
				check(t, a, earnest)
				if earnest.err != dry.err {
					t.Errorf("in earnest:\n%s\nas a dry run:\n%s", earnest.err, dry.err)
				}
			}
			if all := moved(before, versions(t, set)); len(all) > 0 {
				t.Errorf("moved:\n%s", strings.Join(all, "\n"))
			}
		})
	}
}

func check(t *testing.T, a attempt, got answer) {
	t.Helper()
	switch {
	case a.refused:
		refused(t, got, a.rule)
	case !got.ok:
		t.Errorf("refused:\n%s", got.err)
	case a.rule == "" && len(got.warnings()) > 0:
		t.Errorf("warned: %q", got.warnings())
	case a.rule != "" && !strings.Contains(strings.Join(got.warnings(), "\n"), a.rule):
		t.Errorf("no warning by %s: %q", a.rule, got.warnings())
	}
}

func refused(t *testing.T, got answer, rule string) {
	t.Helper()
	if got.ok || !strings.Contains(got.err, rule) {
		t.Errorf("want a refusal by %s, got ok=%t:\n%s", rule, got.ok, got.err)
	}
}
