// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/machine"
)

// Actuator is an actuator for AWS over a simulated cloud. Set Cloud; the rest may be left at zero.
//
// An instance is found by the Machine's provider ID or, until that is known, by the token that it was asked for with, which is the Machine's
// UID. A Machine has one instance in its life: one that names an instance never gets another.
type Actuator struct {
	Cloud API
	// Settle is how long the cloud may take to tell of what it was asked to make: so long, "there is none" is not believed.
	Settle time.Duration
	// Poll is how soon to ask again; a quarter of a second if 0.
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
	if !found && named(m) != "" {
		if err := a.unsettled(m); err != nil {
			return false, err
		}
	}
	return found && !i.Gone(), nil
}

// Create asks for the Machine's instance, or finds the one that was asked for before.
func (a *Actuator) Create(ctx context.Context, m *machinev1beta1.Machine) error {
	if id := named(m); id != "" {
		return a.adopt(ctx, m, id)
	}
	order, err := orderOf(m)
	if err != nil {
		return err
	}
	i, err := a.Cloud.Launch(ctx, subject(m), order)
	if err != nil {
		a.condition(m, metav1.ConditionFalse, machinev1beta1.MachineCreationFailedConditionReason, err.Error())
		return fmt.Errorf("asking for an instance of Machine %s: %w", m.Name, err)
	}
	return a.made(m, i)
}

// adopt is what to create a Machine comes to that names an instance already: no other one is asked for.
func (a *Actuator) adopt(ctx context.Context, m *machinev1beta1.Machine, id string) error {
	i, found, err := a.find(ctx, m)
	if err != nil {
		return err
	}
	if found {
		return a.made(m, i)
	}
	if err := a.unsettled(m); err != nil {
		return err
	}
	return lost(m, id)
}

func (a *Actuator) made(m *machinev1beta1.Machine, i Instance) error {
	tell(m, i)
	if i.State == ShuttingDown || i.Gone() {
		return lost(m, i.ID)
	}
	a.condition(m, metav1.ConditionTrue, machinev1beta1.MachineCreationSucceededConditionReason, "Machine successfully created")
	return nil
}

func lost(m *machinev1beta1.Machine, id string) error {
	return machine.Terminal(machinev1beta1.CreateMachineError,
		"the instance %s of Machine %s was ended, and a Machine gets one in its life: delete the Machine, and its MachineSet makes another", id, m.Name)
}

// Update tells what has become of the instance. It asks nothing of the providerSpec: what was made stays as it is.
func (a *Actuator) Update(ctx context.Context, m *machinev1beta1.Machine) error {
	i, found, err := a.find(ctx, m)
	if err != nil {
		return err
	}
	if !found {
		return machine.RequeueAfter(a.poll(), "the cloud to tell of the instance")
	}
	tell(m, i)
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

// Delete ends the instance and waits until nothing is left. It asks nothing of the providerSpec, which may have become
// unreadable.
func (a *Actuator) Delete(ctx context.Context, m *machinev1beta1.Machine) error {
	i, found, err := a.find(ctx, m)
	switch {
	case err != nil:
		return err
	case !found:
		return a.unsettled(m) // what was asked for a moment ago may still come
	case i.Gone():
		tell(m, i)
		return nil
	}
	if err := a.Cloud.Terminate(ctx, subject(m), i.ID); err != nil {
		return fmt.Errorf("ending the instance %s of Machine %s: %w", i.ID, m.Name, err)
	}
	tell(m, i)
	return machine.RequeueAfter(a.poll(), "the instance "+i.ID+" to shut down")
}

func (a *Actuator) find(ctx context.Context, m *machinev1beta1.Machine) (Instance, bool, error) {
	key := Key{ID: named(m)}
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

// unsettled wants to be asked again while an instance that was asked for lately may still come to be seen.
func (a *Actuator) unsettled(m *machinev1beta1.Machine) error {
	n := slices.IndexFunc(providerStatus(m).Conditions, isCreation)
	if n < 0 || a.now().Sub(providerStatus(m).Conditions[n].LastTransitionTime.Time) >= a.Settle {
		return nil
	}
	return machine.RequeueAfter(a.poll(), "the cloud to tell of an instance that it was asked for")
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

// subject is how the cloud is told of a Machine.
func subject(m *machinev1beta1.Machine) Machine {
	return Machine{Namespace: m.Namespace, Name: m.Name, UID: m.UID}
}

// named is the ID that the Machine itself gives for its instance: in the provider ID, which the other API writes too, else
// in the provider's status.
func named(m *machinev1beta1.Machine) string {
	if m.Spec.ProviderID != nil && *m.Spec.ProviderID != "" {
		return InstanceID(*m.Spec.ProviderID)
	}
	if id := providerStatus(m).InstanceID; id != nil {
		return *id
	}
	return ""
}

// orderOf reads what the Machine asks for, and says what of it cannot be.
func orderOf(m *machinev1beta1.Machine) (Order, error) {
	const at = "spec.providerSpec.value"
	spec := &machinev1beta1.AWSMachineProviderConfig{}
	if m.Spec.ProviderSpec.Value == nil || len(m.Spec.ProviderSpec.Value.Raw) == 0 {
		return Order{}, machine.InvalidConfiguration("%s is empty: put an AWSMachineProviderConfig there", at)
	}
	if err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, spec); err != nil {
		return Order{}, machine.InvalidConfiguration("%s cannot be read as an AWSMachineProviderConfig: %v: correct it", at, err)
	}
	zone := zoneOf(spec.Placement)
	switch {
	case spec.Kind != "" && spec.Kind != "AWSMachineProviderConfig":
		return Order{}, machine.InvalidConfiguration("%s.kind is %q, which is not for AWS: put an AWSMachineProviderConfig there", at, spec.Kind)
	case spec.InstanceType == "":
		return Order{}, machine.InvalidConfiguration("%s.instanceType is missing: name one, such as m6i.large", at)
	case image(spec.AMI) == "":
		return Order{}, machine.InvalidConfiguration("%s.ami names no image: set ami.id, such as ami-0123456789abcdef0", at)
	case spec.Placement.Region != "" && !strings.HasPrefix(zone, spec.Placement.Region):
		return Order{}, machine.InvalidConfiguration("%s.placement.availabilityZone is %q, which is not in the region %s: name one that is, such as %sa", at, zone, spec.Placement.Region, spec.Placement.Region)
	}
	return Order{Token: string(m.UID), Zone: zone, Type: spec.InstanceType, Image: image(spec.AMI)}, nil
}

// zoneOf lets the cloud choose where nothing is asked for: it chooses the first.
func zoneOf(p machinev1beta1.Placement) string {
	switch {
	case p.AvailabilityZone != "":
		return p.AvailabilityZone
	case p.Region != "":
		return p.Region + "a"
	}
	return "us-east-1a"
}

func image(r machinev1beta1.AWSResourceReference) string {
	switch {
	case r.ID != nil:
		return *r.ID
	case r.ARN != nil:
		return *r.ARN
	case len(r.Filters) > 0 && len(r.Filters[0].Values) > 0:
		return r.Filters[0].Values[0]
	}
	return ""
}

// tell writes what is known of the instance. It changes nothing that says so already.
func tell(m *machinev1beta1.Machine, i Instance) {
	id, state := i.ProviderID(), string(i.State)
	m.Spec.ProviderID = &id
	metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/region", strings.TrimRight(i.Zone, "abcdefghijklmnopqrstuvwxyz"))
	metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/zone", i.Zone)
	metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/instance-type", i.Type)
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "machine.openshift.io/instance-state", state)
	m.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.IP()},
		{Type: corev1.NodeInternalDNS, Address: i.DNS()},
		{Type: corev1.NodeHostName, Address: i.DNS()},
	}
	report(m, func(s *machinev1beta1.AWSMachineProviderStatus) { s.InstanceID, s.InstanceState = &i.ID, &state })
}

// condition says how the creation went. Its time is when it was last tried, to the second, rounded up: see unsettled.
func (a *Actuator) condition(m *machinev1beta1.Machine, status metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{
		Type: string(machinev1beta1.MachineCreation), Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(a.now().Add(time.Second - 1).Truncate(time.Second)),
	}
	report(m, func(s *machinev1beta1.AWSMachineProviderStatus) {
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

// report changes the provider's status and keeps what it does not know of it; the raw bytes are touched only if they come to
// say something else, since the server orders their keys in its own way.
func report(m *machinev1beta1.Machine, change func(*machinev1beta1.AWSMachineProviderStatus)) {
	status := providerStatus(m)
	before := status.DeepCopy()
	status.TypeMeta = metav1.TypeMeta{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "AWSMachineProviderStatus"}
	change(status)
	if equality.Semantic.DeepEqual(before, status) {
		return
	}
	raw, _ := json.Marshal(status) // of texts and times
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
}

func providerStatus(m *machinev1beta1.Machine) *machinev1beta1.AWSMachineProviderStatus {
	status := &machinev1beta1.AWSMachineProviderStatus{}
	if m.Status.ProviderStatus != nil {
		_ = json.Unmarshal(m.Status.ProviderStatus.Raw, status) // what cannot be read says nothing
	}
	return status
}
