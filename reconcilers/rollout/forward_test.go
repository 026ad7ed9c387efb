// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versions answers lists of each kind in these versions, one after another.
type versions struct {
	client.Reader
	left []string
}

func (v *versions) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetResourceVersion(v.left[0])
	v.left = v.left[1:]
	return nil
}

// An API server that answers with an older state, as through a cache that lags, is asked again; one whose state went back for good is believed in the end.
func TestReadsNeverGoBack(t *testing.T) {
	machines := func() client.ObjectList {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(machineKind.GroupVersion().WithKind("MachineList"))
		return l
	}
	now := time.Now()
	r := &versions{}
	f := newForward(r, func() time.Time { return now })
	reads := func(sentence, version string, list client.ObjectList, want bool) {
		t.Helper()
		r.left = []string{version}
		if err := f.List(t.Context(), list); errors.Is(err, errOlder) == want || err != nil && want {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	reads("the first", "100", machines(), true)
	reads("the same", "100", machines(), true)
	reads("a later one, of more digits", "1000", machines(), true)
	reads("an older one", "999", machines(), false)
	reads("another kind", "5", &corev1.NodeList{}, true)
	f.wrote("1001")
	reads("one from before a Machine was written", "1000", machines(), false)
	reads("one from after that", "1001", machines(), true)
	reads("etcd is restored", "7", machines(), false)
	now = now.Add(patience)
	reads("etcd is restored, and a minute has not passed", "7", machines(), false)
	now = now.Add(time.Second)
	reads("it stays so", "8", machines(), true)
	reads("from then on it counts", "7", machines(), false)
}
