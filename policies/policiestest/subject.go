// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policiestest

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
)

// ObjectName is the name of every object of a case whose metadata has no name.
const ObjectName = "worker-a"

// plurals are the resource names of the kinds, by the rules' names for the kinds. A provider's kinds are those of AWS, or of vSphere if AWS has none.
var plurals = map[string]string{
	"Machine": "machines", "MachineSet": "machinesets", "MachineHealthCheck": "machinehealthchecks",
	"ControlPlaneMachineSet": "controlplanemachinesets", "MachineDeployment": "machinedeployments",
	"InfraMachine": "awsmachines", "InfraMachineTemplate": "awsmachinetemplates", "InfraInstance": "vspherevms",
	"Namespace": "namespaces", "CustomResourceDefinition": "customresourcedefinitions", "Cluster": "clusters", "InfraCluster": "awsclusters",
}

var objectKinds = map[string]string{"InfraMachine": "AWSMachine", "InfraMachineTemplate": "AWSMachineTemplate", "InfraInstance": "VSphereVM",
	"InfraCluster": "AWSCluster"}

var versions = map[policies.Side]schema.GroupVersion{
	policies.SideMachineAPI:     {Group: "machine.openshift.io", Version: "v1beta1"},
	policies.SideClusterAPI:     {Group: "cluster.x-k8s.io", Version: "v1beta2"},
	policies.SideInfrastructure: {Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"},
}

// version returns the API version of a kind on a side. It depends on the kind because the Machine API has two versions.
func version(side policies.Side, kind string) schema.GroupVersion {
	if kind == "ControlPlaneMachineSet" {
		return schema.GroupVersion{Group: "machine.openshift.io", Version: "v1"}
	}
	if side == policies.Surroundings {
		return surroundings[kind]
	}
	return versions[side]
}

// surroundings are the API versions of the kinds that other objects live in or depend on.
var surroundings = map[string]schema.GroupVersion{
	"Namespace":                {Version: "v1"},
	"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1"},
	"Cluster":                  {Group: "cluster.x-k8s.io", Version: "v1beta2"},
	"InfraCluster":             {Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"},
}

func (s setting) subject(kind string) policies.Subject {
	subject := policies.Subject{
		Side: s.Side, Kind: kind, Subresource: s.Subresource,
		Resource:  schema.GroupResource{Group: version(s.Side, kind).Group, Resource: plurals[kind]},
		Namespace: s.namespace(), Name: ObjectName, TwinNamespace: MachineAPINamespace,
	}
	if s.Side == policies.SideMachineAPI {
		subject.TwinNamespace = ClusterAPINamespace
	}
	return subject
}

func (s setting) namespace() string {
	if s.Side == policies.SideMachineAPI {
		return MachineAPINamespace
	}
	return ClusterAPINamespace
}

// object returns an object of a case, completed with what every stored object has: name, namespace, apiVersion and kind. It returns nil if the case has no
// object.
func (s setting) object(kind string, raw json.RawMessage) (*policies.Object, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var content map[string]json.RawMessage
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, fmt.Errorf("an object of a case is no JSON object: %w", err)
	}
	metadata, err := patch(json.RawMessage(fmt.Sprintf(`{"name":%q,"namespace":%q}`, ObjectName, s.namespace())), content["metadata"])
	if err != nil {
		return nil, err
	}
	apiVersion, objectKind := version(s.Side, kind).String(), kind
	if provider, ok := objectKinds[kind]; ok {
		objectKind = provider
	}
	if s.Subresource == "scale" {
		apiVersion, objectKind = "autoscaling/v1", "Scale"
	}
	for name, value := range map[string]any{"metadata": metadata, "apiVersion": apiVersion, "kind": objectKind} {
		if _, has := content[name]; has && name == "kind" {
			continue // the case names the kind of another platform
		}
		if content[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	whole, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return policies.ParseObject(whole)
}

// coreKind returns the kind of the Machine API and Cluster API objects to which a provider's object of this kind belongs. It returns any other kind as it is.
func coreKind(kind string) string {
	switch kind {
	case "InfraMachine", "InfraInstance":
		return "Machine"
	case "InfraMachineTemplate":
		return "MachineSet"
	}
	return kind
}
