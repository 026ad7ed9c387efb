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

// ScaleUnseen keeps the autoscaler from a set of Cluster API whose new Machines the Machine API cannot have. It reads the Machine API's Machines alone, so it
// would wait for each new one in vain, and ask for fewer replicas after --max-node-provision-time: Cluster API would then delete a Machine that serves.
// Where it is refused, it scales another set. A person who scales the set of Cluster API is warned.
//
// Without a conversion, as where the infrastructure cluster cannot be read, it lets the request pass: Poundlock is not to stop a cluster's scaling for
// what it does not know.
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

// scalesUnseen reports whether a request may scale a set whose authority is Cluster API's: the autoscaler its mirror, or a person the set itself, up.
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

// unconvertibleTemplate are those fields that the Machines of a set would have, too: what is wrong with the set's own names or settings alone is not.
func unconvertibleTemplate(c policies.Change) field.ErrorList {
	var out field.ErrorList
	for _, err := range c.Facts.Unconvertible {
		if err.Field != "" && !ofSetAlone(err) {
			out = append(out, err)
		}
	}
	return out
}

// ofSetAlone reports whether a refusal concerns the set's own names or settings, which its Machines do not have.
func ofSetAlone(err *field.Error) bool {
	return strings.HasPrefix(err.Field, "metadata") || strings.HasPrefix(err.Field, "spec") && !strings.HasPrefix(err.Field, "spec.template")
}
