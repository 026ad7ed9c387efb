// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/twin"
)

// Somebody has deleted the AWSMachine of a Machine that Cluster API runs, and a move to the Machine API is asked for. With the ID of the
// instance it goes on; without, the mirror is not equal, and the message has what helps.
func TestAMachineWithoutItsInfrastructureObject(t *testing.T) {
	platform, _ := platforms.For("AWS")
	for _, c := range []struct{ sentence, core, mapi, want, contains string }{
		{"both have the ID", "aws:///us-east-1a/i-1", "aws:///us-east-1a/i-1", "", ""},
		{"both have the ID, spelled in two ways", "aws:///us-east-1a/i-1", "aws:///us-east-1b/I-1/", "", ""},
		{"no instance was ever made", "", "", "InfrastructureNotFound", "create it again without spec.providerID, or delete the Machine"},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Env: conversion.Env{Platform: platform, ClusterName: "c", Region: "us-east-1",
			Infrastructure: mirroringtest.Machine(t, `{status: {infrastructureName: c, platformStatus: {type: AWS, aws: {region: us-east-1}}}}`).Object,
			InfraCluster:   mirroringtest.Machine(t, `{spec: {region: us-east-1}}`).Object}}
		s.MachineAPI = mirroringtest.Object(t, fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: openshift-machine-api, labels: {machine.openshift.io/cluster-api-cluster: c}}, spec: {authoritativeAPI: MachineAPI, providerID: %q,
			providerSpec: {value: {kind: AWSMachineProviderConfig, apiVersion: machine.openshift.io/v1beta1, ami: {id: ami-1}, instanceType: m6i.large, placement: {region: us-east-1, availabilityZone: us-east-1a}, userDataSecret: {name: worker}}}},
			status: {authoritativeAPI: ClusterAPI}}`, c.mapi))
		s.Core = mirroringtest.Object(t, fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: openshift-cluster-api, labels: {cluster.x-k8s.io/cluster-name: c}}, spec: {providerID: %q, clusterName: c,
			bootstrap: {dataSecretName: worker}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: m}}}`, c.core))
		if (twin.Of(s)).StandIn() == nil != (c.want != "") {
			t.Errorf("%s: a move goes on: %t", c.sentence, twin.Of(s).StandIn() != nil)
		}
		if c.want == "" {
			continue
		}
		decides := stepsOf(s, time.Unix(0, 0))
		last := ""
		for range 5 { // what others act by is written first
			w := decides.toMachineAPI()
			if w == nil {
				break
			}
			last = w.Reason + " " + w.Note + fmt.Sprint(w.Patch)
			s.MachineAPI = mirroringtest.Object(t, afterPatch(t, s.MachineAPI, w.Patch))
		}
		if !strings.Contains(last, c.want) || !strings.Contains(last, c.contains) {
			t.Errorf("%s: %s", c.sentence, last)
		}
	}
}
