// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// Route is one webhook: which requests the API server sends to it, what happens to them while it does not answer, and what it judges. Each is one webhook of a
// generated configuration (Configurations) and one path of the server.
type Route struct {
	// Name is the route's in paths, metrics and the webhook's name.
	Name string
	// Mutating routes ask Defaulters, the others Rules.
	Mutating bool
	Side     policies.Side
	Subjects []Subject
	// Subresource is "", "status" or "scale".
	Subresource string
	Operations  []admissionv1.Operation
	// FailurePolicy is what happens to a request that is not answered: Ignore admits it.
	FailurePolicy admissionregistrationv1.FailurePolicyType
	// closed matches the requests that fail closed, in CEL; "" is all of them. The others get their own webhook, which fails open (parts).
	closed string
	// early reports that the webhook answers only while no webhook fails closed yet (Enforced).
	early bool
	// Probe reports that the webhook has no rules: its answer is a warning.
	Probe bool
	// TimeoutSeconds is the API server's timeout. Lookups end well before.
	TimeoutSeconds int32
	// Own reports that this webhook gets Poundlock's own requests too. Elsewhere a match condition excludes them.
	Own bool
	// Conditions exclude requests that no rule of the route judges. CEL; none may fail on any object.
	Conditions []admissionregistrationv1.MatchCondition
	Rules      policies.Set
	Defaulters policies.Defaulters
}

// Subject is one resource of a route.
type Subject struct {
	// Kind is policies.Subject.Kind: a provider's resource is InfraMachine, InfraMachineTemplate or InfraInstance.
	Kind string
	// GroupVersion is the version that Poundlock reads. Requests in other versions are converted to it, except for a provider's objects (versions).
	GroupVersion schema.GroupVersion
	Resource     string
	// ObjectKind is the kind by its own name, e.g. AWSMachine.
	ObjectKind string
	// Cluster reports that its objects are cluster-scoped.
	Cluster bool
}

// Catalog is everything that the webhooks evaluate.
type Catalog struct {
	Rules      policies.Set
	Defaulters policies.Defaulters
	Platforms  []conversion.Platform
	// Identities are those in the routes' conditions. Only a configuration needs them.
	Identities policies.Identities
}

// All is the catalog of everything that Poundlock judges: which API owns an object that exists in both (S1), and the fields of a control plane's set (S2).
func All(platforms ...conversion.Platform) Catalog {
	return Catalog{Rules: slices.Concat(authority.Rules(), admission.Rules()), Defaulters: authority.Defaulters(), Platforms: platforms}
}

const (
	create = admissionv1.Create
	update = admissionv1.Update
	remove = admissionv1.Delete
)

// Routes lists every webhook: its path, its requests, and what happens if it does not answer.
func Routes(c Catalog) []Route {
	fail, ignore := admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	mapi, capi, scaled := coreSubjects(func(k authority.Kind) schema.GroupVersion { return k.MachineAPI }),
		coreSubjects(func(k authority.Kind) schema.GroupVersion { return k.ClusterAPI }), scales
	infra, set := infraSubjects(c.Platforms), controlPlaneSubjects()
	// An object with a twin has a finalizer, at least Poundlock's. One without is excluded, and not only to save time: an API server reads finalizers before it
	// calls webhooks, and deletes whatever was added while it waited. Meanwhile a controller that has just added its finalizer to a new Machine may have
	// created the instance.
	held := []admissionregistrationv1.MatchCondition{{
		Name:       "has-finalizers",
		Expression: `has(oldObject.metadata.finalizers) && size(oldObject.metadata.finalizers) > 0`,
	}}
	// The same applies to an infrastructure machine, whose controller adds a finalizer just before it creates an instance. It does not act on a paused one.
	heldOrPaused := conditions("has-finalizers-or-is-paused", `request.operation != "DELETE" || request.kind.kind.endsWith("Template") || `+cel.HeldOrPaused())
	// Requests that could let two controllers act fail closed (DESIGN §3.1). An absent Poundlock does not affect a cluster in which nothing was ever moved.
	moved, mirrored, binds := cel.Moved(), cel.Mirrored(), cel.Binds(c.Identities)
	instances := ""
	if kinds := instanceKinds(infra); len(kinds) > 0 {
		instances = " || " + cel.PausedInstance(kinds)
	}
	touches := `object.?spec != oldObject.?spec || ` + cel.Dependents("object")
	routes := []Route{
		{
			Name: "machine-api-default", Mutating: true, Side: policies.SideMachineAPI, Subjects: mapi,
			Operations: ops(create), FailurePolicy: ignore, Own: true,
			Conditions: []admissionregistrationv1.MatchCondition{{
				Name:       "authority-is-not-named",
				Expression: `!has(object.spec) || !has(object.spec.authoritativeAPI) || object.spec.authoritativeAPI == ""`,
			}},
		},
		{
			Name: "machine-api-keep", Mutating: true, Side: policies.SideMachineAPI, Subjects: mapi,
			Operations: ops(update), FailurePolicy: ignore, Own: true,
			Conditions: conditions("leaves-out-what-is-kept", cel.DropsRequest()+" || "+cel.LosesOwned()),
		},
		{
			Name: "cluster-api-keep", Mutating: true, Side: policies.SideClusterAPI, Subjects: capi,
			Operations: ops(update), FailurePolicy: ignore, Own: true,
			Conditions: conditions("leaves-out-what-is-kept", cel.LosesOwned()),
		},
		{
			Name: "machine-api-status-default", Mutating: true, Side: policies.SideMachineAPI, Subjects: mapi,
			Subresource: "status", Operations: ops(update), FailurePolicy: fail, closed: moved, Own: true,
			Conditions: leavesOut(),
		},
		{
			Name: "machine-api", Side: policies.SideMachineAPI, Subjects: mapi, Operations: ops(create, update), FailurePolicy: fail,
			closed: moved + " || " + cel.ChangesSyncFinalizer() + " || " + cel.BeginsBesideForeign(),
		},
		{
			Name: "machine-api-status", Side: policies.SideMachineAPI, Subjects: mapi, Subresource: "status", Operations: ops(update), FailurePolicy: fail,
			closed: moved,
		},
		// A Scale has none of its set's labels and annotations, so no condition recognizes a mirror's. Policies that list the sets (cel.ScalePolicies) lock it.
		{Name: "machine-api-scale", Side: policies.SideMachineAPI, Subjects: scaled(mapi), Subresource: "scale", Operations: ops(update), FailurePolicy: ignore},
		{Name: "machine-api-delete", Side: policies.SideMachineAPI, Subjects: mapi, Operations: ops(remove), FailurePolicy: ignore, Conditions: held},
		{
			Name: "cluster-api", Side: policies.SideClusterAPI, Subjects: capi, Operations: ops(create, update), FailurePolicy: fail,
			closed: mirrored + " || " + cel.BeginsToAct(c.Identities) + " || " + binds,
		},
		{
			// A MachineDeployment is not mirrored. This webhook warns, and refuses owners that are gone.
			Name: "cluster-api-deployment", Side: policies.SideClusterAPI, Subjects: deploymentSubjects(), Operations: ops(create, update), FailurePolicy: ignore,
			Conditions: conditions("selects-anew-or-is-owned-anew", `request.operation == "CREATE" || object.?spec.selector != oldObject.?spec.selector || `+
				`object.metadata.?ownerReferences != oldObject.metadata.?ownerReferences`),
		},
		{
			// It refuses a deletion in the foreground past hooks, and warns of what is deleted with it.
			Name: "cluster-api-deployment-delete", Side: policies.SideClusterAPI, Subjects: deploymentSubjects(), Operations: ops(remove), FailurePolicy: ignore,
		},
		{Name: "cluster-api-scale", Side: policies.SideClusterAPI, Subjects: scaled(capi), Subresource: "scale", Operations: ops(update), FailurePolicy: ignore},
		{Name: "cluster-api-delete", Side: policies.SideClusterAPI, Subjects: capi, Operations: ops(remove), FailurePolicy: ignore, Conditions: held},
		{
			// One that names no instance and has no owner yet gets its owner from Cluster API, without another review. Cluster API's controllers create one for
			// each new Machine, and are not asked.
			Name: "infrastructure-create", Side: policies.SideInfrastructure, Subjects: machinesOf(infra), Operations: ops(create), FailurePolicy: fail,
			closed:     binds,
			Conditions: conditions("is-not-cluster-apis", cel.ByOthers(c.Identities)),
		},
		{
			// A template that is deleted and created again is an edit for those who refer to it. This webhook only warns.
			Name: "infrastructure-template-create", Side: policies.SideInfrastructure, Subjects: templatesOf(infra), Operations: ops(create), FailurePolicy: ignore,
		},
		{
			// OpenStack's own requests do not reach this webhook. vSphere's provider has no account of its own (authority.OpenShiftIdentities), so its requests
			// do, and new instances, which have no ID yet, must not wait for Poundlock. What another user creates without an ID during an outage is paused as
			// soon as Poundlock runs.
			Name: "infrastructure-instance-create", Side: policies.SideInfrastructure, Subjects: instancesOf(infra), Operations: ops(create), FailurePolicy: fail,
			closed:     binds,
			Conditions: conditions("is-not-the-providers", cel.NotByProvider(c.Identities)),
		},
		// No rule refuses a deletion by Kubernetes' own controllers (authority.Grants). A namespace that is being deleted must not wait for a Poundlock that
		// was deleted with it.
		{
			Name: "infrastructure", Side: policies.SideInfrastructure, Subjects: infra, Operations: ops(update, remove), FailurePolicy: fail,
			closed:     mirrored + " || " + binds + instances,
			Conditions: slices.Concat(heldOrPaused, conditions("is-not-a-cleaners-deletion", "!("+cel.ByCleaners(c.Identities)+")")),
		},
		{
			Name: "infrastructure-status", Side: policies.SideInfrastructure, Subjects: slices.Concat(machinesOf(infra), instancesOf(infra)), Subresource: "status",
			Operations: ops(update), FailurePolicy: fail,
			closed: cel.ByOthers(c.Identities), Conditions: conditions("names-an-instance", cel.NamesInstance()),
		},
		{
			Name: "surroundings-keep", Mutating: true, Side: policies.Surroundings, Subjects: surroundingsSubjects(c.Platforms),
			Operations: ops(update), FailurePolicy: ignore, Own: true, Conditions: conditions("leaves-out-the-mark", cel.LosesMark()),
		},
		{
			// The policy poundlock-surroundings refuses the same without Poundlock, except a deletion that a user allowed.
			Name: "surroundings", Side: policies.Surroundings, Subjects: surroundingsSubjects(c.Platforms), Operations: ops(update, remove), FailurePolicy: ignore,
			Conditions: conditions("removes-what-holds-mirrors", cel.Kept()),
		},
		{
			// Edits of metadata are excluded: a controller's finalizer must not wait for a missing answer.
			Name: "control-plane", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(create, update), FailurePolicy: fail, closed: moved,
			Conditions: conditions("says-something", `request.operation == "CREATE" || `+touches),
		},
		{
			Name: "control-plane-keep", Mutating: true, Side: policies.SideMachineAPI, Subjects: set, Operations: ops(update), FailurePolicy: ignore, Own: true,
			Conditions: conditions("leaves-out-what-is-kept", cel.DropsRequest()),
		},
		{
			// This webhook only warns about edits of metadata.
			Name: "control-plane-release", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(update), FailurePolicy: ignore,
			Conditions: append(conditions("says-nothing", "!("+touches+")"),
				conditions("removes-the-finalizer",
					fmt.Sprintf(`has(oldObject.metadata.deletionTimestamp) && %[1]q in oldObject.metadata.?finalizers.orValue([]) && `+
						`!(%[1]q in object.metadata.?finalizers.orValue([]))`,
						controlplane.Finalizer))...),
		},
		{
			Name: "control-plane-status-default", Mutating: true, Side: policies.SideMachineAPI, Subjects: set,
			Subresource: "status", Operations: ops(update), FailurePolicy: fail, closed: moved, Own: true,
			Conditions: leavesOut(),
		},
		{
			Name: "control-plane-status", Side: policies.SideMachineAPI, Subjects: set, Subresource: "status", Operations: ops(update), FailurePolicy: fail,
			closed: moved,
		},
		// A DELETE reaches one of these two: without an answer, the deletion of the control plane is refused too.
		{
			Name: "control-plane-foreground", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(remove), FailurePolicy: fail,
			Conditions: conditions("in-the-foreground", cel.InForeground()),
		},
		{
			Name: "control-plane-delete", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(remove), FailurePolicy: ignore,
			// As for held: an inactive set owns nothing.
			Conditions: append(conditions("not-in-the-foreground", "!("+cel.InForeground()+")"), conditions("has-finalizers-or-is-inactive",
				`oldObject.metadata.?finalizers.orValue([]).size() > 0 || oldObject.?spec.?state.orValue("") != "Active"`)...),
		},
	}
	routes = append(parts(routes), probes()...)
	for i := range routes {
		// A review waits for its turn (patience), looks up (twice LookupTimeout), and answers before this is over. What it could not look up is then a warning
		// or a refusal in words, and not an API server's timeout.
		routes[i].TimeoutSeconds = 5
		routes[i].Rules, routes[i].Defaulters = c.asked(routes[i])
	}
	return slices.DeleteFunc(routes, func(r Route) bool { return len(r.Subjects) == 0 })
}

// parts divides the locking routes so that each request reaches one webhook: the route's own if it must not pass without an answer, or a second one, which
// fails open, if it may. A third one fails open while no webhook fails closed yet.
func parts(routes []Route) []Route {
	var out []Route
	for _, r := range routes {
		if r.closed != "" {
			open := r.beside(openSuffix)
			open.Conditions = append(open.Conditions, conditions("one-controller-at-most", "!("+r.closed+")")...)
			out = append(out, open)
			r.Conditions = append(slices.Clone(r.Conditions), conditions("two-controllers-could-act", r.closed)...)
		}
		if r.FailurePolicy == admissionregistrationv1.Fail {
			early := r.beside(earlySuffix)
			early.early = true
			out = append(out, early)
		}
		out = append(out, r)
	}
	return out
}

// beside is a webhook for the same requests that fails open.
func (r Route) beside(suffix string) Route {
	r.Name, r.FailurePolicy, r.Conditions = r.Name+suffix, admissionregistrationv1.Ignore, slices.Clone(r.Conditions)
	return r
}

// Suffixes for the names of webhooks that fail open beside one that fails closed.
const (
	openSuffix  = "-open"
	earlySuffix = "-early"
)

func conditions(name, expression string) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{{Name: name, Expression: expression}}
}

// Path is the route's path on the server.
func (r Route) Path() string {
	if r.Mutating {
		return "/mutate/" + r.Name
	}
	return "/validate/" + r.Name
}

// asked narrows the catalog to what can apply at the route, so that a review skips the rest.
func (c Catalog) asked(r Route) (policies.Set, policies.Defaulters) {
	reaches := func(on []policies.Scope) bool { return slices.ContainsFunc(on, r.overlaps) }
	if r.Mutating {
		return nil, slices.DeleteFunc(slices.Clone(c.Defaulters), func(d policies.Defaulter) bool { return !reaches(d.On) })
	}
	return slices.DeleteFunc(slices.Clone(c.Rules), func(rule policies.Rule) bool { return !reaches(rule.On) }), nil
}

func (r Route) overlaps(s policies.Scope) bool {
	return s.Side == r.Side && s.Subresource == r.Subresource &&
		slices.ContainsFunc(s.Operations, func(op admissionv1.Operation) bool { return slices.Contains(r.Operations, op) }) &&
		slices.ContainsFunc(r.Subjects, func(sub Subject) bool { return slices.Contains(s.Kinds, sub.Kind) })
}

func ops(o ...admissionv1.Operation) []admissionv1.Operation { return o }

func coreSubjects(version func(authority.Kind) schema.GroupVersion) []Subject {
	var out []Subject
	for _, k := range authority.Kinds() {
		if gv := version(k); !gv.Empty() {
			out = append(out, Subject{Kind: k.Name, GroupVersion: gv, Resource: k.Resource, ObjectKind: k.Name})
		}
	}
	return out
}

// scales keeps the subjects with a /scale.
func scales(subjects []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(subjects), func(s Subject) bool {
		kind, ok := authority.KindNamed(s.Kind)
		return !ok || !kind.Scales
	})
}

func infraSubjects(platforms []conversion.Platform) []Subject {
	var out []Subject
	for _, p := range platforms {
		out = append(out, infraSubject(p, authority.InfraMachine), infraSubject(p, authority.InfraMachineTemplate))
		if !p.InfraInstance.Empty() {
			out = append(out, infraSubject(p, authority.InfraInstance))
		}
	}
	return out
}

// machinesOf keeps the providers' machines.
func machinesOf(infra []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(infra), func(s Subject) bool { return s.Kind != authority.InfraMachine })
}

// templatesOf keeps the providers' templates.
func templatesOf(infra []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(infra), func(s Subject) bool { return s.Kind != authority.InfraMachineTemplate })
}

// instancesOf keeps what providers keep for instances.
func instancesOf(infra []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(infra), func(s Subject) bool { return s.Kind != authority.InfraInstance })
}

// instanceKinds are the kinds of what providers keep for instances.
func instanceKinds(infra []Subject) []string {
	var out []string
	for _, s := range instancesOf(infra) {
		out = append(out, s.ObjectKind)
	}
	return out
}

// deploymentSubjects is Cluster API's kind that owns MachineSets.
func deploymentSubjects() []Subject {
	set, _ := authority.KindNamed("MachineSet")
	return []Subject{{Kind: authority.MachineDeployment, GroupVersion: set.ClusterAPI, Resource: "machinedeployments", ObjectKind: authority.MachineDeployment}}
}

// controlPlaneSubjects is the one kind without a twin.
func controlPlaneSubjects() []Subject {
	return []Subject{{
		Kind: controlplane.Kind, GroupVersion: machinev1.GroupVersion, Resource: controlplane.Resource, ObjectKind: controlplane.Kind,
	}}
}

// surroundingsSubjects are the kinds that mirrors live in.
func surroundingsSubjects(platforms []conversion.Platform) []Subject {
	machine, _ := authority.KindNamed("Machine")
	out := []Subject{
		{Kind: authority.Namespace, GroupVersion: corev1.SchemeGroupVersion, Resource: "namespaces", ObjectKind: authority.Namespace, Cluster: true},
		{Kind: authority.Definition, GroupVersion: apiextensionsv1.SchemeGroupVersion, Resource: "customresourcedefinitions",
			ObjectKind: authority.Definition, Cluster: true},
		{Kind: authority.Cluster, GroupVersion: machine.ClusterAPI, Resource: "clusters", ObjectKind: authority.Cluster},
	}
	for _, p := range platforms {
		r := p.InfraCluster
		out = append(out, Subject{Kind: authority.InfraCluster, GroupVersion: r.GroupVersion(), Resource: r.Plural, ObjectKind: r.Kind})
	}
	return out
}

// infraSubject is a platform's resource of a kind of the rules.
func infraSubject(p conversion.Platform, kind string) Subject {
	r := map[string]conversion.Resource{authority.InfraMachine: p.InfraMachine, authority.InfraMachineTemplate: p.InfraMachineTemplate,
		authority.InfraInstance: p.InfraInstance}[kind]
	return Subject{Kind: kind, GroupVersion: r.GroupVersion(), Resource: r.Plural, ObjectKind: r.Kind}
}

// leavesOut matches the requests that authority/status-default may default: most controllers patch, and should not wait for it.
func leavesOut() []admissionregistrationv1.MatchCondition {
	lacks := []string{`object.?status.authoritativeAPI.orValue("") == ""`, `oldObject.?status.authoritativeAPI.orValue("") == "" && ` +
		`object.?status.authoritativeAPI.orValue("") == "ClusterAPI" && !object.?status.synchronizedGeneration.hasValue()`}
	for _, field := range []string{"synchronizedAPI", "synchronizedGeneration"} {
		lacks = append(lacks, fmt.Sprintf(`(oldObject.?status.%[1]s.hasValue() && !object.?status.%[1]s.hasValue())`, field))
	}
	const has = `%s.?status.conditions.orValue([]).exists(c, c.type == %q)`
	for _, condition := range authority.KeptConditions {
		lacks = append(lacks, fmt.Sprintf("("+has+" && !"+has+")", "oldObject", condition, "object", condition))
	}
	return conditions("leaves-out-what-is-stored", strings.Join(lacks, " || "))
}
