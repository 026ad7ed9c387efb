// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// A person reads of a write that is refused for its content. What passes without anybody is not reported.
func TestIsRefusal(t *testing.T) {
	one, why := schema.GroupResource{Resource: "machines"}, errors.New("why")
	w := &pairs.Write{Verb: pairs.Apply, Object: mirroringtest.Machine(t, `{kind: Machine, metadata: {name: m}}`), Fields: []string{"spec.taints"}}
	for sentence, c := range map[string]struct {
		err  error
		want bool
	}{
		"a field is invalid":                   {apierrors.NewInvalid(schema.GroupKind{Kind: "Machine"}, "m", nil), true},
		"a webhook forbids it":                 {apierrors.NewForbidden(one, "m", why), true},
		"the schema does not have the field":   {apierrors.NewBadRequest("unknown field"), true},
		"a refusal without a reason":           {&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusTeapot}}, true},
		"it is stored otherwise than sent":     {NotKept(w), true},
		"wrapped":                              {fmt.Errorf("apply: %w", apierrors.NewForbidden(one, "m", why)), true},
		"somebody else wrote first":            {apierrors.NewConflict(one, "m", why), false},
		"the namespace is gone":                {apierrors.NewNotFound(one, "m"), false},
		"a webhook does not answer":            {apierrors.NewInternalError(why), false},
		"the API server asks for patience":     {apierrors.NewTooManyRequests("busy", 1), false},
		"no API server answers":                {errors.New("connection refused"), false},
		"nothing went wrong, which is no news": {nil, false},
	} {
		if got := IsRefusal(c.err); got != c.want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}
