// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/twin"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Cluster describes the cluster of the objects: by its Infrastructure or, if none was shown, by flags and by the objects.
type Cluster struct {
	// Platform is the platform's name, such as AWS; Name the cluster's; Region its region.
	Platform, Name, Region string
	// NodeSync has the flags of Cluster API's manager, if they are known.
	NodeSync conversion.NodeSync
	// Gates are the feature gates of Cluster API's manager; nil if they are not known. A gate that is not in the map is off.
	Gates map[string]bool
	// Assumed are sentences about facts that do not come from the Infrastructure.
	Assumed []string

	about map[string]any
	// flagged reports that flags name the platform, the cluster or the region.
	flagged bool
}

// Describe returns the cluster's description. value has what flags give. Its platform, name and region count only if there is no Infrastructure. Its flags of
// Cluster API's manager count only if those in use are not known.
func (f *Fleet) Describe(value Cluster) Cluster {
	if f.infrastructure != nil {
		c := describe(f.infrastructure)
		for _, flag := range []struct{ name, given, is string }{
			{"platform", value.Platform, c.Platform}, {"cluster-name", value.Name, c.Name}, {"region", value.Region, c.region()},
		} {
			if flag.given != "" && flag.given != flag.is {
				c.Assumed = append(c.Assumed, fmt.Sprintf("--%s %s is ignored, because the Infrastructure object has %q.", flag.name, flag.given, flag.is))
			}
		}
		if c.NodeSync = f.nodeSync; f.nodeSync.Labels == nil && f.nodeSync.Annotations == nil {
			c.NodeSync = value.NodeSync
		}
		if c.Gates = f.gates; c.Gates == nil {
			c.Gates = value.Gates
		}
		return c
	}
	c := value
	c.flagged = value.Platform+value.Name+value.Region != ""
	c.guess(f.all(), map[bool]string{true: withheld, false: notGiven}[f.withheld])
	c.about = map[string]any{"status": map[string]any{
		"infrastructureName": c.Name,
		"platformStatus":     map[string]any{"type": c.Platform, strings.ToLower(c.Platform): map[string]any{"region": c.Region}},
	}}
	return c
}

func describe(infrastructure *policies.Object) Cluster {
	var status struct {
		InfrastructureName string `json:"infrastructureName"`
		PlatformStatus     struct {
			Type string `json:"type"`
		} `json:"platformStatus"`
	}
	c := Cluster{}
	if err := json.Unmarshal(infrastructure.Raw(), &c.about); err == nil {
		_ = json.Unmarshal(infrastructure.Status, &status) // the names in a status that cannot be read stay empty
	}
	c.Name, c.Platform = status.InfrastructureName, status.PlatformStatus.Type
	return c
}

// region is the Infrastructure's region.
func (c Cluster) region() string {
	region, _, _ := unstructured.NestedString(c.about, "status", "platformStatus", strings.ToLower(c.Platform), "region")
	return region
}

// The reasons why a cluster is described by its objects.
const (
	notGiven = "No Infrastructure object was given"
	withheld = "You may not read the Infrastructure named cluster (" + ViewerRole + "; bind the role cluster-wide)"
)

// guess fills in the missing facts from the objects, and records each guess in Assumed.
func (c *Cluster) guess(pairs []Pair, why string) {
	var taken []string
	fill := func(what string, into *string, from func(Pair) string) {
		if *into != "" {
			return
		}
		for _, p := range pairs {
			if *into = from(p); *into != "" {
				taken = append(taken, fmt.Sprintf("%s %s (from %s)", what, *into, p.Ref()))
				return
			}
		}
	}
	fill("platform", &c.Platform, platformOf)
	fill("cluster name", &c.Name, clusterNameOf)
	fill("region", &c.Region, regionOf)
	if c.Name == "" {
		c.Name = unnamed
		taken = append(taken, "cluster name "+unnamed+" (unknown: set --cluster-name)")
	}
	if len(taken) > 0 {
		c.Assumed = append(c.Assumed, why+", so this command assumes: "+strings.Join(taken, ", ")+".", uncompared[why])
	}
}

// uncompared has, for each reason why a cluster is described by its objects, a sentence about what an answer leaves out.
var uncompared = map[string]string{
	notGiven: "The command did not check what all machines of a cluster share (infrastructure cluster object, load balancers, resource groups): " +
		"for an exact answer, add the Infrastructure and the infrastructure cluster object.",
	withheld: "The command did not check the Infrastructure's other fields, such as tags and failure domains.",
}

// unnamed replaces the unknown name of a cluster, so that everything else can be reported.
const unnamed = "my-cluster"

// providerSpec is the part of a providerSpec that identifies its cluster.
type providerSpec struct {
	Kind      string `json:"kind"`
	Region    string `json:"region"`
	Placement struct {
		Region string `json:"region"`
	} `json:"placement"`
}

func providerSpecOf(p Pair) providerSpec {
	type machine struct {
		ProviderSpec struct {
			Value providerSpec `json:"value"`
		} `json:"providerSpec"`
	}
	var spec struct {
		machine
		Template struct {
			Spec machine `json:"spec"`
		} `json:"template"`
	}
	if p.MachineAPI != nil {
		_ = json.Unmarshal(p.MachineAPI.Spec, &spec) // the conversion reports what is wrong with it
	}
	if spec.ProviderSpec.Value.Kind != "" {
		return spec.ProviderSpec.Value
	}
	return spec.Template.Spec.ProviderSpec.Value
}

// exampleOf returns the whole providerSpec, nil if there is none.
func exampleOf(p Pair) map[string]any {
	if p.MachineAPI == nil {
		return nil
	}
	var o map[string]any
	_ = json.Unmarshal(p.MachineAPI.Raw(), &o) // it was read from JSON
	for _, path := range [][]string{{"spec", "providerSpec", "value"}, {"spec", "template", "spec", "providerSpec", "value"}} {
		if value, found, err := unstructured.NestedMap(o, path...); found && err == nil {
			return value
		}
	}
	return nil
}

func platformOf(p Pair) string {
	value, ref := providerSpecOf(p), p.InfraRef()
	i := slices.IndexFunc(platforms.List(), func(pl conversion.Platform) bool {
		return value.Kind != "" && pl.ProviderSpec.Kind == value.Kind ||
			ref.Name != "" && slices.Contains([]string{pl.InfraMachine.Kind, pl.InfraMachineTemplate.Kind}, ref.Kind)
	})
	if i < 0 {
		return ""
	}
	return platforms.List()[i].Name
}

func regionOf(p Pair) string {
	value := providerSpecOf(p)
	if value.Placement.Region != "" {
		return value.Placement.Region
	}
	return value.Region
}

func clusterNameOf(p Pair) string {
	if p.MachineAPI != nil {
		return clusterLabelOf(p.MachineAPI)
	}
	var spec struct {
		ClusterName string `json:"clusterName"`
	}
	_ = json.Unmarshal(p.ClusterAPI.Spec, &spec) // the conversion reports what is wrong with it
	return spec.ClusterName
}

// clusterLabelOf returns the cluster's name from the object's label, or else from the label in a set's template.
func clusterLabelOf(o *policies.Object) string {
	const label = machinev1beta1.MachineClusterIDLabel
	if name := o.Metadata.Labels[label]; name != "" {
		return name
	}
	var spec struct {
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
		} `json:"template"`
	}
	_ = json.Unmarshal(o.Spec, &spec) // the conversion reports what is wrong with it
	return spec.Template.Metadata.Labels[label]
}

// Env returns the cluster's description for a conversion of the pair. The error is why no conversion can be tried.
func (f *Fleet) Env(c Cluster, p Pair) (conversion.Env, error) {
	env := conversion.Env{
		MachineAPINamespace: p.Namespaces.MachineAPI, ClusterAPINamespace: p.Namespaces.ClusterAPI, NodeSync: c.NodeSync,
		TakesTaints: f.takesTaints(c),
	}
	provided := p.Kind.Infra != ""
	switch missing := environment.Describe(c.about, provided, &env); {
	case missing.Reason == conversion.ReasonPlatformNotSupported, missing.Reason != "" && c.Platform == "" && provided && f.infrastructure == nil:
		return env, notConverted(c, p)
	case missing.Reason != "":
		return env, NotReadyError{missing.Message}
	case !provided:
		return env, nil
	}
	env.Example = exampleOf(p)
	env.Account, env.ControlPlane = f.accountOf(env.Platform), f.controlPlane(p.Namespaces)
	if o := f.infra[infraKey{env.Platform.InfraCluster.Kind, p.Namespaces.ClusterAPI, c.Name}]; o != nil {
		_ = json.Unmarshal(o.Raw(), &env.InfraCluster) // it was read from JSON
	}
	return env, nil
}

// all returns all pairs that were read. They all describe the cluster, whichever of them were requested.
func (f *Fleet) all() []Pair {
	if len(f.Beside) == 0 {
		return f.Pairs
	}
	all := slices.Concat(f.Pairs, f.Beside)
	slices.SortFunc(all, order)
	return all
}

// controlPlane returns the control plane's Machines in a pair of namespaces, except those that are being deleted.
func (f *Fleet) controlPlane(in authority.Pair) []conversion.Master {
	if f.masters == nil {
		f.masters = map[authority.Pair][]conversion.Master{}
		for _, p := range f.all() {
			if p.MachineAPI == nil || !p.Kind.InfraActs() || !authority.OfControlPlane(p.MachineAPI.Metadata.Labels) || p.MachineAPI.Deleting() {
				continue
			}
			var spec struct {
				ProviderSpec struct {
					Value map[string]any `json:"value"`
				} `json:"providerSpec"`
			}
			_ = json.Unmarshal(p.MachineAPI.Spec, &spec) // the conversion reports what is wrong with it
			f.masters[p.Namespaces] = append(f.masters[p.Namespaces], conversion.Master{Name: p.Name, ProviderSpec: spec.ProviderSpec.Value})
		}
	}
	return f.masters[in]
}

// SelectsBy returns a function that reports whether the pair's MachineSet, if it was read, selects the pair by a label.
func (f *Fleet) SelectsBy(p Pair) func(label string) bool {
	var sets []map[string]any
	for _, set := range slices.Concat(f.Pairs, f.Beside) {
		if set.Kind.Name != p.Kind.Parent || set.Name != p.Set() || set.Namespaces != p.Namespaces {
			continue
		}
		for _, o := range set.Objects() {
			var content map[string]any
			_ = json.Unmarshal(o.Raw(), &content) // it was read from JSON
			sets = append(sets, content)
		}
	}
	return func(label string) bool {
		return slices.ContainsFunc(sets, func(set map[string]any) bool { return twin.Selects(set, label) })
	}
}

// takesTaints reports whether Cluster API's feature gate for taints is on; nil if that is not known. A stored object with a taint shows that the gate is on.
func (f *Fleet) takesTaints(c Cluster) *bool {
	shows := func(p Pair) bool {
		return p.ClusterAPI != nil && p.ClusterAPI.Metadata.UID != "" && authority.Tainted(p.ClusterAPI)
	}
	if slices.ContainsFunc(f.all(), shows) {
		return ptr.To(true)
	}
	if c.Gates == nil {
		return nil
	}
	return ptr.To(c.Gates[authority.TaintGate])
}

// accountOf returns the account in the cloud provider's configuration, or else in the ID of any instance.
func (f *Fleet) accountOf(platform conversion.Platform) string {
	if platform.Account == nil || f.account != "" {
		return f.account
	}
	if account := accountIn(f.cloudConfig, platform.Account); account != "" {
		return account
	}
	for _, p := range f.all() {
		for _, o := range p.Objects() {
			var spec struct {
				ProviderID string `json:"providerID"`
			}
			_ = json.Unmarshal(o.Spec, &spec) // the conversion reports what is wrong with it
			if account := platform.Account(spec.ProviderID); account != "" {
				return account
			}
		}
	}
	return ""
}

func accountIn(config *policies.Object, read func(string) string) string {
	var content struct {
		Data map[string]string `json:"data"`
	}
	if config == nil || json.Unmarshal(config.Raw(), &content) != nil {
		return ""
	}
	for _, text := range content.Data {
		if account := read(text); account != "" {
			return account
		}
	}
	return ""
}

// notConverted returns the error, with the reason, if no conversion can be tried.
func notConverted(c Cluster, p Pair) error {
	if c.Platform != "" {
		return errors.New(platforms.Unsupported(c.Platform))
	}
	if kind := providerSpecOf(p).Kind; kind != "" {
		return fmt.Errorf("machines with a providerSpec of kind %s cannot be migrated yet", kind)
	}
	return ErrPlatformNotKnown
}

// NotReadyError reports that the cluster lacks an object without which nothing converts on any platform. The mirror's reason for that is ClusterNotReady.
type NotReadyError struct{ message string }

func (e NotReadyError) Error() string { return e.message }

// ErrPlatformNotKnown reports that neither the objects nor a flag name the cluster's platform.
var ErrPlatformNotKnown = errors.New("the platform is unknown: give the Infrastructure object, or --platform")
