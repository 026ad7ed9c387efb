// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/controlplanetemplate"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Ref names one object.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// String returns the reference for messages: group, kind, namespace and name. It leaves out the group of the core group, which is empty, and the namespace of a
// cluster-scoped object.
func (r Ref) String() string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	return strings.TrimSpace(r.Group + " " + r.Kind + " " + name)
}

// Reader gets one object by name. It returns nil and no error if the object does not exist.
type Reader interface {
	Get(ctx context.Context, ref Ref) (*policies.Object, error)
}

// ReaderFunc is a function as a Reader.
type ReaderFunc func(ctx context.Context, ref Ref) (*policies.Object, error)

// Get calls f.
func (f ReaderFunc) Get(ctx context.Context, ref Ref) (*policies.Object, error) { return f(ctx, ref) }

// Referrers lists, sorted by name, the Cluster API MachineSets whose machines are made from a template.
type Referrers interface {
	MachineSets(ctx context.Context, namespace, template string) ([]string, error)
}

// ReferrersFunc is a function as a Referrers.
type ReferrersFunc func(ctx context.Context, namespace, template string) ([]string, error)

// MachineSets calls f.
func (f ReferrersFunc) MachineSets(ctx context.Context, namespace, template string) ([]string, error) {
	return f(ctx, namespace, template)
}

// Converter tries to convert the object under review into the other API. Its counterpart and its infrastructure object are facts of the change. Unconvertible
// returns every field that the other API cannot express. Its error means that the conversion could not be tried.
type Converter interface {
	Unconvertible(ctx context.Context, c policies.Change) (field.ErrorList, error)
	// Mirrored returns the Machine API Machine that the mirror would make from the object under review, which is a Cluster API Machine or a provider's machine. It
	// returns nil if that object cannot be converted.
	Mirrored(ctx context.Context, c policies.Change) (*machinev1beta1.Machine, error)
}

// ConverterFunc is a function as a Converter.
type ConverterFunc func(ctx context.Context, c policies.Change) (field.ErrorList, error)

// Unconvertible calls f.
func (f ConverterFunc) Unconvertible(ctx context.Context, c policies.Change) (field.ErrorList, error) {
	return f(ctx, c)
}

// Mirrored returns nil: a function converts no object into a Machine.
func (f ConverterFunc) Mirrored(context.Context, policies.Change) (*machinev1beta1.Machine, error) {
	return nil, nil //nolint:nilnil // what does not convert
}

// Lookups are the sources of facts.
type Lookups struct {
	// Cached may lag behind Live, which reads from the API server.
	Cached, Live Reader
	Referrers    Referrers
	// Converter may be nil: then no conversion is tried or reported.
	Converter     Converter
	ControlPlanes ControlPlanes
	// Owned may be nil: then the numbers of Machines of two MachineSets are not compared.
	Owned Owned
	// Selected lists, from the API server, the Machines that a MachineSet's selector matches. If it is nil, the Machines of a MachineSet that creates one are not
	// counted.
	Selected Selected
	// Holding lists the Machines of both APIs that have a given instance ID.
	Holding Holding
	// Sets lists all MachineSets or Machines of a namespace. If it is nil, the facts do not have the set that would adopt a Machine, and the Machines that are
	// deleted with their namespace.
	Sets Listing
	// Masters lists the control plane Machines in an API's namespace, from the API server. If it is nil, the facts do not have the number of control plane
	// Machines that stay.
	Masters Listing
	// Deployments lists all MachineDeployments of a namespace. If it is nil, the facts do not have the MachineDeployment that would adopt a MachineSet.
	Deployments Listing
	Platforms   []conversion.Platform
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// Rival becomes Facts.Rival of each change.
	Rival string
	// GateOff becomes Facts.GateOff of each change.
	GateOff bool
}

// gather returns the change with the requested facts, and a sentence for each fact that could not be looked up. Only facts for warnings may be missing. If a
// fact is missing on which a denial may depend, it returns an error.
func (l Lookups) gather(ctx context.Context, c policies.Change, needs policies.Need) (policies.Change, []string, error) {
	c.Facts.Rival, c.Facts.GateOff = l.Rival, l.GateOff
	if err := l.decisive(ctx, &c, needs); err != nil {
		return c, nil, err
	}
	return c, l.advisory(ctx, &c, needs), nil
}

// emptiesNamespace reports whether the object's namespace must be read. That is so if the request comes from the namespace controller, which deletes everything
// in a namespace that is being deleted. No rule requests the namespace by a Need: a policy in CEL gets the namespace with each request, and a rule with a Need
// has no counterpart in CEL.
func emptiesNamespace(c policies.Change) bool {
	return c.Side == policies.Surroundings && c.Actor == policies.NamespaceController && c.Namespace != ""
}

// decisive adds to c the facts on which a denial may depend. It returns an error if such a fact could not be looked up.
func (l Lookups) decisive(ctx context.Context, c *policies.Change, needs policies.Need) (err error) {
	if needs.Has(policies.NeedOwnerSet) { // this comes first, because its error refuses the request whatever the route's failure policy is
		if err := l.ownerSet(ctx, c); err != nil {
			return fmt.Errorf("%w: %w", errNotBegun, err)
		}
	}
	if needs.Has(policies.NeedOwnerCount) {
		if c.Facts.OwnerCount, err = l.ownerCount(ctx, *c); err != nil {
			return fmt.Errorf("%w: %w", errNotBegun, err)
		}
	}
	if emptiesNamespace(*c) {
		namespace, err := l.live(ctx, Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(authority.Namespace), Name: c.Namespace})
		if err != nil {
			return err
		}
		c.NamespaceTerminating = namespace == nil || namespace.Deleting()
	}
	if needs.Has(policies.NeedStored) {
		if c.Facts.Stored, err = l.stored(ctx, *c); err != nil {
			return err
		}
	}
	if needs.Has(policies.NeedControlPlane) {
		if c.Facts.ControlPlane, err = l.controlPlane(ctx, *c); err != nil {
			return err
		}
	}
	if needs.Has(policies.NeedTwin) || needs.Has(policies.NeedLiveTwin) {
		c.Facts.Twin, c.Facts.TwinLive, err = l.twin(ctx, *c, needs.Has(policies.NeedLiveTwin))
	}
	if err != nil {
		return err
	}
	if kind, _ := authority.KindNamed(c.Kind); c.Side == policies.SideClusterAPI && c.Facts.Twin != nil && !kind.HasAuthority(c.Facts.Twin) {
		c.Facts.Twin = nil // another object of the same name, which is not mirrored
	}
	if needs.Has(policies.NeedInfra) && c.Kind == authority.InfraInstance && c.Facts.Twin != nil {
		// Infra, the provider's machine, is nil if it is not in the cache or could not be read. The rules then lock the object that is kept for the instance.
		c.Facts.Infra, _ = l.keeper(ctx, *c, c.Old)
	}
	if needs.Has(policies.NeedMasters) {
		if err := l.masters(ctx, c); err != nil {
			return err
		}
	}
	return l.belongings(ctx, c, needs)
}

// advisory adds to c the facts on which only warnings depend, and those for denials of a deletion that the API server executes anyway if no webhook answers. It
// returns a sentence for each fact that cannot be read, which the requester gets as a warning. It returns no error, because an error would refuse the request.
func (l Lookups) advisory(ctx context.Context, c *policies.Change, needs policies.Need) []string {
	var doubts []string
	doubt := func(what string, err error) {
		if err != nil {
			doubts = append(doubts, what+": "+unanswered(err))
		}
	}
	if c.Kind == authority.InfraInstance {
		needs &^= policies.NeedInfra // Infra is the provider's machine, which decisive has looked up (keeper)
	}
	if needs.Has(policies.NeedInfra) && c.Facts.Infra == nil {
		infra, err := l.infra(ctx, *c, needs.Has(policies.NeedLiveTwin))
		doubt("the infrastructure object could not be read", err)
		c.Facts.Infra = infra
	}
	if needs.Has(policies.NeedInfra) {
		instance, err := l.infraInstance(ctx, *c, needs.Has(policies.NeedLiveTwin))
		doubt("the provider's object for the instance could not be read", err)
		c.Facts.InfraInstance = instance
	}
	if needs.Has(policies.NeedOwners) && c.Operation == admissionv1.Delete {
		owners, err := l.behind(ctx, *c)
		doubt("Poundlock could not check whether the provider has a record of the instance", err)
		c.Facts.Owners = owners
	}
	if needs.Has(policies.NeedConversion) && l.Converter != nil {
		errs, err := l.Converter.Unconvertible(ctx, *c)
		doubt("whether every field can be expressed in the other API could not be checked", err)
		c.Facts.Unconvertible, c.Facts.ConversionRun = errs, err == nil
	}
	if needs.Has(policies.NeedUncounted) {
		uncounted, err := l.uncounted(ctx, *c)
		doubt("whether both MachineSets count the same Machines could not be checked", err)
		c.Facts.Uncounted = uncounted
	}
	if needs.Has(policies.NeedSiblings) {
		doubt("whether another MachineSet selects the same Machines could not be checked", l.siblings(ctx, c))
	}
	if needs.Has(policies.NeedUnknownInstances) {
		doubt("whether the provider knows the instances of the Machines, and which Machines have hooks, could not be checked", l.heldUp(ctx, c))
	}
	if needs.Has(policies.NeedEnding) {
		doubt("which Machines would also be deleted could not be checked", l.ending(ctx, c))
	}
	if needs.Has(policies.NeedUndrained) && l.Masters != nil {
		undrained, err := l.undrained(ctx, *c)
		doubt("whether Cluster API finds a control plane Machine (without one it drains no Node) could not be checked", err)
		c.Facts.Undrained = undrained
	}
	if needs.Has(policies.NeedSurroundings) {
		leaving, paused, err := l.surroundings(ctx, *c)
		doubt("whether the namespace, the CRDs and the Cluster of the twin are being deleted or paused could not be checked", err)
		c.Facts.Leaving, c.Facts.PausedCluster = leaving, paused
	}
	if needs.Has(policies.NeedPausedCluster) && c.Operation == admissionv1.Delete {
		paused, err := l.pausedCluster(ctx, *c)
		doubt("whether the Cluster is paused, which would hold the deletion up, could not be checked", err)
		c.Facts.PausedCluster = paused
	}
	if needs.Has(policies.NeedRemediation) {
		c.Facts.Remediation = l.remediation(ctx, *c)
	}
	if needs.Has(policies.NeedControlPlaneSet) {
		in, err := l.controlPlaneSet(ctx, *c)
		what := "Machine"
		if c.Kind == authority.InfraMachineTemplate {
			what = "template"
		}
		doubt(fmt.Sprintf("the effect of the %s on the ControlPlaneMachineSet could not be checked", what), err)
		c.Facts.ControlPlane = in
	}
	// A MachineDeployment adopts only MachineSets of Cluster API. A MachineSet of Machine API matters while Machine API is authoritative for it, because its
	// labels are those of the Cluster API set that a MachineDeployment may adopt after the move. Once Cluster API is authoritative, the Machine API object is only
	// a mirror of the Cluster API set, and the review of that set has the warning.
	if needs.Has(policies.NeedSets) && l.Deployments != nil && c.Kind == "MachineSet" &&
		(c.Side == policies.SideClusterAPI || authority.Authoritative(authority.Read(c.Old)) == authority.MachineAPI) {
		namespace := c.TwinNamespace
		if c.Side == policies.SideClusterAPI {
			namespace = c.Namespace
		}
		deployments, err := l.Deployments.All(ctx, coreKind(policies.SideClusterAPI, "MachineSet").GroupVersion().WithKind(authority.MachineDeployment), namespace)
		doubt("whether a MachineDeployment adopts the MachineSet could not be checked", err)
		c.Facts.Deployments = deployments
	}
	if needs.Has(policies.NeedSets) && l.Sets != nil {
		sets, err := l.sets(ctx, *c)
		doubt("which MachineSet or MachineDeployment would adopt which object could not be checked", err)
		c.Facts.Sets = sets
		if c.Kind == authority.MachineDeployment && c.Operation == admissionv1.Delete {
			c.Facts.MachineAPISets, err = l.Sets.All(ctx, coreKind(policies.SideMachineAPI, "MachineSet"), c.TwinNamespace)
			doubt("which MachineSets are moving to the other API could not be checked", err)
		}
	}
	return doubts
}

// stored reads the object whose subresource scale is under review, from the cache if the rules accept that (ScaleCacheSuffices), else from the API server.
func (l Lookups) stored(ctx context.Context, c policies.Change) (*policies.Object, error) {
	ref := Ref{GroupVersionKind: coreKind(c.Side, c.Kind), Namespace: c.Namespace, Name: c.Name}
	if cached, err := l.Cached.Get(ctx, ref); err == nil && authority.ScaleCacheSuffices(c, cached) {
		return cached, nil
	}
	return l.live(ctx, ref)
}

// twin reads the counterpart of the object under review, from the cache if that suffices. If there are several, it returns the one that restricts most. live
// reports that the API server was read.
func (l Lookups) twin(ctx context.Context, c policies.Change, fresh bool) (twin *policies.Object, live bool, err error) {
	if c.Name == "" {
		return nil, true, nil // the API server generates the name after the review, so no object has it yet
	}
	refs, err := l.twinRefs(ctx, c)
	if err != nil {
		return nil, false, err
	}
	var twins []*policies.Object
	for _, ref := range refs {
		o, wasLive, err := l.one(ctx, c, ref, fresh)
		if err != nil {
			return nil, true, err
		}
		live = live || wasLive
		if o != nil {
			twins = append(twins, o)
		}
	}
	return authority.Strictest(c, twins), live, nil
}

// one reads one possible counterpart: from the cache if the rules accept that (CacheSuffices) and fresh is false, else from the API server. live reports that
// the API server was read.
func (l Lookups) one(ctx context.Context, c policies.Change, ref Ref, fresh bool) (o *policies.Object, live bool, err error) {
	if !fresh {
		if cached, err := l.Cached.Get(ctx, ref); err == nil && authority.CacheSuffices(c, cached) {
			return cached, false, nil
		}
	}
	o, err = l.live(ctx, ref)
	return o, true, err
}

// live reads an object from the API server. Its error names the object that could not be read.
func (l Lookups) live(ctx context.Context, ref Ref) (*policies.Object, error) {
	o, err := l.Live.Get(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	return o, nil
}

// twinRefs returns references to the possible counterparts: one of the same name, or several if sets share an infrastructure template.
func (l Lookups) twinRefs(ctx context.Context, c policies.Change) ([]Ref, error) {
	if c.Side == policies.SideInfrastructure {
		return l.mirrored(ctx, c)
	}
	other := policies.SideClusterAPI
	if c.Side == policies.SideClusterAPI {
		other = policies.SideMachineAPI
	}
	return named(coreKind(other, c.Kind), c.TwinNamespace, c.Name), nil
}

// mirrored returns references to the Machine API objects to which a provider's object may belong. It reads the marks (labels and annotations) of the stored
// object and not of the requested one, so that no request can relabel an object and edit it at the same time.
func (l Lookups) mirrored(ctx context.Context, c policies.Change) ([]Ref, error) {
	o := c.Old
	if o == nil {
		o = c.New
	}
	if c.Kind == authority.InfraMachine {
		return l.machineOf(ctx, c, ownerNamed(o, c.Name)), nil
	}
	if c.Kind == authority.InfraInstance {
		return l.machineOfInstance(ctx, c, o), nil
	}
	sets, err := l.setsOf(ctx, c, o)
	if err != nil {
		return nil, err
	}
	refs := named(coreKind(policies.SideMachineAPI, "MachineSet"), c.TwinNamespace, sets...)
	if controlplanetemplate.IsOwn(o.Metadata.Annotations[authority.MirrorAnnotation], c.Name) {
		refs = append(refs, named(machinev1.GroupVersion.WithKind(controlplane.Kind), c.TwinNamespace, controlplane.Name)...)
	}
	return refs, nil
}

// machineOf returns a reference to the Machine API Machine behind a provider's machine. It returns none if the Cluster API Machine refers to another provider's
// machine: then the provider's machine under review is no mirror, whatever its marks are.
func (l Lookups) machineOf(ctx context.Context, c policies.Change, name string) []Ref {
	core := Ref{GroupVersionKind: coreKind(policies.SideClusterAPI, "Machine"), Namespace: c.Namespace, Name: name}
	if machine, err := l.Cached.Get(ctx, core); err == nil && authority.RefersElsewhere(machine, c) {
		return nil
	}
	return named(coreKind(policies.SideMachineAPI, "Machine"), c.TwinNamespace, name)
}

// machineOfInstance returns a reference to the Machine API Machine behind an object that a provider keeps for an instance. It finds the Machine through the
// provider's machine of that instance.
func (l Lookups) machineOfInstance(ctx context.Context, c policies.Change, o *policies.Object) []Ref {
	if _, ok := platformKeeping(l.Platforms, c.Resource.Resource); !ok {
		return nil
	}
	machine, name := l.keeper(ctx, c, o)
	c.Name = name
	if machine != nil {
		name = ownerNamed(machine, name)
	}
	return l.machineOf(ctx, c, name)
}

// keeper returns the provider's machine for whose instance the object o is kept, and the name of that machine. The name is that of the owner of o, or the name
// of o itself if o has no owner. The machine is nil if the cache does not have it.
func (l Lookups) keeper(ctx context.Context, c policies.Change, o *policies.Object) (machine *policies.Object, name string) {
	p, ok := platformKeeping(l.Platforms, c.Resource.Resource)
	if !ok {
		return nil, c.Name
	}
	infra := Ref{GroupVersionKind: p.InfraMachine.GroupVersionKind, Namespace: c.Namespace, Name: c.Name}
	for _, ref := range o.Metadata.OwnerReferences {
		if ref.Kind == infra.Kind {
			infra.Name = ref.Name
		}
	}
	machine, err := l.Cached.Get(ctx, infra)
	if err != nil {
		return nil, infra.Name
	}
	return machine, infra.Name
}

// platformKeeping returns the platform whose provider keeps an object for each instance in the resource with this plural.
func platformKeeping(platforms []conversion.Platform, plural string) (conversion.Platform, bool) {
	i := slices.IndexFunc(platforms, func(p conversion.Platform) bool { return p.InfraInstance.Plural == plural })
	if i < 0 {
		return conversion.Platform{}, false
	}
	return platforms[i], true
}

// setsOf returns the names of all MachineSets of a template: first those whose machines are made from the template, then those that the template's marks name.
// The order matters, because the first set judges the request if no set locks the template. A mark counts only if the mirror of its set would give the template
// this name, so the marks on a user's copy have no effect.
func (l Lookups) setsOf(ctx context.Context, c policies.Change, template *policies.Object) ([]string, error) {
	sets, err := l.Referrers.MachineSets(ctx, c.Namespace, c.Name)
	if err != nil {
		return nil, fmt.Errorf("listing the Cluster API MachineSets that refer to template %s/%s: %w", c.Namespace, c.Name, err)
	}
	marks := []string{template.Metadata.Labels[machineapi.MachineSetLabel]}
	if set, ok := strings.CutPrefix(template.Metadata.Annotations[authority.MirrorAnnotation], "MachineSet/"); ok {
		marks = append(marks, set)
	}
	sets = slices.Clone(sets)
	for _, set := range marks {
		if core.IsTemplateName(set, c.Name) && !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	return sets, nil
}

// infra reads the provider's object to which the pair's Cluster API object refers. If fresh is true (for a request to move), it reads from the API server,
// because the provider's object may just have been deleted.
func (l Lookups) infra(ctx context.Context, c policies.Change, fresh bool) (*policies.Object, error) {
	core := coreOf(c)
	if core == nil {
		return nil, nil
	}
	ref, ok := infraRef(core, c.Kind, l.Platforms)
	if !ok {
		return nil, nil
	}
	if fresh {
		return l.live(ctx, ref)
	}
	return l.Cached.Get(ctx, ref)
}

// remediation reports whether a MachineHealthCheck's template for external remediation exists in the namespace in which Cluster API's MachineHealthCheck would
// look for it. It returns "" if nobody can tell, because Poundlock's account may not read every kind. The warning has a wording for this case.
func (l Lookups) remediation(ctx context.Context, c policies.Change) policies.Existence {
	t := authority.RemediationTemplate(c.New)
	gvk, whole := t.GroupVersionKind()
	if c.Kind != "MachineHealthCheck" || !whole || authority.Read(c.New).Requested != authority.ClusterAPI {
		return ""
	}
	o, err := l.Live.Get(ctx, Ref{GroupVersionKind: gvk, Namespace: c.TwinNamespace, Name: t.Name})
	switch {
	case err != nil:
		return ""
	case o == nil:
		return policies.Absent
	}
	return policies.Exists
}

// infraInstance reads the object that the provider keeps for the instance of the pair's machine, if that object has the name of the provider's machine. The
// object may have outlived the provider's machine. Then the name comes from the Cluster API Machine, which still refers to the provider's machine.
func (l Lookups) infraInstance(ctx context.Context, c policies.Change, fresh bool) (*policies.Object, error) {
	infra, machine := c.Facts.Infra, Ref{}
	switch core := coreOf(c); {
	case infra != nil:
		machine = Ref{GroupVersionKind: schema.GroupVersionKind{Kind: infra.Kind}, Namespace: infra.Metadata.Namespace, Name: infra.Metadata.Name}
	case core != nil:
		machine, _ = infraRef(core, c.Kind, l.Platforms)
	}
	i := slices.IndexFunc(l.Platforms, func(p conversion.Platform) bool {
		return !p.InfraInstance.Empty() && p.InfraMachine.Kind == machine.Kind
	})
	if i < 0 || !authority.InfraInstanceNamedAlike(infra) {
		return nil, nil
	}
	from := l.Cached
	if fresh {
		from = l.Live
	}
	return from.Get(ctx, Ref{GroupVersionKind: l.Platforms[i].InfraInstance.GroupVersionKind, Namespace: machine.Namespace, Name: machine.Name})
}

// coreOf returns the Cluster API object of the pair, whichever side is under review.
func coreOf(c policies.Change) *policies.Object {
	switch {
	case c.Side != policies.SideClusterAPI:
		return c.Facts.Twin
	case c.Subresource == "scale":
		return c.Facts.Stored
	case c.Old != nil:
		return c.Old
	}
	return c.New
}

// ownerNamed returns the name of the Cluster API Machine that owns o, or the given name if o has no such owner.
func ownerNamed(o *policies.Object, name string) string {
	for _, owner := range o.Metadata.OwnerReferences {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil && gv.Group == coreKind(policies.SideClusterAPI, "Machine").Group && owner.Kind == "Machine" {
			return owner.Name
		}
	}
	return name
}

func coreKind(side policies.Side, name string) schema.GroupVersionKind {
	kind, _ := authority.KindNamed(name)
	if side == policies.SideMachineAPI {
		return kind.MachineAPIGVK()
	}
	return kind.ClusterAPIGVK()
}

func named(gvk schema.GroupVersionKind, namespace string, names ...string) []Ref {
	var out []Ref
	for _, n := range names {
		out = append(out, Ref{GroupVersionKind: gvk, Namespace: namespace, Name: n})
	}
	return out
}
