// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
)

var update = flag.Bool("update", false, "write the pages instead of comparing them")

// TestThePagesAreTheTables: docs/fields has what the tables have.
func TestThePagesAreTheTables(t *testing.T) {
	pages := map[string]string{
		"core":         conversion.Page("Machines and MachineSets", "A field of a Machine is at the same path without `spec.template`. Labels and annotations that have two names:\n\n"+names(), core.MachineSets.Lines()),
		"healthchecks": conversion.Page("MachineHealthChecks", "On every platform the same. Labels and annotations that have two names are those of [Machines](core.md).", core.MachineHealthChecks.Lines()),
	}
	for _, p := range platforms.List() {
		pages[strings.ToLower(p.Name)] = conversion.Page(p.Name+": fields of the providerSpec",
			"`"+p.ProviderSpec.Kind+"`, in a Machine's or a MachineSet's `providerSpec.value`, and the `spec` of `"+p.InfraMachine.Kind+"`.", p.Spec.Lines())
	}
	for name, want := range pages {
		path := filepath.Join("..", "..", "docs", "fields", name+".md")
		if *update {
			write(t, path, want)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("%s is not what the table says; go test ./conversion/platforms -update writes it (-table +page):\n%s", path, d)
		}
	}
}

// TestWhatCannotGoNamesTheRemedy: a user who sets a field that only one API has reads the field's note. It ends with what to do, or has a value that passes.
func TestWhatCannotGoNamesTheRemedy(t *testing.T) {
	tables := map[string][]conversion.Line{"core": core.MachineSets.Lines(), "Machines": core.Machines.Lines(), "healthchecks": core.MachineHealthChecks.Lines()}
	for _, p := range platforms.List() {
		tables[p.Name] = p.Spec.Lines()
	}
	remedy := regexp.MustCompile(`[:,] (and )?(associate|give|keep|let|list|name|remove|set|take|use) `)
	for table, lines := range tables {
		for _, l := range lines {
			if l.Expressible != conversion.Both && l.Passes == "" && !remedy.MatchString(l.Note+" ") {
				t.Errorf("%s: %v %v has no remedy: %s", table, l.MachineAPI, l.ClusterAPI, l.Note)
			}
		}
	}
}

func names() string {
	var b strings.Builder
	b.WriteString("| Machine API | Cluster API |\n|---|---|\n")
	for _, n := range append(core.Labels(), core.Annotations()...) {
		b.WriteString("| `" + n.MachineAPI + "` | `" + n.ClusterAPI + "` |\n")
	}
	return b.String()
}

func write(t *testing.T, path, page string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAPlatformIsWhole(t *testing.T) {
	for _, p := range platforms.List() {
		if found, ok := platforms.For(p.Name); !ok || found.Name != p.Name {
			t.Errorf("%s is not found by its name", p.Name)
		}
		if p.InfraMachine.Group != "infrastructure.cluster.x-k8s.io" || p.InfraMachineTemplate.Group != p.InfraMachine.Group ||
			p.InfraCluster.Group != p.InfraMachine.Group {
			t.Errorf("%s: the roles and the handoff know one group of all providers", p.Name)
		}
		if p.Spec == nil || p.Status == nil || p.InfraMachine.Plural == "" || p.InfraMachineTemplate.Plural == "" || p.InfraCluster.Plural == "" ||
			p.ProviderSpec.Empty() || p.ProviderStatus.Empty() {
			t.Errorf("%s lacks something: %+v", p.Name, p)
		}
	}
	if _, ok := platforms.For("Moon"); ok {
		t.Error("a platform that is not listed was found")
	}
}

// TestEachPlatformHasAKit: the stage and test/schemas simulate the listed platforms.
func TestEachPlatformHasAKit(t *testing.T) {
	var listed, kits []string
	for _, p := range platforms.List() {
		listed = append(listed, p.Name)
	}
	for _, k := range platformstest.Kits() {
		kits = append(kits, k.Platform.Name)
		if k.Infrastructure == nil || k.InfraCluster == nil || k.ProviderSpec == nil || k.AnyProviderSpec == nil || k.AnyInfraSpec == nil || k.ProviderID == nil {
			t.Errorf("the kit of %s lacks something", k.Platform.Name)
		}
		if _, err := platformstest.Named(strings.ToUpper(k.Platform.Name)); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff(listed, kits); d != "" {
		t.Errorf("the platforms, and those that have a kit (-listed +kits):\n%s", d)
	}
	if _, err := platformstest.Named("moon"); err == nil || !strings.Contains(err.Error(), strings.ToLower(strings.Join(kits, ", "))) {
		t.Errorf("what there is instead of a moon is not listed: %v", err)
	}
}

// TestNamed: each platform is found by what its objects name, and by nothing else's.
func TestNamed(t *testing.T) {
	for _, p := range platforms.List() {
		for _, kind := range []string{p.InfraMachine.Kind, p.InfraMachineTemplate.Kind, p.ProviderSpec.Kind} {
			if got, ok := platforms.Named(kind); !ok || got.Name != p.Name {
				t.Errorf("%s names %q, want %s", kind, got.Name, p.Name)
			}
		}
	}
	for _, kind := range []string{"", "BareMetalMachineProviderSpec"} {
		if got, ok := platforms.Named(kind); ok {
			t.Errorf("%q names %s", kind, got.Name)
		}
	}
}
