// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"sync"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DrainController simulates the Machine API's drain controller (row 5 of the survey of writers), which does not look at which API is authoritative. That
// controller drains the Node of each Machine that is being deleted, if the Machine is in phase Deleting, has no preDrain hooks, and is not Drained yet. The
// simulation cordons no Node and evicts no pod. It records the names of the Machines whose Nodes it would have drained.
type DrainController struct {
	mu      sync.Mutex
	drained map[string]bool
	// phases are the phases in which each Machine was seen while it was being deleted.
	phases map[string][]string
}

// Identity is the service account of all of the Machine API's controllers.
func (*DrainController) Identity() string {
	return "system:serviceaccount:openshift-machine-api:machine-api-controllers"
}

// Pass looks at all Machines once.
func (d *DrainController) Pass(ctx context.Context, c client.Client) error {
	all := &machinev1beta1.MachineList{}
	if err := c.List(ctx, all); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range all.Items {
		d.look(&all.Items[i])
	}
	return nil
}

func (d *DrainController) look(m *machinev1beta1.Machine) {
	if m.DeletionTimestamp == nil {
		return
	}
	phase := ""
	if m.Status.Phase != nil {
		phase = *m.Status.Phase
	}
	if d.phases == nil {
		d.phases, d.drained = map[string][]string{}, map[string]bool{}
	}
	if seen := d.phases[m.Name]; len(seen) == 0 || seen[len(seen)-1] != phase {
		d.phases[m.Name] = append(seen, phase)
	}
	if phase == machinev1beta1.PhaseDeleting && len(m.Spec.LifecycleHooks.PreDrain) == 0 && !isDrained(m) {
		d.drained[m.Name] = true
	}
}

func isDrained(m *machinev1beta1.Machine) bool {
	for _, c := range m.Status.Conditions {
		if c.Type == machinev1beta1.MachineDrained {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Drained reports whether the controller would have drained the Node of a Machine.
func (d *DrainController) Drained(machine string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.drained[machine]
}

// Phases returns the phases in which the controller saw a Machine while it was being deleted, in order.
func (d *DrainController) Phases(machine string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.phases[machine]
}
