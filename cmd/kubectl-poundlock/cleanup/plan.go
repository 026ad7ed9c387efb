// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Obstacle is a condition that must end before cleanup begins.
type Obstacle struct {
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Manager has the signs of whether Poundlock's manager runs.
type Manager struct {
	// Deployment is how many replicas the manager's Deployment wants; 0 if there is no Deployment. Holder is the holder of the manager's Lease, Renewed is when
	// the Lease was last renewed, and Term is how long it is valid after that. These three are zero if there is no Lease.
	Deployment int64
	Holder     string
	Renewed    time.Time
	Term       time.Duration
	// Answers reports that Poundlock's webhook refused a trial request.
	Answers bool
	// Name and Namespace are those of the Deployment and the Lease.
	Name, Namespace string
}

// Obstacles lists what prevents cleanup: a manager that would write everything again, and moves and deletions of mirrors that nothing would finish. A request
// to move that has not begun is no obstacle, because nothing is paused for it, and Changes takes it back.
func Obstacles(f *inventory.Fleet, leaving Leaving, m Manager, now time.Time) []Obstacle {
	out := m.obstacles(now)
	for _, p := range f.Pairs {
		for _, o := range []*Obstacle{going(f, p, leaving), hooked(p)} {
			if o != nil {
				out = append(out, *o)
			}
		}
		if p.Shape().Current != authority.Migrating || leaving.takesBack(p) {
			continue
		}
		out = append(out, Obstacle{
			What:   p.Ref() + " is moving (status.authoritativeAPI is Migrating)",
			Remedy: fmt.Sprintf("wait until the move ends, or cancel the move: kubectl poundlock migrate %s --cancel. For both, Poundlock must run", p.Ref()),
		})
	}
	for _, set := range f.Sets {
		// A set that is being deleted does not move any more, whatever its status is.
		if set.Shape().Current == authority.Migrating && !set.Object.Deleting() && !leaving.takesSetBack(set) {
			out = append(out, Obstacle{What: set.Ref() + " is moving (status.authoritativeAPI is Migrating)", Remedy: m.ends(set)})
		}
	}
	return out
}

// ends returns the sentence about how the move of a ControlPlaneMachineSet ends. Only Poundlock's operator ends such a move, and `kubectl poundlock migrate`
// does not support sets.
func (m Manager) ends(set inventory.Set) string {
	s, origin := set.Shape(), set.Shape().SynchronizedAPI
	patch := func(options, format string, a ...any) string {
		return fmt.Sprintf("kubectl -n %s patch %s.%s %s %s--type merge -p '%s'",
			set.Namespaces.MachineAPI, controlplane.Resource, machinev1.GroupName, set.Object.Metadata.Name, options, fmt.Sprintf(format, a...))
	}
	const run = "Poundlock must run with --control-plane"
	switch cancel := patch("", `{"spec":{"authoritativeAPI":%q}}`, origin); {
	case origin.Other() == authority.Unset:
		return fmt.Sprintf("status.synchronizedAPI does not name the API that was authoritative before the move. Set this field to that API, "+
			"MachineAPI or ClusterAPI, for example: %s. Then Poundlock ends the move; for that, %s",
			patch(fmt.Sprintf("--as system:serviceaccount:%s:%s --subresource status ", m.Namespace, m.Name),
				`{"status":{"synchronizedAPI":%q}}`, authority.MachineAPI), run)
	case s.Requested == origin:
		return fmt.Sprintf("spec.authoritativeAPI is already %s, which cancels the move. %s until status.authoritativeAPI is %s too", origin, run, origin)
	case origin == authority.MachineAPI && ofClusterAPI(set):
		return fmt.Sprintf("wait until the move ends; or replace %[2]s by %[1]s in spec.template, and then cancel the move: %[3]s. For both, %[4]s",
			controlplane.MachineAPIMember, controlplane.ClusterAPIMember, cancel, run)
	default:
		return fmt.Sprintf("wait until the move ends, or cancel the move: %s. For both, %s", cancel, run)
	}
}

// ofClusterAPI reports whether the set's template has Cluster API's form. Machine API cannot be authoritative for such a set.
func ofClusterAPI(set inventory.Set) bool {
	template, err := controlplane.Template(set.Object.Raw())
	return err != nil || template != nil // a template that cannot be read has Cluster API's form
}

// going returns an obstacle if the pair's mirror is being deleted and has Poundlock's finalizer, because nothing would finish the deletion; nil otherwise.
func going(f *inventory.Fleet, p inventory.Pair, leaving Leaving) *Obstacle {
	mirror, side := mirrorOf(p)
	authoritative := p.Core()[side.Other()]
	if mirror == nil || authoritative == nil || !mirror.Deleting() || !mirror.HasFinalizer(authority.SyncFinalizer) ||
		leaving.takesMirror(p, side) {
		return nil
	}
	var what, remedy string
	const start = "start Poundlock again, so that it finishes the deletion"
	switch {
	case p.Kind.Name == "MachineSet" && (leaving.orphans(p) || len(childrenOf(f, p, mirror, side)) == 0):
		return nil // cleanup detaches the set's Machines, or Poundlock has done so
	case p.Kind.Name == "MachineSet":
		what, remedy = "without Poundlock the garbage collector would delete the MachineSet's Machines",
			"start Poundlock again: it releases the Machines from the MachineSet, and the deletion of the MachineSet then ends"
	case p.Kind.Name != "Machine" || authoritative.Deleting():
		return nil // the authoritative object's own controller finishes that object's deletion
	case side == authority.ClusterAPI:
		what = "the Machine of Cluster API is paused, so without Poundlock its deletion would never end. If somebody unpaused this Machine, Cluster API " +
			"would terminate the instance, although Machine API is authoritative"
		remedy = start
	case controlled(mirror):
		what = "Poundlock has not deleted the Machine of Cluster API yet, so without Poundlock the instance would keep running"
		remedy = start + fmt.Sprintf(" and also deletes the Machine of Cluster API. Without Poundlock: kubectl -n %s delete %s.%s %s",
			p.Namespaces.ClusterAPI, p.Kind.Resource, p.Kind.ClusterAPI.Group, p.Name)
	default:
		return nil // only the mirror is deleted
	}
	return &Obstacle{What: fmt.Sprintf("%s is being deleted in %s, which is not the authoritative API: %s", p.Ref(), side.Text(), what), Remedy: remedy}
}

// hooked returns an obstacle for a Machine that Cluster API finishes deleting as soon as the Machine has lost Poundlock's hook; nil for any other. The instance
// would keep running, because the provider does not have the instance's ID yet.
func hooked(p inventory.Pair) *Obstacle {
	if p.Kind.Name != "Machine" || !p.ClusterAPI.HasAnnotation(authority.InstanceHookAnnotation) || !p.ClusterAPI.Deleting() ||
		p.Authoritative() == authority.MachineAPI {
		return nil
	}
	return &Obstacle{
		What: fmt.Sprintf("%s is being deleted, and its provider in Cluster API does not know the instance yet: "+
			"if cleanup removed the annotation %s, the instance would keep running",
			p.Ref(), authority.InstanceHookAnnotation),
		Remedy: fmt.Sprintf("start Poundlock again: Poundlock removes the annotation as soon as the provider knows the instance. "+
			"If Poundlock cannot start, terminate the instance in the cloud yourself, and then remove the annotation: "+
			"kubectl label namespaces %s %s %s- && kubectl -n %s annotate machines.cluster.x-k8s.io %s %s-",
			p.Namespaces.MachineAPI, p.Namespaces.ClusterAPI, authority.AdmissionLabel, p.Namespaces.ClusterAPI, p.Name, authority.InstanceHookAnnotation),
	}
}

// controlled reports whether a controller owns an object. The deletion of such a mirror is meant for the authoritative object, too.
func controlled(o *policies.Object) bool {
	return slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller })
}

func (m Manager) obstacles(now time.Time) []Obstacle {
	scale := fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=0", m.Namespace, m.Name)
	switch {
	case m.Deployment > 0:
		return []Obstacle{{fmt.Sprintf("the Deployment %s/%s is scaled to %s: Poundlock's manager would put everything back",
			m.Namespace, m.Name, amount.Of(m.Deployment, "replica")), scale}}
	case m.Holder != "" && now.Before(m.Renewed.Add(m.Term)):
		return []Obstacle{{fmt.Sprintf("the Lease %s/%s was renewed %s ago by %s: a manager of Poundlock runs, and would put everything back",
			m.Namespace, m.Name, now.Sub(m.Renewed).Round(time.Second), m.Holder),
			"stop the manager, and wait " + m.Term.String() + " until its Lease expires"}}
	case m.Answers:
		return []Obstacle{{"Poundlock's webhook answers: a manager of Poundlock runs, and would put everything back",
			"stop the manager. If it runs in the cluster: " + scale}}
	}
	return nil
}

// Change is what cleanup removes from one object.
type Change struct {
	inventory.Item
	// Finalizers are the finalizers that the object has afterwards. They are written only if Finalizer reports that one is removed, or Back that one is added.
	Finalizers []string
	Finalizer  bool
	// Annotations are the names of the annotations that are removed.
	Annotations []string
	// Released reports that every finalizer is removed, also those of paused controllers.
	Released bool
	// Back reports that the object's move is taken back. Holds is the finalizer of Machine API's controllers that the object then needs; "" for none.
	Back  bool
	Holds string
	// Request is the API of a requested move that has not begun; Unset if there is none. The request is taken back.
	Request authority.API
	// Detached is the UID of the owning set that is released; "" for none. The owner reference to that set is removed.
	Detached types.UID
}

// Changes lists what to remove from which objects: the sync finalizer, annotations of Poundlock's domain, and requests to move that have not begun, because a
// later installation would execute these. A mirror that is deleted together with its namespace, CRD or Cluster loses every finalizer.
func Changes(f *inventory.Fleet, leaving Leaving) []Change {
	var out []Change
	released, back, detached := leaving.released(f), leaving.takenBack(f), leaving.detached(f)
	for _, item := range f.Items() {
		kind, moves := back[item.Object]
		c := Change{Item: item, Released: released[item.Object], Back: moves, Holds: kind.MachineAPIFinalizer, Detached: detached[item.Object]}.of(item.Object)
		if c.Finalizer || c.Back || c.Request != authority.Unset || c.Detached != "" || len(c.Annotations) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Again returns what to remove from the object as it is now, which may be nothing.
func (c Change) Again(o *policies.Object) Change { return c.of(o) }

func (c Change) of(o *policies.Object) Change {
	goes := func(finalizer string) bool { return c.Released || finalizer == authority.SyncFinalizer }
	c.Object, c.Annotations, c.Request = o, marks(o), request(o)
	if !ownedBy(o, c.Detached) {
		c.Detached = ""
	}
	c.Finalizer = slices.ContainsFunc(o.Metadata.Finalizers, goes)
	c.Finalizers = slices.DeleteFunc(slices.Clone(o.Metadata.Finalizers), goes)
	if c.Back && c.Holds != "" && !slices.Contains(c.Finalizers, c.Holds) {
		c.Finalizers = append(c.Finalizers, c.Holds)
	}
	return c
}

// request returns the API that an object is asked to move to while the other API is authoritative; Unset for none.
func request(o *policies.Object) authority.API {
	if s := authority.Read(o); s.Requested.Other() != authority.Unset && s.Requested.Other() == s.Current {
		return s.Requested
	}
	return authority.Unset
}

// marks returns the names of the object's annotations that are Poundlock's, with its hook, because nothing would remove them later. The annotation of
// namespaces, CRDs and Clusters (HoldsMirrorsAnnotation) is not among them: it is removed last, from objects of all kinds.
func marks(o *policies.Object) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(o.Metadata.Annotations)) {
		if domain, _, ok := strings.Cut(name, "/"); ok && domain == authority.Domain && name != authority.HoldsMirrorsAnnotation ||
			name == authority.InstanceHookAnnotation || name == authority.SparedAnnotation && o.Metadata.Annotations[name] == authority.SparedUntilReady {
			out = append(out, name)
		}
	}
	return out
}

// Patch returns a JSON merge patch that fails if the object has changed since it was read.
func (c Change) Patch() map[string]any {
	metadata := map[string]any{"resourceVersion": c.Object.Metadata.ResourceVersion}
	if c.Finalizer || c.Back {
		metadata["finalizers"] = c.Finalizers
	}
	if len(c.Annotations) > 0 {
		gone := map[string]any{}
		for _, name := range c.Annotations {
			gone[name] = nil
		}
		metadata["annotations"] = gone
	}
	if c.Detached != "" {
		metadata["ownerReferences"] = slices.DeleteFunc(slices.Clone(c.Object.Metadata.OwnerReferences),
			func(r metav1.OwnerReference) bool { return r.UID == c.Detached })
		metadata["labels"] = map[string]any{clusterv1.MachineSetNameLabel: nil}
	}
	patch := map[string]any{"metadata": metadata}
	switch {
	case c.Back:
		patch["spec"] = map[string]any{"authoritativeAPI": authority.MachineAPI}
	case c.Request != authority.Unset:
		patch["spec"] = map[string]any{"authoritativeAPI": c.Request.Other()}
	}
	return patch
}

// StatusPatch returns the JSON merge patch of status that follows Patch; nil for none.
func (c Change) StatusPatch() map[string]any {
	if !c.Back {
		return nil
	}
	return map[string]any{"status": map[string]any{"authoritativeAPI": authority.MachineAPI}}
}

// Paused counts the Cluster API objects that stay paused.
func Paused(items []inventory.Item) int {
	n := 0
	for _, item := range items {
		if item.Resource.Group != machinev1.GroupName && item.Object.HasAnnotation(authority.PausedAnnotation) {
			n++
		}
	}
	return n
}

// PausedCheck is a MachineHealthCheck of Machine API's that does not act, because Cluster API's acts.
type PausedCheck struct {
	Ref string
	// Move is the command that makes the health check act while Poundlock runs. Free are the commands that make it act without Poundlock; "" if there are none.
	Move, Free string
}

// PausedChecks lists the Machine API's health checks that stay paused. Cluster API's health check skips paused Machines, and a Machine that the Machine API
// runs is paused in Cluster API. So without Poundlock no health check acts on such a Machine.
func PausedChecks(f *inventory.Fleet) []PausedCheck {
	var out []PausedCheck
	for _, p := range f.Pairs {
		if p.Kind.Name != "MachineHealthCheck" || p.MachineAPI == nil || p.MachineAPI.Deleting() {
			continue
		}
		annotated := p.MachineAPI.Metadata.Annotations[authority.PausedAnnotation] == authority.PausedByPoundlock
		if !annotated && p.Authoritative() != authority.ClusterAPI {
			continue
		}
		check := PausedCheck{Ref: p.Ref(), Move: fmt.Sprintf("kubectl poundlock migrate %s --to machineapi --wait", p.Ref())}
		if annotated {
			check.Free = freed(p)
		}
		if annotated && !p.Kind.HasAuthority(p.MachineAPI) { // Poundlock and its admission leave such a health check alone
			check.Move = check.Free
		}
		out = append(out, check)
	}
	return out
}

// freed returns the commands that make the Machine API's check act. They delete Cluster API's check first, so that the two never act at the same time.
func freed(p inventory.Pair) string {
	unpause := fmt.Sprintf("kubectl -n %s annotate %s.%s %s %s-",
		p.MachineAPI.Metadata.Namespace, p.Kind.Resource, p.Kind.MachineAPI.Group, p.Name, authority.PausedAnnotation)
	if p.ClusterAPI == nil {
		return unpause
	}
	return fmt.Sprintf("kubectl -n %s delete %s.%s %s && %s",
		p.ClusterAPI.Metadata.Namespace, p.Kind.Resource, p.Kind.ClusterAPI.Group, p.Name, unpause)
}

// Idle lists, in sentences, the objects for which Cluster API is authoritative and on which no controller acts, because they are paused there. Some have
// completed a move, and Poundlock was about to unpause them. Others were paused by a person.
func Idle(f *inventory.Fleet) []string {
	var out []string
	for _, p := range f.Pairs {
		if p.Authoritative() != authority.ClusterAPI || p.ClusterAPI == nil || p.Shape().Current == authority.Migrating {
			continue // Obstacles reports an object that is moving
		}
		if why := authority.DeletionPaused(p.Kind, p.ClusterAPI); why != nil && p.MachineAPI == nil && p.ClusterAPI.Deleting() {
			out = append(out, fmt.Sprintf("%s is being deleted. %s", p.Ref(), strings.Join(why, ". ")))
			continue
		}
		var commands []string
		for _, o := range []*policies.Object{p.ClusterAPI, p.Infra, p.InfraInstance} {
			if !o.HasAnnotation(authority.PausedAnnotation) || o != p.ClusterAPI && !p.Kind.InfraActs() {
				continue
			}
			kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
			commands = append(commands, fmt.Sprintf("kubectl -n %s annotate %s %s %s-",
				p.Namespaces.ClusterAPI, strings.ToLower(kind.String()), o.Metadata.Name, authority.PausedAnnotation))
		}
		if len(commands) > 0 {
			out = append(out, fmt.Sprintf("%s: Cluster API is authoritative, but the object in Cluster API is paused. To unpause this object: %s",
				p.Ref(), strings.Join(commands, " && ")))
		}
	}
	return out
}
