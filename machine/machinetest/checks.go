// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/machine"
)

// checks are the sentences of the contract (machine.Actuator), each with the function that checks it. A new promise of the contract is a new line.
var checks = []check{
	{"Exists returns false if no instance was created", nil, existsOfNothing},
	{"Exists changes nothing", nil, existsOnly},
	{"Exists returns an error if the provider does not answer", needsRefuse, existsUnknown},
	{"Exists returns true for a stopped instance", needsStop, existsStopped},
	{"Exists returns false for a terminated instance", needsEnd, existsGone},
	{"Create creates one instance", nil, createMakesOne},
	{"two calls of Create create one instance", nil, createTwice},
	{"Create with an outdated Machine creates no second instance", nil, createStale},
	{"an instance of a Create whose answer was lost is found, and not created twice", needsLoseAnswer, createLost},
	{"Create creates no second instance while the provider does not list the first yet", needsDelay, createDelayed},
	{"Create without capacity returns an error that is not terminal", needsExhaust, createExhausted},
	{"an invalid configuration is a terminal error that names the field", needsInvalid, invalid},
	{"a temporary refusal of the provider is an error that is not terminal", needsRefuse, refused},
	{"Update reports the state of the instance", nil, updateReports},
	{"Update changes nothing if the instance has not changed", nil, updateTwice},
	{"Delete succeeds if there is no instance", nil, deleteNothing},
	{"Delete succeeds for a Machine with an invalid configuration", needsInvalid, deleteInvalid},
	{"Delete succeeds only when nothing is left in the cloud", nil, deleteWaits},
	{"Delete succeeds again after it has succeeded", nil, deleteAgain},
	{"Delete with an outdated Machine finds the instance", nil, deleteStale},
	{"Delete finds the instance of a Create whose answer was lost", needsLoseAnswer, deleteLost},
	{"Delete leaves no instance behind while the provider does not list it yet", needsDelay, deleteDelayed},
	{"an instance is recognized by the Machine's UID, and not by its name", nil, nameComesBack},
	{"an instance is recognized by spec.providerID alone", needsForeign, foreign},
	{"the actuator changes only the fields of the Machine that it may change", nil, changesOwn},
	{"a call returns when its context ends", needsHang, contextEnds},
	{"calls for several Machines at the same time do not disturb each other", nil, together},
}

// part is an optional field of the Subject. there reports whether a Subject has set it.
type part struct {
	name  string
	there func(Subject) bool
}

var (
	needsInvalid    = &part{"Invalid", func(s Subject) bool { return len(s.Invalid) > 0 }}
	needsForeign    = &part{"Foreign", func(s Subject) bool { return s.Foreign != nil }}
	needsLoseAnswer = &part{"LoseAnswer", func(s Subject) bool { return s.LoseAnswer != nil }}
	needsRefuse     = &part{"Refuse", func(s Subject) bool { return s.Refuse != nil }}
	needsExhaust    = &part{"Exhaust", func(s Subject) bool { return s.Exhaust != nil }}
	needsHang       = &part{"Hang", func(s Subject) bool { return s.Hang != nil }}
	needsDelay      = &part{"Delay", func(s Subject) bool { return s.Delay != nil }}
	needsEnd        = &part{"End", func(s Subject) bool { return s.End != nil }}
	needsStop       = &part{"Stop", func(s Subject) bool { return s.Stop != nil }}
)

func existsOfNothing(l *life) {
	if is, err := l.exists(l.Context()); is || err != nil {
		l.Errorf("Exists() = %t, %v, want false", is, err)
	}
	l.alive(0, "after Exists")
}

func existsOnly(l *life) {
	l.bring()
	before := providerID(l.m)
	for range 3 {
		if is, err := l.exists(l.Context()); !is || err != nil {
			l.Fatalf("Exists() = %t, %v of a Machine that runs", is, err)
		}
	}
	l.alive(1, "after Exists")
	l.end()
	for range 3 {
		if is, err := l.exists(l.Context()); is || err != nil {
			l.Fatalf("Exists() = %t, %v of a Machine whose instance was deleted", is, err)
		}
	}
	l.alive(0, "after Exists of what was deleted")
	if now := providerID(l.m); now != before {
		l.Errorf("spec.providerID was %q and is %q", before, now)
	}
}

func existsUnknown(l *life) {
	l.bring()
	l.Refuse()
	if is, err := l.exists(l.Context()); err == nil {
		l.Errorf("Exists() = %t while the provider refuses to answer, want an error, because the controller would create a second instance", is)
	}
}

func existsStopped(l *life) {
	l.bring()
	l.Stop(l.m.Name)
	if is, err := l.exists(l.Context()); !is || err != nil {
		l.Errorf("Exists() = %t, %v of a stopped instance, want true", is, err)
	}
}

func existsGone(l *life) {
	l.bring()
	l.End(l.m.Name)
	l.Rest()
	if is, err := l.exists(l.Context()); is || err != nil {
		l.Errorf("Exists() = %t, %v of an instance that somebody ended, want false", is, err)
	}
}

func createMakesOne(l *life) {
	l.must(passing(l.create(l.Context())), "Create")
	l.alive(1, "after Create")
	l.Rest()
	if is, err := l.exists(l.Context()); !is || err != nil {
		l.Errorf("Exists() = %t, %v after Create, want true", is, err)
	}
}

func createTwice(l *life) {
	l.bring()
	before := providerID(l.m)
	l.must(passing(l.create(l.Context())), "Create again")
	l.alive(1, "after Create again")
	if now := providerID(l.m); now != before {
		l.Errorf("spec.providerID was %q and is %q", before, now)
	}
}

func createStale(l *life) {
	l.bring()
	old := l.stale()
	if is, err := old.exists(l.Context()); !is || err != nil {
		l.Errorf("Exists() = %t, %v with the Machine from an old cache, want true", is, err)
	}
	l.must(passing(old.create(l.Context())), "Create with the Machine from an old cache")
	l.alive(1, "after Create with the Machine from an old cache")
}

func createLost(l *life) {
	l.LoseAnswer()
	err := l.create(l.Context())
	l.must(passing(err), "Create whose answer is lost")
	l.alive(1, "after Create whose answer was lost")
	l.Rest()
	if is, err := l.exists(l.Context()); !is || err != nil {
		l.Errorf("Exists() = %t, %v after a Create whose answer was lost, want true", is, err)
	}
	l.bring()
	l.alive(1, "in the end")
	if providerID(l.m) == "" {
		l.Errorf("spec.providerID is empty in the end")
	}
}

// createDelayed calls Create again, first with what was stored after the first Create, and then with nothing of that, as after a crash.
func createDelayed(l *life) {
	l.Delay()
	err := l.create(l.Context())
	l.must(passing(err), "Create")
	if is, err := l.exists(l.Context()); err == nil && !is && providerID(l.m) != "" {
		l.Errorf("Exists() = false of the instance %s, which was just created and is not listed yet: the controller would fail the Machine", providerID(l.m))
	}
	for _, again := range []*life{l, l.stale()} {
		is, err := again.exists(l.Context())
		if err != nil || is {
			continue
		}
		l.must(passing(again.create(l.Context())), "Create again")
	}
	l.Rest()
	l.alive(1, "after Create again, while the first could not be seen")
}

func createExhausted(l *life) {
	undo := l.Exhaust()
	err := l.create(l.Context())
	if err == nil {
		l.Fatalf("Create is done where there is no room")
	}
	l.must(passing(err), "Create where there is no room")
	l.alive(0, "after Create where there is no room")
	undo()
	l.bring()
	l.alive(1, "when there is room again")
}

func invalid(l *life) {
	for _, what := range slices.Sorted(maps.Keys(l.Invalid)) {
		spoilt := l.another("conform-invalid", "conform-uid-invalid")
		l.Invalid[what](spoilt.m)
		err := spoilt.create(l.Context())
		terminal, is := machine.AsTerminal(err)
		switch {
		case err == nil:
			l.Errorf("%s: Create is done", what)
		case !is:
			l.Errorf("%s: want a terminal error, got %v", what, err)
		case terminal.Reason != machinev1beta1.InvalidConfigurationMachineError:
			l.Errorf("%s: the reason is %s", what, terminal.Reason)
		case !strings.Contains(terminal.Message, "spec."):
			l.Errorf("%s: the message must name the field of spec: %s", what, terminal.Message)
		}
		spoilt.alive(0, what)
	}
}

func refused(l *life) {
	undo := l.Refuse()
	if err := l.create(l.Context()); err == nil {
		l.Errorf("Create is done while the provider refuses")
	} else {
		l.must(passing(err), "Create while the provider refuses")
	}
	l.alive(0, "while the provider refuses")
	undo()
	l.bring()
	l.Refuse()
	if err := l.update(l.Context()); err == nil {
		l.Errorf("Update is done while the provider refuses")
	} else {
		l.must(passing(err), "Update while the provider refuses")
	}
	if err := l.delete(l.Context()); err == nil {
		l.Errorf("Delete is done while the provider refuses")
	} else {
		l.must(passing(err), "Delete while the provider refuses")
	}
	l.alive(1, "while the provider refuses")
}

func updateReports(l *life) {
	l.bring()
	if providerID(l.m) == "" {
		l.Errorf("spec.providerID is empty")
	}
	if len(l.m.Status.Addresses) == 0 {
		l.Errorf("status.addresses is empty")
	}
	if l.m.Status.ProviderStatus == nil {
		l.Errorf("status.providerStatus is empty")
	}
	if l.m.Annotations["machine.openshift.io/instance-state"] == "" {
		l.Errorf("the annotation machine.openshift.io/instance-state is missing")
	}
	for _, label := range []string{machineapi.RegionLabel, machineapi.ZoneLabel, machineapi.InstanceTypeLabel} {
		if l.m.Labels[label] == "" {
			l.Errorf("the label %s is missing", label)
		}
	}
}

func updateTwice(l *life) {
	l.bring()
	before := l.m.DeepCopy()
	for range 2 {
		if err := l.update(l.Context()); err != nil {
			l.Fatalf("Update of what runs: %v", err)
		}
		if !equality.Semantic.DeepEqual(before, l.m) {
			l.Fatalf("Update changed a Machine that was as it should be:\nbefore %s\nafter  %s", reported(before), reported(l.m))
		}
	}
}

// reported returns as text everything of a Machine that an actuator writes.
func reported(m *machinev1beta1.Machine) string {
	status := ""
	if m.Status.ProviderStatus != nil {
		status = string(m.Status.ProviderStatus.Raw)
	}
	return fmt.Sprint(m.Labels, m.Annotations, providerID(m), m.Status.Addresses, m.Status.Conditions, status)
}

func deleteNothing(l *life) {
	if err := l.delete(l.Context()); err != nil {
		l.Errorf("Delete() = %v where nothing was created", err)
	}
}

func deleteInvalid(l *life) {
	for _, what := range slices.Sorted(maps.Keys(l.Invalid)) {
		spoilt := l.another("conform-invalid", "conform-uid-invalid")
		l.Invalid[what](spoilt.m)
		_ = spoilt.create(l.Context()) // another check looks at this error
		l.Rest()
		if err := spoilt.delete(l.Context()); err != nil {
			l.Errorf("%s: Delete() = %v: the Machine can never be deleted", what, err)
		}
	}
}

func deleteWaits(l *life) {
	l.bring()
	for range enough {
		err := l.delete(l.Context())
		if err == nil {
			l.alive(0, "when Delete was done")
			return
		}
		if _, is := machine.AsRequeueAfter(err); !is {
			l.Fatalf("Delete() = %v while the instance shuts down, want RequeueAfter", err)
		}
		l.must(passing(err), "Delete")
		l.Rest()
	}
	l.Fatalf("after %d calls of Delete something is left", enough)
}

func deleteAgain(l *life) {
	l.bring()
	l.end()
	l.end()
	l.alive(0, "after the second Delete")
}

func deleteStale(l *life) {
	l.bring()
	l.stale().end()
	l.alive(0, "when Delete was done")
}

func deleteLost(l *life) {
	l.LoseAnswer()
	_ = l.create(l.Context()) // its answer is lost
	l.Rest()
	l.end()
	l.alive(0, "when Delete was done")
}

// deleteDelayed calls Delete before the provider shows what was created: once with the answer of Create, and once after that answer was lost.
func deleteDelayed(l *life) {
	for n, lose := range []func(){func() {}, l.LoseAnswer} {
		if lose == nil {
			continue
		}
		one := l.another(fmt.Sprint("conform-delayed-", n), types.UID(fmt.Sprint("conform-uid-delayed-", n)))
		l.Delay()
		lose()
		l.must(passing(one.create(l.Context())), "Create")
		one.end()
		l.Rest()
		one.alive(0, "when Delete was done, and everything could be seen")
	}
}

func nameComesBack(l *life) {
	l.bring()
	next := l.another(l.m.Name, "conform-uid-2")
	if is, err := next.exists(l.Context()); is || err != nil {
		l.Errorf("Exists() = %t, %v of another Machine of the same name, want false", is, err)
	}
	l.end()
	if is, err := next.exists(l.Context()); is || err != nil {
		l.Errorf("Exists() = %t, %v of another Machine of the same name, want false", is, err)
	}
	next.bring()
	next.alive(1, "of the Machine whose name came back")
	if providerID(next.m) == providerID(l.m) {
		l.Errorf("two Machines of the same name have the instance %s", providerID(l.m))
	}
	l.end() // a late pass over the first Machine must not touch the second Machine's instance
	next.alive(1, "after a late Delete of the first")
}

func foreign(l *life) {
	id := l.Foreign(l.m.Name)
	l.m.Spec.ProviderID = &id
	if is, err := l.exists(l.Context()); !is || err != nil {
		l.Fatalf("Exists() = %t, %v of a Machine with the provider ID %s, want true", is, err, id)
	}
	l.Rest()
	if err := l.update(l.Context()); err != nil {
		l.Fatalf("Update() = %v of a Machine with the provider ID %s", err, id)
	}
	if providerID(l.m) != id || l.m.Annotations["machine.openshift.io/instance-state"] == "" {
		l.Errorf("Update made the provider ID %q of %q, and tells the annotations %v", providerID(l.m), id, l.m.Annotations)
	}
	l.must(passing(l.create(l.Context())), "Create, with a provider ID known")
	l.alive(1, "after Create, with a provider ID known")
	l.end()
	l.alive(0, "when Delete was done")
}

// changesOwn fills the Machine with what other writers write, calls each method of the actuator, and checks that the actuator changes nothing of that.
func changesOwn(l *life) {
	furnish(l.m)
	steps := []struct {
		name string
		call func(context.Context, *machinev1beta1.Machine) error
	}{
		{"Exists", l.existsOf}, {"Create", l.Actuator.Create}, {"Exists", l.existsOf}, {"Update", l.Actuator.Update},
		{"Delete", l.Actuator.Delete}, {"Exists", l.existsOf},
	}
	for _, step := range steps {
		m := l.m.DeepCopy()
		l.must(passing(step.call(l.Context(), m)), step.name)
		for _, wrong := range trespasses(l.m, m) {
			l.Errorf("%s %s", step.name, wrong)
		}
		l.keep(func(kept *machinev1beta1.Machine) { m.DeepCopyInto(kept) })
		l.Rest()
	}
}

func (l *life) existsOf(ctx context.Context, m *machinev1beta1.Machine) error {
	_, err := l.Actuator.Exists(ctx, m)
	return err
}

func furnish(m *machinev1beta1.Machine) {
	metav1.SetMetaDataLabel(&m.ObjectMeta, "example.com/whose", "a user's")
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "example.com/whose", "a user's")
	m.Finalizers = append(m.Finalizers, machinev1beta1.MachineFinalizer)
	m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "conform", UID: "conform-owner"})
	m.Spec.Taints = append(m.Spec.Taints, corev1.Taint{Key: "example.com/whose", Effect: corev1.TaintEffectNoSchedule})
	phase := machinev1beta1.PhaseProvisioning
	m.Status.Phase, m.Status.NodeRef = &phase, &corev1.ObjectReference{Kind: "Node", Name: "conform"}
	for _, kind := range []machinev1beta1.ConditionType{"Paused", machinev1beta1.InstanceExistsCondition, machinev1beta1.MachineDrained, "Synchronized"} {
		m.Status.Conditions = append(m.Status.Conditions, machinev1beta1.Condition{Type: kind, Status: corev1.ConditionFalse, Reason: "Conform"})
	}
}

// trespasses lists the changes between before and after that an actuator may not make.
func trespasses(before, after *machinev1beta1.Machine) []string {
	var wrong []string
	for key, value := range before.Labels {
		if strings.HasPrefix(key, "example.com/") && after.Labels[key] != value {
			wrong = append(wrong, "changes the label "+key+", which is not the provider's")
		}
	}
	for key, value := range before.Annotations {
		if strings.HasPrefix(key, "example.com/") && after.Annotations[key] != value {
			wrong = append(wrong, "changes the annotation "+key+", which is not the provider's")
		}
	}
	for _, c := range before.Status.Conditions {
		if !slices.Contains(after.Status.Conditions, c) {
			wrong = append(wrong, "changes the condition "+string(c.Type)+", which the controller writes")
		}
	}
	rest := after.DeepCopy()
	rest.Labels, rest.Annotations, rest.Spec.ProviderID = before.Labels, before.Annotations, before.Spec.ProviderID
	rest.Status.Addresses, rest.Status.ProviderStatus, rest.Status.Conditions = before.Status.Addresses, before.Status.ProviderStatus, before.Status.Conditions
	for what, same := range map[string]bool{
		"metadata beyond labels and annotations":                         equality.Semantic.DeepEqual(before.ObjectMeta, rest.ObjectMeta),
		"spec beyond providerID":                                         equality.Semantic.DeepEqual(before.Spec, rest.Spec),
		"status beyond addresses, providerStatus and its own conditions": equality.Semantic.DeepEqual(before.Status, rest.Status),
	} {
		if !same {
			wrong = append(wrong, "changes "+what)
		}
	}
	slices.Sort(wrong)
	return wrong
}

func contextEnds(l *life) {
	ended, cancel := context.WithCancel(l.Context())
	cancel()
	if err := l.create(ended); err == nil {
		l.Errorf("Create is done although its context had ended")
	}
	l.Rest()
	l.stale().end()
	l.bring()
	undo := l.Hang()
	defer undo()
	fresh := l.another("conform-hangs", "conform-uid-hangs")
	for name, call := range map[string]func(context.Context) error{
		"Exists": func(ctx context.Context) error { return l.existsOf(ctx, l.m.DeepCopy()) },
		"Create": func(ctx context.Context) error { return l.Actuator.Create(ctx, fresh.m.DeepCopy()) },
		"Update": func(ctx context.Context) error { return l.Actuator.Update(ctx, l.m.DeepCopy()) },
		"Delete": func(ctx context.Context) error { return l.Actuator.Delete(ctx, l.m.DeepCopy()) },
	} {
		l.must(l.hangs(call), name)
	}
}

// hangs makes a call whose provider does not answer, and ends the call's context. It returns what is wrong with how the call then ends, "" if nothing is.
func (l *life) hangs(call func(context.Context) error) string {
	ctx, cancel := context.WithTimeout(l.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	<-ctx.Done()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Sprintf("it returns %v, want the context's error", err)
		}
		return ""
	case <-time.After(l.Patience):
		return fmt.Sprintf("it has not returned %s after its context ended", l.Patience)
	}
}

func together(l *life) {
	const many = 8
	lives := make([]*life, many)
	var running sync.WaitGroup
	for n := range lives {
		lives[n] = l.another(fmt.Sprint("conform-many-", n), types.UID(fmt.Sprint("conform-uid-many-", n)))
		running.Go(func() {
			for range enough { // no Rest here: all the Machines share it
				_ = lives[n].pass()
			}
		})
	}
	running.Wait()
	owners := map[string]string{}
	for _, one := range lives {
		one.bring()
		one.alive(1, "of many Machines at once")
		id := providerID(one.m)
		if other := owners[id]; other != "" {
			l.Errorf("Machines %s and %s have the same instance, %s", other, one.m.Name, id)
		}
		owners[id] = one.m.Name
	}
}
