// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/controlplane"
)

// InForeground returns a CEL expression that is true if a DELETE is in the foreground, so that the garbage collector first deletes what the object owns. A
// DELETE is in the foreground if it asks for that. It is also in the foreground if it asks for no propagation policy and the object has the finalizer
// foregroundDeletion.
func InForeground() string {
	return fmt.Sprintf(`(request.?options.?propagationPolicy.orValue("") == "Foreground" || request.?options.?propagationPolicy.orValue("") == "" && %s)`,
		Dependents("dyn(oldObject)"))
}

// Dependents returns a CEL expression that is true if an object has the finalizer foregroundDeletion.
func Dependents(object string) string {
	return fmt.Sprintf(`%q in %s.metadata.?finalizers.orValue([])`, metav1.FinalizerDeleteDependents, object)
}

// controlPlaneTwins returns the twins of those rows of policies/controlplane that need no lookup.
func controlPlaneTwins() []Twin {
	return []Twin{
		{
			Rule: "controlplane/name", Variable: "named",
			Fields: fmt.Sprintf(`variables.name == %q ? '' : "metadata.name"`, controlplane.Name),
			Reason: `"a control plane has only one ControlPlaneMachineSet, which must be named cluster"`,
		},
		{
			Rule: "controlplane/foreground", Variable: "foreground",
			Fields: fmt.Sprintf(
				`request.operation == "DELETE" ? (%s ? "metadata.name" : '') : (%s && !(request.operation == "UPDATE" && %s) ? "metadata.finalizers" : '')`,
				InForeground(), Dependents("variables.is"), Dependents("variables.was")),
			Reason: fmt.Sprintf(`request.operation == "DELETE" `+
				`? "with --cascade=foreground the garbage collector deletes the control plane's Machines before the set. `+
				`To delete the set and keep the Machines: kubectl -n " + request.namespace + " delete %[1]s.machine.openshift.io " + variables.was.metadata.name + `+
				`" --cascade=background" `+
				`: "the finalizer %[2]s makes the garbage collector delete the control plane's Machines before the set: leave this finalizer out"`,
				controlplane.Resource, metav1.FinalizerDeleteDependents),
		},
		{
			Rule: "controlplane/duplicate-domains", Variable: "duplicates",
			Fields: fmt.Sprintf(`request.operation == "UPDATE" && has(variables.was.metadata.deletionTimestamp) ? '' : `+
				`["aws", "azure", "gcp", "nutanix", "openstack", "vsphere"].map(k, %[1]s.transformList(i, d, %[1]s.exists(j, e, j < i && e == d) && `+
				`!(variables.goesOn && %[2]s.filter(e, e == d).size() > 1), `+
				`"spec.template." + variables.newMember + ".failureDomains." + k + "[" + string(i) + "]").join(', ')).filter(f, f != '').join(', ')`,
				domainsOf("newDomains"), domainsOf("oldDomains")),
			Reason: `"the set lists this failure domain already: remove one of the two entries"`,
		},
		{
			Rule: "controlplane/authority", Variable: "mismatched",
			Fields: fmt.Sprintf(
				`variables.newMember == %[1]q && variables.asks != "ClusterAPI" && !(request.operation == "UPDATE" && variables.oldMember == %[1]q && `+
					`variables.asked != "ClusterAPI") `+
					`? (request.operation == "UPDATE" && variables.oldMember == %[1]q ? "spec.authoritativeAPI" : "spec.template.machineType") : ''`,
				controlplane.ClusterAPIMember),
			Reason: fmt.Sprintf(`request.operation == "UPDATE" && variables.oldMember == %[1]q `+
				`? "spec.template has the type %[1]s, which needs spec.authoritativeAPI: ClusterAPI. `+
				`To go back to Machine API, change the template to the type %[2]s in the same request" `+
				`: "the value %[1]s is only allowed while spec.authoritativeAPI of the set is ClusterAPI. `+
				`Set spec.authoritativeAPI to ClusterAPI in the same request, or first run: " + variables.move + "ClusterAPI\"}}'"`,
				controlplane.ClusterAPIMember, controlplane.MachineAPIMember),
		},
	}
}

func domainsOf(variable string) string {
	return fmt.Sprintf("variables.%s[?k].orValue(dyn([]))", variable)
}

// controlPlaneVariables returns the variables that controlPlaneTwins use in addition to the shared ones.
func controlPlaneVariables() []admissionregistrationv1.Variable {
	out := []admissionregistrationv1.Variable{
		// goesOn is false for an update by which a set becomes active, because such a set is judged as if it were new.
		variable("goesOn", fmt.Sprintf(`request.operation == "UPDATE" && !(%s == "Active" && %s != "Active")`,
			text("variables.newSpec", "state"), text("variables.oldSpec", "state"))),
	}
	for _, of := range []string{"old", "new"} {
		template := object("variables."+of+"Spec", "template")
		out = append(out,
			variable(of+"Member", fmt.Sprintf("%s == %q ? %[2]q : "+
				"%[3]q", text(template, "machineType"), controlplane.ClusterAPIMember, controlplane.MachineAPIMember)),
			variable(of+"Machines", fmt.Sprintf("variables.%sMember == %q ? %s : %s", of, controlplane.ClusterAPIMember,
				object(template, string(controlplane.ClusterAPIMember)), object(template, string(controlplane.MachineAPIMember)))),
			variable(of+"Domains", object("variables."+of+"Machines", "failureDomains")))
	}
	return out
}
