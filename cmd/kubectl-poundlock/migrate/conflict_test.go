// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
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
