// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/pairs"
)

// Event is an event that a pass records at its end.
type Event struct {
	About   *unstructured.Unstructured
	Reason  string
	Warning bool
	notes   []string
}

// Text returns the message of the event.
func (n Event) Text() string { return strings.Join(n.notes, "; ") }

// routine are the reasons of the steps by which a pass creates a mirror, or makes it equal. All these steps are combined in one event, with the reason of the
// last one.
var routine = []string{"MirrorEnrolled", "MirrorCreated", "MirrorClaimed", "MirrorUpdated", "Synchronized"}

// WithEvent returns the events of a pass with the event of a write added. A write has an event if a user asked for it or must know about it (Note).
func WithEvent(all []Event, s *pairs.State, w *pairs.Write) []Event {
	about := s.MachineAPI
	if about == nil {
		about = s.Core
	}
	if about == nil || w.Note == "" {
		return all
	}
	now := Event{About: about, Reason: w.Reason, Warning: w.Failure || w.Warning, notes: []string{w.Note}}
	if last := len(all) - 1; last >= 0 && slices.Contains(routine, all[last].Reason) && slices.Contains(routine, now.Reason) &&
		all[last].Warning == now.Warning && all[last].About.GetUID() == now.About.GetUID() {
		now.notes = append(all[last].notes, now.notes...)
		return append(all[:last:last], now)
	}
	return append(all, now)
}
