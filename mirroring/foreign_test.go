// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestTheWayOutBesideAPausedStranger: controllers end nothing for an object that is paused, so that a deletion alone is no way out.
func TestTheWayOutBesideAPausedStranger(t *testing.T) {
	const (
		core  = "kubectl -n capi annotate machine.cluster.x-k8s.io m cluster.x-k8s.io/paused-"
		infra = "kubectl -n capi annotate awsmachine.infrastructure.cluster.x-k8s.io m cluster.x-k8s.io/paused-"
	)
	type change = func(*unstructured.Unstructured)
	paused := func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{authority.PausedAnnotation: ""})
	}
	going := func(o *unstructured.Unstructured) {
		o.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)})
	}
	instance := func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"providerID": "aws:///a/i-1"} }
	owned := func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "m"}})
	}
	for name, c := range map[string]struct {
		begun       bool
		core, infra []change
		want, ends  string
	}{
		"it has an instance, and is paused":               {false, []change{paused, instance}, []change{paused, instance}, "with it what it runs, once it is no longer paused", core + "; " + infra},
		"it has an instance, and only one half is paused": {false, []change{instance}, []change{paused, instance}, "with it what it runs, once it is no longer paused", ": " + infra},
		"it has an instance, and is not paused":           {false, []change{instance}, []change{instance}, "with it what it runs", ""},
		"both have one, and it is paused":                 {true, []change{paused, instance}, []change{paused, instance}, "with it what it runs, once it is no longer paused", core + "; " + infra},
		"it is being deleted, and is paused":              {false, []change{paused, going}, []change{paused, going}, "the mirror is made when it is gone, once it is no longer paused", core + "; " + infra},
		"it is being deleted, and is not paused":          {false, []change{going}, []change{going}, "the mirror is made when it is gone", ""},
		"it may have begun, and is paused":                {false, []change{paused}, []change{paused, owned}, "with it what it runs, once it is no longer paused", core + "; " + infra},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(kind, version string, changes []change) *unstructured.Unstructured {
				o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"namespace": "capi", "name": "m"}}}
				for _, change := range changes {
					change(o)
				}
				return o
			}
			s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: object("Machine", "cluster.x-k8s.io/v1beta2", c.core),
				Infra: object("AWSMachine", "infrastructure.cluster.x-k8s.io/v1beta2", c.infra), MachineAPI: object("Machine", "machine.openshift.io/v1beta1", nil)}
			s.MachineAPI.Object["status"] = map[string]any{"authoritativeAPI": "MachineAPI"}
			if c.begun {
				s.MachineAPI.SetFinalizers([]string{authority.MachineAPIMachineFinalizer})
			}
			if got := (steps{State: s}).inTheWay(); !strings.Contains(got, c.want) || !strings.Contains(got, c.ends) ||
				(c.ends == "") == strings.Contains(got, "kubectl") {
				t.Errorf("%q has not the words %q, and the commands %q", got, c.want, c.ends)
			}
		})
	}
}
