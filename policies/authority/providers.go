// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"slices"
	"strings"
)

// Provider is what rules have to know of one of Cluster API's infrastructure providers: how its controllers act on the objects that they own. A rule finds it
// by the kind of the object under review, and not by the cluster's platform, which a request does not name and which may be unreadable.
type Provider struct {
	// Machine is the kind of its machines.
	Machine string
	// Instance is the kind of what it keeps for each instance beside the machine that owns it; "" for none. A controller of its own acts on the cloud because of
	// it, and obeys the pause of this object alone, not its owner's.
	Instance string
	// Acknowledges is how they report that they are paused.
	Acknowledges Acknowledgement
	// Account is the ServiceAccount of its manager in the Cluster API namespace. "": the namespace's default, as of whatever names none. That is anybody's: no
	// exception for it would be safe.
	Account string
	// OwnFinalizer is that of its machines, behind the group and a slash; "" where it follows the convention of InfraFinalizer.
	OwnFinalizer string
	// NamesInstanceAfterMachine: what it keeps for an instance has the Machine's name, and not that of its own machine, which may be another.
	NamesInstanceAfterMachine bool
}

// Providers lists them, in the order of conversion/platforms. A test there names what is missing.
func Providers() []Provider { return slices.Clone(providers) }

// providers is read for each request, and by each step of a model.
var providers = []Provider{
	{Machine: "AWSMachine", Account: "capa-controller-manager"},
	{Machine: "AzureMachine", Account: "capz-manager", Acknowledges: ByBlockMove},
	{Machine: "GCPMachine", Account: "capg-manager", Acknowledges: ByPatience},
	{Machine: "OpenStackMachine", Instance: "OpenStackServer", Account: "capo-manager", Acknowledges: ByPatience},
	{Machine: "VSphereMachine", Instance: "VSphereVM", NamesInstanceAfterMachine: true},
	{Machine: "IBMPowerVSMachine", Account: "capi-ibmcloud-manager"},
	{Machine: "NutanixMachine", Account: "capx-controller-manager", Acknowledges: ByPatience, OwnFinalizer: "nutanixmachine"},
}

// providerOf finds a provider by the kind of its machine, or of what it keeps for an instance; the zero value, and none of its kinds, where there is none.
func providerOf(kind string) Provider {
	i := slices.IndexFunc(providers, func(p Provider) bool { return kind != "" && (p.Machine == kind || p.Instance == kind) })
	if i < 0 {
		return Provider{}
	}
	return providers[i]
}

// hasNoAccount reports whether this is a kind of a provider whose controllers have no account of their own.
func hasNoAccount(kind string) bool {
	p := providerOf(kind)
	return p.Machine != "" && p.Account == ""
}

// Acknowledges returns the way by the kind of a provider's machine, or of what it keeps for an instance beside it.
func Acknowledges(infraKind string) Acknowledgement { return providerOf(infraKind).Acknowledges }

// InfraInstanceKind is the Provider's Instance, by the kind of its machine; "" for none.
func InfraInstanceKind(infraMachine string) string {
	if p := providerOf(infraMachine); p.Machine == infraMachine {
		return p.Instance
	}
	return ""
}

// InfraFinalizer is the finalizer under which a provider's machine controller cleans up: by the convention of all providers but one,
// awsmachine.infrastructure.cluster.x-k8s.io.
func InfraFinalizer(group, kind string) string {
	if p := providerOf(kind); p.OwnFinalizer != "" && p.Machine == kind {
		return group + "/" + p.OwnFinalizer
	}
	return strings.ToLower(kind) + "." + group
}
