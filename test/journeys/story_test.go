// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/simulation"
	"github.com/poundlock/poundlock/test/testcluster"
)

// beside counts the stories that run at the same time.
var beside sync.WaitGroup

// together makes a test run at the same time as others. Such a test only uses objects of its own, and stops no part of the stage. Other tests run before.
func together(t *testing.T) {
	t.Helper()
	beside.Add(1)
	t.Cleanup(beside.Done)
	t.Parallel()
}

// closing lets the tests that come after all others run one at a time.
var closing sync.Mutex

// afterAll makes a test run when all stories are over, so that it can check what they have left.
func afterAll(t *testing.T) {
	t.Helper()
	t.Parallel()
	beside.Wait()
	closing.Lock()
	t.Cleanup(closing.Unlock)
}

// story begins a test. At the end of the test, the cloud's ledger must be in order. If stories run at the same time, all of them report what one of them has
// done wrong.
func story(t *testing.T) {
	t.Helper()
	before := fmt.Sprint(stage.Cloud.Audit()) // what another story left behind is that story's failure
	t.Cleanup(func() {
		if err := stage.Cloud.Audit(); fmt.Sprint(err) != before {
			t.Error(err)
		}
		if t.Failed() {
			logs(t)
		}
	})
}

// logs prints the ends of the logs of all parts. If a failure does not repeat, only the logs can explain it.
func logs(t *testing.T) {
	t.Helper()
	for _, part := range []string{testcluster.Poundlock, "machine-api", "infrastructure", "cluster-api"} {
		raw, err := os.ReadFile(stage.Plane.Log(part))
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		for _, line := range lines[max(0, len(lines)-40):] {
			t.Logf("%s: %s", part, line[:min(len(line), 600)])
		}
	}
}

// newSet creates a MachineSet of the Machine API like worker-a, with its own name, and waits until its Machines run and everything is mirrored.
func newSet(t *testing.T, name string, replicas int) object {
	t.Helper()
	if a := kubectl(t, testcluster.MachineSet(name, replicas), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	o := mapiSet(name)
	eventually(t, name+" is mirrored", func() string { return condition(t, o, "Synchronized") }, "True")
	eventually(t, "the Machines of "+name, func() string { return cmp.Or(field(t, o, ".status.availableReplicas"), "0") }, fmt.Sprint(replicas))
	for _, m := range machinesOf(t, name) {
		eventually(t, "the Machine "+m+" is mirrored", func() string { return condition(t, mapiMachine(m), "Synchronized") }, "True")
	}
	return o
}

func condition(t *testing.T, o object, kind string) string {
	t.Helper()
	return field(t, o, fmt.Sprintf(`.status.conditions[?(@.type=="%s")].status`, kind))
}

// machinesOf returns the names of the set's Machines of the Machine API.
func machinesOf(t *testing.T, set string) []string {
	t.Helper()
	machines := &machinev1beta1.MachineList{}
	list(t, machines, client.InNamespace(mapi), client.MatchingLabels{"machine.openshift.io/cluster-api-machineset": set})
	var names []string
	for _, m := range machines.Items {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

func list(t *testing.T, l client.ObjectList, options ...client.ListOption) {
	t.Helper()
	if err := stage.Admin.List(t.Context(), l, options...); err != nil {
		t.Fatal(err)
	}
}

// request requests a move of o to api, and returns kubectl's output. On a loaded machine a review may take too long. request then tries again, as the message
// advises.
func request(t *testing.T, o object, api string) answer {
	t.Helper()
	args := append(o.args("patch"), "--type=merge", "-p", fmt.Sprintf(`{"spec":{"authoritativeAPI":%q}}`, api))
	var a answer
	eventually(t, "the request is answered", func() string {
		a = kubectl(t, "", args...)
		return fmt.Sprint(!strings.Contains(a.err, "try again in a moment"))
	}, "true")
	if !a.ok {
		t.Fatalf("kubectl %s:\n%s", strings.Join(args, " "), a.err)
	}
	return a
}

func authorityIs(t *testing.T, o object, api string) {
	t.Helper()
	eventually(t, "the authority over "+o.name, func() string { return field(t, o, ".status.authoritativeAPI") }, api)
}

// settled waits until the last move is over on both sides.
func settled(t *testing.T, o object) {
	t.Helper()
	eventually(t, o.name+" has settled", func() string {
		return condition(t, o, "Synchronized") + " " + condition(t, o, "AuthoritySettled")
	}, "True True")
}

// authorities records each value that status.authoritativeAPI takes until stop is called.
func authorities(t *testing.T, name string) (stop func() []string) {
	t.Helper()
	watcher, err := client.NewWithWatch(stage.Plane.Admin(), client.Options{Scheme: simulation.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, err := watcher.Watch(ctx, &machinev1beta1.MachineSetList{}, client.InNamespace(mapi), client.MatchingFields{"metadata.name": name})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	seen := make(chan []string)
	go func() {
		var values []string
		for e := range events.ResultChan() {
			if set, ok := e.Object.(*machinev1beta1.MachineSet); ok && e.Type != watch.Deleted {
				values = append(values, string(set.Status.AuthoritativeAPI))
			}
		}
		seen <- slices.Compact(values)
	}()
	return func() []string {
		cancel()
		events.Stop()
		return <-seen
	}
}

// versions returns the resource versions of all objects of the fleet and of those that report on it. If sets are given, it returns only those of objects that
// are named after one of the sets.
func versions(t *testing.T, of ...object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range []client.ObjectList{
		listOf("machine.openshift.io", "ControlPlaneMachineSet"), listOf("config.openshift.io", "ClusterOperator"),
		&machinev1beta1.MachineList{}, &machinev1beta1.MachineSetList{}, &clusterv1.MachineList{}, &clusterv1.MachineSetList{},
		&clusterv1.ClusterList{}, &awsv1.AWSMachineList{}, &awsv1.AWSMachineTemplateList{}, &awsv1.AWSClusterList{}, &corev1.NodeList{},
	} {
		list(t, l)
		items, err := meta.ExtractList(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			o := item.(client.Object)
			if len(of) > 0 && !slices.ContainsFunc(of, func(set object) bool { return strings.HasPrefix(o.GetName()+"-", set.name+"-") }) {
				continue
			}
			out[strings.TrimPrefix(fmt.Sprintf("%T", o), "*")+" "+o.GetName()] = o.GetResourceVersion()
		}
	}
	return out
}

func listOf(group, kind string) client.ObjectList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind + "List"})
	return l
}

// atRest waits until nothing has changed for a second, in the whole fleet or in the given sets.
func atRest(t *testing.T, of ...object) map[string]string {
	t.Helper()
	last := versions(t, of...)
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, patience, false, func(context.Context) (bool, error) {
		now := versions(t, of...)
		still := len(moved(last, now)) == 0
		last = now
		return still, nil
	})
	if err != nil {
		t.Fatalf("the fleet does not come to rest: %v", err)
	}
	return last
}

func moved(before, after map[string]string) []string {
	var out []string
	for name, version := range after {
		if before[name] != version {
			out = append(out, fmt.Sprintf("%s from %q to %q", name, before[name], version))
		}
	}
	for name := range before {
		if _, still := after[name]; !still {
			out = append(out, name+" is gone")
		}
	}
	slices.Sort(out)
	return out
}
