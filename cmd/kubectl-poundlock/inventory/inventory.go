// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// The groups that the plugin reads.
var (
	machineGroup = machinev1beta1.GroupName
	clusterGroup = clusterv1.GroupVersion.Group
	infraGroup   = clusterv1.GroupVersionInfrastructure.Group
	configGroup  = configv1.GroupName
)

// The ConfigMap with the cloud provider's configuration.
const (
	configNamespace = "openshift-config"
	cloudConfigName = "cloud-provider-config"
)

// DefaultPair is OpenShift's pair of namespaces.
var DefaultPair = authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"}

// Pair is both sides of one Machine, MachineSet or MachineHealthCheck. A side that does not exist, or was not shown, is nil.
type Pair struct {
	Kind       authority.Kind
	Namespaces authority.Pair
	Name       string
	// MachineAPI and ClusterAPI are the core objects. Infra is the provider's object to which ClusterAPI refers.
	MachineAPI, ClusterAPI, Infra *policies.Object
	// InfraInstance is the object that the provider keeps for the instance, besides Infra. InstancesUnknown reports that such objects were not shown, or that
	// the cluster does not serve the kind.
	InfraInstance    *policies.Object
	InstancesUnknown bool
	// NotServed is a sentence about why a provider's object of the pair cannot be read; "" if it can.
	NotServed string
	// Uncounted are the Machines, among those that were read, that only one MachineSet of the pair counts.
	Uncounted []policies.Uncounted
	// Holders are the names of other Machines, among those that were read, with the same spec.providerID. AlsoKept are the objects, as a kind and a name, that a
	// provider keeps for the same instance and that do not belong to the pair.
	Holders, AlsoKept []string
	// Rival names the running parts of OpenShift's own migration (authority.Rival), "" for none.
	Rival string
	// Undrained reports that Cluster API finds no Machine of the control plane in the namespace, and deletes Machines without a drain. Files cannot show that.
	Undrained bool
	// PausedCluster is the name of ClusterAPI's Cluster if it was read and is paused; "" otherwise.
	PausedCluster string
	// Remediation is whether a health check's template for external remediation exists in Cluster API's namespace, if the template could be read.
	Remediation policies.Existence
	// BootData is whether the Secret of boot data that the object needs in Cluster API exists there (authority.BootSecret), if it was looked for.
	BootData policies.Existence
	// Source is the file of the pair, "" for a cluster.
	Source string
	// Place is the pair's position in the order in which the pairs were read.
	Place int
}

// Shape returns the Machine API object's fields about authority.
func (p Pair) Shape() authority.Shape { return authority.Read(p.MachineAPI) }

// Authoritative returns the API whose controllers act on the pair now. It is Cluster API if there is no Machine API object. It is also Cluster API for a health
// check that Poundlock paused in Machine API, and whose CRD has lost the fields of authority since.
func (p Pair) Authoritative() authority.API {
	if p.MachineAPI == nil || !p.Kind.HasAuthority(p.MachineAPI) && p.MachineAPI.Metadata.Annotations[authority.PausedAnnotation] == authority.PausedByPoundlock {
		return authority.ClusterAPI
	}
	return authority.Authoritative(p.Shape())
}

// Moving reports whether authority is moving, or a move is requested.
func (p Pair) Moving() bool {
	s := p.Shape()
	return s.Current == authority.Migrating || s.Requested.Other() != authority.Unset && s.Requested.Other() == s.Current
}

// Ref is KIND/NAME: machineset/worker-a.
func (p Pair) Ref() string { return RefOf(p.Kind.Name, p.Name) }

// Object names the pair's object as `kubectl -o name` does, with the API group, because kubectl resolves machine/x to Cluster API's Machine. It names the
// Machine API object if there is one.
func (p Pair) Object() string {
	if p.MachineAPI == nil {
		return ObjectOf(p.Kind.Name, p.Kind.ClusterAPI.Group, p.Name)
	}
	return ObjectOf(p.Kind.Name, p.Kind.MachineAPI.Group, p.Name)
}

// ObjectOf returns KIND.GROUP/NAME: machineset.machine.openshift.io/worker-a.
func ObjectOf(kind, group, name string) string {
	return strings.ToLower(kind) + "." + group + "/" + name
}

// RefOf is KIND/NAME: machineset/worker-a.
func RefOf(kind, name string) string { return strings.ToLower(kind) + "/" + name }

// Names lists the names of up to three objects. Of more objects it gives the number of each kind.
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

// Stored reports whether the Machine API object comes from an API server. A manifest has no uid, and its status means nothing.
func (p Pair) Stored() bool { return p.MachineAPI != nil && p.MachineAPI.Metadata.UID != "" }

// Set returns the name of the Machine's MachineSet: that of its controller owner reference, or else that of its label; "" for none.
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

// Reflected reports whether the mirror must create a Machine API object for an object that only Cluster API has. That is a Machine whose MachineSet exists in
// both APIs, if Cluster API is authoritative for this MachineSet.
func (f *Fleet) Reflected(p Pair) bool {
	owner := controllerOf(p.ClusterAPI)
	if p.MachineAPI != nil || owner == nil || p.ClusterAPI.Deleting() || p.Kind.Parent == "" || owner.Kind != p.Kind.Parent {
		return false
	}
	return slices.ContainsFunc(f.all(), func(set Pair) bool {
		return set.Kind.Name == p.Kind.Parent && set.Namespaces == p.Namespaces && set.MachineAPI != nil && set.ClusterAPI != nil &&
			set.ClusterAPI.Metadata.UID == owner.UID && set.Authoritative() == authority.ClusterAPI
	})
}

// Set is a ControlPlaneMachineSet. It has no counterpart in Cluster API.
type Set struct {
	Namespaces authority.Pair
	Object     *policies.Object
}

// Shape returns the set's fields about authority.
func (s Set) Shape() authority.Shape { return authority.Read(s.Object) }

// Ref is KIND/NAME: controlplanemachineset/cluster.
func (s Set) Ref() string { return RefOf(controlplane.Kind, s.Object.Metadata.Name) }

// Fleet has everything that was read.
type Fleet struct {
	// Pairs are sorted by kind, then by name.
	Pairs []Pair
	// Beside are pairs that were read and not requested.
	Beside []Pair
	// Sets are the ControlPlaneMachineSets that were read, in any order.
	Sets []Set
	// masters caches the answers of method controlPlane.
	masters map[authority.Pair][]conversion.Master
	// Problems are documents that cannot be read, of the kinds that the plugin reads.
	Problems []Problem
	// Others counts objects of other kinds.
	Others int
	// held counts all objects, by kind.
	held map[string]int
	// infra are the infrastructure objects.
	infra map[infraKey]*policies.Object
	// cloudConfig is the cloud provider's configuration, if files have it.
	cloudConfig *policies.Object

	circumstances
}

// circumstances has what was read of the cluster besides the objects. Follow reads it once and keeps it.
type circumstances struct {
	// Rival names the running parts of OpenShift's own migration (authority.Rival), "" for none.
	Rival string
	// NoInfrastructure is the sentence about a cluster without its Infrastructure, "" for any other.
	NoInfrastructure string

	// listed reports that the objects come from a cluster, so that an object that was not read does not exist. clusters are the namespaces in which the Cluster
	// exists.
	listed   bool
	clusters map[string]bool

	infrastructure *policies.Object
	// withheld reports that the user may not read the Infrastructure. Then guess describes the cluster.
	withheld bool
	guess    Cluster
	nodeSync conversion.NodeSync
	// nodeSyncRead reports that nodeSync has the flags of Cluster API's manager.
	nodeSyncRead bool
	// gates are the feature gates of Cluster API's manager, nil if they were not read.
	gates   map[string]bool
	account string
	// absent are resources that the cluster does not serve.
	absent []schema.GroupVersionResource
	// uncountable reports that the user may not list the Machines of one API, so that it is not known which Machines a set counts.
	uncountable bool
	// unlisted are optional resources that the user may not list.
	unlisted []schema.GroupVersionResource
	// secrets are the Secrets of boot data that were looked for, and whether each exists.
	secrets map[types.NamespacedName]policies.Existence
	// undrained are the namespaces in which Cluster API finds no Machine of the control plane.
	undrained []string
	// paused are the namespaces and names of paused Clusters.
	paused []types.NamespacedName
	// undefined are the names of missing definitions of Machines, MachineSets and MachineHealthChecks.
	undefined []string
	// notServed has, by kind, a sentence about each kind that is absent although its definition exists.
	notServed map[string]string
}

// Problem is a document that could not be read, and why.
type Problem struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

type infraKey struct{ kind, namespace, name string }

// sideKey identifies a pair by its kind, name and namespaces.
type sideKey struct {
	kind, name string
	pair       authority.Pair
}

// collection makes a Fleet of objects that are added in any order.
type collection struct {
	pairs    authority.Pairs
	sides    map[sideKey]*Pair
	fleet    *Fleet
	nextFile string
	// other describes a second cluster, if the input has the Infrastructures of two.
	other *Cluster
	// withoutInfrastructure is Query.WithoutInfrastructure.
	withoutInfrastructure bool
}

func newCollection(pairs authority.Pairs) *collection {
	return &collection{pairs: pairs, sides: map[sideKey]*Pair{}, fleet: &Fleet{infra: map[infraKey]*policies.Object{}, held: map[string]int{},
		circumstances: circumstances{notServed: map[string]string{}, clusters: map[string]bool{}, secrets: map[types.NamespacedName]policies.Existence{}}}}
}

// group returns the API group and version of an object.
func group(o *policies.Object) (string, string) {
	g, v, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		return "", g
	}
	return g, v
}

// add adds an object. An object that occurs twice counts once (a must-gather has lists and single files): the first one stays.
func (c *collection) add(o *policies.Object) {
	g, version := group(o)
	kind, known := authority.KindNamed(o.Kind)
	name := o.Kind
	if known { // a third group may have a kind of this name, too
		name += "." + g
	}
	c.fleet.held[name]++
	switch {
	case g == machineGroup && known:
		if p := c.side(kind, o, policies.SideMachineAPI); p.MachineAPI == nil {
			p.MachineAPI = o
		}
	case g == clusterGroup && known && version != kind.ClusterAPI.Version:
		c.problem(o.Kind + " " + o.Metadata.Name + " has apiVersion " + o.APIVersion + "; this version of the plugin reads " + kind.ClusterAPI.String() +
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

// Unchecked returns sentences about objects that a person would expect to be checked, but that are not.
func (f *Fleet) Unchecked() []string {
	var out []string
	for _, set := range f.Sets {
		out = append(out, controlplane.Kind+" "+set.Object.Metadata.Name+
			" was not checked. A ControlPlaneMachineSet moves without its Machines, which move like any other Machine. "+
			"To see what the set would replace: kubectl poundlock controlplane plan -f FILE")
	}
	return out
}

// addCluster records a paused Cluster.
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

// namespaces returns the pair of namespaces to which a namespace belongs. An object in a file may have any namespace, or none.
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

// done returns the fleet with its pairs sorted, each with its provider's objects and the facts about its cluster.
func (c *collection) done() *Fleet {
	for _, p := range c.sides {
		p.Infra, p.Rival = c.fleet.infraOf(*p), c.fleet.Rival
		p.Undrained = slices.Contains(c.fleet.undrained, p.Namespaces.ClusterAPI)
		if name := authority.ClusterOf(p.ClusterAPI); slices.Contains(c.fleet.paused, types.NamespacedName{Namespace: p.Namespaces.ClusterAPI, Name: name}) {
			p.PausedCluster = name
		}
		p.BootData = c.fleet.secrets[types.NamespacedName{Namespace: p.Namespaces.ClusterAPI, Name: authority.BootSecret(p.Kind.Name, p.MachineAPI)}]
		c.fleet.instanceOf(p)
		c.fleet.Pairs = append(c.fleet.Pairs, *p)
	}
	slices.SortFunc(c.fleet.Pairs, order)
	c.fleet.count()
	return c.fleet
}

// count records for each pair of sets which Machines only one of the two sets counts.
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
		if _, has := p.Kind.Children(); has && !f.uncountable && p.MachineAPI != nil && p.ClusterAPI != nil {
			f.Pairs[i].Uncounted = f.uncounted(p, slices.Concat(owned[p.MachineAPI.Metadata.UID], owned[p.ClusterAPI.Metadata.UID]))
		}
	}
}

// hold records for each Machine the other Machines and the providers' objects of the same instance.
func (f *Fleet) hold() {
	with := map[string][]*policies.Object{}
	for _, p := range f.Pairs {
		for _, o := range p.Core() {
			if id := authority.InstanceKeyOf(o); id != "" && p.Kind.InfraActs() {
				with[id] = append(with[id], o)
			}
		}
	}
	kept := map[string][]*policies.Object{}
	for key, o := range f.infra {
		if id := authority.InstanceKeyOf(o); id != "" && authority.KeepsInstances(key.kind) {
			kept[id] = append(kept[id], o)
		}
	}
	for i, p := range f.Pairs {
		if p.Kind.InfraActs() {
			f.Pairs[i].Holders = authority.Holders(with[authority.InstanceKeyOf(p.MachineAPI)], p.Name, "")
			f.Pairs[i].AlsoKept = f.alsoKept(p, kept[authority.InstanceKeyOf(p.MachineAPI)])
		}
	}
}

func (f *Fleet) alsoKept(p Pair, kept []*policies.Object) []string {
	var here []*policies.Object
	for _, o := range kept {
		if o.Metadata.Namespace == p.Namespaces.ClusterAPI {
			here = append(here, o)
		}
	}
	return authority.AlsoKept(here, p.Name, cmp.Or(p.InfraRef().Name, p.Name))
}

func (f *Fleet) uncounted(set Pair, machines []Pair) []policies.Uncounted {
	r := authority.Roster{Sets: set.Core(), Machines: map[authority.API][]*policies.Object{}, Definitions: map[authority.API]authority.Presence{}}
	child, _ := set.Kind.Children()
	for api := range r.Sets {
		if slices.Contains(f.undefined, child.DefinitionIn(api)) {
			r.Definitions[api] = authority.Absent
		}
	}
	named := map[string]map[authority.API]*policies.Object{}
	for _, m := range machines {
		named[m.Name] = m.Core()
		for api, o := range m.Core() {
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

// Core returns the pair's core objects by API.
func (p Pair) Core() map[authority.API]*policies.Object {
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

// rank sorts sets before Machines, because sets are fewer and have the same content.
func rank(k authority.Kind) int {
	return slices.Index([]string{"MachineSet", "Machine", "MachineHealthCheck"}, k.Name)
}

// Reference is a Cluster API object's reference to another.
type Reference struct {
	APIGroup string `json:"apiGroup"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// InfraRef returns the pair's reference to its provider's object. Its Name is "" if there is none.
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
	_ = json.Unmarshal(p.ClusterAPI.Spec, &spec) // one that cannot be read refers to nothing
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

// instanceOf records the object that the provider keeps for a pair's instance. That object has the name of the infrastructure machine, or is owned by it.
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

// Objects returns the pair's existing objects, the Machine API's first.
func (p Pair) Objects() []*policies.Object {
	return slices.DeleteFunc([]*policies.Object{p.MachineAPI, p.ClusterAPI, p.Infra}, func(o *policies.Object) bool { return o == nil })
}
