// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What kubectl reads with -f and -k, the plugin reads too: a URL, whose objects keep their order, and a kustomization.
func TestURLsAndKustomizations(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	set := func(name string) string {
		return strings.NewReplacer("deviceIndex: 2, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}", "name: odd", "name: "+name).Replace(odd)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fleet.yaml":
			fmt.Fprint(w, zoo+set("b")+"---\n"+set("a")+"---\n"+set("c"))
		case "/page":
			fmt.Fprint(w, "<html>sign in</html>")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	folder, broken := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(folder, "kustomization.yaml"): "resources: [fleet.yaml]\nnamePrefix: east-\npatches:\n- path: patch.yaml\n  target: {kind: MachineSet}\n",
		filepath.Join(folder, "patch.yaml"):         "- {op: add, path: /spec/template/spec/providerSpec/value/deviceIndex, value: 1}\n",
		filepath.Join(folder, "fleet.yaml"):         set("a"),
		filepath.Join(broken, "kustomization.yaml"): "resources: [nosuch.yaml]\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = "http://127.0.0.1:1" // no cluster
	for sentence, c := range map[string]struct {
		args     []string
		want     int
		contains string
	}{
		"a URL":                        {args: []string{"check", "-f", server.URL + "/fleet.yaml", "-o", "name"}, contains: "machineset.machine.openshift.io/a\nmachineset.machine.openshift.io/b\n"},
		"a URL for convert":            {args: []string{"convert", "-f", server.URL + "/fleet.yaml", "machineset/b"}, contains: "name: b"},
		"a URL that is not there":      {args: []string{"check", "-f", server.URL + "/nosuch"}, want: 1, contains: "server reported 404 Not Found"},
		"a page in its place":          {args: []string{"check", "-f", server.URL + "/page"}, want: 1, contains: "reading " + server.URL + "/page"},
		"a kustomization":              {args: []string{"check", "-k", folder}, contains: "deviceIndex [1]"},
		"and its names":                {args: []string{"check", "-k", folder, "-o", "json"}, contains: `"name": "east-a"`},
		"a kustomization for convert":  {args: []string{"convert", "-k", folder}, want: 3, contains: "machineset/east-a cannot be converted"},
		"a kustomization that is none": {args: []string{"check", "-k", t.TempDir()}, want: 1, contains: "unable to find one of 'kustomization.yaml'"},
		"one that lacks a file":        {args: []string{"check", "-k", broken}, want: 1, contains: "nosuch.yaml"},
		"both at once":                 {args: []string{"check", "-k", folder, "-f", "-"}, want: 2, contains: "-f and -k exclude each other"},
		"both for names":               {args: []string{"status", "-k", folder, "-f", "-", "--server", nobody}, want: 2, contains: "-f and -k exclude each other"},
		"names of a kustomization":     {args: []string{"migrate", "-k", broken, "--to", "clusterapi", "--server", nobody}, want: 1, contains: "nosuch.yaml"},
	} {
		out, errOut, code := run(t, "", c.args...)
		if code != c.want || !strings.Contains(out+errOut, c.contains) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", sentence, code, c.want, c.contains, out, errOut)
		}
	}
}
