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

// platform is a provider's machine controller with what is known of its platform elsewhere.
type platform struct {
	conversiontest.Controller
	infra conversion.Resource
	// instance is what the provider keeps for each instance.
	instance conversion.Resource
	actuator machinetest.Provider
}

// platformNamed finds a platform by the Infrastructure's name for it; "" is AWS.
func platformNamed(name string) (platform, error) {
	kit, err := platformstest.Named(cmp.Or(name, "AWS"))
	if err != nil {
		return platform{}, err
	}
	actuator, err := machinetest.ProviderNamed(kit.Platform.Name)
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

// Account is the ServiceAccount that a platform's infrastructure controller runs as, in Cluster API's namespace.
func Account(platform string) (string, error) {
	p, err := platformNamed(platform)
	return p.Account, err
}

// identity is the user that the machine controller is to the API server.
func (p platform) identity() string {
	return "system:serviceaccount:openshift-cluster-api:" + p.Account
}
