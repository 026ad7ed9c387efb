// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
)

// State is an instance's, in the words of EC2.
type State string

// The states of an instance. Stopped is reached, and left, only by a person at the cloud's console (Cloud.Act).
const (
	Pending      State = "pending"
	Running      State = "running"
	Stopped      State = "stopped"
	ShuttingDown State = "shutting-down"
	Terminated   State = "terminated"
)

// Machine is the object that a call is made for, as its caller names it: what goes into the tags of a real request.
type Machine struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// Order is what an instance is asked for with.
type Order struct {
	// Token makes asking twice the same as asking once, as EC2's ClientToken does. Two orders without one make two instances.
	Token string `json:"token,omitempty"`
	Zone  string `json:"zone"`
	Type  string `json:"type"`
	Image string `json:"image,omitempty"`
}

// Instance is one machine of the cloud.
type Instance struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	// Provider is its provider ID, and Number distinguishes it from all others; EC2 has both in the ID and the zone.
	Provider string `json:"providerID,omitempty"`
	Number   int    `json:"number,omitempty"`
	Order
	// Machine is whom it was made for.
	Machine Machine `json:"machine"`
	// CreatedBy is the API whose controller asked for it.
	CreatedBy authority.API `json:"createdBy"`
	Launched  time.Time     `json:"launched"`
	// Stopped and Ended are when a call asked it to stop and to terminate; zero if none did.
	Stopped time.Time `json:"stopped,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Incarnation is the UIDs of the objects, of either API, that represented the Machine when the instance was created, as the Witness read them.
	Incarnation []types.UID `json:"incarnation,omitempty"`
	// Objection is why it should not have been made; "" if there is nothing against it.
	Objection string `json:"objection,omitempty"`
}

// ProviderID is how both APIs and the Node name the instance.
func (i Instance) ProviderID() string {
	if i.Provider != "" {
		return i.Provider
	}
	return "aws:///" + i.Zone + "/" + i.ID
}

// IP is the instance's private address. It follows from the number or, on EC2, from the end of the ID, which counts the instances: no two share one.
func (i Instance) IP() string {
	n := uint64(i.Number)
	if n == 0 {
		n, _ = strconv.ParseUint(i.ID[max(0, len(i.ID)-countDigits):], 16, 64)
	}
	return fmt.Sprintf("10.%d.%d.%d", n>>16&0xff, n>>8&0xff, n&0xff)
}

// countDigits is how many digits of an ID count the instances; those before distinguish the tokens.
const countDigits = 9

// DNS is the instance's private name, and its Node's.
func (i Instance) DNS() string {
	domain := ".ec2.internal"
	if i.Provider != "" {
		domain = ".internal"
	}
	return "ip-" + strings.ReplaceAll(i.IP(), ".", "-") + domain
}

// Gone reports whether nothing is left of it.
func (i Instance) Gone() bool { return i.State == Terminated }

// InstanceID reads the instance's ID out of a provider ID, "" where there is none.
func InstanceID(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

// at is the instance in the state that it has reached by now.
func (i Instance) at(now time.Time, s Settings) Instance {
	switch {
	case !i.Ended.IsZero() && now.Sub(i.Ended) >= s.ShutdownTime:
		i.State = Terminated
	case !i.Ended.IsZero():
		i.State = ShuttingDown
	case !i.Stopped.IsZero():
		i.State = Stopped
	case now.Sub(i.Launched) >= s.BootTime:
		i.State = Running
	default:
		i.State = Pending
	}
	return i
}

// second returns why an instance is one too many beside an earlier one of the same name, "" if it is not.
//
// A name may be used again: a Machine that is deleted and recreated is another one, and gets another instance. And the two APIs' twins have UIDs of their own
// but are one Machine, whose mirror may be recreated under yet another UID. So no single UID identifies a Machine. The second instance is one too many in
// three cases: something is left of the first, the same object asked for both, or an object that represented the Machine when the first was created, on
// either side, still does.
func (i Instance) second(earlier Instance) string {
	if earlier.Machine.Name != i.Machine.Name {
		return ""
	}
	switch {
	case !earlier.Gone():
		return fmt.Sprintf("a second instance, while %s, the first, was %s", earlier.ID, earlier.State)
	case i.Machine.UID != "" && i.Machine.UID == earlier.Machine.UID:
		return fmt.Sprintf("a second instance for the object with UID %s, whose first, %s, was gone", i.Machine.UID, earlier.ID)
	}
	for _, uid := range i.Incarnation {
		if slices.Contains(earlier.Incarnation, uid) {
			return fmt.Sprintf("a second instance, while the object with UID %s, which had %s, was still there", uid, earlier.ID)
		}
	}
	return ""
}
