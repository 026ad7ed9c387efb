// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// requestsOpen reports whether a check may have asked a remediator to remediate a Machine, by a request from its template, which it deletes when the
// Machine is healthy again. A paused check would not delete it, and a healthy Machine would be remediated. So the check does not move. Nor does the Machine
// move away from it, because a check skips a paused Machine.
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

// RequestedElsewhere reports whether a check of Cluster API has found a Machine unhealthy, and has asked a remediator to remediate it.
func RequestedElsewhere(machine *policies.Object) bool {
	all := ReadConditions(machine)
	return find(all, clusterv1.MachineHealthCheckSucceededCondition).Status == metav1.ConditionFalse &&
		find(all, clusterv1.MachineExternallyRemediatedCondition).Status == metav1.ConditionFalse
}

// requestKind is the kind of the template from which a check of either API makes requests; "" where it makes none.
func requestKind(check *policies.Object) string { return RemediationTemplate(check).Kind }

// TemplateReference names a template from which a check makes requests for remediation.
type TemplateReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// RemediationTemplate is the template to which a check of either API refers; the zero value where the check deletes Machines itself.
func RemediationTemplate(check *policies.Object) TemplateReference {
	var spec struct {
		RemediationTemplate TemplateReference `json:"remediationTemplate"`
		Remediation         struct {
			TemplateRef TemplateReference `json:"templateRef"`
		} `json:"remediation"`
	}
	if check != nil {
		_ = json.Unmarshal(orNull(check.Spec), &spec)
	}
	if spec.RemediationTemplate != (TemplateReference{}) {
		return spec.RemediationTemplate
	}
	return spec.Remediation.TemplateRef
}

// GroupVersionKind is the template's; false where the reference is not whole.
func (t TemplateReference) GroupVersionKind() (gvk schema.GroupVersionKind, whole bool) {
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	return gv.WithKind(t.Kind), err == nil && t.APIVersion != "" && t.Kind != "" && t.Name != ""
}

// Remediator is what a check with a remediator lacks if it is, or is to be, Cluster API's: its template in the namespace of Cluster API, to which nobody
// copies it. It is empty where the template is there.
func Remediator(c policies.Change) []Neighbour {
	t := RemediationTemplate(c.New)
	if _, whole := t.GroupVersionKind(); c.Kind != "MachineHealthCheck" || !whole || c.Facts.Remediation == policies.Exists {
		return nil
	}
	where := fmt.Sprintf("spec.remediationTemplate: Cluster API's check looks for %s %s in namespace %s", brief(t.Kind), brief(t.Name), c.TwinNamespace)
	what := where + ", where none exists: create it there like the one in " + c.Namespace + ", or no Machine of this check is remediated"
	if c.Facts.Remediation != policies.Absent {
		what = where + ", which Poundlock could not read: check that it exists, or no Machine of this check is remediated"
	}
	return []Neighbour{{Who: strings.TrimSuffix(brief(t.Kind), "Template"), What: what}}
}

// lacksHealthy reports whether a check has found some of its Machines unhealthy.
func lacksHealthy(check *policies.Object) bool {
	var status struct {
		ExpectedMachines int64 `json:"expectedMachines"`
		CurrentHealthy   int64 `json:"currentHealthy"`
	}
	_ = json.Unmarshal(orNull(check.Status), &status)
	return status.CurrentHealthy < status.ExpectedMachines
}
