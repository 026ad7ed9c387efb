// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// hostsAnnotation is on a MachineSet whose replicas are decided by Machine API's controller for bare metal.
const hostsAnnotation = "metal3.io/autoscale-to-hosts"

// Neighbour is another component that writes to an object of the Machine API.
type Neighbour struct {
	// Who is the component's name, as documents and Deployments spell it.
	Who string `json:"who"`
	// What is a sentence: what changes for the component while Cluster API is authoritative.
	What string `json:"what"`
	// Refused reports that the component's writes are refused while Cluster API is authoritative. Its controllers read no warning, and report the refusal in a
	// place where nobody looks for the cause.
	Refused bool `json:"refused"`
}

// Neighbours returns the other components that write to a Machine API object, and what changes for each while Cluster API is authoritative. It recognizes a
// component by what the component has written to the object.
func Neighbours(kind string, o *policies.Object) []Neighbour {
	out := gitOps(o)
	if kind == "MachineSet" {
		out = slices.Concat(out, bootImages(o), hive(o), upgradeSet(o), autoscaled(o))
	}
	return out
}

// neighbourWarnings returns a warning for each component whose writes will be refused once the object has moved to Cluster API, or that will lack something.
func neighbourWarnings(c policies.Change) []string {
	if askedFor(c.New) != ClusterAPI {
		return nil
	}
	var out []string
	for _, n := range Neighbours(c.Kind, c.New) {
		if n.Refused {
			out = append(out, n.What)
		}
	}
	for _, n := range Remediator(c) {
		out = append(out, n.What)
	}
	return out
}

// gitOps returns the Neighbour for an object that Argo CD, Flux or ACM applies; nil for other objects. It recognizes these tools by what they write to the
// object.
func gitOps(o *policies.Object) []Neighbour {
	app := appOf(o)
	if app == "" {
		return nil
	}
	return []Neighbour{{Who: "GitOps", Refused: true,
		What: fmt.Sprintf("while Cluster API is authoritative, changes of spec by GitOps (app %s) are refused: set spec.authoritativeAPI: ClusterAPI in its "+
			"manifest, and make changes in a manifest of the Cluster API object",
			brief(app))}}
}

// appOf returns the name that GitOps gives to the group of objects to which this one belongs (Argo CD's app, Flux's Kustomization or HelmRelease, ACM's work);
// "" if GitOps does not apply the object. Helm writes a label that Argo CD uses, too, so an object that Helm manages is not taken for Argo CD's.
func appOf(o *policies.Object) string {
	labels, annotations := o.Metadata.Labels, o.Metadata.Annotations
	app := cmp.Or(labels["kustomize.toolkit.fluxcd.io/name"], labels["helm.toolkit.fluxcd.io/name"])
	for _, ref := range o.Metadata.OwnerReferences {
		if ref.Kind == appliedWork && strings.HasPrefix(ref.APIVersion, workGroup+"/") {
			app = cmp.Or(app, ref.Name)
		}
	}
	if labels["app.kubernetes.io/managed-by"] != "Helm" {
		argo, _, _ := strings.Cut(cmp.Or(
			labels["app.kubernetes.io/instance"], annotations["app.kubernetes.io/instance"], annotations["argocd.argoproj.io/tracking-id"]), ":")
		app = cmp.Or(argo, app)
	}
	return app
}

// setSpec has those fields of a MachineSet's spec that these warnings read.
type setSpec struct {
	Template machineTemplate `json:"template"`
}

// machineTemplate has those fields of a set's template that these warnings read.
type machineTemplate struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		onNode
		ProviderSpec struct {
			Value ofProvider `json:"value"`
		} `json:"providerSpec"`
	} `json:"spec"`
}

// ofProvider has those fields of a providerSpec that these warnings read, or by which Provider recognizes its platform.
type ofProvider struct {
	Kind           string `json:"kind"`
	UserDataSecret struct {
		Name string `json:"name"`
	} `json:"userDataSecret"`
	// ManagedIdentity is a name or a resource id.
	ManagedIdentity string   `json:"managedIdentity"`
	TagIDs          []string `json:"tagIDs"`
	ServerGroupName string   `json:"serverGroupName"`
	ServerGroupID   string   `json:"serverGroupID"`
	Subnet          any      `json:"subnet"` // an object on AWS, a name on Azure

	// The following are members that only one platform's providerSpec has, and that this platform requires (Provider.own).
	AMI         any `json:"ami"`
	VMSize      any `json:"vmSize"`
	MachineType any `json:"machineType"`
	Flavor      any `json:"flavor"`
	Workspace   any `json:"workspace"`
	KeyPairName any `json:"keyPairName"`
}

// of reports whether this is the providerSpec of the given provider, by its kind or by a member that only that provider has. Machine API goes by the cluster's
// platform and does not need the kind, so an old set's providerSpec may lack it.
func (p ofProvider) of(known Provider) bool {
	return p.Kind == known.ProviderSpec || known.own != nil && known.own(p) != nil
}

func (p ofProvider) is(kind string) bool {
	return slices.ContainsFunc(providers, func(known Provider) bool { return known.ProviderSpec == kind && p.of(known) })
}

// onNode has those fields of a Machine's spec that are copied to its Node.
type onNode struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

func specOfSet(o *policies.Object) setSpec {
	var spec setSpec
	_ = json.Unmarshal(orNull(o.Spec), &spec) // what cannot be read is another rule's business
	return spec
}

func (p ofProvider) readAgain() bool {
	return slices.ContainsFunc(providers, func(known Provider) bool { return known.ReadsBootDataAgain && p.of(known) })
}

func (p ofProvider) bootImaged() bool {
	return slices.ContainsFunc(providers, func(known Provider) bool { return known.BootImaged && p.of(known) })
}

func bootImages(o *policies.Object) []Neighbour {
	spec := specOfSet(o)
	if !spec.Template.Spec.ProviderSpec.Value.bootImaged() ||
		spec.Template.Metadata.Labels[machineapi.SystemLabel] == "Windows" || len(o.Metadata.OwnerReferences) > 0 {
		return nil
	}
	return []Neighbour{{Who: "machine-config-operator", Refused: true,
		What: "while Cluster API is authoritative, the machine-config-operator cannot change this set's boot image, and reports Degraded: exclude the set in " +
			"spec.managedBootImages of MachineConfiguration cluster (guide: Boot images)"}}
}

func hive(o *policies.Object) []Neighbour {
	pool, managed := o.Metadata.Labels["hive.openshift.io/machine-pool"], o.Metadata.Labels["hive.openshift.io/managed"] == "true"
	if pool == "" && !managed {
		return nil
	}
	return []Neighbour{{Who: "Hive", Refused: true,
		What: fmt.Sprintf("while Cluster API is authoritative, changes of this set by Hive (MachinePool %s) are refused, and its instances outlive the pool: "+
			"take the set out of the pool first",
			brief(pool))}}
}

// upgradeSet returns the Neighbour for the set that the managed-upgrade-operator makes for the time of an upgrade, as a copy of another set; nil for other
// sets.
func upgradeSet(o *policies.Object) []Neighbour {
	if o.Metadata.Labels["upgrade.managed.openshift.io"] == "" {
		return nil
	}
	return []Neighbour{{Who: "managed-upgrade-operator", Refused: true,
		What: "the managed-upgrade-operator deletes this set after the upgrade. If Cluster API is authoritative at that time, the instances keep running. Leave " +
			"the set with Machine API"}}
}

// autoscaled returns the Neighbour for a set that the cluster autoscaler scales: a set that carries the annotation with the maximum that the autoscaler
// requires; nil for other sets.
func autoscaled(o *policies.Object) []Neighbour {
	if !o.HasAnnotation(machineapi.AutoscalerMaxSizeAnnotation) {
		return nil
	}
	return []Neighbour{{Who: "cluster-autoscaler",
		What: "the cluster autoscaler continues to scale the Machine API's set, and Poundlock copies replicas, marks and limits to Cluster API's set"}}
}
