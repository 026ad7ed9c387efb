// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

const (
	ourDefinition      = `{"metadata":{"name":"machines.cluster.hypershift.openshift.io"},"spec":{"group":"cluster.hypershift.openshift.io"}}`
	shownDefinition    = `{"metadata":{"name":"machines.cluster.x-k8s.io"},"spec":{"group":"cluster.x-k8s.io"}}`
	platformDefinition = `{"metadata":{"labels":{"name":"l"},"name":"machines.cluster.x-k8s.io"},"spec":{"group":"cluster.x-k8s.io"}}`
	otherDefinition    = `{"metadata":{"name":"others.example.com"},"spec":{"group":"example.com"}}`
)

func TestThePlatformsOwnIsHidden(t *testing.T) {
	list := func(items ...string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","items":[` + strings.Join(items, ",") + `],"kind":"CustomResourceDefinitionList"}`
	}
	table := func(rows ...string) string {
		for i := range rows {
			rows[i] = `{"cells":["c"],"object":` + rows[i] + `}`
		}
		return `{"kind":"Table","columnDefinitions":[{"name":"N"}],"rows":[` + strings.Join(rows, ",") + `]}`
	}
	frame := func(object string) string { return `{"type":"ADDED","object":` + object + "}\n" }
	for _, c := range []struct {
		why        string
		doc        Document
		frames     bool
		body, want string
	}{
		{"first of a list", Definitions, false, list(platformDefinition, ourDefinition, otherDefinition), list(shownDefinition, otherDefinition)},
		{"last of a list", Definitions, false, list(ourDefinition, otherDefinition, platformDefinition), list(shownDefinition, otherDefinition)},
		{"in the middle", Definitions, false, list(ourDefinition, platformDefinition, otherDefinition), list(shownDefinition, otherDefinition)},
		{"alone", Definitions, false, list(platformDefinition), list()},
		{"two of them, and only they", Definitions, false, list(platformDefinition, platformDefinition), list()},
		{"between others", Definitions, false, list(platformDefinition, platformDefinition, otherDefinition, platformDefinition, ourDefinition), list(otherDefinition, shownDefinition)},
		{"nothing to hide", Definitions, false, list(otherDefinition, ourDefinition), list(otherDefinition, shownDefinition)},
		{"without a name", Definitions, false, list(`{}`, `{"metadata":{}}`), list(`{}`, `{"metadata":{}}`)},
		{"an excluded group's", Definitions, false, list(`{"metadata":{"name":"xs.operator.cluster.x-k8s.io"}}`), list(`{"metadata":{"name":"xs.operator.cluster.x-k8s.io"}}`)},
		{"a row", Definitions, false, table(platformDefinition, ourDefinition), table(shownDefinition)},
		{"a frame", Definitions, true, frame(ourDefinition) + frame(platformDefinition) + frame(otherDefinition), frame(shownDefinition) + frame(otherDefinition)},
		{"a row of a frame", Definitions, true, frame(table(platformDefinition)) + frame(table(ourDefinition)), frame(table()) + frame(table(shownDefinition))},
		{"the first row of a later frame", Definitions, true, frame(table(ourDefinition)) + frame(table(platformDefinition, ourDefinition)), frame(table(shownDefinition)) + frame(table(shownDefinition))},
		{"a bookmark", Definitions, true, frame(`{"metadata":{"resourceVersion":"7"}}`), frame(`{"metadata":{"resourceVersion":"7"}}`)},
		{
			"a group", Discovery, false,
			`{"kind":"APIGroupList","groups":[{"name":"cluster.x-k8s.io","versions":[]},{"name":"apps"},{"name":"cluster.hypershift.openshift.io"}]}`,
			`{"kind":"APIGroupList","groups":[{"name":"apps"},{"name":"cluster.x-k8s.io"}]}`,
		},
		{
			"an aggregated group", Discovery, false,
			`{"items":[{"metadata":{"name":"apps"}},{"metadata":{"name":"infrastructure.cluster.x-k8s.io"},"versions":[{}]}]}`,
			`{"items":[{"metadata":{"name":"apps"}}]}`,
		},
		{
			"paths of OpenAPI", OpenAPI, false,
			`{"paths": { "apis/cluster.x-k8s.io/v1" : {"serverRelativeURL":"/openapi/v3/apis/cluster.x-k8s.io/v1?hash=1"} , "apis/cluster.hypershift.openshift.io/v1":{"serverRelativeURL":"/openapi/v3/apis/cluster.hypershift.openshift.io/v1?hash=2"}}}`,
			`{"paths": {   "apis/cluster.x-k8s.io/v1":{"serverRelativeURL":"/openapi/v3/apis/cluster.x-k8s.io/v1?hash=2"}}}`,
		},
		{
			"schemas of OpenAPI's version 2", OpenAPI, false,
			`{"definitions":{"io.k8s.Pod":{},"io.x-k8s.cluster.v1beta2.Machine":{"description":"the platform's"},"io.openshift.hypershift.cluster.v1beta2.Machine":{"type":"object"}}}`,
			`{"definitions":{"io.k8s.Pod":{},"io.x-k8s.cluster.v1beta2.Machine":{"type":"object"}}}`,
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			s := NewListScanner(ToStandard, c.doc)
			if c.frames {
				s = NewFrameScanner(ToStandard, c.doc)
			}
			if got := must(t, s, c.body); got != c.want {
				t.Errorf("%s\nbecame\n%s\nwant\n%s", c.body, got, c.want)
			}
		})
	}
	// A client may ask for a standard name: that is its own.
	if got := must(t, NewListScanner(ToPrivate, Definitions), list(shownDefinition, otherDefinition)); got != list(ourDefinition, otherDefinition) {
		t.Error(got)
	}
}

func TestWhatIsMalformed(t *testing.T) {
	bodies := []string{
		``, ` `, `{`, `[`, `"`, `"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `{"a",1}`, `{1:2}`, `[1 2]`, `{"a":1 "b":2}`,
		`{"a":1]`, `[1}`, `]`, `}`, `tru`, `truE`, `nul`, `nulll`, `falsy`, `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `--1`, `+1`, `0x1`, `1.e3`,
		`"\x"`, `"\u12"`, `"\u12g4"`,
		"\"a\nb\"", "\"\x00\"", `{} {}`, `{}x`, `1 2`, `{"a":tru}`, `{"a":1.}`, "\xef\xbb\xbf{}", `'a'`, `{a:1}`, `// c`, `[1]]`, `NaN`,
		`{"apiVersion":"cluster.x-k8s.io/v1`,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
	}
	for _, body := range bodies {
		if json.Valid([]byte(body)) {
			t.Errorf("%.40q is valid", body)
		}
		for _, doc := range []Document{Objects, ClusterAPI, Definitions, OpenAPI} {
			if out, err := translated(t, NewScanner(ToStandard, doc), body); !errors.Is(err, ErrMalformed) {
				t.Errorf("%.40q: %.40q %v", body, out, err)
			}
		}
	}
	for _, body := range []string{``, "\n", `{}`, "{}\n{}\n", `{}{}`, `{"type":"BOOKMARK"}` + "\n"} {
		if got := must(t, NewFrameScanner(ToStandard, ClusterAPI), body); got != body {
			t.Errorf("%q became %q", body, got)
		}
	}
	if _, err := translated(t, NewFrameScanner(ToStandard, ClusterAPI), `{"type":"ADDED","object":{`); !errors.Is(err, ErrMalformed) {
		t.Error("a truncated frame:", err)
	}
	if out, err := translated(t, NewScanner(ToStandard, Objects), strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth)); err != nil ||
		len(out) != 2*maxDepth {
		t.Error("deep:", err)
	}
}

// Whatever is in front of an error has been translated, and after it comes nothing.
func TestAnErrorStays(t *testing.T) {
	s := NewScanner(ToStandard, Objects)
	if _, err := s.Append(nil, []byte(`{]`)); err == nil {
		t.Fatal("no error")
	}
	if out, err := s.Append(nil, []byte(`{}`)); err == nil || len(out) != 0 {
		t.Error(out, err)
	}
	if _, err := s.Finish(nil); err == nil {
		t.Error("finished")
	}
}

func TestLongText(t *testing.T) {
	long := strings.Repeat("x", 3*maxToken)
	name := "machines." + Private
	for _, c := range []struct{ why, body, want string }{
		{"a value", `{"apiVersion":"` + long + `/` + Private + `"}`, `{"apiVersion":"` + long + `/` + Private + `"}`},
		{"a name behind a value that is translated", `{"apiVersion":"` + Private + `/v1","` + long + `":"` + Private + `/v1"}`, `{"apiVersion":"` + Standard + `/v1","` + long + `":"` + Private + `/v1"}`},
		{"a name behind metadata", `{"metadata":{"ownerReferences":[]},"` + long + `":[{"apiVersion":"` + Private + `/v1"}]}`, `{"metadata":{"ownerReferences":[]},"` + long + `":[{"apiVersion":"` + Private + `/v1"}]}`},
		{"the first name", `{"` + long + `":{"apiVersion":"` + Private + `/v1"}}`, `{"` + long + `":{"apiVersion":"` + Private + `/v1"}}`},
		{"a name", `{"` + long + `":{"apiVersion":1},"apiVersion":"` + Private + `/v1"}`, `{"` + long + `":{"apiVersion":1},"apiVersion":"` + Standard + `/v1"}`},
		{"prose", `{"kind":"Status","message":"` + strings.Repeat(name+" ", 20000) + `"}`, `{"kind":"Status","message":"` + strings.Repeat("machines."+Standard+" ", 20000) + `"}`},
		{"prose with escapes", `{"kind":"Status","message":"` + strings.Repeat(`\"`+name+`\" \\u0041 and what then came after it`, 9000) + `"}`, `{"kind":"Status","message":"` + strings.Repeat(`\"machines.`+Standard+`\" \\u0041 and what then came after it`, 9000) + `"}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, step := range []int{1000, 4096, 32 << 10} {
				s := NewScanner(ToStandard, Objects)
				var out []byte
				var err error
				for at := 0; at < len(c.body) && err == nil; at += step {
					out, err = s.Append(out, []byte(c.body[at:min(at+step, len(c.body))]))
					if cap(s.token) > 4*maxToken {
						t.Fatal("holds", cap(s.token))
					}
				}
				if err == nil {
					out, err = s.Finish(out)
				}
				if err != nil || !equal(t, string(out), c.want) {
					t.Errorf("%.200s %v", out, err)
				}
			}
		})
	}
}

func TestWhatIsTooLarge(t *testing.T) {
	s := NewListScanner(ToStandard, Definitions)
	body := `{"items":[{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 2*maxHeld) + `"},"name":"machines.cluster.x-k8s.io"}}]}`
	var err error
	for at := 0; at < len(body) && err == nil; at += size {
		_, err = s.Append(nil, []byte(body[at:min(at+size, len(body))]))
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// A body of 100 MB takes no more memory than one of 10 KB.
func TestMemory(t *testing.T) {
	item := machine(7)
	s := NewListScanner(ToStandard, ClusterAPI)
	out, err := s.Append(make([]byte, 0, 64<<10), []byte(`{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","items":[`+item))
	if err != nil {
		t.Fatal(err)
	}
	piece := []byte("," + item)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 << 20 / len(item) / 8 {
		if out, err = s.Append(out[:0], piece); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
		t.Errorf("%d bytes were allocated", grown)
	}
	if _, err := s.Append(out[:0], []byte("]}")); err != nil {
		t.Error(err)
	}
}

// machine is one of a list, as an API server writes it: names in alphabetical order, two entries of managedFields, conditions and references.
func machine(i int) string {
	var conditions []string
	for _, c := range []string{"Available", "BootstrapConfigReady", "Deleting", "HealthCheckSucceeded", "InfrastructureReady", "NodeHealthy", "NodeReady",
		"Paused", "Ready", "UpToDate"} {
		conditions = append(conditions,
			fmt.Sprintf(`{"lastTransitionTime":"2026-11-20T10:00:00Z","message":"","observedGeneration":2,"reason":%q,"status":"True","type":%q}`, c, c))
	}
	fields := func(manager, sub string) string {
		return fmt.Sprintf(`{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:cluster.x-k8s.io/cloned-from":{}},`+
			`"f:finalizers":{".":{},"v:\"machine.cluster.x-k8s.io\"":{}},"f:labels":{"f:cluster.x-k8s.io/cluster-name":{},"f:cluster.x-k8s.io/deployment-name":{},"f:cluster.x-k8s.io/set-name":{},"f:machine-template-hash":{}},`+
			`"f:ownerReferences":{".":{},"k:{\"uid\":\"5f9f3a52-54f0-4c24-9b7e-4b7f3c7f1d2e\"}":{}}},"f:spec":{".":{},"f:bootstrap":{"f:configRef":{}},"f:clusterName":{},"f:deletion":{"f:nodeDrainTimeoutSeconds":{},`+
			`"f:nodeVolumeDetachTimeoutSeconds":{}},"f:infrastructureRef":{},"f:providerID":{},"f:version":{}},"f:status":{"f:addresses":{},"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},`+
			`"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:nodeInfo":{},"f:phase":{}}},"manager":%q,"operation":"Apply","subresource":%q,"time":"2026-11-20T10:00:00Z"}`,
			manager, sub)
	}
	return fmt.Sprintf(`{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","kind":"Machine","metadata":{"annotations":{"cluster.x-k8s.io/cloned-from-groupkind":"AWSMachineTemplate.infrastructure.cluster.x-k8s.io"},`+
		`"creationTimestamp":"2026-11-20T09:00:00Z","finalizers":["machine.cluster.x-k8s.io"],"generation":2,"labels":{"cluster.x-k8s.io/cluster-name":"c","cluster.x-k8s.io/set-name":"workers"},"managedFields":[%s,%s],`+
		`"name":"workers-%d","namespace":"clusters-c","ownerReferences":[{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","blockOwnerDeletion":true,"controller":true,"kind":"MachineSet","name":"workers",`+
		`"uid":"5f9f3a52-54f0-4c24-9b7e-4b7f3c7f1d2e"}],"resourceVersion":"%d","uid":"00000000-0000-0000-0000-%012d"},"spec":{"bootstrap":{"configRef":{"apiGroup":"bootstrap.cluster.hypershift.openshift.io","kind":"KubeadmConfig",`+
		`"name":"workers-%d"},"dataSecretName":"workers-%d"},"clusterName":"c","deletion":{"nodeDrainTimeoutSeconds":600},"infrastructureRef":{"apiGroup":"infrastructure.cluster.hypershift.openshift.io","kind":"AWSMachine",`+
		`"name":"workers-%d"},"providerID":"aws:///us-east-1a/i-%d","version":"v1.36.3"},"status":{"addresses":[{"address":"10.0.0.1","type":"InternalIP"},{"address":"ip-10-0-0-1.ec2.internal","type":"InternalDNS"}],`+
		`"conditions":[%s],"lastUpdated":"2026-11-20T10:00:00Z","nodeInfo":{"architecture":"amd64","bootID":"b","containerRuntimeVersion":"cri-o://1.36","kernelVersion":"5.14.0","kubeletVersion":"v1.36.3",`+
		`"machineID":"m","operatingSystem":"linux","osImage":"Red Hat Enterprise Linux CoreOS","systemUUID":"s"},"nodeRef":{"name":"ip-10-0-0-1.ec2.internal"},"phase":"Running"}}`,
		fields("capi-machineset", ""), fields("manager", "status"), i, i, i, i, i, i, i, strings.Join(conditions, ","))
}
