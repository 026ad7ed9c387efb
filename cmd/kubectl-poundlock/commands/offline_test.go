// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/commands"
)

// run runs a command without a cluster.
func run(t *testing.T, stdin string, args ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code, text := cli.Code(commands.Execute(t.Context(), cli.Options{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &o, ErrOut: &e},
		Env:       func(string) string { return "" }, Now: time.Now,
	}, args))
	return o.String(), e.String() + text, code
}

// An unusual MachineSet: flow style, an odd order, and two fields that do not convert.
const odd = `
kind: MachineSet
spec: {template: {spec: {providerSpec: {value: {kind: AWSMachineProviderConfig, deviceIndex: 2, spotMarketOptions: {}, apiVersion: machine.openshift.io/v1beta1,
  instanceType: t3.large, ami: {filters: [{name: x}]}, userDataSecret: {name: u}, blockDevices: [{ebs: {volumeSize: 30}}]}}},
  metadata: {labels: {machine.openshift.io/cluster-api-cluster: zoo}}}, selector: {matchLabels: {a: b}}}
metadata: {name: odd}
apiVersion: machine.openshift.io/v1beta1
`

const controlPlaneSet = "{apiVersion: machine.openshift.io/v1, kind: ControlPlaneMachineSet, metadata: {name: cluster}, spec: {}}\n"

const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"

// many has objects of seven kinds, two of the last.
func many() string {
	var out strings.Builder
	for _, kind := range strings.Split("ABCDEFGG", "") {
		out.WriteString("{apiVersion: v1, kind: " + kind + ", metadata: {name: x}}\n---\n")
	}
	return out.String()
}

// zoo is the rest of the cluster of odd.
const zoo = `{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}, spec: {platformSpec: {type: AWS}},
  status: {infrastructureName: zoo, platformStatus: {type: AWS, aws: {region: us-east-1}}}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, metadata: {name: zoo, namespace: openshift-cluster-api},
  spec: {region: us-east-1, network: {subnets: [{id: subnet-1, availabilityZone: us-east-1a}]}}}
---
`

func TestExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	good := strings.NewReplacer("deviceIndex: 2, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}").Replace(odd)
	tainted := strings.Replace(good, "spec: {providerSpec", "spec: {taints: [{key: a, effect: NoSchedule}], providerSpec", 1)
	const (
		gcp        = "../../../conversion/platforms/testdata/corpus/gcp/worker-4.17.yaml"
		gcpCluster = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"GCPCluster","metadata":{"name":"prod-x7k2p","namespace":"openshift-cluster-api"},` +
			`"spec":{"project":"my-project","region":"us-central1","network":{"name":"prod-x7k2p-network"}}}`
	)
	const azure = "../../../conversion/platforms/testdata/corpus/azure/worker-4.21.yaml"
	const powervs = "../../../conversion/platforms/testdata/corpus/powervs/worker.yaml"
	for sentence, c := range map[string]struct {
		args     []string
		stdin    string
		want     int
		contains string
	}{
		"help":                              {args: []string{"--help"}, contains: "Exit codes:"},
		"an unknown command":                {args: []string{"chek"}, want: 2, contains: "check"},
		"and a flag of its own":             {args: []string{"chek", "--to", "x"}, want: 2, contains: `unknown command "chek"`},
		"an unknown command of the set's":   {args: []string{"controlplane", "plna"}, want: 2, contains: "Did you mean this?\n\tplan"},
		"an unknown one of private types":   {args: []string{"private-types", "instal"}, want: 2, contains: "Did you mean this?\n\tinstall"},
		"two views of providers":            {args: []string{"providers", "--render", "--diff"}, want: 2, contains: "exclude each other"},
		"a platform that needs no flag":     {args: []string{"providers", "--enable-platform", "AWS"}, want: 2, contains: "Nutanix"},
		"a misspelt flag":                   {args: []string{"migrate", "machineset/a", "--with-machine", "--to", "clusterapi"}, want: 2, contains: "did you mean --with-machines?"},
		"an unknown flag":                   {args: []string{"check", "--bogus"}, want: 2, contains: "--bogus"},
		"a flag without its value":          {args: []string{"check", "--to"}, want: 2, contains: "--to"},
		"an argument too few":               {args: []string{"explain"}, want: 2, contains: "0 arguments: give one thing to explain, in quotes if it has spaces, such as: kubectl poundlock explain authority/spec-locked"},
		"an argument too many":              {args: []string{"version", "now"}, want: 2, contains: "now"},
		"an unknown direction":              {args: []string{"check", "-f", "-", "--to", "moon"}, want: 2, contains: "clusterapi or machineapi"},
		"an unknown output":                 {args: []string{"check", "-f", "-", "-o", "xml"}, want: 2, contains: "table, wide, json, yaml, name"},
		"a name and a selector":             {args: []string{"check", "-f", "-", "machineset/odd", "-l", "a=b"}, stdin: good, want: 2, contains: "give either -l or the name"},
		"a set of the control plane":        {args: []string{"migrate", "controlplanemachineset/cluster", "--to", "clusterapi"}, want: 2, contains: "To move it, change its spec.authoritativeAPI"},
		"a bad selector":                    {args: []string{"check", "-f", "-", "-l", "a=("}, want: 2, contains: "--selector"},
		"an unknown kind":                   {args: []string{"check", "-f", "-", "pod/x"}, want: 2, contains: "machineset"},
		"a namespace of no pair":            {args: []string{"check", "-f", "-", "-n", "default"}, want: 2, contains: "--namespaces"},
		"check finds something":             {args: []string{"check", "-f", "-"}, stdin: odd, contains: "deviceIndex [2]"},
		"and is to fail on it":              {args: []string{"check", "-f", "-", "--fail-on", "blocked"}, stdin: odd, want: 3},
		"by its reason":                     {args: []string{"check", "-f", "-", "--fail-on", "fieldsnotconvertible"}, stdin: odd, want: 3},
		"on an unset variable":              {args: []string{"check", "-f", "-", "--fail-on="}, stdin: good, want: 2, contains: "--fail-on is empty"},
		"on what no object can have":        {args: []string{"check", "-f", "-", "--fail-on", "blockd"}, stdin: odd, want: 2, contains: "Did you mean blocked?"},
		"on a reason that is misspelt":      {args: []string{"check", "-f", "-", "--fail-on", "waiting,FieldNotConvertible"}, stdin: odd, want: 2, contains: "FieldsNotConvertible"},
		"on a reason of a condition":        {args: []string{"check", "-f", "-", "--fail-on", "instanceunknown"}, stdin: odd},
		"names for kubectl":                 {args: []string{"check", "-f", "-", "-o", "name"}, stdin: zoo + good, contains: "machineset.machine.openshift.io/odd\n"},
		"but not on what is not there":      {args: []string{"check", "-f", "-", "--fail-on", "blocked"}, stdin: good},
		"check of what cannot be read":      {args: []string{"check", "-f", "-"}, stdin: "{", want: 1, contains: "document 1"},
		"check of a file that is not there": {args: []string{"check", "-f", "/nonexistent"}, want: 1, contains: "/nonexistent"},
		"an object that is not there":       {args: []string{"check", "-f", "-", "machine/x"}, stdin: good, want: 1, contains: "\"x\""},
		"convert":                           {args: []string{"convert", "-f", "-"}, stdin: good, contains: "kind: AWSMachineTemplate"},
		"convert of what cannot go":         {args: []string{"convert", "-f", "-"}, stdin: odd, want: 3, contains: "ami.filters"},
		"check of a control plane's set":    {args: []string{"check", "-f", "-"}, stdin: controlPlaneSet, want: 1, contains: "-f -: contains 1 ControlPlaneMachineSet. check reads Machines, MachineSets and MachineHealthChecks of either API: give a file that contains such an object. ControlPlaneMachineSet cluster was not checked"},
		"beside a set of workers":           {args: []string{"check", "-f", "-", "-o", "json"}, stdin: controlPlaneSet + "---" + good, contains: "ControlPlaneMachineSet cluster was not checked"},
		"convert of a control plane's set":  {args: []string{"convert", "-f", "-"}, stdin: controlPlaneSet, want: 1, contains: "ControlPlaneMachineSet cluster was not checked"},
		"convert of nothing":                {args: []string{"convert", "-f", "-"}, want: 1, contains: "-f -: contains no object. convert reads Machines, MachineSets and MachineHealthChecks"},
		"check of nothing":                  {args: []string{"check", "-f", "-"}, want: 1, contains: "-f -: contains no object. check reads"},
		"check of nothing, for a program":   {args: []string{"check", "-f", "-", "-o", "json"}, want: 1, contains: "-f -: contains no object. check reads"},
		"check of others' objects":          {args: []string{"check", "-f", "-"}, stdin: configMap + "---\n" + configMap + "---\n" + zoo, want: 1, contains: "-f -: contains 2 ConfigMaps, 1 AWSCluster, 1 Infrastructure. check reads"},
		"convert of others' objects":        {args: []string{"convert", "-f", "-"}, stdin: configMap, want: 1, contains: "-f -: contains 1 ConfigMap. convert reads"},
		"diff of others' objects":           {args: []string{"diff", "-f", "-", "machineset/odd"}, stdin: configMap, want: 1, contains: "-f -: contains 1 ConfigMap. diff reads"},
		"a Machine of somebody else's":      {args: []string{"check", "-f", "-"}, stdin: "{apiVersion: machine.sapcloud.io/v1alpha1, kind: Machine, metadata: {name: x}}", want: 1, contains: "contains 1 Machine.machine.sapcloud.io. check"},
		"objects of many kinds":             {args: []string{"check", "-f", "-"}, stdin: many(), want: 1, contains: "contains 2 Gs, 1 A, 1 B, 1 C, 1 D, 2 other kinds. check"},
		"others' objects beside ours":       {args: []string{"check", "-f", "-"}, stdin: configMap + "---\n" + zoo + good, contains: "yes"},
		"a kind of which there is none":     {args: []string{"check", "-f", "-", "machines"}, stdin: zoo + good, contains: "No Machine was found."},
		"check of what needs the cluster":   {args: []string{"check", "-f", azure, "--fail-on", "blocked,waiting"}, contains: "needs the AzureCluster prod-x7k2p"},
		"and how it is given":               {args: []string{"check", "-f", powervs, "-o", "json"}, contains: "to decide whether these fields convert: serviceInstance.name. Run the command against the cluster, or add with -f the output of: kubectl get ibmpowervsclusters.infrastructure.cluster.x-k8s.io prod-x7k2p -n openshift-cluster-api -o yaml"},
		"check without the AWSCluster":      {args: []string{"check", "-f", "-", "--fail-on", "blocked,waiting"}, stdin: good, contains: "needs the AWSCluster zoo and the Infrastructure"},
		"and convert, which has an answer":  {args: []string{"convert", "-f", "-"}, stdin: good, contains: "note: a certain answer needs the AWSCluster zoo and the Infrastructure"},
		"a set that names no platform":      {args: []string{"check", "-f", "-", "--fail-on", "blocked"}, stdin: strings.Replace(good, "kind: AWSMachineProviderConfig, ", "", 1), contains: "needs the Infrastructure"},
		"which convert cannot tell":         {args: []string{"convert", "-f", "-"}, stdin: strings.Replace(good, "kind: AWSMachineProviderConfig, ", "", 1), want: 1, contains: "needs the Infrastructure"},
		"convert of what may not move":      {args: []string{"convert", "-f", "-"}, stdin: zoo + strings.Replace(good, "{name: odd", "{annotations: {metal3.io/autoscale-to-hosts: ''}, name: odd", 1), contains: "note: machineset/odd converts, but cannot move to Cluster API: metadata.annotations[metal3.io/autoscale-to-hosts]"},
		"files of two clusters":             {args: []string{"check", "-f", "-"}, stdin: zoo + strings.ReplaceAll(zoo, "zoo", "other") + good, want: 1, contains: "give the files of only one cluster"},
		"the same cluster twice":            {args: []string{"check", "-f", "-"}, stdin: zoo + zoo + good, contains: "yes"},
		"a set of another platform":         {args: []string{"check", "-f", "-", "-f", azure}, stdin: zoo, contains: "must be AWSMachineProviderConfig, because the cluster's platform is AWS"},
		"which does not even fit its type":  {args: []string{"check", "-f", "-", "-f", strings.Replace(azure, "azure/worker-4.21", "gcp/worker-4.17", 1)}, stdin: strings.NewReplacer("zoo", "prod-x7k2p", "type: AWS", "type: Azure").Replace(zoo), contains: "kind [1]"},
		"what flags give no more of":        {args: []string{"check", "-f", gcp, "-f", "-", "--platform", "gcp", "--cluster-name", "prod-x7k2p", "--region", "us-central1"}, stdin: gcpCluster, contains: "the field status.platformStatus.gcp"},
		"check of a set of Google Cloud":    {args: []string{"check", "-f", gcp}, contains: "needs the GCPCluster prod-x7k2p and the Infrastructure"},
		"convert of it asks for the same":   {args: []string{"convert", "-f", gcp}, want: 1, contains: "needs the GCPCluster prod-x7k2p and the Infrastructure"},
		"a flag that a file contradicts":    {args: []string{"check", "-f", "-", "--platform", "gcp"}, stdin: zoo + good, contains: "--platform GCP is ignored, because the Infrastructure object has \"AWS\"."},
		"a file of no name":                 {args: []string{"check", "-f", ""}, want: 2, contains: "-f is empty"},
		"taints, and no gate":               {args: []string{"check", "-f", "-", "--fail-on", "blocked"}, stdin: zoo + tainted, contains: "needs --feature-gates of Cluster API's manager"},
		"taints, with the gate on":          {args: []string{"check", "-f", "-", "-o", "name", "--feature-gates", "MachineTaintPropagation=true"}, stdin: zoo + tainted, contains: "odd"},
		"taints, with the gate off":         {args: []string{"check", "-f", "-", "--fail-on", "blocked", "--feature-gates", "ClusterTopology=true"}, stdin: zoo + tainted, want: 3, contains: "taints"},
		"a gate that is none":               {args: []string{"check", "-f", "-", "--feature-gates", "MachineTaintPropagation"}, want: 2, contains: "give Name=true or Name=false"},
		"and is to fail on that":            {args: []string{"check", "-f", azure, "--fail-on", "unknown"}, want: 3},
		"convert of what needs the cluster": {args: []string{"convert", "-f", azure}, want: 1, contains: "converts to Cluster API: a certain answer needs the AzureCluster prod-x7k2p"},
		"convert of what a manifest asks":   {args: []string{"convert", "-f", "-"}, stdin: strings.Replace(odd, "spec: {", "spec: {authoritativeAPI: ClusterAPI, ", 1), want: 3, contains: "cannot be converted to Cluster API"},
		"convert of one of two":             {args: []string{"convert", "-f", azure, "-f", "-", "machineset/odd"}, stdin: good, contains: "name: odd"},
		"convert without files":             {args: []string{"convert"}, want: 2, contains: "-f"},
		"explain":                           {args: []string{"explain", "deviceIndex"}, contains: "index 0"},
		"explain of a provider's reason":    {args: []string{"explain", "InstanceTerminated"}, contains: "terminated the Machine's instance in the cloud"},
		"explain of nothing":                {args: []string{"explain", "nonsens"}, want: 1, contains: "there is no explanation"},
		"migrate without a direction":       {args: []string{"migrate", "machineset/a"}, want: 2, contains: "--to"},
		"migrate for programs that asks":    {args: []string{"migrate", "machineset/a", "--to", "clusterapi", "-o", "json"}, want: 2, contains: "--yes"},
		"migrate and cancel at once":        {args: []string{"migrate", "machineset/a", "--to", "clusterapi", "--cancel"}, want: 2, contains: "--cancel"},
		"migrate with half a dry run":       {args: []string{"migrate", "machines", "--dry-run", "--to", "clusterapi"}, want: 2, contains: "--to is none of these: give --dry-run=client"},
		"migrate with an odd dry run":       {args: []string{"migrate", "machineset/a", "--to", "clusterapi", "--dry-run", "x"}, want: 2, contains: "--dry-run"},
		"diff of a kind":                    {args: []string{"diff", "machinesets"}, want: 2, contains: "KIND/NAME"},
		"diff of what does not convert":     {args: []string{"diff", "machineset/odd", "-f", "-"}, stdin: zoo + odd, want: 1, contains: "value.deviceIndex: Cluster API always attaches"},
		"diff of what has one side":         {args: []string{"diff", "machineset/odd", "-f", "-"}, stdin: good, want: 1, contains: "the object exists only in Machine API"},
		"a field of each object":            {args: []string{"check", "-f", "-", "-o", `jsonpath={.apiVersion} {.objects[*].verdict}`}, stdin: zoo + good, contains: "cli.poundlock.openshift.io/v1 ready"},
		"columns of each object":            {args: []string{"check", "-f", "-", "-o", "custom-columns=ANSWER:.verdict", "--no-headers"}, stdin: zoo + good, contains: "ready\n"},
		"a template":                        {args: []string{"explain", "deviceIndex", "-o", "go-template={{.kind}}"}, contains: "TopicList"},
		"a template that is none":           {args: []string{"check", "-f", "-", "-o", "jsonpath={.x"}, stdin: good, want: 2, contains: "unclosed"},
		"sorted by no field":                {args: []string{"check", "-f", azure, "-f", "-", "--sort-by", ".nonesuch"}, stdin: odd, want: 2, contains: "--sort-by"},
		"no headings":                       {args: []string{"check", "-f", "-", "--no-headers"}, stdin: good, contains: "today?\n\nmachineset/odd"},
		"the version, without a cluster":    {args: []string{"version", "--client", "-o", "yaml"}, contains: "kind: Version"},
		"the version of no cluster":         {args: []string{"version"}, want: 1, contains: "no cluster is configured"},
		"a template of what is converted":   {args: []string{"convert", "-f", "-", "-o", "jsonpath={.kind} {.items[*].kind}"}, stdin: good, contains: "List MachineSet AWSMachineTemplate"},
		"columns of what is converted":      {args: []string{"convert", "-f", "-", "-o", "custom-columns=K:.kind"}, stdin: good, contains: "K\nMachineSet\nAWSMachineTemplate\n"},
		"columns of what is explained":      {args: []string{"explain", "WaitingForPause", "-o", "custom-columns=N:.name"}, contains: "N\nWaitingForPause\n"},
		"a misspelt kind among names":       {args: []string{"status", "-f", "-"}, stdin: "machinset/worker-a\n", want: 2, contains: "Did you mean machineset?"},
		"migrate in less than no time":      {args: []string{"migrate", "machineset/a", "--to", "clusterapi", "--timeout", "-1s"}, want: 2, contains: "--timeout -1s"},
		"names that are none":               {args: []string{"status", "-f", "-"}, want: 1, contains: "-f - contains no name of a Machine"},
		"migrate of nothing":                {args: []string{"migrate", "--to", "clusterapi"}, want: 2, contains: "-f with names"},
		"no kubeconfig":                     {args: []string{"status"}, want: 1, contains: "no cluster is configured"},
		"a cluster that cannot be reached":  {args: []string{"status", "--server", "https://127.0.0.1:1"}, want: 1, contains: "127.0.0.1:1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			out, errOut, code := run(t, c.stdin, c.args...)
			if code != c.want || !strings.Contains(out+errOut, c.contains) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, c.want, c.contains, out, errOut)
			}
		})
	}
}

// What convert writes converts back to the same content.
func TestConvertThereAndBack(t *testing.T) {
	good := strings.NewReplacer("deviceIndex: 2, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}").Replace(odd)
	there, text, code := run(t, good, "convert", "-f", "-")
	if code != 0 {
		t.Fatal(text)
	}
	if !strings.Contains(there, "# from providerSpec") {
		t.Errorf("no comment says where a field came from:\n%s", there)
	}
	back, text, code := run(t, there, "convert", "-f", "-", "-o", "json")
	if code != 0 {
		t.Fatal(text)
	}
	var list struct {
		Items []struct {
			Spec struct {
				AuthoritativeAPI string `json:"authoritativeAPI"`
				Template         struct {
					Spec struct {
						AuthoritativeAPI string `json:"authoritativeAPI"`
						ProviderSpec     struct {
							Value map[string]any `json:"value"`
						} `json:"providerSpec"`
					} `json:"spec"`
				} `json:"template"`
			} `json:"spec"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(back), &list); err != nil || len(list.Items) != 1 {
		t.Fatal(err, back)
	}
	value := list.Items[0].Spec.Template.Spec.ProviderSpec.Value
	if value["instanceType"] != "t3.large" || value["spotMarketOptions"] == nil {
		t.Errorf("%v", value)
	}
	if set, template := list.Items[0].Spec.AuthoritativeAPI, list.Items[0].Spec.Template.Spec.AuthoritativeAPI; set != "ClusterAPI" || template != "ClusterAPI" {
		t.Errorf("what is created beside Cluster API's set says %q, and its template %q", set, template)
	}
	if plain, _, _ := run(t, good, "convert", "-f", "-", "--comments=false"); strings.Contains(plain, "#") {
		t.Errorf("comments:\n%s", plain)
	}
}

// convert writes no label or annotation that the mirror does not copy, except one by which the Machine's set selects it.
func TestConvertLeavesOutWhatTheMirrorDoes(t *testing.T) {
	good := strings.NewReplacer("deviceIndex: 2, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}").Replace(odd)
	const theirs = "labels: {app.kubernetes.io/instance: fleet, team: a}, annotations: {argocd.argoproj.io/tracking-id: x, velero.io/y: z, hive.openshift.io/a: b, note: c}"
	set := strings.Replace(good, "metadata: {name: odd", "metadata: {"+theirs+", name: odd", 1)
	const machine = "{kind: Machine, apiVersion: machine.openshift.io/v1beta1, metadata: {name: odd, labels: {machine.openshift.io/cluster-api-machineset: odd, " +
		"machine.openshift.io/cluster-api-cluster: zoo, app.kubernetes.io/instance: fleet, team: a}, annotations: {argocd.argoproj.io/tracking-id: x, note: c}},\n" +
		" spec: {providerSpec: {value: {kind: AWSMachineProviderConfig, apiVersion: machine.openshift.io/v1beta1, instanceType: t3.large, ami: {id: ami-1}, " +
		"subnet: {id: subnet-1}, userDataSecret: {name: u}, blockDevices: [{ebs: {volumeSize: 30}}]}}}}"
	for sentence, c := range map[string]struct {
		manifests string
		stays     bool
	}{
		"a set":     {manifests: set},
		"a Machine": {manifests: machine},
		"a Machine whose set selects by it": {manifests: machine + "\n---\n" + strings.Replace(good, "a: b", "app.kubernetes.io/instance: fleet", 1),
			stays: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			args := []string{"convert", "-f", "-", "--comments=false"}
			if c.stays {
				args = append(args, "machine/odd")
			}
			out, text, code := run(t, c.manifests, args...)
			if code != 0 || strings.Contains(out, "argocd") || strings.Contains(out, "velero") || strings.Contains(out, "hive") || !strings.Contains(out, "note: c") ||
				!strings.Contains(out, "team: a") || strings.Contains(out, "app.kubernetes.io/instance") != c.stays {
				t.Errorf("exit code %d: %s\n%s", code, text, out)
			}
		})
	}
}

// check returns a result for any file.
func FuzzCheckAnswers(f *testing.F) {
	f.Add([]byte(odd))
	f.Add([]byte("apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nmetadata: null\nspec: null\n"))
	f.Add([]byte("apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineSet\nspec: []\n"))
	f.Add([]byte(`{"apiVersion":"v1","kind":"MachineList","items":[null,1,{}]}`))
	f.Add([]byte("apiVersion: config.openshift.io/v1\nkind: Infrastructure\nstatus: {platformStatus: {type: AWS, aws: 1}}\n---\n" + odd))
	f.Fuzz(func(_ *testing.T, text []byte) {
		for _, args := range [][]string{{"check", "-f", "-", "-o", "wide"}, {"check", "-f", "-", "--to", "machineapi"}, {"convert", "-f", "-"}} {
			_ = commands.Execute(context.Background(), cli.Options{
				IOStreams: genericiooptions.IOStreams{In: bytes.NewReader(text), Out: io.Discard, ErrOut: io.Discard},
				Env:       func(string) string { return "" }, Now: time.Now,
			}, args) // the test is that it returns
		}
	})
}

// TestASetThatTheFilesHaveOnlyInClusterAPI: whether it may move back is decided by an object that was not given, and check names it.
func TestASetThatTheFilesHaveOnlyInClusterAPI(t *testing.T) {
	good := strings.NewReplacer("deviceIndex: 2, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}").Replace(odd)
	made, text, code := run(t, zoo+good, "convert", "-f", "-", "--comments=false")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	out, text, code := run(t, zoo+made, "check", "-f", "-", "--to", "machineapi", "--fail-on", "blocked")
	if code != 0 || !strings.Contains(out, "needs the Machine API MachineSet [1]") || !strings.Contains(out, "give it too (-f)") {
		t.Errorf("exit code %d: %s%s", code, out, text)
	}
}

// Tables and documents are sorted by the given field.
func TestSortBy(t *testing.T) {
	const corpus = "../../../conversion/platforms/testdata/corpus/aws/"
	for _, format := range []string{"table", "json", "name", "custom-columns=NAME:.name"} {
		out, text, code := run(t, strings.ReplaceAll(zoo, "zoo", "prod-x7k2p"), "check", "-f", "-", "-f", corpus+"worker-4.18.yaml", "-f", corpus+"machine-spot.yaml", "--sort-by", "{.kind}", "-o", format)
		if machine, set := strings.Index(out, "prod-x7k2p-spot-abcde"), strings.LastIndex(out, "prod-x7k2p-worker-us-east-1a"); code != 0 ||
			machine < 0 || set < machine {
			t.Errorf("-o %s: exit code %d: %s%s", format, code, out, text)
		}
	}
}

func TestCompletionOfFlags(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config,
		[]byte("apiVersion: v1\nkind: Config\ncontexts: [{name: blue, context: {cluster: c}}, {name: green, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: https://127.0.0.1:1}}]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	for begun, want := range map[string]string{"--context=gr": "green\n", "--cluster=": "c\n", "--namespace=openshift-c": "openshift-cluster-api\n"} {
		if out, text, _ := run(t, "", "__complete", "status", begun); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q %s", begun, out, text)
		}
	}
}

func TestAnUnknownShellIsRefused(t *testing.T) {
	out, text, code := run(t, "", "completion", "bas")
	if code != cli.CodeUsage || out != "" || !strings.Contains(text, "bash") {
		t.Errorf("exit code %d, %q, %q", code, out, text)
	}
}

func TestEveryCommandHasExamples(t *testing.T) {
	root := commands.New(cli.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Env: os.Getenv, Now: time.Now})
	seen := 0
	var look func(under string, all []*cobra.Command)
	look = func(under string, all []*cobra.Command) {
		for _, c := range all {
			if c.Name() == "completion" {
				continue // cobra's, whose help has its examples
			}
			seen++
			path := under + " " + c.Name()
			if c.Name() != "version" && (c.Example == "" || c.Short == "" || !strings.Contains(c.Example, path)) {
				t.Errorf("%s has no example of itself", path)
			}
			look(path, c.Commands())
		}
	}
	look("kubectl poundlock", root.Commands())
	if seen <= len(root.Commands()) {
		t.Error("no command of a command was looked at")
	}
}

// check suggests a command only for a topic that explain finds.
func TestCheckNamesATopicThatExplainKnows(t *testing.T) {
	for sentence, c := range map[string]struct{ with, want string }{
		"a field":                         {"deviceIndex: 2", "kubectl poundlock explain deviceIndex\n"},
		"a misspelt field before a field": {"aaa: 1, deviceIndex: 2", "kubectl poundlock explain deviceIndex\n"},
		"a misspelt field":                {"aaa: 1", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			out, _, _ := run(t, strings.NewReplacer("deviceIndex: 2", c.with, "spotMarketOptions: {}, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}").Replace(odd), "check", "-f", "-")
			if c.want == "" && strings.Contains(out, "poundlock explain") || !strings.Contains(out, c.want) {
				t.Errorf("want %q:\n%s", c.want, out)
			}
		})
	}
}

// explain does not wrap a line within a command.
func TestExplainBreaksNoCommand(t *testing.T) {
	out, _, code := run(t, "", "explain", "NoMachineAPIObject")
	if code != 0 || strings.Contains(out, "`") || !strings.Contains(strings.Join(strings.Fields(out), " "), "(kubectl poundlock convert writes it)") ||
		strings.Contains(out, "kubectl\n") || strings.Contains(out, "poundlock\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// The manager waits for an Infrastructure that lacks fields: check reports that reason, and not an unsupported platform.
func TestAnInfrastructureWithoutStatusIsNotReady(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	openstack := "---\n{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s}, spec: {template: {spec: {providerSpec: {value: {kind: OpenstackProviderSpec}}}}}}\n"
	const restore = "kubectl replace --subresource=status"
	for sentence, c := range map[string]struct{ status, lacks, remedy string }{
		"no status":           {"", "status.platformStatus.type", restore},
		"no platformStatus":   {", status: {infrastructureName: x}", "status.platformStatus.type", restore},
		"the old platform":    {", status: {infrastructureName: x, platform: OpenStack}", "status.platformStatus.type", "kubectl edit"},
		"a platform, unnamed": {", status: {platformStatus: {type: OpenStack}}", "status.infrastructureName", restore},
	} {
		out, errOut, _ := run(t, "{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}"+c.status+"}\n"+openstack, "check", "-f", "-", "-o", "json")
		if !strings.Contains(out, `"reason": "ClusterNotReady"`) || !strings.Contains(out, c.lacks) || !strings.Contains(out, c.remedy) {
			t.Errorf("%s:\n%s%s", sentence, out, errOut)
		}
	}
}

// What Machine API ignores does not keep an object from moving: check lists it, and convert's comment does. An object without such a field has no note.
func TestWhatMachineAPIIgnoresIsNoted(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	good := zoo + strings.NewReplacer("deviceIndex: 2, ", "", "ami: {filters: [{name: x}]}", "ami: {id: ami-1}").Replace(odd)
	tagged := strings.Replace(good, "{id: ami-1},", "{id: ami-1}, tags: [{name: Name, value: x}, {name: team, value: a}],", 1)
	const path, reason = "spec.template.spec.providerSpec.value.tags[0]", "Machine API ignores the tag Name"
	for sentence, c := range map[string]struct {
		args []string
		says []string
	}{
		"check":                    {[]string{"check", "-f", "-"}, []string{"A move leaves these fields out", "machineset/odd", "tags[]: " + reason}},
		"check in JSON":            {[]string{"check", "-f", "-", "-o", "json"}, []string{"leftOut", path, reason}},
		"convert":                  {[]string{"convert", "-f", "-"}, []string{"# The conversion left out these fields: # " + path + ": " + reason}},
		"convert without comments": {[]string{"convert", "-f", "-", "--comments=false"}, []string{"note: machineset/odd: the conversion left out " + path + ": " + reason}},
		"convert to JSON":          {[]string{"convert", "-f", "-", "-o", "json"}, []string{"note: machineset/odd: the conversion left out " + path + ": " + reason}},
	} {
		t.Run(sentence, func(t *testing.T) {
			out, errOut, code := run(t, tagged, c.args...)
			text := strings.Join(strings.Fields(out+errOut), " ")
			for _, says := range c.says {
				if !strings.Contains(text, says) || code != 0 {
					t.Errorf("%d, without %q: %s", code, says, text)
				}
			}
			out, errOut, _ = run(t, good, c.args...)
			if text := out + errOut; strings.Contains(text, "left out") || strings.Contains(text, "leftOut") || strings.Contains(text, "leaves these fields out") {
				t.Errorf("a note about nothing: %s", text)
			}
		})
	}
}
