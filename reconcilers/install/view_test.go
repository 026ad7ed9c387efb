// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/stories"
)

// shown is what a look shows, a line an object that differs, and how providers stand.
func (c *cluster) shown() string {
	c.Helper()
	as, err := plane.As(account) // it reads no more than the installer may
	if err != nil {
		c.Fatal(err)
	}
	v, err := Look(c.Context(), as, Options{})
	if err != nil {
		c.Fatal(err)
	}
	out := fmt.Sprintln(v.Problem, v.Waits)
	if v.Others != "" {
		out += "Cluster API belongs to " + v.Others + "\n"
	}
	for _, p := range v.Providers {
		out += fmt.Sprintln(p.Label(), p.Progress.Stage, p.Progress.Waits)
		if p.Progress.Trouble != "" {
			out += "trouble: " + p.Progress.Trouble + "\n"
		}
		for _, o := range p.Objects {
			if o.Unread != nil {
				out += fmt.Sprintf("%s/%s: it cannot be read: %v\n", o.Want.GetKind(), o.Want.GetName(), o.Unread)
			}
			for _, line := range append(o.Differences, o.Added...) {
				out += fmt.Sprintf("%s/%s: %s\n", o.Want.GetKind(), o.Want.GetName(), line)
			}
		}
	}
	return out
}

func TestALookShowsWhatDiffersAndWritesNothing(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	check := func(parts ...string) {
		t.Helper()
		out := c.shown()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
	}
	check("the ConfigMap of Cluster API's core provider is missing")
	if out := c.shown(); strings.Contains(out, "belongs to") {
		t.Errorf("there is no Cluster API, and it shows\n%s", out)
	}
	foreign := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "machines.cluster.x-k8s.io", "labels": map[string]any{"cluster.x-k8s.io/provider": "cluster-api"}},
		"spec": map[string]any{
			"group": "cluster.x-k8s.io", "scope": "Namespaced", "names": map[string]any{"kind": "Machine", "plural": "machines"},
			"versions": []any{map[string]any{"name": "v1beta2", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		}}}
	if err := c.Create(t.Context(), foreign, client.FieldOwner("clusterctl")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Delete(t.Context(), foreign); err != nil {
			t.Error(err)
		}
	}()
	check("Cluster API belongs to field manager clusterctl, provider cluster-api")
	c.standin.Crash("aws-manager", true)
	c.release(both(t)...)
	check("ClusterRole/aws-manager: the object does not exist")
	c.eventually("aws waits for its pods", func() error {
		_, err := c.once()
		if m := c.condition(progressing).Message; err == nil && (!strings.Contains(m, "Deployment/aws-manager") || strings.Contains(m, "cluster-api v1.0.0")) {
			return errWaits
		}
		return err
	})
	if out := c.shown(); strings.Contains(out, "belongs to") {
		t.Errorf("there is a release, and it shows\n%s", out)
	}
	check("infrastructure-aws 7 Deployment/aws-manager", "cluster-api 0")
	c.standin.Crash("aws-manager", false)
	c.untilDone()
	if out := c.shown(); strings.Contains(out, "/") {
		t.Errorf("nothing differs, and it shows\n%s", out)
	}
	c.edit("Deployment", "aws-manager", types.StrategicMergePatchType,
		`{"spec": {"replicas": 2, "template": {"spec": {"hostNetwork": true, "priorityClassName": "x"}}}}`)
	c.edit("ClusterRole", "aws-manager", types.MergePatchType, `{"rules": []}`)
	check("Deployment/aws-manager: .spec.template.spec.hostNetwork (kubectl-edit)", "ClusterRole/aws-manager: rules is absent")
	if o := c.must("Deployment", "aws-manager"); o.GetLabels()[installation.InstalledByLabel] == "" {
		t.Error("looking has written")
	}
}
