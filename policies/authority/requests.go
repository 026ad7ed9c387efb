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

// requestsOpen reports whether a MachineHealthCheck may have an open request for remediation that concerns this pair. If the pair is a check, only its own
// requests matter. If the pair is a Machine, the requests of Cluster API's checks matter. The API "source" is the one that authority comes from. A check makes
// such a request from its template, for a remediator, and deletes the request when the Machine is healthy again. A paused check would not delete the request,
// and a healthy Machine would be remediated. So the check does not move. Nor does the Machine move away from Cluster API's check, because a check skips a
// paused Machine.
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

// RequestedElsewhere reports whether a MachineHealthCheck of Cluster API has found a Machine unhealthy, and has requested a remediation of it from a
// remediator.
func RequestedElsewhere(machine *policies.Object) bool {
	all := ReadConditions(machine)
	return find(all, clusterv1.MachineHealthCheckSucceededCondition).Status == metav1.ConditionFalse &&
		find(all, clusterv1.MachineExternallyRemediatedCondition).Status == metav1.ConditionFalse
}

// requestKind returns the kind of the template from which a check of either API makes requests for remediation; "" if the check makes none.
func requestKind(check *policies.Object) string { return RemediationTemplate(check).Kind }

// TemplateReference names a template from which a check makes requests for remediation.
type TemplateReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// RemediationTemplate returns the reference to the template from which a check of either API makes requests for remediation; the zero value if the check
// deletes Machines itself.
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

// GroupVersionKind returns the GroupVersionKind of the template, and whether the reference is complete: whether its apiVersion can be parsed, and it has a kind
// and a name.
func (t TemplateReference) GroupVersionKind() (gvk schema.GroupVersionKind, whole bool) {
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	return gv.WithKind(t.Kind), err == nil && t.APIVersion != "" && t.Kind != "" && t.Name != ""
}

// Remediator returns the Neighbour for the remediator of a check that is, or is to be, Cluster API's, if the check's template was not found in Cluster API's
// namespace. Nobody copies the template to that namespace. Remediator returns nil if the template exists, or if the check makes no requests for remediation.
func Remediator(c policies.Change) []Neighbour {
	t := RemediationTemplate(c.New)
	if _, whole := t.GroupVersionKind(); c.Kind != "MachineHealthCheck" || !whole || c.Facts.Remediation == policies.Exists {
		return nil
	}
	where := fmt.Sprintf("spec.remediationTemplate: Cluster API's check looks for %s %s in namespace %s", brief(t.Kind), brief(t.Name), c.TwinNamespace)
	what := where + ", and none exists there: create it in that namespace like the one in " + c.Namespace + ", or no Machine of this check is remediated"
	if c.Facts.Remediation != policies.Absent {
		what = where + ", which Poundlock could not read: check that the template exists, or no Machine of this check is remediated"
	}
	return []Neighbour{{Who: strings.TrimSuffix(brief(t.Kind), "Template"), What: what}}
}

// lacksHealthy reports whether a check has found some of its Machines unhealthy, by the counts in its status.
func lacksHealthy(check *policies.Object) bool {
	var status struct {
		ExpectedMachines int64 `json:"expectedMachines"`
		CurrentHealthy   int64 `json:"currentHealthy"`
	}
	_ = json.Unmarshal(orNull(check.Status), &status)
	return status.CurrentHealthy < status.ExpectedMachines
}
