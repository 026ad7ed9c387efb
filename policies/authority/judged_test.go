// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestJudged has the set c of Cluster API, whose Machine x has the mark of a check, unless a case says otherwise.
func TestJudged(t *testing.T) {
	const (
		unhealthy = `{"type":"HealthCheckSucceeded","status":"False"}`
		asked     = `{"type":"OwnerRemediated","status":"False"}`
		marked    = `},"status":{"conditions":[` + unhealthy + `,` + asked + `]}}`
		paused    = `,"annotations":{"cluster.x-k8s.io/paused":"true"}`
		check     = `{"metadata":{"name":"h"},"spec":{"clusterName":"k","selector":{"matchLabels":{"set":"a"}}}}`
	)
	for name, c := range map[string]struct {
		machine, check string
		want           []string
		cluster        string
	}{
		"its check was deleted":                            {member("x", "c", marked), "", []string{"x"}, ""},
		"its check acts, and takes the mark back":          {member("x", "c", marked), check, nil, ""},
		"its check is paused":                              {member("x", "c", marked), strings.Replace(check, `"name":"h"`, `"name":"h"`+paused, 1), []string{"x"}, ""},
		"its check is being deleted":                       {member("x", "c", marked), strings.Replace(check, `"name":"h"`, `"name":"h","deletionTimestamp":"2026-11-23T00:00:00Z"`, 1), []string{"x"}, ""},
		"another check acts, which does not select it":     {member("x", "c", marked), strings.Replace(check, `"set":"a"`, `"set":"b"`, 1), []string{"x"}, ""},
		"the Machine is paused, and its check skips it":    {member("x", "c", paused+marked), check, []string{"x"}, ""},
		"somebody has spared it: its check skips it":       {member("x", "c", `,"annotations":{"cluster.x-k8s.io/skip-remediation":""}`+marked), check, []string{"x"}, ""},
		"it is unhealthy, and nobody asks for its end":     {member("x", "c", `},"status":{"conditions":[`+unhealthy+`]}}`), "", nil, ""},
		"it is healthy":                                    {member("x", "c", `}}`), "", nil, ""},
		"it is another set's":                              {member("x", "other", marked), "", nil, ""},
		"no set owns it, and its labels are others":        {`{"metadata":{"name":"x","labels":{"set":"b"}` + marked, "", nil, ""},
		"it is being deleted":                              {member("x", "c", `,"deletionTimestamp":"2026-11-23T00:00:00Z"`+marked), "", nil, ""},
		"no set owns it, and Cluster API's would adopt it": {`{"metadata":{"name":"x","labels":{"set":"a"}` + marked, "", []string{"x"}, ""},
		"its check acts, but its Cluster is paused":        {member("x", "c", marked), check, []string{"x"}, `{"spec":{"paused":true}}`},
		"its check acts, and its Cluster does":             {member("x", "c", marked), check, nil, `{"spec":{"paused":false}}`},
	} {
		t.Run(name, func(t *testing.T) {
			machine := parsed(t, strings.Replace(c.machine, `"set":"a"`, `"set":"a","cluster.x-k8s.io/cluster-name":"k"`, 1))
			r := authority.Roster{
				Sets:     map[authority.API]*policies.Object{authority.ClusterAPI: parsed(t, `{"metadata":{"name":"a","uid":"c"},"spec":{"selector":{"matchLabels":{"set":"a"}}}}`)},
				Machines: map[authority.API][]*policies.Object{authority.ClusterAPI: {machine}},
			}
			var checks []*policies.Object
			if c.check != "" {
				checks = append(checks, parsed(t, c.check))
			}
			var cluster *policies.Object
			if c.cluster != "" {
				cluster = parsed(t, c.cluster)
			}
			got := r.Judged(checks, cluster)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if text := authority.NameJudged(got); strings.Contains(text, "Machine x") != (c.want != nil) {
				t.Errorf("says %q", text)
			}
		})
	}
}

// TestGivenUp: a remediator asks a Machine's owner to delete the Machine after the check has found the Machine unhealthy, and not before.
func TestGivenUp(t *testing.T) {
	at := func(kind, status, when string) string {
		return `{"type":"` + kind + `","status":"` + status + `","lastTransitionTime":"2026-11-23T00:00:` + when + `Z"}`
	}
	for name, c := range map[string]struct {
		conditions string
		want       bool
	}{
		"it works on it":                     {at("HealthCheckSucceeded", "False", "00"), false},
		"it has given up":                    {at("HealthCheckSucceeded", "False", "00") + "," + at("OwnerRemediated", "False", "30"), true},
		"it gave up in the same second":      {at("HealthCheckSucceeded", "False", "30") + "," + at("OwnerRemediated", "False", "30"), true},
		"it gave up an earlier time":         {at("HealthCheckSucceeded", "False", "30") + "," + at("OwnerRemediated", "False", "00"), false},
		"the Machine is healthy again":       {at("HealthCheckSucceeded", "True", "30") + "," + at("OwnerRemediated", "False", "00"), false},
		"the owner has remediated":           {at("HealthCheckSucceeded", "False", "00") + "," + at("OwnerRemediated", "True", "30"), false},
		"the Machine has no conditions":      {"", false},
		"no check has found it unhealthy":    {at("OwnerRemediated", "False", "30"), false},
		"the time of the marks is not known": {`{"type":"HealthCheckSucceeded","status":"False"},{"type":"OwnerRemediated","status":"False"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := authority.GivenUp(parsed(t, `{"metadata":{"name":"x"},"status":{"conditions":[`+c.conditions+`]}}`)); got != c.want {
				t.Errorf("given up: %t", got)
			}
		})
	}
}
