// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// NewMachines warns where the new Machines of a MachineSet become Cluster API's without a request to move it, and where a person creates a Machine for Cluster
// API. It names what Cluster API does not do for them, and Machine API does. Beside a twin, as in a restore, nothing is new.
func NewMachines(c policies.Change) policies.Verdict {
	switch {
	case !begins(c) || c.Operation == admissionv1.Create && c.Facts.Twin != nil:
		return policies.Verdict{}
	case c.Kind == "MachineSet":
		return policies.Warn(specOfSet(c.New).Template.warnings(c)...)
	}
	return policies.Warn(roleWarnings(c.New.Metadata.Labels, onNodeOf(c.New))...)
}

// begins reports whether a person has a set make Machines for Cluster API from now on, without a request to move it, or creates a Machine for it.
func begins(c policies.Change) bool {
	switch {
	case c.Actor != policies.Anyone || c.New == nil || c.Operation != admissionv1.Create && (c.Old == nil || requestsHere(c)):
		return false
	case c.Kind == "MachineSet":
		return makesForClusterAPI(c.New) && (c.Old == nil || !makesForClusterAPI(c.Old))
	}
	return c.Operation == admissionv1.Create && askedFor(c.New) == ClusterAPI
}

// makesForClusterAPI reports whether Cluster API is to be authoritative for the new Machines of a MachineSet.
func makesForClusterAPI(set *policies.Object) bool {
	return askedFor(set) == ClusterAPI || templateAuthority(set) == ClusterAPI
}

// Preparations are what a person has to do, or to look at, before a set or a Machine moves to Cluster API, or before the moved set creates a Machine.
func Preparations(c policies.Change) []string {
	switch {
	case askedFor(c.New) != ClusterAPI:
	case c.Kind == "MachineSet":
		return specOfSet(c.New).Template.warnings(c)
	case c.Kind == "Machine":
		return append(bootedWarnings(c), roleWarnings(c.New.Metadata.Labels, onNodeOf(c.New))...)
	}
	return nil
}

// TemplateWarnings name what Cluster API does not do for the Machines of a set that Machine API does for them. template is the set's, in JSON.
func TemplateWarnings(c policies.Change, template json.RawMessage) []string {
	var t machineTemplate
	_ = json.Unmarshal(orNull(template), &t) // what cannot be read is another rule's business
	return t.warnings(c)
}

func (t machineTemplate) warnings(c policies.Change) []string {
	value := t.Spec.ProviderSpec.Value
	out := concat(bootDataWarning(c, value.UserDataSecret.Name), roleWarnings(t.Metadata.Labels, t.Spec.onNode), groupWarning(value))
	if c.Kind == "MachineSet" { // the failure domains of a ControlPlaneMachineSet have the subnets, and a rule of its own looks at them
		out = append(out, subnetWarning(value)...)
	}
	cluster := cmp.Or(c.New.Metadata.Labels[machinev1beta1.MachineClusterIDLabel], t.Metadata.Labels[machinev1beta1.MachineClusterIDLabel], "NAME")
	return append(out, guestWarnings(value, cluster)...)
}

// onNodeOf reads what of a Machine goes to its Node.
func onNodeOf(machine *policies.Object) (node onNode) {
	_ = json.Unmarshal(orNull(machine.Spec), &node) // what cannot be read is another rule's business
	return node
}

// copied is the one Secret of boot data that OpenShift copies to the namespace of Cluster API.
const copied = "worker-user-data"

// bootDataWarning names a Secret of boot data that a set would use for new Machines in Cluster API, unless OpenShift copies it there.
func bootDataWarning(c policies.Change, name string) []string {
	if name == "" || name == copied {
		return nil
	}
	return []string{fmt.Sprintf(
		"new Machines will boot with Secret %s/%s, which OpenShift does not copy there, unlike %s. If it does not exist yet, create it from the one in %s before "+
			"the set creates a Machine (guide: Boot data)",
		c.TwinNamespace, brief(name), copied, c.Namespace)}
}

// bootedWarnings name what Cluster API's provider expects of a Machine that has booted already.
func bootedWarnings(c policies.Change) (out []string) {
	var spec struct {
		ProviderSpec struct {
			Value ofProvider `json:"value"`
		} `json:"providerSpec"`
	}
	_ = json.Unmarshal(orNull(c.New.Spec), &spec) // what cannot be read is another rule's business
	value := spec.ProviderSpec.Value
	if name := value.UserDataSecret.Name; name != "" && name != copied && value.readAgain() {
		out = append(out, fmt.Sprintf(
			"Cluster API's provider reads Secret %s/%s even after the Machine has booted, and fails without it. OpenShift does not copy it there, unlike %s. If it "+
				"does not exist yet, create it from the one in %s first (guide: Boot data)",
			c.TwinNamespace, brief(name), copied, c.Namespace))
	}
	if id := value.ManagedIdentity; id != "" && !strings.Contains(id, "/") && value.is("AzureMachineProviderSpec") {
		out = append(out, fmt.Sprintf(
			"spec.providerSpec.value.managedIdentity: Cluster API's provider fails this Machine for good if Azure does not spell the id of identity %s with "+
				"resourceGroups: compare the spelling first, and give the whole id as Azure spells it (guide: Identities on Azure)", brief(id)))
	}
	return out
}

// roleWarnings name a role that Cluster API writes to the labels of Nodes and Machine API does not. It may change the pool that configures a Node.
func roleWarnings(labels map[string]string, node onNode) []string {
	var out []string
	for _, role := range slices.Compact([]string{labels[machineapi.RoleLabel],
		labels["machine.openshift.io/cluster-api-machine-type"]}) {
		if _, there := node.Metadata.Labels["node-role.kubernetes.io/"+role]; !there && !slices.Contains([]string{"", "worker", "master", "arbiter"}, role) {
			out = append(out, fmt.Sprintf(
				"Cluster API gives each Node the label node-role.kubernetes.io/%s, because of the Machine's role. Machine API does not. A MachineConfigPool that "+
					"selects this label then configures these Nodes: add the label to spec.metadata.labels, too, or change the role",
				brief(role)))
		}
	}
	return out
}

// groupWarning names the server group on OpenStack that Machine API would create and Cluster API does not.
func groupWarning(value ofProvider) []string {
	if !value.is("OpenstackProviderSpec") || value.ServerGroupName == "" || value.ServerGroupID != "" {
		return nil
	}
	return []string{fmt.Sprintf(
		"Machine API creates server group %s where it is missing, and Cluster API does not: check that it exists before the set grows (openstack server group list)",
		brief(value.ServerGroupName))}
}

// subnetWarning: without a subnet in the providerSpec, Machine API's controllers on AWS look for one in the zone, and Cluster API's take one that the
// AWSCluster lists. OpenShift's lists none.
func subnetWarning(value ofProvider) []string {
	if !value.is("AWSMachineProviderConfig") {
		return nil
	}
	subnet, _ := value.Subnet.(map[string]any)
	filters, _ := subnet["filters"].([]any)
	if id, _ := subnet["id"].(string); id != "" || len(filters) > 0 {
		return nil
	}
	return []string{"providerSpec.value.subnet: set it before the set grows. Without a subnet Cluster API creates no instance, unless the AWSCluster lists some"}
}

// guestWarnings name what Machine API sets by default on each virtual machine of vSphere, and Cluster API does not.
func guestWarnings(value ofProvider, cluster string) []string {
	if !value.is("VSphereMachineProviderSpec") {
		return nil
	}
	out := []string{"Cluster API gives new Machines no guestinfo.hostname, from which RHCOS takes its host name: check that DHCP or reverse DNS names them " +
		"before the set grows (guide: New Machines on vSphere)"}
	// The id of the tag is nowhere in the cluster, so a list that is not empty may lack it.
	what := "list its id in tagIDs"
	if len(value.TagIDs) > 0 {
		what = "check that its id is among tagIDs"
	}
	return append(out, fmt.Sprintf(
		"Cluster API does not attach the tag with the cluster's name to new Machines, and an uninstall finds Machines by this tag: %s (govc tags.info %s; guide: "+
			"New Machines on vSphere)",
		what, brief(cluster)))
}
