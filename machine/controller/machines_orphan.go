// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine"
)

// keepAnswer stores the result of Create although somebody has changed the Machine meanwhile or, worse, deleted it. Without the stored result, the next pass
// might not find the instance again: a provider may be slow to show a new instance, and the deletion of a Machine without a provider ID would leave the
// instance behind. cause is why the pass itself could not store the result. keepAnswer returns cause, or the error of its own write.
func (c *machines) keepAnswer(ctx context.Context, p *pass, cause error) error {
	if !p.asked || !apierrors.IsConflict(cause) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now := &machinev1beta1.Machine{}
		if err := c.live.Get(ctx, client.ObjectKeyFromObject(p.stored), now); err != nil || now.UID != p.stored.UID {
			return client.IgnoreNotFound(err)
		}
		answered := now.DeepCopy()
		if id := p.machine.Spec.ProviderID; id != nil { // a failed Create proves nothing about a stored ID
			answered.Spec.ProviderID = id
		}
		if _, err := versioned.PatchFrom(ctx, c.client, now, answered); err != nil {
			return err
		}
		changed := answered.DeepCopy()
		if status := p.machine.Status.ProviderStatus; status != nil {
			changed.Status.ProviderStatus = status.DeepCopy()
		}
		_, err := versioned.PatchStatusFrom(ctx, c.client, answered, changed)
		return err
	})
	if err != nil {
		return fmt.Errorf("storing the provider's answer about the instance %q: %w", providerIDOf(p.machine), err)
	}
	return cause
}

// takeBack deletes the instance that this pass has just created, if the Machine is gone although it had the finalizer. Either somebody removed the finalizer by
// hand, or the deletion had begun before the finalizer was added, which an API server does not notice. No later pass would delete the instance. If another
// Machine names the instance by now, the instance stays. cause is why the pass could not store its result. takeBack returns cause, with further errors.
func (c *machines) takeBack(ctx context.Context, p *pass, cause error) error {
	if !p.asked || !versioned.Outdated(cause) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.pace.call)
	defer cancel()
	if gone, err := c.vanished(ctx, p.stored); err != nil || !gone {
		return errors.Join(cause, err)
	}
	p.log.Info("Terminating the instance of a Machine that was deleted while the instance was being created")
	orphan := p.machine.DeepCopy()
	orphan.DeletionTimestamp = &metav1.Time{Time: p.now()}
	for {
		other, err := c.sharer(ctx, c.live, orphan)
		if err == nil && other == "" {
			err = c.actuator.Delete(ctx, orphan.DeepCopy())
		}
		if other != "" {
			c.recordEvent(p, corev1.EventTypeWarning, "InstanceKept", "TakeBack", fmt.Sprintf(
				"Machine %s was deleted while its instance %s was being created. Machine %s has the same spec.providerID, so the instance keeps "+
					"running", orphan.Name, providerIDOf(orphan), other))
			return cause
		}
		if err == nil {
			return cause
		}
		if waitErr := linger(ctx, err); waitErr != nil {
			return &callError{fmt.Errorf("the Machine %s was deleted while its instance was being created, and the instance %q may still run: terminate it in "+
				"the cloud: %w",
				machine.Name(orphan), providerIDOf(orphan), err)}
		}
	}
}

// vanished reports whether the Machine is gone, or another Machine has its name.
func (c *machines) vanished(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	now := &machinev1beta1.Machine{}
	err := c.live.Get(ctx, client.ObjectKeyFromObject(m), now)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return now.UID != m.UID && err == nil, err
}

// linger waits before the next attempt: as long as the actuator asked for, or a second. An error means that ctx has ended.
func linger(ctx context.Context, err error) error {
	after := soon
	if r, ok := machine.AsRequeueAfter(err); ok && r.After > 0 {
		after = r.After
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func providerIDOf(m *machinev1beta1.Machine) string {
	if m.Spec.ProviderID == nil {
		return ""
	}
	return *m.Spec.ProviderID
}
