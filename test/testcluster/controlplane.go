// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/test/simulation"
)

//go:embed controlplane.yaml
var controlPlaneYAML []byte

// RaiseControlPlane completes the control plane, because the fleet has only a part of one. It creates the given number of Machines, master-0 and on, in as many
// zones as the platform has. Each gets its Node and its member of etcd, whose operator is simulated. Then RaiseControlPlane restarts Poundlock with
// --control-plane. Options.ControlPlane requests all this from the start.
func (s *Stage) RaiseControlPlane(ctx context.Context, replicas int) error {
	all, err := objects(bytes.ReplaceAll(controlPlaneYAML, []byte("REPLICAS"), []byte(strconv.Itoa(replicas))))
	if err != nil {
		return err
	}
	if err := apply(ctx, s.Admin, all...); err != nil {
		return err
	}
	masters, err := masters(s.kit, replicas)
	if err != nil {
		return err
	}
	if err := s.createOnce(ctx, controlPlaneMark, map[string]any{"replicas": strconv.Itoa(replicas)}, masters); err != nil {
		return err
	}
	s.members = replicas
	if err := s.StartSide(simulation.Etcd); err != nil {
		return err
	}
	if err := s.waitForFleet(ctx); err != nil {
		return err
	}
	return s.manageControlPlane(ctx)
}

// manageControlPlane restarts Poundlock with --control-plane once the control plane is complete, as it would find it in a cluster.
func (s *Stage) manageControlPlane(ctx context.Context) error {
	if s.options.Bare {
		return nil
	}
	if err := s.StopManager(); err != nil {
		return err
	}
	s.managesControlPlane = true
	return s.StartManager(ctx)
}

// ManagesControlPlane reports whether the control plane is complete and Poundlock manages it.
func (s *Stage) ManagesControlPlane() bool { return s.managesControlPlane }

// controlPlaneMark names the ConfigMap by which a later start knows of the control plane.
const controlPlaneMark = "control-plane-was-created"

// raiseControlPlane raises the control plane that Options requests. If an earlier start raised another one, it raises that, so that people find again what they
// have worked on.
func (s *Stage) raiseControlPlane(ctx context.Context) error {
	mark := &corev1.ConfigMap{}
	err := s.Admin.Get(ctx, client.ObjectKey{Namespace: s.Pairs[0].MachineAPI, Name: controlPlaneMark}, mark)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	replicas := s.options.ControlPlane
	if earlier, err := strconv.Atoi(mark.Data["replicas"]); err == nil {
		if replicas != earlier {
			fmt.Fprintf(s.options.Out, "  with %d, as an earlier start made it\n", earlier)
		}
		replicas = earlier
	}
	return s.RaiseControlPlane(ctx, replicas)
}

// masters returns the control plane's Machines. On AWS they are like the fleet's, elsewhere like the kit's worker with what a control plane needs.
func masters(kit conversiontest.Kit, replicas int) ([]*unstructured.Unstructured, error) {
	all, err := objects(fleetYAML)
	if err != nil {
		return nil, err
	}
	pattern := all[slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetName() == "master-0" })]
	if kit.Platform.Name != "AWS" {
		spec := (&unstructured.Unstructured{Object: kit.ProviderSpec}).DeepCopy().Object
		maps.Copy(spec, kit.Master)
		if err := unstructured.SetNestedField(spec, "master-user-data", "userDataSecret", "name"); err != nil {
			return nil, err
		}
		if err := unstructured.SetNestedField(pattern.Object, spec, "spec", "providerSpec", "value"); err != nil {
			return nil, err
		}
	}
	var out []*unstructured.Unstructured
	for i := range replicas {
		m, err := inZone(kit.Zones, pattern, i)
		if err != nil {
			return nil, err
		}
		m.SetName(fmt.Sprintf("master-%d", i))
		out = append(out, m)
	}
	return out, nil
}

// inZone returns a Machine like the pattern, in the zone of an index.
func inZone(zones []string, pattern *unstructured.Unstructured, index int) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	text, err := pattern.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if len(zones) > 0 {
		text = bytes.ReplaceAll(text, []byte(zones[0]), []byte(zones[index%len(zones)]))
	}
	return out, json.Unmarshal(text, &out.Object)
}

// Etcd returns the membership of the simulated etcd.
func (s *Stage) Etcd(ctx context.Context) (simulation.Membership, error) {
	kept := &corev1.ConfigMap{}
	err := s.Admin.Get(ctx, client.ObjectKey{Namespace: simulation.EtcdNamespace, Name: simulation.EtcdMembers}, kept)
	if client.IgnoreNotFound(err) != nil {
		return simulation.Membership{}, err
	}
	return simulation.ReadMembership(kept)
}

// missingMembers returns a sentence if etcd does not have all its members, "" if it has.
func (s *Stage) missingMembers(ctx context.Context) (string, error) {
	if s.members == 0 {
		return "", nil
	}
	etcd, err := s.Etcd(ctx)
	if have := len(etcd.Members); err == nil && have < s.members {
		return fmt.Sprintf("etcd has %d of %d members", have, s.members), nil
	}
	return "", err
}
