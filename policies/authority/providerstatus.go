// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// statusNames are the members of a provider's status by which controllers find an instance. They are in lower case, to be compared with lowered names, because
// some decoders ignore the case.
var statusNames = []string{"instanceid", "vmid", "vmuuid"}

// ProviderStatusOwned refuses that anybody but the Machine API's controllers and Poundlock changes status.providerStatus. An actuator looks for the instance
// that providerStatus names, some actuators before they look at spec.providerID, and terminates that instance when the Machine is deleted. The whole
// providerStatus is locked, because actuators differ in the members that they use.
func ProviderStatusOwned(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || controls(c.Actor, c.Side) ||
		sameJSON(orNull(statusFields(c.Old)["providerStatus"]), orNull(statusFields(c.New)["providerStatus"])) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(statusPath.Child("providerStatus"),
		"this field names the instance that is terminated when this Machine is deleted, so only controllers may write it. Leave the field as it is. For another "+
			"instance, create another Machine"))
}

// ProviderStatusUnique refuses that a status names an instance that another Machine has, because two controllers would act on the instance, whichever field
// names it. In a provider's object it also refuses that anybody but the provider's controllers names an instance.
func ProviderStatusUnique(c policies.Change) policies.Verdict {
	path, names := statusPath, statusIDsAnew(c)
	switch {
	case len(names) == 0:
		return policies.Verdict{}
	case c.Side == policies.SideMachineAPI:
		path = path.Child("providerStatus")
		if !controls(c.Actor, c.Side) {
			return policies.Verdict{} // ProviderStatusOwned refuses the request
		}
	case !findsInstances(c):
		return policies.Deny(field.Forbidden(path,
			fmt.Sprintf("this status would name the instance %s, and only the provider's controllers may write the instance. Leave the status as it is. For another "+
				"instance, create another Machine",
				names[0])))
	}
	if len(c.Facts.Holders) == 0 || !statusSharesInstance(c) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(path, names[0], fmt.Sprintf(
		"this status names the instance of Machine %s, and two controllers would act on the instance. Leave the instance out of the status, or wait until that "+
			"Machine is gone",
		strings.Join(c.Facts.Holders, ", "))))
}

// statusSharesInstance reports whether a reviewed status newly names an instance that may be another Machine's. It is false for an object that a provider keeps
// for an instance. Such an object has the name of the provider's machine, and its Machine may have another name: that Machine would be taken for another one.
func statusSharesInstance(c policies.Change) bool {
	return len(statusIDsAnew(c)) > 0 && c.Kind != InfraInstance
}

// statusIDsAnew returns the instance IDs that an update of status newly names: the stored status does not have them in the same member. It returns none for
// Poundlock's own updates.
func statusIDsAnew(c policies.Change) []string {
	if c.Actor == policies.Poundlock || c.Subresource != "status" {
		return nil
	}
	before := StatusIDs(instanceStatus(c.Side, c.Old))
	var out []string
	for name, id := range StatusIDs(instanceStatus(c.Side, c.New)) {
		if before[name] != id {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// instanceStatus returns the JSON in which a provider's controller stores the instance: status.providerStatus on the Machine API's side, else the whole status.
func instanceStatus(side policies.Side, o *policies.Object) json.RawMessage {
	switch {
	case o == nil:
		return nil
	case side == policies.SideMachineAPI:
		return statusFields(o)["providerStatus"]
	}
	return o.Status
}

// StatusIDs returns those members of a provider's status that identify the instance, by their names; empty ones are left out.
func StatusIDs(raw json.RawMessage) map[string]string {
	members, out := map[string]json.RawMessage{}, map[string]string{}
	_ = json.Unmarshal(orNull(raw), &members)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var id string
		if slices.Contains(statusNames, strings.ToLower(name)) && json.Unmarshal(members[name], &id) == nil && id != "" {
			out[name] = id
		}
	}
	return out
}
