// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
)

// Lack is something of the cluster that a conversion asks for and that was not shown.
type Lack struct {
	// Name is what to give: "the AzureCluster prod-x7k2p".
	Name string
	// Command prints it; Flags say it instead. One of the two is empty.
	Command, Flags string
	// suppose fills in what might stand there.
	suppose func(*conversion.Env)
}

// Lacks lists what of the cluster was not shown.
func (f *Fleet) Lacks(c Cluster, env conversion.Env) []Lack {
	if env.Platform.Name == "" {
		return nil
	}
	might := supposed[env.Platform.Name]
	var out []Lack
	if env.InfraCluster == nil {
		out = append(out, lackOf(env.Platform.InfraCluster, c.Name, env.ClusterAPINamespace, func(e *conversion.Env) { e.InfraCluster = object(might.infraCluster) }))
	}
	if f.infrastructure == nil {
		out = append(out, Lack{"the Infrastructure", "kubectl get infrastructures.config.openshift.io cluster -o yaml",
			"", func(e *conversion.Env) { e.Infrastructure = might.infrastructure(c) }})
	}
	if env.Platform.Account != nil && env.Account == "" {
		out = append(out, Lack{"ConfigMap cloud-provider-config of openshift-config", "kubectl get configmaps cloud-provider-config -n openshift-config -o yaml",
			"", func(e *conversion.Env) { e.Account = "supposed" }})
	}
	if env.NodeSync.Labels == nil && env.NodeSync.Annotations == nil && !f.nodeSyncRead {
		out = append(out, Lack{"--additional-sync-machine-labels and -annotations of Cluster API's manager",
			"", "as that manager has them (OpenShift: --additional-sync-machine-labels=.* --additional-sync-machine-annotations=.*)", everySync})
	}
	return out
}

// lackOf is an object that was not shown; its name may not be known.
func lackOf(kind conversion.Resource, name, namespace string, suppose func(*conversion.Env)) Lack {
	return Lack{
		strings.TrimSpace("the " + kind.Kind + " " + name),
		strings.Join(strings.Fields(fmt.Sprintf("kubectl get %s %s -n %s -o yaml", kind.Definition(), name, namespace)), " "), "", suppose,
	}
}

// LackOf is an object of Cluster API's that the authoritative one refers to and that was not shown.
func LackOf(kind conversion.Resource, name, namespace string) Lack {
	return lackOf(kind, name, namespace, nil)
}

func everySync(e *conversion.Env) {
	all, err := conversion.ParsePatterns([]string{".*"})
	if err == nil {
		e.NodeSync = conversion.NodeSync{Labels: all, Annotations: all}
	}
}

// Sift converts with what was shown, and takes out what might be otherwise if all of the cluster had been: an obstacle that something of the cluster would
// change is no answer. open are those, and needs the fewest things that have to be shown for one, nil where nothing has to be.
func Sift(env conversion.Env, lacks []Lack, check func(conversion.Env) field.ErrorList) (certain, open field.ErrorList, needs []Lack) {
	all := check(env)
	if len(all) == 0 || len(lacks) == 0 {
		return all, nil, nil
	}
	certain = remaining(all, env, lacks, check)
	if len(certain) == len(all) {
		return all, nil, nil
	}
	// As many things as bits: four at most.
	fewest := lacks
	for bits := range 1 << len(lacks) {
		some := chosen(lacks, bits)
		if len(some) < len(fewest) && len(remaining(all, env, some, check)) == len(certain) {
			fewest = some
		}
	}
	open = slices.DeleteFunc(slices.Clone(all), func(e *field.Error) bool { return slices.Contains(certain, e) })
	return certain, open, fewest
}

func chosen(lacks []Lack, bits int) []Lack {
	var out []Lack
	for i, l := range lacks {
		if bits&(1<<i) != 0 {
			out = append(out, l)
		}
	}
	return out
}

// remaining are the obstacles that stay word by word where the lacks are filled with what might be there.
func remaining(all field.ErrorList, env conversion.Env, lacks []Lack, check func(conversion.Env) field.ErrorList) field.ErrorList {
	for _, l := range lacks {
		l.suppose(&env)
	}
	there := check(env)
	return slices.DeleteFunc(slices.Clone(all), func(e *field.Error) bool {
		return !slices.ContainsFunc(there, func(o *field.Error) bool { return o.Field == e.Field && o.Type == e.Type && o.Detail == e.Detail })
	})
}

// supposition is what an installer might have left in a cluster: names that no cluster has, so that whatever is compared with them reads otherwise.
type supposition struct{ infraCluster, platformStatus, platformSpec string }

func (s supposition) infrastructure(c Cluster) map[string]any {
	name := strings.ToLower(c.Platform)
	status := object(s.platformStatus)
	if c.Region != "" {
		status["region"] = c.Region
	}
	return map[string]any{
		"spec":   map[string]any{"platformSpec": map[string]any{"type": c.Platform, name: object(s.platformSpec)}},
		"status": map[string]any{"infrastructureName": c.Name, "platformStatus": map[string]any{"type": c.Platform, name: status}},
	}
}

// object reads an object of this file anew, so that nothing is shared.
func object(text string) map[string]any {
	out := map[string]any{}
	_ = json.Unmarshal([]byte(text), &out) // "" is empty, and a test reads the others
	return out
}

// supposed has a row for each platform that is converted.
var supposed = map[string]supposition{
	"AWS": {infraCluster: `{"spec":{"region":"supposed","controlPlaneLoadBalancer":{"name":"supposed-int","loadBalancerType":"nlb"},
		"secondaryControlPlaneLoadBalancer":{"name":"supposed-ext","loadBalancerType":"nlb"}}}`},
	"Azure": {
		infraCluster: `{"spec":{"subscriptionID":"","location":"supposed","resourceGroup":"supposed","azureEnvironment":"AzurePublicCloud","networkSpec":{
		"vnet":{"name":"supposed","resourceGroup":"supposed"},"subnets":[{"name":"supposed-master","role":"control-plane"},{"name":"supposed-worker","role":"node"}],
		"apiServerLB":{"name":"supposed-internal","type":"Internal"},"controlPlaneOutboundLB":{"name":"supposed"},"nodeOutboundLB":{"name":"supposed"}}}}`,
		platformStatus: `{"resourceGroupName":"supposed","networkResourceGroupName":"supposed","cloudName":"AzurePublicCloud"}`,
	},
	"GCP": {
		infraCluster:   `{"spec":{"project":"supposed","region":"supposed","network":{"name":"supposed"},"loadBalancer":{"apiServerInstanceGroupTagOverride":"master"}}}`,
		platformStatus: `{"projectID":"supposed","region":"supposed"}`,
	},
	"OpenStack": {
		infraCluster: `{"spec":{"identityRef":{"name":"openstack-cloud-credentials","cloudName":"openstack"},"network":{"filter":{"name":"supposed"}},
		"subnets":[{"filter":{"name":"supposed"}}],"tags":["openshiftClusterID=supposed"]}}`,
		platformStatus: `{"cloudName":"openstack","apiServerInternalIPs":["192.0.2.5"],"ingressIPs":["192.0.2.7"],"loadBalancer":{"type":"OpenShiftManagedDefault"}}`,
	},
	"VSphere": {
		infraCluster: `{"spec":{"server":"supposed.example.com"}}`,
		platformSpec: `{"vcenters":[{"server":"supposed.example.com","datacenters":["supposed"]}],"failureDomains":[{"name":"supposed","region":"supposed","zone":"supposed",
		"server":"supposed.example.com","topology":{"datacenter":"supposed","computeCluster":"/supposed/host/supposed","datastore":"/supposed/datastore/supposed","networks":["supposed"],
		"template":"/supposed/vm/supposed","folder":"/supposed/vm/supposed"}}]}`,
	},
	"PowerVS": {
		infraCluster: `{"spec":{"serviceInstance":{"name":"supposed"},"zone":"supposed","resourceGroup":{"name":"supposed"},"network":{"regex":"supposed"},
		"vpc":{"name":"supposed","region":"supposed"},"loadBalancers":[{"name":"supposed","public":true},{"name":"supposed-int","public":false}]}}`,
		platformStatus: `{"region":"supposed","zone":"supposed","resourceGroup":"supposed"}`,
	},
	"Nutanix": {
		infraCluster: `{"spec":{"prismCentral":{"address":"supposed.example.com","port":9440}}}`,
		platformSpec: `{"prismCentral":{"address":"supposed.example.com","port":9440},"failureDomains":[{"name":"supposed","cluster":{"type":"Name","name":"supposed"},
		"subnets":[{"type":"Name","name":"supposed"}]}]}`,
	},
}
