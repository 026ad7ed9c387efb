// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// tell logs every change, and keeps what a person asked for or must know of.
func (r *reconciler) tell(ctx context.Context, p *pass, w *pairs.Write) {
	log.FromContext(ctx).Info("Mirror changed", "verb", w.Verb, "written", pairs.Describe(w.Object), "reason", w.Reason, "fields", w.Fields)
	about := p.MachineAPI
	if about == nil {
		about = p.Core
	}
	if about == nil || w.Note == "" {
		return
	}
	now := news{about: about, severity: corev1.EventTypeNormal, reason: w.Reason, notes: []string{w.Note}}
	if w.Failure || w.Warning {
		now.severity = corev1.EventTypeWarning
	}
	p.news = joined(p.news, now)
}

// news is an event that is to be recorded.
type news struct {
	about            *unstructured.Unstructured
	severity, reason string
	notes            []string
}

// routine are the reasons of what a pass does to make a mirror, or to make it equal: one event has all of it, under the last of these reasons.
var routine = []string{"MirrorEnrolled", "MirrorCreated", "MirrorClaimed", "MirrorUpdated", "Synchronized"}

// joined adds what has happened to the events of the pass.
func joined(all []news, now news) []news {
	if last := len(all) - 1; last >= 0 && slices.Contains(routine, all[last].reason) && slices.Contains(routine, now.reason) &&
		all[last].severity == now.severity && all[last].about.GetUID() == now.about.GetUID() {
		now.notes = append(all[last].notes, now.notes...)
		return append(all[:last:last], now)
	}
	return append(all, now)
}

// record sends the events of a pass.
func (r *reconciler) record(p *pass) {
	for _, n := range p.news {
		r.recorder.Eventf(n.about, nil, n.severity, n.reason, "Mirror", "%s", eventnote.Cut(strings.Join(n.notes, "; "), 1000))
	}
}
