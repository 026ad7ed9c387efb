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

// Route is one webhook: which requests the API server sends to it, what the API server does with these requests while the webhook does not answer, and which
// rules the webhook evaluates. Each route is one webhook of a generated configuration (Configurations) and one path of the server.
type Route struct {
	// Name is the route's name in paths and metrics. The webhook's name begins with it.
	Name string
	// Mutating reports that the route evaluates Defaulters, whose result is a patch. Any other route evaluates Rules.
	Mutating bool
	Side     policies.Side
	Subjects []Subject
	// Subresource is "", "status" or "scale".
	Subresource string
	Operations  []admissionv1.Operation
	// FailurePolicy is what the API server does with a request that gets no answer: Ignore admits the request, Fail refuses it.
	FailurePolicy admissionregistrationv1.FailurePolicyType
	// closed is a CEL expression for the requests of the route that fail closed; "" stands for all requests. The remaining requests get a webhook of their own,
	// which fails open (parts).
	closed string
	// early reports that the webhook is called only in namespaces that lack the label authority.AdmissionLabel. The webhooks that fail closed are called only in
	// namespaces that have this label, which Poundlock sets once it has answered a request through the API server (enforcement).
	early bool
	// Probe reports that the webhook only shows that the API server reaches Poundlock. It has no rules, and allows every request with a fixed warning (answer).
	// Poundlock sends such a request as a dry run, and looks for that warning.
	Probe bool
	// TimeoutSeconds is how long the API server waits for an answer. All lookups of a review end well before that.
	TimeoutSeconds int32
	// Own reports that the API server sends Poundlock's own requests to this webhook too. A match condition of the other webhooks excludes them.
	Own bool
	// Conditions are CEL expressions that exclude requests which no rule of the route judges. No expression may fail on any object: the API server would then
	// apply the failure policy instead of calling the webhook.
	Conditions []admissionregistrationv1.MatchCondition
	Rules      policies.Set
	Defaulters policies.Defaulters
}

// Subject is one resource of a route.
type Subject struct {
	// Kind is policies.Subject.Kind. For a provider's resource that is InfraMachine, InfraMachineTemplate or InfraInstance.
	Kind string
	// GroupVersion is the version that Poundlock reads. The API server converts requests in other versions to it, except for a provider's objects (versions).
	GroupVersion schema.GroupVersion
	Resource     string
	// ObjectKind is the kind's name in the API, e.g. AWSMachine.
	ObjectKind string
	// Cluster reports that the objects are cluster-scoped.
	Cluster bool
}

// Catalog is everything that the webhooks evaluate.
type Catalog struct {
	Rules      policies.Set
	Defaulters policies.Defaulters
	Platforms  []conversion.Platform
	// Identities are the user names in the routes' conditions. Only the generated configurations need them.
	Identities policies.Identities
}

// All returns the catalog of everything that Poundlock's webhooks decide: which API owns an object that exists in both (S1), and the fields of a
// ControlPlaneMachineSet (S2).
func All(platforms ...conversion.Platform) Catalog {
	return Catalog{Rules: slices.Concat(authority.Rules(), admission.Rules()), Defaulters: authority.Defaulters(), Platforms: platforms}
}

const (
	create = admissionv1.Create
	update = admissionv1.Update
	remove = admissionv1.Delete
)

// Routes returns every webhook: its path, its requests, and what happens if it does not answer.
func Routes(c Catalog) []Route {
	fail, ignore := admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	mapi, capi, scaled := coreSubjects(func(k authority.Kind) schema.GroupVersion { return k.MachineAPI }),
		coreSubjects(func(k authority.Kind) schema.GroupVersion { return k.ClusterAPI }), scales
	infra, set := infraSubjects(c.Platforms), controlPlaneSubjects()
	// held matches a DELETE only if the stored object has a finalizer. An object with a counterpart has at least Poundlock's finalizer. An object without a
	// finalizer is excluded to save time, and for a second reason. An API server reads the finalizers before it calls webhooks, and afterwards deletes the object
	// even if a finalizer was added while it waited for the answer. In that time the controller of a new Machine may have added its finalizer and created the
	// instance.
	held := []admissionregistrationv1.MatchCondition{{
		Name:       "has-finalizers",
		Expression: `has(oldObject.metadata.finalizers) && size(oldObject.metadata.finalizers) > 0`,
	}}
	// acknowledges is true for a person's request that changes the condition Paused.
	acknowledges := cel.ByPersons(c.Identities) + " && (" + cel.ChangesPaused() + ")"
	// heldOrPaused is the same as held, but for infrastructure machines, whose controller also adds a finalizer just before it creates an instance. In addition it
	// matches a paused machine without a finalizer, because the controller does not act on a paused machine.
	heldOrPaused := conditions("has-finalizers-or-is-paused", `request.operation != "DELETE" || request.kind.kind.endsWith("Template") || `+cel.HeldOrPaused())
	// Only requests that could let two controllers act fail closed (DESIGN §3.1). So a Poundlock that does not answer does not affect a cluster in which nothing
	// was ever moved.
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
		// A Scale has none of the labels and annotations of its MachineSet, so no match condition can recognize the Scale of a mirror, and this webhook fails open.
		// If it does not answer, policies that list the MachineSets (cel.ScalePolicies) still lock the replicas of mirrors.
		{Name: "machine-api-scale", Side: policies.SideMachineAPI, Subjects: scaled(mapi), Subresource: "scale", Operations: ops(update), FailurePolicy: ignore},
		{Name: "machine-api-delete", Side: policies.SideMachineAPI, Subjects: mapi, Operations: ops(remove), FailurePolicy: ignore, Conditions: held},
		{
			Name: "cluster-api", Side: policies.SideClusterAPI, Subjects: capi, Operations: ops(create, update), FailurePolicy: fail,
			closed: mirrored + " || " + cel.BeginsToAct(c.Identities) + " || " + binds,
		},
		{
			// A MachineDeployment is not mirrored. This webhook only warns about what the MachineDeployment may adopt, and refuses owners that are gone.
			Name: "cluster-api-deployment", Side: policies.SideClusterAPI, Subjects: deploymentSubjects(), Operations: ops(create, update), FailurePolicy: ignore,
			Conditions: conditions("selects-anew-or-is-owned-anew", `request.operation == "CREATE" || object.?spec.selector != oldObject.?spec.selector || `+
				`object.metadata.?ownerReferences != oldObject.metadata.?ownerReferences`),
		},
		{
			// This webhook refuses a deletion in the foreground that would skip hooks, and warns about what is deleted together with the MachineDeployment.
			Name: "cluster-api-deployment-delete", Side: policies.SideClusterAPI, Subjects: deploymentSubjects(), Operations: ops(remove), FailurePolicy: ignore,
		},
		{Name: "cluster-api-scale", Side: policies.SideClusterAPI, Subjects: scaled(capi), Subresource: "scale", Operations: ops(update), FailurePolicy: ignore},
		{
			Name: "cluster-api-delete", Side: policies.SideClusterAPI, Subjects: capi, Operations: ops(remove), FailurePolicy: fail, Conditions: held,
			closed: cel.DeletesAnnounced(),
		},
		{
			// A provider's machine that names no instance and has no owner is reviewed too, but fails open. Cluster API gives the machine an owner later, in a request
			// that no rule judges. Its provider would then create a second instance if the Machine already has one. Requests of Cluster API's controllers are excluded,
			// because these create one machine for each new Machine.
			Name: "infrastructure-create", Side: policies.SideInfrastructure, Subjects: machinesOf(infra), Operations: ops(create), FailurePolicy: fail,
			closed:     binds,
			Conditions: conditions("is-not-cluster-apis", cel.ByOthers(c.Identities)),
		},
		{
			// For the MachineSets that refer to a template, deleting and recreating the template is the same as editing it. This webhook only warns.
			Name: "infrastructure-template-create", Side: policies.SideInfrastructure, Subjects: templatesOf(infra), Operations: ops(create), FailurePolicy: ignore,
		},
		{
			// Requests of OpenStack's provider do not reach this webhook. Those of vSphere's provider do, because it has no account of its own
			// (authority.OpenShiftIdentities). Its new objects have no ID yet and must not wait for Poundlock. So only two creations fail closed: one with an ID, and
			// a person's of an object that is not paused. What another ServiceAccount creates without an ID during an outage is paused as soon as Poundlock runs.
			Name: "infrastructure-instance-create", Side: policies.SideInfrastructure, Subjects: instancesOf(infra), Operations: ops(create), FailurePolicy: fail,
			closed:     binds + " || " + cel.CreatesUnpaused(c.Identities),
			Conditions: conditions("is-not-the-providers", cel.NotByProvider(c.Identities)),
		},
		// Deletions by Kubernetes' own controllers are excluded, because no rule refuses them (authority.Grants). A namespace that is being deleted must not wait for
		// a Poundlock that was deleted with the namespace.
		{
			Name: "infrastructure", Side: policies.SideInfrastructure, Subjects: infra, Operations: ops(update, remove), FailurePolicy: fail,
			closed:     mirrored + " || " + binds + instances,
			Conditions: slices.Concat(heldOrPaused, conditions("is-not-a-cleaners-deletion", "!("+cel.ByCleaners(c.Identities)+")")),
		},
		// A person's request that changes the condition Paused fails closed: Poundlock, once it runs again, would take the condition for an acknowledgement. The
		// controllers, which are ServiceAccounts, report on their objects without Poundlock.
		{
			Name: "infrastructure-status", Side: policies.SideInfrastructure, Subjects: slices.Concat(machinesOf(infra), instancesOf(infra)), Subresource: "status",
			Operations: ops(update), FailurePolicy: fail,
			closed:     cel.ByOthers(c.Identities) + " && (" + cel.NamesInstance() + ") || " + acknowledges,
			Conditions: conditions("names-an-instance-or-acknowledges", cel.NamesInstance()+" || "+acknowledges),
		},
		{
			Name: "cluster-api-status", Side: policies.SideClusterAPI, Subjects: capi, Subresource: "status", Operations: ops(update), FailurePolicy: fail,
			closed: acknowledges, Conditions: conditions("acknowledges", acknowledges),
		},
		{
			Name: "surroundings-keep", Mutating: true, Side: policies.Surroundings, Subjects: surroundingsSubjects(c.Platforms),
			Operations: ops(update), FailurePolicy: ignore, Own: true, Conditions: conditions("leaves-out-the-mark", cel.LosesMark()),
		},
		{
			// Without an answer, the policy poundlock-surroundings refuses the same requests, except a deletion that a user allowed.
			Name: "surroundings", Side: policies.Surroundings, Subjects: surroundingsSubjects(c.Platforms), Operations: ops(update, remove), FailurePolicy: ignore,
			Conditions: conditions("removes-what-holds-mirrors", cel.Kept()),
		},
		{
			// Requests that change only metadata are excluded, except those that set the finalizer foregroundDeletion: a controller that adds or removes its finalizer
			// must not have to wait for an answer that does not come.
			Name: "control-plane", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(create, update), FailurePolicy: fail, closed: moved,
			Conditions: conditions("says-something", `request.operation == "CREATE" || `+touches),
		},
		{
			Name: "control-plane-keep", Mutating: true, Side: policies.SideMachineAPI, Subjects: set, Operations: ops(update), FailurePolicy: ignore, Own: true,
			Conditions: conditions("leaves-out-what-is-kept", cel.DropsRequest()),
		},
		{
			// This webhook only warns. It is called when a request that changes only metadata removes the finalizer controlplane.Finalizer from a set that is being
			// deleted.
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
		// A DELETE reaches exactly one of the following two webhooks. The first one fails closed. It gets the deletions in the foreground, which would delete the
		// control plane's Machines before the set.
		{
			Name: "control-plane-foreground", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(remove), FailurePolicy: fail,
			Conditions: conditions("in-the-foreground", cel.InForeground()),
		},
		{
			Name: "control-plane-delete", Side: policies.SideMachineAPI, Subjects: set, Operations: ops(remove), FailurePolicy: ignore,
			// A set without finalizers is excluded for the reason given at held, unless it is inactive: an inactive set owns nothing.
			Conditions: append(conditions("not-in-the-foreground", "!("+cel.InForeground()+")"), conditions("has-finalizers-or-is-inactive",
				`oldObject.metadata.?finalizers.orValue([]).size() > 0 || oldObject.?spec.?state.orValue("") != "Active"`)...),
		},
	}
	routes = append(parts(routes), probes()...)
	for i := range routes {
		// A review waits for its turn (patience, 2 s), looks up facts (twice LookupTimeout, 2 s by default), and answers before these 5 s are over. So if a fact
		// could not be looked up, the requester reads a warning or a refusal that explains this, and not that the call has timed out.
		routes[i].TimeoutSeconds = 5
		routes[i].Rules, routes[i].Defaulters = c.asked(routes[i])
	}
	return slices.DeleteFunc(routes, func(r Route) bool { return len(r.Subjects) == 0 })
}

// parts returns the routes, and beside each route that fails closed up to two further webhooks, so that each request reaches exactly one of the three. The
// route's own webhook gets the requests that must not pass without an answer. The webhook with openSuffix gets the remaining requests, and fails open. The
// webhook with earlySuffix gets the requests of the route's own webhook in a namespace in which no webhook fails closed yet, and fails open too.
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

// beside returns a copy of the route that fails open, with the suffix added to its name.
func (r Route) beside(suffix string) Route {
	r.Name, r.FailurePolicy, r.Conditions = r.Name+suffix, admissionregistrationv1.Ignore, slices.Clone(r.Conditions)
	return r
}

// The suffixes in the names of the webhooks that fail open and belong to a route that fails closed (parts).
const (
	openSuffix  = "-open"
	earlySuffix = "-early"
)

func conditions(name, expression string) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{{Name: name, Expression: expression}}
}

// Path returns the route's path on the server.
func (r Route) Path() string {
	if r.Mutating {
		return "/mutate/" + r.Name
	}
	return "/validate/" + r.Name
}

// asked returns the rules that can apply at the route, or for a mutating route the defaulters, so that a review skips the rest of the catalog.
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

// scales returns the subjects that have the subresource scale.
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

// machinesOf returns the subjects that are providers' machines.
func machinesOf(infra []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(infra), func(s Subject) bool { return s.Kind != authority.InfraMachine })
}

// templatesOf returns the subjects that are providers' templates.
func templatesOf(infra []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(infra), func(s Subject) bool { return s.Kind != authority.InfraMachineTemplate })
}

// instancesOf returns the subjects that providers keep for instances, such as VSphereVM.
func instancesOf(infra []Subject) []Subject {
	return slices.DeleteFunc(slices.Clone(infra), func(s Subject) bool { return s.Kind != authority.InfraInstance })
}

// instanceKinds returns the kinds of the objects that providers keep for instances.
func instanceKinds(infra []Subject) []string {
	var out []string
	for _, s := range instancesOf(infra) {
		out = append(out, s.ObjectKind)
	}
	return out
}

// deploymentSubjects returns the one subject MachineDeployment, Cluster API's kind that owns MachineSets.
func deploymentSubjects() []Subject {
	set, _ := authority.KindNamed("MachineSet")
	return []Subject{{Kind: authority.MachineDeployment, GroupVersion: set.ClusterAPI, Resource: "machinedeployments", ObjectKind: authority.MachineDeployment}}
}

// controlPlaneSubjects returns the one subject ControlPlaneMachineSet, the only kind of Machine API without a counterpart.
func controlPlaneSubjects() []Subject {
	return []Subject{{
		Kind: controlplane.Kind, GroupVersion: machinev1.GroupVersion, Resource: controlplane.Resource, ObjectKind: controlplane.Kind,
	}}
}

// surroundingsSubjects returns the kinds of the objects that mirrors live in: namespaces, CRDs, Clusters and the providers' infrastructure clusters.
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

// infraSubject returns a platform's resource for one of the kinds that the rules use: InfraMachine, InfraMachineTemplate or InfraInstance.
func infraSubject(p conversion.Platform, kind string) Subject {
	r := map[string]conversion.Resource{authority.InfraMachine: p.InfraMachine, authority.InfraMachineTemplate: p.InfraMachineTemplate,
		authority.InfraInstance: p.InfraInstance}[kind]
	return Subject{Kind: kind, GroupVersion: r.GroupVersion(), Resource: r.Plural, ObjectKind: r.Kind}
}

// leavesOut returns a condition that matches those updates of a status that authority/status-default may complete, because they lack a stored field or
// condition. Most controllers send a patch, which lacks nothing, and should not wait for this webhook.
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
