// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies/authority"
)

func TestAskingTwiceIsAskingOnce(t *testing.T) {
	cloud := newCloud(t, "")
	mapi := account{cloud, authority.MachineAPI}
	one := launch(t, mapi, "worker-1", "uid-1")
	if two := launch(t, mapi, "worker-1", "uid-1"); two.ID != one.ID {
		t.Errorf("the same token made %s and %s", one.ID, two.ID)
	}
	if err := cloud.Audit(); err != nil {
		t.Error(err)
	}
}

func TestAuditTellsASecondInstance(t *testing.T) {
	cloud := newCloud(t, "")
	launch(t, account{cloud, authority.MachineAPI}, "worker-1", "uid-1")
	launch(t, account{cloud, authority.ClusterAPI}, "worker-1", "uid-2")
	if err := cloud.Audit(); err == nil || !strings.Contains(err.Error(), "worker-1 got a second instance") {
		t.Errorf("Audit() = %v, want the second instance of worker-1", err)
	}
}

func TestAuditTellsACallThatTheWitnessObjectsTo(t *testing.T) {
	cloud := newCloud(t, "")
	cloud.Witness = func(_ context.Context, caller authority.API, _, _ string) string {
		if caller == authority.ClusterAPI {
			return "not in charge"
		}
		return ""
	}
	one := launch(t, account{cloud, authority.MachineAPI}, "worker-1", "uid-1")
	if err := cloud.Audit(); err != nil {
		t.Fatal(err)
	}
	account{cloud, authority.ClusterAPI}.describe(t.Context(), machine{name: "worker-1"}, one.ID)
	if err := cloud.Audit(); err == nil || !strings.Contains(err.Error(), "not in charge") {
		t.Errorf("Audit() = %v, want the witness's objection", err)
	}
}

func TestInstancesLiveAndEndAndSurviveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	cloud := newCloud(t, file)
	now := time.Unix(1000, 0)
	cloud.now = func() time.Time { return now }
	mapi := account{cloud, authority.MachineAPI}
	id := launch(t, mapi, "worker-1", "uid-1").ID
	var states []State
	see := func() {
		i, _ := cloud.find(id)
		states = append(states, i.State)
	}
	see()
	now = now.Add(cloud.BootTime)
	see()
	if err := mapi.terminate(t.Context(), machine{name: "worker-1"}, id); err != nil {
		t.Fatal(err)
	}
	see()
	now = now.Add(cloud.BootTime)
	see()
	if diff := cmp.Diff([]State{Pending, Running, ShuttingDown, Terminated}, states); diff != "" {
		t.Error(diff)
	}
	again := newCloud(t, file)
	if diff := cmp.Diff(cloud.Instances(), again.Instances()); diff != "" {
		t.Errorf("after a restart:\n%s", diff)
	}
}

func TestWhoMayCall(t *testing.T) {
	status := func(current, from string, paused corev1.ConditionStatus) machinev1beta1.MachineStatus {
		return machinev1beta1.MachineStatus{
			AuthoritativeAPI: machinev1beta1.MachineAuthority(current), SynchronizedAPI: machinev1beta1.SynchronizedAPI(from),
			Conditions: []machinev1beta1.Condition{{Type: "Paused", Status: paused}},
		}
	}
	for name, c := range map[string]struct {
		caller authority.API
		status machinev1beta1.MachineStatus
		may    bool
	}{
		"the authority":                            {authority.MachineAPI, status("MachineAPI", "MachineAPI", "False"), true},
		"the other side":                           {authority.ClusterAPI, status("MachineAPI", "MachineAPI", "False"), false},
		"Machine API on a new object":              {authority.MachineAPI, status("", "", ""), true},
		"Cluster API on a new object of the other": {authority.ClusterAPI, status("", "", ""), false},
		"the side it comes from, still acting":     {authority.MachineAPI, status("Migrating", "MachineAPI", "False"), true},
		"the side it comes from, that has paused":  {authority.MachineAPI, status("Migrating", "MachineAPI", "True"), false},
		"the side it goes to":                      {authority.ClusterAPI, status("Migrating", "MachineAPI", "True"), false},
		"Cluster API, losing authority":            {authority.ClusterAPI, status("Migrating", "ClusterAPI", "True"), true},
		"Machine API, gaining authority":           {authority.MachineAPI, status("Migrating", "ClusterAPI", "True"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := objection(c.caller, machinev1beta1.MachineAuthorityMachineAPI, c.status); (got == "") != c.may {
				t.Errorf("objection: %q, may call: %t", got, c.may)
			}
		})
	}
}

func newCloud(t *testing.T, file string) *Cloud {
	t.Helper()
	c, err := NewCloud(time.Second, file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func launch(t *testing.T, a account, name, token string) Instance {
	t.Helper()
	i, err := a.launch(t.Context(), machine{name: name}, token, "us-east-1a", "m6i.large")
	if err != nil {
		t.Fatal(err)
	}
	return i
}
