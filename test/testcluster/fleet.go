// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// MachineSet returns the manifest of a set like worker-a, under another name. Such a set converts.
func MachineSet(name string, replicas int) string {
	all := strings.Split(string(fleetYAML), "\n---\n")
	set := all[slices.IndexFunc(all, func(doc string) bool { return strings.Contains(doc, "\n  name: worker-a\n") })]
	set = strings.ReplaceAll(set, "worker-a", name)
	return strings.Replace(set, "\n  replicas: 2\n", fmt.Sprintf("\n  replicas: %d\n", replicas), 1)
}

// missing returns what the fleet still waits for, "" for nothing. Each Machine has to run, and the mirror has to have reported on each object, even if only
// that it cannot mirror the object.
func (s *Stage) missing(ctx context.Context) (string, error) {
	machines, sets := &machinev1beta1.MachineList{}, &machinev1beta1.MachineSetList{}
	in := client.InNamespace(s.Pairs[0].MachineAPI)
	if err := s.Admin.List(ctx, sets, in); err != nil {
		return "", err
	}
	if err := s.Admin.List(ctx, machines, in); err != nil {
		return "", err
	}
	for _, set := range sets.Items {
		if set.Spec.Replicas != nil && set.Status.AvailableReplicas != *set.Spec.Replicas &&
			set.Status.AuthoritativeAPI != machinev1beta1.MachineAuthorityClusterAPI {
			return fmt.Sprintf("MachineSet %s has %d of %d Machines", set.Name, set.Status.AvailableReplicas, *set.Spec.Replicas), nil
		}
		if !s.options.Bare && !s.options.WithoutManager && !mirrorReported(set.Status.Conditions) {
			return fmt.Sprintf("MachineSet %s is not mirrored", set.Name), nil
		}
	}
	for _, m := range machines.Items {
		if m.Status.Phase == nil || *m.Status.Phase != machinev1beta1.PhaseRunning {
			return fmt.Sprintf("Machine %s is %s", m.Name, text(m.Status.Phase)), nil
		}
		if !s.options.Bare && !s.options.WithoutManager && !mirrorReported(m.Status.Conditions) {
			return fmt.Sprintf("Machine %s is not mirrored", m.Name), nil
		}
	}
	return s.missingMembers(ctx)
}

func text(phase *string) string {
	if phase == nil {
		return "not yet looked at"
	}
	return *phase
}

// mirrorReported reports whether the mirror says that it has copied the object, or why it cannot.
func mirrorReported(conditions []machinev1beta1.Condition) bool {
	for _, c := range conditions {
		if string(c.Type) == authority.ConditionSynchronized {
			return c.Status != corev1.ConditionUnknown
		}
	}
	return false
}

// waitForFleet waits until the whole fleet runs and is mirrored. If people have changed the fleet, that may never happen: a Machine may be impossible to
// create, or half removed. So it then waits less, and goes on without.
func (s *Stage) waitForFleet(ctx context.Context) error {
	patience := 2 * time.Minute
	if s.played {
		patience = 10 * time.Second
	}
	var missing string
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := s.missing(ctx)
		if err == nil {
			missing = now
		}
		return now == "" && err == nil, err
	})
	if wait.Interrupted(err) && missing != "" && s.played && ctx.Err() == nil {
		fmt.Fprintf(s.options.Out, "  going on without: %s\n", missing)
		return nil
	}
	if wait.Interrupted(err) && missing != "" {
		return fmt.Errorf("the fleet is not ready: %s; Poundlock's log is %s", missing, s.Plane.Log(Poundlock))
	}
	return err
}
