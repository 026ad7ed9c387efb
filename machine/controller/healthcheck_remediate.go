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

// The strategy of remediation that a check can name in an annotation, and the annotation by which a bare metal host's controller is asked to restart the
// Machine's host. Such a Machine is deleted only if it has failed, because a deletion would wipe the host.
const (
	strategyAnnotation = machineapi.RemediationStrategyAnnotation
	strategyBareMetal  = "external-baremetal"
	rebootAnnotation   = "host.metal3.io/external-remediation"
)

// remediate acts if the cache shows that something is due. What it then does is decided from a live read of the check and of all its Machines, and then from
// a live read of each Machine's Node.
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

// confirm judges again from a live read. It returns false if the check has changed, or if the Machine API is no longer authoritative for it.
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

// each reads each Machine's Node live before it acts on the Machine: if the Node has just recovered, or just appeared, it does not act.
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

// cure deletes exactly the Machine that was judged, or asks for a restart of its host.
func (r *healthChecks) cure(ctx context.Context, c *check, v health.Assessment) error {
	if c.stored.GetAnnotations()[strategyAnnotation] == strategyBareMetal && v.Cause != health.MachineFailed {
		return r.reboot(ctx, c, v)
	}
	version := v.Machine.ResourceVersion
	err := r.Delete(ctx, v.Machine, client.Preconditions{UID: &v.Machine.UID, ResourceVersion: &version})
	if apierrors.IsNotFound(err) {
		return nil // somebody else's deletion was faster
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
	delete(after.Annotations, health.MarkAnnotation) // the mark is removed: otherwise it would have the host restarted after each restart
	_, err := versioned.PatchFrom(ctx, r, v.Machine, after)
	return r.remediated(ctx, c, v, "Annotated", "reboot", err)
}

// remediated reports what was done about a Machine, on the Machine and on the check, and counts it.
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
