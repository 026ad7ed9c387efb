// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

const viewHash = "sha256:0123456789abcdef"

func providerView(name string, kind bundle.Type, version string, p installation.Progress) install.ProviderView {
	return install.ProviderView{Provider: installation.Provider{Provider: bundle.Provider{Name: name, Type: kind, Version: version}, Hash: viewHash}, Progress: p}
}

func TestProvidersTable(t *testing.T) {
	core := providerView("cluster-api", bundle.Core, "v1.13.6", installation.Progress{Hash: viewHash, Ready: "h", ReadyVersion: "v1.13.6"})
	waiting := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: viewHash, Stage: bundle.Workloads,
		Waits: "Deployment/capa-controller-manager: no pod is available"})
	failing := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: viewHash, ReadyVersion: "v2.12.0", Stage: bundle.Definitions,
		Problem: "it is refused"})
	carrying := core
	carrying.Dropped = []bundle.Entry{{Object: "Secret/a", What: "no credentials"}}
	retrying := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: viewHash, Stage: bundle.Workloads,
		Trouble: "a webhook refuses it"})
	newer := providerView("aws", bundle.Infrastructure, "v2.13.0",
		installation.Progress{Hash: "h", ReadyVersion: "v2.12.0", Problem: "the older content is refused"})
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
		"newer content":      {install.View{Platform: on, Providers: []install.ProviderView{newer}}, []string{"infrastructure-aws v2.13.0 0123456789ab v2.12.0 not begun"}},
		"a Secret":           {install.View{Platform: on, Providers: []install.ProviderView{carrying}}, []string{"Not applied: Secret/a of cluster-api: no credentials."}},
		"a problem":          {install.View{Platform: on, Problem: errors.New("two versions")}, []string{"The release is not applied: two versions"}},
		"a shard":            {install.View{Platform: on, Waits: "number 2 is missing"}, []string{"The release is not applied yet: number 2 is missing"}},
		"deleted":            {install.View{Platform: on, Missing: []string{"infrastructure-aws"}}, []string{"The ConfigMaps of these providers are missing: infrastructure-aws. The content that was installed last stays applied."}},
		"no infrastructure":  {install.View{Platform: on, Providers: []install.ProviderView{core}, Lacks: "apply it"}, []string{"No Machine can be created: apply it."}},
		"a rival":            {install.View{Rival: "openshift-cluster-api/cluster-capi-operator"}, []string{"The installer writes nothing, because OpenShift's own installer runs: Deployment openshift-cluster-api/cluster-capi-operator."}},
		"others' Cluster API": {install.View{Platform: on, Problem: bundle.ErrNoCore, Others: "field manager clusterctl, provider cluster-api"},
			[]string{"Cluster API belongs to field manager clusterctl, provider cluster-api, and the installer has no"}},
		"elsewhere": {install.View{Platform: installation.Platform{Unsupported: "no"}}, []string{"Nothing is installed. no."}},
		"no answer": {install.View{Platform: installation.Platform{Waits: "no type yet"}}, []string{"Nothing is installed yet. no type yet."}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &options{Plugin: &cli.Plugin{}}
			p.Out = &out
			p.Env = func(string) string { return "" }
			p.writeTable(&c.view)
			got := squeezed(out.String())
			for _, line := range c.want {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("%q is not in\n%s", line, got)
				}
			}
			if c.view.Others != "" && strings.Contains(got, "ConfigMap is missing") {
				t.Errorf("it waits for what nobody will bring:\n%s", got)
			}
		})
	}
}

// -o json has what the table has.
func TestProvidersForPrograms(t *testing.T) {
	carrying := providerView("cluster-api", bundle.Core, "v1.13.6", installation.Progress{Hash: viewHash, Ready: "h", ReadyVersion: "v1.13.6"})
	carrying.Dropped = []bundle.Entry{{Object: "Secret/a", What: "no credentials"}}
	waiting := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: viewHash, Stage: bundle.Workloads, Waits: "no pod is available"})
	newer := providerView("azure", bundle.Infrastructure, "v1.1.0", installation.Progress{Hash: "h", Problem: "the older content is refused"})
	for format, want := range map[string]string{
		"json": `{"apiVersion":"cli.poundlock.openshift.io/v1","dropped":[{"object":"Secret/a","provider":"cluster-api","why":"no credentials"}],` +
			`"held":"the release is not applied yet: number 2 is missing","kind":"ProvidersReport",` +
			`"objects":[{"hash":"` + viewHash + `","installed":"v1.13.6","name":"cluster-api","version":"v1.13.6"},` +
			`{"hash":"` + viewHash + `","name":"infrastructure-aws","stage":"workloads","version":"v2.13.0","waitsFor":"no pod is available"},` +
			`{"hash":"` + viewHash + `","name":"infrastructure-azure","notBegun":true,"version":"v1.1.0"}],"platform":"AWS"}`,
		"custom-columns=NAME:.name,STAGE:.stage": "NAME STAGE\ncluster-api <none>\ninfrastructure-aws workloads\ninfrastructure-azure <none>\n",
		"jsonpath={.objects[*].installed}":       "v1.13.6",
	} {
		var out bytes.Buffer
		o := &options{Plugin: &cli.Plugin{}}
		o.Out = &out
		cmd := &cobra.Command{}
		o.OutputFlags.AddFlags(cmd, "table", "json", "yaml")
		o.Format = format
		view := install.View{Platform: installation.Platform{Name: "AWS"}, Waits: "number 2 is missing", Providers: []install.ProviderView{carrying, waiting, newer}}
		if done, err := o.Document(o.OutputFlags, "ProvidersReport", reportOf(&view)); !done || err != nil {
			t.Fatal(done, err)
		}
		got := squeezed(out.String())
		if format == "json" {
			var compact bytes.Buffer
			if err := json.Compact(&compact, out.Bytes()); err != nil {
				t.Fatal(err)
			}
			got = compact.String()
		}
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("-o %s:\n%s\nwant\n%s", format, got, want)
		}
	}
}

// Each result of --diff and --render has its own exit code, and an error names what blocks the release.
func TestProvidersExitCodes(t *testing.T) {
	on := installation.Platform{Name: "AWS"}
	of := func(o install.ObjectView) []install.ProviderView {
		o.Want = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
		p := providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{})
		p.Objects = []install.ObjectView{o}
		return []install.ProviderView{p}
	}
	same, differs := of(install.ObjectView{}), of(install.ObjectView{Differences: []string{"data is absent, and the installer would set {}"}})
	unread := of(install.ObjectView{Unread: errors.New("no answer")})
	for name, c := range map[string]struct {
		view         install.View
		diff, render int
		want         string
	}{
		"nothing differs":                  {install.View{Platform: on, Providers: same}, cli.CodeDone, cli.CodeDone, ""},
		"something differs":                {install.View{Platform: on, Providers: differs}, cli.CodeNo, cli.CodeDone, ""},
		"somebody added something":         {install.View{Platform: on, Providers: of(install.ObjectView{Added: []string{".data.b (kubectl)"}})}, cli.CodeNo, cli.CodeDone, ""},
		"somebody else's":                  {install.View{Platform: on, Providers: of(install.ObjectView{Owner: "clusterctl"})}, cli.CodeNo, cli.CodeDone, ""},
		"an object cannot be read":         {install.View{Platform: on, Providers: unread}, cli.CodeError, cli.CodeDone, "no answer"},
		"none can, and a shard is away":    {install.View{Platform: on, Waits: "number 2 is missing", Providers: unread}, cli.CodeError, cli.CodeHeld, ""},
		"a rival":                          {install.View{Platform: on, Rival: "a/cluster-capi-operator"}, cli.CodeHeld, cli.CodeHeld, "OpenShift's own installer runs: Deployment a/cluster-capi-operator"},
		"others' Cluster API":              {install.View{Platform: on, Problem: bundle.ErrNoCore, Others: "field manager clusterctl"}, cli.CodeHeld, cli.CodeHeld, "belongs to field manager clusterctl"},
		"a problem":                        {install.View{Platform: on, Problem: errors.New("two versions"), Providers: same}, cli.CodeHeld, cli.CodeHeld, "not applied: two versions"},
		"a problem, and something differs": {install.View{Platform: on, Problem: errors.New("two versions"), Providers: differs}, cli.CodeHeld, cli.CodeHeld, "two versions"},
		"a shard":                          {install.View{Platform: on, Waits: "number 2 is missing"}, cli.CodeHeld, cli.CodeHeld, "not applied yet: number 2 is missing"},
		"no platform yet":                  {install.View{Platform: installation.Platform{Waits: "no type yet"}}, cli.CodeHeld, cli.CodeHeld, "not applied yet: no type yet"},
		"a platform without support":       {install.View{Platform: installation.Platform{Unsupported: "not here"}}, cli.CodeHeld, cli.CodeHeld, "not applied: not here"},
		"deleted":                          {install.View{Platform: on, Missing: []string{"infrastructure-aws"}, Providers: same}, cli.CodeHeld, cli.CodeHeld, "infrastructure-aws are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &options{Plugin: &cli.Plugin{}}
			p.Out = &bytes.Buffer{}
			for _, mode := range []struct {
				name string
				err  error
				code int
			}{{"render", render(p.Out, &c.view), c.render}, {"diff", p.writeDiff(&c.view), c.diff}} {
				code, text := cli.Code(mode.err)
				if code != mode.code || mode.err != nil && !strings.Contains(text, c.want) {
					t.Errorf("--%s: %d, %q; want %d, %q", mode.name, code, text, mode.code, c.want)
				}
			}
		})
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

// The README shows the table of a complete installation.
func TestREADMEShowsProviders(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &options{Plugin: &cli.Plugin{}}
	p.Out = &out
	p.Env = func(string) string { return "" }
	p.writeTable(&install.View{Platform: installation.Platform{Name: "AWS"}, Providers: []install.ProviderView{
		providerView("cluster-api", bundle.Core, "v1.13.6", installation.Progress{Hash: viewHash, ReadyVersion: "v1.13.6"}),
		providerView("aws", bundle.Infrastructure, "v2.13.0", installation.Progress{Hash: viewHash, ReadyVersion: "v2.13.0"}),
	}})
	readme := squeezed(string(text))
	for line := range strings.Lines(squeezed(out.String())) {
		before, after, _ := strings.Cut(line, "0123456789ab") // the hash is of the bundled content
		if !strings.Contains(readme, before) || !strings.Contains(readme, after) {
			t.Errorf("README.md does not show %q", line)
		}
	}
}
