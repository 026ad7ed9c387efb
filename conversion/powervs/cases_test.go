// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/powervs/powervstest"
)

// plain is a providerSpec that converts; each case is a merge patch of it.
const plain = `{
  "kind": "PowerVSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1",
  "serviceInstance": {"type": "Name", "name": "lock-7x2k9-power-iaas"}, "image": {"type": "Name", "name": "rhcos"},
  "network": {"type": "RegEx", "regex": "^x$"}, "keyPairName": "key", "userDataSecret": {"name": "worker-user-data"}
}`

// inCluster patches the IBMPowerVSCluster of the kit.
func inCluster(patch string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		raw, _ := json.Marshal(e.InfraCluster)
		merged, err := jsonpatch.MergePatch(raw, []byte(patch))
		if err != nil || json.Unmarshal(merged, &e.InfraCluster) != nil {
			panic(patch) // a test's own constant
		}
	}
}

func TestWhatAProviderSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch      string
		control    bool
		providerID string
		env        func(*conversion.Env)
		want       []string
	}{
		"nothing out of the way":      {patch: `{}`},
		"a null creationTimestamp":    {patch: `{"metadata": {"creationTimestamp": null}}`},
		"metadata of its own":         {patch: `{"metadata": {"name": "x"}}`, want: []string{"metadata: FieldValueNotSupported"}},
		"the cluster's secret":        {patch: `{"credentialsSecret": {"name": "powervs-credentials"}}`},
		"a secret without a name":     {patch: `{"credentialsSecret": {"name": ""}}`},
		"a secret that says nothing":  {patch: `{"credentialsSecret": {}}`},
		"another secret":              {patch: `{"credentialsSecret": {"name": "mine"}}`, want: []string{"credentialsSecret.name: FieldValueNotSupported"}},
		"no user data":                {patch: `{"userDataSecret": null}`, want: []string{"userDataSecret.name: FieldValueRequired"}},
		"user data without a name":    {patch: `{"userDataSecret": {"name": null}}`, want: []string{"userDataSecret.name: FieldValueRequired"}},
		"no key":                      {patch: `{"keyPairName": ""}`, want: []string{"keyPairName: FieldValueRequired"}},
		"no type of a reference":      {patch: `{"network": {"type": null}}`, want: []string{"network.regex: FieldValueInvalid", "network.type: FieldValueRequired"}},
		"an unknown type":             {patch: `{"network": {"type": "Tag", "regex": null}}`, want: []string{"network.type: FieldValueNotSupported"}},
		"a type without its value":    {patch: `{"network": {"type": "ID", "regex": null}}`, want: []string{"network.id: FieldValueRequired"}},
		"an empty value":              {patch: `{"network": {"regex": ""}}`, want: []string{"network.regex: FieldValueRequired"}},
		"two values":                  {patch: `{"network": {"id": "x"}}`, want: []string{"network.id: FieldValueInvalid"}},
		"no network":                  {patch: `{"network": null}`, want: []string{"network.type: FieldValueRequired"}},
		"an image by id":              {patch: `{"image": {"type": "ID", "id": "x", "name": null}}`},
		"an image by pattern":         {patch: `{"image": {"type": "RegEx", "regex": "x", "name": null}}`, want: []string{"image.regex: FieldValueNotSupported"}},
		"an image by no pattern":      {patch: `{"image": {"type": "RegEx", "name": null}}`, want: []string{"image.type: FieldValueNotSupported"}},
		"no image":                    {patch: `{"image": null}`, want: []string{"image.type: FieldValueRequired"}},
		"a workspace by pattern":      {patch: `{"serviceInstance": {"type": "RegEx", "regex": "x", "name": null}}`, want: []string{"serviceInstance.regex: FieldValueNotSupported"}},
		"another workspace by name":   {patch: `{"serviceInstance": {"name": "x"}}`, want: []string{"serviceInstance.name: FieldValueNotSupported"}},
		"a workspace by id":           {patch: `{"serviceInstance": {"type": "ID", "id": "w-1", "name": null}}`},
		"the workspace by its id":     {patch: `{"serviceInstance": {"type": "ID", "id": "w-1", "name": null}}`, env: inCluster(`{"status": {"serviceInstance": {"id": "w-1"}}}`)},
		"another workspace by its id": {patch: `{"serviceInstance": {"type": "ID", "id": "w-2", "name": null}}`, env: inCluster(`{"status": {"serviceInstance": {"id": "w-1"}}}`), want: []string{"serviceInstance.id: FieldValueNotSupported"}},
		"another than the cluster's older field says": {patch: `{"serviceInstance": {"type": "ID", "id": "w-2", "name": null}}`, env: inCluster(`{"spec": {"serviceInstance": null, "serviceInstanceID": "w-1"}}`),
			want: []string{"serviceInstance.id: FieldValueNotSupported"}},
		"a name, and a cluster that knows the id": {patch: `{}`, env: inCluster(`{"spec": {"serviceInstance": {"name": null, "id": "w-1"}}}`), want: []string{"serviceInstance.name: FieldValueNotSupported"}},
		"a name, and no cluster":                  {patch: `{}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{"serviceInstance.name: FieldValueNotSupported"}},
		"the name that Cluster API makes up":      {patch: `{"serviceInstance": {"name": "lock-7x2k9-serviceInstance"}}`, env: inCluster(`{"spec": {"serviceInstance": null}}`)},
		"an instance elsewhere":                   {patch: `{"serviceInstance": {"type": "ID", "id": "w-2", "name": null}}`, providerID: "ibmpowervs://dal/dal10/w-1/i-1", want: []string{"spec.providerID: FieldValueNotSupported"}},
		"an instance in another than the cluster's workspace": {patch: `{}`, providerID: "ibmpowervs://dal/dal10/w-2/i-1", env: inCluster(`{"status": {"serviceInstance": {"id": "w-1"}}}`),
			want: []string{"spec.providerID: FieldValueNotSupported"}},
		"an instance where it should be": {patch: `{}`, providerID: "ibmpowervs://dal/dal10/w-1/i-1", env: inCluster(`{"status": {"serviceInstance": {"id": "w-1"}}}`)},

		"a system type of long ago":        {patch: `{"systemType": "e880"}`, want: []string{"systemType: FieldValueNotSupported"}},
		"a system type of today":           {patch: `{"systemType": "s1022", "processors": 40, "memoryGiB": 2000}`},
		"a processor type in another case": {patch: `{"processorType": "shared"}`, want: []string{"processorType: FieldValueInvalid"}},
		"a number of processors":           {patch: `{"processors": 2, "processorType": "Dedicated"}`},
		"processors as a word":             {patch: `{"processors": "2.5"}`},
		"processors as a fraction":         {patch: `{"processors": 0.5}`, want: []string{"processors: FieldValueInvalid"}},
		"processors as another word":       {patch: `{"processors": "two"}`, want: []string{"processors: FieldValueInvalid"}},
		"not a number of processors":       {patch: `{"processors": "NaN"}`, want: []string{"processors: FieldValueInvalid"}},
		"all processors":                   {patch: `{"processors": "+Inf", "systemType": "s1022"}`, want: []string{"processors: FieldValueInvalid"}},
		"no processors, explicitly":        {patch: `{"processors": "0"}`, want: []string{"processors: FieldValueNotSupported"}},
		"too few processors":               {patch: `{"processors": "0.2"}`, want: []string{"processors: FieldValueNotSupported"}},
		"too many processors":              {patch: `{"processors": 16}`, want: []string{"processors: FieldValueNotSupported"}},
		"many, on a larger system":         {patch: `{"processors": 16, "systemType": "e980"}`},
		"a single GiB":                     {patch: `{"memoryGiB": 1}`, want: []string{"memoryGiB: FieldValueNotSupported"}},
		"less than nothing":                {patch: `{"memoryGiB": -1}`, want: []string{"memoryGiB: FieldValueNotSupported"}},
		"too much memory":                  {patch: `{"memoryGiB": 943}`, want: []string{"memoryGiB: FieldValueNotSupported"}},
		"memory beyond 32 bits":            {patch: `{"memoryGiB": 4294967296}`, want: []string{"memoryGiB: FieldValueInvalid"}},

		"a worker's load balancer": {patch: `{"loadBalancers": [{"name": "x", "type": "Application"}]}`, want: []string{"loadBalancers[0]: FieldValueNotSupported"}},
		"a master's load balancers": {control: true,
			patch: `{"loadBalancers": [{"name": "lock-7x2k9-loadbalancer-int", "type": "Application"}, {"name": "lock-7x2k9-loadbalancer", "type": "Application"}]}`},
		"a master without them":       {control: true, patch: `{}`, want: []string{"loadBalancers: FieldValueNotSupported"}},
		"a master without half":       {control: true, patch: `{"loadBalancers": [{"name": "lock-7x2k9-loadbalancer", "type": "Application"}]}`, want: []string{"loadBalancers: FieldValueNotSupported"}},
		"a master in no VPC":          {control: true, patch: `{}`, env: inCluster(`{"spec": {"vpc": null}}`)},
		"the one that is named after": {control: true, patch: `{"loadBalancers": [{"name": "lock-7x2k9-loadbalancer", "type": "Application"}]}`, env: inCluster(`{"spec": {"loadBalancers": null}}`)},
		"one that has no name": {control: true, patch: `{"loadBalancers": [{"name": "lock-7x2k9-loadbalancer-1", "type": "Application"}, {"name": "a", "type": "Application"}]}`,
			env: inCluster(`{"spec": {"loadBalancers": [{"name": "a"}, {"public": false}]}}`)},
		"load balancers of another type": {control: true, patch: `{"loadBalancers": [{"name": "lock-7x2k9-loadbalancer", "type": "Network"}]}`, env: inCluster(`{"spec": {"loadBalancers": null}}`),
			want: []string{"loadBalancers: FieldValueNotSupported"}},

		"another kind":            {patch: `{"kind": "AWSMachineProviderConfig"}`, want: []string{"kind: FieldValueInvalid"}},
		"another version":         {patch: `{"apiVersion": "machine.openshift.io/v1beta1"}`},
		"two misspelt fields":     {patch: `{"systemtpye": "x", "image": {"nmae": "x"}}`, want: []string{"image.nmae: FieldValueNotSupported", "systemtpye: FieldValueNotSupported"}},
		"a number that is a word": {patch: `{"memoryGiB": "32"}`, want: []string{"memoryGiB: FieldValueInvalid"}},
		"everything wrong at once": {patch: `{"memoryGiB": 1, "keyPairName": "", "image": {"type": "ID"}, "ssh": 1}`, want: []string{
			"image.id: FieldValueRequired", "image.name: FieldValueInvalid", "keyPairName: FieldValueRequired", "memoryGiB: FieldValueNotSupported",
			"ssh: FieldValueNotSupported",
		}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := powervstest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, &conversion.Core{ControlPlane: c.control, ProviderID: c.providerID}, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

// plainInfra is the spec of an IBMPowerVSMachine that converts.
const plainInfra = `{"serviceInstanceID": "", "serviceInstance": {"name": "lock-7x2k9-power-iaas"}, "image": {"name": "rhcos"}, "network": {"regex": "^x$"}, "sshKey": "key"}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch         string
		template      bool
		failureDomain string
		env           func(*conversion.Env)
		want          []string
	}{
		"nothing out of the way":                 {patch: `{}`},
		"an IBMPowerVSImage":                     {patch: `{"image": null, "imageRef": {"name": "rhcos"}}`},
		"an IBMPowerVSImage of no name":          {patch: `{"image": null, "imageRef": {}}`, want: []string{"imageRef.name: FieldValueRequired"}},
		"two images":                             {patch: `{"imageRef": {"name": "rhcos"}}`, want: []string{"imageRef: FieldValueInvalid"}},
		"no image":                               {patch: `{"image": null}`, want: []string{"image: FieldValueRequired"}},
		"an image by nothing":                    {patch: `{"image": {"name": null}}`, want: []string{"image: FieldValueRequired"}},
		"an image by pattern":                    {patch: `{"image": {"name": null, "regex": "x"}}`, want: []string{"image.regex: FieldValueNotSupported"}},
		"an image by id and name":                {patch: `{"image": {"id": "x"}}`, want: []string{"image.name: FieldValueInvalid"}},
		"no key":                                 {patch: `{"sshKey": null}`, want: []string{"sshKey: FieldValueRequired"}},
		"no network":                             {patch: `{"network": {"regex": null}}`, want: []string{"network: FieldValueRequired"}},
		"the cluster's network":                  {patch: `{"network": {"regex": null}}`, env: inCluster(`{"status": {"network": {"id": "n-1"}}}`)},
		"a network by id and pattern":            {patch: `{"network": {"id": "x"}}`, want: []string{"network.regex: FieldValueInvalid"}},
		"an empty name":                          {patch: `{"network": {"name": "", "regex": null}}`, want: []string{"network.name: FieldValueInvalid", "network: FieldValueRequired"}},
		"the cluster's workspace":                {patch: `{"serviceInstance": null}`},
		"the workspace, the older way":           {patch: `{"serviceInstance": null, "serviceInstanceID": "w-1"}`},
		"the workspace, both ways":               {patch: `{"serviceInstance": {"name": null, "id": "w-1"}, "serviceInstanceID": "w-1"}`},
		"two workspaces":                         {patch: `{"serviceInstance": {"name": null, "id": "w-2"}, "serviceInstanceID": "w-1"}`, want: []string{"serviceInstanceID: FieldValueInvalid"}},
		"a workspace by id and by name":          {patch: `{"serviceInstanceID": "w-1"}`, want: []string{"serviceInstanceID: FieldValueInvalid"}},
		"a workspace by pattern":                 {patch: `{"serviceInstance": {"name": null, "regex": "x"}}`, want: []string{"serviceInstance.regex: FieldValueNotSupported"}},
		"another name than the cluster's":        {patch: `{"serviceInstance": {"name": "x"}}`, want: []string{"serviceInstance.name: FieldValueNotSupported"}},
		"no workspace, and no cluster":           {patch: `{"serviceInstance": null}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{"serviceInstance.id: FieldValueRequired"}},
		"no workspace, and a cluster with an id": {patch: `{"serviceInstance": null}`, env: inCluster(`{"spec": {"serviceInstance": {"name": null, "id": "w-1"}}}`), want: []string{"serviceInstance.id: FieldValueRequired"}},
		"another id than the cluster's":          {patch: `{"serviceInstance": null, "serviceInstanceID": "w-2"}`, env: inCluster(`{"status": {"serviceInstance": {"id": "w-1"}}}`), want: []string{"providerID: FieldValueNotSupported", "serviceInstanceID: FieldValueNotSupported"}},

		"the least that Cluster API takes": {patch: `{"processors": "0.25", "memoryGiB": 2}`},
		"less than that":                   {patch: `{"processors": "0.1", "memoryGiB": 1}`, want: []string{"memoryGiB: FieldValueNotSupported", "processors: FieldValueNotSupported"}},
		"more than the Machine API takes":  {patch: `{"processors": 20, "memoryGiB": 1000}`, want: []string{"memoryGiB: FieldValueNotSupported", "processors: FieldValueNotSupported"}},
		"as much on a larger system":       {patch: `{"processors": 20, "memoryGiB": 1000, "systemType": "e1080"}`},

		"its own instance":           {patch: `{"providerID": "ibmpowervs://dal/dal10/w-1/i-1"}`},
		"another instance":           {patch: `{"providerID": "ibmpowervs://dal/dal10/w-1/i-2"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"an instance elsewhere":      {patch: `{"serviceInstance": null, "serviceInstanceID": "w-2"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"an instance in a template":  {template: true, patch: `{"providerID": "ibmpowervs://dal/dal10/w-1/i-1"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"a failure domain":           {patch: `{}`, failureDomain: "dal10", want: []string{"spec.failureDomain: FieldValueNotSupported"}},
		"one in a template":          {patch: `{}`, template: true, failureDomain: "dal10", want: []string{"spec.template.spec.failureDomain: FieldValueNotSupported"}},
		"a field of a later version": {patch: `{"later": {"x": 1}}`, want: []string{"later: FieldValueNotSupported"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env, core := powervstest.Kit().Env(), &conversion.Core{Template: c.template, FailureDomain: c.failureDomain}
			if !c.template {
				core.ProviderID = providerID
			}
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, core, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

// TestDefaultsThatDifferAreWritten: if the two sides have different defaults, each value is written.
func TestDefaultsThatDifferAreWritten(t *testing.T) {
	for sentence, c := range map[string]struct {
		patch, want string
	}{
		"nothing said":         {`{}`, `{"systemType": "s922", "processorType": "Shared", "processors": "0.5", "memoryGiB": 32}`},
		"dedicated processors": {`{"processorType": "Dedicated"}`, `{"systemType": "s922", "processorType": "Dedicated", "processors": 1, "memoryGiB": 32}`},
		"all of it said":       {`{"systemType": "e980", "processorType": "Capped", "processors": "3", "memoryGiB": 64}`, `{"systemType": "e980", "processorType": "Capped", "processors": "3", "memoryGiB": 64}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := powervstest.Kit().Env()
			p := conversion.NewPass(&env, &conversion.Core{}, "")
			spec, err := conversion.Encode(conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch)))
			if err != nil || len(p.Errors()) > 0 {
				t.Fatal(err, p.Errors().ToAggregate())
			}
			rest := `{"serviceInstanceID": "", "serviceInstance": {"name": "lock-7x2k9-power-iaas"}, "image": {"name": "rhcos"}, "network": {"regex": "^x$"}, "sshKey": "key"}`
			if d := cmp.Diff(decoded(t, conversiontest.Patched(t, rest, c.want)), decoded(t, marshalled(t, spec))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestWhatNobodyMeans: any garbage is an error, and takes no time.
func TestWhatNobodyMeans(t *testing.T) {
	many := strings.Repeat(`{"name": "x", "type": "Application"},`, 50_000)
	for sentence, c := range map[string]struct {
		raw  string
		want string // one of the fields
	}{
		"nothing":         {"", ""},
		"null":            {"null", ""},
		"a list":          {"[]", ""},
		"half an object":  {`{"kind":`, ""},
		"a word":          {`"x"`, ""},
		"a huge list":     {`{"kind": "PowerVSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1", "loadBalancers": [` + strings.TrimSuffix(many, ",") + `]}`, "loadBalancers[49999]"},
		"a deep object":   {`{"x": ` + strings.Repeat(`{"x":`, 5000) + "1" + strings.Repeat("}", 5000) + "}", ""},
		"a field twice":   {strings.Replace(plain, `"keyPairName": "key"`, `"keyPairName": "key", "keyPairName": "yek"`, 1), "keyPairName"},
		"a pattern of no": {strings.Replace(plain, `"RegEx"`, `"regex"`, 1), "network.type"},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := powervstest.Kit().Env()
			p := conversion.NewPass(&env, &conversion.Core{}, "")
			conversiontest.ToClusterAPI(p, []byte(c.raw))
			if !slices.ContainsFunc(p.Errors(), func(e *field.Error) bool { return c.want == "" || e.Field == c.want }) {
				t.Errorf("%s is not named among %d errors", c.want, len(p.Errors()))
			}
		})
	}
}

func seeds(f *testing.F, plain string) {
	for _, seed := range []string{plain, "", "null", "[]", "{", `{"kind": 1}`, `{"image": null, "network": {}}`, `{"processors": "0x1p-1"}`, `{"processors": 1.5}`,
		`{"loadBalancers": [null]}`, `{"serviceInstance": {"id": ""}}`} {
		f.Add([]byte(seed))
	}
}

// FuzzProviderSpec: any input gives errors, never a panic, and what converts round-trips.
func FuzzProviderSpec(f *testing.F) {
	seeds(f, plain)
	f.Fuzz(func(t *testing.T, raw []byte) {
		thereAndBack(t, raw, conversiontest.ToClusterAPI, conversiontest.ToMachineAPI)
	})
}

// FuzzInfraSpec is FuzzProviderSpec from the other side.
func FuzzInfraSpec(f *testing.F) {
	seeds(f, plainInfra)
	f.Fuzz(func(t *testing.T, raw []byte) {
		thereAndBack(t, raw, conversiontest.ToMachineAPI, conversiontest.ToClusterAPI)
	})
}

func thereAndBack(t *testing.T, raw []byte, there, back func(*conversion.Pass, []byte) any) {
	env, secret := powervstest.Kit().Env(), "worker-user-data"
	core := conversion.Core{BootstrapSecret: &secret}
	p, again := conversion.NewPass(&env, &core, "x"), conversion.NewPass(&env, &conversion.Core{BootstrapSecret: &secret}, "x")
	one, two := there(p, raw), there(again, raw)
	out := marshalled(t, one)
	if !bytes.Equal(out, marshalled(t, two)) || fmt.Sprint(p.Errors()) != fmt.Sprint(again.Errors()) {
		t.Errorf("equal input gave two outputs:\n%s %v\n%s %v", out, p.Errors(), marshalled(t, two), again.Errors())
	}
	if len(p.Errors()) > 0 {
		return
	}
	returned := conversion.NewPass(&env, &core, "")
	back(returned, out)
	if errs := returned.Errors(); len(errs) > 0 {
		t.Errorf("accepted, and cannot come back: %v\nas %s", errs.ToAggregate(), out)
	}
}

// ofInfra converts the plain spec of an IBMPowerVSMachine with a patch.
func ofInfra(t *testing.T, patch string) field.ErrorList {
	t.Helper()
	env := powervstest.Kit().Env()
	p := conversion.NewPass(&env, &conversion.Core{}, "")
	conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, patch))
	return p.Errors()
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decoded(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Cluster API's provider reads the id of a load balancer from the status, by its name: a list of ids alone is no list of others.
func TestLoadBalancersByTheirIDs(t *testing.T) {
	const both = `[{"name":"lock-7x2k9-loadbalancer","type":"Application"},{"name":"lock-7x2k9-loadbalancer-int","type":"Application"}]`
	const known = `"status":{"loadBalancers":{"lock-7x2k9-loadbalancer":{"id":"r006-a"},"lock-7x2k9-loadbalancer-int":{"id":"r006-b"}}}`
	for sentence, c := range map[string]struct {
		cluster, says, back string
	}{
		"whose names the status has": {`{"spec":{"loadBalancers":[{"id":"r006-a"},{"id":"r006-b"}]},` + known + `}`,
			`{"loadBalancers":[{"id":"r006-a","name":"lock-7x2k9-loadbalancer"},{"id":"r006-b","name":"lock-7x2k9-loadbalancer-int"}]}`, both},
		"one of them, and the other by its name": {`{"spec":{"loadBalancers":[{"id":"r006-a"},{"name":"lock-7x2k9-loadbalancer-int"}]},` + known + `}`,
			`{"loadBalancers":[{"id":"r006-a","name":"lock-7x2k9-loadbalancer"},{"name":"lock-7x2k9-loadbalancer-int"}]}`, both},
		"and beside them their names": {`{"spec":{"loadBalancers":[{"id":"r006-a"},{"id":"r006-b"},{"name":"lock-7x2k9-loadbalancer"},{"name":"lock-7x2k9-loadbalancer-int"}]},` + known + `}`,
			`-p '{"spec":{"loadBalancers":[{"name":"lock-7x2k9-loadbalancer"},{"name":"lock-7x2k9-loadbalancer-int"}]}}'`, both},
		"which nobody names": {`{"spec":{"loadBalancers":[{"id":"r006-a"},{"id":"r006-b"}]}}`,
			`{"loadBalancers":[{"id":"r006-a","name":"NAME"},{"id":"r006-b","name":"NAME"}]}`, ``},
		"and their names":                {`{"spec":{"loadBalancers":[{"id":"r006-a","name":"lock-7x2k9-loadbalancer"},{"id":"r006-b","name":"lock-7x2k9-loadbalancer-int"}]},` + known + `}`, ``, both},
		"whose region the cluster lacks": {`{"spec":{"vpc":null,"loadBalancers":[{"name":"lock-7x2k9-loadbalancer"},{"name":"lock-7x2k9-loadbalancer-int"}]}}`, `lacks the region of its VPC. In the commands, replace REGION by`, `null`},
		"in a VPC without a region":      {`{"spec":{"vpc":null,"loadBalancers":[{"id":"r006-a"},{"id":"r006-b"}]},` + known + `}`, `by its id), and the region of its VPC. In the commands, replace REGION`, `null`},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := powervstest.Kit().Env()
			inCluster(c.cluster)(&env)
			there := conversion.NewPass(&env, &conversion.Core{ControlPlane: true}, "")
			conversiontest.ToClusterAPI(there, conversiontest.Patched(t, plain, `{"loadBalancers":`+both+`}`))
			if got := there.Errors(); (len(got) > 0) != (c.says != "") || len(got) > 1 || c.says != "" && !strings.Contains(got[0].Error(), c.says) {
				t.Errorf("there, %v, want %s", got, c.says)
			}
			back := conversion.NewPass(&env, &conversion.Core{ControlPlane: true}, "")
			typed := conversiontest.ToMachineAPI(back, []byte(plainInfra))
			if got := back.Errors(); c.back == "" && (len(got) != 1 || !strings.Contains(got[0].Error(), c.says)) || c.back != "" && len(got) > 0 {
				t.Errorf("back, %v", got)
			}
			if got, _ := json.Marshal(typed.(*machinev1.PowerVSMachineProviderConfig).LoadBalancers); c.back != "" && string(got) != c.back {
				t.Errorf("back, %s", got)
			}
		})
	}
}
