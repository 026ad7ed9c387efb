// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestProvidersMayAcknowledgeAPause tests what each provider's controller writes to a paused object before it acknowledges the pause, or in order to
// acknowledge it. The write must pass in every phase in which the object is locked. If it were refused, the controller would never acknowledge, and no Machine
// would move.
func TestProvidersMayAcknowledgeAPause(t *testing.T) {
	const (
		namespace = "system:serviceaccount:openshift-cluster-api:"
		told      = `"annotations":{"cluster.x-k8s.io/paused":"true"}`
		acts      = `"annotations":{"cluster.x-k8s.io/paused":"true","clusterctl.cluster.x-k8s.io/block-move":"true"}`
		group     = ".infrastructure.cluster.x-k8s.io"
	)
	held := func(finalizers ...string) string {
		return fmt.Sprintf(`%s,"finalizers":["%s"]`, told, strings.Join(finalizers, `","`))
	}
	for _, c := range []struct {
		sentence, kind, objectKind, user, before, after string
		refused                                         bool
	}{
		{"vSphere's adds its finalizer before it looks", authority.InfraMachine, "VSphereMachine", namespace + "default", told, held("vspheremachine" + group), false},
		{"and to what it keeps for the instance", authority.InfraInstance, "VSphereVM", namespace + "default", told, held("vspherevm" + group), false},
		{"beside another one", authority.InfraInstance, "VSphereVM", namespace + "default", held("a.b/c"), held("a.b/c", "vspherevm"+group), false},
		{"PowerVS's adds its finalizer before it looks", authority.InfraMachine, "IBMPowerVSMachine", namespace + "capi-ibmcloud-manager", told, held("ibmpowervsmachine" + group), false},
		{"Azure's acknowledges by an annotation", authority.InfraMachine, "AzureMachine", namespace + "capz-manager", acts, told, false},
		{"Azure's begins", authority.InfraMachine, "AzureMachine", namespace + "capz-manager", told, acts, true},
		{"a person acknowledges for Azure's", authority.InfraMachine, "AzureMachine", "system:admin", acts, told, true},
		{"a person adds another finalizer with vSphere's", authority.InfraMachine, "VSphereMachine", "system:admin", told, held("a.b/c", "vspheremachine"+group), true},
		{"a person removes vSphere's", authority.InfraMachine, "VSphereMachine", namespace + "default", held("vspheremachine" + group), told, true},
		{"a person puts it in another's place", authority.InfraMachine, "VSphereMachine", namespace + "default", held("a.b/c"), held("vspheremachine" + group), true},
		{"a person adds that of a provider with an account", authority.InfraMachine, "AWSMachine", "system:admin", told, held("awsmachine" + group), true},
		{"a person adds what proves that OpenStack's has found the instance", authority.InfraInstance, "OpenStackServer", "system:admin", told, held("openstackserver" + group), true},
	} {
		for phase, status := range statuses {
			if phase == authority.ByClusterAPI || phase == authority.LeavingClusterAPI && c.refused {
				continue
			}
			object := func(metadata string) *policies.Object {
				return parse(t, fmt.Sprintf(`{"kind":%q,"metadata":{"name":"x",%s}}`, c.objectKind, metadata))
			}
			change := policies.Change{
				Subject: policies.Subject{Side: policies.SideInfrastructure, Kind: c.kind, Namespace: "n", Name: "x", TwinNamespace: "m",
					Resource: schema.GroupResource{Group: group[1:], Resource: strings.ToLower(c.objectKind) + "s"}},
				Operation: admissionv1.Update, Actor: authority.OpenShiftIdentities().Actor(c.user), Old: object(c.before), New: object(c.after),
				Facts: policies.Facts{Twin: parse(t, fmt.Sprintf(`{"metadata":{"name":"x"},"status":%s}`, status))},
			}
			var value []string
			for _, f := range rules.Judge(change) {
				for _, e := range f.Denials {
					value = append(value, e.Field+" "+f.Rule)
				}
			}
			if refused := len(value) > 0; refused != c.refused {
				t.Errorf("%s, in phase %d (%s): refused: %v", c.sentence, phase, status, value)
			}
		}
	}
}
