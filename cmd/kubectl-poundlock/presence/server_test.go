// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"reflect"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestServerOf(t *testing.T) {
	deployment := func(args ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{ReadyReplicas: 1}}
		d.Spec.Replicas = new(int32(2))
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "poundlock:v1", Args: args}}
		return d
	}
	gates := func(enabled ...string) *configv1.FeatureGate {
		g := &configv1.FeatureGate{}
		for _, name := range enabled {
			g.Status.FeatureGates = append(g.Status.FeatureGates,
				configv1.FeatureGateDetails{Enabled: []configv1.FeatureGateAttributes{{Name: configv1.FeatureGateName(name)}}})
		}
		return g
	}
	for sentence, c := range map[string]struct {
		deployment *appsv1.Deployment
		gates      *configv1.FeatureGate
		want       Server
	}{
		"nothing is there":         {want: Server{Namespace: "n"}},
		"the gate alone":           {gates: gates("MachineAPIMigration"), want: Server{Namespace: "n", Gate: "on"}},
		"another gate":             {gates: gates("Other"), want: Server{Namespace: "n", Gate: "off"}},
		"on in one of two":         {gates: gates("MachineAPIMigration", "Other"), want: Server{Namespace: "n", Gate: "off"}},
		"an object without status": {gates: gates(), want: Server{Namespace: "n", Gate: "off"}},
		"a manager": {deployment("manager", "--control-plane"), gates("MachineAPIMigration"),
			Server{Namespace: "n", Installed: true, Image: "poundlock:v1", Replicas: 2, Ready: 1, Flags: []string{"--control-plane"}, Gate: "on"}},
		"a manager that overrides it": {deployment("manager", "--feature-gate=off"), gates("MachineAPIMigration"),
			Server{Namespace: "n", Installed: true, Image: "poundlock:v1", Replicas: 2, Ready: 1, Flags: []string{"--feature-gate=off"}, Gate: "off"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := serverOf("n", c.deployment, c.gates); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// What the user may not read is named with what follows, unless the gate is known without it.
func TestAGateThatIsNotKnown(t *testing.T) {
	for sentence, c := range map[string]struct {
		unread []Unread
		gate   string
		want   string
	}{
		"all is read":                   {nil, "on", ""},
		"nothing is there":              {nil, "", ""},
		"the FeatureGate":               {[]Unread{{KindFeatureGate, "no"}}, "", "You may not read FeatureGate cluster, so it is unknown whether the feature gate MachineAPIMigration is on. "},
		"but a flag overrides it":       {[]Unread{{KindFeatureGate, "no"}}, "on", ""},
		"the Deployment":                {[]Unread{{KindDeployment, "no"}}, "on", "You may not read Deployment n/poundlock, so it is unknown whether the feature gate MachineAPIMigration is overridden by a flag "},
		"neither the one nor the other": {[]Unread{{KindDeployment, "no"}, {KindFeatureGate, "no"}}, "", "You may not read Deployment n/poundlock and FeatureGate cluster, so "},
	} {
		got := Server{Namespace: "n", Unread: c.unread, Gate: c.gate}.GateUnknown()
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}
