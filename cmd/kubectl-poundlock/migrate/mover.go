// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

// mover executes one run of `kubectl poundlock migrate`.
type mover struct {
	*options
	printers.Output
	to     authority.API
	query  inventory.Query
	client dynamic.Interface
	// warned are the webhook's warnings about the last request.
	warned []string
}

// HandleWarningHeader records a warning of the API server.
func (m *mover) HandleWarningHeader(_ int, _, text string) { m.warned = append(m.warned, text) }

// choose narrows the fleet to the targets, and to their sets' Machines if these are to move too.
func (m *mover) choose(f *inventory.Fleet, t targets.List) error {
	if !m.withMachines {
		return t.Pick(f, m.query.Pairs)
	}
	matches, err := m.Query(m.Plugin, nil)
	if err != nil {
		return err
	}
	all := *f
	if err := t.Pick(&all, m.query.Pairs); err != nil { // an error for names that do not exist
		return err
	}
	f.Narrow(t.WithMachines(f.Pairs, matches.Matches))
	return nil
}

// forth shows the plan, asks for confirmation, and requests the moves.
func (m *mover) forth(ctx context.Context, f *inventory.Fleet) error {
	plan := m.plan(f)
	m.show(plan)
	blocked := Of(plan, Leave)
	switch {
	case len(plan) == 0:
		return cli.Exit(cli.CodeError, "no object has this name or these labels")
	case len(blocked) > 0 && !m.skipBlocked:
		return cli.Exit(cli.CodeNo, fmt.Sprintf("%s cannot move: fix what is named above, or leave such objects out with --skip-blocked",
			amount.Of(len(blocked), "object")))
	case len(blocked) == len(plan):
		return cli.Exit(cli.CodeNo, "none of these objects can move")
	case len(Of(plan, Ask))+len(Of(plan, Follow)) == 0:
		return nil
	case m.dryRun == "client":
		m.Linef("\nNothing was requested (--dry-run=client).")
		return nil
	case m.dryRun == "server":
		return m.rehearse(ctx, Of(plan, Ask))
	}
	if err := m.mayMoveControlPlane(ctx, Of(plan, Ask)); err != nil {
		return err
	}
	if question := Question(plan, m.to); question != "" {
		if err := m.Confirm(ctx, m.yes, question); err != nil {
			return err
		}
	}
	if !m.wait {
		return m.ask(ctx, Of(plan, Ask))
	}
	return m.follow(ctx, plan)
}

// mayMoveControlPlane asks for confirmation of the control plane's Machines by name, because a selector seldom means them, and etcd runs on them. It does not
// ask about a request that is only taken back, because that is no move.
func (m *mover) mayMoveControlPlane(ctx context.Context, steps []PlannedMove) error {
	var names []string
	for _, s := range steps {
		if role(s.Pair) == controlPlaneRole && !s.GoesBack() {
			names = append(names, s.Pair.Ref())
		}
	}
	if len(names) == 0 || m.controlPlane {
		return nil
	}
	if m.yes {
		return cli.Exit(cli.CodeNo, fmt.Sprintf("%s: with --yes, Machines of the control plane move only if you also give --include-control-plane",
			strings.Join(names, ", ")))
	}
	return m.Confirm(ctx, false, fmt.Sprintf("The control plane runs on %s. Move %s too?", strings.Join(names, ", "), itThem(len(names))),
		"--include-control-plane")
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

const controlPlaneRole = "control plane"

// role returns a Machine's role; "" if the Machine has none, and for other kinds.
func role(p inventory.Pair) string {
	if p.MachineAPI == nil || p.Kind.Infra != authority.InfraMachine {
		return ""
	}
	if labels := p.MachineAPI.Metadata.Labels; !authority.OfControlPlane(labels) {
		label, _ := authority.ControlPlaneRole()
		return labels[label]
	}
	return controlPlaneRole
}

func (m *mover) plan(f *inventory.Fleet) []PlannedMove {
	cluster := f.Describe(inventory.Cluster{})
	var findings []readiness.Finding
	for _, pair := range f.Pairs {
		env, unknown := f.Env(cluster, pair)
		findings = append(findings, readiness.Judge(pair, m.to, env, unknown, f.Lacks(cluster, env)))
	}
	return Plan(f.Pairs, findings)
}

// rehearse sends each request as a server dry run.
func (m *mover) rehearse(ctx context.Context, steps []PlannedMove) error {
	var failed error
	m.Linef("")
	for _, s := range steps {
		err := m.request(ctx, s.Pair, m.to, metav1.DryRunAll)
		m.report(s.Pair.Ref(), rehearsedOf(s.Pair, m.to), err)
		if err != nil {
			failed = cli.Exit(cli.CodeNo, "")
		}
	}
	return failed
}

// ask sends the requests, and does not wait for the moves.
func (m *mover) ask(ctx context.Context, steps []PlannedMove) error {
	m.Linef("")
	for _, s := range steps {
		err := m.request(ctx, s.Pair, m.to, "")
		m.report(s.Pair.Ref(), askedOf(s.Pair, m.to), err)
		if err != nil {
			return cli.Exit(cli.CodeNo, "stopped at the first failure; run the same command again to continue")
		}
	}
	m.Linef("\nPoundlock's manager carries these requests out. To follow them: kubectl poundlock status --watch")
	return nil
}

// request changes the object's spec.authoritativeAPI, if nothing that the plan depends on has changed since the object was read. Other components write status,
// labels and annotations all the time. After a conflict that only such a write has caused, request tries again.
func (m *mover) request(ctx context.Context, pair inventory.Pair, to authority.API, dryRun string) error {
	m.warned = nil
	if m.withMachines {
		defer func() { m.warned = slices.DeleteFunc(m.warned, authority.LeavesMachines) }() // this run moves the Machines too
	}
	options := metav1.PatchOptions{FieldManager: cli.FieldManager}
	if dryRun != "" {
		options.DryRun = []string{dryRun}
	}
	objects := m.client.Resource(pair.Kind.MachineAPI.WithResource(pair.Kind.Resource)).Namespace(pair.Namespaces.MachineAPI)
	version := pair.MachineAPI.Metadata.ResourceVersion
	const tries = 5
	for try := 1; ; try++ {
		body, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": version},
			"spec":     map[string]any{"authoritativeAPI": to},
		})
		if err != nil {
			return err
		}
		_, refusal := objects.Patch(ctx, pair.Name, types.MergePatchType, body, options)
		if !apierrors.IsConflict(refusal) || try == tries {
			return inventory.AllowedToMigrate(refusal)
		}
		now, err := objects.Get(ctx, pair.Name, metav1.GetOptions{})
		if err != nil || !asPlanned(pair, now) {
			return refusal
		}
		version = now.GetResourceVersion()
	}
}

// asPlanned reports whether an object still has the spec and the authoritative API for which the plan was made.
func asPlanned(pair inventory.Pair, now *unstructured.Unstructured) bool {
	current, _, _ := unstructured.NestedString(now.Object, "status", "authoritativeAPI")
	return now.GetUID() == pair.MachineAPI.Metadata.UID && now.GetGeneration() == pair.MachineAPI.Metadata.Generation && now.GetDeletionTimestamp() == nil &&
		authority.API(current) == pair.Shape().Current
}
