// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/cmd/poundlock/bundling"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/build"
)

var (
	complete = flag.Bool("complete", false,
		"play every story, with every fault and every provider's real manifests, and not only those that `make test` has time for")
	seed = flag.Uint64("seed", 0, "of what is drawn where not everything is played; 0: another one each time")
)

// long leaves a story out of `make test`, which has 90 seconds for the whole installer. What it is about is the name of the subtest that is skipped.
func long(t *testing.T, about string) {
	t.Helper()
	if *complete {
		return
	}
	t.Run("left to make proof WHAT=providers: "+about, func(t *testing.T) { t.Skip("needs -complete") })
	t.SkipNow()
}

// drawn are all cases with -complete, and else one of them.
func drawn[T any](t *testing.T, cases map[string]T) map[string]T {
	t.Helper()
	if *complete {
		return cases
	}
	n := *seed
	if n == 0 {
		n = rand.Uint64() //nolint:gosec // a draw that can be repeated
	}
	names := slices.Sorted(maps.Keys(cases))
	name := names[n%uint64(len(names))]
	t.Logf("-seed=%d draws %q of %q; -complete plays all", n, name, names)
	return map[string]T{name: cases[name]}
}

const (
	coreModule = "sigs.k8s.io/cluster-api"
	sigs       = "sigs.k8s.io/cluster-api-provider-"
)

// real is a provider whose manifests lie in its Go module.
type real struct{ module, dir, name, kind, version string }

var shared = []real{
	{coreModule, "config/default", "cluster-api", "core", "v1.13.6"},
	{coreModule, "bootstrap/kubeadm/config/default", "kubeadm", "bootstrap", "v1.13.6"},
	{coreModule, "controlplane/kubeadm/config/default", "kubeadm", "control-plane", "v1.13.6"},
}

var infrastructures = map[configv1.PlatformType]real{
	configv1.AWSPlatformType:       {sigs + "aws/v2", "config/default", "aws", "infrastructure", "v2.13.0"},
	configv1.AzurePlatformType:     {sigs + "azure", "config/capz", "azure", "infrastructure", "v1.26.0"},
	configv1.GCPPlatformType:       {sigs + "gcp", "config/default", "gcp", "infrastructure", "v1.13.1"},
	configv1.OpenStackPlatformType: {sigs + "openstack", "config/default", "openstack", "infrastructure", "v0.14.6"},
	configv1.VSpherePlatformType:   {sigs + "vsphere", "config/default", "vsphere", "infrastructure", "v1.15.2"},
	configv1.PowerVSPlatformType:   {sigs + "ibmcloud", "config/default", "ibmcloud", "infrastructure", "v0.13.1"},
	configv1.KubevirtPlatformType:  {sigs + "kubevirt", "config/default", "kubevirt", "infrastructure", "v0.11.2"},
	configv1.NutanixPlatformType:   {"github.com/nutanix-cloud-native/cluster-api-provider-nutanix", "config/default", "nutanix", "infrastructure", "v1.9.2"},
}

// bundles runs poundlock bundle, and reads the ConfigMaps that it wrote.
func (p real) bundles(t *testing.T) []corev1.ConfigMap {
	t.Helper()
	root, err := build.ModuleDir(t.Context(), p.module)
	if err != nil {
		t.Fatal(err)
	}
	return p.bundlesOf(t, root)
}

func (p real) bundlesOf(t *testing.T, root string) []corev1.ConfigMap {
	t.Helper()
	out := t.TempDir()
	cmd := bundling.Command()
	cmd.SetArgs([]string{"--kustomize", filepath.Join(root, p.dir), "--name", p.name, "--type", p.kind, "--version", p.version, "--out", out})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var maps []corev1.ConfigMap
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cm corev1.ConfigMap
		if err := yaml.Unmarshal(text, &cm); err != nil {
			t.Fatal(err)
		}
		maps = append(maps, cm)
	}
	return maps
}

// What providers really ship is installed from shuffled ConfigMaps. The audit log of the API server has the order.
func TestRealProviders(t *testing.T) {
	var core []corev1.ConfigMap
	for platform, infrastructure := range infrastructures {
		t.Run(infrastructure.name, func(t *testing.T) {
			long(t, "its real manifests")
			c := newCluster(t)
			c.platform(platform)
			c.options.Enabled = []string{string(platform)}
			c.restart()
			if core == nil {
				for _, p := range shared {
					core = append(core, p.bundles(t)...)
				}
			}
			all := append(slices.Clone(core), infrastructure.bundles(t)...)
			c.needs(all)
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			rand.New(rand.NewPCG(seed, seed)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // a test's
			from := auditedSoFar(t)
			for i := range all {
				c.put(&all[i])
			}
			began := time.Now()
			c.untilDone()
			t.Logf("installed after %s", time.Since(began))
			c.expect(well)
			c.inOrder(audited(t, from, ""))
			c.quiet()
			c.restart()
			c.quiet()
		})
	}
}

// needs gives all images and variables of bundles a value.
func (c *cluster) needs(all []corev1.ConfigMap) {
	c.Helper()
	images, variables := map[string]string{}, map[string]string{}
	for i := range all {
		piece, err := bundle.Unpack(&all[i])
		if err != nil {
			c.Fatal(err)
		}
		for _, image := range piece.Images {
			images[image.Key] = imageOf("0")
		}
		documents, err := bundle.Decode(piece.Components)
		if err != nil {
			c.Fatal(err)
		}
		found, err := bundle.Variables(documents)
		if err != nil {
			c.Fatal(err)
		}
		for _, v := range found {
			if v.Required {
				variables[v.Name] = "x: y"
			}
		}
	}
	raw, _ := json.Marshal(images)
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.ImagesConfigMap},
		Data: map[string]string{"images.json": string(raw)}})
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.VariablesConfigMap}, Data: variables})
}

// inOrder holds that each provider's stages came one after the other, and that the others waited for core's definitions and webhooks.
func (c *cluster) inOrder(writes []string) {
	c.Helper()
	in, err := c.r.inputs(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	place := map[string]int{}
	for i, w := range writes {
		place[w] = i
	}
	coreEnds := map[bundle.Stage]int{}
	contents, err := c.r.choose(c.Context(), c.r.look(), in, &done{})
	if err != nil {
		c.Fatal(err)
	}
	for _, p := range contents {
		stage, last := bundle.Stage(0), 0
		for _, o := range p.Objects {
			plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
			at, written := place[plural.Resource+"/"+o.GetName()]
			if !written {
				c.Errorf("%s of %s was not written", o.Key(), p.Label())
				continue
			}
			if at < last && o.Stage > stage {
				c.Errorf("%s of %s came before its stage", o.Key(), p.Label())
			}
			if p.Type == bundle.Core {
				coreEnds[o.Stage] = max(coreEnds[o.Stage], at)
			} else if installation.WaitsForCore(o.Stage) && at < coreEnds[o.Stage] {
				c.Errorf("%s of %s came before core had passed stage %d", o.Key(), p.Label(), o.Stage)
			}
			stage, last = o.Stage, max(last, at)
		}
	}
	if !slices.ContainsFunc(writes, func(w string) bool { return strings.HasPrefix(w, "deployments/") }) {
		c.Error("no workload was written")
	}
}
