// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
)

// TestAMoveComparesTheHooks: Cluster API's hooks are annotations, which change no generation. So equal generations do not show that the hooks are carried over.
func TestAMoveComparesTheHooks(t *testing.T) {
	const drain, terminate = "pre-drain.delete.hook.machine.cluster.x-k8s.io", "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
	const etcds = `{"name":"EtcdQuorumOperator","owner":"clusteroperator/etcd"}`
	one := func(prefix, name, owner string) string { return fmt.Sprintf(`%q:%q`, prefix+name, owner) }
	etcdThere := one(drain, "/EtcdQuorumOperator", "clusteroperator/etcd")
	for name, c := range map[string]struct {
		hooks, annotations       string
		fromMachine, fromCluster bool
	}{
		"none":                                      {``, ``, true, true},
		"the same":                                  {`"preDrain":[` + etcds + `]`, etcdThere, true, true},
		"the same, of both kinds":                   {`"preDrain":[` + etcds + `],"preTerminate":[{"name":"wait","owner":"me"}]`, etcdThere + "," + one(terminate, "/wait", "me"), true, true},
		"one added in the Machine API":              {`"preDrain":[` + etcds + `]`, ``, false, false},
		"one of two added in the Machine API":       {`"preDrain":[` + etcds + `,{"name":"wait","owner":"me"}]`, one(drain, "/wait", "me"), false, false},
		"one added in Cluster API":                  {``, etcdThere, true, false},
		"one of the other kind added":               {`"preTerminate":[{"name":"wait","owner":"me"}]`, one(drain, "/wait", "me"), false, false},
		"one added in Cluster API, without a name":  {``, one(drain, "", "me"), true, false},
		"one has another owner":                     {`"preDrain":[` + etcds + `]`, one(drain, "/EtcdQuorumOperator", "else"), true, false},
		"Poundlock's own":                           {``, one(terminate, "/poundlock-until-provider-knows-instance", "poundlock"), true, true},
		"another annotation":                        {``, one("note", "", "x"), true, true},
		"hooks that make no sense are compared too": {`"preDrain":"x"`, ``, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for from, want := range map[authority.API]bool{authority.MachineAPI: c.fromMachine, authority.ClusterAPI: c.fromCluster} {
				kinds := authority.Kinds()
				state := func(kind authority.Kind) authority.State {
					return authority.Objects{
						Kind: kind, Enabled: true,
						MachineAPI: parse(t, fmt.Sprintf(`{"metadata":{"name":"x","generation":1},"spec":{"authoritativeAPI":%q,"lifecycleHooks":{%s}},
							"status":{"authoritativeAPI":%q,"synchronizedAPI":%q,"synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"True"}]}}`, from.Other(), c.hooks, from, from)),
						ClusterAPI: parse(t,
							fmt.Sprintf(`{"metadata":{"name":"x","generation":1,"annotations":{"poundlock.openshift.io/mirror-of":"Machine/x","cluster.x-k8s.io/paused":""%s}}}`,
								comma(c.annotations))),
						Infra: parse(t, `{"metadata":{"name":"x","generation":1,"annotations":{"poundlock.openshift.io/mirror-of":"Machine/x"}}}`),
					}.State()
				}
				if got := state(kinds[0]).CaughtUp; got != want {
					t.Errorf("from %s: caught up: %t, want %t", from, got, want)
				}
				if !state(kinds[1]).CaughtUp {
					t.Errorf("from %s: a set has no hooks of its own", from)
				}
			}
		})
	}
	moving := authority.Objects{Kind: authority.Kinds()[0], Enabled: true,
		MachineAPI: parse(t, `{"metadata":{"name":"x","generation":1},"spec":{"authoritativeAPI":"MachineAPI","lifecycleHooks":{"preDrain":[`+etcds+`]}},
			"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI","synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"True"}]}}`),
		ClusterAPI: parse(t,
			`{"metadata":{"name":"x","generation":1,"finalizers":["machine.cluster.x-k8s.io"],"annotations":{"poundlock.openshift.io/mirror-of":"Machine/x","cluster.x-k8s.io/paused":""}},"status":{"conditions":[{"type":"Paused","status":"True"}]}}`),
		Infra: parse(t,
			`{"metadata":{"name":"x","generation":1,"annotations":{"poundlock.openshift.io/mirror-of":"Machine/x","cluster.x-k8s.io/paused":""}},"status":{"conditions":[{"type":"Paused","status":"True"}]}}`),
	}
	if step := authority.Next(moving.State()); step.Action != authority.Wait || step.Reason != authority.ReasonCatchingUp {
		t.Errorf("with a hook that is not carried over, the move goes on: %+v", step)
	}
}

func comma(more string) string {
	if more == "" {
		return ""
	}
	return "," + more
}
