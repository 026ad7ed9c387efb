// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// NoInfra is the sentence about a Cluster API object whose infrastructure object, named as an argument of kubectl, does not exist, and what a person can do.
// known: both Machines have the ID of the instance.
func (k Kind) NoInfra(infra string, known bool) string {
	what := fmt.Sprintf("%s, to which the Cluster API %s refers, does not exist. ", infra, k.Name)
	if k.InfraActs() {
		return what + NoInfraRecreated(known)
	}
	return what + "Poundlock does not recreate it while Cluster API is authoritative. Restore it, or correct spec.template.spec.infrastructureRef."
}

// ReportNoInfra has a conversion report an infrastructure object that does not exist in the mirror's words, and as no field's: nothing is wrong with one, and a
// person should not simply create an infrastructure machine. Other errors stay as they are.
func (k Kind) ReportNoInfra(errs field.ErrorList, infra string, machineAPI, clusterAPI *policies.Object) {
	known := SameInstance(clusterAPI, machineAPI)
	for _, e := range errs {
		if e.Type == field.ErrorTypeRequired && strings.HasSuffix(e.Field, "spec.infrastructureRef") {
			e.Field, e.Detail = "", k.NoInfra(infra, known)
		}
	}
}

// NoInfraRecreated is why an infrastructure machine is not recreated, and what a person can do. known: both Machines have the ID of the instance.
func NoInfraRecreated(known bool) string {
	const why = "Poundlock does not recreate it while Cluster API is authoritative, as Cluster API could create another instance. "
	if known {
		return why + "Restore it with its spec.providerID, or correct spec.infrastructureRef. You can also migrate the Machine to the Machine API, because both " +
			"Machines have the spec.providerID. If the instance was terminated, delete the Machine."
	}
	return why + "At least one of the two Machines has no spec.providerID, so look in the cloud for an instance of this Machine. If there is one, restore the " +
		"object with its spec.providerID. If there is none, create it again without spec.providerID, or delete the Machine. Or correct spec.infrastructureRef."
}
