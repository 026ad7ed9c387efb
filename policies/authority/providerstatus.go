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

// statusNames are the members of a provider's status by which controllers find an instance, in lower case: some decoders ignore the case.
var statusNames = []string{"instanceid", "vmid", "vmuuid"}

// ProviderStatusOwned: an actuator looks for the instance that the provider's status names, some before they look at spec.providerID, and deletes it
// together with the Machine. All of it is locked, because providers differ in the members that their actuators use.
func ProviderStatusOwned(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || controls(c.Actor, c.Side) ||
		sameJSON(orNull(statusFields(c.Old)["providerStatus"]), orNull(statusFields(c.New)["providerStatus"])) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(statusPath.Child("providerStatus"),
		"it names the instance that is deleted together with this Machine, and only controllers write it: leave it as it is; "+
			"for another instance create another Machine"))
}

// ProviderStatusUnique: with two Machines of one instance, two controllers act on it, whichever field names the instance.
func ProviderStatusUnique(c policies.Change) policies.Verdict {
	path, names := statusPath, statusIDsAnew(c)
	switch {
	case len(names) == 0:
		return policies.Verdict{}
	case c.Side == policies.SideMachineAPI:
		path = path.Child("providerStatus")
		if !controls(c.Actor, c.Side) {
			return policies.Verdict{} // ProviderStatusOwned has refused it
		}
	case !findsInstances(c):
		return policies.Deny(field.Forbidden(path,
			fmt.Sprintf("it names the instance %s, and only the provider's controllers write that: leave it as it is; for another instance create another Machine",
				names[0])))
	}
	if len(c.Facts.Holders) == 0 || !statusSharesInstance(c) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(path, names[0], fmt.Sprintf(
		"it is the instance of Machine %s, and two controllers would act on it: leave it out, or wait until that Machine is gone",
		strings.Join(c.Facts.Holders, ", "))))
}

// statusSharesInstance reports whether a status names an instance that may be another Machine's. What is kept for an instance has the name of a provider's
// machine, which is not always its Machine's: of its own Machine it would be said to share the instance.
func statusSharesInstance(c policies.Change) bool {
	return len(statusIDsAnew(c)) > 0 && c.Kind != InfraInstance
}

// statusIDsAnew are the IDs that an update of a status names and its stored object does not.
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

// instanceStatus is the JSON in which a provider's controller stores the instance.
func instanceStatus(side policies.Side, o *policies.Object) json.RawMessage {
	switch {
	case o == nil:
		return nil
	case side == policies.SideMachineAPI:
		return statusFields(o)["providerStatus"]
	}
	return o.Status
}

// StatusIDs are the members of a provider's status, by name, that identify the instance.
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
