// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// requestsOpen reports whether a check may have asked somebody else to remediate a Machine, by a request from its template that it deletes when the Machine is
// healthy again. Paused it would not, and what remediates would go on with a sound Machine. So neither the check moves, nor a Machine away from it: a check
// passes over one that is paused.
func (o Objects) requestsOpen(source API) bool {
	switch {
	case o.Kind.Name == "MachineHealthCheck" && source == MachineAPI:
		return requestKind(o.MachineAPI) != "" && lacksHealthy(o.MachineAPI)
	case o.Kind.Name == "MachineHealthCheck":
		return requestKind(o.ClusterAPI) != "" && lacksHealthy(o.ClusterAPI)
	case source == ClusterAPI && RequestedElsewhere(o.ClusterAPI):
		for _, check := range o.Checks {
			if requestKind(check) != "" && Checks(check, o.ClusterAPI) {
				return true
			}
		}
	}
	return false
}

// RequestedElsewhere reports whether a check of Cluster API's has found a Machine unhealthy, and has somebody else remediate it.
func RequestedElsewhere(machine *policies.Object) bool {
	all := ReadConditions(machine)
	return find(all, clusterv1.MachineHealthCheckSucceededCondition).Status == metav1.ConditionFalse &&
		find(all, clusterv1.MachineExternallyRemediatedCondition).Status == metav1.ConditionFalse
}

// requestKind is the kind of the template from which a check of either API makes requests; "" where it makes none.
func requestKind(check *policies.Object) string {
	type template struct {
		Kind string `json:"kind"`
	}
	var spec struct {
		RemediationTemplate template `json:"remediationTemplate"`
		Remediation         struct {
			TemplateRef template `json:"templateRef"`
		} `json:"remediation"`
	}
	if check != nil {
		_ = json.Unmarshal(orNull(check.Spec), &spec)
	}
	return spec.RemediationTemplate.Kind + spec.Remediation.TemplateRef.Kind
}

// lacksHealthy reports whether a check has found fewer Machines healthy than it looks at.
func lacksHealthy(check *policies.Object) bool {
	var status struct {
		ExpectedMachines int64 `json:"expectedMachines"`
		CurrentHealthy   int64 `json:"currentHealthy"`
	}
	_ = json.Unmarshal(orNull(check.Status), &status)
	return status.CurrentHealthy < status.ExpectedMachines
}
