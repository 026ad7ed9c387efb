// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies"
)

func machineObject(t *testing.T, rest string) *policies.Object {
	t.Helper()
	o, err := policies.ParseObject([]byte(`{"kind":"Machine",` + rest + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestLeftBehind(t *testing.T) {
	const failed = `"status":{"phase":"Failed","errorReason":"InvalidConfiguration","errorMessage":"no quota","lastUpdated":"2026-11-21T12:00:00Z","addresses":[]}`
	all := []string{"errorMessage", "errorReason", "lastUpdated", "phase"}
	for sentence, c := range map[string]struct {
		machine string
		to      API
		want    []string
	}{
		"to Cluster API, failed and without an instance":                        {`"spec":{},` + failed, ClusterAPI, all},
		"to Cluster API, failed with an instance":                               {`"spec":{"providerID":"i-1"},` + failed, ClusterAPI, all},
		"to Machine API, failed and without an instance":                        {`"spec":{},` + failed, MachineAPI, all},
		"to Machine API, failed with an instance: it stays so":                  {`"spec":{"providerID":"i-1"},` + failed, MachineAPI, nil},
		"to Cluster API, without an instance since long ago":                    {`"spec":{},"status":{"phase":"Provisioning","lastUpdated":"2026-11-21T12:00:00Z"}`, ClusterAPI, []string{"lastUpdated", "phase"}},
		"to Cluster API, it runs":                                               {`"spec":{"providerID":"i-1"},"status":{"phase":"Running","lastUpdated":"2026-11-21T12:00:00Z"}`, ClusterAPI, nil},
		"to Cluster API, it runs with an error of old":                          {`"spec":{"providerID":"i-1"},"status":{"phase":"Running","errorMessage":"once"}`, ClusterAPI, []string{"errorMessage"}},
		"untouched: there is nothing to leave":                                  {`"spec":{}`, ClusterAPI, nil},
		"what is being deleted stays as it is, also without an instance of its": {`"metadata":{"deletionTimestamp":"2026-11-21T12:00:00Z"},"spec":{},` + failed, ClusterAPI, nil},
	} {
		got := LeftBehind(machineObject(t, c.machine), c.to)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
	if got := LeftBehind(nil, ClusterAPI); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	set := machineObject(t, `"spec":{},`+failed)
	set.Kind = "MachineSet"
	if got := LeftBehind(set, ClusterAPI); got != nil {
		t.Errorf("of a set: %v", got)
	}
}

func TestUnprepared(t *testing.T) {
	kind, _ := KindNamed("Machine")
	for sentence, c := range map[string]struct {
		machine, core, infra string
		from                 API
		unspared, want       bool
	}{
		"the mirror has taken all of it back":       {core: `"status":{"phase":"Pending","initialization":{}}`, infra: `"status":{"ready":false}`},
		"a check would count from its creation":     {unspared: true, want: true},
		"it has an instance, and a check may count": {machine: `"spec":{"providerID":"i-1"},`, unspared: true},
		"there is no status yet":                    {},
		"the phase is Failed":                       {core: `"status":{"phase":"Failed"}`, want: true},
		"the phase is that of a birth":              {core: `"status":{"phase":"Provisioning"}`, want: true},
		"it has a time":                             {core: `"status":{"phase":"Pending","lastUpdated":"2026-11-21T12:00:00Z"}`, want: true},
		"it has a failure":                          {core: `"status":{"deprecated":{"v1beta1":{"failureMessage":"no quota"}}}`, want: true},
		"it has a failure in the older version":     {core: `"status":{"failureReason":"CreateError"}`, want: true},
		"the infrastructure machine has failed":     {infra: `"status":{"failureReason":"CreateError"}`, want: true},
		"it runs":                                   {machine: `"spec":{"providerID":"i-1"},`, core: `"status":{"phase":"Running","lastUpdated":"2026-11-21T12:00:00Z"}`},
		"it had an instance and failed":             {machine: `"spec":{"providerID":"i-1"},`, core: `"status":{"phase":"Failed"}`, want: true},
		"it comes from Cluster API":                 {from: ClusterAPI, core: `"status":{"phase":"Failed"}`},
		"what is being deleted stays as it is":      {machine: `"metadata":{"deletionTimestamp":"2026-11-21T12:00:00Z"},`, core: `"status":{"phase":"Failed"}`},
		"it is not on the move, and may say so":     {from: Unset, core: `"status":{"phase":"Failed"}`},
		"a status that cannot be read has nothing":  {core: `"status":"Failed"`},
	} {
		status := `"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}`
		switch {
		case c.from == ClusterAPI:
			status = `"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}`
		case sentence == "it is not on the move, and may say so":
			status = `"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI"}`
		}
		spared := SparedAnnotation
		if c.unspared {
			spared = "example.com/other"
		}
		body := func(rest string) string {
			return strings.TrimSuffix(`"metadata":{"annotations":{"`+MirrorAnnotation+`":"Machine/m","`+PausedAnnotation+`":"","`+spared+`":""}},`+rest, ",")
		}
		o := Objects{Kind: kind, MachineAPI: machineObject(t, c.machine+status), ClusterAPI: machineObject(t, body(c.core)), Infra: machineObject(t, body(c.infra))}
		if got := o.State().Unprepared; got != c.want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}
