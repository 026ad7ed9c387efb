// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package versioned

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Changed returns a conflict error for an object that has changed since the decision. The caller has noticed the change before the API server could.
func Changed(o client.Object) error {
	kind := o.GetObjectKind().GroupVersionKind()
	return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, o.GetName(),
		errors.New("the object has changed since Poundlock read it"))
}

// Outdated reports whether an error of a write means that the object has changed since it was read, or is gone.
func Outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// Overtaken reports whether an error of a write means that somebody else was faster, and has changed the object or created it.
func Overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
