// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/aws"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/internal/machineapi"
)

func testEnv() *conversion.Env {
	return &conversion.Env{Platform: aws.Platform(), ClusterName: "ocean", Region: "us-east-1"}
}

func TestEveryFieldHasARow(t *testing.T) {
	for _, problem := range conversion.Uncovered(Machines) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(MachineSets) {
		t.Error(problem)
	}
	for _, problem := range conversion.Uncovered(MachineHealthChecks) {
		t.Error(problem)
	}
}

// exported is a capiMachine without the fields that are not JSON.
type exported struct {
	Metadata metadata              `json:"metadata"`
	Spec     clusterv1.MachineSpec `json:"spec"`
}

// machineTrips use the table; the infrastructure object is the JSON that the API server would store.
func machineTrips(template bool) (func(*mapiMachine) (*exported, field.ErrorList), func(*exported) (*mapiMachine, field.ErrorList)) {
	env := testEnv()
	spec := env.Platform.Spec.NewInfraSpec()
	_ = json.Unmarshal([]byte(infraSpec), spec)
	kind := env.Platform.InfraMachine
	if template {
		kind = env.Platform.InfraMachineTemplate
	}
	there := func(m *mapiMachine) (*exported, field.ErrorList) {
		p, c := conversion.NewPass(env, &conversion.Core{Template: template}, ""), capiMachine{}
		m.provider = env.Platform.Spec.NewProviderSpec()
		_ = json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, m.provider)
		Machines.ToClusterAPI(p, m, &c)
		spec = c.infra.spec
		point(&c.Spec, kind, "infra")
		return &exported{Metadata: c.Metadata, Spec: c.Spec}, p.Errors()
	}
	back := func(b *exported) (*mapiMachine, field.ErrorList) {
		p, m := conversion.NewPass(env, &conversion.Core{Template: template}, ""), mapiMachine{}
		c := capiMachine{Metadata: b.Metadata, Spec: b.Spec, infra: infra{name: "infra", root: kind.Kind + ".spec", spec: spec}}
		Machines.ToMachineAPI(p, &c, &m)
		if encoded, err := conversion.Encode(m.provider); err == nil {
			raw, _ := json.Marshal(encoded)
			m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: raw}
		}
		return &m, p.Errors()
	}
	return there, back
}

func TestAMachineComesBack(t *testing.T) {
	for _, template := range []bool{false, true} {
		t.Run(fmt.Sprintf("template %t", template), func(t *testing.T) {
			there, back := machineTrips(template)
			conversiontest.Trip[mapiMachine, exported]{
				There: there, Back: back, Lines: Machines.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI },
				Values: machineValues(template), Repair: repairMachine, Normal: normalMachine, Runs: 500,
			}.Run(t)
		})
	}
}

func TestAClusterAPIMachineComesBack(t *testing.T) {
	there, _ := machineTrips(false)
	conversiontest.Trip[exported, mapiMachine]{
		There: func(c *exported) (*mapiMachine, field.ErrorList) {
			_, back := machineTrips(false) // each with its own AWSMachine
			return back(c)
		},
		Back: there, Lines: Machines.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI },
		Values: conversiontest.Values{
			"metadata.name": conversiontest.OneOf("worker-a-1"),
			"metadata.labels": func(*rand.Rand) any {
				return map[string]string{clusterLabel: "ocean", clusterv1.ClusterNameLabel: "ocean", "team": "sea"}
			},
			"metadata.annotations": func(*rand.Rand) any {
				return map[string]string{preDrain + "abc": "owner", preTerminate + "abd": "owner", clusterv1.DeleteMachineAnnotation: "true", "note": "x"}
			},
			"spec.clusterName": conversiontest.OneOf("ocean"),
			"spec.infrastructureRef": func(*rand.Rand) any {
				return clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "AWSMachine", Name: "infra"}
			},
			"spec.bootstrap.dataSecretName":                conversiontest.OneOf(new("worker-user-data")),
			"spec.providerID":                              conversiontest.OneOf("", "aws:///us-east-1a/i-0123456789abcdef0"),
			"spec.minReadySeconds":                         conversiontest.OneOf[int32](0),
			"spec.taints[].effect":                         conversiontest.OneOf(corev1.TaintEffectNoSchedule),
			"spec.taints[].propagation":                    conversiontest.OneOf(clusterv1.MachineTaintPropagationAlways),
			"spec.deletion.nodeDrainTimeoutSeconds":        conversiontest.OneOf[int32](0, 1),
			"spec.deletion.nodeVolumeDetachTimeoutSeconds": conversiontest.OneOf[int32](0, 1),
			"spec.deletion.nodeDeletionTimeoutSeconds":     conversiontest.OneOf[int32](10, 1),
		},
		Repair: func(_ *rand.Rand, c *exported) {
			for i := range c.Spec.Taints {
				c.Spec.Taints[i].Key = fmt.Sprintf("%s-%d", c.Spec.Taints[i].Key, i)
			}
		},
		Normal: func(c *exported) { c.Spec.Deletion, c.Spec.MinReadySeconds = clusterv1.MachineDeletionSpec{}, nil },
		Runs:   500,
	}.Run(t)
}

const infraSpec = `{"ami":{"id":"ami-1"},"instanceType":"m6i.large","ignition":{"storageType":"UnencryptedUserData","version":"3.4"}}`

const spec = `{"ami":{"id":"ami-1"},"apiVersion":"machine.openshift.io/v1beta1","capacityReservationId":"","credentialsSecret":{"name":"aws-cloud-credentials"},` +
	`"deviceIndex":0,"instanceType":"m6i.large","kind":"AWSMachineProviderConfig","placement":{"availabilityZone":"us-east-1a","region":"us-east-1"},"userDataSecret":{"name":"worker-user-data"}}`

func machineValues(template bool) conversiontest.Values {
	ids := conversiontest.OneOf("aws:///us-east-1a/i-0123456789abcdef0")
	if template {
		ids = func(*rand.Rand) any { return (*string)(nil) }
	}
	return conversiontest.Values{
		"metadata.name":        conversiontest.OneOf("worker-a-1"),
		"metadata.labels":      func(r *rand.Rand) any { return labels(r) },
		"metadata.annotations": func(r *rand.Rand) any { return annotations(r) },
		"spec.metadata.labels": func(r *rand.Rand) any {
			return some(r, nodeRole+"infra", "", nodeRole+"worker", "", "node.cluster.x-k8s.io/a", "b", "x.node-restriction.kubernetes.io/c", "d")
		},
		"spec.metadata.annotations":     func(r *rand.Rand) any { return some(r, "node.cluster.x-k8s.io/a", "b") },
		"spec.providerSpec.value":       func(*rand.Rand) any { return &runtime.RawExtension{Raw: []byte(spec)} },
		"spec.providerID":               ids,
		"spec.authoritativeAPI":         conversiontest.OneOf(""),
		"spec.taints[].effect":          conversiontest.OneOf(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		"spec.taints[].timeAdded":       conversiontest.OneOf(metav1.NewTime(time.Unix(0, 0))),
		"spec.metadata.ownerReferences": func(*rand.Rand) any { return []metav1.OwnerReference{{Name: "x"}} },
	}
}

// some picks each pair of key and value every other time.
func some(r *rand.Rand, pairs ...string) map[string]string {
	var out map[string]string
	for i := 0; i < len(pairs); i += 2 {
		if r.IntN(2) == 0 {
			put(&out, pairs[i], pairs[i+1])
		}
	}
	return out
}

func labels(r *rand.Rand) map[string]string {
	roles := []string{"worker", "infra", "master", ""}
	return some(r, clusterLabel, "ocean", roleLabel, roles[r.IntN(4)], typeLabel, roles[r.IntN(4)],
		machineapi.MachineSetLabel, "worker-a", "team", "sea", "machine.openshift.io/zone", "a", "x", "")
}

func annotations(r *rand.Rand) map[string]string {
	return some(r, "machine.openshift.io/exclude-node-draining", "", "machine.openshift.io/delete-machine", "yes", oldDelete, "1",
		"machine.openshift.io/cluster-api-autoscaler-node-group-min-size", "1", "machine.openshift.io/instance-state", "running",
		lastApplied, "{}", "note", "", ownDomain+"x", "y")
}

func repairMachine(_ *rand.Rand, m *mapiMachine) {
	for i := range m.Spec.Taints {
		m.Spec.Taints[i].Key = fmt.Sprintf("%s-%d", m.Spec.Taints[i].Key, i)
	}
	for _, hooks := range [][]machinev1beta1.LifecycleHook{m.Spec.LifecycleHooks.PreDrain, m.Spec.LifecycleHooks.PreTerminate} {
		for i := range hooks {
			hooks[i] = machinev1beta1.LifecycleHook{Name: fmt.Sprintf("%s-%d", hooks[i].Name, i), Owner: "own" + hooks[i].Owner}
		}
	}
}

func normalMachine(m *mapiMachine) {
	byName := func(a, b machinev1beta1.LifecycleHook) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(m.Spec.LifecycleHooks.PreDrain, byName)
	slices.SortFunc(m.Spec.LifecycleHooks.PreTerminate, byName)
	for k, v := range m.Metadata.Annotations {
		if stays(k, v) {
			delete(m.Metadata.Annotations, k)
		}
	}
	// Two names for one mark: the other side has one value.
	if v, both := m.Metadata.Annotations["machine.openshift.io/delete-machine"]; both && m.Metadata.Annotations[oldDelete] != "" {
		m.Metadata.Annotations[oldDelete] = v
	}
}
