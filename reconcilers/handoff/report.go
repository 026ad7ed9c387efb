// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// report writes the condition AuthoritySettled if it changes, and sets status.synchronizedAPI, the last stable value of the authority, if it is missing.
func (r *reconciler) report(ctx context.Context, p *pair, step authority.Step) error {
	conditions := conditionlist.Of(p.machineAPI)
	c, before := r.settledCondition(p, step, conditions)
	status := map[string]any{}
	if s := p.state(); s.Current.Other() != authority.Unset && s.Origin != s.Current {
		status["synchronizedAPI"] = string(s.Current)
	}
	if merged, changed := conditionlist.Set(conditions, c, r.now()); changed && !early(p, before, conditions) {
		status["conditions"] = merged
	}
	if len(status) == 0 {
		return nil
	}
	if err := r.patchStatus(ctx, p.machineAPI, map[string]any{"status": status}); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Handoff reported", "object", pairs.Describe(p.machineAPI), "settled", c["status"], "reason", c["reason"], "message", c["message"])
	if conditionlist.Text(before, "reason") != step.Reason {
		r.meters.waited(p.kind.Name, before, r.now())
		r.event(p, step, c)
	}
	return nil
}

// early reports whether it is too early to report anything: nobody has asked for a move, and the mirror has not compared the object yet. The mirror's own
// report requeues the pair. Such waits are short, and each report would be a write.
func early(p *pair, before map[string]any, conditions []any) bool {
	s := p.state()
	return before == nil && s.Requested != s.Current.Other() && s.Current.Other() != authority.Unset &&
		conditionlist.Find(conditions, authority.ConditionSynchronized) == nil
}

// settledCondition returns the condition AuthoritySettled that follows from a step, and the existing condition, nil if there is none. Its lastTransitionTime
// also changes with the reason, because it shows since when the pair has waited for this reason.
func (r *reconciler) settledCondition(p *pair, step authority.Step, conditions []any) (now, before map[string]any) {
	before = conditionlist.Find(conditions, authority.ConditionSettled)
	status, severity := metav1.ConditionFalse, severityOf(step)
	if step.Action == authority.Settle {
		status, severity = metav1.ConditionTrue, ""
	}
	since := r.now().UTC().Format(time.RFC3339)
	if conditionlist.Text(before, "status") == string(status) && conditionlist.Text(before, "reason") == step.Reason {
		since = conditionlist.Text(before, "lastTransitionTime")
	}
	now = condition(authority.ConditionSettled, status, severity, step.Reason, step.Message)
	now["lastTransitionTime"] = since
	if step.Action == authority.Wait {
		now["message"] = strings.Join(append([]string{step.Message}, p.details(step, r.now())...), " ") + " Since " + since + "." + p.decision(step, since) +
			p.pausedCluster(step) + cmp.Or(p.unwoken(step), p.lastError(step)) // each ends with a command
	}
	return now, before
}

// severityOf returns the severity of the condition while it is False. A condition of Machine API has a severity only then.
func severityOf(step authority.Step) string {
	switch step.Reason {
	case authority.ReasonNotSynchronized, authority.ReasonUnknownOrigin, authority.ReasonUnknownAuthority:
		return "Error"
	case authority.ReasonDeleting, authority.ReasonPausedElsewhere, authority.ReasonTwinMissing, authority.ReasonUncounted, authority.ReasonJudged,
		authority.ReasonRequestsOpen, authority.ReasonInstanceShared, authority.ReasonInfraShared,
		authority.ReasonSurroundings, reasonStepFailed:
		return "Warning"
	}
	return "Info"
}

func condition(kind string, status metav1.ConditionStatus, severity, reason, message string) map[string]any {
	c := conditionlist.New(kind, status, reason, message)
	if severity != "" {
		c["severity"] = severity
	}
	return c
}

// details returns sentences about the objects that the step waits for, with their conditions.
func (p *pair) details(step authority.Step, now time.Time) []string {
	var out []string
	if step.On.Has(authority.WhoMirror) {
		out = append(out, p.mirrorState())
	}
	if step.On.Has(authority.WhoMachines) {
		for _, u := range authority.NameUncounted(p.objects.Uncounted) {
			out = append(out, u+".")
		}
		if warning := authority.NameJudged(p.objects.Judged); warning != "" {
			out = append(out, warning)
		}
	}
	if step.On.Has(authority.WhoSurroundings) {
		out = append(out, p.objects.Leaving+".")
	}
	if kept := p.objects.AlsoKept; step.On.Has(authority.WhoHolders) && len(kept) > 0 && len(p.objects.Holders) == 0 {
		out = append(out, fmt.Sprintf("The instance is %q. It also belongs to %s. %s.", machineID(p.machineAPI), strings.Join(kept, ", "),
			authority.LetGoOfKept(p.core.GetNamespace(), kept)))
	} else if step.On.Has(authority.WhoHolders) {
		out = append(out, fmt.Sprintf("The instance is %q. It also belongs to Machine %s.", machineID(p.machineAPI), strings.Join(p.objects.Holders, ", ")))
	}
	if step.On.Has(authority.WhoInfra) && p.infra == nil && p.core != nil { // without a Cluster API object nobody has looked for one
		out = append(out, "There is no infrastructure object.")
	}
	if step.On.Has(authority.WhoClusterAPI) && p.core == nil {
		out = append(out, "There is no Cluster API object.")
	}
	for _, o := range p.of(step.On) {
		out = append(out, p.waitsFor(step, o.live, now))
	}
	return out
}

// decision returns what a user can do about an instance whose ID does not appear, with the command last; "" if the step waits for something else.
func (p *pair) decision(step authority.Step, since string) string {
	at, err := time.Parse(time.RFC3339, since)
	if step.Reason != authority.ReasonInstanceUnknown || err != nil {
		return ""
	}
	if why := p.objects.KeptForOtherInstance(); why != "" {
		return " " + why
	}
	s, wait, first, source := p.state(), " Wait first: usually the controllers store the instance's ID within minutes.", "", p.machineAPI
	from := s.Current
	if from == authority.Migrating { // a paused controller stores no ID
		from, wait, first = s.Origin, "", "cancel the move and "
	}
	if from == authority.ClusterAPI {
		source = p.core
		if p.infra != nil {
			source = p.infra
		}
	}
	return fmt.Sprintf("%s If the ID does not appear, look for the instance in the cloud. If the instance exists, %sset spec.providerID of %s. If no "+
		"instance exists, confirm that: kubectl -n %s annotate --overwrite %s.%s %s %s=%s",
		wait, first, pairs.Describe(source), p.machineAPI.GetNamespace(), p.kind.Resource, p.kind.MachineAPI.Group, p.machineAPI.GetName(),
		authority.NoInstanceAnnotation, authority.NoInstanceToken(s.Current, at))
}

// pausedCluster returns who can end the wait for a paused Cluster, with the command last; "" if the step does not wait for one.
func (p *pair) pausedCluster(step authority.Step) string {
	if !step.On.Has(authority.WhoCluster) || p.objects.Cluster == nil {
		return ""
	}
	return " " + authority.NamePausedCluster(p.objects.Cluster)
}

// unwoken returns the commands by which Cluster API looks again at an object that it still takes for paused although its Cluster was unpaused. Cluster API's
// controllers then look at Machines whose MachineSet is not paused, and at others only when they reconcile everything again. It returns "" if the step does not
// wait for that.
func (p *pair) unwoken(step authority.Step) string {
	if step.Reason != authority.ReasonNotResumed || !step.On.Has(authority.WhoClusterAPI) || p.core == nil || pairs.IsPaused(p.core) {
		return ""
	}
	if c := p.paused(p.core); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "spec.paused") {
		return ""
	}
	touch := fmt.Sprintf("kubectl -n %s label %s.%s %s", p.core.GetNamespace(), p.kind.Resource, p.core.GroupVersionKind().Group, p.core.GetName())
	return fmt.Sprintf(" The Cluster is no longer paused, but Cluster API's controllers have not looked at this object since. They do so within some ten "+
		"minutes. To have them do it at once, change the object: %s touched=; %s touched-", touch, touch)
}

// lastError returns why an acknowledgement may take minutes, and the command that shows the controller's last error. It names the first object whose
// acknowledgement is missing. It returns "" if there is no such object, or if no controller acknowledges the pause of the object.
func (p *pair) lastError(step authority.Step) string {
	missing := missingAnswer(step)
	for _, o := range p.of(step.On) {
		if missing == "" || o.live.GetDeletionTimestamp() != nil || p.paused(o.live).Status == missing || !p.acknowledges(o.live) {
			continue
		}
		return fmt.Sprintf(" After an error the controller waits, after several errors for minutes, and acknowledges the move only at its next attempt. To "+
			"see the controller's last error: kubectl -n %s describe %s.%s %s",
			o.live.GetNamespace(), strings.ToLower(o.live.GetKind()), o.live.GroupVersionKind().Group, o.live.GetName())
	}
	return ""
}

// missingAnswer returns the status of the condition Paused that a step waits for; "" if the step waits for something else.
func missingAnswer(step authority.Step) metav1.ConditionStatus {
	switch step.Reason {
	case authority.ReasonNotPaused:
		return metav1.ConditionTrue
	case authority.ReasonNotResumed:
		return metav1.ConditionFalse
	}
	return ""
}

// acknowledges reports whether the controllers of an object report that they have paused.
func (p *pair) acknowledges(o *unstructured.Unstructured) bool {
	if o == p.machineAPI {
		return !p.state().Blind
	}
	return authority.Acknowledges(o.GetKind()) != authority.ByPatience
}

func (p *pair) mirrorState() string {
	shape := authority.Read(p.objects.MachineAPI)
	c := shape.Condition(authority.ConditionSynchronized)
	switch {
	case c.Status == "":
		return "Poundlock has not written the condition Synchronized yet."
	case c.Status == metav1.ConditionTrue:
		return fmt.Sprintf("The mirror was last updated from generation %d of the authoritative object.", shape.SynchronizedGeneration)
	}
	return fmt.Sprintf("Synchronized is %s (%s): %s.", c.Status, c.Reason, strings.TrimSuffix(eventnote.Cut(c.Message, eventnote.Longest), "."))
}

func (p *pair) waitsFor(step authority.Step, o *unstructured.Unstructured, now time.Time) string {
	switch {
	case o.GetDeletionTimestamp() != nil:
		return going(o)
	case step.Reason == authority.ReasonRequestsOpen && p.kind.InfraActs():
		return pairs.Describe(o) + " has the conditions HealthCheckSucceeded=False and ExternallyRemediated=False."
	case step.Reason == authority.ReasonRequestsOpen:
		return pairs.Describe(o) + " has fewer healthy Machines (status.currentHealthy) than it selects (status.expectedMachines)."
	case step.Reason == authority.ReasonInfraShared:
		return fmt.Sprintf("%s belongs to Machine %s.", pairs.Describe(o), authority.InfraOfAnother(p.objects.Infra, p.core.GetName()))
	case step.Reason == authority.ReasonInstanceUnknown && o == p.infraInstance:
		return fmt.Sprintf("The instance of %s is %q.", pairs.Describe(o), authority.KeptInstance(p.objects.InfraInstance))
	case step.Reason == authority.ReasonInstanceUnknown:
		return fmt.Sprintf("The providerID of %s is %q.", pairs.Describe(o), machineID(o))
	case step.Reason == authority.ReasonNotProvisioned && o == p.machineAPI:
		return fmt.Sprintf("The Machine's phase is %q.", authority.Read(p.objects.MachineAPI).Phase)
	case step.Reason == authority.ReasonNotProvisioned:
		return pairs.Describe(o) + " shows in its status how far its provisioning is."
	}
	c := p.paused(o)
	if o == p.machineAPI && p.state().Blind {
		return fmt.Sprintf("The controller of %s acknowledges no pause: Poundlock assumes that the controller has paused %s after the pause annotation was "+
			"written.",
			pairs.Describe(o), pauseSeenAfter)
	}
	if c.Status == "" && step.Reason == authority.ReasonPausedElsewhere {
		return pairs.Describe(o) + " is not changed until the Cluster is unpaused."
	}
	if c.Status == "" {
		return pairs.Describe(o) + p.silence(o, missingAnswer(step) != metav1.ConditionFalse, now)
	}
	if c.Message == "" {
		c.Message = "no message"
	}
	has := fmt.Sprintf("%s has Paused=%s (%s: %s)", pairs.Describe(o), c.Status, c.Reason, eventnote.Cut(c.Message, eventnote.Longest))
	if missing := missingAnswer(step); missing != "" && c.Status != missing {
		return fmt.Sprintf("%s, and Paused=%s is missing.", has, missing)
	}
	return has + "."
}

func machineID(o *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	return id
}

// silence returns why an object may have no condition Paused. pause reports that the acknowledgement of a pause is awaited. Otherwise the acknowledgement of
// its end is awaited.
func (p *pair) silence(o *unstructured.Unstructured, pause bool, now time.Time) string {
	by := authority.Acknowledges(o.GetKind())
	switch {
	case by == authority.ByBlockMove && pause:
		return " acknowledges a pause by removing the annotation " + authority.BlockMoveAnnotation + ": " + heard(o, now)
	case by == authority.ByBlockMove:
		return " acknowledges the end of a pause by setting again the annotation " + authority.BlockMoveAnnotation + ": " + heard(o, now)
	case by == authority.ByPatience && pause && p.objects.MayBeCreating():
		return fmt.Sprintf(" has no Paused condition and no instance ID, and its controller may be creating an instance: Poundlock assumes that the "+
			"controller has paused %s after the pause annotation was written.", creationEndsAfter)
	case by == authority.ByPatience && pause:
		return fmt.Sprintf(" has no Paused condition: Poundlock assumes that its controller has paused %s after the pause annotation was written.", pauseSeenAfter)
	case by == authority.ByPatience:
		return " has no Paused condition: Poundlock assumes that its controller acts as soon as the pause annotation is gone."
	}
	return " has no Paused condition: " + heard(o, now)
}

// heard returns why an object may have no acknowledgement: the controllers of a new object may not have reconciled it yet, else they may not run.
func heard(o *unstructured.Unstructured, now time.Time) string {
	born := o.GetCreationTimestamp().Time
	if !born.IsZero() && now.Before(born.Add(time.Minute)) {
		return fmt.Sprintf("the object was created at %s, and its controllers may not have processed it yet.", born.UTC().Format(time.RFC3339))
	}
	return "are its controllers running?"
}

// going returns a sentence about an object that is being deleted, with its finalizers, which show who still keeps the object.
func going(o *unstructured.Unstructured) string {
	if len(o.GetFinalizers()) == 0 {
		return pairs.Describe(o) + " is being deleted."
	}
	return fmt.Sprintf("%s is being deleted, and has the finalizers %s.", pairs.Describe(o), strings.Join(o.GetFinalizers(), ", "))
}

func (p *pair) paused(o *unstructured.Unstructured) authority.Condition {
	switch o {
	case p.machineAPI:
		return authority.Read(p.objects.MachineAPI).Condition(authority.ConditionPaused)
	case p.core:
		return authority.Paused(p.objects.ClusterAPI)
	case p.infraInstance:
		return authority.Paused(p.objects.InfraInstance)
	}
	return authority.Paused(p.objects.Infra)
}

// event records an event when something began or ended, or when the pair waits for something. It records none for a repair of a settled state.
func (r *reconciler) event(p *pair, step authority.Step, c map[string]any) {
	s := p.state()
	if step.Action == authority.Wait && s.Current != authority.Migrating && s.Requested != s.Current.Other() {
		return
	}
	severity := corev1.EventTypeNormal
	if slices.Contains([]string{"Error", "Warning"}, conditionlist.Text(c, "severity")) {
		severity = corev1.EventTypeWarning
	}
	r.recorder.Eventf(p.machineAPI, nil, severity, step.Reason, "Handoff", "%s", eventnote.Cut(conditionlist.Text(c, "message"), eventnote.Longest))
}
