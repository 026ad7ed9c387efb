// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestNamesOf(t *testing.T) {
	for text, want := range map[string][]string{
		"":     nil,
		"\n\n": nil,
		"machineset.machine.openshift.io/b\nmachine/a\n":                                    {"machineset.machine.openshift.io/b", "machine/a"},
		"apiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {name: c}\n": {"machineset/c"},
		"{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: z}}\n---\n{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: b}}\n---\n" +
			"{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}\n": {"machine/z", "machineset/b", "machine/a"},
	} {
		if got, err := namesOf(text, authority.Pairs{inventory.DefaultPair}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Objects are requested in their order in a file, wherever it is read from; those of a kustomization in the order in which it prints them.
func TestTheOrderOfSources(t *testing.T) {
	const manifests = "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: z}}\n---\n{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: b}}\n---\n" +
		"{apiVersion: v1, kind: List, items: [{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: c}}, {apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}]}\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, manifests) }))
	defer server.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "fleet.yaml")
	for path, text := range map[string]string{file: manifests, filepath.Join(folder, "kustomization.yaml"): "resources: [fleet.yaml]\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }}}
	p.AddFlags(&cobra.Command{})
	for sentence, from := range map[string]inventory.Sources{"a file": {Paths: []string{file}}, "a URL": {Paths: []string{server.URL}}, "a kustomization": {Kustomization: folder}} {
		list, err := Names{from}.Targets(p, nil)
		var got []string
		for _, one := range list {
			got = append(got, one.Name)
		}
		want := []string{"z", "b", "c", "a"}
		if from.Kustomization != "" {
			want = []string{"a", "c", "z", "b"}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v", sentence, got, err)
		}
	}
}
