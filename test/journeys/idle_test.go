// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/testcluster"
)

// resyncs is how often the test makes Poundlock look at everything again.
const resyncs = 20

// A fleet at rest only costs reads of a cache, however much there is to compare: hooks, lists, and what API servers and webhooks have filled in. That holds on
// both sides, whichever API is authoritative.
func TestIdleIsSilent(t *testing.T) {
	stories.Long(t)
	afterAll(t)
	story(t)
	for _, api := range []string{"MachineAPI", "ClusterAPI"} {
		set := "idle-" + strings.ToLower(api)
		if a := kubectl(t, richSet(t, set), "create", "-f", "-"); !a.ok {
			t.Fatal(a.err)
		}
		eventually(t, "the Machines of "+set, func() string { return field(t, mapiSet(set), ".status.availableReplicas") }, "2")
		for _, o := range []object{mapiSet(set), mapiMachine(machinesOf(t, set)[0]), mapiMachine(machinesOf(t, set)[1])} {
			settled(t, o)
			if api == "ClusterAPI" {
				move(t, o, api)
			}
		}
	}

	all := lookAtEverything(t)
	if len(all) > 0 { // Cluster API resyncs every ten minutes, and records what earlier stories left late. A fight of two controllers repeats.
		all = lookAtEverything(t)
	}
	if len(all) > 0 {
		t.Errorf("written to: %v", all)
	}
}

// lookAtEverything makes the mirror look at every pair many times, during which it may write nothing. It returns what anybody has written to meanwhile.
func lookAtEverything(t *testing.T) []string {
	t.Helper()
	before := atRest(t)
	reported, pairs := scrape(t), 0.0
	for o := range before {
		if strings.HasPrefix(o, "v1beta1.Machine") {
			pairs++
		}
	}
	for i := range resyncs {
		// Everything that conversions depend on counts as changed, so every pair is looked at.
		must(t, "annotate", "infrastructures.config.openshift.io", "cluster", "--overwrite", fmt.Sprintf("example.com/look=%d-%v", i, reported.passes))
		eventually(t, "everything is looked at", func() string { return fmt.Sprint(scrape(t).passes >= reported.passes+float64(i+1)*pairs) }, "true")
	}
	written := moved(before, atRest(t))
	now := scrape(t)
	if now.writes != reported.writes {
		written = append(written, fmt.Sprintf("%v writes of Poundlock's in %d looks", now.writes-reported.writes, resyncs))
	}
	t.Logf("%v passes over %v pairs", now.passes-reported.passes, pairs)
	return written
}

// meters are what the manager's metrics say of what it has done.
type meters struct {
	// passes counts the mirror's passes. writes counts the requests that change something. It leaves out the Lease, which is updated by PUT, and the dry run that
	// checks each minute whether the API server reaches the webhooks.
	passes, writes float64
}

func scrape(t *testing.T) meters {
	t.Helper()
	answer, err := http.Get(stage.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(metric, label string, values ...string) (total float64) {
		for _, m := range families[metric].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && slices.Contains(values, l.GetValue()) {
					total += m.GetCounter().GetValue()
				}
			}
		}
		return total
	}
	return meters{
		passes: sum("controller_runtime_reconcile_total", "controller", "mirror-machine", "mirror-machineset", "mirror-machinehealthcheck"),
		writes: sum("rest_client_requests_total", "method", http.MethodPost, http.MethodPatch, http.MethodDelete) - sum("poundlock_admission_probe_total",
			"answered", "true", "false"),
	}
}

// richSet creates a MachineSet with two Machines that have many fields.
func richSet(t *testing.T, name string) string {
	t.Helper()
	set := map[string]any{}
	if err := yaml.Unmarshal([]byte(testcluster.MachineSet(name, 2)), &set); err != nil {
		t.Fatal(err)
	}
	var groups, tags []any
	for i := range 12 {
		groups = append(groups, map[string]any{"filters": []any{map[string]any{"name": "tag:Name", "values": []any{fmt.Sprintf("group-%02d", 12-i), "other"}}}})
		tags = append(tags, map[string]any{"name": fmt.Sprintf("tag-%02d", 12-i), "value": "x"})
	}
	hooks := func(kind string) []any {
		return []any{map[string]any{"name": kind + "-b", "owner": "team-b"}, map[string]any{"name": kind + "-a", "owner": "team-a"}}
	}
	for value, path := range map[string][]string{"g": {"providerSpec", "value", "securityGroups"}, "t": {"providerSpec", "value", "tags"}} {
		if err := unstructured.SetNestedSlice(set, map[string][]any{"g": groups, "t": tags}[value],
			append([]string{"spec", "template", "spec"}, path...)...); err != nil {
			t.Fatal(err)
		}
	}
	for kind, field := range map[string]string{"drain": "preDrain", "terminate": "preTerminate"} {
		if err := unstructured.SetNestedSlice(set, hooks(kind), "spec", "template", "spec", "lifecycleHooks", field); err != nil {
			t.Fatal(err)
		}
	}
	text, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
