// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// The groups that the plugin looks at.
const (
	machineGroup = "machine.openshift.io"
	clusterGroup = "cluster.x-k8s.io"
	infraGroup   = "infrastructure.cluster.x-k8s.io"
	configGroup  = "config.openshift.io"
)

// The ConfigMap that the cloud provider's configuration is in.
const (
	configNamespace = "openshift-config"
	cloudConfigName = "cloud-provider-config"
)

// DefaultPair is where OpenShift keeps the two sides.
var DefaultPair = authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"}

// Pair is one Machine, MachineSet or MachineHealthCheck as its two sides have it; a side that does not exist, or was not
// shown, is nil.
type Pair struct {
	Kind       authority.Kind
	Namespaces authority.Pair
	Name       string
	// MachineAPI and ClusterAPI are the core objects, Infra is the provider's object that ClusterAPI refers to.
	MachineAPI, ClusterAPI, Infra *policies.Object
	// InfraInstance is what the provider keeps for the instance beside Infra. InstancesUnknown reports that such objects were not shown, or the cluster has no
	// such kind.
	InfraInstance    *policies.Object
	InstancesUnknown bool
	// NotServed is why a provider's object of the pair cannot be looked at, a sentence; "" where it can.
	NotServed string
	// Uncounted are the Machines, of those that were read, which one MachineSet of the pair counts and the other does not.
	Uncounted []policies.Uncounted
	// Holders are the names of other Machines, of those that were read, with the same spec.providerID.
	Holders []string
	// Rival is what of OpenShift's own migration runs in the cluster (authority.Rival), "" for nothing.
	Rival string
	// Undrained reports that Cluster API finds no Machine of the control plane in the namespace, and deletes Machines without a drain. Of files nobody knows.
	Undrained bool
	// PausedCluster is the name of the Cluster of ClusterAPI, if it was read and is paused; "" for none.
	PausedCluster string
	// Remediation is what was found of the template of a check that has somebody else remediate, in the namespace of Cluster API.
	Remediation policies.Existence
	// Source is the file that the pair was read from, "" for a cluster.
	Source string
	// Place is where it stood among all that was read.
	Place int
}

// Shape is what the Machine API object says about authority.
func (p Pair) Shape() authority.Shape { return authority.Read(p.MachineAPI) }

// Authoritative is the API that acts now. Of what has no Machine API object that is Cluster API.
func (p Pair) Authoritative() authority.API {
	if p.MachineAPI == nil {
		return authority.ClusterAPI
	}
	return authority.Authoritative(p.Shape())
}

// Moving reports whether authority is between the two APIs, or asked to go to the other one.
func (p Pair) Moving() bool {
	s := p.Shape()
	return s.Current == authority.Migrating || s.Requested.Other() != authority.Unset && s.Requested.Other() == s.Current
}

// Ref is the pair as a person names it: machineset/worker-a.
func (p Pair) Ref() string { return RefOf(p.Kind.Name, p.Name) }

// Object names the pair's object as `kubectl -o name` does, with its group: what kubectl reads as machine/x is Cluster API's. It is the
// Machine API's where there is one.
func (p Pair) Object() string {
	if p.MachineAPI == nil {
		return ObjectOf(p.Kind.Name, p.Kind.ClusterAPI.Group, p.Name)
	}
	return ObjectOf(p.Kind.Name, p.Kind.MachineAPI.Group, p.Name)
}

// ObjectOf is an object of a group as Object names it.
func ObjectOf(kind, group, name string) string {
	return strings.ToLower(kind) + "." + group + "/" + name
}

// RefOf names an object as a person does: machineset/worker-a.
func RefOf(kind, name string) string { return strings.ToLower(kind) + "/" + name }

// Names names objects where they are few, and counts them by kind where they are many.
func Names(refs []string) string {
	if len(refs) <= 3 {
		return strings.Join(refs, ", ")
	}
	var parts []string
	for _, k := range []string{"MachineSet", "Machine", "MachineHealthCheck"} {
		n := 0
		for _, ref := range refs {
			if strings.HasPrefix(ref, strings.ToLower(k)+"/") {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, amount.Of(n, k))
		}
	}
	return strings.Join(parts, ", ")
}

// Stored reports whether the Machine API object comes from an API server: a manifest has no uid, and its status says nothing.
func (p Pair) Stored() bool { return p.MachineAPI != nil && p.MachineAPI.Metadata.UID != "" }

// Set is the name of the MachineSet that the Machine belongs to, "" for none: by its controller, else by its label.
func (p Pair) Set() string {
	o := p.MachineAPI
	if o == nil {
		o = p.ClusterAPI
	}
	for _, ref := range o.Metadata.OwnerReferences {
		if ref.Kind == "MachineSet" && ref.Controller != nil && *ref.Controller {
			return ref.Name
		}
	}
	return o.Metadata.Labels[machineapi.MachineSetLabel]
}

// Set is a ControlPlaneMachineSet, which has no twin.
type Set struct {
	Namespaces authority.Pair
	Object     *policies.Object
}

// Shape is what the set says about authority.
func (s Set) Shape() authority.Shape { return authority.Read(s.Object) }

// Ref is the set as a person names it: controlplanemachineset/cluster.
func (s Set) Ref() string { return RefOf(controlplane.Kind, s.Object.Metadata.Name) }

// Fleet is all that was shown.
type Fleet struct {
	// Pairs are in the order of kinds, then names.
	Pairs []Pair
	// Beside are pairs that were shown too, and that nobody asked about.
	Beside []Pair
	// Sets are the ControlPlaneMachineSets that were shown, in any order.
	Sets []Set
	// masters are kept by controlPlane.
	masters map[authority.Pair][]conversion.Master
	// Problems are documents that claim to be one of ours and cannot be read.
	Problems []Problem
	// Others counts objects that are none of ours.
	Others int
	// held counts all that was shown, by kind.
	held map[string]int
	// infra are the infrastructure objects.
	infra map[infraKey]*policies.Object
	// cloudConfig is the cloud provider's configuration, where files have it.
	cloudConfig *policies.Object

	circumstances
}

// circumstances are what was read of the cluster beside the objects themselves. Who follows the objects keeps them as they were first read.
type circumstances struct {
	// Rival is what of OpenShift's own migration runs in the cluster (authority.Rival), "" for nothing.
	Rival string
	// NoInfrastructure is the sentence about a cluster whose Infrastructure does not exist, "" for any other.
	NoInfrastructure string

	// listed reports that the objects are a cluster's, so that one that is not there does not exist; clusters are the namespaces in which the Cluster does.
	listed   bool
	clusters map[string]bool

	infrastructure *policies.Object
	// withheld reports that the user may not read the Infrastructure. Then guess describes the cluster by its objects.
	withheld bool
	guess    Cluster
	nodeSync conversion.NodeSync
	// nodeSyncRead: nodeSync is what Cluster API's manager has.
	nodeSyncRead bool
	// gates are the feature gates of Cluster API's manager, nil where they were not read.
	gates   map[string]bool
	account string
	// absent are resources that the cluster does not serve.
	absent []schema.GroupVersionResource
	// unlisted are those that the user may not list, and need not.
	unlisted []schema.GroupVersionResource
	// undrained are the namespaces in which Cluster API finds no Machine of the control plane.
	undrained []string
	// paused are the namespaces and names of the Clusters that are paused.
	paused []types.NamespacedName
	// undefined are the names of the definitions of Machines and their like that the cluster does not have.
	undefined []string
	// notServed are sentences about the absent kinds whose definition exists, by kind.
	notServed map[string]string
}

// Problem is a document that could not be read, and why.
type Problem struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

type infraKey struct{ kind, namespace, name string }

// sideKey names one side of a pair.
type sideKey struct {
	kind, name string
	pair       authority.Pair
}

// collection takes objects in, in any order.
type collection struct {
	pairs    authority.Pairs
	sides    map[sideKey]*Pair
	fleet    *Fleet
	nextFile string
	// other is a second cluster that was shown.
	other *Cluster
	// withoutInfrastructure is the query's.
	withoutInfrastructure bool
}

func newCollection(pairs authority.Pairs) *collection {
	return &collection{pairs: pairs, sides: map[sideKey]*Pair{}, fleet: &Fleet{infra: map[infraKey]*policies.Object{}, held: map[string]int{},
		circumstances: circumstances{notServed: map[string]string{}, clusters: map[string]bool{}}}}
}

// group is the API group and version of an object.
func group(o *policies.Object) (string, string) {
	g, v, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		return "", g
	}
	return g, v
}

// add takes an object in. What is shown twice (a must-gather has lists and single files) counts once: the first one stays.
func (c *collection) add(o *policies.Object) {
	g, version := group(o)
	kind, known := authority.KindNamed(o.Kind)
	name := o.Kind
	if known { // of a third group
		name += "." + g
	}
	c.fleet.held[name]++
	switch {
	case g == machineGroup && known:
		if p := c.side(kind, o, policies.SideMachineAPI); p.MachineAPI == nil {
			p.MachineAPI = o
		}
	case g == clusterGroup && known && version != kind.ClusterAPI.Version:
		c.problem(o.Kind + " " + o.Metadata.Name + " is of " + o.APIVersion + "; this build reads " + kind.ClusterAPI.String() +
			": ask the API server for that version, or convert the manifest")
	case g == clusterGroup && known:
		if p := c.side(kind, o, policies.SideClusterAPI); p.ClusterAPI == nil {
			p.ClusterAPI = o
		}
	case g == infraGroup:
		c.addInfra(o)
	case g == "" && o.Kind == "ConfigMap" && o.Metadata.Namespace == configNamespace && o.Metadata.Name == cloudConfigName:
		c.fleet.cloudConfig = o
	case g == configGroup && o.Kind == "Infrastructure":
		if c.fleet.infrastructure == nil {
			c.fleet.infrastructure = o
		} else if one, other := describe(c.fleet.infrastructure), describe(o); one.Name != other.Name || one.Platform != other.Platform {
			c.other = &other
		}
	default:
		c.fleet.Others++
		if g == clusterGroup && o.Kind == authority.Cluster {
			c.addCluster(o)
		}
		if g == machineGroup && o.Kind == controlplane.Kind {
			c.fleet.Sets = append(c.fleet.Sets, Set{c.namespaces(o.Metadata.Namespace, policies.SideMachineAPI), o})
		}
	}
}

// Unchecked are sentences about objects that a person would expect to be judged, and are not.
func (f *Fleet) Unchecked() []string {
	var out []string
	for _, set := range f.Sets {
		out = append(out, controlplane.Kind+" "+set.Object.Metadata.Name+
			" was not checked: it moves alone, and its Machines as any others do. To see what it would do: kubectl poundlock controlplane plan -f FILE")
	}
	return out
}

// addCluster notes a Cluster that is paused.
func (c *collection) addCluster(o *policies.Object) {
	if authority.PausesAll(o) {
		c.fleet.paused = append(c.fleet.paused, types.NamespacedName{Namespace: cmp.Or(o.Metadata.Namespace, c.pairs[0].ClusterAPI), Name: o.Metadata.Name})
	}
}

func (c *collection) addInfra(o *policies.Object) {
	ns := o.Metadata.Namespace
	if ns == "" {
		ns = c.pairs[0].ClusterAPI
	}
	key := infraKey{o.Kind, ns, o.Metadata.Name}
	if c.fleet.infra[key] == nil {
		c.fleet.infra[key] = o
	}
}

func (c *collection) problem(text string) {
	c.fleet.Problems = append(c.fleet.Problems, Problem{Source: c.nextFile, Text: text})
}

func (c *collection) side(kind authority.Kind, o *policies.Object, side policies.Side) *Pair {
	key := sideKey{kind.Name, o.Metadata.Name, c.namespaces(o.Metadata.Namespace, side)}
	if o.Metadata.Name == "" {
		key.name = o.Metadata.GenerateName
	}
	p := c.sides[key]
	if p == nil {
		p = &Pair{Kind: kind, Name: key.name, Namespaces: key.pair, Source: c.nextFile, Place: len(c.sides)}
		c.sides[key] = p
	}
	return p
}

// namespaces is the pair of a namespace; a file may have objects of any namespace, or none.
func (c *collection) namespaces(namespace string, side policies.Side) authority.Pair {
	pair, ok := c.pairs.Of(namespace)
	switch {
	case ok:
		return pair
	case namespace == "":
		return c.pairs[0]
	case side == policies.SideMachineAPI:
		return authority.Pair{MachineAPI: namespace, ClusterAPI: c.pairs[0].ClusterAPI}
	}
	return authority.Pair{MachineAPI: c.pairs[0].MachineAPI, ClusterAPI: namespace}
}

// done puts the pairs in order and finds the provider's object of each.
func (c *collection) done() *Fleet {
	for _, p := range c.sides {
		p.Infra, p.Rival = c.fleet.infraOf(*p), c.fleet.Rival
		p.Undrained = slices.Contains(c.fleet.undrained, p.Namespaces.ClusterAPI)
		if name := authority.ClusterOf(p.ClusterAPI); slices.Contains(c.fleet.paused, types.NamespacedName{Namespace: p.Namespaces.ClusterAPI, Name: name}) {
			p.PausedCluster = name
		}
		c.fleet.instanceOf(p)
		c.fleet.Pairs = append(c.fleet.Pairs, *p)
	}
	slices.SortFunc(c.fleet.Pairs, order)
	c.fleet.count()
	return c.fleet
}

// count compares what the two sets of each pair count.
func (f *Fleet) count() {
	owned := map[types.UID][]Pair{}
	for _, p := range f.Pairs {
		for _, o := range []*policies.Object{p.MachineAPI, p.ClusterAPI} {
			if ref := controllerOf(o); ref != nil {
				owned[ref.UID] = append(owned[ref.UID], p)
			}
		}
	}
	f.hold()
	for i, p := range f.Pairs {
		if _, has := p.Kind.Children(); has && p.MachineAPI != nil && p.ClusterAPI != nil {
			f.Pairs[i].Uncounted = f.uncounted(p, slices.Concat(owned[p.MachineAPI.Metadata.UID], owned[p.ClusterAPI.Metadata.UID]))
		}
	}
}

// hold finds the Machines that have the same instance as another.
func (f *Fleet) hold() {
	with := map[string][]*policies.Object{}
	for _, p := range f.Pairs {
		for _, o := range p.core() {
			if id := authority.InstanceKeyOf(o); id != "" && p.Kind.InfraActs() {
				with[id] = append(with[id], o)
			}
		}
	}
	for i, p := range f.Pairs {
		if p.Kind.InfraActs() {
			f.Pairs[i].Holders = authority.Holders(with[authority.InstanceKeyOf(p.MachineAPI)], p.Name, "")
		}
	}
}

func (f *Fleet) uncounted(set Pair, machines []Pair) []policies.Uncounted {
	r := authority.Roster{Sets: set.core(), Machines: map[authority.API][]*policies.Object{}, Definitions: map[authority.API]authority.Presence{}}
	child, _ := set.Kind.Children()
	for api := range r.Sets {
		if slices.Contains(f.undefined, child.DefinitionIn(api)) {
			r.Definitions[api] = authority.Absent
		}
	}
	named := map[string]map[authority.API]*policies.Object{}
	for _, m := range machines {
		named[m.Name] = m.core()
		for api, o := range m.core() {
			if o != nil {
				r.Machines[api] = append(r.Machines[api], o)
			}
		}
	}
	out := r.Uncounted()
	for i, u := range out {
		r.Explain(&out[i], named[u.Name])
	}
	return out
}

// core are the pair's core objects by API.
func (p Pair) core() map[authority.API]*policies.Object {
	return map[authority.API]*policies.Object{authority.MachineAPI: p.MachineAPI, authority.ClusterAPI: p.ClusterAPI}
}

func controllerOf(o *policies.Object) *metav1.OwnerReference {
	if o == nil {
		return nil
	}
	return metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: o.Metadata.OwnerReferences})
}

func order(a, b Pair) int {
	return cmp.Or(
		cmp.Compare(rank(a.Kind), rank(b.Kind)),
		strings.Compare(a.Namespaces.MachineAPI, b.Namespaces.MachineAPI),
		strings.Compare(a.Name, b.Name),
	)
}

// rank puts sets before Machines: they are fewer, and say the same.
func rank(k authority.Kind) int {
	return slices.Index([]string{"MachineSet", "Machine", "MachineHealthCheck"}, k.Name)
}

// Reference is what a Cluster API object refers to.
type Reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// InfraRef is the pair's reference to its provider's object; its Name is "" where there is none.
func (p Pair) InfraRef() Reference {
	if p.ClusterAPI == nil || p.Kind.Infra == "" {
		return Reference{}
	}
	type machine struct {
		InfrastructureRef Reference `json:"infrastructureRef"`
	}
	var spec struct {
		machine
		Template struct {
			Spec machine `json:"spec"`
		} `json:"template"`
	}
	_ = json.Unmarshal(p.ClusterAPI.Spec, &spec) // unreadable: refers to nothing
	if p.Kind.Infra == authority.InfraMachineTemplate {
		return spec.Template.Spec.InfrastructureRef
	}
	return spec.InfrastructureRef
}

func (f *Fleet) infraOf(p Pair) *policies.Object {
	ref := p.InfraRef()
	if ref.Name == "" {
		return nil
	}
	return f.infra[infraKey{ref.Kind, p.Namespaces.ClusterAPI, ref.Name}]
}

// instanceOf finds what the provider keeps for the instance of a pair, by the name of its machine, or by that one as its owner.
func (f *Fleet) instanceOf(p *Pair) {
	ref := p.InfraRef()
	kind := authority.InfraInstanceKind(ref.Kind)
	if !p.Kind.InfraActs() || ref.Name == "" {
		return
	}
	p.NotServed = cmp.Or(f.notServed[ref.Kind], f.notServed[kind])
	p.InstancesUnknown = p.Source != "" || slices.ContainsFunc(slices.Concat(f.absent, f.unlisted), func(r schema.GroupVersionResource) bool {
		return kind != "" &&
			r.Resource == strings.ToLower(kind)+"s"
	})
	alike := authority.InfraInstanceNamedAlike(p.Infra)
	named := f.infra[infraKey{kind, p.Namespaces.ClusterAPI, ref.Name}]
	if named != nil && (alike || !authority.KeptForAnother(kind, named.Metadata.OwnerReferences, ref.Name)) {
		p.InfraInstance = named
		return
	}
	for key, o := range f.infra {
		owns := func(r metav1.OwnerReference) bool { return r.UID == p.Infra.Metadata.UID }
		if !alike && key.kind == kind && key.namespace == p.Namespaces.ClusterAPI && slices.ContainsFunc(o.Metadata.OwnerReferences, owns) {
			p.InfraInstance = o
		}
	}
}

// Objects are the pair's objects that exist, the Machine API's first.
func (p Pair) Objects() []*policies.Object {
	return slices.DeleteFunc([]*policies.Object{p.MachineAPI, p.ClusterAPI, p.Infra}, func(o *policies.Object) bool { return o == nil })
}
