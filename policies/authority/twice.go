// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// Begins reports whether a request adds the finalizer after which a controller has an instance created. The review of a creation sees no twin that is created in the same
// moment. At its first finalizer a Machine is stored, so of two Machines of one name at least one review sees the other. A lookup that fails does not let it
// through: the controller tries again.
func Begins(c policies.Change) bool {
	if c.Operation == admissionv1.Delete || c.Subresource != "" || c.Kind != "Machine" || c.Actor == policies.Poundlock {
		return false
	}
	kind, _ := KindNamed(c.Kind)
	adds := func(finalizer string) bool { return c.New.HasFinalizer(finalizer) && !c.Old.HasFinalizer(finalizer) }
	switch c.Side {
	case policies.MachineAPI:
		return adds(kind.MachineAPIFinalizer)
	case policies.ClusterAPI:
		return adds(kind.ClusterAPIFinalizer) && !c.New.HasAnnotation(PausedAnnotation)
	}
	return false
}

// CreatedTwice: "only one controller" acts on a machine (converting › Authority of resources and controller reconciliations), also where the Machines of both APIs
// were created at once.
func CreatedTwice(c policies.Change) policies.Verdict {
	if !Begins(c) || c.Facts.Twin == nil {
		return policies.Verdict{}
	}
	s := stand(c)
	acts := there(c)
	switch {
	case c.Side == policies.ClusterAPI && InCharge(s.Shape) == ClusterAPI && !s.moving():
		return policies.Verdict{}
	case c.Side == policies.ClusterAPI:
	case !fenceOpen(s): // FinalizerFence refuses it
		return policies.Verdict{}
	case !stopped(c.Facts.Twin):
	case !stopped(c.Facts.Infra):
		acts = fmt.Sprintf("its %s %s/%s", c.Facts.Infra.Kind, c.TwinNamespace, c.Facts.Infra.Metadata.Name)
	default:
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(finalizersPath, fmt.Sprintf(
		"%s exists too, and is not paused in Cluster API, so each API would create an instance: neither begins. Delete one of the two Machines, or annotate the Cluster API Machine and its infrastructure machine with %s to make them the mirror",
		acts, PausedAnnotation)))
}
