// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

var requestPath = specPath.Child("authoritativeAPI")

// CreateMachineAPI: "If a Cluster API resource already exists and a Machine API resource is created, the admission will
// succeed only if the spec authoritative field is set to ClusterAPI" (converting › Admission of non-authoritative resources).
func CreateMachineAPI(c policies.Change) policies.Verdict {
	asked := Read(c.New).Requested
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil || asked == ClusterAPI {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(requestPath, string(asked), fmt.Sprintf(
		"%s exists already and is acted on, so a Machine API %s of this name can only mirror it: set spec.authoritativeAPI: ClusterAPI and create it again; once it is synchronized, move it: %s",
		there(c), c.Kind, moveTo(c, MachineAPI))))
}

// CreateClusterAPI: Cluster API resources that have a Machine API equivalent are "created as paused, to prevent any
// unintended reconciliation in the first instance" (converting › Authority of resources and controller reconciliations).
func CreateClusterAPI(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	s := stand(c)
	if s.Current == ClusterAPI {
		return createUnderClusterAPI(c, s)
	}
	if c.New.HasAnnotation(PausedAnnotation) {
		return policies.Verdict{}
	}
	path := field.NewPath("metadata", "annotations").Key(PausedAnnotation)
	return policies.Deny(field.Required(path, fmt.Sprintf(
		"%s exists and Cluster API is not in charge of it, so two controllers would act on one %s: create it with the annotation %s, or under another name",
		there(c), c.Kind, PausedAnnotation)))
}

func createUnderClusterAPI(c policies.Change, s standing) policies.Verdict {
	if s.Condition(ConditionPaused).Status == "True" {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"%s has handed over to Cluster API, but the Machine API's controllers have not yet acknowledged that they are paused (condition Paused is not True): try again when they have", there(c))))
}
