// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"encoding/json"
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// Troubled adds why a Machine has no instance, in the words of the API that is authoritative for the Machine. It adds nothing if the Machine already has a
// reason to wait.
func (s Standing) Troubled(p inventory.Pair) Standing {
	api, o := p.Authoritative(), p.MachineAPI
	if api == authority.ClusterAPI {
		o = p.ClusterAPI
	}
	c := authority.Troubled(p.Kind, api, o)
	if c.Reason == "" {
		c = failed(p)
	}
	if s.Reason != "" || c.Reason == "" {
		return s
	}
	s.Reason, s.Since = c.Reason, c.LastTransitionTime
	s.Message = fmt.Sprintf("%s reports that this Machine has no instance (%s)", api.Text(), c.Type)
	switch {
	case c.Message != "":
		s.Message += ": " + c.Message
	case p.Infra != nil:
		s.Message += fmt.Sprintf(", without a message. `kubectl poundlock explain %s` explains this reason. "+
			"To see the provider's report: kubectl -n %s describe %s.%s %s",
			c.Reason, p.Infra.Metadata.Namespace, strings.ToLower(p.Infra.Kind), p.Infra.GroupVersionKind().Group, p.Infra.Metadata.Name)
	default:
		s.Message += fmt.Sprintf(", without a message. `kubectl poundlock explain %s` explains this reason", c.Reason)
	}
	return s
}

// failed returns, as a condition, what the Machine API object reports of a Machine that has failed for good, whichever API is authoritative.
func failed(p inventory.Pair) authority.Condition {
	if !p.Kind.InfraActs() || p.MachineAPI.Deleting() || p.Shape().Phase != machinev1beta1.PhaseFailed {
		return authority.Condition{}
	}
	status := machinev1beta1.MachineStatus{}
	_ = json.Unmarshal(p.MachineAPI.Status, &status) // the API server has validated it
	return authority.Condition{Type: "phase", Reason: machinev1beta1.PhaseFailed, Message: ptr.Deref(status.ErrorMessage, "status.errorMessage is empty")}
}
