// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/eventnote"
)

// event records an event on the inventory of the provider.
func (r *reconciler) event(rec *record, kind, reason, action, text string) {
	if rec.stored != nil {
		r.recorder.Eventf(rec.stored, nil, kind, reason, action, "%s", eventnote.Cut(text, eventnote.Longest))
	}
}

// note stores what was done to an object until the end of the pass. The recorder counts events with the same reason on the same inventory as one event, and
// shows only one text. So one event must name all objects.
func (k *walk) note(reason string, object *unstructured.Unstructured, text string) {
	k.notes = append(k.notes, noted{reason, object, text})
}

// recordProgress records an event for each stage in which a provider begins to wait, for each problem, and for each content that becomes ready.
func (r *reconciler) recordProgress(k *walk, before installation.Progress) {
	rec, now := k.record, k.record.progress
	if now.Ready != before.Ready && len(k.Dropped) > 0 {
		var texts []string
		for _, entry := range k.Dropped {
			texts = append(texts, entry.Object+": "+entry.What)
		}
		r.event(rec, corev1.EventTypeWarning, "Dropped", "Apply", eventnote.Join(rec.label+" has objects that the installer does not apply: ", texts, "; ",
			eventnote.Longest))
	}
	switch {
	case now.Problem != "" && now.Problem != before.Problem:
		r.event(rec, corev1.EventTypeWarning, "InstallFailed", "Apply", now.Problem)
	case now.Ready != before.Ready:
		r.event(rec, corev1.EventTypeNormal, "Installed", "Apply", fmt.Sprintf("%s %s is installed", rec.label, now.ReadyVersion))
	case now.Waits != "" && now.Stage != before.Stage:
		r.event(rec, corev1.EventTypeNormal, "Waiting", "Wait", fmt.Sprintf("%s waits in stage %d (%s): %s", rec.label, now.Stage,
			installation.NameOf(now.Stage), now.Waits))
	}
}

// announce records an event, on one of the set's ConfigMaps, for each reason why nothing of the set is applied. It also removes the metrics of providers that
// are not in the set any more.
func (r *reconciler) announce(p *done) {
	if p.Unread {
		return
	}
	for label := range p.records {
		if !slices.ContainsFunc(p.Outcomes, func(o installation.Outcome) bool { return o.Provider == label }) {
			r.meters.drop(label)
		}
	}
	why, kind, reason, action := p.Waits, corev1.EventTypeNormal, "Waiting", "Wait"
	if p.Err != nil {
		why, kind, reason, action = p.Err.Error(), corev1.EventTypeWarning, "InstallFailed", "Apply"
	}
	if why != "" && why != r.announced && len(p.transports) > 0 {
		r.recorder.Eventf(&p.transports[0], nil, kind, reason, action, "%s", eventnote.Cut(why, eventnote.Longest))
	}
	r.announced = why
}
