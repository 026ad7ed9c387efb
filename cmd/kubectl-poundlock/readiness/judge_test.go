// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/policies/authority"
)

// set is a MachineSet of AWS that converts, unless a case changes it.
const (
	cluster = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"lock","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`
	set     = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1},
"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{"s":"a"}},"template":{"metadata":{"labels":{"s":"a"}},"spec":{"providerSpec":{"value":
{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","deviceIndex":0,"subnet":{"id":"subnet-1"},"userDataSecret":{"name":"worker-user-data"},"blockDevices":[{"ebs":{"volumeSize":120}}],"placement":{"region":"us-east-1"}}}}}},
"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1,"replicas":2,"conditions":[{"type":"Synchronized","status":"True"},{"type":"Paused","status":"False"},{"type":"AuthoritySettled","status":"True"}]}}`
	awsCluster = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}`
	machine    = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1},"spec":{"authoritativeAPI":"MachineAPI","providerID":"aws:///us-east-1a/i-1","providerSpec":{"value":
{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","deviceIndex":0,"subnet":{"id":"subnet-1"},"userDataSecret":{"name":"worker-user-data"},"blockDevices":[{"ebs":{"volumeSize":120}}],"placement":{"region":"us-east-1"}}}},"status":{"phase":"Running"}}`
	twin = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","metadata":{"name":"a","namespace":"openshift-cluster-api","annotations":{"cluster.x-k8s.io/paused":"true","poundlock.openshift.io/mirror-of":"MachineSet/a"}},
"spec":{"clusterName":"lock","template":{"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachineTemplate","name":"a-1"}}}},"status":{"conditions":[{"type":"Paused","status":"True"}]}}`
)

func judge(t *testing.T, to authority.API, documents ...string) readiness.Finding {
	t.Helper()
	return judgeFrom(t, false, to, documents...)
}

// judgeFrom judges the objects of files, or the same ones in a cluster.
func judgeFrom(t *testing.T, live bool, to authority.API, documents ...string) readiness.Finding {
	t.Helper()
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != 1 {
		t.Fatal(err, f.Problems)
	}
	if live {
		f.Pairs[0].Source = ""
	}
	c := f.Describe(inventory.Cluster{})
	env, unknown := f.Env(c, f.Pairs[0])
	return readiness.Judge(f.Pairs[0], to, env, unknown, f.Lacks(c, env))
}

func TestJudge(t *testing.T) {
	with := func(changes ...string) string { return strings.NewReplacer(changes...).Replace(set) }
	for sentence, c := range map[string]struct {
		documents []string
		live      bool
		to        authority.API
		verdict   readiness.Readiness
		reason    string
		field     string
		back      string
	}{
		"a set in step":                       {documents: []string{set, twin}, verdict: readiness.Ready},
		"one that is there":                   {documents: []string{set, twin}, to: authority.MachineAPI, verdict: readiness.There},
		"one that its mirror does not follow": {documents: []string{with(`"Synchronized","status":"True"`, `"Synchronized","status":"False","reason":"FieldsNotConvertible","message":"no"`), twin}, to: authority.MachineAPI, verdict: readiness.There, reason: "FieldsNotConvertible"},
		"a field that cannot go":              {documents: []string{with(`"deviceIndex":0`, `"deviceIndex":1`), twin}, verdict: readiness.Blocked, reason: "FieldsNotConvertible", field: "spec.template.spec.providerSpec.value.deviceIndex"},
		"a misspelt field":                    {documents: []string{with(`"deviceIndex":0`, `"deviceIdex":0`), twin}, verdict: readiness.Blocked, reason: "FieldsNotConvertible", field: "spec.template.spec.providerSpec.value.deviceIdex"},
		"a file without the twin":             {documents: []string{set}, verdict: readiness.Ready},
		"not mirrored yet, in a cluster":      {documents: []string{set}, live: true, verdict: readiness.Waiting, reason: authority.ReasonTwinMissing},
		"a mirror that is behind":             {documents: []string{with(`"generation":1`, `"generation":2`), twin}, verdict: readiness.Waiting, reason: authority.ReasonCatchingUp},
		"a mirror that was refused":           {documents: []string{with(`"Synchronized","status":"True"`, `"Synchronized","status":"False","reason":"MirrorRefused","message":"no"`), twin}, verdict: readiness.Blocked, reason: "MirrorRefused"},
		"controllers that have not said":      {documents: []string{set, strings.Replace(twin, `"Paused","status":"True"`, `"Paused","status":"False"`, 1)}, verdict: readiness.Waiting, reason: authority.ReasonNotPaused},
		"one that is being deleted":           {documents: []string{with(`"uid":"1"`, `"uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z"`), twin}, verdict: readiness.Blocked, reason: authority.ReasonDeleting},
		"one on the move":                     {documents: []string{with(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`, `"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`), twin}, verdict: readiness.Moving, reason: authority.ReasonNotPaused},
		"one on the move back": {documents: []string{`{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1},
"spec":{"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{"a":"b"}},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"300s"}]},
"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI","conditions":[{"type":"Synchronized","status":"True"}]}}`,
			`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2","generation":1},
"spec":{"clusterName":"lock","selector":{"matchLabels":{"a":"b"}},"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"False","timeoutSeconds":300}]}},
"status":{"conditions":[{"type":"Paused","status":"False"}]}}`}, to: authority.MachineAPI, verdict: readiness.Moving, reason: authority.ReasonPausing},
		"a manifest that converts":        {documents: []string{awsCluster, with(`"uid":"1",`, "", `"status":{"authoritativeAPI":"MachineAPI",`, `"status":{`)}, verdict: readiness.Ready},
		"a Machine with an instance":      {documents: []string{awsCluster, machine}, verdict: readiness.Ready},
		"an instance is being created":    {documents: []string{awsCluster, strings.Replace(machine, `"providerID":"aws:///us-east-1a/i-1",`, "", 1)}, verdict: readiness.Waiting, reason: authority.ReasonInstanceUnknown},
		"of a Machine that is in step":    {documents: []string{awsCluster, strings.NewReplacer(`"providerID":"aws:///us-east-1a/i-1",`, "", `"status":{`, `"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI",`).Replace(machine)}, verdict: readiness.Waiting, reason: authority.ReasonInstanceUnknown},
		"without its AWSCluster":          {documents: []string{with(`"uid":"1",`, "", `"status":{"authoritativeAPI":"MachineAPI",`, `"status":{`)}, verdict: readiness.Unknown, reason: readiness.ReasonUnknown},
		"a cluster without Poundlock":     {documents: []string{awsCluster, with(`"status":{"authoritativeAPI":"MachineAPI",`, `"status":{`)}, verdict: readiness.Ready},
		"only Cluster API has it":         {documents: []string{twin}, verdict: readiness.There},
		"and it is to go back":            {documents: []string{twin}, to: authority.MachineAPI, verdict: readiness.Unknown, reason: readiness.ReasonUnknown},
		"whose template is gone":          {documents: []string{twin}, live: true, to: authority.MachineAPI, verdict: readiness.Blocked, reason: "InfrastructureNotFound"},
		"a label of a Node":               {documents: []string{with(`"spec":{"providerSpec"`, `"spec":{"metadata":{"labels":{"example.com/a":"b"}},"providerSpec"`), twin}, verdict: readiness.Unknown, reason: readiness.ReasonUnknown},
		"which the mirror has converted":  {documents: []string{with(`"spec":{"providerSpec"`, `"spec":{"metadata":{"labels":{"example.com/a":"b"}},"providerSpec"`), twin}, live: true, verdict: readiness.Ready},
		"which it has yet to look at":     {documents: []string{with(`"Synchronized","status":"True"`, `"Synchronized","status":"Unknown"`, `"spec":{"providerSpec"`, `"spec":{"metadata":{"labels":{"example.com/a":"b"}},"providerSpec"`), twin}, live: true, verdict: readiness.Unknown, reason: readiness.ReasonUnread},
		"that the mirror has refused":     {documents: []string{with(`"Synchronized","status":"True"`, `"Synchronized","status":"False","reason":"FieldsNotConvertible"`, `"spec":{"providerSpec"`, `"spec":{"metadata":{"labels":{"example.com/a":"b"}},"providerSpec"`), twin}, verdict: readiness.Blocked, reason: "FieldsNotConvertible", field: "spec.template.spec.metadata.labels[example.com/a]"},
		"a label, and a field that stays": {documents: []string{with(`"spec":{"providerSpec"`, `"spec":{"metadata":{"labels":{"example.com/a":"b"}},"providerSpec"`, `"deviceIndex":0`, `"deviceIndex":1`), twin}, verdict: readiness.Blocked, reason: "FieldsNotConvertible", field: "spec.template.spec.providerSpec.value.deviceIndex"},
		"a platform that cannot":          {documents: []string{strings.ReplaceAll(cluster, "AWS", "BareMetal"), set}, verdict: readiness.Blocked, reason: readiness.ReasonPlatform},
		"a request that has not begun":    {documents: []string{with(`"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`), twin}, to: authority.MachineAPI, verdict: readiness.Ready, back: readiness.PlanTakeBack},
		"and waits for a field":           {documents: []string{with(`"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`, `"deviceIndex":0`, `"deviceIndex":1`), twin}, to: authority.MachineAPI, verdict: readiness.Ready, back: readiness.PlanTakeBack},
		"in mid-move, and asked back":     {documents: []string{with(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`, `"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`, `"deviceIndex":0`, `"deviceIndex":1`), twin}, to: authority.MachineAPI, verdict: readiness.Ready, back: readiness.PlanCancel},
		"one that goes back already":      {documents: []string{with(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`, `"deviceIndex":0`, `"deviceIndex":1`), twin}, to: authority.MachineAPI, verdict: readiness.Moving, reason: authority.ReasonNotPaused},
		"a check without the fields":      {documents: []string{`{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"a","uid":"1"},"spec":{}}`}, verdict: readiness.Blocked, reason: readiness.ReasonNotManaged},
	} {
		t.Run(sentence, func(t *testing.T) {
			to := c.to
			if to == "" {
				to = authority.ClusterAPI
			}
			documents := c.documents
			if !strings.Contains(documents[0], "BareMetal") {
				documents = append([]string{cluster}, documents...)
			}
			got := judgeFrom(t, c.live, to, documents...)
			if got.Readiness != c.verdict || got.Reason != c.reason {
				t.Errorf("%s (%s): %s %v, want %s (%s)", got.Readiness, got.Reason, got.Message, got.Fields, c.verdict, c.reason)
			}
			if got.Back() != c.back {
				t.Errorf("takes back %q, want %q", got.Back(), c.back)
			}
			if c.field != "" && (len(got.Fields) == 0 || got.Fields[0].Path != c.field) {
				t.Errorf("fields %v, want %s", got.Fields, c.field)
			}
		})
	}
}

// Somebody has deleted the provider's machine of a Machine that Cluster API runs. Its move to the Machine API begins where both Machines have the ID, although
// the mirror reports InfrastructureNotFound: it does without that object as soon as the move is asked for.
// TestAnObjectOfClusterAPIAloneNeedsItsCounterpart: a table of answers names it.
func TestAnObjectOfClusterAPIAloneNeedsItsCounterpart(t *testing.T) {
	const check = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-cluster-api"},
"spec":{"clusterName":"lock","selector":{"matchLabels":{"a":"b"}},"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"False","timeoutSeconds":300}]}}}`
	got := judge(t, authority.MachineAPI, cluster, awsCluster, check)
	if got.Readiness != readiness.Unknown || !slices.Equal(got.Needs, []string{"the Machine API MachineHealthCheck"}) {
		t.Errorf("%s: %s, needs %q", got.Readiness, got.Message, got.Needs)
	}
}

func TestAMachineWhoseInfrastructureIsGone(t *testing.T) {
	const (
		lost     = `{"type":"Synchronized","status":"False","reason":"InfrastructureNotFound","message":"AWSMachine a does not exist"}`
		settled  = `{"type":"AuthoritySettled","status":"False","reason":"TwinMissing","message":"The infrastructure object of the Cluster API Machine does not exist."}`
		synced   = `{"type":"Synchronized","status":"True","reason":"Synchronized"}`
		settling = `{"type":"AuthoritySettled","status":"True","reason":"Settled"}`
		mapi     = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1,"labels":{"machine.openshift.io/cluster-api-cluster":"lock"},"annotations":{"poundlock.openshift.io/synchronized-infra-generation":"1"}},
"spec":{"authoritativeAPI":"ClusterAPI","providerID":"aws:///us-east-1a/i-1","providerSpec":{"value":
{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","deviceIndex":0,"subnet":{"id":"subnet-1"},"userDataSecret":{"name":"worker-user-data"},"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"}}}},
"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI","synchronizedGeneration":1,"phase":"Running","conditions":[{"type":"Paused","status":"True"},` + lost + `,
` + settled + `]}}`
		core = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2","generation":1,"finalizers":["machine.cluster.x-k8s.io"],"labels":{"cluster.x-k8s.io/cluster-name":"lock"},"annotations":{"poundlock.openshift.io/mirror-of":"Machine/a"}},
"spec":{"clusterName":"lock","providerID":"aws:///us-east-1a/i-1","bootstrap":{"dataSecretName":"worker-user-data"},"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"a"}},
"status":{"phase":"Running","initialization":{"infrastructureProvisioned":true},"conditions":[{"type":"Paused","status":"False"}]}}`
	)
	without := func(o string) string { return strings.Replace(o, `"providerID":"aws:///us-east-1a/i-1",`, "", 1) }
	for sentence, c := range map[string]struct {
		mapi, core   string
		verdict      readiness.Readiness
		reason       string
		warns, never string
	}{
		"both have the ID": {mapi: mapi, core: core, verdict: readiness.Ready, warns: "Machine API finds the instance by spec.providerID", never: "the move will"},
		"the Machine was edited since": {mapi: mapi, core: strings.Replace(core, `"generation":1`, `"generation":2`, 1), verdict: readiness.Ready,
			warns: "Machine API finds the instance by spec.providerID", never: "the move will"},
		"its mirror has none": {mapi: without(mapi), core: core, verdict: readiness.Blocked, reason: "InfrastructureNotFound",
			warns: "At least one of the two Machines has no spec.providerID, so look in the cloud", never: "create it, or"},
		"the mirror has not reported it yet": {mapi: without(strings.NewReplacer(lost, synced, settled, settling).Replace(mapi)), core: core, verdict: readiness.Blocked,
			reason: "InfrastructureNotFound", warns: "Poundlock does not recreate it while Cluster API is authoritative", never: "create it, or"},
		"the API server refuses the mirror": {mapi: strings.Replace(mapi, "InfrastructureNotFound", "MirrorRefused", 1), core: core, verdict: readiness.Blocked, reason: "MirrorRefused"},
		"its Machine is gone, too": {mapi: strings.Replace(mapi, "InfrastructureNotFound", "AuthoritativeObjectMissing", 1), verdict: readiness.Blocked,
			reason: "AuthoritativeObjectMissing"},
	} {
		t.Run(sentence, func(t *testing.T) {
			documents := []string{cluster, awsCluster, c.mapi}
			if c.core != "" {
				documents = append(documents, c.core)
			}
			got := judgeFrom(t, true, authority.MachineAPI, documents...)
			warned := strings.Join(got.Warnings, "\n")
			if got.Readiness != c.verdict || got.Reason != c.reason || !strings.Contains(warned, c.warns) || c.never != "" && strings.Contains(warned, c.never) {
				t.Errorf("%s (%s): %s %v %q, want %s (%s)", got.Readiness, got.Reason, got.Message, got.Fields, got.Warnings, c.verdict, c.reason)
			}
			if len(topics.Topics().Find(got.Reason)) == 0 && got.Reason != "" {
				t.Errorf("explain does not know %s", got.Reason)
			}
		})
	}
}

// The object that a provider keeps for an instance prevents the Machine's move as in the handoff, with the webhook's message.
func TestWhatIsKeptForAnInstance(t *testing.T) {
	const (
		vsphere = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"lock","platformStatus":{"type":"VSphere","vsphere":{}}}}`
		machine = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1,"finalizers":["machine.machine.openshift.io"]},
"spec":{"authoritativeAPI":"MachineAPI","providerID":"vsphere://42-a","providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"VSphereMachineProviderSpec","credentialsSecret":{"name":"vsphere-cloud-credentials"},"diskGiB":120,"memoryMiB":16384,"numCPUs":4,"numCoresPerSocket":4,
"network":{"devices":[{"networkName":"VM Network"}]},"template":"rhcos","userDataSecret":{"name":"worker-user-data"},"workspace":{"datacenter":"dc1","datastore":"/dc1/datastore/ds1","folder":"/dc1/vm/lock","resourcePool":"/dc1/host/cluster1//Resources","server":"vcenter.example.com"}}}},
"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1,"phase":"Running","conditions":[{"type":"Synchronized","status":"True"},{"type":"Paused","status":"False"},{"type":"AuthoritySettled","status":"True"}]}}`
		mark   = `"annotations":{"cluster.x-k8s.io/paused":"true","poundlock.openshift.io/mirror-of":"Machine/a"}`
		paused = `"conditions":[{"type":"Paused","status":"True"}]`
		core   = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2","finalizers":["machine.cluster.x-k8s.io"],` + mark + `},
"spec":{"clusterName":"lock","providerID":"vsphere://42-a","infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"VSphereMachine","name":"a"}},"status":{` + paused + `}}`
		infra = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"VSphereMachine","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"3","finalizers":["vspheremachine.infrastructure.cluster.x-k8s.io"],` + mark + `},
"spec":{"providerID":"vsphere://42-a"},"status":{"ready":true,` + paused + `}}`
		vm = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"VSphereVM","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"4","annotations":{"cluster.x-k8s.io/paused":"true"},
"ownerReferences":[{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"VSphereMachine","name":"a","uid":"3"}]},"spec":{"biosUUID":"42-a"},"status":{` + paused + `}}`
	)
	with := func(changes ...string) string { return strings.NewReplacer(changes...).Replace(vm) }
	for sentence, c := range map[string]struct {
		vm       string
		file     bool
		failed   bool
		unread   string
		verdict  readiness.Readiness
		reason   string
		warned   string
		contains string
	}{
		"it is there, and paused": {vm: vm, verdict: readiness.Ready},
		"it names another virtual machine": {vm: with("42-a", "42-b"), verdict: readiness.Blocked, reason: authority.ReasonInstanceUnknown, warned: "names another instance (spec.biosUUID)", contains: "Delete " +
			"the object, and Poundlock recreates it: kubectl -n openshift-cluster-api delete vspherevm.infrastructure.cluster.x-k8s.io a"},
		"it is not paused":                  {vm: with(`"cluster.x-k8s.io/paused":"true"`, ``), verdict: readiness.Waiting, reason: authority.ReasonPausing},
		"it has not acknowledged its pause": {vm: with(paused, `"conditions":[]`), verdict: readiness.Waiting, reason: authority.ReasonNotPaused},
		"the Machine has failed": {vm: vm, failed: true, verdict: readiness.Blocked, reason: authority.ReasonNotProvisioned,
			warned: "which never changes", contains: "which never changes. Delete the Machine with its instance, and create another."},
		"it is not there yet":                  {verdict: readiness.Waiting, reason: authority.ReasonCatchingUp},
		"the file does not have it":            {file: true, verdict: readiness.Ready},
		"it belongs to a machine that is gone": {vm: with(`"uid":"3"`, `"uid":"0"`), verdict: readiness.Waiting, reason: authority.ReasonCatchingUp},
		"its kind is defined, and not served":  {unread: "The API server does not serve VSphereVM", verdict: readiness.Blocked, reason: readiness.ReasonNotServed},
	} {
		t.Run(sentence, func(t *testing.T) {
			documents := []string{vsphere, machine, core, infra}
			if c.failed {
				documents[1], documents[3] = strings.Replace(machine, "Running", "Failed", 1), strings.Replace(infra, `"ready":true`, `"ready":false`, 1)
			}
			if c.vm != "" {
				documents = append(documents, c.vm)
			}
			f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
			if err != nil || len(f.Pairs) != 1 {
				t.Fatal(err, f.Problems)
			}
			p := f.Pairs[0]
			if !c.file {
				p.Source, p.InstancesUnknown, p.NotServed = "", false, c.unread
			}
			env, unknown := f.Env(f.Describe(inventory.Cluster{}), p)
			got := readiness.Judge(p, authority.ClusterAPI, env, unknown, f.Lacks(f.Describe(inventory.Cluster{}), env))
			if got.Readiness != c.verdict || got.Reason != c.reason || !strings.Contains(strings.Join(got.Warnings, " "), c.warned) ||
				!strings.Contains(got.Message, c.contains) {
				t.Errorf("%s (%s): %s %v %q, want %s (%s)", got.Readiness, got.Reason, got.Message, got.Fields, got.Warnings, c.verdict, c.reason)
			}
		})
	}
}

// A user with rights in the two namespaces alone may not read the Infrastructure. The mirror could, and what it has converted is no question any more.
func TestWhatIsMirroredIsNoQuestionWithoutTheInfrastructure(t *testing.T) {
	odd := strings.Replace(set, `"deviceIndex":0`, `"deviceIndex":1`, 1)
	for want, documents := range map[readiness.Readiness][]string{readiness.Ready: {awsCluster, odd, twin}, readiness.Blocked: {cluster, awsCluster, odd, twin}} {
		if got := judgeFrom(t, true, authority.ClusterAPI, documents...); got.Readiness != want {
			t.Errorf("%d documents: %s (%s) %s %v, want %s", len(documents), got.Readiness, got.Reason, got.Message, got.Fields, want)
		}
	}
}

// Each answer has the webhook's warnings.
func TestTheWarningsAreTheWebhooks(t *testing.T) {
	got := judge(t, authority.ClusterAPI, cluster, set, twin)
	if len(got.Warnings) != 2 || !strings.HasSuffix(got.Warnings[1], "[authority/request-warning]") || !strings.Contains(got.Warnings[1], "For each existing "+
		"Machine") {
		t.Errorf("%q", got.Warnings)
	}
}

func TestNeighbours(t *testing.T) {
	with := func(changes ...string) string { return strings.NewReplacer(changes...).Replace(set) }
	moved := []string{`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"ClusterAPI"`, `"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`}
	for sentence, c := range map[string]struct {
		set   string
		to    authority.API
		names bool
	}{
		"before a move":                           {set, authority.ClusterAPI, true},
		"what stays with Machine API":             {set, authority.MachineAPI, false},
		"in mid-move":                             {with(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`, moved[2], moved[3]), authority.ClusterAPI, true},
		"in mid-move, asked about the way back":   {with(`"status":{"authoritativeAPI":"MachineAPI"`, `"status":{"authoritativeAPI":"Migrating"`), authority.MachineAPI, true},
		"once it is there":                        {with(moved...), authority.ClusterAPI, true},
		"once it is there, before a move back":    {with(moved...), authority.MachineAPI, true},
		"a cluster whose platform cannot convert": {strings.ReplaceAll(cluster, "AWS", "BareMetal") + "\n---\n" + set, authority.ClusterAPI, true},
	} {
		f := judge(t, c.to, c.set, twin)
		if names := len(f.Neighbours) == 1 && f.Neighbours[0].Who == "machine-config-operator"; names != c.names {
			t.Errorf("%s (%s): %+v", sentence, f.Readiness, f.Neighbours)
		}
	}
}

// The plugin compares what both sets count, as the handoff and the webhook do.
func TestASetWhoseMachineHasNoMirror(t *testing.T) {
	whole := strings.NewReplacer(`"annotations":{"cluster`, `"uid":"2","annotations":{"cluster`, `"spec":{"clusterName"`,
		`"spec":{"selector":{"matchLabels":{"s":"a"}},"clusterName"`).Replace(twin)
	machine := func(group, namespace, owner string) string {
		return `{"apiVersion":"` + group + `","kind":"Machine","metadata":{"name":"a-x","namespace":"` + namespace + `","uid":"m` + owner + `","labels":{"s":"a"},` +
			`"ownerReferences":[{"apiVersion":"` + group + `","kind":"MachineSet","name":"a","uid":"` + owner + `","controller":true}]},"spec":{}}`
	}
	here, there := machine("machine.openshift.io/v1beta1", "openshift-machine-api", "1"), machine("cluster.x-k8s.io/v1beta2", "openshift-cluster-api", "2")
	for want, documents := range map[readiness.Readiness][]string{readiness.Waiting: {set, whole, here}, readiness.Ready: {set, whole, here, there}, readiness.Blocked: {set, whole, there}} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 2 {
			t.Fatal(err, f.Problems)
		}
		env, unknown := f.Env(f.Describe(inventory.Cluster{}), f.Pairs[0])
		got := readiness.Judge(f.Pairs[0], authority.ClusterAPI, env, unknown, nil)
		if got.Readiness != want {
			t.Errorf("%d documents: %s (%s: %s), want %s", len(documents), got.Readiness, got.Reason, got.Message, want)
		}
		if want == readiness.Waiting && (got.Reason != authority.ReasonUncounted || !strings.Contains(got.Message, "Machine a-x: it has no Cluster API object")) {
			t.Errorf("%s: %s", got.Reason, got.Message)
		}
		if want == readiness.Blocked && (got.Reason != authority.ReasonUncounted || strings.Contains(got.Message, "does not convert") ||
			!strings.Contains(got.Message, "kubectl -n openshift-cluster-api delete machines.cluster.x-k8s.io a-x")) {
			t.Errorf("%s: %s", got.Reason, got.Message)
		}
	}
}

// Cluster API ignores the objects of a paused Cluster. They can move all the same.
func TestAPausedCluster(t *testing.T) {
	const back = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","generation":1},
"spec":{"authoritativeAPI":"ClusterAPI","selector":{"matchLabels":{"a":"b"}},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"300s"}]},
"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI","synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"True"},{"type":"Paused","status":"True"}]}}`
	const acts = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineHealthCheck","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2","generation":1},
"spec":{"clusterName":"lock","selector":{"matchLabels":{"a":"b"}},"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"False","timeoutSeconds":300}]}},
"status":{"conditions":[{"type":"Paused","status":"False"}]}}`
	const paused = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{"paused":true}}`
	for sentence, c := range map[string]struct {
		documents []string
		to        authority.API
		warns     bool
		verdict   readiness.Readiness
	}{
		"of the twin":               {documents: []string{set, twin, paused}, warns: true},
		"of another name":           {documents: []string{set, twin, strings.Replace(paused, `"name":"lock"`, `"name":"key"`, 1)}},
		"that is not paused":        {documents: []string{set, twin, strings.Replace(paused, "true", "false", 1)}},
		"and nothing moves":         {documents: []string{set, twin, paused}, to: authority.MachineAPI},
		"that was not shown":        {documents: []string{set, twin}},
		"on the way back":           {documents: []string{strings.ReplaceAll(set, `"authoritativeAPI":"MachineAPI"`, `"authoritativeAPI":"ClusterAPI"`), twin, paused}, to: authority.MachineAPI, warns: true},
		"right after it was paused": {documents: []string{cluster, back, acts, paused}, to: authority.MachineAPI, warns: true, verdict: readiness.Blocked},
		"before that":               {documents: []string{cluster, back, acts, strings.Replace(paused, "true", "false", 1)}, to: authority.MachineAPI, verdict: readiness.Ready},
	} {
		f := judge(t, cmp.Or(c.to, authority.ClusterAPI), c.documents...)
		if f.Readiness != cmp.Or(c.verdict, f.Readiness) {
			t.Errorf("%s: %s (%s)", sentence, f.Readiness, f.Message)
		}
		if strings.Contains(f.PausedCluster, "Cluster lock in openshift-cluster-api is paused (spec.paused)") != c.warns ||
			strings.Contains(strings.Join(f.Warnings, " "), "spec.paused of Cluster lock is true") != c.warns {
			t.Errorf("%s: %q, %q", sentence, f.PausedCluster, f.Warnings)
		}
	}
}
