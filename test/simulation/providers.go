// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/machine/machinetest"
)

// provider is the difference between the providers' machine controllers, as far as Cluster API and Poundlock can see it. All of them keep the contract
// v1beta1: status.ready, status.addresses, status.failureReason and status.failureMessage.
type provider struct {
	platform string
	// account is the ServiceAccount that its manager runs as.
	account string
	// size and image are where the spec says what to make; zone is what it falls back to.
	size, image, zone string
	// id is where it writes the instance's ID, beside spec.providerID; "" nowhere.
	id string
	// state is where it writes the instance's; "" nowhere.
	state string
	// ready is the type of its own condition for that; "" where its status has no conditions.
	ready string
	// answers is how it reports that it is paused, and that it no longer is.
	answers answer
	// holdsFirst: it adds its finalizer before it looks for a pause, and takes it off an object that is deleted before it has an owner.
	holdsFirst bool
	// keptID is where what it keeps for an instance names that one, and keptSpec the spec that it makes from its machine's; of a platform that has an InfraInstance.
	keptID   string
	keptSpec func(machine map[string]any) map[string]any
	// finalizer is its own; "" follows the convention: awsmachine.infrastructure.cluster.x-k8s.io.
	finalizer string
}

// answer is a provider's way to acknowledge a pause.
type answer int

const (
	// inSilence: it stands still, and says nothing of it.
	inSilence answer = iota
	// byCondition: Paused in status.conditions, of the old kind.
	byCondition
	// byNewCondition: Paused in status.v1beta2.conditions.
	byNewCondition
	// byBlockMove: the annotation that keeps `clusterctl move` waiting is there while it acts, and goes when it is paused.
	byBlockMove
)

func providers() []provider {
	return []provider{
		{platform: "AWS", account: "capa-controller-manager", size: "instanceType", image: "ami.id", zone: "us-east-1a",
			id: "spec.instanceID", state: "status.instanceState", ready: "InstanceReady", answers: byCondition},
		{platform: "Azure", account: "capz-manager", size: "vmSize", image: "image.id",
			state: "status.vmState", ready: "VMRunning", answers: byBlockMove},
		{platform: "GCP", account: "capg-manager", size: "instanceType", image: "image",
			state: "status.instanceState", answers: inSilence},
		{platform: "OpenStack", account: "capo-manager", size: "flavor", image: "image.filter.name",
			id: "status.instanceID", state: "status.instanceState", ready: "InstanceReady", answers: inSilence,
			keptID: "status.instanceID", keptSpec: copied(map[string]any{
				"identityRef": map[string]any{"type": "Secret", "name": "openstack-cloud-credentials", "cloudName": "openstack"}, "ports": []any{}, "sshKeyName": "",
			}, "flavor", "flavorID", "image", "sshKeyName", "identityRef")},
		{platform: "VSphere", account: "default", image: "template", ready: "VMProvisioned", answers: byNewCondition, holdsFirst: true,
			keptID: "spec.biosUUID", keptSpec: copied(nil, "template", "network", "server", "datacenter", "folder")},
		{platform: "PowerVS", account: "capi-ibmcloud-manager", size: "systemType", image: "image.name",
			id: "status.instanceID", state: "status.instanceState", ready: "InstanceReady", answers: byNewCondition, holdsFirst: true},
		{platform: "Nutanix", account: "capx-controller-manager", image: "image.name", id: "status.vmUUID", ready: "VMProvisioned", answers: inSilence,
			finalizer: "infrastructure.cluster.x-k8s.io/nutanixmachine"},
	}
}

// platform is a provider with what is known of its platform elsewhere.
type platform struct {
	provider
	infra conversion.Resource
	// instance is what the provider keeps for each instance.
	instance conversion.Resource
	actuator machinetest.Provider
}

// platformNamed finds a platform by the Infrastructure's name for it; "" is AWS.
func platformNamed(name string) (platform, error) {
	if name == "" {
		name = "AWS"
	}
	known, ok := platforms.For(name)
	if !ok {
		return platform{}, fmt.Errorf("no platform %q can be converted", name)
	}
	actuator, err := machinetest.ProviderNamed(name)
	if err != nil {
		return platform{}, err
	}
	for _, p := range providers() {
		if p.platform == name {
			if p.finalizer == "" {
				p.finalizer = strings.ToLower(known.InfraMachine.Kind) + "." + known.InfraMachine.Group
			}
			return platform{p, known.InfraMachine, known.InfraInstance, actuator}, nil
		}
	}
	return platform{}, fmt.Errorf("no infrastructure controller simulates platform %q: give it a row in test/simulation/providers.go", name)
}

// Account is the ServiceAccount that a platform's infrastructure controller runs as, in Cluster API's namespace.
func Account(platform string) (string, error) {
	p, err := platformNamed(platform)
	return p.account, err
}

// identity is the user that the machine controller is to the API server.
func (p platform) identity() string {
	return "system:serviceaccount:openshift-cluster-api:" + p.account
}
