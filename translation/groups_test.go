// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	own := []struct{ why, standard, private string }{
		{"the group itself", "cluster.x-k8s.io", "cluster.hypershift.openshift.io"},
		{"a group beneath it", "infrastructure.cluster.x-k8s.io", "infrastructure.cluster.hypershift.openshift.io"},
		{"two labels beneath it", "a.b.cluster.x-k8s.io", "a.b.cluster.hypershift.openshift.io"},
	}
	for _, c := range own {
		t.Run(c.why, func(t *testing.T) {
			for _, form := range []struct {
				value Value
				with  string
			}{
				{Group, "%"}, {APIVersion, "%/v1beta2"}, {Reference, "%/v1beta2"}, {DefinitionName, "machines.%"},
				{Path, "/apis/%"}, {Path, "/apis/%/v1beta2/namespaces/n/machines/m"}, {Path, "apis/%/v1"}, {Path, "/openapi/v3/apis/%/v1?hash=A"},
				{Prose, "machines.% \"m\" not found"}, {Prose, "no matches for %/v1beta2, %."}, {Prose, "(%)"}, {Prose, "/apis/%/v1beta2/namespaces/n"},
			} {
				s, p := strings.ReplaceAll(form.with, "%", c.standard), strings.ReplaceAll(form.with, "%", c.private)
				if got := ToPrivate.text(form.value, s); got != p {
					t.Errorf("to private: %q became %q, want %q", s, got, p)
				}
				if got := ToStandard.text(form.value, p); got != s {
					t.Errorf("to standard: %q became %q, want %q", p, got, s)
				}
			}
		})
	}
}

func TestNamesOfSchemas(t *testing.T) {
	for s, p := range map[string]string{
		"io.x-k8s.cluster.v1beta2.Machine":                   "io.openshift.hypershift.cluster.v1beta2.Machine",
		"io.x-k8s.cluster.infrastructure.v1beta2.AWSMachine": "io.openshift.hypershift.cluster.infrastructure.v1beta2.AWSMachine",
	} {
		for before, v := range map[string]Value{"": SchemaName, schemaReferences[0]: SchemaReference, schemaReferences[1]: SchemaReference} {
			if got := ToPrivate.text(v, before+s); got != before+p {
				t.Errorf("%q became %q", before+s, got)
			}
			if got := ToStandard.text(v, before+p); got != before+s {
				t.Errorf("%q became %q", before+p, got)
			}
		}
	}
}

func TestNamesThatStay(t *testing.T) {
	for _, c := range []struct {
		why   string
		value Value
		text  string
	}{
		{"an excluded group", Group, "operator.cluster.x-k8s.io"},
		{"an excluded group, private", Group, "operator.cluster.hypershift.openshift.io"},
		{"a group beneath an excluded one", Group, "a.clusterctl.cluster.x-k8s.io"},
		{"a label that only ends like it", Group, "mycluster.x-k8s.io"},
		{"a label that only ends like it, private", Group, "mycluster.hypershift.openshift.io"},
		{"a longer group", Group, "cluster.x-k8s.io.evil.com"},
		{"another group", Group, "clusters.x-k8s.io"},
		{"HyperShift's own group", Group, "hypershift.openshift.io"},
		{"capital letters are another name", Group, "Cluster.X-k8s.io"},
		{"no group", Group, ""},
		{"the core group", APIVersion, "v1"},
		{"a group without a version", APIVersion, "cluster.x-k8s.io"},
		{"a group behind the slash", APIVersion, "apps/cluster.x-k8s.io"},
		{"a name of an object", Path, "/api/v1/namespaces/cluster.x-k8s.io"},
		{"a name behind apis that is no group", Path, "/api/v1/namespaces/n/services/apis/cluster.x-k8s.io"},
		{"a longer group in a path", Path, "/apis/cluster.x-k8s.io.evil.com/v1"},
		{"a label that only ends like it, in a path", Path, "/apis/mycluster.x-k8s.io/v1"},
		{"an excluded group's definition", DefinitionName, "coreproviders.operator.cluster.x-k8s.io"},
		{"a schema of a longer group", SchemaName, "io.x-k8s.clusters.v1.Machine"},
		{"a schema of an excluded group", SchemaName, "io.x-k8s.cluster.operator.v1.CoreProvider"},
		{"a reference to elsewhere", SchemaReference, "io.x-k8s.cluster.v1beta2.Machine"},
		{"a longer name in a sentence", Prose, "mycluster.hypershift.openshift.io cluster.hypershift.openshift.io.evil.com"},
		{"an excluded group in a sentence", Prose, "xs.operator.cluster.hypershift.openshift.io"},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, d := range []Direction{ToPrivate, ToStandard} {
				if got := d.text(c.value, c.text); got != c.text {
					t.Errorf("%q became %q", c.text, got)
				}
			}
		})
	}
	if s := "metadata.labels[cluster.x-k8s.io/cluster-name]: Required"; ToPrivate.Prose(s) != s {
		t.Error("a label's key in a sentence became", ToPrivate.Prose(s))
	}
}

// What a client reads as the owner of its object, it writes back: the store must have the same afterwards, whichever name it had.
func TestReferencesAreAPermutation(t *testing.T) {
	seen := map[string]bool{}
	for _, stored := range []string{Standard, Private, Foreign, "operator." + Standard, "operator." + Private, "apps", "infrastructure." + Standard} {
		read := ToStandard.text(Reference, stored+"/v1")
		if seen[read] {
			t.Errorf("two names are read as %q", read)
		}
		seen[read] = true
		if written := ToPrivate.text(Reference, read); written != stored+"/v1" {
			t.Errorf("%q is read as %q and written back as %q", stored, read, written)
		}
	}
	if got := ToStandard.text(Reference, Standard+"/v1"); got != Foreign+"/v1" {
		t.Errorf("the platform's owner is read as %q", got)
	}
}
