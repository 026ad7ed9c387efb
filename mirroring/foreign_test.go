// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

type change = func(*unstructured.Unstructured)

func paused(o *unstructured.Unstructured) {
	o.SetAnnotations(map[string]string{authority.PausedAnnotation: ""})
}

func going(o *unstructured.Unstructured) {
	o.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)})
}

func held(o *unstructured.Unstructured) {
	o.SetFinalizers([]string{"controllers/theirs"})
	if o.GetKind() == "AWSMachine" {
		o.SetFinalizers([]string{theirs})
	}
}

const theirs = "awsmachine.infrastructure.cluster.x-k8s.io"

func owned(o *unstructured.Unstructured) {
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "m", UID: "uid-of-Machine"}})
}

func runs(id string) change {
	return func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"providerID": id} }
}

func answered(o *unstructured.Unstructured) {
	o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Paused", "status": "True"}}}
}

// stranger is a pair whose Cluster API half Poundlock did not make. An object without any change is not there.
func stranger(t *testing.T, machineAPI, core, infra []change) *pairs.State {
	t.Helper()
	object := func(kind, version string, changes []change) *unstructured.Unstructured {
		if len(changes) == 0 {
			return nil
		}
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": version,
			"metadata": map[string]any{"namespace": "capi", "name": "m", "uid": "uid-of-" + kind}, "spec": map[string]any{}}}
		for _, change := range changes {
			change(o)
		}
		if version == "cluster.x-k8s.io/v1beta2" {
			pairs.Put(o, "infrastructure.cluster.x-k8s.io", "spec", "infrastructureRef", "apiGroup")
			pairs.Put(o, "AWSMachine", "spec", "infrastructureRef", "kind")
			pairs.Put(o, "m", "spec", "infrastructureRef", "name")
		}
		return o
	}
	s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Core: object("Machine", "cluster.x-k8s.io/v1beta2", core),
		Infra:      object("AWSMachine", "infrastructure.cluster.x-k8s.io/v1beta2", infra),
		MachineAPI: object("Machine", "machine.openshift.io/v1beta1", append(machineAPI, func(*unstructured.Unstructured) {}))}
	s.MachineAPI.Object["status"] = map[string]any{"authoritativeAPI": "MachineAPI"}
	return s
}

// TestTheWayOutBesideAPausedStranger: controllers delete nothing for an object that is paused, so that a deletion alone is no way out. Admission lets each
// command of the way out pass, in its order, and what was in the way is gone then.
func TestTheWayOutBesideAPausedStranger(t *testing.T) {
	const (
		core, infra   = "machine.cluster.x-k8s.io", "awsmachine.infrastructure.cluster.x-k8s.io"
		deleteCore    = "kubectl -n capi delete " + core + " m --wait=false"
		deleteInfra   = "kubectl -n capi delete " + infra + " m --wait=false"
		unpauseCore   = "kubectl -n capi annotate " + core + " m cluster.x-k8s.io/paused-"
		unpauseInfra  = "kubectl -n capi annotate " + infra + " m cluster.x-k8s.io/paused-"
		infraIsDelete = "kubectl -n capi wait " + infra + "/m --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=15m"
		keepInfra     = "kubectl -n capi patch " + infra + ` m --type merge -p '{"metadata":{"finalizers":["awsmachine.infrastructure.cluster.x-k8s.io"]}}'`
		freeInfra     = "kubectl -n capi patch " + infra + ` m --type merge -p '{"metadata":{"finalizers":null}}'`
		freeCore      = "kubectl -n capi patch " + core + ` m --type merge -p '{"metadata":{"finalizers":null}}'`
	)
	i1, i2, named := runs("aws:///a/i-1"), runs("aws:///a/i-2"), func(*unstructured.Unstructured) {}
	for name, c := range map[string]struct {
		machineAPI, core, infra []change
		want                    string
		ends                    []string
	}{
		"it has an instance, and is paused": {nil, []change{paused, i1, held}, []change{paused, i1, held, owned}, "with its instance",
			[]string{deleteCore, unpauseCore, infraIsDelete, unpauseInfra}},
		"it has an instance, and only one half is paused": {nil, []change{i1, held}, []change{paused, i1, held, owned}, "with its instance",
			[]string{deleteCore, infraIsDelete, unpauseInfra}},
		"it has an instance, and a restore left its provider's finalizer out": {nil, []change{paused, i1, held}, []change{paused, i1, owned}, "with its instance",
			[]string{keepInfra, deleteCore, unpauseCore, infraIsDelete, unpauseInfra}},
		"an infrastructure machine without its Machine and finalizer": {nil, nil, []change{paused, i1}, "Terminate the instance aws:///a/i-1 in the cloud",
			[]string{deleteInfra}},
		"an infrastructure machine without its Machine, which is not paused":                      {nil, nil, []change{held}, "Or delete that object", []string{deleteInfra, freeInfra}},
		"an infrastructure machine without its Machine and finalizer, which is not paused":        {nil, nil, []change{named}, "Or delete that object", nil},
		"an infrastructure machine without its Machine, which is not paused and is being deleted": {nil, nil, []change{held, going}, "once that object is gone", []string{freeInfra}},
		"an infrastructure machine without its Machine, which is not paused and has an instance":  {nil, nil, []change{held, i1}, "Terminate the instance aws:///a/i-1", []string{deleteInfra, freeInfra}},
		"it has an instance, and is not paused":                                                   {nil, []change{i1}, []change{i1}, "with its instance", nil},
		"both have one, and it is paused": {[]change{i2, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{authority.MachineAPIMachineFinalizer}) }},
			[]change{paused, i1, held}, []change{paused, i1, held, owned}, "with its instance", []string{deleteCore, unpauseCore, infraIsDelete, unpauseInfra}},
		"it is being deleted, and is paused": {nil, []change{paused, going, held}, []change{paused, going, held, owned}, "Poundlock creates the mirror once that " +
			"object is gone",
			[]string{unpauseCore, unpauseInfra}},
		"it is being deleted, and is not paused": {nil, []change{going, held}, []change{going, held, owned}, "Poundlock creates the mirror once that object is " +
			"gone", nil},
		"it may have begun, and is paused": {nil, []change{paused, held, answered}, []change{paused, owned, held}, "with its instance",
			[]string{deleteCore, unpauseCore, infraIsDelete, unpauseInfra}},
		"it may have begun, and no finalizer keeps its infrastructure machine": {nil, []change{paused, held, answered}, []change{paused, owned}, "with its instance",
			[]string{deleteCore, unpauseCore}},
		"an infrastructure machine without its Machine": {nil, nil, []change{paused, i1, held}, "Terminate the instance", []string{deleteInfra, freeInfra}},
		"it is being deleted, and has this Machine's instance by another spelling of its ID": {[]change{i1},
			[]change{paused, going, held, runs("aws:///b/i-1")}, []change{paused, held, owned, i1}, "Leave the Cluster API object paused", []string{freeCore}},
		"it is being deleted, and has this Machine's instance by an ID of another cloud": {[]change{i1},
			[]change{paused, going, held, runs("gce://p/z/i-1")}, []change{paused, held, owned, i1}, "Leave the Cluster API object paused", []string{freeCore}},
		"it is being deleted without an ID, and its infrastructure machine has this Machine's instance": {[]change{i1},
			[]change{paused, going, held}, []change{paused, held, owned, i1}, "Leave the Cluster API object paused", []string{freeCore}},
		"it is being deleted, and has this Machine's instance": {[]change{i1}, []change{paused, going, held, i1}, []change{paused, held, owned, i1}, "Leave the Cluster API object paused",
			[]string{freeCore}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stranger(t, c.machineAPI, c.core, c.infra)
			got := (steps{State: s}).inTheWay()
			if !strings.Contains(got, c.want) {
				t.Errorf("%q has not the words %q", got, c.want)
			}
			var commands []string
			if i := strings.Index(got, ": kubectl "); i >= 0 {
				commands = strings.Split(got[i+len(": "):], "; ")
			}
			if !slices.Equal(commands, c.ends) {
				t.Fatalf("%q, want %q", commands, c.ends)
			}
			for _, command := range commands {
				typed(t, s, command)
			}
			if len(commands) > 0 && (s.Core != nil || c.core == nil && s.Infra != nil) {
				t.Errorf("what was in the way is still there: %v, %v", s.Core, s.Infra)
			}
		})
	}
}

// typed does to a pair what a person's command does, if admission lets it pass, and then what Cluster API's controllers do.
func typed(t *testing.T, s *pairs.State, command string) {
	t.Helper()
	o, c := &s.Core, policies.Change{Operation: admissionv1.Update, Actor: policies.Anyone}
	c.Subject = policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Resource: schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "machines"},
		Namespace: "capi", Name: "m", TwinNamespace: "mapi"}
	if strings.Contains(command, "awsmachine") {
		o, c.Side, c.Kind = &s.Infra, policies.SideInfrastructure, authority.InfraMachine
		c.Resource = schema.GroupResource{Group: "infrastructure.cluster.x-k8s.io", Resource: "awsmachines"}
	}
	if *o == nil {
		t.Fatalf("%s: it does not exist", command)
	}
	c.Old, c.Facts.Twin, c.Facts.Infra = pairs.ObjectOf(*o), pairs.ObjectOf(s.MachineAPI), pairs.ObjectOf(s.Infra)
	if s.Core != nil {
		c.Facts.Owners = []*policies.Object{pairs.ObjectOf(s.Core)}
	}
	after := (*o).DeepCopy()
	switch words := strings.Fields(command); {
	case words[3] == "wait":
		if (*o).GetDeletionTimestamp() == nil {
			t.Errorf("%s: nobody deletes it", command)
		}
		return
	case words[3] == "delete":
		c.Operation, c.Propagation = admissionv1.Delete, metav1.DeletePropagationBackground
		going(after)
	case words[3] == "annotate":
		unstructured.RemoveNestedField(after.Object, "metadata", "annotations", authority.PausedAnnotation)
	case strings.Contains(command, `"finalizers":["`):
		after.SetFinalizers([]string{theirs})
	default:
		after.SetFinalizers(nil)
	}
	if c.Operation == admissionv1.Update {
		c.New = pairs.ObjectOf(after)
	}
	for _, finding := range authority.Rules().Judge(c) {
		for _, denial := range finding.Denials {
			t.Errorf("%s: %s: %v", command, finding.Rule, denial)
		}
	}
	*o = after
	for _, one := range []**unstructured.Unstructured{&s.Infra, &s.Core} {
		if gone(*one, s) {
			*one = nil
		}
	}
	if s.Core != nil && s.Core.GetDeletionTimestamp() != nil && !pairs.IsPaused(s.Core) && s.Infra != nil {
		going(s.Infra)
		if len(s.Infra.GetFinalizers()) == 0 {
			s.Infra, s.Core = nil, nil
		}
	}
}

// gone reports whether nothing keeps an object any more: a controller that is not paused ends what is being deleted, Cluster API's only after the
// infrastructure machine, and the provider's only if a Machine owns it.
func gone(o *unstructured.Unstructured, s *pairs.State) bool {
	if o == nil || o.GetDeletionTimestamp() == nil {
		return false
	}
	acts := o == s.Core && s.Infra == nil || o == s.Infra && len(o.GetOwnerReferences()) > 0
	return len(o.GetFinalizers()) == 0 || acts && !pairs.IsPaused(o)
}

// What belongs to another Machine is not to be deleted for a mirror that needs its name: it runs that Machine's instance.
func TestAnInfrastructureMachineOfAnotherMachine(t *testing.T) {
	of := func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "foo", UID: "f"}})
	}
	for source, want := range map[string]string{
		"ClusterAPI": "which belongs to Machine foo, has the name that the mirror's infrastructure machine needs: delete this Machine of the Machine API, and " +
			"create it under another name",
		"MachineAPI": "belongs to Machine foo of Cluster API and has the instance aws:///a/i-1. Do not delete only the infrastructure machine: this would " +
			"terminate the instance of Machine foo. Both Machines may stay as they are: each API then acts on its own object, and this Machine cannot migrate. To " +
			"migrate this Machine, delete Machine m of the Machine API, which has no instance in its spec.providerID, and create it under another name. Or delete " +
			"Machine foo with its instance",
	} {
		s := stranger(t, nil, nil, []change{runs("aws:///a/i-1"), of})
		s.Core = nil
		s.MachineAPI.Object["status"] = map[string]any{"authoritativeAPI": source}
		if got := stepsOf(s, time.Now()).inTheWay(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", source, got)
		}
	}
}

// TestAnInfrastructureMachineToWhichAnotherMachineRefers: it is gone, and a mirror of its name would be taken for it by that Machine, whose deletion would
// wait for it for ever.
func TestAnInfrastructureMachineToWhichAnotherMachineRefers(t *testing.T) {
	for id, want := range map[string]string{
		"":             "delete Machine m of the Machine API, which has no instance in its spec.providerID, and create it under another name",
		"aws:///a/i-2": "delete Machine m of the Machine API with its instance aws:///a/i-2, and create it under another name",
	} {
		s := stranger(t, []change{runs(id)}, nil, nil)
		if why := stepsOf(s, time.Now()).inTheWay(); why != "" {
			t.Errorf("nothing refers to it: %s", why)
		}
		s.Referrer = "foo"
		if got := stepsOf(s, time.Now()).inTheWay(); !strings.Contains(got, "Machine foo of Cluster API refers to") || !strings.Contains(got, want) {
			t.Errorf("%s", got)
		}
	}
}

// An infrastructure machine that runs another Machine's instance is not the mirror, and not this Machine's, whatever mark it has: the mirror writes nothing to it.
func TestTheInstanceOfAnotherMachineIsLeftAlone(t *testing.T) {
	of := func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "foo", UID: "f"}})
	}
	marked := func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[authority.MirrorAnnotation] = "Machine/m"
		o.SetAnnotations(annotations)
	}
	nothing := func(*unstructured.Unstructured) {}
	for source, cores := range map[string][][]change{"MachineAPI": {nil, {paused, marked, owned}}, "ClusterAPI": {{nothing}, {marked}, {marked, runs("aws:///a/i-2")}}} {
		for _, core := range cores {
			for _, infra := range [][]change{{runs("aws:///a/i-1"), of}, {runs("aws:///a/i-1"), of, marked}, {runs("aws:///a/i-1"), of, paused, marked}} {
				for _, id := range []string{"", "aws:///a/i-2"} {
					s := stranger(t, []change{runs(id), standsOff}, core, infra)
					s.MachineAPI.Object["status"] = map[string]any{"authoritativeAPI": source, "synchronizedGeneration": int64(0)} // else that comes first (status.Exists)
					s.Env.Platform, _ = platforms.Named("AWSMachine")
					w := Next(s, time.Now())
					copies := w != nil && len(core) == 2 && id == "" && strings.Contains(mustJSON(t, w.Patch), `"providerID":"aws:///a/i-2"`) // of Cluster API's Machine
					if w == nil || w.Object == s.Infra || !copies && !strings.Contains(mustJSON(t, w.Patch), "ForeignTwin") {
						t.Errorf("%s, Cluster API's Machine %v, the infrastructure machine %v, ID %q: %+v", source, s.Core, s.Infra, id, w)
					}
				}
			}
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A person's finalizer keeps a mirror that is being deleted. What Poundlock writes to it is for nothing, and the Machine could not move to it.
func TestAnInfrastructureMachineThatIsKeptWhileItIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		finalizers []string
		reports    bool
	}{
		"somebody keeps it":          {[]string{"example.com/hold"}, true},
		"somebody and the provider":  {[]string{theirs, "example.com/hold"}, false}, // first Poundlock removes the provider's
		"the provider alone":         {[]string{theirs}, false},
		"the collector, for a while": {[]string{metav1.FinalizerDeleteDependents}, false},
	} {
		mark := func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{authority.PausedAnnotation: "", authority.MirrorAnnotation: "Machine/m"})
		}
		keep := func(o *unstructured.Unstructured) { o.SetFinalizers(c.finalizers) }
		enrolled := func(o *unstructured.Unstructured) { o.SetFinalizers([]string{authority.SyncFinalizer}) }
		s := stranger(t, []change{runs("aws:///a/i-1"), enrolled}, []change{mark, enrolled}, []change{mark, going, keep, owned, runs("aws:///a/i-1")})
		w := (steps{State: s, Reporter: status.Reporter{Now: time.Unix(0, 0)}, deletion: deletion.Of(s)}).toClusterAPI()
		reports := w != nil && w.Failure && strings.Contains(fmt.Sprint(w.Patch), "finalizers of other controllers keep it (example.com/hold)")
		if reports != c.reports {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// A provider that finds an instance by an object of its own alone would leave that of a stranger's machine behind, or take this Machine's, which has the name.
func TestAStrangersInstanceThatItsProviderDoesNotKnow(t *testing.T) {
	i1, i2 := runs("openstack:///s-1"), runs("openstack:///s-2")
	inOpenStack := func(s *pairs.State) *pairs.State {
		s.Infra.SetKind("OpenStackMachine")
		pairs.Put(s.Core, "OpenStackMachine", "spec", "infrastructureRef", "kind")
		return s
	}
	s := inOpenStack(stranger(t, []change{i2}, []change{paused, i1, held}, []change{paused, i1, owned}))
	const commands = "kubectl -n capi delete machine.cluster.x-k8s.io m --wait=false; " +
		`kubectl -n capi patch machine.cluster.x-k8s.io m --type merge -p '{"metadata":{"finalizers":null}}'; ` +
		"kubectl -n capi delete openstackmachine.infrastructure.cluster.x-k8s.io m --wait=false"
	if got := (steps{State: s}).inTheWay(); !strings.Contains(got, "terminate the instance openstack:///s-1 in the cloud") || !strings.HasSuffix(got, commands) {
		t.Errorf("%q", got)
	}
	s.InfraInstance = mirroringtest.Object(t, `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackServer, metadata: {name: m, namespace: capi,
		annotations: {cluster.x-k8s.io/paused: ""}, ownerReferences: [{kind: OpenStackMachine, name: m, uid: uid-of-AWSMachine}]}, status: {instanceID: s-1}}`)
	named := s.InfraInstance.Object["status"]
	delete(s.InfraInstance.Object, "status")
	s.InfraInstance.SetFinalizers([]string{"openstackserver.infrastructure.cluster.x-k8s.io"})
	if got := (steps{State: s}).inTheWay(); !strings.Contains(got, commands+
		"; kubectl -n capi wait openstackserver.infrastructure.cluster.x-k8s.io/m --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=15m; "+
		`kubectl -n capi patch openstackserver.infrastructure.cluster.x-k8s.io m --type merge -p '{"metadata":{"finalizers":null}}'`) {
		t.Errorf("it does not name the instance: %q", got)
	}
	s.InfraInstance.Object["status"] = named
	s.InfraInstance.SetFinalizers(nil)
	got := (steps{State: s}).inTheWay()
	for _, want := range []string{
		`patch openstackserver.infrastructure.cluster.x-k8s.io m --type merge -p '{"metadata":{"finalizers":["openstackserver.infrastructure.cluster.x-k8s.io"]}}'`,
		"wait openstackserver.infrastructure.cluster.x-k8s.io/m --for=jsonpath='{.metadata.deletionTimestamp}'",
		"annotate openstackserver.infrastructure.cluster.x-k8s.io m cluster.x-k8s.io/paused-",
	} {
		if !strings.Contains(got, want) || strings.Contains(got, "in the cloud") {
			t.Errorf("%q has not %q", got, want)
		}
	}
}

// standsOff: it is known to stand beside a stranger.
func standsOff(o *unstructured.Unstructured) {
	pairs.Put(o, "", "metadata", "annotations", authority.BesideForeignAnnotation)
}

// TestAMachineBesideAStrangerIsMarked: until it begins, so that it does not begin either while nobody answers. The mark goes with what was in the way.
func TestAMachineBesideAStrangerIsMarked(t *testing.T) {
	begun := func(o *unstructured.Unstructured) { o.SetFinalizers([]string{authority.MachineAPIMachineFinalizer}) }
	const mark, unmark = `{"metadata":{"annotations":{"poundlock.openshift.io/beside-foreign":""}`, `{"metadata":{"annotations":{"poundlock.openshift.io/beside-foreign":null}`
	for name, c := range map[string]struct {
		machineAPI, core []change
		want             string
	}{
		"before it begins":             {nil, []change{held}, mark},
		"once":                         {[]change{standsOff}, []change{held}, `"reason":"ForeignTwin"`},
		"not after it has begun":       {[]change{begun}, []change{held}, `"reason":"ForeignTwin"`},
		"nor when it has":              {[]change{standsOff, begun}, []change{held}, unmark},
		"and no longer than necessary": {[]change{standsOff}, nil, unmark},
	} {
		s := stranger(t, c.machineAPI, c.core, nil)
		w := Next(s, time.Now())
		if w == nil || w.Object != s.MachineAPI || !strings.Contains(mustJSON(t, w.Patch), c.want) {
			t.Errorf("%s: %+v, want %s", name, w, c.want)
		}
	}
}

// TestTwoSetsOfOneName: of two MachineSets that were created at the same moment no more than one begins, also while nobody answers, and the message has what a
// person types to keep either.
func TestTwoSetsOfOneName(t *testing.T) {
	const (
		deleteThere = "To keep Machine API's MachineSet: kubectl -n capi delete machinesets.cluster.x-k8s.io m"
		deleteHere  = "To keep Cluster API's MachineSet: kubectl -n mapi delete machinesets.machine.openshift.io m"
		pauseThere  = "kubectl -n capi annotate machinesets.cluster.x-k8s.io m cluster.x-k8s.io/paused="
		mark, none  = `"poundlock.openshift.io/beside-foreign":""`, `"poundlock.openshift.io/beside-foreign":null`
	)
	set := func(side, more string, replicas int) *unstructured.Unstructured {
		version := map[string]string{"mapi": "machine.openshift.io/v1beta1", "capi": "cluster.x-k8s.io/v1beta2"}[side]
		return mirroringtest.Object(t, fmt.Sprintf(`{apiVersion: %s, kind: MachineSet, metadata: {name: m, namespace: %s, uid: %[2]s, %s},
			spec: {}, status: {replicas: %d, authoritativeAPI: MachineAPI}}`, version, side, more, replicas))
	}
	const first, second, marked = `creationTimestamp: "2026-01-01T00:00:00Z"`, `creationTimestamp: "2026-01-01T00:00:01Z"`, `, annotations: {poundlock.openshift.io/beside-foreign: ""}`
	for name, c := range map[string]struct {
		machineAPI, core string
		here, there      int
		write            string
		has              []string
	}{
		"neither has begun": {first, second, 0, 0, mark, nil},
		"neither has begun, and it is marked": {first + marked, second, 0, 0, `"reason":"ForeignTwin"`,
			[]string{"created at the same moment", deleteThere + ", or, to make it the mirror, " + pauseThere + ". ", deleteHere}},
		"Cluster API's has begun": {first, second, 0, 2, mark, nil},
		"Cluster API's has begun, and it is marked": {first + marked, second, 0, 2, `"reason":"ForeignTwin"`,
			[]string{deleteThere + " (also deletes its Machines, now 2, with their instances). " + deleteHere + ". Do not pause Cluster API's set"}},
		"Machine API's has begun, and it is marked": {first + marked, second, 3, 0, `"reason":"ForeignTwin"`,
			[]string{pauseThere, deleteHere + " (also deletes its Machines, now 3, with their instances)"}},
		"both have begun, and it is marked": {first + marked, second, 3, 2, none, nil},
		"both have begun":                   {first, second, 3, 2, `"reason":"ForeignTwin"`, []string{"Both sets may stay as they are", deleteThere, deleteHere}},
		"both were there before Poundlock": {first, `creationTimestamp: "2025-01-01T00:00:00Z"`, 0, 0, `"reason":"ForeignTwin"`,
			[]string{"Both sets may stay as they are", deleteThere, deleteHere}},
		"that one is being deleted": {first + marked, second + `, deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: [theirs]`, 0, 2, none, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m", MachineAPI: set("mapi", c.machineAPI, c.here), Core: set("capi", c.core, c.there)}
			w := Next(s, time.Now())
			if w == nil || w.Object != s.MachineAPI {
				t.Fatalf("%+v", w)
			}
			if patch := mustJSON(t, w.Patch); !strings.Contains(patch, c.write) {
				t.Errorf("%s, want %s", patch, c.write)
			}
			for _, want := range c.has {
				if why := (steps{State: s}).inTheWay(); !strings.Contains(why, want) {
					t.Errorf("%q has not %q", why, want)
				}
			}
		})
	}
}

// TestWhatIsKeptForAnInstanceAndIsNotTheMirrors: a person's object in the place of what the provider keeps for the Machine's instance is reported, and not taken
// for the mirror's. Where its controller could find that instance by the name alone, it is paused first.
func TestWhatIsKeptForAnInstanceAndIsNotTheMirrors(t *testing.T) {
	platform, _ := platforms.For("VSphere")
	const (
		pausedNow = `cluster.x-k8s.io/paused: ""`
		goes      = `, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [vspherevm.infrastructure.cluster.x-k8s.io]`
		itsOwner  = `, ownerReferences: [{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachine, name: m, uid: u}]`
		remove    = "kubectl -n capi delete vspherevm.infrastructure.cluster.x-k8s.io m --wait=false"
	)
	for _, c := range []struct {
		about, annotations, more, spec, want, write string
	}{
		{"it is the mirror's", pausedNow, itsOwner, ``, "", ""},
		{"it has the Machine's instance", pausedNow, ``, `biosUUID: 4210-A`, "", ""},
		{"it is paused, and names nothing", pausedNow, ``, ``, "belongs to no machine of the provider. Delete that object, and Poundlock creates the mirror", ""},
		{"it is not paused, and names nothing", ``, ``, ``, "The deletion terminates nothing, because the object is paused", "paused VSphereVM"},
		{"it is paused, and names another instance", pausedNow, ``, `biosUUID: 4210-b`, "names another instance, vsphere://4210-b, which keeps running. Delete that object", ""},
		{"it is not paused, and names another instance", ``, ``, `biosUUID: 4210-b`, "an instance of its own, vsphere://4210-b: delete that object with its instance: " + remove, ""},
		{"it is being deleted, and paused", pausedNow, goes, ``, "is being deleted: Poundlock creates the mirror once that object is gone", "removed the finalizers"},
		{"it is being deleted, and names nothing", ``, goes, ``, "is being deleted", "paused VSphereVM"},
		{"it is being deleted, with an instance of its own", ``, goes, `biosUUID: 4210-b`, "is being deleted", ""},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c"}}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi, finalizers: [machine.machine.openshift.io]}, spec: {providerID: "vsphere://4210-a"}, status: {authoritativeAPI: MachineAPI}}`)
		s.InfraInstance = mirroringtest.Object(t, fmt.Sprintf(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: {name: m, namespace: capi, annotations: {%s}%s}, spec: {%s}}`, c.annotations, c.more, c.spec))
		steps := stepsOf(s, time.Unix(0, 0))
		if got := steps.inTheWay(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
		if c.want == "" {
			continue
		}
		w := steps.toClusterAPI()
		if w == nil || c.write == "" && !strings.Contains(fmt.Sprint(w.Patch), authority.ReasonForeignTwin) || !strings.Contains(w.Note, c.write) {
			t.Errorf("%s: %+v, want %q", c.about, w, c.write)
		}
		if paused := w != nil && w.Object == s.InfraInstance && strings.Contains(fmt.Sprint(w.Patch), authority.PausedAnnotation); paused != strings.HasPrefix(c.write, "paused") {
			t.Errorf("%s: paused: %t", c.about, paused)
		}
	}
}

// Machine API's controllers may write a Machine without its ID for a moment. Nobody deletes a Machine that runs because of that.
func TestAMirrorWhoseMachineHasNoIDAtTheMoment(t *testing.T) {
	for phase, want := range map[string]string{
		"": "or delete this Machine", "Provisioning": "or delete this Machine",
		"Provisioned": "Wait until Machine API's controllers", "Running": "Wait until Machine API's controllers",
	} {
		s := stranger(t, []change{held}, []change{paused, runs("aws:///a/i-1"), func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{authority.PausedAnnotation: "", authority.MirrorAnnotation: "Machine/m"})
		}}, nil)
		if err := unstructured.SetNestedField(s.MachineAPI.Object, phase, "status", "phase"); err != nil {
			t.Fatal(err)
		}
		why := stepsOf(s, time.Unix(0, 0)).inTheWay()
		if !strings.Contains(why, want) || strings.Contains(why, "delete") != strings.Contains(want, "delete") {
			t.Errorf("in phase %q: %s", phase, why)
		}
	}
}
