// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies/authority"
)

// A request that meets another write is sent again if that has changed nothing that the plan stands on.
func TestARequestMeetsAnotherWrite(t *testing.T) {
	const stored = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1,
"resourceVersion":"1"},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI"}}`
	for sentence, c := range map[string]struct {
		now   *strings.Replacer
		sent  int
		again bool
	}{
		"nothing":               {now: strings.NewReplacer(), sent: 1},
		"a status":              {now: strings.NewReplacer(`"resourceVersion":"1"`, `"resourceVersion":"2"`), sent: 2},
		"a spec":                {now: strings.NewReplacer(`"resourceVersion":"1"`, `"resourceVersion":"2"`, `"generation":1`, `"generation":2`), sent: 1, again: true},
		"the authoritative API": {now: strings.NewReplacer(`"resourceVersion":"1"`, `"resourceVersion":"2"`, `"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`), sent: 1, again: true},
		"another object":        {now: strings.NewReplacer(`"resourceVersion":"1"`, `"resourceVersion":"2"`, `"uid":"1"`, `"uid":"2"`), sent: 1, again: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := &unstructured.Unstructured{}
			if err := now.UnmarshalJSON([]byte(c.now.Replace(stored))); err != nil {
				t.Fatal(err)
			}
			client := fake.NewSimpleDynamicClient(runtime.NewScheme(), now)
			sent := 0
			client.PrependReactor("patch", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
				sent++
				var body unstructured.Unstructured
				if err := json.Unmarshal(a.(clienttesting.PatchAction).GetPatch(), &body.Object); err != nil {
					t.Error(err)
				}
				if body.GetResourceVersion() != now.GetResourceVersion() {
					return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "a", nil)
				}
				return true, now, nil
			})
			f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(stored), authority.Pairs{inventory.DefaultPair})
			if err != nil || len(f.Pairs) != 1 {
				t.Fatal(err, f)
			}
			m := &mover{options: &options{}, client: client}
			if err := m.request(t.Context(), f.Pairs[0], authority.ClusterAPI, ""); apierrors.IsConflict(err) != c.again || !c.again && err != nil {
				t.Error(err)
			}
			if sent != c.sent {
				t.Errorf("sent %d times, want %d", sent, c.sent)
			}
		})
	}
}

// TestACancellationMeetsAnotherWrite: a move is cancelled even if another write is made meanwhile, and no failure keeps the other moves from being cancelled.
func TestACancellationMeetsAnotherWrite(t *testing.T) {
	const planned = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"NAME","namespace":"openshift-machine-api","uid":"NAME","generation":1,
"resourceVersion":"1"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"MachineAPI"}}`
	deleted := strings.NewReplacer(`"generation":1`, `"generation":2,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["f"]`, `"resourceVersion":"1"`, `"resourceVersion":"2"`)
	switched := strings.NewReplacer(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"`, `"resourceVersion":"1"`, `"resourceVersion":"2"`)
	begun := strings.NewReplacer(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"`, `"resourceVersion":"1"`, `"resourceVersion":"2"`)
	now := map[string]*strings.Replacer{"a-deleted": deleted, "b-arrived": switched, "c-begun": begun, "d-same": strings.NewReplacer(), "e-gone": nil, "f-refused": strings.NewReplacer(), "g-same": strings.NewReplacer()}
	var documents []string
	var stored []runtime.Object
	for name, change := range now {
		text := strings.ReplaceAll(planned, "NAME", name)
		documents = append(documents, text)
		if change == nil {
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(change.Replace(text))); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, o)
	}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), stored...)
	var sent []string
	client.PrependReactor("patch", "machines", func(a clienttesting.Action) (bool, runtime.Object, error) {
		patch := a.(clienttesting.PatchAction)
		o, err := client.Tracker().Get(patch.GetResource(), patch.GetNamespace(), patch.GetName())
		if err != nil {
			return true, nil, err
		}
		var body unstructured.Unstructured
		if err := json.Unmarshal(patch.GetPatch(), &body.Object); err != nil {
			t.Error(err)
		}
		if body.GetResourceVersion() != o.(*unstructured.Unstructured).GetResourceVersion() {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, patch.GetName(), nil)
		}
		if patch.GetName() == "f-refused" {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "machines"}, patch.GetName(), nil)
		}
		sent = append(sent, patch.GetName())
		return true, o, nil
	})
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != len(now) {
		t.Fatal(err, f)
	}
	out := &bytes.Buffer{}
	m := &mover{options: &options{Plugin: &cli.Plugin{Options: cli.Options{Now: time.Now}}, yes: true}, client: client, Output: printers.Output{Writer: out}}
	err = m.back(t.Context(), f)
	if err == nil || !strings.Contains(err.Error(), "1 object") {
		t.Errorf("the end is %v", err)
	}
	slices.Sort(sent)
	if want := []string{"a-deleted", "c-begun", "d-same", "g-same"}; !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v: %s", sent, want, out)
	}
}
