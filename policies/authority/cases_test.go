// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/policiestest"
)

func load(t testing.TB) []policiestest.Case {
	t.Helper()
	cases, err := policiestest.Load("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestRules compares the answers of each rule with its cases. Each question has every fact that its case has.
func TestRules(t *testing.T) {
	for _, c := range load(t) {
		t.Run(c.Rule+"/"+c.Name, func(t *testing.T) {
			v := verdict(rules, c)
			if diff := cmp.Diff(c.Denied, fields(v)); diff != "" {
				t.Errorf("denied fields (-want +got):\n%s", diff)
			}
			if len(v.Warnings) != len(c.Warned) {
				t.Fatalf("warnings %q, want one for each of %q", v.Warnings, c.Warned)
			}
			for i, words := range c.Warned {
				if !strings.Contains(v.Warnings[i], words) {
					t.Errorf("warning %q has not the words %q", v.Warnings[i], words)
				}
			}
		})
	}
}

// TestMessagesNameKinds requires the object's own kind in every message. No cluster has a kind InfraMachine.
func TestMessagesNameKinds(t *testing.T) {
	for _, c := range load(t) {
		v := verdict(rules, c)
		for _, e := range v.Denials {
			v.Warnings = append(v.Warnings, e.Detail)
		}
		for _, text := range v.Warnings {
			if strings.Contains(text, "InfraMachine") || strings.Contains(text, "this Scale ") {
				t.Errorf("%s: %s: %s", c.Rule, c.Name, text)
			}
		}
	}
}

// TestMessagesCount requires the singular for one of a thing.
func TestMessagesCount(t *testing.T) {
	many := regexp.MustCompile(`\b1 more (Machines|fields)\b|(^|[^f] |\()1 (\w+ )?(Machines|fields|replicas|pods|indexes)\b`)
	for _, c := range load(t) {
		v := verdict(rules, c)
		for _, e := range v.Denials {
			v.Warnings = append(v.Warnings, e.Detail)
		}
		for _, text := range v.Warnings {
			if many.MatchString(text) {
				t.Errorf("%s: %s: %s", c.Rule, c.Name, text)
			}
		}
	}
}

// TestRenamed compares the names in remedies with those of the conversion.
func TestRenamed(t *testing.T) {
	want := map[string]string{}
	for _, n := range slices.Concat(core.Annotations(), core.Labels()) {
		want[n.MachineAPI] = n.ClusterAPI
	}
	if diff := cmp.Diff(want, authority.Renamed()); diff != "" {
		t.Errorf("(-conversion +remedies):\n%s", diff)
	}
}

// TestReservedRemedy requires the other side's names in the remedy, as a command.
func TestReservedRemedy(t *testing.T) {
	for _, c := range load(t) {
		if c.Rule != "authority/metadata-reserved" || !strings.Contains(c.Name, "deletion mark is reserved") {
			continue
		}
		v := verdict(rules, c)
		if want := " worker-a cluster.x-k8s.io/delete-machine=true --overwrite"; len(v.Denials) != 1 || !strings.HasSuffix(v.Denials[0].Detail, want) {
			t.Errorf("%s: %v, want %q", c.Name, v.Denials, want)
		}
	}
}

// A mark counts whatever its value is, so the remedy for the value false is to remove the mark. A label that the mirror derives has no counterpart to set by
// its name on the other object.
func TestTheRemedyForMarksAndDerivedLabels(t *testing.T) {
	seen := 0
	for _, c := range load(t) {
		for sentence, want := range map[string]string{
			"is set to false": " cluster.x-k8s.io/delete-machine- --overwrite",
			"derived label: the control plane's": "from the label machine.openshift.io/cluster-api-machine-role of machines.machine.openshift.io " +
				"openshift-machine-api/worker-a, and would restore the label: change the source on that object instead",
			"derived label: its set's":      "from the owner reference to its MachineSet of",
			"derived label: its Node's own": "from spec.metadata.labels of",
		} {
			if c.Rule != "authority/metadata-reserved" || !strings.Contains(c.Name, sentence) {
				continue
			}
			for _, d := range verdict(rules, c).Denials {
				seen++
				if !strings.Contains(d.Detail, want) {
					t.Errorf("%s: %s: %s", c.Name, d.Field, d.Detail)
				}
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d denials, want 4 or more", seen)
	}
}

// If a replacement leaves out the limits of autoscaling, a command that removes them from the authoritative object would remove them from both. If it leaves
// out what the mirror leaves to a controller of the Machine API, a command that sets that on the authoritative object would change nothing.
func TestTheRemedyForWhatOthersWrite(t *testing.T) {
	seen := 0
	for _, c := range load(t) {
		for sentence, want := range map[string]string{"replacement leaves them out": "Keep them, also in a manifest that replaces the whole object", "left to a controller": "leave it as it is"} {
			if c.Rule != "authority/metadata-reserved" || !strings.Contains(c.Name, sentence) {
				continue
			}
			for _, d := range verdict(rules, c).Denials {
				seen++
				if !strings.Contains(d.Detail, want) || strings.Contains(d.Detail, "kubectl -n") {
					t.Errorf("%s: %s: %s", c.Name, d.Field, d.Detail)
				}
			}
		}
	}
	if seen != 7 {
		t.Errorf("%d denials, want 7", seen)
	}
}

// TestMarkRemedy: a user who removes Poundlock's mark from a mirror does not get a command that removes it from the other object.
func TestMarkRemedy(t *testing.T) {
	seen := 0
	for _, c := range load(t) {
		if !strings.Contains(c.Name, "Poundlock's mark is removed (") || c.Rule == "authority/propagation" {
			continue
		}
		for _, d := range verdict(rules, c).Denials {
			seen++
			if strings.Contains(d.Detail, "mirror-of") || strings.Contains(d.Detail, "annotate") || !strings.Contains(d.Detail, `"authoritativeAPI":"ClusterAPI"`) ||
				!strings.Contains(d.Detail, "kubectl poundlock cleanup") {
				t.Errorf("%s: %s", c.Name, d.Detail)
			}
		}
	}
	if seen == 0 {
		t.Error("no case removes the mark")
	}
}

// TestHookRemedy: the Machine API has hooks in a field, and Cluster API has them in annotations. A person who edits the mirror gets a command in the other
// form.
func TestHookRemedy(t *testing.T) {
	const (
		drain, terminate = "pre-drain.delete.hook.machine.cluster.x-k8s.io/", "pre-terminate.delete.hook.machine.cluster.x-k8s.io/"
		annotate         = "(in Cluster API a hook is an annotation: kubectl -n openshift-cluster-api annotate machines.cluster.x-k8s.io worker-a "
		set              = `kubectl -n openshift-cluster-api patch machinesets.cluster.x-k8s.io worker-a --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"`
		template         = `(in Machine API a hook is a list item: kubectl -n openshift-machine-api patch machinesets.machine.openshift.io worker-a --type merge -p '{"spec":{"template":{"spec":{"lifecycleHooks":{`
		patch            = `which is authoritative: kubectl -n openshift-machine-api patch machines.machine.openshift.io worker-a --type merge -p '{"spec":{"lifecycleHooks":{`
	)
	want := map[string]string{
		"a hook is added to the mirror in Machine API":                  annotate + drain + "more=me --overwrite)",
		"a hook with an owner of many words is added to the mirror":     annotate + terminate + "more=VALUE --overwrite)",
		"the owner of a hook of the mirror changes":                     annotate + drain + "wait=you --overwrite)",
		"a hook is removed from the mirror in Machine API":              annotate + drain + "wait- --overwrite)",
		"a hook is added to the mirror in Cluster API":                  patch + `"preDrain":[{"name":"more","owner":"me"},{"name":"wait","owner":"me"}]}}}'`,
		"a hook is removed from the mirror in Cluster API":              patch + `"preDrain":[]}}}'`,
		"a hook and a label are added to the mirror in Cluster API":     patch + `"preTerminate":[{"name":"more","owner":"me"}]}}}' && kubectl -n openshift-machine-api label machines`,
		"hooks stay as they are beside another change":                  "",
		"hooks of the template change in Machine API":                   "(in Cluster API a hook is an annotation: " + set + drain + `more":"me","` + drain + `wait":null,"` + terminate + `last":"VALUE"}}}}}')`,
		"hooks of the template stay beside another change":              "",
		"a hook is added to the template in Cluster API":                template + `"preDrain":[{"name":"more","owner":"me"},{"name":"wait","owner":"me"}]}}}}}')`,
		"a hook without a name is added to the template in Cluster API": template + `"preTerminate":[{"name":"NAME","owner":"me"}]}}}}}')`,
		"hooks of the template stay beside another annotation":          "",
		"a hook without a name is added to the mirror in Cluster API":   patch + `"preTerminate":[{"name":"NAME","owner":"me"}]}}}'`,
		"a hook is added to the set's mirror itself": `which is authoritative: kubectl -n openshift-machine-api patch machinesets.machine.openshift.io worker-a --type merge -p '{"spec":` +
			`{"template":{"spec":{"lifecycleHooks":{"preDrain":[{"name":"more","owner":"me"},{"name":"wait","owner":"me"}]}}}}}'`,
		"a hook without a name is added to the mirror in Machine API": "annotate machines.cluster.x-k8s.io worker-a " + drain + "NAME=me --overwrite",
	}
	for _, c := range load(t) {
		_, it, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(c.Name, " (Machine by a person)"), " (MachineSet by a person)"), ": ")
		words, tests := want[it]
		if !tests {
			continue
		}
		delete(want, it)
		v := verdict(rules, c)
		if len(v.Denials) == 0 {
			t.Errorf("%s: nothing is refused", c.Name)
		}
		for _, d := range v.Denials {
			if !strings.Contains(d.Detail, words) || words == "" && strings.Contains(d.Detail, "a hook is") {
				t.Errorf("%s: %s", c.Name, d.Detail)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no such cases: %v", want)
	}
}

// A person who replaces a namespace or a definition by a manifest without the mark does not want to delete anything. So the first remedy is about the mark.
func TestTheRemedyOfALostMark(t *testing.T) {
	seen := 0
	for _, c := range load(t) {
		if c.Rule != "authority/surroundings" || c.Change.Operation != admissionv1.Update {
			continue
		}
		for _, d := range verdict(rules, c).Denials {
			seen++
			if leave, allow := strings.Index(d.Detail, "Leave the mark as it is"), strings.Index(d.Detail, "To allow its deletion"); leave < 0 || allow < leave {
				t.Errorf("%s: %s", c.Name, d.Detail)
			}
		}
	}
	if seen == 0 {
		t.Error("no case removes the mark of what holds mirrors")
	}
}

// A person who deletes the namespace, CRD or Cluster that mirrors live in first reads what to do before, and only after that how to delete it all the same.
func TestTheRemedyOfADeletionOfSurroundings(t *testing.T) {
	seen := 0
	for _, c := range load(t) {
		if c.Rule != "authority/surroundings" || c.Change.Operation != admissionv1.Delete {
			continue
		}
		for _, d := range verdict(rules, c).Denials {
			seen++
			first, then := strings.Index(d.Detail, "First migrate them to the API that stays, then stop Poundlock and run: kubectl poundlock cleanup"),
				strings.Index(d.Detail, authority.AllowDeletionAnnotation+"="+authority.AllowsDeletion)
			if first < 0 || then < first {
				t.Errorf("%s: %s", c.Name, d.Detail)
			}
		}
	}
	if seen == 0 {
		t.Error("no case deletes what holds mirrors")
	}
}

// If the object has the annotation with a value that does not suffice, the command in the message overwrites the value, so that kubectl accepts the command.
func TestTheCommandThatAllowsADeletionOverwrites(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range load(t) {
		for _, d := range verdict(rules, c).Denials {
			if !strings.Contains(d.Detail, authority.AllowDeletionAnnotation+"=") {
				continue
			}
			if seen[c.Rule] = true; !strings.Contains(d.Detail, " annotate --overwrite ") {
				t.Errorf("%s: %s: %s", c.Rule, c.Name, d.Detail)
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("commands of %v, want those of four rules", seen)
	}
}

// verdict returns the answers of all rows of the case's rule together.
func verdict(rules policies.Set, c policiestest.Case) policies.Verdict {
	var v policies.Verdict
	for _, f := range rules.Judge(c.Change) {
		if f.Rule == c.Rule {
			v.Denials = append(v.Denials, f.Denials...)
			v.Warnings = append(v.Warnings, f.Warnings...)
		}
	}
	return v
}

func fields(v policies.Verdict) []string {
	var out []string
	for _, e := range v.Denials {
		out = append(out, e.Field)
	}
	slices.Sort(out)
	return out
}

// TestCasesCoverRules requires, for each rule, cases on which it answers and cases on which it is silent.
func TestCasesCoverRules(t *testing.T) {
	speaks, silent := map[string]int{}, map[string]int{}
	for _, c := range load(t) {
		if c.Silent() {
			silent[c.Rule]++
		} else {
			speaks[c.Rule]++
		}
	}
	known := map[string]bool{}
	for _, r := range rules {
		known[r.ID] = true
		// A row that documents an exception never answers.
		if r.ID != "authority/metadata-free" && speaks[r.ID] == 0 {
			t.Errorf("%s: no case of what it refuses or warns of", r.ID)
		}
		if silent[r.ID] == 0 {
			t.Errorf("%s: no case of what it lets pass", r.ID)
		}
	}
	for id := range silent {
		if !known[id] {
			t.Errorf("%s: cases of a rule that does not exist", id)
		}
	}
	t.Logf("%d cases", len(load(t)))
}

// TestCasesReachRules requires every case to fall in the scope of its rule. A case outside of the scope proves nothing.
func TestCasesReachRules(t *testing.T) {
	for _, c := range load(t) {
		applies := slices.ContainsFunc(rules.Applying(c.Change), func(r policies.Rule) bool { return r.ID == c.Rule })
		if !applies {
			t.Errorf("%s: %s: the rule does not see this change", c.Rule, c.Name)
		}
	}
}

// TestNeeds asks each row twice: with every fact, and with only those facts that the row declares. A row that reads a fact without declaring it would answer
// differently in a review in which no other row declares that fact.
func TestNeeds(t *testing.T) {
	for _, c := range load(t) {
		for _, r := range rules.Applying(c.Change) {
			declared := c.Change
			declared.Facts = only(c.Change.Facts, needs(r, c.Change))
			if diff := cmp.Diff(r.Check(c.Change), r.Check(declared)); diff != "" {
				t.Errorf("%s, on the case %s: %s: with what it declares alone (-all facts +declared):\n%s", r.ID, c.Rule, c.Name, diff)
			}
		}
	}
}

func needs(r policies.Rule, c policies.Change) policies.Need {
	if r.Needs == nil {
		return 0
	}
	return r.Needs(c)
}

func only(f policies.Facts, n policies.Need) policies.Facts {
	if !n.Has(policies.NeedTwin) && !n.Has(policies.NeedLiveTwin) {
		f.Twin, f.TwinLive = nil, false
	}
	if !n.Has(policies.NeedStored) {
		f.Stored = nil
	}
	if !n.Has(policies.NeedInfra) && !n.Has(policies.NeedLiveInfra) {
		f.Infra = nil
	}
	if !n.Has(policies.NeedInfra) {
		f.InfraInstance = nil
	}
	if !n.Has(policies.NeedConversion) {
		f.Unconvertible, f.ConversionRun = nil, false
	}
	if !n.Has(policies.NeedUncounted) {
		f.Uncounted = nil
	}
	if !n.Has(policies.NeedOwners) {
		f.Owners = nil
	}
	if !n.Has(policies.NeedSets) {
		f.Sets, f.MachineAPISets = nil, nil
	}
	if !n.Has(policies.NeedSiblings) {
		f.Siblings, f.Adoptable = nil, nil
	}
	if !n.Has(policies.NeedHolders) {
		f.Holders = nil
	}
	if !n.Has(policies.NeedNamesake) {
		f.Namesake, f.InfraNamesake = false, nil
	}
	if !n.Has(policies.NeedOwnerSet) {
		f.OwnerSet, f.OwnerSetTwin = nil, nil
	}
	if !n.Has(policies.NeedOwnerCount) {
		f.OwnerCount = nil
	}
	if !n.Has(policies.NeedSurroundings) && !n.Has(policies.NeedPausedCluster) {
		f.PausedCluster = ""
	}
	if !n.Has(policies.NeedSurroundings) && !n.Has(policies.NeedMasters) {
		f.Leaving = ""
	}
	if !n.Has(policies.NeedMasters) {
		f.Masters = nil
	}
	if !n.Has(policies.NeedEnding) {
		f.Ending, f.ControlPlaneSize, f.ControlPlaneLost, f.Moving = nil, 0, nil, nil
	}
	return f
}

// rules are the rules under test. No test changes them. Listing them again for each question would take half of the question's time.
var rules = authority.Rules()

// TestRulesStand compares the rows with the table of the design for the kinds that exist.
func TestRulesStand(t *testing.T) {
	want := []string{
		"authority/spec-locked", "authority/in-transit", "authority/infra-locked", "authority/scale-locked", "authority/carried-manager", "authority/scale-unseen",
		"authority/metadata-reserved", "authority/metadata-conflict", "authority/metadata-free", "authority/provider-id", "authority/provider-status", "authority/pause-condition",
		"authority/infra-owner", "authority/propagation",
		"authority/finalizers-owned", "authority/finalizer-fence", "authority/created-twice", "authority/status-owned", "authority/paused-owned",
		"authority/check-paused",
		"authority/create-machineapi", "authority/create-for-set", "authority/create-surplus", "authority/create-clusterapi", "authority/uninitialised", "authority/request-blocked",
		"authority/request-warning", "authority/unconvertible", "authority/set-adopts", "authority/selectors-overlap", "authority/relabelled", "authority/deployment-adopts", "authority/deployment-deletes", "authority/delete-detached", "authority/delete-recreated", "authority/delete-arriving",
		"authority/delete-orphans", "authority/delete-unknown-instance", "authority/delete-hooked", "authority/delete-propagates", "authority/delete-paused", "authority/delete-undrained", "authority/delete-infrastructure",
		"authority/template-authority", "authority/new-machines", "authority/surroundings", "authority/moves-end", "authority/control-plane-ends", "authority/control-plane-last", "authority/hooks-skipped", "authority/control-plane-label", "authority/etcd-hook", "authority/machine-finalizer", "authority/status-default", "authority/default", "authority/request-kept", "authority/finalizers-kept", "authority/mark-kept",
	}
	got := map[string]bool{}
	for _, r := range rules {
		got[r.ID] = true
		if r.Clause == "" || r.Description == "" || r.Remedy == "" || len(r.On) == 0 || r.Check == nil {
			t.Errorf("%s: a row needs a clause, a sentence, a remedy, a scope and a check", r.ID)
		}
	}
	for _, d := range authority.Defaulters() {
		got[d.ID] = true
	}
	for _, id := range want {
		if !got[id] {
			t.Errorf("%s is missing", id)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rules and defaults, want %d: add the new one to the table", len(got), len(want))
	}
}

// TestTheRemedyOfALockedObjectThatIsDeleted: the message does not advise to move an object that is being deleted, because such a request is refused.
func TestTheRemedyOfALockedObjectThatIsDeleted(t *testing.T) {
	seen := map[string]int{}
	for _, c := range load(t) {
		if c.Rule != "authority/spec-locked" && c.Rule != "authority/infra-locked" || c.Change.Old == nil || c.Silent() {
			continue
		}
		deleted := c.Change.Old.Deleting() || c.Change.Side != policies.SideMachineAPI && c.Change.Facts.Twin.Deleting()
		for _, d := range verdict(rules, c).Denials {
			if deleted && !strings.Contains(d.Detail, " is moving from ") && (strings.Contains(d.Detail, "move it first") || !strings.Contains(d.Detail, "The object is being deleted")) {
				t.Errorf("%s: %s", c.Name, d.Detail)
			}
			if !deleted && strings.Contains(d.Detail, "The object is being deleted") {
				t.Errorf("%s: %s", c.Name, d.Detail)
			}
		}
		if deleted {
			seen[c.Rule]++
		}
	}
	if len(seen) != 2 {
		t.Errorf("cases of %v", seen)
	}
}

// TestTheRemedyBesideATwinThatIsDeleted: an object is deleted together with its authoritative twin, so the message does not advise to wait for the deletion.
func TestTheRemedyBesideATwinThatIsDeleted(t *testing.T) {
	seen := map[string]int{}
	for _, c := range load(t) {
		if c.Rule != "authority/request-blocked" || !strings.Contains(c.Name, "while its twin is being deleted") || c.Silent() {
			continue
		}
		want := "Try again when that object is gone"
		if strings.Contains(c.Name, "back, ") {
			want = "will be deleted with it, so authority cannot move. Create another " + c.Change.Kind + " for Machine API instead"
		}
		if got := verdict(rules, c).Denials[0].Detail; !strings.Contains(got, want) {
			t.Errorf("%s: %q has not the words %q", c.Name, got, want)
		}
		seen[want]++
	}
	if len(seen) != 4 {
		t.Errorf("cases of %v", seen)
	}
}
