// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package versioned

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A caller sends the same body again after a conflict, to an object that has another version by then.
func TestABodyStaysAsItIs(t *testing.T) {
	o := &unstructured.Unstructured{}
	o.SetResourceVersion("7")
	for _, c := range []struct {
		body map[string]any
		want string
	}{
		{map[string]any{"status": map[string]any{"a": 1}}, `{"metadata":{"resourceVersion":"7"},"status":{"a":1}}`},
		{map[string]any{"metadata": map[string]any{"labels": nil}}, `{"metadata":{"labels":null,"resourceVersion":"7"}}`},
		{map[string]any{"metadata": map[string]any(nil)}, `{"metadata":{"resourceVersion":"7"}}`},
		{nil, `{"metadata":{"resourceVersion":"7"}}`},
	} {
		patch, err := of(o, c.body)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := patch.Data(o)
		if err != nil || string(raw) != c.want {
			t.Errorf("%s (%v), want %s", raw, err, c.want)
		}
		if metadata, _ := c.body["metadata"].(map[string]any); metadata["resourceVersion"] != nil {
			t.Errorf("the body was written to: %v", c.body)
		}
	}
}

// What is equal is not sent, and what differs names the version that it was read in.
func TestPatchFrom(t *testing.T) {
	before := &unstructured.Unstructured{}
	before.SetNamespace("n")
	before.SetName("m")
	before.SetResourceVersion("7")
	same, other := before.DeepCopy(), before.DeepCopy()
	other.SetFinalizers([]string{"f"})
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "m", errors.New("it changed"))
	for sentence, c := range map[string]struct {
		after  *unstructured.Unstructured
		answer error
		sent   string
		wrote  bool
	}{
		"equal":                {after: same},
		"another finalizer":    {after: other, sent: `{"metadata":{"finalizers":["f"],"resourceVersion":"7"}}`, wrote: true},
		"written to meanwhile": {after: other, answer: conflict, sent: `{"metadata":{"finalizers":["f"],"resourceVersion":"7"}}`},
	} {
		sent := ""
		wrote, err := from(before, c.after, func(p client.Patch) error {
			raw, err := p.Data(c.after)
			sent = string(raw)
			return errors.Join(err, c.answer)
		})
		if wrote != c.wrote || sent != c.sent || !errors.Is(err, c.answer) || Outdated(err) != (c.answer != nil) {
			t.Errorf("%s: sent %s, wrote %t, error %v", sentence, sent, wrote, err)
		}
	}
}

func TestErrors(t *testing.T) {
	one := schema.GroupResource{Resource: "machines"}
	for sentence, c := range map[string]struct {
		err                 error
		outdated, overtaken bool
	}{
		"no error":          {},
		"a conflict":        {fmt.Errorf("patching: %w", apierrors.NewConflict(one, "m", errors.New("it changed"))), true, true},
		"one of two errors": {errors.Join(errors.New("x"), apierrors.NewConflict(one, "m", errors.New("it changed"))), true, true},
		"found to differ":   {Changed(&unstructured.Unstructured{}), true, true},
		"it is gone":        {apierrors.NewNotFound(one, "m"), true, false},
		"it exists":         {apierrors.NewAlreadyExists(one, "m"), false, true},
		"a refusal":         {apierrors.NewForbidden(one, "m", errors.New("no")), false, false},
	} {
		if Outdated(c.err) != c.outdated || Overtaken(c.err) != c.overtaken {
			t.Errorf("%s: outdated %t, overtaken %t", sentence, Outdated(c.err), Overtaken(c.err))
		}
	}
}
