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
func requestKind(check *policies.Object) string { return RemediationTemplate(check).Kind }

// TemplateReference names a template from which a check makes requests to remediate.
type TemplateReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// RemediationTemplate is the template to which a check of either API refers, the zero one where it deletes Machines itself.
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

// Remediator is what a check needs that is to be Cluster API's, or is, and has somebody else remediate: its template in the namespace of Cluster API, where
// nobody copies it. Nothing where it is there.
func Remediator(c policies.Change) []Neighbour {
	t := RemediationTemplate(c.New)
	if _, whole := t.GroupVersionKind(); c.Kind != "MachineHealthCheck" || !whole || c.Facts.Remediation == policies.Exists {
		return nil
	}
	where := fmt.Sprintf("spec.remediationTemplate: Cluster API's check looks for %s %s in namespace %s", brief(t.Kind), brief(t.Name), c.TwinNamespace)
	what := where + ", where there is none: create it there like the one in " + c.Namespace + ", or no Machine of this check is remediated"
	if c.Facts.Remediation != policies.Absent {
		what = where + ", where nobody could look: see that it exists, or no Machine of this check is remediated"
	}
	return []Neighbour{{Who: strings.TrimSuffix(brief(t.Kind), "Template"), What: what}}
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
