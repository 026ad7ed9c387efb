// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/bundle"
)

// OperatorName is the name of the ClusterOperator.
const OperatorName = "cluster-api"

// These decide when an error is shown as Degraded. An error that passes soon is not shown, because OpenShift pages people for Degraded.
const (
	// An error counts after Passes failed passes in a row, if at least Grace has passed since the first of them.
	Passes = 5
	Grace  = 2 * time.Minute
	// FinalPasses is the number of failed passes in a row after which an error counts that does not pass by itself.
	FinalPasses = 2
	// StageDeadline is how long a stage may wait before this counts as an error.
	StageDeadline = 20 * time.Minute
)

// Final marks an error that does not pass by itself: a person has to change something.
type Final struct{ Err error }

func (f *Final) Error() string { return f.Err.Error() }
func (f *Final) Unwrap() error { return f.Err }

// IsFinal reports whether an error does not pass by itself.
func IsFinal(err error) bool {
	var final *Final
	var collision *Collision
	return errors.As(err, &final) || errors.As(err, &collision)
}

// Content identifies content of a provider by its version and hash.
type Content struct{ Version, Hash string }

// Outcome is the state of a provider after a pass.
type Outcome struct {
	Provider string
	// Wanted is the content of the release, Installed the content that became ready last. Either may be empty.
	Wanted, Installed Content
	// Stage is the stage that the provider has not passed yet, 0 if it has passed all. Since is when the stage began. Waits is what the stage waits for, and Err
	// is the error that stopped it.
	Stage bundle.Stage
	Since time.Time
	Waits string
	Err   error
	// Down names a workload of the installed content that does not serve, with the reason.
	Down string
	// Unseen reports that a workload of installed content cannot be read: whether it serves is unknown.
	Unseen bool
	// Stored are the CRDs with objects that are still stored in older versions. StoredUnseen reports that a CRD could not be read.
	Stored       []string
	StoredUnseen bool
	// Released are the CRDs that the content no longer has. They stay in the cluster.
	Released []string
}

func (o Outcome) done() bool { return o.Stage == 0 && o.Err == nil && o.Waits == "" }

// new reports whether the wanted content has never become ready.
func (o Outcome) new() bool { return o.Wanted.Hash != "" && o.Wanted.Hash != o.Installed.Hash }

// Memory counts failed passes in a row. First is when the first of them was, and survives a restart of the process.
type Memory struct {
	Failures, Finals int
	First            time.Time
}

// Pass has everything that the status of the ClusterOperator is made of.
type Pass struct {
	Platform Platform
	// Missing are the providers whose ConfigMaps were deleted. Their last content stays applied.
	Missing  []string
	Outcomes []Outcome
	// Lacks is a sentence if no provider creates machines on this platform, else "".
	Lacks string
	// Served reports that a whole set was installed before, and that the installed providers can create machines. Then a further provider that is not installed
	// yet does not make the set unavailable.
	Served bool
	// Err is an error of the pass as a whole. Waits is what the set as a whole waits for, since WaitsSince.
	Err        error
	Waits      string
	WaitsSince time.Time
	// Unread reports that Err is an error of reading something that the whole pass depends on, so that nothing else was judged.
	Unread bool
	// Version is the release.
	Version string
}

// problems returns all errors, with the provider in front, and all deadlines that have passed. final reports that one of the errors does not pass by itself.
func (p Pass) problems(now time.Time) (all []string, final bool) {
	if p.Err != nil {
		all, final = append(all, p.Err.Error()), IsFinal(p.Err)
	}
	if p.Waits != "" && now.Sub(p.WaitsSince) > StageDeadline {
		all = append(all, p.Waits)
	}
	for _, o := range p.Outcomes {
		switch {
		case o.Err != nil:
			all = append(all, fmt.Sprintf("%s: %s", o.Provider, o.Err))
			final = final || IsFinal(o.Err)
		case o.overdue(now):
			all = append(all, fmt.Sprintf("%s has waited for more than %d minutes in stage %s: %s", o.Provider, int(StageDeadline.Minutes()), NameOf(o.Stage), o.Waits))
		}
	}
	if len(p.Missing) > 0 {
		all = append(all, fmt.Sprintf("the ConfigMaps of %s are missing, so the content that was installed last stays applied. Apply the release's "+
			"ConfigMaps again",
			strings.Join(p.Missing, ", ")))
		final = true
	}
	return all, final
}

func (o Outcome) overdue(now time.Time) bool {
	return o.Waits != "" && !o.Since.IsZero() && now.Sub(o.Since) > StageDeadline
}

// Lasts reports whether failures have lasted so long that they count even if each of them could pass by itself.
func (m Memory) Lasts(now time.Time) bool { return m.Failures >= Passes && now.Sub(m.First) >= Grace }

// Remember returns the memory after one more pass.
func (m Memory) Remember(p Pass, now time.Time) Memory {
	problems, final := p.problems(now)
	if len(problems) == 0 {
		return Memory{}
	}
	if m.First.IsZero() {
		m.First = now
	}
	m.Failures++
	if !final {
		m.Finals = 0
		return m
	}
	m.Finals++
	return m
}

// degraded reports whether the ClusterOperator is Degraded. was reports whether it was before: once it is Degraded, it stays so until a whole pass succeeds.
func (p Pass) degraded(m Memory, was bool, now time.Time) bool {
	overdue := slices.ContainsFunc(p.Outcomes, func(o Outcome) bool { return o.Err == nil && o.overdue(now) }) || p.Waits != "" &&
		now.Sub(p.WaitsSince) > StageDeadline
	switch {
	case overdue, m.Finals >= FinalPasses, m.Lasts(now):
		return true
	case !was:
		return false
	}
	problems, _ := p.problems(now)
	return len(problems) > 0 || !p.finished()
}

func (p Pass) finished() bool {
	return p.Err == nil && p.Waits == "" && !slices.ContainsFunc(p.Outcomes, func(o Outcome) bool { return !o.done() })
}

// Conditions returns the conditions of the ClusterOperator. was reports whether it is Degraded so far.
func (p Pass) Conditions(m Memory, was bool, now time.Time) []configv1.ClusterOperatorStatusCondition {
	if p.Platform.Unsupported != "" {
		return []configv1.ClusterOperatorStatusCondition{
			condition(configv1.OperatorAvailable, true, "UnsupportedPlatform", p.Platform.Unsupported),
			condition(configv1.OperatorProgressing, false, "UnsupportedPlatform", ""),
			condition(configv1.OperatorDegraded, false, "UnsupportedPlatform", ""),
			condition(configv1.OperatorUpgradeable, true, "UnsupportedPlatform", ""),
		}
	}
	if p.Unread {
		return []configv1.ClusterOperatorStatusCondition{p.degradedCondition(m, was, now)}
	}
	// A workload that cannot be read leaves the condition Available as it was, unless something else decides the condition.
	var all []configv1.ClusterOperatorStatusCondition
	if c := p.available(); c.Status == configv1.ConditionFalse || !p.any(func(o Outcome) bool { return o.Unseen }) {
		all = append(all, c)
	}
	all = append(all, p.progressing(), p.degradedCondition(m, was, now))
	if c := p.upgradeable(); c.Status == configv1.ConditionFalse || !p.any(func(o Outcome) bool { return o.StoredUnseen }) {
		all = append(all, c)
	}
	return all
}

func (p Pass) any(is func(Outcome) bool) bool { return slices.ContainsFunc(p.Outcomes, is) }

func condition(kind configv1.ClusterStatusConditionType, is bool, reason, message string) configv1.ClusterOperatorStatusCondition {
	status := configv1.ConditionFalse
	if is {
		status = configv1.ConditionTrue
	}
	return configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: reason, Message: message}
}

func (p Pass) available() configv1.ClusterOperatorStatusCondition {
	var down, never []string
	for _, o := range p.Outcomes {
		switch {
		case o.Installed.Hash == "":
			never = append(never, o.Provider)
		case o.Down != "":
			down = append(down, fmt.Sprintf("%s: %s", o.Provider, o.Down))
		}
	}
	switch {
	case len(down) > 0:
		return condition(configv1.OperatorAvailable, false, "WorkloadUnavailable", strings.Join(down, "; "))
	case p.Platform.Waits != "":
		return condition(configv1.OperatorAvailable, false, "WaitingForPlatform", p.Platform.Waits)
	case len(never) > 0 && !p.Served:
		return condition(configv1.OperatorAvailable, false, "Installing", "not installed yet: "+strings.Join(never, ", "))
	case p.Lacks != "" && !p.sound():
		return condition(configv1.OperatorAvailable, false, "Installing", "no infrastructure provider is installed yet: "+p.why())
	case p.Lacks != "":
		return condition(configv1.OperatorAvailable, false, "NoInfrastructureProvider", p.Lacks)
	case len(p.Outcomes) == 0 && !p.sound():
		return condition(configv1.OperatorAvailable, false, "Installing", "nothing of the release is installed yet: "+p.why())
	case len(p.Outcomes) == 0:
		return condition(configv1.OperatorAvailable, false, "NoProviders", "no ConfigMap carries a provider for this platform: apply the release's ConfigMaps")
	}
	return condition(configv1.OperatorAvailable, true, "AsExpected", "")
}

// sound reports whether the content that is applied is the release's content.
func (p Pass) sound() bool { return p.Err == nil && p.Waits == "" }

// why returns the reason for which the release's content is not applied.
func (p Pass) why() string {
	if p.Err != nil {
		return p.Err.Error()
	}
	return p.Waits
}

func (p Pass) progressing() configv1.ClusterOperatorStatusCondition {
	var moving []string
	if p.Waits != "" {
		moving = append(moving, p.Waits)
	}
	for _, o := range p.Outcomes {
		if o.new() {
			moving = append(moving, o.describe())
		}
	}
	if len(moving) > 0 {
		return condition(configv1.OperatorProgressing, true, "Installing", strings.Join(moving, "; "))
	}
	return condition(configv1.OperatorProgressing, false, "AsExpected", "")
}

func (o Outcome) describe() string {
	out := fmt.Sprintf("%s %s", o.Provider, o.Wanted.Version)
	if o.Installed.Hash == "" {
		out += " is not installed yet,"
	}
	if o.Stage > 0 {
		out += fmt.Sprintf(" is in stage %d (%s)", o.Stage, NameOf(o.Stage))
	}
	if o.Waits != "" {
		out += ", waiting: " + o.Waits
	}
	return out
}

func (p Pass) degradedCondition(m Memory, was bool, now time.Time) configv1.ClusterOperatorStatusCondition {
	problems, _ := p.problems(now)
	switch {
	case !p.degraded(m, was, now):
		return condition(configv1.OperatorDegraded, false, "AsExpected", "")
	case len(problems) == 0:
		return condition(configv1.OperatorDegraded, true, "Recovering", "the problem is fixed. Degraded becomes False when the installer has "+
			"completed all stages")
	}
	return condition(configv1.OperatorDegraded, true, p.reason(), strings.Join(problems, "; "))
}

func (p Pass) reason() string {
	failed := false
	for _, o := range p.Outcomes {
		var collision *Collision
		if errors.As(o.Err, &collision) {
			return "Collision"
		}
		failed = failed || o.Err != nil
	}
	switch {
	case failed:
		return "ApplyFailed"
	case p.Unread:
		return "ReadFailed"
	case p.Err != nil:
		return "ContentInvalid"
	case len(p.Missing) > 0:
		return "ContentMissing"
	}
	return "StageOverdue"
}

func (p Pass) upgradeable() configv1.ClusterOperatorStatusCondition {
	var stored []string
	for _, o := range p.Outcomes {
		stored = append(stored, o.Stored...)
	}
	if len(stored) > 0 {
		return condition(configv1.OperatorUpgradeable, false, "OldStorageVersions",
			"some objects are stored in API versions that the next release may lack: "+strings.Join(stored, ", ")+". The installer is rewriting them; wait")
	}
	return condition(configv1.OperatorUpgradeable, true, "AsExpected", p.released())
}

func (p Pass) released() string {
	var all []string
	for _, o := range p.Outcomes {
		all = append(all, o.Released...)
	}
	if len(all) == 0 {
		return ""
	}
	return "no provider of the release has these CustomResourceDefinitions any more. They and their objects stay: " + strings.Join(all, ", ")
}

// Versions returns the versions to show in the ClusterOperator. They are the release's versions once everything of the release is installed. Before that, the
// earlier versions stay. This includes the time while the ConfigMaps of a provider are missing, because that provider is still installed in the version of an
// earlier release, or not at all.
func (p Pass) Versions(before []configv1.OperandVersion) []configv1.OperandVersion {
	if !p.finished() || len(p.Outcomes) == 0 || len(p.Missing) > 0 || p.Lacks != "" {
		return before
	}
	var out []configv1.OperandVersion
	if p.Version != "" {
		out = append(out, configv1.OperandVersion{Name: "operator", Version: p.Version})
	}
	for _, o := range p.Outcomes {
		out = append(out, configv1.OperandVersion{Name: o.Provider, Version: o.Installed.Version})
	}
	return out
}

// Related returns the objects that explain a status: the namespaces, CRDs, workloads and webhook configurations of all providers, once each.
func Related(all []Provider) []configv1.ObjectReference {
	out := []configv1.ObjectReference{
		{Resource: "namespaces", Name: bundle.Namespace},
		{Group: configv1.GroupName, Resource: "clusteroperators", Name: OperatorName},
		{Resource: "configmaps", Namespace: bundle.Namespace},
	}
	for _, p := range all {
		for _, o := range p.Objects {
			if resource, listed := related[o.GetKind()]; listed {
				out = append(out, configv1.ObjectReference{Group: o.GroupVersionKind().Group, Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName()})
			}
		}
	}
	const fixed = 3
	slices.SortFunc(out[fixed:], func(a, b configv1.ObjectReference) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

var related = map[string]string{
	crdKind: "customresourcedefinitions", "Deployment": "deployments", "DaemonSet": "daemonsets", "StatefulSet": "statefulsets",
	"MutatingWebhookConfiguration": "mutatingwebhookconfigurations", "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}

// Lacks returns a sentence if the core provider is installed without any infrastructure provider, else "". Then nothing could create a machine, and no error
// would show it.
func Lacks(platform string, all []Provider) string {
	is := func(wanted bundle.Type) func(Provider) bool { return func(p Provider) bool { return p.Type == wanted } }
	if !slices.ContainsFunc(all, is(bundle.Core)) || slices.ContainsFunc(all, is(bundle.Infrastructure)) {
		return ""
	}
	return "no ConfigMap carries the infrastructure provider of platform " + platform + ": apply the release's ConfigMaps"
}
