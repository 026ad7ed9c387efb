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

// NewMachines warns a person who makes Cluster API authoritative for the new Machines of a MachineSet without a request to move the set, and a person who
// creates a Machine for Cluster API. The warnings name what Machine API does for such Machines and Cluster API does not. An object that is created beside its
// twin, as in a restore, is not new: it gets no warning.
func NewMachines(c policies.Change) policies.Verdict {
	switch {
	case !begins(c) || c.Operation == admissionv1.Create && c.Facts.Twin != nil:
		return policies.Verdict{}
	case c.Kind == "MachineSet":
		return policies.Warn(specOfSet(c.New).Template.warnings(c)...)
	}
	return policies.Warn(roleWarnings(c.New.Metadata.Labels, onNodeOf(c.New))...)
}

// begins reports whether a person's request creates a Machine for Cluster API, or makes Cluster API authoritative for the new Machines of a MachineSet without
// a request to move the set.
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

// Preparations returns warnings about what a person has to do, or to look at, before a MachineSet or a Machine moves to Cluster API, or before the moved set
// creates a Machine.
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

// TemplateWarnings returns warnings about what Machine API does for the Machines of a set and Cluster API does not. template is the set's template, in JSON.
func TemplateWarnings(c policies.Change, template json.RawMessage) []string {
	var t machineTemplate
	_ = json.Unmarshal(orNull(template), &t) // what cannot be read is another rule's business
	return t.warnings(c)
}

func (t machineTemplate) warnings(c policies.Change) []string {
	value := t.Spec.ProviderSpec.Value
	out := concat(bootDataWarning(c, value.UserDataSecret.Name), roleWarnings(t.Metadata.Labels, t.Spec.onNode), groupWarning(value))
	if c.Kind == "MachineSet" { // the subnets of a ControlPlaneMachineSet are in its failure domains, which another rule checks
		out = append(out, subnetWarning(value)...)
	}
	cluster := cmp.Or(c.New.Metadata.Labels[machinev1beta1.MachineClusterIDLabel], t.Metadata.Labels[machinev1beta1.MachineClusterIDLabel], "NAME")
	return append(out, guestWarnings(value, cluster)...)
}

// onNodeOf returns those fields of a Machine's spec that its controllers copy to its Node.
func onNodeOf(machine *policies.Object) (node onNode) {
	_ = json.Unmarshal(orNull(machine.Spec), &node) // what cannot be read is another rule's business
	return node
}

// copied is the name of the only Secret of boot data that OpenShift copies to the namespace of Cluster API.
const copied = "worker-user-data"

// BootSecret returns the name of the Secret of boot data that a person has to create in Cluster API's namespace, because Cluster API's provider needs it for an
// object of Machine API and OpenShift does not copy it. It returns "" if there is none: also for a Machine that has booted, unless the provider reads it again.
func BootSecret(kind string, o *policies.Object) string {
	if o == nil {
		return ""
	}
	var value ofProvider
	switch kind {
	case "MachineSet":
		value = specOfSet(o).Template.Spec.ProviderSpec.Value
	case "Machine":
		if value = machineValue(o); !value.readAgain() {
			return ""
		}
	}
	if value.UserDataSecret.Name == copied {
		return ""
	}
	return value.UserDataSecret.Name
}

// machineValue returns what is read of a Machine's providerSpec.
func machineValue(o *policies.Object) ofProvider {
	var spec struct {
		ProviderSpec struct {
			Value ofProvider `json:"value"`
		} `json:"providerSpec"`
	}
	_ = json.Unmarshal(orNull(o.Spec), &spec) // what cannot be read is another rule's business
	return spec.ProviderSpec.Value
}

// NamesBootSecret reports whether a warning is about a Secret of boot data that may not exist in Cluster API's namespace.
func NamesBootSecret(warning string) bool { return strings.Contains(warning, "(guide: Boot data)") }

// bootDataWarning returns a warning about the Secret of boot data that a set's new Machines would use in Cluster API; nil if OpenShift copies this Secret to
// Cluster API's namespace, or if the template names none.
func bootDataWarning(c policies.Change, name string) []string {
	if name == "" || name == copied {
		return nil
	}
	return []string{fmt.Sprintf(
		"new Machines will boot with Secret %s/%s. Unlike %[3]s, OpenShift does not copy this Secret to that namespace. If the Secret does not exist there yet, "+
			"create it from the one in %[4]s before "+
			"the set creates a Machine (guide: Boot data)",
		c.TwinNamespace, brief(name), copied, c.Namespace)}
}

// bootedWarnings returns warnings about what Cluster API's provider expects of a Machine that has booted already: its Secret of boot data, and on Azure the
// spelling of its identity.
func bootedWarnings(c policies.Change) (out []string) {
	value := machineValue(c.New)
	if name := BootSecret(c.Kind, c.New); name != "" {
		out = append(out, fmt.Sprintf(
			"Cluster API's provider reads Secret %s/%s even after the Machine has booted, and fails without it. Unlike %[3]s, OpenShift does not copy this Secret to "+
				"that namespace. If the Secret does not exist there yet, create it from the one in %[4]s first (guide: Boot data)",
			c.TwinNamespace, brief(name), copied, c.Namespace))
	}
	if id := value.ManagedIdentity; id != "" && !strings.Contains(id, "/") && value.is("AzureMachineProviderSpec") {
		out = append(out, fmt.Sprintf(
			"spec.providerSpec.value.managedIdentity: Cluster API's provider fails this Machine for good if Azure does not spell the id of identity %s with "+
				"resourceGroups: compare the spelling first, and give the whole id as Azure spells it (guide: Identities on Azure)", brief(id)))
	}
	return out
}

// roleWarnings returns a warning about each role (or type) of a Machine that Cluster API writes to the labels of its Node and Machine API does not. The reason
// for the warning: because of such a label another MachineConfigPool may configure the Node. No warning is given if the Machine's spec gives the Node this
// label already, nor for the roles worker, master and arbiter (guide: Roles, server groups and subnets).
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

// groupWarning returns a warning about a server group on OpenStack that Machine API would create and Cluster API does not; nil if the providerSpec has the
// group's ID or names no group.
func groupWarning(value ofProvider) []string {
	if !value.is("OpenstackProviderSpec") || value.ServerGroupName == "" || value.ServerGroupID != "" {
		return nil
	}
	return []string{fmt.Sprintf(
		"Machine API creates server group %s if it is missing, and Cluster API does not: check that the group exists before the set grows (openstack server group "+
			"list)",
		brief(value.ServerGroupName))}
}

// subnetWarning returns a warning if a providerSpec for AWS names no subnet. Then Machine API's controllers look for a subnet in the zone. Cluster API's
// controllers take a subnet that the AWSCluster lists, but OpenShift's AWSCluster lists none.
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

// guestWarnings returns warnings about what Machine API sets by default on each virtual machine of vSphere, and Cluster API does not.
func guestWarnings(value ofProvider, cluster string) []string {
	if !value.is("VSphereMachineProviderSpec") {
		return nil
	}
	out := []string{"Cluster API gives new Machines no guestinfo.hostname, from which RHCOS takes its host name: check that DHCP or reverse DNS names them " +
		"before the set grows (guide: New Machines on vSphere)"}
	// The id of the tag with the cluster's name is stored nowhere in the cluster, so nobody can check whether a list that is not empty has it.
	what := "list its id in tagIDs"
	if len(value.TagIDs) > 0 {
		what = "check that its id is among tagIDs"
	}
	return append(out, fmt.Sprintf(
		"Cluster API does not attach the tag with the cluster's name to new Machines, and an uninstall finds Machines by this tag: %s (govc tags.info %s; guide: "+
			"New Machines on vSphere)",
		what, brief(cluster)))
}
