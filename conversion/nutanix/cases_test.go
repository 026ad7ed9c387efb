// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/nutanix"
	"github.com/poundlock/poundlock/conversion/nutanix/nutanixtest"
)

// plain is a providerSpec that converts; each case is a merge patch of it.
const plain = `{
  "kind": "NutanixMachineProviderConfig", "apiVersion": "machine.openshift.io/v1",
  "cluster": {"type": "uuid", "uuid": "0005b6f1-8f43-a0f2-02b7-3cecef193712"}, "image": {"type": "name", "name": "rhcos"},
  "subnets": [{"type": "name", "name": "net"}], "vcpusPerSocket": 1, "vcpuSockets": 4, "memorySize": "16Gi", "systemDiskSize": "120Gi",
  "userDataSecret": {"name": "worker-user-data"}
}`

// legacyDomain is a NutanixCluster with a failure domain named a.
const legacyDomain = `{"spec": {"failureDomains": [{"name": "b", "controlPlane": true}, {"name": "a", "controlPlane": true,
  "cluster": {"type": "uuid", "uuid": "0005b6f1-8f43-a0f2-02b7-3cecef193712"}, "subnets": [{"type": "name", "name": "net"}]}]}}`

// inCluster patches the NutanixCluster of the kit.
func inCluster(patch string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		raw, _ := json.Marshal(e.InfraCluster)
		merged, err := jsonpatch.MergePatch(raw, []byte(patch))
		if err != nil || json.Unmarshal(merged, &e.InfraCluster) != nil {
			panic(patch) // a test's own constant
		}
	}
}

// inInfrastructure makes the failure domain a of the Infrastructure, in this subnet of that cluster.
func inInfrastructure(element, subnet string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		err := unstructured.SetNestedSlice(e.Infrastructure, []any{map[string]any{
			"name": "a", "cluster": map[string]any{"type": "UUID", "uuid": element}, "subnets": []any{map[string]any{"type": "Name", "name": subnet}},
		}}, "spec", "platformSpec", "nutanix", "failureDomains")
		if err != nil {
			panic(err) // a test's own constant
		}
	}
}

func TestWhatAProviderSpecMayHave(t *testing.T) {
	disk := func(properties string) string { return `{"dataDisks": [{"diskSize": "1Gi"}, {` + properties + `}]}` }
	here := inInfrastructure("0005b6f1-8f43-a0f2-02b7-3cecef193712", "net")
	both := func(one, other func(*conversion.Env)) func(*conversion.Env) {
		return func(e *conversion.Env) { one(e); other(e) }
	}
	cases := map[string]struct {
		patch string
		env   func(*conversion.Env)
		core  conversion.Core
		want  []string
	}{
		"nothing out of the way":              {patch: `{}`},
		"as OpenShift's webhook has it":       {patch: `{"metadata": {"creationTimestamp": null}, "project": {"type": ""}, "bootType": "", "gpus": [], "dataDisks": [], "credentialsSecret": {"name": "nutanix-credentials"}}`},
		"metadata of its own":                 {patch: `{"metadata": {"name": "x"}}`, want: []string{"metadata: FieldValueNotSupported"}},
		"another secret":                      {patch: `{"credentialsSecret": {"name": "mine"}}`, want: []string{"credentialsSecret.name: FieldValueNotSupported"}},
		"a set for Windows":                   {patch: `{}`, core: conversion.Core{Windows: true, Template: true}, want: []string{"userDataSecret.name: FieldValueNotSupported"}},
		"a Machine for Windows":               {patch: `{}`, core: conversion.Core{Windows: true}, want: []string{"userDataSecret.name: FieldValueNotSupported"}},
		"one of Windows that runs":            {patch: `{}`, core: conversion.Core{Windows: true, ProviderID: "nutanix://2f6f8a0e-6a4f-4b6a-9a07-0d6d2f1f4b11"}},
		"no user data":                        {patch: `{"userDataSecret": null}`, want: []string{"userDataSecret.name: FieldValueRequired"}},
		"no cluster":                          {patch: `{"cluster": null}`, want: []string{"cluster.type: FieldValueInvalid"}},
		"a UUID that is none":                 {patch: `{"cluster": {"uuid": "x"}}`, want: []string{"cluster.uuid: FieldValueInvalid"}},
		"a type in another case":              {patch: `{"cluster": {"type": "UUID"}}`, want: []string{"cluster.type: FieldValueInvalid"}},
		"a name beside the UUID":              {patch: `{"cluster": {"name": "x"}}`, want: []string{"cluster.name: FieldValueInvalid"}},
		"a UUID beside the name":              {patch: `{"image": {"uuid": "x"}}`, want: []string{"image.uuid: FieldValueInvalid"}},
		"no name":                             {patch: `{"image": {"name": null}}`, want: []string{"image.name: FieldValueRequired"}},
		"a project":                           {patch: `{"project": {"type": "name", "name": "x"}}`},
		"a project of no type":                {patch: `{"project": {"name": "x"}}`, want: []string{"project.type: FieldValueInvalid"}},
		"no subnet":                           {patch: `{"subnets": []}`, want: []string{"subnets: FieldValueRequired"}},
		"a subnet twice":                      {patch: `{"subnets": [{"type": "name", "name": "a"}, {"type": "name", "name": "b"}, {"type": "name", "name": "a"}]}`, want: []string{"subnets: FieldValueInvalid"}},
		"33 subnets":                          {patch: `{"subnets": [` + strings.Join(indexed(`{"type": "name", "name": "net-%d"}`, 33), ",") + `]}`, want: []string{"subnets: FieldValueInvalid"}},
		"a failure domain":                    {patch: `{"failureDomain": {"name": "a"}}`, core: conversion.Core{ProviderID: "nutanix://2f6f8a0e-6a4f-4b6a-9a07-0d6d2f1f4b11"}},
		"one where nothing is made yet":       {patch: `{"failureDomain": {"name": "a"}}`, env: here, want: []string{"NutanixCluster.spec.failureDomains: FieldValueNotSupported"}},
		"one of a set":                        {patch: `{"failureDomain": {"name": "a"}}`, core: conversion.Core{Template: true}, env: here, want: []string{"NutanixCluster.spec.failureDomains: FieldValueNotSupported"}},
		"one that may be an object":           {patch: `{"failureDomain": {"name": "a"}}`, env: both(here, inCluster(`{"spec": {"controlPlaneFailureDomains": [{"name": "b"}]}}`))},
		"one of a cluster that is not read":   {patch: `{"failureDomain": {"name": "a"}}`, env: both(here, func(e *conversion.Env) { e.InfraCluster = nil })},
		"one that both list":                  {patch: `{"failureDomain": {"name": "a"}}`, env: both(here, inCluster(legacyDomain))},
		"one of nobody's":                     {patch: `{"failureDomain": {"name": "a"}}`, want: []string{"failureDomain.name: FieldValueNotSupported"}},
		"one of nobody's, of a set":           {patch: `{"failureDomain": {"name": "a"}}`, core: conversion.Core{Template: true}, want: []string{"failureDomain.name: FieldValueNotSupported"}},
		"one of Cluster API alone":            {patch: `{"failureDomain": {"name": "a"}}`, env: inCluster(legacyDomain), want: []string{"failureDomain.name: FieldValueNotSupported"}},
		"one, the Infrastructure not read":    {patch: `{"failureDomain": {"name": "a"}}`, env: both(inCluster(legacyDomain), func(e *conversion.Env) { e.Infrastructure = nil })},
		"one that lies elsewhere":             {patch: `{"failureDomain": {"name": "a"}, "cluster": {"type": "name", "name": "x", "uuid": null}, "subnets": [{"type": "name", "name": "x"}]}`, core: conversion.Core{ProviderID: "nutanix://2f6f8a0e-6a4f-4b6a-9a07-0d6d2f1f4b11"}, env: inCluster(legacyDomain), want: []string{"cluster: FieldValueNotSupported", "subnets: FieldValueNotSupported"}},
		"a failure domain without name":       {patch: `{"failureDomain": {}}`, want: []string{"failureDomain.name: FieldValueRequired"}},
		"a secret without a name":             {patch: `{"credentialsSecret": {"name": ""}}`},
		"another Prism Central":               {patch: `{}`, env: inCluster(`{"spec": {"prismCentral": {"address": "elsewhere"}}}`), want: []string{"cluster: FieldValueNotSupported"}},
		"secure boot":                         {patch: `{"bootType": "SecureBoot"}`, want: []string{"bootType: FieldValueNotSupported"}},
		"a socket without a CPU":              {patch: `{"vcpusPerSocket": 0}`, want: []string{"vcpusPerSocket: FieldValueInvalid"}},
		"no sockets":                          {patch: `{"vcpuSockets": null}`, want: []string{"vcpuSockets: FieldValueInvalid"}},
		"1Gi of memory":                       {patch: `{"memorySize": "1Gi"}`, want: []string{"memorySize: FieldValueNotSupported"}},
		"memory of all the world":             {patch: `{"memorySize": "1e999999999"}`, want: []string{"memorySize: FieldValueInvalid"}},
		"a disk of all the world":             {patch: `{"dataDisks": [{"diskSize": "1e999999999"}]}`, want: []string{"dataDisks[0].diskSize: FieldValueInvalid"}},
		"a hash that looks like a number":     {patch: `{"categories": [{"key": "commit", "value": "7e123456"}]}`},
		"memory of no size":                   {patch: `{"memorySize": null}`, want: []string{"memorySize: FieldValueNotSupported"}},
		"memory that is no number":            {patch: `{"memorySize": "much"}`, want: []string{"memorySize: FieldValueInvalid"}},
		"a system disk of 19Gi":               {patch: `{"systemDiskSize": "19Gi"}`, want: []string{"systemDiskSize: FieldValueNotSupported"}},
		"two categories":                      {patch: `{"categories": [{"key": "a", "value": "1"}, {"key": "b", "value": "1"}]}`},
		"the cluster's category":              {patch: `{"categories": [{"key": "kubernetes-io-cluster-lock-7x2k9", "value": "owned"}]}`},
		"another value of it":                 {patch: `{"categories": [{"key": "kubernetes-io-cluster-lock-7x2k9", "value": "shared"}]}`, want: []string{"categories[0].value: FieldValueNotSupported"}},
		"a category twice":                    {patch: `{"categories": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}`, want: []string{"categories[1].key: FieldValueNotSupported"}},
		"half a category":                     {patch: `{"categories": [{"key": "a"}, {"value": "2"}]}`, want: []string{"categories[0].value: FieldValueInvalid", "categories[1].key: FieldValueInvalid"}},
		"a GPU of each kind":                  {patch: `{"gpus": [{"type": "Name", "name": "x"}, {"type": "DeviceID", "deviceID": 7}]}`},
		"a GPU with the other name empty":     {patch: `{"gpus": [{"type": "DeviceID", "deviceID": 7, "name": ""}]}`},
		"a GPU by the other":                  {patch: `{"gpus": [{"type": "Name", "name": "x", "deviceID": 7}, {"type": "DeviceID"}, {"type": "name"}]}`, want: []string{"gpus[0].deviceID: FieldValueInvalid", "gpus[1].deviceID: FieldValueRequired", "gpus[2].type: FieldValueInvalid"}},
		"a small data disk":                   {patch: disk(`"diskSize": "1M"`), want: []string{"dataDisks[1].diskSize: FieldValueNotSupported"}},
		"a CDRom on IDE":                      {patch: disk(`"diskSize": "1Gi", "deviceProperties": {"deviceType": "CDRom", "adapterType": "IDE", "deviceIndex": 1}`)},
		"a CDRom on SATA":                     {patch: disk(`"diskSize": "1Gi", "deviceProperties": {"deviceType": "CDRom", "adapterType": "SATA"}`), want: []string{"dataDisks[1].deviceProperties.adapterType: FieldValueNotSupported"}},
		"a device of no type":                 {patch: disk(`"diskSize": "1Gi", "deviceProperties": {"adapterType": "SATA"}`), want: []string{"dataDisks[1].deviceProperties.deviceType: FieldValueInvalid"}},
		"an adapter that is none":             {patch: disk(`"diskSize": "1Gi", "deviceProperties": {"deviceType": "Disk", "adapterType": "NVMe", "deviceIndex": -1}`), want: []string{"dataDisks[1].deviceProperties.adapterType: FieldValueInvalid", "dataDisks[1].deviceProperties.deviceIndex: FieldValueInvalid"}},
		"a container by UUID":                 {patch: disk(`"diskSize": "1Gi", "storageConfig": {"diskMode": "Flash", "storageContainer": {"type": "uuid", "uuid": "0005b6f1-8f43-a0f2-02b7-3cecef193712"}}`)},
		"a container by name":                 {patch: disk(`"diskSize": "1Gi", "storageConfig": {"diskMode": "Flash", "storageContainer": {"type": "name"}}`), want: []string{"dataDisks[1].storageConfig.storageContainer.type: FieldValueInvalid"}},
		"a mode that is none":                 {patch: disk(`"diskSize": "1Gi", "storageConfig": {}`), want: []string{"dataDisks[1].storageConfig.diskMode: FieldValueInvalid"}},
		"a source of no type":                 {patch: disk(`"diskSize": "1Gi", "dataSource": {}`), want: []string{"dataDisks[1].dataSource.type: FieldValueInvalid"}},
		"a field of a disk that nobody knows": {patch: disk(`"diskSize": "1Gi", "size": 1`), want: []string{"dataDisks[1].size: FieldValueNotSupported"}},
		"another kind":                        {patch: `{"kind": "AWSMachineProviderConfig"}`, want: []string{"kind: FieldValueInvalid"}},
		"another version":                     {patch: `{"apiVersion": "machine.openshift.io/v1beta1"}`},
		"a number that is a word":             {patch: `{"vcpuSockets": "4"}`, want: []string{"vcpuSockets: FieldValueInvalid"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := nutanixtest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, &c.core, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

// TestACommandIsWhole: a long message is cut, but not the command at its end. A failure domain may have 32 subnets, with names as long as Prism Central
// accepts. A user who runs the commands of several messages keeps what each of them lists, because the list is keyed by name.
func TestACommandIsWhole(t *testing.T) {
	env := nutanixtest.Kit().Env()
	var domains, subnets []any
	for _, name := range indexed(strings.Repeat("n", 120)+"-%d", 32) {
		subnets = append(subnets, map[string]any{"type": "Name", "name": name})
	}
	for _, name := range indexed("domain-%d", 32) {
		domains = append(domains, map[string]any{"name": name, "cluster": map[string]any{"type": "UUID", "uuid": nutanixtest.Element}, "subnets": subnets})
	}
	if err := unstructured.SetNestedSlice(env.Infrastructure, domains, "spec", "platformSpec", "nutanix", "failureDomains"); err != nil {
		t.Fatal(err)
	}
	p := conversion.NewPass(&env, &conversion.Core{Template: true}, "")
	conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, `{"failureDomain": {"name": "domain-7"}}`))
	conversiontest.Same(t, []string{"NutanixCluster.spec.failureDomains: FieldValueNotSupported"}, p.Errors())
	_, command, _ := strings.Cut(p.Errors()[0].Detail, "echo '")
	manifest, rest, _ := strings.Cut(command, "'")
	var applied struct {
		Spec struct {
			FailureDomains []struct {
				Name    string `json:"name"`
				Subnets []any  `json:"subnets"`
			} `json:"failureDomains"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(manifest), &applied); err != nil {
		t.Fatalf("%v: %s", err, p.Errors()[0].Detail)
	}
	if d := applied.Spec.FailureDomains; len(d) != 1 || d[0].Name != "domain-7" || len(d[0].Subnets) != 32 {
		t.Errorf("it lists %v", d)
	}
	if rest != ` | kubectl apply --server-side --field-manager='failure-domain-domain-7' -f -` {
		t.Errorf("the command is %s", rest)
	}
	list := schema(t, nutanix.Platform().InfraCluster, "spec", "failureDomains")
	if *list.XListType != "map" || !slices.Equal(list.XListMapKeys, []string{"name"}) {
		t.Error("the list is no list by name, and an apply would replace it")
	}
}

func indexed(format string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// plainInfra is the spec of a NutanixMachine that converts.
const plainInfra = `{"cluster": {"type": "uuid", "uuid": "0005b6f1-8f43-a0f2-02b7-3cecef193712"}, "image": {"type": "name", "name": "rhcos"},
  "subnet": [{"type": "name", "name": "net"}], "vcpusPerSocket": 1, "vcpuSockets": 4, "memorySize": "16Gi", "systemDiskSize": "120Gi"}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch         string
		template      bool
		failureDomain string
		env           func(*conversion.Env)
		want          []string
	}{
		"nothing out of the way":       {patch: `{}`},
		"an image to look up":          {patch: `{"image": null, "imageLookup": {"baseOS": "rhel"}}`, want: []string{"imageLookup.baseOS: FieldValueNotSupported"}},
		"two images":                   {patch: `{"imageLookup": {"baseOS": "rhel"}}`, want: []string{"image: FieldValueInvalid", "imageLookup.baseOS: FieldValueNotSupported"}},
		"no image":                     {patch: `{"image": null}`, want: []string{"image: FieldValueRequired"}},
		"nowhere":                      {patch: `{"cluster": null, "subnet": null}`, want: []string{"cluster: FieldValueRequired", "subnet: FieldValueRequired"}},
		"nowhere but a failure domain": {patch: `{"cluster": null, "subnet": null}`, failureDomain: "c", env: inCluster(legacyDomain), want: []string{"cluster: FieldValueRequired", "subnet: FieldValueRequired"}},
		"where the failure domain is":  {patch: `{"cluster": null, "subnet": null}`, failureDomain: "a", env: inCluster(legacyDomain)},
		"elsewhere":                    {patch: `{"subnet": [{"type": "name", "name": "x"}]}`, failureDomain: "a", env: inCluster(legacyDomain), want: []string{"subnet: FieldValueNotSupported"}},
		"another Prism Central":        {patch: `{}`, env: inCluster(`{"spec": {"prismCentral": {"address": "elsewhere"}}}`), want: []string{"cluster: FieldValueNotSupported"}},
		"a failure domain of both":     {patch: `{}`, template: true, failureDomain: "a", env: inInfrastructure(nutanixtest.Element, "net")},
		"one of Cluster API alone":     {patch: `{}`, template: true, failureDomain: "a", env: inCluster(legacyDomain), want: []string{"spec.template.spec.failureDomain: FieldValueNotSupported"}},
		"one that differs in both":     {patch: `{}`, failureDomain: "a", env: inInfrastructure("0005b6f1-8f43-a0f2-02b7-3cecef193713", "other"), want: []string{"cluster: FieldValueNotSupported", "subnet: FieldValueNotSupported"}},
		"a value of the cluster's own": {patch: `{"additionalCategories": [{"key": "kubernetes-io-cluster-lock-7x2k9", "value": "shared"}]}`, want: []string{"additionalCategories[0].value: FieldValueNotSupported"}},
		"a category of two values":     {patch: `{"additionalCategories": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}`, want: []string{"additionalCategories[1].key: FieldValueNotSupported"}},
		"a GPU beyond 32 bits":         {patch: `{"gpus": [{"type": "deviceID", "deviceID": 4294967296}]}`, want: []string{"gpus[0].deviceID: FieldValueNotSupported"}},
		"a container by name":          {patch: `{"dataDisks": [{"diskSize": "1Gi", "storageConfig": {"storageContainer": {"type": "name", "name": "x"}}}]}`, want: []string{"dataDisks[0].storageConfig.storageContainer.name: FieldValueNotSupported"}},
		"a CDRom on PCI":               {patch: `{"dataDisks": [{"diskSize": "1Gi", "deviceProperties": {"deviceType": "CDRom", "adapterType": "PCI"}}]}`, want: []string{"dataDisks[0].deviceProperties.adapterType: FieldValueNotSupported"}},
		"its own bootstrap data":       {patch: `{"bootstrapRef": {"kind": "Secret", "apiVersion": "v1", "name": "worker-user-data", "namespace": "openshift-cluster-api"}}`},
		"an image to boot from":        {patch: `{"bootstrapRef": {"kind": "Image", "name": "x"}}`, want: []string{"bootstrapRef.kind: FieldValueNotSupported"}},
		"another secret":               {patch: `{"bootstrapRef": {"kind": "Secret", "name": "x"}}`, want: []string{"bootstrapRef.name: FieldValueNotSupported"}},
		"a secret of elsewhere":        {patch: `{"bootstrapRef": {"kind": "Secret", "name": "worker-user-data", "namespace": "x"}}`, want: []string{"bootstrapRef.namespace: FieldValueNotSupported"}},
		"part of a secret":             {patch: `{"bootstrapRef": {"kind": "Secret", "name": "worker-user-data", "fieldPath": "x"}}`, want: []string{"bootstrapRef.fieldPath: FieldValueNotSupported"}},
		"a secret in a template":       {template: true, patch: `{"bootstrapRef": {"kind": "Secret", "name": "worker-user-data"}}`, want: []string{"bootstrapRef: FieldValueNotSupported"}},
		"its own VM":                   {patch: `{"providerID": "nutanix://u"}`},
		"another VM":                   {patch: `{"providerID": "nutanix://x"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"a VM in a template":           {template: true, patch: `{"providerID": "nutanix://u"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"a field of a later version":   {patch: `{"later": {"x": 1}}`, want: []string{"later: FieldValueNotSupported"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			secret := "worker-user-data"
			env, core := nutanixtest.Kit().Env(), &conversion.Core{Template: c.template, FailureDomain: c.failureDomain, BootstrapSecret: &secret}
			if !c.template {
				core.ProviderID = "nutanix://u"
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

// TestAPlaceIsFilledIn: the Machine API's side has a machine's place even if Cluster API leaves it to the failure domain.
func TestAPlaceIsFilledIn(t *testing.T) {
	env := nutanixtest.Kit().Env()
	inCluster(legacyDomain)(&env)
	inInfrastructure(nutanixtest.Element, "net")(&env)
	p := conversion.NewPass(&env, &conversion.Core{FailureDomain: "a"}, "")
	spec := conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, `{"cluster": null, "subnet": null}`)).(*providerSpec)
	if len(p.Errors()) > 0 || *spec.Cluster.UUID != nutanixtest.Element || len(spec.Subnets) != 1 || *spec.Subnets[0].Name != "net" ||
		spec.FailureDomain.Name != "a" {
		t.Errorf("%+v %v", spec, p.Errors().ToAggregate())
	}
}

// TestWhatNobodyMeans: any garbage is an error, and takes no time.
func TestWhatNobodyMeans(t *testing.T) {
	for sentence, raw := range map[string]string{
		"nothing": "", "null": "null", "a list": "[]", "half an object": `{"kind":`, "a word": `"x"`,
		"a huge list":   `{"kind": "NutanixMachineProviderConfig", "apiVersion": "machine.openshift.io/v1", "subnets": [` + strings.TrimSuffix(strings.Repeat(`{"type": "name", "name": "x"},`, 50_000), ",") + `]}`,
		"a deep object": `{"x": ` + strings.Repeat(`{"x":`, 5000) + "1" + strings.Repeat("}", 5000) + "}",
		"a field twice": strings.Replace(plain, `"vcpuSockets": 4`, `"vcpuSockets": 4, "vcpuSockets": 5`, 1),
	} {
		t.Run(sentence, func(t *testing.T) {
			env := nutanixtest.Kit().Env()
			p := conversion.NewPass(&env, &conversion.Core{}, "")
			if conversiontest.ToClusterAPI(p, []byte(raw)); len(p.Errors()) == 0 {
				t.Error("no error")
			}
		})
	}
}

func seeds(f *testing.F, plain string) {
	for _, seed := range []string{plain, "", "null", "[]", "{", `{"kind": 1}`, `{"subnets": [null], "subnet": [null]}`, `{"memorySize": 1e400}`,
		`{"memorySize": "-1"}`, `{"dataDisks": [null, {"storageConfig": {"storageContainer": {}}}]}`, `{"gpus": [{}]}`} {
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
	env, secret := nutanixtest.Kit().Env(), "worker-user-data"
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

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Machine API gives each VM the category by which an uninstall finds it: Cluster API needs it in the spec.
func TestTheCategoryOfTheCluster(t *testing.T) {
	env := nutanixtest.Kit().Env()
	own := nutanix.CategoryIdentifier{Key: "kubernetes-io-cluster-" + env.ClusterName, Value: "owned"}
	p := conversion.NewPass(&env, &conversion.Core{}, "")
	there := conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, `{"categories": [{"key": "a", "value": "1"}]}`)).(*nutanix.MachineSpec)
	conversiontest.Same(t, nil, p.Errors())
	if want := []nutanix.CategoryIdentifier{{Key: "a", Value: "1"}, own}; !slices.Equal(there.AdditionalCategories, want) {
		t.Errorf("Cluster API has %v, want %v", there.AdditionalCategories, want)
	}
}
