// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
)

// asks returns the API that an object requests. If the object requests none, that is Machine API, the CRD's default.
func asks(o *policies.Object) authority.API {
	if asked := authority.Read(o).Requested; asked != authority.Unset {
		return asked
	}
	return authority.MachineAPI
}

// Authority refuses a template in Cluster API's form unless Cluster API is to be authoritative for the set: "We will extend the template field of the
// ControlPlaneMachineSet to support Cluster API".
func Authority(c policies.Change) policies.Verdict {
	if c.New == nil || !mismatched(c.New) || c.Old != nil && mismatched(c.Old) {
		return policies.Verdict{}
	}
	if c.Old != nil && memberOf(c.Old) == controlplane.ClusterAPIMember {
		return policies.Deny(field.Forbidden(controlplane.SpecPath.Child("authoritativeAPI"), fmt.Sprintf(
			"spec.template has the type %s, which needs spec.authoritativeAPI: ClusterAPI. To go back to Machine API, change the template to the type %s in the "+
				"same request",
			controlplane.ClusterAPIMember, controlplane.MachineAPIMember)))
	}
	return policies.Deny(field.Forbidden(controlplane.SpecPath.Child("template", "machineType"), fmt.Sprintf(
		"the value %s is only allowed while spec.authoritativeAPI of the set is ClusterAPI. Set spec.authoritativeAPI to ClusterAPI in the same request, or "+
			"first run: %s",
		controlplane.ClusterAPIMember, moveTo(c, authority.ClusterAPI))))
}

// mismatched reports whether a set's template is in Cluster API's form while Machine API is requested.
func mismatched(o *policies.Object) bool {
	return memberOf(o) == controlplane.ClusterAPIMember && asks(o) != authority.ClusterAPI
}

// moveTo returns the command that requests an API for the set.
func moveTo(c policies.Change, api authority.API) string {
	return fmt.Sprintf(`kubectl -n %s patch %s.%s %s --type merge -p '{"spec":{"authoritativeAPI":"%s"}}'`,
		c.Namespace, controlplane.Resource, machinev1.GroupName, c.Name, api)
}

// requests reports whether an update requests a move, or requests again a move that was withdrawn and has not ended yet. It is false for an update that
// withdraws a request.
func requests(c policies.Change) bool {
	return c.Operation == admissionv1.Update && asks(c.Old) != asks(c.New) && asks(c.New) != authority.Authoritative(authority.Read(c.Old))
}

// withdraws reports whether an update withdraws a request: it requests the API that is authoritative. It is false before any API is authoritative, because
// there is no move to cancel then.
func withdraws(c policies.Change) bool {
	return c.Operation == admissionv1.Update && asks(c.Old) != asks(c.New) && asks(c.New) == authority.Authoritative(authority.Read(c.Old))
}

func requestNeeds(c policies.Change) policies.Need {
	if requests(c) {
		return policies.NeedConversion
	}
	return 0
}

// RequestWarning warns about what keeps a requested move from starting, and about what the move changes: "a webhook will be introduced to validate the
// migration request … and return a warning response to the user if the migration is not possible" (converting › Workflow extension).
func RequestWarning(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock {
		return policies.Verdict{}
	}
	if withdraws(c) && len(Authority(c).Denials) == 0 {
		return policies.Warn(authority.CancelWarning(asks(c.New), moveTo(c, asks(c.Old))))
	}
	if !requests(c) {
		return policies.Warn(newMachines(c)...)
	}
	to := asks(c.New)
	var out []string
	if to == authority.ClusterAPI {
		out = append(authority.Refusals(c, to, "the move will not start"), unsynchronized(c)...)
		out = append(out, newMachines(c)...)
	}
	if authority.Read(c.Old).Current == authority.Unset {
		out = append(out, "status.authoritativeAPI of the set is empty: the move begins once a Poundlock manager runs with --control-plane")
	}
	return policies.Warn(append(out,
		fmt.Sprintf("this request moves the ControlPlaneMachineSet, but not its Machines. %s, and %s keep the authoritative API that each has now, until you move "+
			"them. While status.authoritativeAPI of the set is Migrating, no Machine is replaced%s",
			whoseNew(c.New, to), machinesOf(c.Old), authority.ByDefault(to)))...)
}

// whoseNew returns a clause that says which API is authoritative for a set's new Machines while the API "under" is authoritative for the set.
func whoseNew(set *policies.Object, under authority.API) string {
	if under == authority.MachineAPI && ofTemplate(set) == authority.ClusterAPI {
		return authority.ClusterAPI.Text() + " will still be authoritative for new Machines, because " +
			platform.TemplatePath().Child("spec", "authoritativeAPI").String() + " of the set says so"
	}
	return under.Text() + " will be authoritative for new Machines"
}

// whoseNewAre returns the API that is to be authoritative for a set's new Machines after a request. For a new set, and for one that moves, the requested
// authority of the set counts.
func whoseNewAre(c policies.Change) authority.API {
	set := c.New
	under := authority.Read(set).Current
	if under == authority.Unset || under == authority.Migrating || requests(c) {
		under = asks(set)
	}
	if under == authority.ClusterAPI {
		return under
	}
	return ofTemplate(set)
}

// ofTemplate returns the API that the template names for Machines. It decides only while Machine API is authoritative for the set.
func ofTemplate(set *policies.Object) authority.API {
	var spec machinev1.ControlPlaneMachineSetSpec
	if json.Unmarshal(set.Spec, &spec) == nil &&
		controlplane.TemplateOf(&machinev1.ControlPlaneMachineSet{Spec: spec}).Spec.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI {
		return authority.ClusterAPI
	}
	return authority.MachineAPI
}

// newMachines returns warnings about what Cluster API does not do for new Machines. It returns them if a request makes Cluster API authoritative for the set's
// new Machines. A template in Cluster API's form gets no such warning.
func newMachines(c policies.Change) []string {
	if c.New == nil || whoseNewAre(c) != authority.ClusterAPI {
		return nil
	}
	if before := c; c.Old != nil {
		if before.New = c.Old; whoseNewAre(before) == authority.ClusterAPI {
			return nil
		}
	}
	var spec struct {
		Template struct {
			Machine json.RawMessage `json:"machines_v1beta1_machine_openshift_io"`
		} `json:"template"`
	}
	_ = json.Unmarshal(c.New.Spec, &spec) // another rule reports what cannot be read
	return authority.TemplateWarnings(c, spec.Template.Machine)
}

// unsynchronized returns a warning about a Synchronized condition that is False. It omits the condition if that repeats a field which the conversion in this
// review has reported already.
func unsynchronized(c policies.Change) []string {
	s := authority.Read(c.Old).Condition(authority.ConditionSynchronized)
	if s.Status != "False" {
		return nil
	}
	for _, e := range c.Facts.Unconvertible {
		if e.Field != "" && strings.Contains(s.Message, e.Field) {
			return nil
		}
	}
	return []string{fmt.Sprintf("the move of the ControlPlaneMachineSet will not start while its condition Synchronized is False (%s): %s", s.Reason, s.Message)}
}
