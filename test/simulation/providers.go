// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/machine/machinetest"
)

// platform is a provider's machine controller, with what other packages know of its platform.
type platform struct {
	conversiontest.Controller
	infra conversion.Resource
	// instance is the resource of the object that the provider keeps for each instance.
	instance conversion.Resource
	actuator machinetest.Provider
}

// platformNamed returns a platform by the name that the Infrastructure has for it; "" is AWS.
func platformNamed(name string) (platform, error) {
	kit, err := platformstest.Named(cmp.Or(name, "AWS"))
	if err != nil {
		return platform{}, err
	}
	actuator, err := actuatorOf(kit)
	if err != nil {
		return platform{}, err
	}
	c, machine := kit.Controller, kit.Platform.InfraMachine
	if c.Account == "" {
		return platform{}, fmt.Errorf("no infrastructure controller simulates platform %q: give its kit a Controller", name)
	}
	if c.Finalizer == "" {
		c.Finalizer = strings.ToLower(machine.Kind) + "." + machine.Group
	}
	return platform{c, machine, kit.Platform.InfraInstance, actuator}, nil
}

// Account returns the ServiceAccount of a platform's infrastructure controller, in Cluster API's namespace.
func Account(platform string) (string, error) {
	p, err := platformNamed(platform)
	return p.Account, err
}

// ProviderID returns how a platform's cloud provider names an instance. nil means EC2, whose names the simulated cloud makes by default.
func ProviderID(platform string) (func(zone, name string) string, error) {
	kit, err := platformstest.Named(cmp.Or(platform, "AWS"))
	switch {
	case err != nil || kit.Platform.Name == "AWS":
		return nil, err
	case kit.ProviderIDIn != nil:
		return kit.ProviderIDIn, nil
	}
	return func(_, name string) string { return kit.ProviderID(name) }, nil
}

// identity returns the user name under which the machine controller sends requests.
func (p platform) identity() string {
	return "system:serviceaccount:openshift-cluster-api:" + p.Account
}

// actuatorOf returns what the actuator of a kit's platform reads and writes.
func actuatorOf(kit conversiontest.Kit) (machinetest.Provider, error) {
	a, p := kit.Actuator, kit.Platform
	if aws := machinetest.AWS(); p.Name == aws.Platform {
		return aws, nil
	}
	if a.ID == "" {
		return machinetest.Provider{}, fmt.Errorf("no actuator simulates platform %q: give its kit an Actuator", p.Name)
	}
	out := machinetest.Provider{
		Platform: p.Name, Spec: p.ProviderSpec, Status: p.ProviderStatus,
		Needs: a.Needs, Type: a.Type, Zone: a.Zone, Image: a.Image, ID: a.ID, State: a.State,
	}
	states := []machinetest.State{machinetest.Pending, machinetest.Running, machinetest.Stopped, machinetest.ShuttingDown, machinetest.Terminated}
	for i, word := range a.Words {
		if out.Words == nil {
			out.Words = map[machinetest.State]string{}
		}
		out.Words[states[i]] = word
	}
	return out, nil
}
