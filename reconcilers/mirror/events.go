// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// noteWrite logs every change, and collects the events of changes that a user asked for or must know about.
func (r *reconciler) noteWrite(ctx context.Context, p *pass, w *pairs.Write) {
	log.FromContext(ctx).Info("Mirror changed", "verb", w.Verb, "written", pairs.Describe(w.Object), "reason", w.Reason, "fields", w.Fields)
	p.events = mirroring.WithEvent(p.events, p.State, w)
}

// record records the events of a pass.
func (r *reconciler) record(p *pass) {
	for _, n := range p.events {
		severity := corev1.EventTypeNormal
		if n.Warning {
			severity = corev1.EventTypeWarning
		}
		r.recorder.Eventf(n.About, nil, severity, n.Reason, "Mirror", "%s", eventnote.Cut(n.Text(), 1000))
	}
}
