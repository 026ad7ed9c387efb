// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

func providerView(name string, kind bundle.Type, version string, p installation.Progress) install.ProviderView {
	return install.ProviderView{Provider: installation.Provider{Provider: bundle.Provider{Name: name, Type: kind, Version: version}, Hash: "sha256:0123456789abcdef"}, Progress: p}
}

func TestProvidersTable(t *testing.T) {
	core := providerView("cluster-api", bundle.Core, "v1.13.6", installation.Progress{Hash: "h", Ready: "h", ReadyVersion: "v1.13.6"})
	waiting := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: "h", Stage: bundle.Workloads, Waits: "Deployment/capa-controller-manager: no pod is available"})
	failing := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: "h", ReadyVersion: "v2.12.0", Stage: bundle.Definitions, Problem: "it is refused"})
	carrying := core
	carrying.Dropped = []bundle.Entry{{Object: "Secret/a", What: "no credentials"}}
	retrying := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: "h", Stage: bundle.Workloads, Trouble: "a webhook refuses it"})
	on := installation.Platform{Name: "AWS"}
	for name, c := range map[string]struct {
		view install.View
		want []string // lines, with spaces squeezed
	}{
		"installed":          {install.View{Platform: on, Providers: []install.ProviderView{core}}, []string{"PROVIDER VERSION CONTENT INSTALLED STAGE WAITS FOR", "cluster-api v1.13.6 0123456789ab v1.13.6 all passed"}},
		"one waits":          {install.View{Platform: on, Providers: []install.ProviderView{core, waiting}}, []string{"infrastructure-aws v2.13.0 0123456789ab - 7 workloads Deployment/capa-controller-manager: no pod is available"}},
		"one fails":          {install.View{Platform: on, Providers: []install.ProviderView{failing}}, []string{"infrastructure-aws v2.13.0 0123456789ab v2.12.0 2 definitions it is refused"}},
		"one is tried again": {install.View{Platform: on, Providers: []install.ProviderView{retrying}}, []string{"infrastructure-aws v2.13.0 0123456789ab - 7 workloads trying again: a webhook refuses it"}},
		"not begun":          {install.View{Platform: on, Providers: []install.ProviderView{providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{})}}, []string{"infrastructure-aws v2.13.0 0123456789ab - not begun"}},
		"a Secret":           {install.View{Platform: on, Providers: []install.ProviderView{carrying}}, []string{"Not applied: Secret/a of cluster-api: no credentials."}},
		"a problem":          {install.View{Platform: on, Problem: errors.New("two versions")}, []string{"The release is not applied: two versions"}},
		"a shard":            {install.View{Platform: on, Waits: "number 2 is missing"}, []string{"The release is not applied yet: number 2 is missing"}},
		"deleted":            {install.View{Platform: on, Missing: []string{"infrastructure-aws"}}, []string{"Their ConfigMaps are missing: infrastructure-aws. The content that was installed last stays applied."}},
		"a rival":            {install.View{Rival: "openshift-cluster-api/cluster-capi-operator"}, []string{"The installer writes nothing: OpenShift's own one runs, Deployment openshift-cluster-api/cluster-capi-operator."}},
		"elsewhere":          {install.View{Platform: installation.Platform{Unsupported: "no"}}, []string{"Nothing is installed. no."}},
		"no answer":          {install.View{Platform: installation.Platform{Waits: "no type yet"}}, []string{"Nothing is installed yet. no type yet."}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &plugin{}
			p.Out = &out
			p.Env = func(string) string { return "" }
			p.providersTable(&c.view)
			got := squeezed(out.String())
			for _, line := range c.want {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("%q is not in\n%s", line, got)
				}
			}
		})
	}
}

// What is rendered or compared is not applied while something holds it back, and the error says what.
func TestProvidersThatAreNotApplied(t *testing.T) {
	for want, view := range map[string]install.View{
		"": {},
		"OpenShift's own installer runs, Deployment openshift-cluster-api/cluster-capi-operator": {Rival: "openshift-cluster-api/cluster-capi-operator"},
		"not applied: two versions":            {Problem: errors.New("two versions")},
		"not applied yet: number 2 is missing": {Waits: "number 2 is missing"},
	} {
		p := &plugin{}
		p.Out = &bytes.Buffer{}
		for name, err := range map[string]error{"render": render(p.Out, &view), "diff": p.providersDiff(&view)} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

// squeezed has one space between words, and none at the ends of lines.
func squeezed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return out.String()
}

// The README shows the table of a whole installation.
func TestREADMEShowsProviders(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &plugin{}
	p.Out = &out
	p.Env = func(string) string { return "" }
	p.providersTable(&install.View{Platform: installation.Platform{Name: "AWS"}, Providers: []install.ProviderView{
		providerView("cluster-api", bundle.Core, "v1.13.6", installation.Progress{Hash: "h", ReadyVersion: "v1.13.6"}),
		providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: "h", ReadyVersion: "v2.13.0"}),
	}})
	readme := squeezed(string(text))
	for line := range strings.Lines(squeezed(out.String())) {
		before, after, _ := strings.Cut(line, "0123456789ab") // the hash is of what was bundled
		if !strings.Contains(readme, before) || !strings.Contains(readme, after) {
			t.Errorf("README.md does not show %q", line)
		}
	}
}
