// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/machine"
)

// Actuator is an actuator for a simulated cloud. Set Cloud; the other fields may be left at zero.
//
// The actuator finds an instance by the Machine's provider ID or, until that is known, by the token with which the instance was requested, which is the
// Machine's UID. A Machine has one instance in its life: a Machine that names an instance never gets another.
type Actuator struct {
	Cloud API
	// Provider is the platform whose providerSpec the actuator reads, and whose providerStatus it writes; AWS if zero.
	Provider Provider
	// ListedWithin is how long the cloud may take to list a requested instance. Until then, the actuator does not believe the cloud that there is no instance.
	ListedWithin time.Duration
	// Poll is how soon to call the cloud again while something is unfinished; a quarter of a second if 0.
	Poll time.Duration
	// Now is the clock; the system's if nil.
	Now func() time.Time
}

var _ machine.Actuator = (*Actuator)(nil)

// Exists reports whether the Machine has an instance that is not terminated.
func (a *Actuator) Exists(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	i, found, err := a.find(ctx, m)
	if err != nil {
		return false, err
	}
	if !found && a.provider().named(m) != "" {
		if err := a.awaitListing(m); err != nil {
			return false, err
		}
	}
	return found && !i.Gone(), nil
}

// Create asks the cloud for the Machine's instance, or finds the one that was requested before.
func (a *Actuator) Create(ctx context.Context, m *machinev1beta1.Machine) error {
	if id := a.provider().named(m); id != "" {
		return a.adopt(ctx, m, id)
	}
	order, err := a.provider().orderOf(m)
	if err != nil {
		return err
	}
	i, err := a.Cloud.Launch(ctx, subject(m), order)
	if err != nil {
		a.condition(m, metav1.ConditionFalse, machinev1beta1.MachineCreationFailedConditionReason, err.Error())
		return fmt.Errorf("requesting an instance of Machine %s: %w", m.Name, err)
	}
	return a.made(m, i)
}

// orderOf returns the instance that the Machine's providerSpec requests, or an error that names what is invalid in it.
func (p Provider) orderOf(m *machinev1beta1.Machine) (Order, error) {
	if p.order != nil {
		return p.order(m)
	}
	if m.Spec.ProviderSpec.Value == nil || len(m.Spec.ProviderSpec.Value.Raw) == 0 {
		return Order{}, machine.InvalidConfiguration("%s is empty: set it to an object of kind %s", at, p.Spec.Kind)
	}
	spec := map[string]any{}
	if err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &spec); err != nil {
		return Order{}, machine.InvalidConfiguration("%s cannot be read as a %s: %v", at, p.Spec.Kind, err)
	}
	read := func(path string) string { // "" if the path is ""
		text, _, _ := unstructured.NestedString(spec, strings.Split(path, ".")...)
		return text
	}
	switch kind := read("kind"); {
	case kind != "" && kind != p.Spec.Kind:
		return Order{}, machine.InvalidConfiguration("%s.kind is %q, which is not a providerSpec of platform %s: use %s", at, kind, p.Platform, p.Spec.Kind)
	case read(p.Needs) == "":
		return Order{}, machine.InvalidConfiguration("%s.%s is missing: set it", at, p.Needs)
	}
	return Order{Token: string(m.UID), Zone: read(p.Zone), Type: read(p.Type), Image: read(p.Image)}, nil
}

// adopt does what Create does for a Machine that names an instance already: it looks for that instance, and requests no other.
func (a *Actuator) adopt(ctx context.Context, m *machinev1beta1.Machine, id string) error {
	i, found, err := a.find(ctx, m)
	if err != nil {
		return err
	}
	if found {
		return a.made(m, i)
	}
	if err := a.awaitListing(m); err != nil {
		return err
	}
	return lost(m, id)
}

func (a *Actuator) made(m *machinev1beta1.Machine, i Instance) error {
	a.provider().writeInstance(m, i)
	if i.State == ShuttingDown || i.Gone() {
		return lost(m, i.ID)
	}
	a.condition(m, metav1.ConditionTrue, machinev1beta1.MachineCreationSucceededConditionReason, "Machine successfully created")
	return nil
}

func lost(m *machinev1beta1.Machine, id string) error {
	return machine.Terminal(machinev1beta1.CreateMachineError,
		"the instance %s of Machine %s was terminated, and a Machine gets no second instance: delete the Machine, and its MachineSet creates "+
			"another", id, m.Name)
}

// Update writes the state of the instance into the Machine. It does not read the providerSpec, because the instance stays as it was created.
func (a *Actuator) Update(ctx context.Context, m *machinev1beta1.Machine) error {
	i, found, err := a.find(ctx, m)
	if err != nil {
		return err
	}
	if !found {
		return machine.RequeueAfter(a.poll(), "the cloud to list the instance")
	}
	a.provider().writeInstance(m, i)
	switch i.State {
	case Terminated:
		return nil
	case ShuttingDown:
		return machine.RequeueAfter(a.poll(), "the instance "+i.ID+" to shut down")
	}
	a.condition(m, metav1.ConditionTrue, machinev1beta1.MachineCreationSucceededConditionReason, "Machine successfully created")
	if i.State == Pending {
		return machine.RequeueAfter(a.poll(), "the instance "+i.ID+" to run")
	}
	return nil
}

// Delete terminates the instance, and returns RequeueAfter until nothing is left. It does not read the providerSpec, which may have become unreadable.
func (a *Actuator) Delete(ctx context.Context, m *machinev1beta1.Machine) error {
	i, found, err := a.find(ctx, m)
	switch {
	case err != nil:
		return err
	case !found:
		return a.awaitListing(m) // an instance that was requested a moment ago may still appear
	case i.Gone():
		a.provider().writeInstance(m, i)
		return nil
	}
	if err := a.Cloud.Terminate(ctx, subject(m), i.ID); err != nil {
		return fmt.Errorf("terminating the instance %s of Machine %s: %w", i.ID, m.Name, err)
	}
	a.provider().writeInstance(m, i)
	return machine.RequeueAfter(a.poll(), "the instance "+i.ID+" to shut down")
}

func (a *Actuator) find(ctx context.Context, m *machinev1beta1.Machine) (Instance, bool, error) {
	key := Key{ID: a.provider().named(m)}
	if key.ID == "" {
		key.Token = string(m.UID)
	}
	i, err := a.Cloud.Describe(ctx, subject(m), key)
	if IsNotFound(err) {
		return Instance{}, false, nil
	}
	if err != nil {
		return Instance{}, false, fmt.Errorf("looking for the instance of Machine %s: %w", m.Name, err)
	}
	return i, true, nil
}

// awaitListing returns RequeueAfter while a recently requested instance may still appear, and nil after that. The time of the request is in the provider's
// status. If the answer to the request could not be stored, the time is in the condition that the Machine controller stores before it calls Create.
func (a *Actuator) awaitListing(m *machinev1beta1.Machine) error {
	asked := time.Time{}
	if all := readStatus(m).Conditions; slices.ContainsFunc(all, isCreation) {
		asked = all[slices.IndexFunc(all, isCreation)].LastTransitionTime.Time
	}
	for _, c := range m.Status.Conditions {
		if c.Type == machinev1beta1.MachineCreated && c.LastTransitionTime.After(asked) {
			asked = c.LastTransitionTime.Time
		}
	}
	if a.now().Sub(asked) >= a.ListedWithin {
		return nil
	}
	return machine.RequeueAfter(a.poll(), "the cloud to list the instance that was requested")
}

func (a *Actuator) poll() time.Duration {
	if a.Poll == 0 {
		return 250 * time.Millisecond
	}
	return a.Poll
}

func (a *Actuator) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// subject returns the Machine as a call to the cloud names it.
func subject(m *machinev1beta1.Machine) Machine {
	return Machine{Namespace: m.Namespace, Name: m.Name, UID: m.UID}
}

// provider returns the actuator's Provider, AWS by default.
func (a *Actuator) provider() Provider {
	if a.Provider.Platform == "" {
		return AWS()
	}
	return a.Provider
}

// named returns the ID that the Machine gives for its instance, "" if it gives none. The ID comes from spec.providerID, which the other API writes too, or else
// from the provider's status.
func (p Provider) named(m *machinev1beta1.Machine) string {
	if m.Spec.ProviderID != nil && *m.Spec.ProviderID != "" {
		return InstanceID(*m.Spec.ProviderID)
	}
	id, _ := readStatus(m).rest[p.ID].(string)
	return id
}

// writeInstance writes into the Machine what the cloud returned about the instance. It leaves an equal providerStatus unchanged.
func (p Provider) writeInstance(m *machinev1beta1.Machine, i Instance) {
	id, state := i.ProviderID(), p.Word(i.State)
	m.Spec.ProviderID = &id
	for label, value := range map[string]string{"region": p.region(i.Zone), "zone": i.Zone, "instance-type": i.Type} {
		if value != "" {
			metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/"+label, value)
		}
	}
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "machine.openshift.io/instance-state", state)
	m.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.IP()},
		{Type: corev1.NodeInternalDNS, Address: i.DNS()},
		{Type: corev1.NodeHostName, Address: i.DNS()},
	}
	p.report(m, func(s *knowledge) {
		s.rest[p.ID] = i.ID
		if p.State != "" {
			s.rest[p.State] = state
		}
	})
}

// region returns the region of a zone, "" on platforms whose zone names do not contain the region.
func (p Provider) region(zone string) string {
	if p.Platform != "AWS" {
		return ""
	}
	return strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz")
}

// condition reports in the provider's status how the creation went. The condition's time is that of the last attempt, rounded up to a second: awaitListing
// reads it.
func (a *Actuator) condition(m *machinev1beta1.Machine, status metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{
		Type: string(machinev1beta1.MachineCreation), Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(a.now().Add(time.Second - 1).Truncate(time.Second)),
	}
	a.provider().report(m, func(s *knowledge) {
		n := slices.IndexFunc(s.Conditions, isCreation)
		switch {
		case n < 0:
			s.Conditions = append(s.Conditions, c)
		case status == metav1.ConditionFalse || s.Conditions[n].Status != status:
			s.Conditions[n] = c
		}
	})
}

func isCreation(c metav1.Condition) bool { return c.Type == string(machinev1beta1.MachineCreation) }

// report changes the provider's status and keeps its other fields. It replaces the raw bytes only if their meaning changes, because the API server orders the
// keys in its own way.
func (p Provider) report(m *machinev1beta1.Machine, change func(*knowledge)) {
	s := readStatus(m)
	kind := p.Status
	s.rest["apiVersion"], s.rest["kind"] = kind.GroupVersion().String(), kind.Kind
	change(&s)
	if now := s.content(); !equality.Semantic.DeepEqual(readStatus(m).content(), now) {
		raw, _ := json.Marshal(now) // cannot fail: what was read as JSON, texts and times
		m.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
	}
}

// knowledge is a provider's status: the conditions, which have the same form on all platforms, and the other fields.
type knowledge struct {
	Conditions []metav1.Condition `json:"conditions"`
	rest       map[string]any
}

// readStatus returns the provider's status. What cannot be read is empty.
func readStatus(m *machinev1beta1.Machine) knowledge {
	s := knowledge{rest: map[string]any{}}
	if m.Status.ProviderStatus == nil {
		return s
	}
	_ = json.Unmarshal(m.Status.ProviderStatus.Raw, &s)
	if err := json.Unmarshal(m.Status.ProviderStatus.Raw, &s.rest); err != nil || s.rest == nil {
		s.rest = map[string]any{}
	}
	delete(s.rest, "conditions")
	return s
}

func (s knowledge) content() map[string]any {
	out := maps.Clone(s.rest)
	if len(s.Conditions) > 0 {
		out["conditions"] = s.Conditions
	}
	return out
}
