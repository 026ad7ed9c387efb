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

// Provider is what rules need to know about a platform and its Cluster API provider: how the controllers act on their objects. A rule finds the Provider by the
// kind of the object under review or of its providerSpec. It does not use the cluster's platform, because a request does not contain the platform, and the
// platform may be unreadable.
type Provider struct {
	// Platform is the Infrastructure's name for the platform.
	Platform string
	// ProviderSpec is the kind of a Machine API Machine's providerSpec.
	ProviderSpec string
	// own reads a member that only this platform's providerSpec has, and that it requires. It is nil if only the kind shows the providerSpec's platform.
	own func(ofProvider) any
	// Machine is the kind of the provider's machines.
	Machine string
	// InstanceID is the form of the platform's instance IDs, which begin with the platform's scheme.
	InstanceID string
	// Instance is the kind of object that the provider keeps for each instance, owned by the provider's machine; "" for none. A separate controller acts on the
	// cloud for this object, and obeys only the pause of this object, not the pause of its owner.
	Instance string
	// Acknowledges is how the provider's controllers report that they are paused.
	Acknowledges Acknowledgement
	// Account is the ServiceAccount of the provider's manager in the Cluster API namespace. "" means that the manager uses the namespace's default ServiceAccount.
	// Any pod may use the default one, so no exception for it would be safe.
	Account string
	// OwnFinalizer is the finalizer of the provider's machines without the group and the slash before it; "" if the finalizer follows the convention of
	// InfraFinalizer.
	OwnFinalizer string
	// NamesInstanceAfterMachine reports that the object that the provider keeps for an instance has the name of the Machine. The provider's machine may have
	// another name.
	NamesInstanceAfterMachine bool
	// ReadsBootDataAgain reports that the provider also reads the boot data of Machines that already have their instances. Azure's and Google Cloud's controllers
	// read it at the beginning of each reconciliation, and Power VS' completes no deletion without it.
	ReadsBootDataAgain bool
	// BootImaged reports that the machine-config-operator updates the boot images of all sets that nobody has excluded (AWS and GCP since 4.19). On other
	// platforms it updates them only if somebody asks for that.
	BootImaged bool
	// Rivalled reports that OpenShift's own migration acts on this platform (AWS since 4.19, OpenStack since 4.20). On other platforms that migration runs, and
	// does nothing.
	Rivalled bool
}

// Providers returns all providers, in the order of conversion/platforms. A test in that package names a provider that is missing.
func Providers() []Provider { return slices.Clone(providers) }

// providers is the list that Providers copies. The rules read this list itself, without a copy, because they do so for each request and for each step of a
// model.
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

// providerOf returns the provider to which a kind belongs: the kind is that of its machines, or of the objects that it keeps for instances. For other kinds it
// returns the zero Provider.
func providerOf(kind string) Provider {
	i := slices.IndexFunc(providers, func(p Provider) bool { return kind != "" && (p.Machine == kind || p.Instance == kind) })
	if i < 0 {
		return Provider{}
	}
	return providers[i]
}

// providerIn returns the provider of the object under review; the zero Provider if there is none. A provider's object shows the provider by its own kind, a
// Cluster API object by the kind of the provider's machine to which it refers, and a Machine API object by its providerSpec.
func providerIn(c policies.Change) Provider {
	switch c.Side {
	case policies.SideInfrastructure:
		return providerOf(c.New.Kind)
	case policies.SideClusterAPI:
		return providerOf(InfraReferenceOf(c.New).Kind)
	}
	return providerOfSpec(c.New)
}

// providerOfSpec returns the provider of a Machine API Machine, by its providerSpec; the zero Provider if there is none.
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

// providerBehind returns the provider of the first of the objects that shows one; the zero Provider if none does. A provider's object shows the provider by its
// own kind, a Cluster API Machine by the kind in its infrastructureRef, and a Machine API Machine by its providerSpec.
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

// instanceKey returns the key of an instance ID, as this provider's controllers and the Machine API's controllers on its platform read the ID. For the zero
// Provider, the ID's own scheme decides how it is read.
func (p Provider) instanceKey(id string) string {
	return instanceid.KeyOn(instanceid.Scheme(p.InstanceID), id)
}

// InstanceKeyIn returns what InstanceKeyOf returns for a Machine API Machine with this providerSpec, in JSON, and this ID.
func InstanceKeyIn(providerSpec []byte, id string) string {
	var spec ofProvider
	_ = json.Unmarshal(orNull(providerSpec), &spec)
	return providerMaking(spec).instanceKey(id)
}

// hasNoAccount reports whether a kind belongs to a provider whose controllers have no ServiceAccount of their own (Provider.Account).
func hasNoAccount(kind string) bool {
	p := providerOf(kind)
	return p.Machine != "" && p.Account == ""
}

// Acknowledges returns how controllers acknowledge a pause, for the kind of a provider's machine or of an object that a provider keeps for an instance.
func Acknowledges(infraKind string) Acknowledgement { return providerOf(infraKind).Acknowledges }

// InfraInstanceKind returns the kind of object that a provider keeps for each instance, for the kind of the provider's machine; "" if it keeps none.
func InfraInstanceKind(infraMachine string) string {
	if p := providerOf(infraMachine); p.Machine == infraMachine {
		return p.Instance
	}
	return ""
}

// KeepsInstances reports whether a kind is one that a provider keeps for instances, such as VSphereVM.
func KeepsInstances(kind string) bool {
	return kind != "" && slices.ContainsFunc(providers, func(p Provider) bool { return p.Instance == kind })
}

// InfraFinalizer returns the finalizer under which a provider's machine controller cleans up. All providers but one follow the convention KIND.GROUP in lower
// case, such as awsmachine.infrastructure.cluster.x-k8s.io. The exception has Provider.OwnFinalizer.
func InfraFinalizer(group, kind string) string {
	if p := providerOf(kind); p.OwnFinalizer != "" && p.Machine == kind {
		return group + "/" + p.OwnFinalizer
	}
	return strings.ToLower(kind) + "." + group
}
