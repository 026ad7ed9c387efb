// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"slices"

	"github.com/poundlock/poundlock/policies"
)

// LeftBehind lists, in order, the members of a Machine API Machine's status that are cleared when it moves to an API: that the Machine has failed, and
// since when it waits for its instance. One API's controllers found them, and the other's find them anew. A Machine API check would delete a Machine
// because of them, even one whose instance the next API has just created. For a Machine that moves without an instance, all of them are cleared. The
// Machine API's controllers never touch a failed Machine again, so a failure that is about an instance stays with a Machine that moves to them. A Machine
// that is being deleted keeps all of them.
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

// unprepared reports that Cluster API's objects still have what the mirror reported there before the move and the move clears, or that a Machine without an
// instance is not spared from its checks.
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

// failures is what a Cluster API object's status reports of a failure, in either version, and of its phase.
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

// failureOf reads an object; one that is absent or cannot be read has not failed.
func failureOf(o *policies.Object) (f failures) {
	if o != nil {
		_ = json.Unmarshal(orNull(o.Status), &f)
	}
	return f
}
