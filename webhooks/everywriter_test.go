// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/policiestest"
	"github.com/poundlock/poundlock/test/stories"
)

// writersPair has the namespaces that only everyWriter uses, because other stories count Machines.
var writersPair = authority.Pair{MachineAPI: "writers-m", ClusterAPI: "writers-c"}

// played returns the identities that the stories use: OpenShift's, and those that the place has of its own.
func played() policies.Identities {
	out := authority.OpenShiftIdentities()
	out[policies.Poundlock] = []string{poundlockUser}
	out[policies.MachineAPIController] = append(out[policies.MachineAPIController], controllerUser)
	return out
}

// playedElsewhere reports whether everyWriter leaves out a request of the survey. Other stories send it, because only one object of its name exists. Or it has
// no place on AWS: requests to objects that are kept for instances, and to the instance in the status of its machine.
func playedElsewhere(w policiestest.Write) bool {
	ofControlPlane := w.Operation == admissionv1.Create && strings.Contains(string(w.Change), `"ControlPlaneMachineSet"`)
	return w.Nothing != "" || ofControlPlane || w.Kind == "ControlPlaneMachineSet" || w.Kind == authority.InfraInstance || w.Kind == authority.InfraMachine && w.Subresource != "" ||
		strings.Contains(string(w.Old), "machine-api-termination-handler")
}

// playedStages are the stages that everyWriter plays in make test. Each side is the mirror in one of them, and one is in mid-move.
var playedStages = []string{"MachineAPI", "leftMachineAPI", "ClusterAPI"}

// everyWriter sends each request of OpenShift's other components (policies/authority/testdata/writers), at each stage of a move, as that component and as an
// administrator. The API server adds what no table of the rules has: the defaults and validation of the CRDs, the two kinds of webhooks one after the other,
// and what a client's own types leave out of a whole object.
func everyWriter(t *testing.T, p *place) {
	all, err := policiestest.LoadWrites("../policies/authority/testdata/writers/writers.yaml")
	p.must(t, err)
	all = slices.DeleteFunc(all, playedElsewhere)
	actors := map[policies.Actor]client.Client{policies.Anyone: p.admin}
	for _, w := range all {
		if names := played()[w.As]; actors[w.As] == nil {
			cfg, err := p.plane.As(names[0], "system:masters")
			p.must(t, err)
			cfg.WarningHandler, cfg.QPS = p.warned, -1
			c, err := client.New(cfg, client.Options{})
			p.must(t, err)
			if manager := managerOf(w.As); manager != "" {
				c = client.WithFieldOwner(c, manager)
			}
			actors[w.As] = c
		}
	}
	for n, stage := range policiestest.Stages() {
		t.Run(stage, func(t *testing.T) {
			if !slices.Contains(playedStages, stage) {
				stories.Long(t)
			}
			scenes := map[string]*scene{}
			for _, w := range all {
				scenes[sceneOf(w)] = nil
			}
			for _, w := range all {
				if key := sceneOf(w); scenes[key] == nil {
					scenes[key] = p.scene(t, fmt.Sprintf("w%d-%d", n, slices.Index(slices.Sorted(maps.Keys(scenes)), key)), w, stage)
				}
			}
			for _, w := range all {
				for _, actor := range slices.Compact([]policies.Actor{w.As, policies.Anyone}) {
					scenes[sceneOf(w)].meets(t, p, actors[actor], actor, w, stage)
				}
			}
			t.Logf("%d requests to %d pairs", len(all), len(scenes))
		})
	}
}

// sceneOf returns a key that is equal for requests to the same pair.
func sceneOf(w policiestest.Write) string {
	return fmt.Sprint(w.Side, w.Kind, w.Operation == "CREATE", string(w.Old), string(w.Twin), string(w.Infra), string(w.Set), w.NoTwin)
}

// managerOf returns the field manager of a writer whose writes Poundlock carries over, "" for other writers.
func managerOf(actor policies.Actor) string {
	for _, g := range authority.Grants() {
		if g.Actor == actor && g.Manager != "" {
			return g.Manager
		}
	}
	return ""
}

// scene is a pair at a stage of a move.
type scene struct {
	name string
	// target is the stored object that the requests change; nil if they create it.
	target *unstructured.Unstructured
	// uid is the UID of the owner that requests name.
	uid types.UID
}

// scene stores, as Poundlock, the objects of a request's pair.
func (p *place) scene(t *testing.T, name string, w policiestest.Write, stage string) *scene {
	t.Helper()
	c, err := w.ChangeAt(stage)
	p.must(t, err)
	s := &scene{name: name, uid: "u"}
	target := c.Old
	if w.Subresource == "scale" {
		target = c.Facts.Stored
	}
	if len(c.Facts.Owners) > 0 {
		s.uid = p.store(t, s, c.Facts.Owners[0]).GetUID()
	}
	var owner *unstructured.Unstructured
	for _, o := range []struct {
		of    *policies.Object
		side  policies.Side
		infra bool
	}{{target, policies.SideClusterAPI, false}, {c.Facts.Twin, "", false}, {c.Facts.Infra, "", true}, {target, policies.SideMachineAPI, false}} {
		if o.of == nil || o.side != "" && o.side != w.Side {
			continue
		}
		uid := s.uid
		if o.infra && owner != nil {
			s.uid = owner.GetUID()
		}
		made := p.store(t, s, o.of)
		s.uid = uid
		if made.GroupVersionKind() == capiMachine {
			owner = made
		}
		if o.of == target {
			s.target = made
		}
	}
	if w.Side == policies.SideInfrastructure {
		core, err := policiestest.Write{Side: policies.SideClusterAPI, Kind: "Machine"}.ChangeAt(stage)
		p.must(t, err)
		s.uid = p.store(t, s, core.Old).GetUID()
		s.target = p.store(t, s, target)
		s.uid = "u" // the UID of an owner that the requests make up
	}
	return s
}

// store creates one object with its status. If the object is to be in deletion, store deletes it.
func (p *place) store(t *testing.T, s *scene, o *policies.Object) *unstructured.Unstructured {
	t.Helper()
	made := s.object(t, o.Raw())
	status, going := made.Object["status"], made.GetDeletionTimestamp() != nil
	made.SetDeletionTimestamp(nil)
	if err := p.poundlock.Create(t.Context(), made); err != nil {
		t.Errorf("%s %s: %v", made.GetKind(), made.GetName(), err)
		return made
	}
	if status != nil {
		made.Object["status"] = status
		if err := p.poundlock.Status().Update(t.Context(), made); err != nil {
			t.Errorf("%s %s: %v", made.GetKind(), made.GetName(), err)
		}
	}
	if going {
		p.must(t, p.poundlock.Delete(t.Context(), made))
		p.must(t, p.poundlock.Get(t.Context(), client.ObjectKeyFromObject(made), made))
	}
	return made
}

// object returns an object of a table for this scene: with names and an instance of its own, and with what its CRD requires.
func (s *scene) object(t *testing.T, raw []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(s.text(raw), &o.Object); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"generation", "uid", "resourceVersion"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	namespace := writersPair.ClusterAPI
	if o.GroupVersionKind().Group == "machine.openshift.io" {
		namespace = writersPair.MachineAPI
	}
	o.SetNamespace(namespace)
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		c["message"], c["lastTransitionTime"] = "at a stage", "2026-01-01T00:00:00Z"
	}
	if len(conditions) > 0 {
		_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions")
	}
	demanded := map[string]any{}
	switch o.GroupVersionKind() {
	case mapiSet:
		demanded = map[string]any{"spec.selector": selecting(), "spec.template.metadata.labels": selecting()["matchLabels"]}
	case capiSet:
		demanded = map[string]any{"spec.selector": selecting(), "spec.template.metadata.labels": selecting()["matchLabels"],
			"spec.template.spec.bootstrap":         map[string]any{"dataSecretName": "worker-user-data"},
			"spec.template.spec.infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachineTemplate", "name": s.name}}
	}
	for _, path := range slices.Sorted(maps.Keys(demanded)) {
		if err := unstructured.SetNestedField(o.Object, demanded[path], strings.Split(path, ".")...); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// dated adds to the conditions of a request the time that a CRD requires of each.
func dated(change []byte) []byte {
	return regexp.MustCompile(`\{"status": ?"(True|False)",|\{"reason": ?"[^"]*","status"|\{"type"`).ReplaceAllFunc(change, func(begin []byte) []byte {
		return append([]byte(`{"lastTransitionTime":"2026-01-01T00:00:00Z",`), begin[1:]...)
	})
}

func selecting() map[string]any { return map[string]any{"matchLabels": map[string]any{"a": "b"}} }

// text replaces the names of the tables by names that only this scene has.
func (s *scene) text(raw []byte) []byte {
	for _, r := range []struct{ of, to string }{
		{policiestest.ObjectName, s.name}, {`"name": ?"s"`, `"name":"` + s.name + `-set"`}, {`"s-`, `"` + s.name + `-set-`},
		{`\bi-([12])\b`, "i-" + s.name + "-$1"}, {`"uid": ?"u"`, fmt.Sprintf(`"uid":%q`, s.uid)},
	} {
		raw = regexp.MustCompile(r.of).ReplaceAll(raw, []byte(r.to))
	}
	return raw
}

// meets sends a request and compares the answer with the table's.
func (s *scene) meets(t *testing.T, p *place, c client.Client, actor policies.Actor, w policiestest.Write, stage string) {
	t.Helper()
	if w.Subresource == "scale" && actor == policies.Autoscaler && w.Side == policies.SideMachineAPI && stage == "ClusterAPI" {
		return // depends on the set's template, and test/journeys has sets with templates
	}
	// The reviews' cache may lag behind what was created a moment ago.
	wrong := ""
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) {
		wrong = s.try(t, p, c, actor, w, stage)
		return wrong == "", nil
	})
	if err != nil {
		t.Errorf("%v %s, as %q: %s", w.Rows, w.It, actor, wrong)
	}
}

// try sends a request as a dry run, and returns what is wrong with the answer, "" if nothing is.
func (s *scene) try(t *testing.T, p *place, c client.Client, actor policies.Actor, w policiestest.Write, stage string) string {
	t.Helper()
	p.warned.take()
	after, err := s.send(t, c, w, stage)
	text := strings.Join(p.warned.take(), "\n")
	refused := w.At(w.RefusedBy(actor), stage)
	switch {
	case refused == "" && err != nil:
		return fmt.Sprintf("refused: %v", err)
	case refused != "" && (err == nil || !slices.ContainsFunc(strings.Split(refused, ", "), func(rule string) bool {
		// The CRD's own rule applies first.
		return strings.Contains(err.Error(), "[authority/"+rule+"]") || rule == "status-owned" && strings.Contains(err.Error(), "must not transition directly")
	})):
		return fmt.Sprintf("want a refusal by %s: %v", refused, err)
	case err != nil || actor != w.As:
		return ""
	}
	if warned := w.At(w.Warned, stage); warned != "" && !strings.Contains(text, "[authority/"+warned+"]") {
		return fmt.Sprintf("warned of %q, want %s", text, warned)
	}
	for _, path := range w.Kept {
		is, _, _ := unstructured.NestedFieldNoCopy(after.Object, strings.Split(path, ".")...)
		was, _, _ := unstructured.NestedFieldNoCopy(s.target.Object, strings.Split(path, ".")...)
		if !cmp.Equal(is, was) {
			return fmt.Sprintf("%s is stored as %v, and was %v", path, is, was)
		}
	}
	return ""
}

func (s *scene) send(t *testing.T, c client.Client, w policiestest.Write, stage string) (*unstructured.Unstructured, error) {
	t.Helper()
	change := s.text(w.Change)
	if w.Operation == "CREATE" {
		asked, err := w.ChangeAt(stage)
		if err != nil {
			t.Fatal(err)
		}
		o := s.object(t, asked.New.Raw())
		delete(o.Object, "status")
		if o.GetGenerateName() != "" {
			o.SetName("")
		}
		return o, c.Create(t.Context(), o, client.DryRunAll)
	}
	o := s.target.DeepCopy()
	if w.Operation == "DELETE" {
		return o, c.Delete(t.Context(), o, client.DryRunAll)
	}
	if w.Subresource == "scale" {
		return o, c.SubResource("scale").Patch(t.Context(), o, client.RawPatch(types.MergePatchType, change), client.DryRunAll)
	}
	raw, err := json.Marshal(o.Object)
	if err == nil {
		raw, err = jsonpatch.MergePatch(raw, dated(change))
	}
	if err != nil {
		t.Fatal(err)
	}
	o = &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &o.Object); err != nil {
		t.Fatal(err)
	}
	for _, path := range w.Kept { // a type without these fields leaves them out, and the CRD has defaults
		unstructured.RemoveNestedField(o.Object, strings.Split(path, ".")...)
	}
	if w.Subresource == "status" {
		return o, c.Status().Update(t.Context(), o, client.DryRunAll)
	}
	return o, c.Update(t.Context(), o, client.DryRunAll)
}
