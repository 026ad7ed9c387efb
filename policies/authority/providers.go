// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/policies"
)

// Provider is what rules need about a platform and its provider of Cluster API: how controllers act on the objects that they own. A rule finds it by the kind
// of the object under review or of its providerSpec, because a request does not contain the cluster's platform, which may be unreadable.
type Provider struct {
	// Platform is the Infrastructure's name for the platform.
	Platform string
	// ProviderSpec is the kind of a Machine API Machine's providerSpec.
	ProviderSpec string
	// own reads a member that this providerSpec alone has, and needs; nil where the kind alone recognizes it.
	own func(ofProvider) any
	// Machine is the kind of the provider's machines.
	Machine string
	// InstanceID is the form of its instances' IDs, which begin with its scheme.
	InstanceID string
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
	// ReadsBootDataAgain: it reads the boot data of Machines that have their instances. Azure's and Google Cloud's begin each look at a Machine with that, and
	// Power VS' ends no deletion without it.
	ReadsBootDataAgain bool
	// BootImaged: the machine-config-operator updates boot images unless somebody excludes a set, on AWS and GCP since 4.19. On other platforms somebody has to
	// ask for it.
	BootImaged bool
	// Rivalled: OpenShift's own migration acts here, on AWS since 4.19, on OpenStack since 4.20. On other platforms it runs, and does nothing.
	Rivalled bool
}

// Providers lists them, in the order of conversion/platforms. A test there names what is missing.
func Providers() []Provider { return slices.Clone(providers) }

// providers is read for each request, and by each step of a model.
var providers = []Provider{
	{
		Platform: "AWS", ProviderSpec: "AWSMachineProviderConfig", own: func(p ofProvider) any { return p.AMI },
		InstanceID: "aws:///ZONE/INSTANCE",
		Machine:    "AWSMachine", Account: "capa-controller-manager", BootImaged: true, Rivalled: true,
	},
	{
		Platform: "Azure", ProviderSpec: "AzureMachineProviderSpec", own: func(p ofProvider) any { return p.VMSize },
		InstanceID: "azure:///subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Compute/virtualMachines/NAME",
		Machine:    "AzureMachine", Account: "capz-manager", Acknowledges: ByBlockMove, ReadsBootDataAgain: true,
	},
	{
		Platform: "GCP", ProviderSpec: "GCPMachineProviderSpec", own: func(p ofProvider) any { return p.MachineType },
		InstanceID: "gce://PROJECT/ZONE/NAME",
		Machine:    "GCPMachine", Account: "capg-manager", Acknowledges: ByPatience, ReadsBootDataAgain: true, BootImaged: true,
	},
	{
		Platform: "OpenStack", ProviderSpec: "OpenstackProviderSpec", own: func(p ofProvider) any { return p.Flavor },
		InstanceID: "openstack:///UUID",
		Machine:    "OpenStackMachine", Instance: "OpenStackServer", Account: "capo-manager", Acknowledges: ByPatience, Rivalled: true,
	},
	{
		Platform: "VSphere", ProviderSpec: "VSphereMachineProviderSpec", own: func(p ofProvider) any { return p.Workspace },
		InstanceID: "vsphere://UUID",
		Machine:    "VSphereMachine", Instance: "VSphereVM", NamesInstanceAfterMachine: true,
	},
	{
		Platform: "PowerVS", ProviderSpec: "PowerVSMachineProviderConfig", own: func(p ofProvider) any { return p.KeyPairName },
		InstanceID: "ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE",
		Machine:    "IBMPowerVSMachine", Account: "capi-ibmcloud-manager", ReadsBootDataAgain: true,
	},
	{
		Platform: "Nutanix", ProviderSpec: "NutanixMachineProviderConfig",
		InstanceID: "nutanix://UUID",
		Machine:    "NutanixMachine", Account: "capx-controller-manager", Acknowledges: ByPatience, OwnFinalizer: "nutanixmachine",
	},
}

// providerOf finds a provider by the kind of its machine, or of what it keeps for an instance; without one, it returns the zero value.
func providerOf(kind string) Provider {
	i := slices.IndexFunc(providers, func(p Provider) bool { return kind != "" && (p.Machine == kind || p.Instance == kind) })
	if i < 0 {
		return Provider{}
	}
	return providers[i]
}

// providerIn finds a provider by the kind of the object under review, of the provider's machine that it refers to, or of its providerSpec; without one, it
// returns the zero value.
func providerIn(c policies.Change) Provider {
	switch c.Side {
	case policies.SideInfrastructure:
		return providerOf(c.New.Kind)
	case policies.SideClusterAPI:
		return providerOf(InfraReferenceOf(c.New).Kind)
	}
	return providerOfSpec(c.New)
}

// providerOfSpec finds a provider by the kind of a Machine API Machine's providerSpec; without one, it returns the zero value.
func providerOfSpec(machine *policies.Object) Provider {
	var spec struct {
		ProviderSpec struct {
			Value ofProvider `json:"value"`
		} `json:"providerSpec"`
	}
	_ = json.Unmarshal(orNull(machine.Spec), &spec) // what cannot be read is another rule's business
	return providerMaking(spec.ProviderSpec.Value)
}

func providerMaking(spec ofProvider) Provider {
	if i := slices.IndexFunc(providers, spec.of); i >= 0 {
		return providers[i]
	}
	return Provider{}
}

// providerBehind finds the provider of the first object that names one: a provider's object by its kind, a Cluster API Machine by the kind of its reference, a
// Machine API Machine by that of its providerSpec.
func providerBehind(objects ...*policies.Object) Provider {
	for _, o := range objects {
		if o == nil {
			continue
		}
		for _, p := range []Provider{providerOf(o.Kind), providerOf(InfraReferenceOf(o).Kind), providerOfSpec(o)} {
			if p.Machine != "" {
				return p
			}
		}
	}
	return Provider{}
}

// instanceKey is the key of an instance's ID as this provider's controllers, and the Machine API's on its platform, read it. Of no provider the scheme of the
// ID decides.
func (p Provider) instanceKey(id string) string {
	return instanceid.KeyOn(instanceid.Scheme(p.InstanceID), id)
}

// InstanceKeyIn is InstanceKeyOf for a Machine API Machine with this providerSpec and this ID.
func InstanceKeyIn(providerSpec []byte, id string) string {
	var spec ofProvider
	_ = json.Unmarshal(orNull(providerSpec), &spec)
	return providerMaking(spec).instanceKey(id)
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

// KeepsInstances reports whether this is a kind of what providers keep for instances.
func KeepsInstances(kind string) bool {
	return kind != "" && slices.ContainsFunc(providers, func(p Provider) bool { return p.Instance == kind })
}

// InfraFinalizer is the finalizer under which a provider's machine controller cleans up: by the convention of all providers but one,
// awsmachine.infrastructure.cluster.x-k8s.io.
func InfraFinalizer(group, kind string) string {
	if p := providerOf(kind); p.OwnFinalizer != "" && p.Machine == kind {
		return group + "/" + p.OwnFinalizer
	}
	return strings.ToLower(kind) + "." + group
}
