// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/stories"
)

var update = flag.Bool("update", false, "write the summaries of the providers' bundles")

// realProvider is a provider whose manifests lie in its Go module.
type realProvider struct {
	file, module, dir   string
	name, kind, version string
	more                []string
}

const (
	coreModule = "sigs.k8s.io/cluster-api"
	sigs       = "sigs.k8s.io/cluster-api-provider-"
)

func realProviders() []realProvider {
	return []realProvider{
		{file: "core", module: coreModule, dir: "config/default", name: "cluster-api", kind: "core", version: "v1.13.6"},
		{file: "kubeadm-bootstrap", module: coreModule, dir: "bootstrap/kubeadm/config/default", name: "kubeadm", kind: "bootstrap", version: "v1.13.6"},
		{file: "kubeadm-control-plane", module: coreModule, dir: "controlplane/kubeadm/config/default", name: "kubeadm", kind: "control-plane", version: "v1.13.6"},
		{file: "aws", module: sigs + "aws/v2", dir: "config/default", name: "aws", kind: "infrastructure", version: "v2.13.0"},
		{file: "azure", module: sigs + "azure", dir: "config/capz", name: "azure", kind: "infrastructure", version: "v1.26.0"},
		{file: "gcp", module: sigs + "gcp", dir: "config/default", name: "gcp", kind: "infrastructure", version: "v1.13.1"},
		{file: "openstack", module: sigs + "openstack", dir: "config/default", name: "openstack", kind: "infrastructure", version: "v0.14.6"},
		{file: "vsphere", module: sigs + "vsphere", dir: "config/default", name: "vsphere", kind: "infrastructure", version: "v1.15.2"},
		{file: "vsphere-supervisor", module: sigs + "vsphere", dir: "config/supervisor", name: "vsphere", kind: "infrastructure", version: "v1.15.2"},
		{file: "ibmcloud", module: sigs + "ibmcloud", dir: "config/default", name: "ibmcloud", kind: "infrastructure", version: "v0.13.1"},
		{file: "kubevirt", module: sigs + "kubevirt", dir: "config/default", name: "kubevirt", kind: "infrastructure", version: "v0.11.2"},
		{file: "nutanix", module: "github.com/nutanix-cloud-native/cluster-api-provider-nutanix", dir: "config/default", name: "nutanix", kind: "infrastructure", version: "v1.9.2"},
		{
			file: "metal3", dir: "testdata/metal3/config", name: "metal3", kind: "infrastructure", version: "v1.12.0",
			more: []string{"--images", "wait=k8s-wait,capm3-ipam/manager=ipam-controllers,agent=agent"},
		},
	}
}

func (p realProvider) args(t testing.TB, out string) []string {
	t.Helper()
	dir := p.dir
	if p.module != "" {
		root, err := build.ModuleDir(t.Context(), p.module)
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, dir)
	}
	return append([]string{"--kustomize", dir, "--name", p.name, "--type", p.kind, "--version", p.version, "--out", out}, p.more...)
}

// runBundle runs the command. The code is what the process would end with.
func runBundle(t *testing.T, args ...string) (out string, code int, err error) {
	t.Helper()
	var printed bytes.Buffer
	cmd := Command()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&printed)
	cmd.SetErr(&printed)
	cmd.SetArgs(args)
	if err = cmd.ExecuteContext(t.Context()); err != nil {
		code = 1
		if errors.Is(err, ErrMisused) {
			code = 2
		}
	}
	return printed.String(), code, err
}

func TestRealProviders(t *testing.T) {
	stories.Long(t)
	for _, p := range realProviders() {
		t.Run(p.file, func(t *testing.T) {
			if testing.Short() && p.module != "" {
				t.Skip("renders a provider of several hundred thousand bytes")
			}
			if !slices.Contains([]string{"core", "kubeadm-control-plane", "aws", "metal3"}, p.file) && !*update {
				stories.Long(t)
			}
			dir := t.TempDir()
			args := p.args(t, dir)
			started := time.Now()
			summary, _, err := runBundle(t, append(args, "--summary")...)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(time.Since(started))
			golden(t, filepath.Join("testdata", p.file+".txt"), summary)
			p.installable(t, dir)

			p.twice(t, args, dir)
		})
	}
}

// twice runs the command again: the output is fresh, and every byte the same.
func (p realProvider) twice(t *testing.T, args []string, dir string) {
	if p.file != "kubeadm-control-plane" && p.file != "metal3" {
		return // one that is compressed and one that is plain are enough
	}
	before := contents(t, dir)
	if out, _, err := runBundle(t, append(args, "--verify")...); err != nil || out != "" {
		t.Errorf("verified at once: %v %s", err, out)
	}
	again := t.TempDir()
	if _, _, err := runBundle(t, p.args(t, again)...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, again)); diff != "" {
		t.Error("written again, it differs:", diff)
	}
}

// golden compares a summary, but for the size of what is compressed: another release of Go may compress better.
func golden(t *testing.T, file, summary string) {
	t.Helper()
	summary, _, _ = strings.Cut(summary, "\nConfigMaps\n")
	if *update {
		if err := os.WriteFile(file, []byte(summary), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), summary); diff != "" {
		t.Errorf("%s: if the change is meant, run go test ./cmd/poundlock/bundling -run TestRealProviders -update\n%s", file, diff)
	}
}

// installable has the ConfigMaps read as an installer reads them, and prepared for a cluster.
func (p realProvider) installable(t *testing.T, dir string) []bundle.Document {
	t.Helper()
	var pieces []bundle.Piece
	for name, text := range contents(t, dir) {
		if filepath.Dir(name) != "." {
			continue
		}
		cm := &corev1.ConfigMap{}
		if err := yaml.Unmarshal([]byte(text), cm); err != nil {
			t.Fatal(err)
		}
		if size := bundle.Size(cm); size > bundle.MaxConfigMap {
			t.Errorf("%s has %d bytes", name, size)
		}
		piece, err := bundle.Unpack(cm)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece)
	}
	whole, err := bundle.Merge(pieces)
	if err != nil {
		t.Fatal(err)
	}
	needs := bundle.Needs{Values: bundle.Values{}, References: bundle.References{}}
	for _, v := range whole.Variables {
		if v.Required {
			needs.Values[v.Name] = "x: y"
		}
	}
	for _, image := range whole.Images {
		needs.References[image.Key] = "quay.io/a@sha256:" + strings.Repeat("0", 64)
	}
	rendered, dropped, err := whole.Render(needs)
	if err != nil || len(dropped) > 0 {
		t.Fatal(dropped, err)
	}
	stage := bundle.Stage(0)
	for _, d := range rendered {
		if now := bundle.StageOf(d.GroupKind()); now < stage {
			t.Errorf("%s comes after stage %d", d.ID(), stage)
		} else {
			stage = now
		}
		_ = (&unstructured.Unstructured{Object: d.Object}).DeepCopy() // it panics at a type that clients do not know
		text, err := d.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if stage == bundle.Definitions {
			continue // prose
		}
		for _, leftOver := range []string{"cert-manager", "-system\n", "-system.svc", "registry.invalid", "${"} {
			if bytes.Contains(text, []byte(leftOver)) {
				t.Errorf("%s still has %q in it", d.ID(), leftOver)
			}
		}
	}
	return rendered
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// repository is a small provider on disk: files by name, beside a metadata.yaml.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["metadata.yaml"] = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 1, minor: 0, contract: v1beta1}]\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: openshift-cluster-api}\n"

func small(t *testing.T) string {
	return repository(t, map[string]string{"config/kustomization.yaml": "resources: [a.yaml]\n", "config/a.yaml": account})
}

func argsOf(dir string, more ...string) []string {
	return append([]string{"--kustomize", filepath.Join(dir, "config"), "--name", "aws", "--type", "infrastructure", "--version", "v1.0.0"}, more...)
}

func TestBundleExitCodes(t *testing.T) {
	dir := small(t)
	out := filepath.Join(t.TempDir(), "out")
	without := func(flag string) []string {
		args := argsOf(dir, "--out", out)
		for i := range args {
			if args[i] == flag {
				return append(args[:i:i], args[i+2:]...)
			}
		}
		return args
	}
	for name, c := range map[string]struct {
		args     []string
		code     int
		contains string
	}{
		"nothing to write yet":        {argsOf(dir, "--out", out, "--verify"), 1, "stale"},
		"done":                        {argsOf(dir, "--out", filepath.Join(t.TempDir(), "x")), 0, ""},
		"a summary needs no folder":   {argsOf(dir, "--summary"), 0, ""},
		"no folder":                   {argsOf(dir), 2, "--out is missing"},
		"no kustomization":            {without("--kustomize"), 2, "--kustomize is missing"},
		"no name":                     {without("--name"), 2, "--name is missing"},
		"no type":                     {without("--type"), 2, "--type is missing"},
		"no version":                  {without("--version"), 2, "--version is missing"},
		"an unknown flag":             {argsOf(dir, "--out", out, "--moon"), 2, "--moon"},
		"an argument":                 {argsOf(dir, "--out", out, "moon"), 2, "moon"},
		"an unknown type":             {append(without("--type"), "--type", "infra"), 2, "type"},
		"an unknown platform":         {argsOf(dir, "--out", out, "--platform", "Moon"), 2, "platform"},
		"an annotation without value": {argsOf(dir, "--out", out, "--annotation", "a"), 2, "KEY=VALUE"},
		"an annotation of its own":    {argsOf(dir, "--out", out, "--annotation", bundle.ShardAnnotation+"=1/2"), 2, "poundlock bundle sets this annotation itself"},
		"the release's mark":          {argsOf(dir, "--out", out, "--annotation", bundle.ReleaseAnnotation+"=4.21"), 2, "poundlock bundle sets this annotation itself"},
		"a gate that is neither":      {argsOf(dir, "--out", out, "--feature-gates", "A=maybe"), 2, "must be true or false"},
		"an unknown format":           {argsOf(dir, "--out", out, "--format", "zip"), 2, "--format"},
		"shards":                      {argsOf(dir, "--out", out, "--shards", "3"), 2, "--shards"},
		"a folder that is not there":  {append(without("--kustomize"), "--kustomize", dir+"/none"), 2, "is not a folder"},
		"a version without series":    {append(without("--version"), "--version", "v9.0.0"), 1, "releaseSeries"},
		"an exclusion of nothing":     {argsOf(dir, "--out", out, "--exclude", "Role/x"), 1, "--exclude"},
	} {
		t.Run(name, func(t *testing.T) {
			_, code, err := runBundle(t, c.args...)
			if code != c.code || (err != nil && !strings.Contains(err.Error(), c.contains)) {
				t.Errorf("%d, %v; want %d, %q", code, err, c.code, c.contains)
			}
			if exists(out) {
				t.Error("the folder was created")
			}
		})
	}
}

func TestBundleIsHermetic(t *testing.T) {
	const local = "resources: [a.yaml]\n"
	for name, c := range map[string]struct {
		files    map[string]string
		contains string
	}{
		"a remote base":              {map[string]string{"config/kustomization.yaml": "resources: [https://127.0.0.1:1/a.yaml]\n"}, "--allow-remote"},
		"a remote base further down": {map[string]string{"config/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: ['github.com/a/b?ref=c']\n"}, "b/kustomization.yaml"},
		"a remote component":         {map[string]string{"config/kustomization.yaml": local + "components: ['git@127.0.0.1:a/b']\n"}, "git@127.0.0.1"},
		"a remote patch":             {map[string]string{"config/kustomization.yaml": local + "patches: [{path: 'https://127.0.0.1:1/p'}]\n"}, "https://"},
		"a remote file of a map":     {map[string]string{"config/kustomization.yaml": local + "configMapGenerator: [{name: a, files: ['k=https://127.0.0.1:1/p']}]\n"}, "https://"},
		"a remote file of a plugin": {map[string]string{
			"config/kustomization.yaml": local + "generators: [g.yaml]\n",
			"config/g.yaml":             "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g, namespace: openshift-cluster-api}\nfiles: ['k=https://127.0.0.1:1/p']\n",
		}, "--allow-remote"},
		"a remote file of a plugin in the kustomization": {map[string]string{
			"config/kustomization.yaml": local + "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  path: https://127.0.0.1:1/p\n",
		}, "--allow-remote"},
		"a remote file of a plugin in a folder": {map[string]string{
			"config/kustomization.yaml": local + "transformers: [t]\n", "config/t/kustomization.yaml": "resources: [../p.yaml]\n",
			"config/p.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: https://127.0.0.1:1/p\n",
		}, "--allow-remote"},
		"a plugin": {map[string]string{
			"config/kustomization.yaml": local + "transformers: [p.yaml]\n",
			"config/p.yaml":             "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: p}\nannotations: {a: 'https://b'}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n",
		}, ""},
		"a chart":                  {map[string]string{"config/kustomization.yaml": local + "helmCharts: [{name: a}]\n"}, "helmCharts"},
		"a file that is missing":   {map[string]string{"config/kustomization.yaml": "resources: [none.yaml]\n"}, "none.yaml"},
		"a URL in a patch is text": {map[string]string{"config/kustomization.yaml": local + "patches: [{patch: '{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: openshift-cluster-api, annotations: {a: \"https://b\"}}}'}]\n"}, ""},
		"a folder with an @":       {map[string]string{"config/kustomization.yaml": "resources: [base@v1/x]\n", "config/base@v1/x/kustomization.yaml": local, "config/base@v1/x/a.yaml": account}, ""},
		"a folder named as a host": {map[string]string{"config/kustomization.yaml": "resources: [github.com/a/b]\n", "config/github.com/a/b/kustomization.yaml": local, "config/github.com/a/b/a.yaml": account}, ""},
		"a component":              {map[string]string{"config/kustomization.yaml": local + "components: [c]\n", "config/c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["config/a.yaml"] = account
			dir := repository(t, c.files)
			_, code, err := runBundle(t, argsOf(dir, "--summary")...)
			if (code == 1) != (c.contains != "") || (err != nil && !strings.Contains(err.Error(), c.contains)) {
				t.Errorf("%d, %v; want %q", code, err, c.contains)
			}
		})
	}
	t.Run("a relative path with an @ is a folder", func(t *testing.T) {
		dir := repository(t, map[string]string{"provider@v1.2.3/config/default/kustomization.yaml": local, "provider@v1.2.3/config/default/a.yaml": account})
		t.Chdir(dir)
		if _, _, err := runBundle(t, "--kustomize", "provider@v1.2.3/config/default", "--name", "aws", "--type", "infrastructure", "--version", "v1.0.0",
			"--summary"); err != nil {
			t.Error(err)
		}
	})
}

// A provider that fits into no ConfigMap, or that is refused, leaves the folder as it was.
func TestBundleWritesNothingOnError(t *testing.T) {
	large := account + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {k: \"" + strings.Repeat("x", bundle.MaxConfigMap) + "\"}\n"
	for name, c := range map[string]struct{ manifest, contains string }{
		"too large": {large, "ConfigMap/big"},
		"refused":   {account + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "Pod/a"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := small(t), t.TempDir()
			args := argsOf(dir, "--out", out, "--format", "plain")
			if _, _, err := runBundle(t, args...); err != nil {
				t.Fatal(err)
			}
			before := contents(t, out)
			if err := os.WriteFile(filepath.Join(dir, "config", "a.yaml"), []byte(c.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			_, code, err := runBundle(t, args...)
			if code != 1 || !strings.Contains(err.Error(), c.contains) {
				t.Errorf("%d, %v; want 1, %s", code, err, c.contains)
			}
			if diff := cmp.Diff(before, contents(t, out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A write that fails half way leaves the folder as it was, whichever file it fails at.
func TestBundleFailsHalfWay(t *testing.T) {
	second := filepath.Join(plainDir, "infrastructure-aws.yaml")
	for name, c := range map[string]struct {
		spoil    func(t *testing.T, out string)
		contains string
	}{
		"the second file is a folder": {func(t *testing.T, out string) {
			t.Helper()
			if err := errors.Join(os.Remove(filepath.Join(out, second)), os.MkdirAll(filepath.Join(out, second, "x"), 0o750)); err != nil {
				t.Fatal(err)
			}
		}, second},
		"the folder of the second file is a file": {func(t *testing.T, out string) {
			t.Helper()
			if err := errors.Join(os.RemoveAll(filepath.Join(out, plainDir)), os.WriteFile(filepath.Join(out, plainDir), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, second},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := small(t), t.TempDir()
			args := argsOf(dir, "--out", out, "--format", "gzip")
			if _, _, err := runBundle(t, args...); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "config", "a.yaml"), []byte(account+another), 0o600); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, out)
			before := contents(t, out)
			if _, code, err := runBundle(t, args...); code != 1 || !strings.Contains(err.Error(), c.contains) {
				t.Errorf("%d, %v; want 1, %s", code, err, c.contains)
			}
			if diff := cmp.Diff(before, contents(t, out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What may not work as it is comes to the person that runs the command, with a summary or without.
func TestBundleWarns(t *testing.T) {
	const policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {validations: [{expression: \"object.metadata.namespace == 'own'\"}]}\n"
	dir := repository(t, map[string]string{
		"config/kustomization.yaml": "resources: [a.yaml]\n", "config/a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: own}\n---\n" + policy,
	})
	var out, warnings bytes.Buffer
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&warnings)
	cmd.SetArgs(argsOf(dir, "--out", t.TempDir()))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "warning: ValidatingAdmissionPolicy/p: spec.validations[0].expression may name namespace own, and is not changed: if it does, write openshift-cluster-api instead, with a patch in the kustomization\n"
	if diff := cmp.Diff(want, warnings.String()); diff != "" || out.Len() > 0 {
		t.Error(diff, out.String())
	}
}

func TestReleaseIsWritten(t *testing.T) {
	out := t.TempDir()
	if _, _, err := runBundle(t, argsOf(small(t), "--out", out, "--release", "4.21")...); err != nil {
		t.Fatal(err)
	}
	if text := contents(t, out)[runLevel+"infrastructure-aws.yaml"]; !strings.Contains(text, bundle.ReleaseAnnotation+`: "4.21"`) {
		t.Error(text)
	}
}

func TestVerify(t *testing.T) {
	dir, out := small(t), t.TempDir()
	args := argsOf(dir, "--out", out, "--format", "gzip")
	if _, _, err := runBundle(t, args...); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "a.yaml"), []byte(strings.Replace(account, "name: a", "name: b", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := contents(t, out)
	printed, code, err := runBundle(t, append(args, "--verify")...)
	if code != 1 || !errors.Is(err, errStale) || !strings.Contains(printed, "-  name: a\n+  name: b\n") {
		t.Errorf("%d, %v, %s", code, err, printed)
	}
	if diff := cmp.Diff(before, contents(t, out)); diff != "" {
		t.Error("verify wrote:", diff)
	}
	leftOver := filepath.Join(out, runLevel+"infrastructure-aws.2.yaml")
	others := filepath.Join(out, runLevel+"infrastructure-aws-2.yaml")
	for _, file := range []string{leftOver, others} {
		if err := os.WriteFile(file, []byte("a: b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := runBundle(t, args...); err != nil {
		t.Fatal(err)
	}
	if exists(leftOver) || !exists(others) {
		t.Error("a shard of before is left over, or another file was removed")
	}
	if printed, _, err := runBundle(t, append(args, "--verify")...); err != nil {
		t.Error(err, printed)
	}
}

// What is not the content is compared as it is written: the cluster version operator applies each document of a file, with each of its fields.
func TestVerifyFindsWhatWasAdded(t *testing.T) {
	dir := small(t)
	file := func(out string) string { return filepath.Join(out, runLevel+"infrastructure-aws.yaml") }
	for name, add := range map[string]func(text string) string{
		"a document": func(text string) string {
			return text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
		},
		"a field": func(text string) string { return text + "moon: {a: b}\n" },
		"data": func(text string) string {
			return strings.Replace(text, "binaryData:\n", "binaryData:\n  other: YQ==\n", 1)
		},
	} {
		for _, format := range []string{"gzip", "plain"} {
			t.Run(name+", "+format, func(t *testing.T) {
				args := argsOf(dir, "--out", t.TempDir(), "--format", format)
				out := args[len(args)-3]
				if _, _, err := runBundle(t, args...); err != nil {
					t.Fatal(err)
				}
				text := contents(t, out)[filepath.Base(file(out))]
				if add(text) == text {
					t.Skip("plain has no binaryData")
				}
				if err := os.WriteFile(file(out), []byte(add(text)), 0o600); err != nil {
					t.Fatal(err)
				}
				if printed, code, err := runBundle(t, append(args, "--verify")...); code != 1 || !errors.Is(err, errStale) || printed == "" {
					t.Errorf("%d, %v, %s", code, err, printed)
				}
			})
		}
	}
}
