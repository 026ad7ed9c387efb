// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
)

// deployments answers to the one name.
type deployments struct {
	client.Reader
	spec map[string]any
	err  error
}

func (d deployments) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	u, ok := into.(*unstructured.Unstructured)
	if d.err != nil {
		return d.err
	}
	if !ok || u.GetKind() != "Deployment" || key.Name != "control-plane-machine-set-operator" || key.Namespace != "m" || d.spec == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, key.Name)
	}
	u.Object["spec"] = d.spec
	u.SetName(key.Name)
	return nil
}

func TestOtherOperator(t *testing.T) {
	for text, c := range map[string]struct {
		of   deployments
		want string
	}{
		"there is none":               {},
		"it runs":                     {of: deployments{spec: map[string]any{"replicas": int64(1)}}, want: "m/control-plane-machine-set-operator"},
		"one where nothing is said":   {of: deployments{spec: map[string]any{}}, want: "m/control-plane-machine-set-operator"},
		"it is scaled down":           {of: deployments{spec: map[string]any{"replicas": int64(0)}}},
		"the API server is not there": {of: deployments{err: errors.New("no answer")}},
	} {
		got, err := facts.OtherOperator(t.Context(), c.of, "m")
		if got != c.want || (err != nil) != (c.of.err != nil) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
