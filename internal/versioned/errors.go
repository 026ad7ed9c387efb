// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package versioned

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Outdated reports whether an object is no longer what was read: somebody has written to it since, or it is gone.
func Outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// Overtaken reports whether somebody else was faster: has written to the object, or has created it.
func Overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
