// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// NoInfra returns the message about a Cluster API object whose infrastructure object does not exist: what happens, and what a person can do. The text infra
// names the missing object as an argument of kubectl. The flag known reports that both Machines of the pair have the ID of the instance.
func (k Kind) NoInfra(infra string, known bool) string {
	what := fmt.Sprintf("%s, to which the Cluster API %s refers, does not exist. ", infra, k.Name)
	if k.InfraActs() {
		return what + NoInfraRecreated(known)
	}
	return what + "Poundlock does not recreate it while Cluster API is authoritative. Restore it, or correct spec.template.spec.infrastructureRef."
}

// ReportNoInfra rewrites, among the errors of a conversion, the error that an infrastructure object does not exist. That error gets the mirror's message
// (NoInfra) and no field path: there is no field to correct, and a person should not simply create an infrastructure machine. Other errors stay as they are.
func (k Kind) ReportNoInfra(errs field.ErrorList, infra string, machineAPI, clusterAPI *policies.Object) {
	known := SameInstance(clusterAPI, machineAPI)
	for _, e := range errs {
		if e.Type == field.ErrorTypeRequired && strings.HasSuffix(e.Field, "spec.infrastructureRef") {
			e.Field, e.Detail = "", k.NoInfra(infra, known)
		}
	}
}

// NoInfraRecreated returns why Poundlock does not recreate an infrastructure machine, and what a person can do. The flag known reports that both Machines of
// the pair have the ID of the instance.
func NoInfraRecreated(known bool) string {
	const why = "Poundlock does not recreate it while Cluster API is authoritative, as Cluster API could create another instance. "
	if known {
		return why + "Restore it with its spec.providerID, or correct spec.infrastructureRef. You can also migrate the Machine to the Machine API, because both " +
			"Machines have the spec.providerID. If the instance was terminated, delete the Machine."
	}
	return why + "At least one of the two Machines has no spec.providerID, so look in the cloud for an instance of this Machine. If there is one, restore the " +
		"object with its spec.providerID. If there is none, create it again without spec.providerID, or delete the Machine. Or correct spec.infrastructureRef."
}
