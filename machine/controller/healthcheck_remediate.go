// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/health"
	"github.com/poundlock/poundlock/policies/authority"
)

// strategyAnnotation on a check names the strategy of remediation; strategyBareMetal is the only one. rebootAnnotation on a Machine asks the controller of its
// bare metal host to restart the host. With this strategy, a Machine is deleted only if it has failed, because a deletion would wipe the host.
const (
	strategyAnnotation = machineapi.RemediationStrategyAnnotation
	strategyBareMetal  = "external-baremetal"
	rebootAnnotation   = "host.metal3.io/external-remediation"
)

// remediate remediates if the cache shows that a Machine needs it. Before it acts, it reads the check, all its Machines, and then each Machine's Node live, and
// decides again from them.
func (r *healthChecks) remediate(ctx context.Context, c *check, j health.Judgement) (remediated, error) {
	if c.spec.RemediationTemplate != nil {
		return r.external(ctx, c, j)
	}
	if len(j.Remediate) == 0 {
		return remediated{}, nil
	}
	j, ok, err := r.confirm(ctx, c)
	if err != nil || !ok {
		return remediated{again: soon}, err
	}
	return remediated{}, r.each(ctx, c, j.Remediate, r.cure)
}

// confirm judges again from live reads of the check and its Machines. It returns false if the check has changed, or if the controller may no longer act on the
// check (for example, because the Machine API is no longer authoritative for it).
func (r *healthChecks) confirm(ctx context.Context, c *check) (health.Judgement, bool, error) {
	now, err := readCheck(ctx, r.live, client.ObjectKeyFromObject(c.stored))
	if err != nil {
		return health.Judgement{}, false, err
	}
	gate, o := authority.GateOf(now.shape, r.on), now.object
	_, paused := o.GetAnnotations()[authority.PausedAnnotation]
	if !gate.Act || !gate.AlreadyWritten(now.shape) || paused || o.GetDeletionTimestamp() != nil ||
		o.GetUID() != c.stored.GetUID() || o.GetGeneration() != c.stored.GetGeneration() ||
		o.GetAnnotations()[strategyAnnotation] != c.stored.GetAnnotations()[strategyAnnotation] {
		return health.Judgement{}, false, nil
	}
	j, err := r.judge(ctx, r.live, c)
	return j, err == nil, err
}

// each calls act for each Machine that is still unhealthy by a live read of its Node. It skips a Machine whose Node has just recovered or just appeared.
func (r *healthChecks) each(ctx context.Context, c *check, assessments []health.Assessment, act func(context.Context, *check, health.Assessment) error) error {
	var failures error
	nodes := &nodeLook{healthChecks: r, from: r.live}
	for _, v := range assessments {
		t, err := nodes.target(ctx, v.Machine)
		if err == nil {
			if v = health.Of(&c.spec, t, r.clock.Now()); !v.Unhealthy() {
				continue
			}
			err = act(ctx, c, v)
		}
		failures = errors.Join(failures, err)
	}
	return failures
}

// cure remediates a Machine without a template: it deletes exactly the Machine that was judged, or asks for a restart of the Machine's bare metal host.
func (r *healthChecks) cure(ctx context.Context, c *check, v health.Assessment) error {
	if c.stored.GetAnnotations()[strategyAnnotation] == strategyBareMetal && v.Cause != health.MachineFailed {
		return r.reboot(ctx, c, v)
	}
	version := v.Machine.ResourceVersion
	err := r.Delete(ctx, v.Machine, client.Preconditions{UID: &v.Machine.UID, ResourceVersion: &version})
	if apierrors.IsNotFound(err) {
		return nil // somebody else has deleted it already
	}
	return r.remediated(ctx, c, v, "Deleted", "delete", err)
}

func (r *healthChecks) reboot(ctx context.Context, c *check, v health.Assessment) error {
	if _, asked := v.Machine.Annotations[rebootAnnotation]; asked {
		return nil
	}
	after := v.Machine.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[rebootAnnotation] = ""
	delete(after.Annotations, health.MarkAnnotation) // otherwise MarkAnnotation would have the host restarted after each restart
	_, err := versioned.PatchFrom(ctx, r, v.Machine, after)
	return r.remediated(ctx, c, v, "Annotated", "reboot", err)
}

// remediated reports a remediation by an event on the Machine and one on the check, and counts it. If err is set, it only returns the error, wrapped.
func (r *healthChecks) remediated(ctx context.Context, c *check, v health.Assessment, past, action string, err error) error {
	if err != nil {
		return fmt.Errorf("%s of Machine %s: %w", action, v.Machine.Name, err)
	}
	r.meters.remediated(c.stored)
	log.FromContext(ctx).Info("remediating a Machine", "machine", v.Machine.Name, "action", action, "cause", v.Cause, "message", v.Message)
	r.recorder.Eventf(v.Machine, c.stored, corev1.EventTypeWarning, string(v.Cause), action,
		"%s", cut(fmt.Sprintf("%s for MachineHealthCheck %s: %s", past, c.stored.GetName(), v.Message), longestNote))
	r.recorder.Eventf(c.stored, v.Machine, corev1.EventTypeNormal, "Machine"+past, action,
		"%s", cut(fmt.Sprintf("%s Machine %s: %s", past, v.Machine.Name, v.Message), longestNote))
	return nil
}

func invalid(err error) bool { return errors.As(err, new(*invalidCheck)) }
