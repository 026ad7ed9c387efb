// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies"
)

// hostsAnnotation has Machine API's controller of bare metal sets decide a set's replicas.
const hostsAnnotation = "metal3.io/autoscale-to-hosts"

// scaledByHosts reports whether a request asks for the move of a set whose replicas a controller of the Machine API's decides, which does not look at authority.
func scaledByHosts(c policies.Change) bool {
	return c.Kind == "MachineSet" && askedFor(c.New) == ClusterAPI && c.New.HasAnnotation(hostsAnnotation)
}

// neighbourWarnings name who else writes to a Machine API object, and is refused once Cluster API is authoritative: their controllers read no warning, and say so
// where nobody looks for the cause.
func neighbourWarnings(c policies.Change) []string {
	if askedFor(c.New) != ClusterAPI {
		return nil
	}
	out := gitOps(c)
	if c.Kind == "MachineSet" {
		out = append(out, concat(bootImages(c), hive(c), upgradeSet(c))...)
	}
	return out
}

// gitOps tells an object of Argo CD's by what that writes to it.
func gitOps(c policies.Change) []string {
	app := cmp.Or(c.New.Metadata.Labels["app.kubernetes.io/instance"], c.New.Metadata.Annotations["app.kubernetes.io/instance"], c.New.Metadata.Annotations["argocd.argoproj.io/tracking-id"])
	if app == "" || c.New.Metadata.Labels["app.kubernetes.io/managed-by"] == "Helm" {
		return nil
	}
	app, _, _ = strings.Cut(app, ":")
	return []string{fmt.Sprintf("GitOps (app %s) is refused changes of spec while Cluster API is authoritative: have its manifest say so, and make changes in one of the Cluster API object", brief(app))}
}

// bootImaged are the providerSpecs whose boot images the machine-config-operator updates unless somebody excludes a set: AWS and GCP since 4.19. On others somebody asks for it.
var bootImaged = []string{"AWSMachineProviderConfig", "GCPMachineProviderSpec"}

func bootImages(c policies.Change) []string {
	var spec struct {
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec struct {
				ProviderSpec struct {
					Value struct {
						Kind string `json:"kind"`
					} `json:"value"`
				} `json:"providerSpec"`
			} `json:"spec"`
		} `json:"template"`
	}
	_ = json.Unmarshal(orNull(c.New.Spec), &spec) // what cannot be read is another rule's business
	if !slices.Contains(bootImaged, spec.Template.Spec.ProviderSpec.Value.Kind) ||
		spec.Template.Metadata.Labels["machine.openshift.io/os-id"] == "Windows" || len(c.New.Metadata.OwnerReferences) > 0 {
		return nil
	}
	return []string{"boot images: the machine-config-operator is refused them on this set while Cluster API is authoritative, and reports Degraded: exclude the set in spec.managedBootImages of MachineConfiguration cluster"}
}

func hive(c policies.Change) []string {
	pool, managed := c.New.Metadata.Labels["hive.openshift.io/machine-pool"], c.New.Metadata.Labels["hive.openshift.io/managed"] == "true"
	if pool == "" && !managed {
		return nil
	}
	return []string{fmt.Sprintf("Hive (MachinePool %s) is refused changes of this set while Cluster API is authoritative, and its instances outlive the pool: take it out of the pool first", brief(pool))}
}

// upgradeSet tells the set that the managed-upgrade-operator makes around an upgrade, as a copy of another.
func upgradeSet(c policies.Change) []string {
	if c.New.Metadata.Labels["upgrade.managed.openshift.io"] == "" {
		return nil
	}
	return []string{"the managed-upgrade-operator deletes this set after the upgrade: if Cluster API is authoritative then, its instances run on. Leave it with Machine API"}
}
