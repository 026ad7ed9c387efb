// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// ScaleUnseen refuses that the autoscaler scales up a set of Cluster API whose new Machines cannot be converted to the Machine API. The autoscaler reads only
// the Machine API's Machines. So it would wait for each new Machine in vain, and reduce spec.replicas after --max-node-provision-time: Cluster API would then
// delete a Machine that serves. ScaleUnseen also refuses that the autoscaler scales such a set down while a Machine of the set has no Machine API object. After
// a refusal, the autoscaler scales another set. A person who scales up the set of Cluster API is warned.
//
// If no conversion could be run, for example because the infrastructure cluster cannot be read, ScaleUnseen allows the request: Poundlock is not to stop a
// cluster's scaling because of something that it does not know.
func ScaleUnseen(c policies.Change) policies.Verdict {
	unseen := unconvertibleTemplate(c)
	if !scalesUnseen(c) || stand(c).Current != ClusterAPI || len(unseen) == 0 {
		return policies.Verdict{}
	}
	repair := fmt.Sprintf("Fix this in Cluster API: %s: %s", unseen[0].Field, unseen[0].Detail)
	if c.Actor != policies.Autoscaler {
		so := ""
		if stored(c).HasAnnotation(clusterv1.AutoscalerMaxSizeAnnotation) {
			so = ". The autoscaler does not see these Machines, and may reduce spec.replicas again. Cluster API would then delete an arbitrary Machine of the set"
		}
		return policies.Warn(fmt.Sprintf("spec.replicas: the set's new Machines get no Machine API object%s. %s", so, repair))
	}
	deny := func(reason string) policies.Verdict {
		return policies.Deny(field.Forbidden(specPath.Child("replicas"), fmt.Sprintf("%s. %s. Until then, scale the set yourself: %s",
			reason, repair, scaleThere(c))))
	}
	if replicas(c.New) > replicas(c.Old) {
		return deny("this set's new Machines get no Machine API object, so the autoscaler would wait for these Machines in vain, and then reduce spec.replicas. " +
			"Cluster API would then delete an arbitrary Machine of the set")
	}
	for _, u := range c.Facts.Uncounted {
		if u.By == policies.SideClusterAPI {
			return deny(fmt.Sprintf("Machine %s of this set has no Machine API object, so the autoscaler counts too few: Cluster API might delete a Machine "+
				"that the autoscaler did not choose", u.Name))
		}
	}
	return policies.Verdict{}
}

// scalesUnseen reports whether a request may be one that ScaleUnseen looks at: the autoscaler scales the Machine API's set, up or down, or a person scales
// Cluster API's set up.
func scalesUnseen(c policies.Change) bool {
	switch {
	case c.Operation != admissionv1.Update || sameReplicas(c):
		return false
	case c.Side == policies.SideMachineAPI:
		return c.Actor == policies.Autoscaler
	}
	return c.Actor == policies.Anyone && replicas(c.New) > replicas(c.Old)
}

func unseenNeeds(c policies.Change) (n policies.Need) {
	n = policies.NeedTwin | policies.NeedConversion
	if c.Side == policies.SideMachineAPI {
		n |= policies.NeedUncounted
	}
	if c.Subresource != "" {
		n |= policies.NeedStored
	}
	return n
}

// unconvertibleTemplate returns the conversion errors about fields that the set's new Machines would have, too. It leaves out errors that are only about names
// or settings of the set.
func unconvertibleTemplate(c policies.Change) field.ErrorList {
	var out field.ErrorList
	for _, err := range c.Facts.Unconvertible {
		if err.Field != "" && !ofSetAlone(err) {
			out = append(out, err)
		}
	}
	return out
}

// ofSetAlone reports whether a conversion error is about names or settings of the set itself, which its Machines do not have.
func ofSetAlone(err *field.Error) bool {
	return strings.HasPrefix(err.Field, "metadata") || strings.HasPrefix(err.Field, "spec") && !strings.HasPrefix(err.Field, "spec.template")
}
