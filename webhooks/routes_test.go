// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Every request that a rule judges reaches exactly one webhook that evaluates the rule.
func TestEveryScopeHasOneDoor(t *testing.T) {
	catalog := All(platforms.List()...)
	routes := Routes(catalog)
	check := func(id string, mutating bool, scopes []policies.Scope) {
		for _, s := range scopes {
			for _, kind := range s.Kinds {
				for _, op := range s.Operations {
					var doors []string
					for _, r := range routes {
						one := policies.Scope{Side: s.Side, Kinds: []string{kind}, Operations: ops(op), Subresource: s.Subresource}
						if r.Mutating == mutating && r.overlaps(one) && !beside(r) {
							doors = append(doors, r.Name)
						}
					}
					want := 1
					if kind == controlplane.Kind && !mutating && s.Subresource == "" && (op == remove || op == update) {
						want = 2 // distinguished by their conditions (TestOneDoorForEach)
					}
					if len(doors) != want {
						t.Errorf("%s, %s of %s %s/%s: doors %v, want %d", id, op, s.Side, kind, s.Subresource, doors, want)
					}
				}
			}
		}
	}
	for _, r := range catalog.Rules {
		check(r.ID, false, r.On)
	}
	for _, d := range catalog.Defaulters {
		check(d.ID, true, d.On)
	}
}

// beside reports whether the route's webhook stands beside one that fails closed, and serves the same requests or similar ones.
func beside(r Route) bool {
	return strings.HasSuffix(r.Name, openSuffix) || strings.HasSuffix(r.Name, earlySuffix)
}

// An UPDATE or DELETE of a control plane's set reaches one of two webhooks, whatever it changes.
func TestOneDoorForEach(t *testing.T) {
	var apart []string
	for _, r := range Routes(Catalog{}) {
		if r.Subjects[0].Kind == controlplane.Kind && !beside(r) && slices.Equal(r.Operations, ops(remove)) {
			apart = append(apart, r.Conditions[0].Expression)
		}
	}
	if len(apart) != 2 || apart[1] != "!("+apart[0]+")" {
		t.Errorf("conditions %q, want each other's opposite", apart)
	}
	edits := map[string]string{}
	for _, r := range Routes(Catalog{}) {
		if len(r.Conditions) > 0 {
			edits[r.Name] = r.Conditions[0].Expression
		}
	}
	if text, ok := strings.CutPrefix(edits["control-plane"], `request.operation == "CREATE" || `); !ok || edits["control-plane-release"] != "!("+text+")" {
		t.Errorf("conditions %q and %q, want each other's opposite", edits["control-plane"], edits["control-plane-release"])
	}
}

func TestEveryDoorAsksSomething(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Routes(All(platforms.List()...)) {
		if len(r.Rules)+len(r.Defaulters) == 0 && !r.Probe {
			t.Errorf("route %s asks nobody", r.Name)
		}
		if names[r.Name] {
			t.Errorf("route %s stands twice", r.Name)
		}
		names[r.Name] = true
	}
}

// A webhook beside one that fails closed differs from it in one condition, and in its failure policy.
func TestHalvesAreEachOthersOpposite(t *testing.T) {
	byName := map[string]Route{}
	for _, r := range Routes(All(platforms.List()...)) {
		byName[r.Name] = r
	}
	for name, open := range byName {
		closedName, ok := strings.CutSuffix(name, openSuffix)
		if !ok {
			continue
		}
		closed := byName[closedName]
		last := len(closed.Conditions) - 1
		if last < 0 || !slices.Equal(open.Conditions[:last], closed.Conditions[:last]) || open.Conditions[last].Expression != "!("+
			closed.Conditions[last].Expression+")" {
			t.Errorf("%s: conditions %v, want those of %s with the last one's opposite: %v", name, open.Conditions, closedName, closed.Conditions)
		}
		if open.FailurePolicy != admissionregistrationv1.Ignore || closed.FailurePolicy != admissionregistrationv1.Fail {
			t.Errorf("%s has failurePolicy %s, %s has %s", name, open.FailurePolicy, closedName, closed.FailurePolicy)
		}
		if len(open.Rules) != len(closed.Rules) || len(open.Defaulters) != len(closed.Defaulters) {
			t.Errorf("%s asks others than %s", name, closedName)
		}
	}
}

// A webhook that fails closed without a condition blocks a whole kind during an outage.
func TestNoDoorFailsClosedForAll(t *testing.T) {
	var closed []string
	all := Routes(All(platforms.List()...))
	for _, r := range all {
		if r.FailurePolicy == admissionregistrationv1.Fail {
			if early := r.beside(earlySuffix); !slices.ContainsFunc(all, func(o Route) bool {
				return o.Name == early.Name && o.early && o.FailurePolicy == early.FailurePolicy && slices.Equal(o.Conditions, early.Conditions)
			}) {
				t.Errorf("%s has no door beside it for the time before any fails closed", r.Name)
			}
		}
		if r.FailurePolicy == admissionregistrationv1.Fail && r.closed == "" {
			closed = append(closed, r.Name)
		}
	}
	if want := []string{"control-plane-foreground"}; !slices.Equal(closed, want) {
		t.Errorf("%v fail closed whatever is asked, want %v: a deletion in the foreground is refused in any case", closed, want)
	}
}

func TestConfigurations(t *testing.T) {
	o := ConfigOptions{
		Platforms: platforms.List(), Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}, {MachineAPI: "m2", ClusterAPI: "c2"}},
		Own: []string{`system:serviceaccount:c:poundlock`, `it's "me"`}, URL: "https://127.0.0.1:9443/",
	}
	validating, mutating := Configurations(o)
	routes := Routes(Catalog{Platforms: o.Platforms})
	if got := len(validating.Webhooks) + len(mutating.Webhooks); got != len(routes) {
		t.Errorf("%d webhooks for %d routes", got, len(routes))
	}
	for _, w := range validating.Webhooks {
		namespaces := w.NamespaceSelector.MatchExpressions[0].Values
		want := []string{"c", "c2"}
		if w.Rules[0].APIGroups[0] == "machine.openshift.io" {
			want = []string{"m", "m2"}
		}
		if w.Name == "surroundings."+authority.Domain {
			want = []string{"m", "c", "m2", "c2"}
		}
		if !slices.Equal(namespaces, want) {
			t.Errorf("%s looks after %v, want %v", w.Name, namespaces, want)
		}
		if got := w.MatchConditions[0].Expression; w.Name != "probe."+authority.Domain &&
			got != `!(request.userInfo.username in ["system:serviceaccount:c:poundlock", "it's \"me\""])` {
			t.Errorf("%s lets Poundlock's own requests in: %s", w.Name, got)
		}
		if !strings.HasPrefix(*w.ClientConfig.URL, "https://127.0.0.1:9443/validate/") || w.ClientConfig.Service != nil {
			t.Errorf("%s is called at %v", w.Name, w.ClientConfig)
		}
	}
	for _, w := range mutating.Webhooks {
		for _, c := range w.MatchConditions {
			if strings.Contains(c.Expression, "username") {
				t.Errorf("%s keeps Poundlock's own requests out: its empty status patch must be filled in", w.Name)
			}
		}
	}
}

func TestPathsOfServiceAndURLAgree(t *testing.T) {
	o := ConfigOptions{Platforms: platforms.List(), Service: admissionregistrationv1.ServiceReference{Namespace: "c", Name: "poundlock"}}
	byService, _ := Configurations(o)
	o.URL = "https://h:1"
	byURL, _ := Configurations(o)
	for i := range byService.Webhooks {
		if got, want := "https://h:1"+*byService.Webhooks[i].ClientConfig.Service.Path, *byURL.Webhooks[i].ClientConfig.URL; got != want {
			t.Errorf("service path gives %s, URL is %s", got, want)
		}
	}
}

// TestEveryVersionOfAProvidersObjectsIsJudged: a CRD may serve only versions that Poundlock does not read. A request in one of them cannot be converted to the
// version that Poundlock reads, and would reach no webhook.
func TestEveryVersionOfAProvidersObjectsIsJudged(t *testing.T) {
	validating, mutating := Configurations(ConfigOptions{Platforms: platforms.List(), Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}})
	judged := map[string]bool{}
	check := func(name string, rules []admissionregistrationv1.RuleWithOperations) {
		for _, r := range rules {
			provided := slices.Contains(r.APIGroups, "infrastructure.cluster.x-k8s.io")
			if got := slices.Equal(r.APIVersions, []string{"*"}); got != provided {
				t.Errorf("%s judges versions %v of %v in %v", name, r.APIVersions, r.Resources, r.APIGroups)
			}
			for _, resource := range r.Resources {
				judged[resource] = judged[resource] || provided
			}
		}
	}
	for _, w := range validating.Webhooks {
		check(w.Name, w.Rules)
	}
	for _, w := range mutating.Webhooks {
		check(w.Name, w.Rules)
	}
	for _, p := range platforms.List() {
		for _, r := range []string{p.InfraMachine.Plural, p.InfraMachineTemplate.Plural, p.InfraCluster.Plural} {
			if !judged[r] {
				t.Errorf("no door for %s", r)
			}
		}
	}
}

// TestALockHoldsInAnyVersion: a request that is not converted is judged in its own version.
func TestALockHoldsInAnyVersion(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1beta2", "v1beta9"} {
		h, _ := serve(t, All(platforms.List()...), &world{live: map[string]string{mapiA: underMachineAPI}, cached: map[string]string{mapiA: underMachineAPI}})
		machine := func(size string) string {
			return `{"apiVersion":"infrastructure.cluster.x-k8s.io/` + version + `","kind":"AWSMachine","metadata":{"name":"a","annotations":{"cluster.x-k8s.io/paused":"","poundlock.openshift.io/mirror-of":"Machine/a"}},"spec":{"instanceType":"` + size + `"}}`
		}
		got := ask(t, h, "/validate/infrastructure", strings.Replace(awsMachines, "v1beta2", version, 1)+`,"operation":"UPDATE","oldObject":`+machine("small")+`,"object":`+machine("large"))
		if got.Allowed || !strings.Contains(got.Result.Message, "authority/infra-locked") {
			t.Errorf("%s: %+v", version, got)
		}
	}
}
