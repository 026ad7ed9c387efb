// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"encoding/json"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/machine"
)

// Provider has the differences between the platforms' actuators: what they read of a providerSpec, and where they write the state of the instance.
type Provider struct {
	// Platform is the platform's name in the cluster's Infrastructure, such as "Azure".
	Platform string
	// Spec and Status are the kinds of providerSpec and providerStatus.
	Spec, Status schema.GroupVersionKind
	// Needs is a field that a providerSpec must have. Type, Zone and Image are the fields for what to create and where; "" on platforms without them.
	Needs, Type, Zone, Image string
	// ID and State are the fields of the providerStatus for the instance's ID and state. State is "" if the platform has no such field.
	ID, State string
	// Words are the platform's words for the states of an instance; nil means EC2's.
	Words map[State]string

	// order reads the request of a Machine more exactly; nil means that the fields above are read.
	order func(*machinev1beta1.Machine) (Order, error)
}

// AWS returns the default Provider of an Actuator.
func AWS() Provider {
	return Provider{
		Platform: "AWS", Spec: kind("AWSMachineProviderConfig"), Status: kind("AWSMachineProviderStatus"),
		ID: "instanceId", State: "instanceState", order: awsOrder,
	}
}

// Word returns the platform's word for a state.
func (p Provider) Word(s State) string {
	if word, ok := p.Words[s]; ok {
		return word
	}
	return string(s)
}

func kind(name string) schema.GroupVersionKind {
	return machinev1beta1.GroupVersion.WithKind(name)
}

// at is the path of the providerSpec in a Machine.
const at = "spec.providerSpec.value"

// awsOrder returns the instance that the Machine's providerSpec requests, or an error that names what is invalid in it.
func awsOrder(m *machinev1beta1.Machine) (Order, error) {
	spec := &machinev1beta1.AWSMachineProviderConfig{}
	if m.Spec.ProviderSpec.Value == nil || len(m.Spec.ProviderSpec.Value.Raw) == 0 {
		return Order{}, machine.InvalidConfiguration("%s is empty: set it to an AWSMachineProviderConfig", at)
	}
	if err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, spec); err != nil {
		return Order{}, machine.InvalidConfiguration("%s cannot be read as an AWSMachineProviderConfig: %v", at, err)
	}
	zone := zoneOf(spec.Placement)
	switch {
	case spec.Kind != "" && spec.Kind != "AWSMachineProviderConfig":
		return Order{}, machine.InvalidConfiguration("%s.kind is %q, which is not a providerSpec of AWS: use AWSMachineProviderConfig", at, spec.Kind)
	case spec.InstanceType == "":
		return Order{}, machine.InvalidConfiguration("%s.instanceType is missing: set it, for example to m6i.large", at)
	case image(spec.AMI) == "":
		return Order{}, machine.InvalidConfiguration("%s.ami names no image: set ami.id, such as ami-0123456789abcdef0", at)
	case spec.Placement.Region != "" && !strings.HasPrefix(zone, spec.Placement.Region):
		return Order{}, machine.InvalidConfiguration("%s.placement.availabilityZone is %q, which is not in the region %s: use a zone of this region, "+
			"such as %sa",
			at, zone, spec.Placement.Region, spec.Placement.Region)
	}
	return Order{Token: string(m.UID), Zone: zone, Type: spec.InstanceType, Image: image(spec.AMI)}, nil
}

// zoneOf returns the zone in which the cloud creates the instance: the requested one, or the first of the region.
func zoneOf(p machinev1beta1.Placement) string {
	switch {
	case p.AvailabilityZone != "":
		return p.AvailabilityZone
	case p.Region != "":
		return p.Region + "a"
	}
	return "us-east-1a"
}

func image(r machinev1beta1.AWSResourceReference) string {
	switch {
	case r.ID != nil:
		return *r.ID
	case r.ARN != nil:
		return *r.ARN
	case len(r.Filters) > 0 && len(r.Filters[0].Values) > 0:
		return r.Filters[0].Values[0]
	}
	return ""
}
