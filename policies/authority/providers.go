// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"slices"
	"strings"
)

// Provider is what rules need about one of Cluster API's infrastructure providers: how its controllers act on the objects that they own. A rule finds it by
// the kind of the object under review, because a request does not contain the cluster's platform, which may be unreadable.
type Provider struct {
	// Machine is the kind of its machines.
	Machine string
	// Instance is the kind of object that it keeps for each instance, owned by its machine; "" for none. A controller of its own acts on the cloud for this
	// object, and obeys only this object's pause, not its owner's.
	Instance string
	// Acknowledges is how they report that they are paused.
	Acknowledges Acknowledgement
	// Account is the ServiceAccount of its manager in the Cluster API namespace. "" means the namespace's default. Any pod may use that one, so no exception
	// for it would be safe.
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

// providerOf finds a provider by the kind of its machine, or of what it keeps for an instance; without one, it returns the zero value.
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
