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

// State is the state of an instance, in the words of EC2.
type State string

// The states of an instance. Only a person at the cloud's console (Cloud.Act) stops an instance, and starts a stopped one.
const (
	Pending      State = "pending"
	Running      State = "running"
	Stopped      State = "stopped"
	ShuttingDown State = "shutting-down"
	Terminated   State = "terminated"
)

// Machine is the object for which a call is made, as the caller names it. In a real request, it goes into the tags.
type Machine struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// Order is the request for an instance.
type Order struct {
	// Token makes two requests with the same token create one instance, like EC2's ClientToken. Two orders without a token create two instances.
	Token string `json:"token,omitempty"`
	Zone  string `json:"zone"`
	Type  string `json:"type"`
	Image string `json:"image,omitempty"`
}

// Instance is one instance of the cloud.
type Instance struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	// Provider is the instance's provider ID, and Number distinguishes the instance from all others. Both are zero on EC2, whose zone and ID give the same.
	Provider string `json:"providerID,omitempty"`
	Number   int    `json:"number,omitempty"`
	Order
	// Machine is the Machine for which the instance was created.
	Machine Machine `json:"machine"`
	// CreatedBy is the API whose controller asked for the instance.
	CreatedBy authority.API `json:"createdBy"`
	Launched  time.Time     `json:"launched"`
	// Stopped and Ended are when the instance was asked to stop and to terminate; zero if it was not.
	Stopped time.Time `json:"stopped,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Incarnation has the UIDs of the objects, of either API, that represented the Machine when the instance was created, as the Witness read them.
	Incarnation []types.UID `json:"incarnation,omitempty"`
	// Objection is why the instance should not have been created; "" if there is nothing against it.
	Objection string `json:"objection,omitempty"`
}

// ProviderID returns the provider ID by which both APIs and the Node name the instance.
func (i Instance) ProviderID() string {
	if i.Provider != "" {
		return i.Provider
	}
	return "aws:///" + i.Zone + "/" + i.ID
}

// IP returns the instance's private address. No two instances share one: the address follows from Number or, on EC2, from the end of the ID, which counts the
// instances.
func (i Instance) IP() string {
	n := uint64(i.Number)
	if n == 0 {
		n, _ = strconv.ParseUint(i.ID[max(0, len(i.ID)-countDigits):], 16, 64)
	}
	return fmt.Sprintf("10.%d.%d.%d", n>>16&0xff, n>>8&0xff, n&0xff)
}

// countDigits is how many digits at the end of an EC2 ID count the instances. The digits before them distinguish the tokens.
const countDigits = 9

// DNS returns the private name of the instance, which is also its Node's.
func (i Instance) DNS() string {
	domain := ".ec2.internal"
	if i.Provider != "" {
		domain = ".internal"
	}
	return "ip-" + strings.ReplaceAll(i.IP(), ".", "-") + domain
}

// Gone reports whether the instance is terminated.
func (i Instance) Gone() bool { return i.State == Terminated }

// InstanceID returns the instance's ID in a provider ID: what follows the last slash.
func InstanceID(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

// at returns the instance with the state that it has reached by now.
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

// second returns why the Machine must not have instance i beside an earlier one, "" if it may.
//
// A name may be used again: a Machine that is deleted and recreated is another Machine, and gets another instance. And the objects of the two APIs have UIDs of
// their own but are one Machine, whose mirror may be recreated with yet another UID. So no single UID identifies a Machine. A second instance is wrong in three
// cases: the first is not terminated yet, one object asked for both, or an object of either API that represented the Machine when the first was created still
// represents it.
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
