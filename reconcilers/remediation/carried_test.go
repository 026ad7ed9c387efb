// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"encoding/json"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestCarriedFromWhatWasRecreated: a restored check begins with generation 1 again. Until Poundlock has mirrored it, its mirror has the rules of the former
// check. Poundlock deletes no Machine by those.
func TestCarriedFromWhatWasRecreated(t *testing.T) {
	for name, c := range map[string]struct {
		record       string
		synchronized int64
		generation   int64
		want         bool
	}{
		"the mirror was made from it":                    {"", 4, 4, true},
		"it was edited since":                            {"", 4, 5, false},
		"it was recreated, and not mirrored yet":         {"", 4, 1, false},
		"it was recreated and mirrored":                  {"new/1", 4, 1, true},
		"it was recreated once more":                     {"former/1", 4, 1, false},
		"it was recreated, mirrored, and edited since":   {"new/1", 4, 2, false},
		"it was recreated, edited, and mirrored again":   {"new/2", 4, 2, true},
		"it has more edits than the former one ever had": {"new/3", 5, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{check: &unstructured.Unstructured{}, core: &unstructured.Unstructured{Object: map[string]any{}}, cluster: &policies.Object{}}
			s.check.Object = map[string]any{}
			if c.record != "" {
				s.check.SetAnnotations(map[string]string{authority.CoreGenerationAnnotation: c.record})
			}
			s.core.SetUID("new")
			s.core.SetGeneration(c.generation)
			s.shape = authority.Shape{Current: authority.ClusterAPI, SynchronizedGeneration: c.synchronized,
				Conditions: []authority.Condition{{Type: authority.ConditionSynchronized, Status: metav1.ConditionTrue}}}
			if got := s.carried(); got != c.want {
				t.Errorf("carried over: %t", got)
			}
		})
	}
}

// TestCarriedWhileClusterAPIStandsStill: Cluster API's check judges no Machine while it is paused, while its Cluster is, or without its Cluster.
func TestCarriedWhileClusterAPIStandsStill(t *testing.T) {
	cluster := func(spec string) *policies.Object { return &policies.Object{Spec: json.RawMessage(spec)} }
	for name, c := range map[string]struct {
		cluster *policies.Object
		paused  bool
		want    bool
	}{
		"nothing is paused":         {cluster(`{}`), false, true},
		"the Cluster is unpaused":   {cluster(`{"paused":false}`), false, true},
		"the Cluster is paused":     {cluster(`{"paused":true}`), false, false},
		"there is no Cluster":       {nil, false, false},
		"the check itself is":       {cluster(`{}`), true, false},
		"the Cluster has no spec":   {&policies.Object{}, false, true},
		"the check and its Cluster": {cluster(`{"paused":true}`), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{check: &unstructured.Unstructured{Object: map[string]any{}}, core: &unstructured.Unstructured{Object: map[string]any{}}, cluster: c.cluster}
			if c.paused {
				s.core.SetAnnotations(map[string]string{authority.PausedAnnotation: ""})
			}
			s.core.SetGeneration(1)
			s.shape = authority.Shape{Current: authority.ClusterAPI, SynchronizedGeneration: 1,
				Conditions: []authority.Condition{{Type: authority.ConditionSynchronized, Status: metav1.ConditionTrue}}}
			if got := s.carried(); got != c.want {
				t.Errorf("carried over: %t", got)
			}
		})
	}
}

// TestOurs: Cluster API's check skips a paused Machine. If the Machine is a mirror, Poundlock paused it; if not, a person did. Where the check has a
// remediation template, the Machine is the remediator's until that gives up.
func TestOurs(t *testing.T) {
	for name, c := range map[string]struct {
		current machinev1beta1.MachineAuthority
		paused  bool
		// template: the check has one. marked: the Machine's owner has been asked to delete it.
		template, marked bool
		want             bool
	}{
		"a mirror":                               {current: machinev1beta1.MachineAuthorityMachineAPI, paused: true, want: true},
		"Cluster API's":                          {current: machinev1beta1.MachineAuthorityClusterAPI, want: true},
		"Cluster API's, paused by a person":      {current: machinev1beta1.MachineAuthorityClusterAPI, paused: true},
		"a remediator's":                         {current: machinev1beta1.MachineAuthorityClusterAPI, template: true},
		"a remediator's that has given up":       {current: machinev1beta1.MachineAuthorityClusterAPI, template: true, marked: true, want: true},
		"given up, and paused by a person":       {current: machinev1beta1.MachineAuthorityClusterAPI, template: true, marked: true, paused: true},
		"a mirror, which no remediator looks at": {current: machinev1beta1.MachineAuthorityMachineAPI, paused: true, template: true, want: true}, // an event reports it
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			if c.marked {
				o.Object["status"] = map[string]any{"conditions": []any{
					map[string]any{"type": "HealthCheckSucceeded", "status": "False"}, map[string]any{"type": "OwnerRemediated", "status": "False"}}}
			}
			annotations := map[string]string{authority.MirrorAnnotation: "Machine/m"}
			if c.paused {
				annotations[authority.PausedAnnotation] = ""
			}
			o.SetAnnotations(annotations)
			all := map[string]*unstructured.Unstructured{"m": o}
			m := &machinev1beta1.Machine{}
			m.Name = "m"
			m.OwnerReferences = []metav1.OwnerReference{{Kind: authority.ControlPlane, Controller: new(true)}}
			m.Status.AuthoritativeAPI = c.current
			s := &state{machineAPI: all, clusterAPI: all}
			if c.template {
				s.spec.RemediationTemplate = &corev1.ObjectReference{}
			}
			if got := s.ours(m); got != c.want {
				t.Errorf("ours: %t", got)
			}
		})
	}
}
