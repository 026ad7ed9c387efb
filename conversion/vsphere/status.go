// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"

	"github.com/poundlock/poundlock/conversion"
)

var providerStatusKind = machinev1beta1.GroupVersion.WithKind("VSphereMachineProviderStatus")

// status converts what the controllers of either API have observed: whether the virtual machine was created, and whether it runs. It does not convert tasks
// and the addresses of devices, because each of these exists in only one of the APIs.
type status struct{}

// observed has what is read from the objects of either API: the provider ID in the spec, and the status.
type observed struct {
	ProviderID string             `json:"providerID"`
	Ready      bool               `json:"ready"`
	Conditions []metav1.Condition `json:"conditions"`
}

func (status) ToClusterAPI(providerStatus []byte, machine conversion.InfraObservation) map[string]any {
	out := map[string]any{"ready": machine.Ready}
	if len(machine.Addresses) > 0 {
		out["addresses"] = machine.Addresses
	}
	text := func(field, value string) {
		if value != "" {
			out[field] = value
		}
	}
	text("failureReason", machine.FailureReason)
	text("failureMessage", machine.FailureMessage)
	if made, ok := find(read(providerStatus).Conditions, string(machinev1beta1.MachineCreation)); ok {
		out["conditions"] = []any{provisioned(made)}
	}
	return out
}

// longestMessage is the maximum length of a condition's message in Cluster API's CRD. The API server refuses the whole status if a message is longer.
const longestMessage = 10240

// provisioned returns Cluster API's condition VMProvisioned for Machine API's condition MachineCreation. A failure gets the severity Warning, because the
// creation of a virtual machine is retried.
func provisioned(made metav1.Condition) map[string]any {
	out := condition(string(vspherev1.VMProvisionedCondition), made)
	if made.Status == metav1.ConditionFalse {
		out["reason"], out["severity"] = vspherev1.CloningFailedReason, "Warning"
		if made.Message != "" {
			out["message"] = conversion.Cut(made.Message, longestMessage)
		}
	}
	return out
}

func (status) ToMachineAPI(infraSpec, infraStatus []byte) map[string]any {
	out := map[string]any{"kind": providerStatusKind.Kind, "apiVersion": providerStatusKind.GroupVersion().String()}
	if id, ok := strings.CutPrefix(read(infraSpec).ProviderID, providerIDPrefix); ok {
		out["instanceId"] = id
	}
	seen := read(infraStatus)
	if seen.Ready {
		out["instanceState"] = poweredOn
	}
	if made, ok := find(seen.Conditions, string(vspherev1.VMProvisionedCondition)); ok && (made.Status == metav1.ConditionTrue || failed(made.Reason)) {
		out["conditions"] = []any{created(made)}
	}
	return out
}

const (
	providerIDPrefix = "vsphere://"
	// poweredOn is vSphere's name of a state. In Cluster API a virtual machine is ready only in this state.
	poweredOn = "poweredOn"
)

// failed reports whether the reason of a False condition means a failure, and not an operation that is still in progress.
func failed(reason string) bool {
	return slices.Contains([]string{vspherev1.CloningFailedReason, vspherev1.PoweringOnFailedReason, vspherev1.TaskFailure}, reason)
}

func created(made metav1.Condition) map[string]any {
	out := condition(string(machinev1beta1.MachineCreation), made)
	out["reason"], out["message"] = machinev1beta1.MachineCreationSucceededConditionReason, "Machine successfully created"
	if made.Status != metav1.ConditionTrue {
		out["reason"], out["message"] = machinev1beta1.MachineCreationFailedConditionReason, made.Message
	}
	return out
}

func condition(name string, like metav1.Condition) map[string]any {
	out := map[string]any{"type": name, "status": string(like.Status)}
	if !like.LastTransitionTime.IsZero() {
		out["lastTransitionTime"] = like.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z")
	}
	return out
}

func find(conditions []metav1.Condition, name string) (metav1.Condition, bool) {
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == name })
	if i < 0 {
		return metav1.Condition{}, false
	}
	return conditions[i], true
}

// read decodes a status or spec. The result is empty if it cannot be decoded.
func read(raw []byte) observed {
	var out observed
	if json.Unmarshal(raw, &out) != nil {
		return observed{}
	}
	return out
}
