// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"slices"

	"github.com/poundlock/poundlock/policies"
)

// LeftBehind returns, in order, the members of a Machine API Machine's status that Poundlock clears when the Machine moves to the API called to. These members
// say that the Machine has failed, and since when it waits for its instance. One API's controllers found that out, and the other API's controllers find it out
// anew. If the members stayed, a Machine API health check would delete the Machine, even if the next API has just created its instance. For a Machine that
// moves without an instance, all of these members are cleared. For a Machine that moves to the Machine API with an instance, a failure stays, because the
// Machine API's controllers never act on a failed Machine again. A Machine that is being deleted keeps all these members.
func LeftBehind(machine *policies.Object, to API) []string {
	if machine == nil || machine.Kind != "Machine" || machine.Deleting() {
		return nil
	}
	var ends []string
	without := providerID(machine) == ""
	if without || to == ClusterAPI {
		ends = []string{"errorMessage", "errorReason"}
	}
	if without || to == ClusterAPI && Read(machine).Phase == "Failed" {
		ends = append(ends, "lastUpdated", "phase")
	}
	var status map[string]json.RawMessage
	_ = json.Unmarshal(orNull(machine.Status), &status)
	return slices.DeleteFunc(ends, func(name string) bool { return len(status[name]) == 0 })
}

// unprepared reports whether Cluster API's objects still have to be prepared for a move. That is so if their status still has a failure or a phase that the
// move clears and that Poundlock mirrored before the move. It is also so if a Machine without an instance is not exempt from Cluster API's health checks yet
// (SparedAnnotation).
func (o Objects) unprepared(shape Shape) bool {
	if !o.Kind.InfraActs() || o.MachineAPI.Deleting() {
		return false
	}
	if Spares(o.MachineAPI, shape) && o.ClusterAPI != nil && !o.ClusterAPI.HasAnnotation(SparedAnnotation) {
		return true
	}
	core, infra := failureOf(o.ClusterAPI), failureOf(o.Infra)
	return core.Phase == "Failed" || core.failed() || infra.failed() ||
		providerID(o.MachineAPI) == "" && (core.LastUpdated != "" || core.Phase != "" && core.Phase != "Pending")
}

// failures is what the status of a Cluster API object says about a failure, in either API version, and about the object's phase.
type failures struct {
	failure

	Phase       string `json:"phase"`
	LastUpdated string `json:"lastUpdated"`
	Deprecated  struct {
		V1Beta1 failure `json:"v1beta1"`
	} `json:"deprecated"`
}

type failure struct {
	FailureReason  string `json:"failureReason"`
	FailureMessage string `json:"failureMessage"`
}

func (f failure) is() bool { return f != failure{} }

func (f failures) failed() bool { return f.is() || f.Deprecated.V1Beta1.is() }

// failureOf returns the failures of an object. It returns the zero value for an object that is absent or cannot be read.
func failureOf(o *policies.Object) (f failures) {
	if o != nil {
		_ = json.Unmarshal(orNull(o.Status), &f)
	}
	return f
}
