// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"testing"
	"time"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// The CRD of a check for which Cluster API is authoritative loses the fields of authority, as where the cluster version operator restores its own: each check
// stays as it is, and either can be deleted. With the fields back, Machine API is authoritative if the object was written meanwhile: Cluster API's check is
// paused, and has to say so, before Machine API's acts.
func TestACheckWhoseFieldsOfAuthorityAreLost(t *testing.T) {
	const deleting = `deletionTimestamp: "2026-11-21T17:00:00Z", `
	pair := func(mapi, capi, status string) *pairs.State {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineHealthCheck"), Name: "a"}
		s.MachineAPI = mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck, metadata: {name: a, uid: m, `+mapi+`finalizers: [sync.machine.openshift.io/finalizer],
annotations: {cluster.x-k8s.io/paused: poundlock.openshift.io}}, spec: {}, status: {`+status+`}}`)
		s.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineHealthCheck, metadata: {name: a, uid: c, `+capi+`finalizers: [sync.machine.openshift.io/finalizer],
annotations: {poundlock.openshift.io/mirror-of: MachineHealthCheck/a}}, spec: {}, status: {conditions: [{type: Paused, status: "False"}]}}`)
		return s
	}
	now := time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC)
	if w := Next(pair("", "", ""), now); w != nil {
		t.Errorf("something is written: %+v", w)
	}
	for sentence, s := range map[string]*pairs.State{"Machine API's": pair(deleting, "", ""), "Cluster API's": pair("", deleting, "")} {
		if w := Next(s, now); w == nil || w.Verb != pairs.Patch {
			t.Errorf("%s is deleted, and keeps its finalizer: %+v", sentence, w)
		}
	}
	for _, c := range []struct {
		status, paused string
		want           authority.Step
	}{
		{``, "", authority.Step{Action: authority.Adopt, To: authority.MachineAPI}},
		{`authoritativeAPI: MachineAPI, synchronizedAPI: MachineAPI`, "", authority.Step{Action: authority.Pause, On: authority.WhoClusterAPI}},
		{`authoritativeAPI: MachineAPI, synchronizedAPI: MachineAPI`, "true", authority.Step{Action: authority.Wait, On: authority.WhoClusterAPI}},
	} {
		s := pair("", "", c.status)
		if c.paused != "" {
			pairs.Put(s.Core, c.paused, "metadata", "annotations", authority.PausedAnnotation)
		}
		got := authority.Next(authority.Objects{Kind: s.Kind, MachineAPI: pairs.ObjectOf(s.MachineAPI), ClusterAPI: pairs.ObjectOf(s.Core), Enabled: true}.State())
		if got.Action != c.want.Action || got.To != c.want.To || c.want.On != 0 && got.On != c.want.On {
			t.Errorf("with %q, paused %q: %+v", c.status, c.paused, got)
		}
	}
}
