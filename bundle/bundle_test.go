// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func decoded(t *testing.T, stream string) []Document {
	t.Helper()
	all, err := Decode([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func encoded(t *testing.T, all []Document) string {
	t.Helper()
	out, err := Encode(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestDecode(t *testing.T) {
	head := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		in   string
		want []string // the IDs
		err  string
	}{
		"two documents":                          {in: head + "---\n" + head, want: []string{"ConfigMap/a", "ConfigMap/a"}},
		"a separator in a block is text":         {in: head + "data:\n  a: |\n    x\n    ---\n    y\n", want: []string{"ConfigMap/a"}},
		"a separator at the beginning of a text": {in: head + "data: {a: \"---\\nkind: Secret\"}\n", want: []string{"ConfigMap/a"}},
		"empty documents are skipped":            {in: "---\n# nothing\n---\n" + head + "---\n---\n", want: []string{"ConfigMap/a"}},
		"carriage returns":                       {in: strings.ReplaceAll(head, "\n", "\r\n") + "---\r\n" + head, want: []string{"ConfigMap/a", "ConfigMap/a"}},
		"a list is its items":                    {in: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}]}`, want: []string{"ConfigMap/b"}},
		"nothing":                                {in: ""},
		"a key twice":                            {in: head + "kind: Secret\n", err: "occurs twice"},
		"no kind":                                {in: "apiVersion: v1\nmetadata: {name: a}\n", err: "kind is missing"},
		"no name":                                {in: "apiVersion: v1\nkind: ConfigMap\n", err: "metadata.name"},
		"no object":                              {in: "- a\n", err: "is not an object"},
		"no YAML":                                {in: "a: [", err: "reading YAML"},
		"aliases that multiply":                  {in: bomb(), err: "aliases"},
		"an alias of itself":                     {in: head + "data: &a {b: *a}\n", err: "nested"},
		"a number that JSON does not have":       {in: head + "data: {a: .inf}\n", err: "cannot be written as a number in JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Decode([]byte(c.in))
			if got := problem(err); !strings.Contains(got, c.err) || (c.err == "") != (err == nil) {
				t.Fatalf("error %q, want %q", got, c.err)
			}
			var ids []string
			for _, d := range all {
				ids = append(ids, d.ID())
			}
			if diff := cmp.Diff(c.want, ids); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func bomb() string {
	out := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nl0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		before, now := string(rune('0'+i-1)), string(rune('0'+i))
		out += "l" + now + ": &l" + now + " [" + strings.Repeat("*l"+before+", ", 10) + "]\n"
	}
	return out
}

// What is written is what was read, and is written the same again.
func TestEncode(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"text that looks like something else": {
			`{"a":"yes","b":"1","c":"1:20","d":"null","e":"0x1f","f":"1e3","g":"","h":"2024-01-01","i":"~","j":"on"}`,
			"a: \"yes\"\nb: \"1\"\nc: \"1:20\"\nd: \"null\"\ne: \"0x1f\"\nf: \"1e3\"\ng: \"\"\nh: \"2024-01-01\"\ni: \"~\"\nj: \"on\"\n",
		},
		"numbers":                   {"a: 0420\nb: 1.0\nc: 18446744073709551615\nd: true\ne: null\nf: {}\ng: []\n", "a: 272\nb: 1.0\nc: 1.8446744073709552e+19\nd: true\ne: null\nf: {}\ng: []\n"},
		"a block":                   {"a: |-\n  x\n  y: # z\n", "a: |-\n  x\n  y: # z\n"},
		"a block in another script": {"a: |\n  “é”\n  y\n", "a: |\n  “é”\n  y\n"},
		"white space at the ends":   {`{"a":" x\ny","b":"x \ny","c":"\nx","d":"x\n\n","e":"x\n\ty"}`, "a: \" x\\ny\"\nb: \"x \\ny\"\nc: \"\\nx\"\nd: \"x\\n\\n\"\ne: \"x\\n\\ty\"\n"},
		"variables keep quotes":     {"a: ${N:=1}\nb: \"${N:=1}\"\nc: '${N:=1}'\n", "a: ${N:=1}\nb: \"${N:=1}\"\nc: \"${N:=1}\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			const head = "apiVersion: v1\nkind: K\nmetadata:\n  name: one\nspec:\n"
			one := decoded(t, "apiVersion: v1\nkind: K\nmetadata: {name: one}\n")
			one[0].Object["spec"] = decodedValue(t, c.in)
			got := encoded(t, one)
			if diff := cmp.Diff(head+indented(c.want), got); diff != "" {
				t.Error(diff)
			}
			again := decoded(t, got)
			if diff := cmp.Diff(one, again); diff != "" {
				t.Error("read again:", diff)
			}
		})
	}
}

func indented(text string) string {
	return "  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

func decodedValue(t *testing.T, in string) any {
	t.Helper()
	all := decoded(t, "apiVersion: v1\nkind: K\nmetadata: {name: one}\nspec:\n"+indented(in))
	return all[0].Object["spec"]
}

func TestEvaluate(t *testing.T) {
	values := Values{"A": "x", "EMPTY": "", "TRAP": "a: b\n- c", "NESTED": "${A}"}
	for in, want := range map[string]struct{ out, err string }{
		"${A}":                      {out: "x"},
		"${ A }":                    {out: "x"},
		"pre-${A}-post":             {out: "pre-x-post"},
		"${B:=d}":                   {out: "d"},
		"${B=d}":                    {out: "d"},
		"${B:-d}":                   {out: "d"},
		"${B-d}":                    {out: "d"},
		"${B:=}":                    {out: ""},
		"${A:=d}":                   {out: "x"},
		"${EMPTY:=d}":               {out: "d"},
		"${EMPTY:-d}":               {out: "d"},
		"${EMPTY=d}":                {out: ""},
		"${EMPTY}":                  {out: ""},
		"${B:=:8443}":               {out: ":8443"},
		"${B:=${A}}":                {out: "x"},
		"${B:=${C:=y}z}":            {out: "yz"},
		"${NESTED}":                 {out: "${A}"}, // a value is no template
		"${TRAP}":                   {out: "a: b\n- c"},
		"$${A}":                     {out: "${A}"},
		"$$(A) $$ $ $A $(POD)":      {out: "$$(A) $$ $ $A $(POD)"},
		"${B}":                      {err: "variable B"},
		"${":                        {err: "is not a valid variable"},
		"${A":                       {err: "is not a valid variable"},
		"${}":                       {err: "is not a valid variable"},
		"${A:?err}":                 {err: "is not a valid variable"},
		"${A/#arn/x: arn}":          {err: "is not a valid variable"},
		"${#A}":                     {err: "is not a valid variable"},
		"${1}":                      {err: "is not a valid variable"},
		strings.Repeat("${B:=", 50): {err: "nested"},
	} {
		t.Run(in, func(t *testing.T) {
			out, err := Evaluate(in, values)
			if out != want.out || !strings.Contains(problem(err), want.err) || (want.err == "") != (err == nil) {
				t.Errorf("%q, %v; want %q, %q", out, err, want.out, want.err)
			}
		})
	}
}

func TestDocumentEvaluate(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
	values := Values{"N": "3", "T": "true", "TRAP": "x: y", "LINES": "a\nb: c", "COMMENT": "a # b", "QUOTED": `"q"`, "FLOW": "[1, 2]", "TAG": "!!int 3"}
	for name, c := range map[string]struct {
		in, want string
		err      string
	}{
		"a plain number becomes a number":            {in: "spec: {replicas: \"a\"}\nx: ${N}\n", want: "spec: {replicas: a}\nx: 3\n"},
		"a default becomes a number":                 {in: "x: ${M:=1}\n", want: "x: 1\n"},
		"a quoted one stays text":                    {in: "x: \"${N}\"\n", want: "x: \"3\"\n"},
		"text of the API stays text":                 {in: "args:\n- ${N}\n- ${T}\nenv:\n- name: E\n  value: ${T}\ndata:\n  k: ${N}\n", want: "args: [\"3\", \"true\"]\nenv: [{name: E, value: \"true\"}]\ndata: {k: \"3\"}\n"},
		"the manifest's own quotes are removed":      {in: "x: ${M:=\"\"}\nbinaryData:\n  k: ${M=''}\n", want: "x: \"\"\nbinaryData: {k: \"\"}\n"},
		"quotes of a value are kept":                 {in: "x: ${QUOTED}\n", want: "x: '\"q\"'\n"},
		"a value cannot add a member":                {in: "x: ${TRAP}\ny: ${LINES}\nz: ${FLOW}\n", want: "x: \"x: y\"\ny: \"a\\nb: c\"\nz: \"[1, 2]\"\n"},
		"a value cannot cut itself off":              {in: "x: ${COMMENT}\ny: ${TAG}\n", want: "x: \"a # b\"\ny: \"!!int 3\"\n"},
		"in a block it is text":                      {in: "data:\n  k: |\n    port: ${N}\n    $(POD) $$\n", want: "data:\n  k: |\n    port: 3\n    $(POD) $$\n"},
		"without a value, the error names the field": {in: "spec: {template: [{x: \"${NONE}\"}]}\n", err: "Deployment/a: spec.template[0].x: variable NONE"},
		"keys are not evaluated":                     {in: "annotations: {\"${N}\": x}\n", err: "the key"},
	} {
		t.Run(name, func(t *testing.T) {
			before := decoded(t, head+c.in)[0]
			kept := deepCopy(before.Object)
			got, problems := before.Evaluate(values)
			if err := errors.Join(problems...); !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(kept, any(before.Object)); diff != "" {
				t.Error("the document itself was changed:", diff)
			}
			if c.err == "" {
				if diff := cmp.Diff(decoded(t, head+c.want)[0].Object, got.Object); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	for _, quote := range []string{`"`, ""} {
		crd := decoded(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec:\n  description: "+quote+
			"as $$ and ${NONE}"+quote+"\n")[0]
		got, problems := crd.Evaluate(values)
		if len(problems) > 0 || at(got.Object, "spec")["description"] != "as $$ and ${NONE}" {
			t.Error("a definition's prose was evaluated, or is no string:", got, problems)
		}
	}
}

func TestVariables(t *testing.T) {
	all := decoded(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"${B:=1} ${A}\", b: \"${C:=${D:=x}}\", c: \"${B}\"}\n"+
		doc("Secret", "name: s", "data: {a: '${ONLY_THERE}', b: '${no/form/of/ours}'}"))
	got, err := Variables(all)
	want := []Variable{{Name: "A", Required: true}, {Name: "B", Default: "1", Required: true}, {Name: "C", Default: "${D}"}, {Name: "D", Default: "x"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// The installer evaluates no keys, so no bundle may have a variable in one. Those that TemplatedKeys removes are gone by then.
func TestVariablesInKeysAreFoundEarly(t *testing.T) {
	const key = `the key "${KEY}" contains a variable`
	if _, err := Variables(decoded(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {\"${KEY}\": x}\n")); !strings.Contains(problem(err),
		"ConfigMap/a: data: "+key) {
		t.Errorf("%v, want %q", err, key)
	}
	if _, err := Variables(decoded(t, doc("CustomResourceDefinition", "name: a", "spec: {'${KEY}': x}")+
		doc("Secret", "name: a", "data: {'${KEY}': x}"))); err != nil {
		t.Error("nothing in these is evaluated:", err)
	}
}

func TestStages(t *testing.T) {
	order := []schema.GroupKind{
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Kind: "ServiceAccount"},
		{Group: "rbac.authorization.k8s.io", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
		{Kind: "Service"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"},
		{Group: "apps", Kind: "Deployment"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
		{Group: "example.com", Kind: "Anything"},
	}
	var all []Document
	for _, kind := range order {
		version := strings.TrimPrefix(kind.Group+"/v1", "/")
		all = append([]Document{{map[string]any{"apiVersion": version, "kind": kind.Kind, "metadata": map[string]any{"name": "a"}}}}, all...)
	}
	Sort(all)
	var got []schema.GroupKind
	for _, d := range all {
		got = append(got, d.GroupKind())
	}
	if diff := cmp.Diff(order, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	in := func(kind, rest string) string {
		return "apiVersion: " + kind[:strings.LastIndex(kind, "/")] + "\nkind: " + kind[strings.LastIndex(kind, "/")+1:] + "\nmetadata: {name: a" + rest + "}\n---\n"
	}
	here := ", namespace: openshift-cluster-api"
	for name, c := range map[string]struct{ in, err string }{
		"a Deployment there":          {in: in("apps/v1/Deployment", here)},
		"one elsewhere":               {in: in("apps/v1/Deployment", ", namespace: kube-system"), err: "kube-system"},
		"one nowhere":                 {in: in("apps/v1/Deployment", ""), err: "metadata.namespace is missing"},
		"a ClusterRole":               {in: in("rbac.authorization.k8s.io/v1/ClusterRole", "")},
		"a kind that nobody knows":    {in: in("example.com/v1/Thing", "")},
		"two of a kind and name":      {in: in("v1/ConfigMap", here) + in("v1/ConfigMap", here), err: "two documents"},
		"the same name of two groups": {in: in("v1/Service", here) + in("serving.knative.dev/v1/Service", here)},
		"Secret":                      {in: in("v1/Secret", here), err: "credentials"},
		"Namespace":                   {in: in("v1/Namespace", ""), err: "does not apply"},
		"Certificate":                 {in: in("cert-manager.io/v1/Certificate", here), err: "service CA"},
		"Pod":                         {in: in("v1/Pod", here), err: "use a Deployment"},
		"Job":                         {in: in("batch/v1/Job", here), err: "use a Deployment"},
		"CronJob":                     {in: in("batch/v1/CronJob", here), err: "use a Deployment"},
		"Node":                        {in: in("v1/Node", ""), err: "kubelets"},
		"PersistentVolume":            {in: in("v1/PersistentVolume", ""), err: "PersistentVolumeClaim"},
		"APIService":                  {in: in("apiregistration.k8s.io/v1/APIService", ""), err: "discovery"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(Check(decoded(t, c.in), Namespace)...)
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

// TestNamesAreTheAPIServers in cmd/poundlock/bundling asks an API server about each kind. Here are the sentences, and what it cannot be asked.
func TestNames(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s}\nspec: {group: example.com, names: {kind: Thing, plural: things}, scope: Cluster}\n---\n"
	thing := func(name string) string {
		return "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: \"" + name + "\"}\n---\n"
	}
	configMap := func(metadata, rest string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: openshift-cluster-api, " + metadata + "}\n" + rest
	}
	for name, c := range map[string]struct{ in, err string }{
		"an object's name":                {in: configMap("name: UPPER", ""), err: `ConfigMap/UPPER: metadata.name "UPPER" is not a valid name: use at most 253 lowercase letters`},
		"a name with a variable":          {in: configMap("name: '${NAME}'", "")},
		"a label's value":                 {in: configMap("name: a, labels: {b: c d}", ""), err: `metadata.labels[b] "c d" is not a valid label value: use at most 63 letters`},
		"a label's value with a variable": {in: configMap("name: a, labels: {b: '${C} d'}", "")},
		"a number":                        {in: configMap("name: a", "data: {b: 1}"), err: "data[b] is 1, but the value must be a string: put quotes around it"},
		"a number in quotes":              {in: configMap("name: a", "data: {b: '1'}")},
		"a ConfigMap that is full":        {in: configMap("name: a", "data: {b: '"+strings.Repeat("c", MaxConfigMap)+"'}")},
		"one that is too large":           {in: configMap("name: a", "data: {b: '"+strings.Repeat("c", MaxConfigMap)+"', d: e}"), err: "ConfigMap/a: data and binaryData have 1048577 bytes, and an API server accepts at most 1048576: use several ConfigMaps"},
		"labels that are a list":          {in: configMap("name: a, labels: [b]", ""), err: "metadata.labels must be a map"},
		"a definition's name":             {in: fmt.Sprintf(crd, "thing.example.com"), err: "use things.example.com"},
		"an object of a definition":       {in: fmt.Sprintf(crd, "things.example.com") + thing("a:b"), err: "is not a valid name"},
		"a sound one":                     {in: fmt.Sprintf(crd, "things.example.com") + thing("a.b")},
		"a kind that nobody defines":      {in: thing("a:b")}, // its server may take it
		"one that no path may hold":       {in: thing("a/b"), err: "do not use / or %"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(Check(decoded(t, c.in), Namespace)...)
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestProviderComplete(t *testing.T) {
	for name, c := range map[string]struct {
		in    Provider
		label string
		err   string
	}{
		"core":                        {in: Provider{Name: "cluster-api", Type: Core, Version: "v1.13.6"}, label: "cluster-api"},
		"core of another name":        {in: Provider{Name: "capi", Type: Core, Version: "v1.13.6"}, err: "use cluster-api"},
		"bootstrap":                   {in: Provider{Name: "kubeadm", Type: Bootstrap, Version: "1.13.6"}, label: "bootstrap-kubeadm"},
		"control plane":               {in: Provider{Name: "kubeadm", Type: ControlPlane, Version: "v1.13.6"}, label: "control-plane-kubeadm"},
		"infrastructure":              {in: Provider{Name: "aws", Type: Infrastructure, Version: "v2.13.0"}, label: "infrastructure-aws"},
		"one that nobody knows":       {in: Provider{Name: "moon", Type: Infrastructure, Version: "v2.13.0"}, err: "platform of provider"},
		"that one with a platform":    {in: Provider{Name: "moon", Type: Infrastructure, Version: "v2.13.0", Platforms: []string{"External"}}, label: "infrastructure-moon"},
		"no platform":                 {in: Provider{Name: "moon", Type: Infrastructure, Version: "v2.13.0", Platforms: []string{"Moon"}}, err: "Infrastructure.status"},
		"no type":                     {in: Provider{Name: "aws", Type: "infra", Version: "v2.13.0"}, err: "type"},
		"a name that no label has":    {in: Provider{Name: strings.Repeat("a", 49), Type: Infrastructure, Version: "v1.0.0", Platforms: []string{"AWS"}}, err: "with 64 characters, and an API server accepts at most 63: use a shorter name"},
		"the longest name":            {in: Provider{Name: strings.Repeat("a", 48), Type: Infrastructure, Version: "v1.0.0", Platforms: []string{"AWS"}}, label: "infrastructure-" + strings.Repeat("a", 48)},
		"a name with a dot":           {in: Provider{Name: "a.b", Type: Bootstrap, Version: "v1.0.0"}, err: "use lowercase letters, digits and hyphens"},
		"a dash at a version's end":   {in: Provider{Name: "aws", Type: Infrastructure, Version: "v2.13.0-a-"}, err: "end with a letter or digit"},
		"no version":                  {in: Provider{Name: "aws", Type: Infrastructure, Version: "main"}, err: `version "main" is not a semantic version`},
		"a version that no label has": {in: Provider{Name: "aws", Type: Infrastructure, Version: "v2.13.0+a"}, err: `version "v2.13.0+a" is not a valid label value: leave out the part from the +`},
		"that one without a v":        {in: Provider{Name: "aws", Type: Infrastructure, Version: "2.13.0+a"}, err: `version "2.13.0+a" is not a valid label value`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.in.Complete()
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if err == nil && got.Label() != c.label {
				t.Errorf("label %s, want %s", got.Label(), c.label)
			}
		})
	}
}

func TestContract(t *testing.T) {
	const metadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 12, contract: v1beta1}\n- {major: 1, minor: 13, contract: v1beta2}\n- {major: 1, minor: 14}\n"
	for name, c := range map[string]struct{ metadata, version, want, err string }{
		"a series":             {metadata, "v1.13.6", "v1beta2", ""},
		"an older one":         {metadata, "v1.12.0", "v1beta1", ""},
		"none":                 {metadata, "v2.13.0", "", "no releaseSeries for 2.13"},
		"one that is no name":  {strings.Replace(metadata, "v1beta2", "moon", 1), "v1.13.6", "", `"moon", which is not an API version`},
		"one to come":          {strings.Replace(metadata, "v1beta2", "v1", 1), "v1.13.6", "v1", ""},
		"one without contract": {metadata, "v1.14.0", "", "no contract"},
		"another kind":         {"kind: Metadata\napiVersion: v1\n", "v1.13.6", "", "is not an object of kind Metadata"},
		"something else":       {"a: [", "v1.13.6", "", "reading metadata.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Contract([]byte(c.metadata), c.version)
			if got != c.want || !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("%q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// The page for maintainers has every transformation, in order, and every kind that does not stay.
func TestPageIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, from := string(text), 0
	for _, transformation := range Transformations {
		at := strings.Index(page, "\n| "+transformation.Name+" | ")
		if at < from {
			t.Errorf("docs/providers.md: the transformation %s is missing, or not in its place", transformation.Name)
		}
		from = max(from, at)
	}
	for _, row := range Kinds {
		name := row.Kind
		if name == "*" {
			name = row.Group
		}
		if row.Fate != Kept && !strings.Contains(page, name) {
			t.Errorf("docs/providers.md: %s is missing", name)
		}
	}
}
