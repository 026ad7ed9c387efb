// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/gcp/gcptest"
)

func long(n int) string { return strings.Repeat("x", n) }

// plain is the kit's providerSpec, which converts; each case is a merge patch of it.
func plain(t testing.TB) []byte {
	t.Helper()
	raw, err := json.Marshal(gcptest.Kit().ProviderSpec)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const root = `{"autoDelete": true, "boot": true, "sizeGb": 128, "type": "pd-ssd", "image": "rhcos"`

// clusterHas sets a field in the GCPCluster's spec.
func clusterHas(name string, value any) func(*conversion.Env) {
	return func(e *conversion.Env) { set(&e.InfraCluster, value, "spec", name) }
}

// manyTags returns n resource manager tags.
func manyTags(n int) []any {
	var out []any
	for i := range n {
		out = append(out, map[string]any{"parentID": "openshift", "key": "k" + strconv.Itoa(i), "value": "v"})
	}
	return out
}

func TestWhatAProviderSpecMayHave(t *testing.T) {
	key := func(rest string) string {
		return `"encryptionKey": {"kmsKey": {"name": "k", "keyRing": "r", "location": "us"` + rest
	}
	cases := map[string]struct {
		patch string
		core  conversion.Core
		env   func(*conversion.Env)
		want  []string
	}{
		"nothing out of the way": {patch: `{}`},

		"the project unsaid":                     {patch: `{"projectID": null}`},
		"another project":                        {patch: `{"projectID": "other"}`, want: []string{"projectID: FieldValueNotSupported"}},
		"another region":                         {patch: `{"region": "us-east1", "zone": "us-central1-a"}`, want: []string{"region: FieldValueNotSupported"}},
		"another region and its zone":            {patch: `{"region": "us-east1", "zone": "us-east1-b"}`, want: []string{"region: FieldValueNotSupported", "zone: FieldValueInvalid"}},
		"the region unsaid":                      {patch: `{"region": ""}`},
		"no zone":                                {patch: `{"zone": ""}`, want: []string{"zone: FieldValueRequired"}},
		"a zone of a region with a longer name":  {patch: `{"zone": "us-central11-a"}`, want: []string{"zone: FieldValueInvalid"}},
		"a zone that is no failure domain":       {patch: `{"zone": "us-central1-f"}`, env: domains("us-central1-a", "us-central1-b")},
		"a zone that the controller never found": {patch: `{}`, env: found("us-central1-b")},
		"no GCPCluster":                          {patch: `{}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{"GCPCluster.spec.network.name: FieldValueRequired"}},
		"a cluster that is not known at all": {patch: `{}`, env: func(e *conversion.Env) { e.InfraCluster, e.Infrastructure, e.Region = nil, nil, "" },
			want: []string{"GCPCluster.spec.network.name: FieldValueRequired", "GCPCluster.spec.project: FieldValueRequired",
				"GCPCluster.spec.region: FieldValueRequired"}},

		"its instance":                    {patch: `{}`, core: conversion.Core{ProviderID: "gce://lock-project/us-central1-a/x"}},
		"an instance of another zone":     {patch: `{}`, core: conversion.Core{ProviderID: "gce://lock-project/us-central1-b/x"}, want: []string{"spec.providerID: FieldValueInvalid"}},
		"an instance of another project":  {patch: `{}`, core: conversion.Core{ProviderID: "gce://other/us-central1-a/x"}, want: []string{"spec.providerID: FieldValueNotSupported"}},
		"an instance of another cloud":    {patch: `{}`, core: conversion.Core{ProviderID: "aws:///us-east-1a/i-1"}, want: []string{"spec.providerID: FieldValueInvalid"}},
		"an instance without a name":      {patch: `{}`, core: conversion.Core{ProviderID: "gce://lock-project/us-central1-a/"}, want: []string{"spec.providerID: FieldValueInvalid"}},
		"a set for Windows":               {patch: `{}`, core: conversion.Core{Windows: true, Template: true}, want: []string{"userDataSecret.name: FieldValueNotSupported"}},
		"a Machine for Windows":           {patch: `{}`, core: conversion.Core{Windows: true}, want: []string{"userDataSecret.name: FieldValueNotSupported"}},
		"one that runs":                   {patch: `{}`, core: conversion.Core{Windows: true, ProviderID: "gce://lock-project/us-central1-a/x"}},
		"a control plane":                 {patch: `{}`, core: conversion.Core{ControlPlane: true}},
		"a control plane of other groups": {patch: `{}`, core: conversion.Core{ControlPlane: true}, env: group("apiserver"), want: []string{"GCPCluster.spec.loadBalancer.apiServerInstanceGroupTagOverride: FieldValueNotSupported"}},
		"a worker beside other groups":    {patch: `{}`, env: group("apiserver")},

		"no machine type":                  {patch: `{"machineType": ""}`, want: []string{"machineType: FieldValueRequired"}},
		"a GPU":                            {patch: `{"onHostMaintenance": "Terminate", "gpus": [{"count": 1, "type": "nvidia-tesla-t4"}]}`},
		"a GPU on a machine that moves":    {patch: `{"gpus": [{"count": 1, "type": "nvidia-tesla-t4"}]}`, want: []string{"onHostMaintenance: FieldValueInvalid"}},
		"no GPU of a type":                 {patch: `{"onHostMaintenance": "Terminate", "gpus": [{"count": 0, "type": "nvidia-tesla-t4"}]}`, want: []string{"gpus[0].count: FieldValueInvalid"}},
		"a GPU of an unknown type":         {patch: `{"onHostMaintenance": "Terminate", "gpus": [{"count": 1, "type": "nvidia-l4"}]}`, want: []string{"gpus[0].type: FieldValueInvalid"}},
		"GPUs of two types":                {patch: `{"onHostMaintenance": "Terminate", "gpus": [{"count": 1, "type": "nvidia-tesla-t4"}, {"count": 1, "type": "nvidia-tesla-p4"}]}`, want: []string{"gpus[1]: FieldValueInvalid"}},
		"no service account":               {patch: `{"serviceAccounts": []}`, want: []string{"serviceAccounts: FieldValueRequired"}},
		"two service accounts":             {patch: `{"serviceAccounts": [{"email": "a", "scopes": ["s"]}, {"email": "b", "scopes": ["s"]}]}`, want: []string{"serviceAccounts[1]: FieldValueNotSupported"}},
		"an account without scopes":        {patch: `{"serviceAccounts": [{"email": "a"}]}`, want: []string{"serviceAccounts[0].scopes: FieldValueRequired"}},
		"no user data":                     {patch: `{"userDataSecret": null}`, want: []string{"userDataSecret.name: FieldValueRequired"}},
		"a secret without a name":          {patch: `{"credentialsSecret": {"name": ""}}`},
		"a secret that says nothing":       {patch: `{"credentialsSecret": {}}`},
		"another secret":                   {patch: `{"credentialsSecret": {"name": "mine"}}`, want: []string{"credentialsSecret.name: FieldValueNotSupported"}},
		"a protected instance":             {patch: `{"deletionProtection": true}`, want: []string{"deletionProtection: FieldValueNotSupported"}},
		"metadata of its own":              {patch: `{"metadata": {"name": "x"}}`, want: []string{"metadata: FieldValueNotSupported"}},
		"an owned label of another's":      {patch: `{"labels": {"kubernetes-io-cluster-lock-7x2k9": "shared"}}`, want: []string{"labels[kubernetes-io-cluster-lock-7x2k9]: FieldValueNotSupported"}},
		"a role that is not its":           {patch: `{"labels": {"capg-role": "control-plane"}}`, want: []string{"labels[capg-role]: FieldValueNotSupported"}},
		"a role that is its":               {patch: `{"labels": {"capg-role": "node"}}`},
		"the role of the control plane":    {patch: `{"labels": {"capg-role": "control-plane"}}`, core: conversion.Core{ControlPlane: true}},
		"that of workers in it":            {patch: `{"labels": {"capg-role": "node"}}`, core: conversion.Core{ControlPlane: true}, want: []string{"labels[capg-role]: FieldValueNotSupported"}},
		"a label of the GCPCluster":        {patch: `{}`, env: clusterHas("additionalLabels", map[string]any{"team": "locks"}), want: []string{"labels[team]: FieldValueNotSupported"}},
		"the same, of an instance":         {patch: `{}`, env: clusterHas("additionalLabels", map[string]any{"team": "locks"}), core: conversion.Core{ProviderID: gcptest.ProviderID("x")}},
		"a tag of the GCPCluster":          {patch: `{}`, env: clusterHas("resourceManagerTags", manyTags(1)), want: []string{"resourceManagerTags[k0]: FieldValueNotSupported"}},
		"many tags of the GCPCluster":      {patch: `{}`, env: clusterHas("resourceManagerTags", manyTags(51)), want: []string{"resourceManagerTags: FieldValueNotSupported"}},
		"the same of an instance":          {patch: `{}`, env: clusterHas("resourceManagerTags", manyTags(51)), core: conversion.Core{ProviderID: gcptest.ProviderID("x")}},
		"a capital letter in a label":      {patch: `{"labels": {"Team": "x"}}`, want: []string{"labels[Team]: FieldValueInvalid"}},
		"metadata without a value":         {patch: `{"gcpMetadata": [{"key": "a", "value": null}]}`},
		"metadata given twice":             {patch: `{"gcpMetadata": [{"key": "a", "value": "1"}, {"key": "a", "value": "1"}]}`, want: []string{"gcpMetadata[1].key: FieldValueInvalid"}},
		"user data as metadata":            {patch: `{"gcpMetadata": [{"key": "user-data", "value": "1"}]}`, want: []string{"gcpMetadata[0].key: FieldValueNotSupported"}},
		"metadata that is null":            {patch: `{"gcpMetadata": [null]}`, want: []string{"gcpMetadata[0]: FieldValueInvalid"}},
		"a tag with an odd value":          {patch: `{"resourceManagerTags": [{"parentID": "openshift", "key": "a", "value": "!"}]}`, want: []string{"resourceManagerTags[0].value: FieldValueInvalid"}},
		"a key of two parents":             {patch: `{"resourceManagerTags": [{"parentID": "openshift", "key": "a", "value": "b"}, {"parentID": "openstack", "key": "a", "value": "b"}]}`, want: []string{"resourceManagerTags[1].key: FieldValueInvalid"}},
		"no interface":                     {patch: `{"networkInterfaces": []}`, want: []string{"networkInterfaces: FieldValueRequired"}},
		"two interfaces":                   {patch: `{"networkInterfaces": [{"network": "lock-7x2k9-network"}, {"network": "lock-7x2k9-network"}]}`, want: []string{"networkInterfaces[1]: FieldValueNotSupported"}},
		"an interface that is null":        {patch: `{"networkInterfaces": [null]}`, want: []string{"networkInterfaces[0]: FieldValueInvalid"}},
		"another network":                  {patch: `{"networkInterfaces": [{"network": "other", "subnetwork": "x"}]}`, want: []string{"networkInterfaces[0].network: FieldValueNotSupported"}},
		"no network":                       {patch: `{"networkInterfaces": [{"subnetwork": "x"}]}`, want: []string{"networkInterfaces[0].network: FieldValueRequired"}},
		"the network that Google makes":    {patch: `{"networkInterfaces": [{"network": "default", "subnetwork": "default"}]}`, env: func(e *conversion.Env) { set(&e.InfraCluster, nil, "spec", "network") }},
		"no subnetwork":                    {patch: `{"networkInterfaces": [{"network": "lock-7x2k9-network"}]}`, want: []string{"networkInterfaces[0].subnetwork: FieldValueRequired"}},
		"a network of another project":     {patch: `{"networkInterfaces": [{"network": "lock-7x2k9-network", "subnetwork": "x", "projectID": "host"}]}`, want: []string{"GCPCluster.spec.network.hostProject: FieldValueNotSupported"}},
		"a third project's network":        {patch: `{"networkInterfaces": [{"network": "lock-7x2k9-network", "subnetwork": "x", "projectID": "third"}]}`, env: shared("host"), want: []string{"networkInterfaces[0].projectID: FieldValueNotSupported"}},
		"a shared network":                 {patch: `{"networkInterfaces": [{"network": "lock-7x2k9-network", "subnetwork": "x", "projectID": "host"}]}`, env: shared("host")},
		"a shared network's own namesake":  {patch: `{}`, env: shared("host"), want: []string{"networkInterfaces[0].projectID: FieldValueNotSupported"}},
		"a target pool":                    {patch: `{"targetPools": ["lock-7x2k9-api"]}`, core: conversion.Core{ControlPlane: true}, want: []string{"targetPools: FieldValueNotSupported"}},
		"a Spot instance":                  {patch: `{"provisioningModel": "Spot"}`},
		"a preemptible instance":           {patch: `{"preemptible": true}`},
		"both":                             {patch: `{"preemptible": true, "provisioningModel": "Spot"}`, want: []string{"preemptible: FieldValueInvalid"}},
		"a standard instance, in words":    {patch: `{"provisioningModel": "Standard"}`, want: []string{"provisioningModel: FieldValueInvalid"}},
		"an instance restarted":            {patch: `{"restartPolicy": "Always"}`},
		"an instance never restarted":      {patch: `{"restartPolicy": "Never"}`, want: []string{"restartPolicy: FieldValueNotSupported"}},
		"a Spot instance never restarted":  {patch: `{"provisioningModel": "Spot", "restartPolicy": "Never"}`},
		"a Spot instance restarted":        {patch: `{"provisioningModel": "Spot", "restartPolicy": "Always"}`, want: []string{"restartPolicy: FieldValueInvalid"}},
		"a policy that is none":            {patch: `{"restartPolicy": "OnFailure"}`, want: []string{"restartPolicy: FieldValueInvalid"}},
		"maintenance that is none":         {patch: `{"onHostMaintenance": "TERMINATE"}`, want: []string{"onHostMaintenance: FieldValueInvalid"}},
		"a confidential instance":          {patch: `{"confidentialCompute": "AMDEncryptedVirtualizationNestedPaging", "machineType": "n2d-standard-4", "onHostMaintenance": "Terminate"}`},
		"confidence that is none":          {patch: `{"confidentialCompute": "SEV", "onHostMaintenance": "Terminate"}`, want: []string{"confidentialCompute: FieldValueInvalid"}},
		"a shield without its module":      {patch: `{"shieldedInstanceConfig": {"integrityMonitoring": "Enabled", "virtualizedTrustedPlatformModule": "Disabled"}}`, want: []string{"shieldedInstanceConfig.integrityMonitoring: FieldValueInvalid"}},
		"a shield that is half up":         {patch: `{"shieldedInstanceConfig": {"secureBoot": "enabled"}}`, want: []string{"shieldedInstanceConfig.secureBoot: FieldValueInvalid"}},
		"no disk":                          {patch: `{"disks": []}`, want: []string{"disks: FieldValueRequired"}},
		"no root disk":                     {patch: `{"disks": [{"autoDelete": true, "sizeGb": 20}]}`, want: []string{"disks: FieldValueRequired"}},
		"a disk that is null":              {patch: `{"disks": [` + root + `}, null]}`, want: []string{"disks[1]: FieldValueInvalid"}},
		"two root disks":                   {patch: `{"disks": [` + root + `}, ` + root + `}]}`, want: []string{"disks[1].boot: FieldValueInvalid", "disks[1].image: FieldValueNotSupported"}},
		"a root disk that outlives":        {patch: `{"disks": [{"boot": true, "image": "x"}]}`, want: []string{"disks[0].autoDelete: FieldValueNotSupported"}},
		"a root disk without an image":     {patch: `{"disks": [{"boot": true, "autoDelete": true}]}`, want: []string{"disks[0].image: FieldValueRequired"}},
		"a disk with labels":               {patch: `{"disks": [` + root + `, "labels": {"a": "b"}}]}`, want: []string{"disks[0].labels[a]: FieldValueNotSupported"}},
		"a disk with its instance's":       {patch: `{"labels": {"a": "b", "c": "d"}, "disks": [` + root + `, "labels": {"a": "b", "kubernetes-io-cluster-lock-7x2k9": "owned"}}]}`},
		"another disk with them":           {patch: `{"labels": {"a": "b"}, "disks": [` + root + `}, {"autoDelete": true, "sizeGb": 20, "type": "pd-ssd", "labels": {"a": "b"}}]}`, want: []string{"disks[1].labels[a]: FieldValueNotSupported"}},
		"a second disk, before the root":   {patch: `{"disks": [{"autoDelete": true, "sizeGb": 20}, ` + root + `}]}`},
		"a second disk from an image":      {patch: `{"disks": [` + root + `}, {"autoDelete": true, "sizeGb": 20, "image": "x"}]}`, want: []string{"disks[1].image: FieldValueNotSupported"}},
		"a second disk of no size":         {patch: `{"disks": [` + root + `}, {"autoDelete": true}]}`, want: []string{"disks[1].sizeGb: FieldValueRequired"}},
		"a disk smaller than nothing":      {patch: `{"disks": [{"autoDelete": true, "boot": true, "image": "x", "sizeGb": -1}]}`, want: []string{"disks[0].sizeGb: FieldValueInvalid"}},
		"a type that would not come back":  {patch: `{"disks": [` + root + `}, {"autoDelete": true, "sizeGb": 500, "type": "pd-extreme"}]}`, want: []string{"disks[1].type: FieldValueNotSupported"}},
		"a scratch disk":                   {patch: `{"disks": [` + root + `}, {"autoDelete": true, "sizeGb": 375, "type": "local-ssd"}]}`, want: []string{"disks[1].type: FieldValueNotSupported"}},
		"a key":                            {patch: `{"disks": [` + root + `, ` + key(`}}`) + `}]}`},
		"a key in no key ring":             {patch: `{"disks": [` + root + `, "encryptionKey": {"kmsKey": {"name": "k", "location": "us"}}}]}`, want: []string{"disks[0].encryptionKey.kmsKey.keyRing: FieldValueRequired"}},
		"a key with a path for a name":     {patch: `{"disks": [` + root + `, "encryptionKey": {"kmsKey": {"name": "a/b", "keyRing": "r", "location": "us"}}}]}`, want: []string{"disks[0].encryptionKey.kmsKey.name: FieldValueInvalid"}},
		"a key that is none":               {patch: `{"disks": [` + root + `, "encryptionKey": {}}]}`},
		"a key of an account alone":        {patch: `{"disks": [` + root + `, "encryptionKey": {"kmsKeyServiceAccount": "x@y.iam.gserviceaccount.com"}}]}`, want: []string{"disks[0].encryptionKey.kmsKey: FieldValueRequired"}},
		"a key for the second disk too":    {patch: `{"disks": [` + root + `, ` + key(`}}`) + `}, {"autoDelete": true, "sizeGb": 20, ` + key(`, "projectID": "lock-project"}}`) + `}]}`},
		"another key for the second disk":  {patch: `{"disks": [` + root + `, ` + key(`}}`) + `}, {"autoDelete": true, "sizeGb": 20, ` + key(`, "projectID": "other"}}`) + `}]}`, want: []string{"disks[1].encryptionKey: FieldValueNotSupported"}},
		"a key for the second disk alone":  {patch: `{"disks": [` + root + `}, {"autoDelete": true, "sizeGb": 20, ` + key(`}}`) + `}]}`, want: []string{"disks[1].encryptionKey: FieldValueNotSupported"}},
		"a key in a project with a domain": {patch: `{"disks": [` + root + `, ` + key(`, "projectID": "example.com:p"}}`) + `}]}`, want: []string{"disks[0].encryptionKey.kmsKey.projectID: FieldValueNotSupported"}},

		"another kind":            {patch: `{"kind": "AWSMachineProviderConfig"}`, want: []string{"kind: FieldValueInvalid"}},
		"its former group":        {patch: `{"apiVersion": "gcpprovider.openshift.io/v1beta1"}`},
		"another version":         {patch: `{"apiVersion": "gcpprovider.openshift.io/v1alpha1"}`},
		"two misspelt fields":     {patch: `{"machinetype": "x", "networkInterfaces": [{"network": "lock-7x2k9-network", "subnetwrok": "x"}]}`, want: []string{"machinetype: FieldValueInvalid", "networkInterfaces[0].subnetwork: FieldValueRequired", "networkInterfaces[0].subnetwrok: FieldValueNotSupported"}},
		"a word that is a number": {patch: `{"disks": [{"sizeGb": "128"}]}`, want: []string{"disks[0].sizeGb: FieldValueInvalid"}},
		"everything at once": {patch: `{"deletionProtection": true, "zone": "", "tagz": ["x"], "disks": [], "targetPools": ["x"]}`, want: []string{
			"deletionProtection: FieldValueNotSupported", "disks: FieldValueRequired", "tagz: FieldValueNotSupported", "targetPools: FieldValueNotSupported",
			"zone: FieldValueRequired",
		}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := gcptest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, &c.core, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

func domains(zones ...any) func(*conversion.Env) {
	return func(e *conversion.Env) { set(&e.InfraCluster, zones, "spec", "failureDomains") }
}

func found(zone string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		set(&e.InfraCluster, map[string]any{"controlPlane": true}, "status", "failureDomains", zone)
	}
}

func group(tag string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		set(&e.InfraCluster, tag, "spec", "loadBalancer", "apiServerInstanceGroupTagOverride")
	}
}

func shared(project string) func(*conversion.Env) {
	return func(e *conversion.Env) { set(&e.InfraCluster, project, "spec", "network", "hostProject") }
}

// TestHugeLists: long lists convert, and a list with a limit has an error that names it.
// TestLabelsOfTheInfrastructureThatClusterAPIReplaces: they would be refused in a spec, so the Infrastructure's go neither there nor back.
func TestLabelsOfTheInfrastructureThatClusterAPIReplaces(t *testing.T) {
	env := gcptest.Kit().Env()
	set(&env.Infrastructure, []any{
		map[string]any{"key": "capg-role", "value": "x"}, map[string]any{"key": "team", "value": "locks"},
	}, "status", "platformStatus", "gcp", "resourceLabels")
	p := conversion.NewPass(&env, &conversion.Core{Template: true}, "")
	p.CollectNotes()
	there := conversiontest.ToClusterAPI(p, plain(t)).(*infraSpec)
	if _, wrong := there.AdditionalLabels["capg-role"]; wrong || there.AdditionalLabels["team"] != "locks" || len(p.Notes()) != 1 {
		t.Errorf("there: %v, noted: %v", there.AdditionalLabels, p.Notes())
	}
	raw, err := json.Marshal(there)
	if err != nil {
		t.Fatal(err)
	}
	conversiontest.Same(t, nil, p.Errors())
	p = conversion.NewPass(&env, &conversion.Core{Template: true, FailureDomain: gcptest.Zone, BootstrapSecret: new("worker-user-data")}, "")
	back := conversiontest.ToMachineAPI(p, raw).(*providerSpec)
	if _, wrong := back.Labels["capg-role"]; wrong {
		t.Errorf("back: %v", back.Labels)
	}
	conversiontest.Same(t, nil, p.Errors())
}

// TestTagsOfTheGCPCluster: the patch in each message removes all tags that only the GCPCluster has, so that a second patch adds none of them again.
func TestTagsOfTheGCPCluster(t *testing.T) {
	tag := func(key string) map[string]any {
		return map[string]any{"parentID": "openshift", "key": key, "value": "v"}
	}
	const one, several = "set the same entry in this object, or remove", "set the same entry in this object, or, together with the other such entries, remove"
	for sentence, c := range map[string]struct {
		theirs []any
		left   string
		says   []string
	}{
		"both have it":    {[]any{tag("own")}, "", nil},
		"one":             {[]any{tag("a"), tag("own")}, `[{"key":"own","parentID":"openshift","value":"v"}]`, []string{one}},
		"two":             {[]any{tag("a"), tag("own"), tag("b")}, `[{"key":"own","parentID":"openshift","value":"v"}]`, []string{several, several}},
		"nothing is left": {[]any{tag("a")}, `[]`, []string{one}},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := gcptest.Kit().Env()
			clusterHas("resourceManagerTags", c.theirs)(&env)
			p := conversion.NewPass(&env, &conversion.Core{}, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), `{"resourceManagerTags": [{"parentID": "openshift", "key": "own", "value": "v"}]}`))
			if len(p.Errors()) != len(c.says) {
				t.Fatal(p.Errors())
			}
			for i, e := range p.Errors() {
				if !strings.Contains(e.Detail, c.says[i]) || !strings.HasSuffix(e.Detail, `-p '{"spec":{"resourceManagerTags":`+c.left+`}}'`) {
					t.Error(e.Detail)
				}
			}
		})
	}
}

func TestHugeLists(t *testing.T) {
	tags, pools := make([]map[string]string, 51), make([]string, 10_000)
	for i := range tags {
		tags[i] = map[string]string{"parentID": "openshift", "key": "k" + long(i), "value": "v"}
	}
	for i := range pools {
		pools[i] = long(20)
	}
	raw, err := json.Marshal(map[string]any{"resourceManagerTags": tags, "tags": pools, "targetPools": pools})
	if err != nil {
		t.Fatal(err)
	}
	env := gcptest.Kit().Env()
	p := conversion.NewPass(&env, &conversion.Core{}, "")
	conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), string(raw)))
	conversiontest.Same(t, []string{"resourceManagerTags: FieldValueNotSupported", "targetPools: FieldValueNotSupported"}, p.Errors())
}

// plainInfra is the spec of a GCPMachine that converts.
const plainInfra = `{
	"instanceType": "n2-standard-4", "image": "projects/rhcos-cloud/global/images/rhcos-9", "rootDeviceType": "pd-ssd", "rootDeviceSize": 128,
	"serviceAccounts": {"email": "default", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]},
	"subnet": "lock-7x2k9-worker-subnet", "ipForwarding": "Disabled"
}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	const kms = `"managedKey": {"kmsKeyName": "projects/p/locations/us/keyRings/r/cryptoKeys/k"}`
	cases := map[string]struct {
		patch    string
		template bool
		control  bool
		zone     string
		env      func(*conversion.Env)
		want     []string
	}{
		"nothing out of the way":         {patch: `{}`},
		"no instance type":               {patch: `{"instanceType": ""}`, want: []string{"instanceType: FieldValueRequired"}},
		"no image":                       {patch: `{"image": null}`, want: []string{"image: FieldValueRequired"}},
		"an image by its bare name":      {patch: `{"image": "rhcos"}`, want: []string{"image: FieldValueInvalid"}},
		"a family of images":             {patch: `{"image": null, "imageFamily": "projects/p/global/images/family/f"}`, want: []string{"imageFamily: FieldValueNotSupported"}},
		"no type of the root disk":       {patch: `{"rootDeviceType": null}`, want: []string{"rootDeviceType: FieldValueRequired"}},
		"no size of the root disk":       {patch: `{"rootDeviceSize": null}`},
		"a root disk below nothing":      {patch: `{"rootDeviceSize": -1}`, want: []string{"rootDeviceSize: FieldValueInvalid"}},
		"an additional disk":             {patch: `{"additionalDisks": [{"deviceType": "pd-ssd", "size": 30}]}`},
		"an additional disk of no size":  {patch: `{"additionalDisks": [{"deviceType": "pd-ssd"}]}`, want: []string{"additionalDisks[0].size: FieldValueRequired"}},
		"an additional disk of no type":  {patch: `{"additionalDisks": [{"size": 30}]}`, want: []string{"additionalDisks[0].deviceType: FieldValueRequired"}},
		"a scratch disk":                 {patch: `{"additionalDisks": [{"deviceType": "local-ssd", "size": 375}]}`, want: []string{"additionalDisks[0].deviceType: FieldValueNotSupported"}},
		"a key":                          {patch: `{"rootDiskEncryptionKey": {"keyType": "Managed", ` + kms + `}}`},
		"a version of a key":             {patch: `{"rootDiskEncryptionKey": {"keyType": "Managed", "managedKey": {"kmsKeyName": "projects/p/locations/us/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1"}}}`, want: []string{"rootDiskEncryptionKey.managedKey.kmsKeyName: FieldValueNotSupported"}},
		"a key of one's own":             {patch: `{"rootDiskEncryptionKey": {"keyType": "Supplied", "suppliedKey": {"rawKey": "eA=="}}}`, want: []string{"rootDiskEncryptionKey.keyType: FieldValueNotSupported", "rootDiskEncryptionKey.suppliedKey: FieldValueNotSupported"}},
		"a managed key without a name":   {patch: `{"rootDiskEncryptionKey": {"keyType": "Managed"}}`, want: []string{"rootDiskEncryptionKey.managedKey: FieldValueRequired"}},
		"a key for another disk alone":   {patch: `{"additionalDisks": [{"deviceType": "pd-ssd", "size": 30, "encryptionKey": {"keyType": "Managed", ` + kms + `}}]}`, want: []string{"additionalDisks[0].encryptionKey: FieldValueInvalid"}},
		"no service account":             {patch: `{"serviceAccounts": null}`, want: []string{"serviceAccounts: FieldValueRequired"}},
		"an account that may do nothing": {patch: `{"serviceAccounts": {"scopes": null}}`, want: []string{"serviceAccounts.scopes: FieldValueRequired"}},
		"a public address":               {patch: `{"publicIP": true}`},
		"no public address, explicitly":  {patch: `{"publicIP": false}`},
		"an alias":                       {patch: `{"aliasIPRanges": [{"ipCidrRange": "/24"}]}`, want: []string{"aliasIPRanges: FieldValueNotSupported"}},
		"an empty subnet":                {patch: `{"subnet": ""}`, want: []string{"subnet: FieldValueRequired"}},
		"no subnet":                      {patch: `{"subnet": null}`, want: []string{"subnet: FieldValueRequired"}},
		"a root disk that is too small":  {patch: `{"rootDeviceSize": 10}`, want: []string{"rootDeviceSize: FieldValueNotSupported"}},
		"a disk of another type":         {patch: `{"rootDeviceType": "pd-extreme"}`, want: []string{"rootDeviceType: FieldValueNotSupported"}},
		"a shield without its module":    {patch: `{"shieldedInstanceConfig": {"virtualizedTrustedPlatformModule": "Disabled"}}`, want: []string{"shieldedInstanceConfig.integrityMonitoring: FieldValueInvalid"}},
		"GPUs of the type, that migrate": {patch: `{"instanceType": "a2-highgpu-1g", "onHostMaintenance": "Migrate"}`, want: []string{"onHostMaintenance: FieldValueInvalid"}},
		"forwarding, as by default":      {patch: `{"ipForwarding": null}`},
		"a standard instance":            {patch: `{"provisioningModel": "Standard"}`},
		"a preemptible one, in words":    {patch: `{"provisioningModel": "Standard", "preemptible": true}`, want: []string{"provisioningModel: FieldValueNotSupported"}},
		"Spot and preemptible":           {patch: `{"provisioningModel": "Spot", "preemptible": true}`, want: []string{"preemptible: FieldValueInvalid"}},
		"an empty shield":                {patch: `{"shieldedInstanceConfig": {}}`},
		"a GPU":                          {patch: `{"onHostMaintenance": "Terminate", "guestAccelerators": [{"count": 1, "type": "projects/lock-project/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4"}]}`},
		"a GPU, its maintenance unsaid":  {patch: `{"guestAccelerators": [{"count": 1, "type": "projects/lock-project/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4"}]}`, want: []string{"onHostMaintenance: FieldValueInvalid"}},
		"a GPU of another zone":          {patch: `{"onHostMaintenance": "Terminate", "guestAccelerators": [{"count": 1, "type": "projects/lock-project/zones/us-central1-b/acceleratorTypes/nvidia-tesla-t4"}]}`, want: []string{"guestAccelerators[0].type: FieldValueNotSupported"}},
		"a GPU of a newer type":          {patch: `{"onHostMaintenance": "Terminate", "guestAccelerators": [{"count": 1, "type": "projects/lock-project/zones/us-central1-a/acceleratorTypes/nvidia-l4"}]}`, want: []string{"guestAccelerators[0].type: FieldValueNotSupported"}},
		"GPUs beyond number":             {patch: `{"onHostMaintenance": "Terminate", "guestAccelerators": [{"count": 4294967297, "type": "projects/lock-project/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4"}]}`, want: []string{"guestAccelerators[0].count: FieldValueInvalid"}},

		"a label of the GCPCluster":    {template: true, patch: `{}`, env: clusterHas("additionalLabels", map[string]any{"team": "locks"})},
		"the same, of a control plane": {template: true, control: true, patch: `{}`, env: clusterHas("additionalLabels", map[string]any{"team": "locks"}), want: []string{"additionalLabels[team]: FieldValueNotSupported"}},
		"its own instance":             {patch: `{"providerID": "gce://lock-project/us-central1-a/x"}`},
		"another instance":             {patch: `{"providerID": "gce://lock-project/us-central1-a/y"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"an instance in a template":    {template: true, patch: `{"providerID": "gce://lock-project/us-central1-a/x"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"no zone":                      {zone: "-", patch: `{}`, want: []string{"spec.failureDomain: FieldValueRequired"}},
		"no zone of a template":        {zone: "-", template: true, patch: `{}`, want: []string{"spec.template.spec.failureDomain: FieldValueRequired"}},
		"an instance elsewhere":        {zone: "us-central1-b", patch: `{}`, want: []string{"spec.providerID: FieldValueInvalid"}},
		"a tag that others lack":       {patch: `{}`, env: func(e *conversion.Env) { *e = sharedEnv() }, want: []string{"resourceManagerTags: FieldValueRequired"}},
		"no GCPCluster":                {patch: `{}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{"GCPCluster.spec.network.name: FieldValueRequired"}},
		"a field of a later version":   {patch: `{"later": {"x": 1}}`, want: []string{"later: FieldValueNotSupported"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env, core := gcptest.Kit().Env(), &conversion.Core{FailureDomain: gcptest.Zone, Template: c.template, ControlPlane: c.control}
			if c.env != nil {
				c.env(&env)
			}
			if c.zone != "" {
				core.FailureDomain = strings.Trim(c.zone, "-")
			}
			if !c.template {
				core.ProviderID = gcptest.ProviderID("x")
			}
			p := conversion.NewPass(&env, core, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, []byte(plainInfra), c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

// Both zones are named, and the field to correct is the one of the API that is read.
func TestAnInstanceElsewhereIsNamedWithItsZone(t *testing.T) {
	env := gcptest.Kit().Env()
	p := conversion.NewPass(&env, &conversion.Core{ProviderID: "gce://lock-project/us-central1-b/x"}, "")
	conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), `{}`))
	back := conversion.NewPass(&env, &conversion.Core{FailureDomain: "us-central1-b", ProviderID: gcptest.ProviderID("x")}, "")
	conversiontest.ToMachineAPI(back, conversiontest.Patched(t, []byte(plainInfra), `{}`))
	for _, c := range []struct {
		p    *conversion.Pass
		want string
	}{
		{p, `the instance is in zone "us-central1-b", but according to its spec the machine is in zone "us-central1-a". The controllers would not find the instance, and would create another one. Set zone to "us-central1-b"`},
		{back, `the instance is in zone "us-central1-a", but according to its spec the machine is in zone "us-central1-b". The controllers would not find the instance, and would create another one. Set spec.failureDomain to "us-central1-a"`},
	} {
		if errs := c.p.Errors().ToAggregate(); errs == nil || !strings.Contains(errs.Error(), c.want) {
			t.Errorf("%v, want %s", errs, c.want)
		}
	}
}
