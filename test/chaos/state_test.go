// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// state is the text of everything that belongs to a play. Two performances of the same story have equal texts: it is sorted, and leaves out what differs.
type state string

// kinds returns the kinds of the objects that a play consists of.
func kinds() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, k := range authority.Kinds() {
		out = append(out, thing{kind: k, api: authority.MachineAPI}.empty(), thing{kind: k, api: authority.ClusterAPI}.empty())
	}
	for _, kind := range []string{"AWSMachine", "AWSMachineTemplate"} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind})
		u.SetNamespace(stage.Pairs[0].ClusterAPI)
		out = append(out, u)
	}
	return out
}

// watchAll returns a cache of all kinds, which every play reads. If each play listed the objects itself, the processors would be busy with that.
func watchAll(ctx context.Context) (client.Reader, error) {
	namespaces := map[string]cache.Config{stage.Pairs[0].MachineAPI: {}, stage.Pairs[0].ClusterAPI: {}}
	seen, err := cache.New(stage.Plane.Admin(), cache.Options{DefaultNamespaces: namespaces})
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds() {
		if _, err := seen.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	if err := flaps.follow(ctx, seen); err != nil {
		return nil, err
	}
	go func() { _ = seen.Start(ctx) }()
	if !seen.WaitForCacheSync(ctx) {
		return nil, ctx.Err()
	}
	return seen, nil
}

// all returns the play's objects of a kind.
func (p *play) all(like *unstructured.Unstructured) []unstructured.Unstructured {
	p.Helper()
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(like.GroupVersionKind())
	if err := sight.List(p.Context(), found, client.InNamespace(like.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		p.Fatal(err)
	}
	var out []unstructured.Unstructured
	for _, u := range found.Items {
		if p.owns(u.GetName()) {
			out = append(out, *u.DeepCopy())
		}
	}
	slices.SortFunc(out, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) }) // a cache has no order
	return out
}

// objects returns all objects that belong to the play.
func (p *play) objects() []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for _, kind := range kinds() {
		out = append(out, p.all(kind)...)
	}
	return out
}

func (p *play) state() state {
	var all []string
	for _, u := range p.objects() {
		if p.born {
			unborn(&u)
		}
		plain(&u)
		all = append(all, p.unname(pretty(u.Object)))
	}
	slices.Sort(all)
	return state(strings.Join(all, "\n"))
}

// plain removes what differs between performances: the object's identity, how often it was written, and when.
func plain(u *unstructured.Unstructured) {
	inStep(u)
	frozen(u)
	metadata := u.Object["metadata"].(map[string]any)
	for _, key := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(metadata, key)
	}
	if _, going := metadata["deletionTimestamp"]; going {
		metadata["deletionTimestamp"] = "deleting"
	}
	slices.SortFunc(u.GetFinalizers(), strings.Compare)
	timeless(u.Object)
}

// frozen removes what Cluster API's controllers observed last before they were paused: the generation, and, of a set, the state of its Machines. That depends
// on moments. Two things are removed from sets that act, too. One is the generation: only the set's controller writes it, and in about one crash of twenty, the
// pass after one in which a webhook did not answer ends without that write. The other is whether the Machines are up to date, which the controller of a paused
// set may or may not have found out before the pause.
func frozen(u *unstructured.Unstructured) {
	if u.GetKind() == "MachineSet" && u.GroupVersionKind().Group == "cluster.x-k8s.io" {
		unstructured.RemoveNestedField(u.Object, "status", "observedGeneration")
		withConditions(u, func(condition string) bool { return condition != clusterv1.MachineSetMachinesUpToDateCondition })
	}
	if _, paused := u.GetAnnotations()[authority.PausedAnnotation]; !paused {
		return
	}
	unstructured.RemoveNestedField(u.Object, "status", "observedGeneration")
	if u.GetKind() != "MachineSet" {
		return
	}
	unstructured.RemoveNestedField(u.Object, "status", "deprecated", "v1beta1", "conditions")
	withConditions(u, func(condition string) bool { return condition == authority.ConditionPaused })
}

// withConditions removes from a status the conditions that are not wanted.
func withConditions(u *unstructured.Unstructured, wanted func(condition string) bool) {
	all, found, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if !found {
		return
	}
	all = slices.DeleteFunc(all, func(c any) bool {
		condition, _ := c.(map[string]any)
		name, ok := condition["type"].(string)
		return ok && !wanted(name)
	})
	_ = unstructured.SetNestedSlice(u.Object, all, "status", "conditions")
}

// unborn removes from a Machine that moves while its instance is created how far the paused controllers had come, and what they had found out. That depends on
// moments, too.
func unborn(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "machine.openshift.io/instance-state")
	for _, found := range []string{"instance-type", "region", "zone"} {
		unstructured.RemoveNestedField(u.Object, "metadata", "labels", "machine.openshift.io/"+found)
	}
	authoritative, _, _ := unstructured.NestedString(u.Object, "status", "authoritativeAPI")
	if _, paused := u.GetAnnotations()[authority.PausedAnnotation]; !paused && authoritative != string(authority.ClusterAPI) {
		return
	}
	unstructured.RemoveNestedField(u.Object, "status", "nodeInfo")
	unstructured.RemoveNestedField(u.Object, "status", "deprecated", "v1beta1", "conditions")
	if old, found, _ := unstructured.NestedMap(u.Object, "status", "deprecated", "v1beta1"); found && len(old) == 0 {
		unstructured.RemoveNestedField(u.Object, "status", "deprecated")
	}
	withConditions(u, func(condition string) bool {
		return slices.Contains([]string{authority.ConditionPaused, "Ready", authority.ConditionSynchronized, authority.ConditionSettled}, condition)
	})
}

// inStep replaces an observed generation by whether it is the present one.
func inStep(u *unstructured.Unstructured) {
	seen, found, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if found {
		_ = unstructured.SetNestedField(u.Object, seen == u.GetGeneration(), "status", "observedGeneration")
	}
	if _, found, _ := unstructured.NestedInt64(u.Object, "status", "synchronizedGeneration"); found {
		_ = unstructured.SetNestedField(u.Object, "some", "status", "synchronizedGeneration")
	}
	annotations := u.GetAnnotations()
	if _, found := annotations[authority.InfraGenerationAnnotation]; found {
		annotations[authority.InfraGenerationAnnotation] = "some"
		u.SetAnnotations(annotations)
	}
}

// timeless removes times and UIDs at any depth, and sorts lists of conditions, which have no order.
func timeless(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if slices.Contains([]string{"lastTransitionTime", "lastUpdated", "uid", "observedGeneration"}, key) && !isBool(below) {
				delete(v, key)
				continue
			}
			if list, ok := below.([]any); ok && (key == "conditions" || key == "ownerReferences" || key == "finalizers") {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(compact(a), compact(b)) })
			}
			timeless(below)
		}
	case []any:
		for _, below := range v {
			timeless(below)
		}
	}
}

func isBool(v any) bool {
	_, is := v.(bool)
	return is
}

func compact(v any) string {
	if m, ok := v.(map[string]any); ok && m["type"] != nil {
		v = m["type"]
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

var (
	instances = regexp.MustCompile(`\bi-[0-9a-f]{17}\b`)
	addresses = regexp.MustCompile(`\b10[.-][0-9]+[.-][0-9]+[.-][0-9]+\b`)
	moments   = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)
	madeFrom  = regexp.MustCompile(`("` + regexp.QuoteMeta(controlplane.MadeFromAnnotation) + `": )"[0-9a-f]+"`)
)

// unname replaces the name of each object by that of its part in the story.
func (p *play) unname(text string) string {
	if p.machine != "" && p.machine != p.name {
		text = strings.ReplaceAll(text, p.machine, "FIRST")
	}
	text = regexp.MustCompile(p.name+`-[0-9a-f]{8}\b`).ReplaceAllString(text, "TEMPLATE")
	text = regexp.MustCompile(p.name+`-[0-9a-z]{5}\b`).ReplaceAllString(text, "ANOTHER")
	text = strings.ReplaceAll(text, p.name, "NAME")
	text = strings.ReplaceAll(text, "ANOTHER, FIRST", "FIRST, ANOTHER") // a list of both has no fixed order
	text = instances.ReplaceAllString(text, "INSTANCE")
	text = addresses.ReplaceAllString(text, "ADDRESS")
	text = madeFrom.ReplaceAllString(text, `$1"ITS SPEC"`) // the hash includes the size, which is another at each rollout
	return moments.ReplaceAllString(text, "TIME")
}

// How long nothing may move before a play counts as at rest: calm if the expected state is known, quiet if it is not.
const (
	calm  = 700 * time.Millisecond
	quiet = 3 * time.Second
)

// rest waits until nothing of the play has moved for a while, and returns its state.
func (p *play) rest(quiet time.Duration) state {
	p.Helper()
	var now state
	p.eventually("a rest", p.still(quiet, &now))
	return now
}

// still returns a function that reports whether nothing has moved between its calls for the duration quiet. If so, it stores the state in now.
func (p *play) still(quiet time.Duration, now *state) func() bool {
	last, since := "", time.Now()
	return func() bool {
		var versions strings.Builder
		for _, u := range p.objects() {
			fmt.Fprintf(&versions, "%s %s %s\n", u.GetKind(), u.GetUID(), u.GetResourceVersion())
		}
		if versions.String() != last {
			last, since = versions.String(), time.Now()
		}
		if time.Since(since) < quiet {
			return false
		}
		*now = p.state()
		return true
	}
}
