// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
)

// answers has one error for each read.
type answers struct {
	client.Reader
	err error
}

func (a answers) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return a.err
}

func (a answers) List(context.Context, client.ObjectList, ...client.ListOption) error { return a.err }

// An object that does not exist is nil; only Get takes a kind that is not served for the same.
func TestWhatIsNotThere(t *testing.T) {
	unserved := apierrors.NewNotFound(schema.GroupResource{Resource: "machines"}, "m")
	unserved.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Machine"}
	for sentence, c := range map[string]struct {
		err             error
		get, read, list bool
	}{
		"the object does not exist":                          {err: apierrors.NewNotFound(schema.GroupResource{Resource: "machines"}, "m"), list: true},
		"a cache knows that the kind is not served":          {err: &meta.NoKindMatchError{GroupKind: kind.GroupKind()}, read: true, list: true},
		"the API server answers that the kind is not served": {err: unserved, read: true, list: true},
		"nobody answers":                                     {err: errors.New("connection refused"), get: true, read: true, list: true},
	} {
		from := answers{err: c.err}
		o, err := served.Get(t.Context(), from, kind, "n", "m")
		if (err != nil) != c.get || o != nil {
			t.Errorf("%s: Get returns %v, %v", sentence, o, err)
		}
		o, err = served.Read(t.Context(), from, kind, "n", "m")
		if (err != nil) != c.read || o != nil || c.read && served.Missing(err) == c.get {
			t.Errorf("%s: Read returns %v, %v", sentence, o, err)
		}
		if _, err = served.List(t.Context(), from, kind, "n"); (err != nil) != c.list || !errors.Is(err, c.err) {
			t.Errorf("%s: List returns %v", sentence, err)
		}
	}
}
