// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/mirroring/pairs"
)

// IsRefusal reports whether the API server has judged a write and refuses its content, so that it would refuse the same write again. Conflicts, timeouts and
// other errors that pass are no refusals. An error of the network is none either, because no API server has answered.
func IsRefusal(err error) bool {
	if errors.As(err, new(*notKept)) {
		return true
	}
	if !errors.As(err, new(apierrors.APIStatus)) {
		return false
	}
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown ||
		apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// NotKept returns the error of a write that the API server accepts without storing all of it. Without this error, the mirror would send the same write again.
func NotKept(w *pairs.Write) error {
	return &notKept{fmt.Errorf("the API server accepts writes to %s, but does not store these fields: %s", pairs.Describe(w.Object), pairs.Brief(w.Fields))}
}

type notKept struct{ error }
