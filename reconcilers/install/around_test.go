// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/standin"
	"github.com/poundlock/poundlock/test/stories"
)

// These are stories of what people do around an installer: they delete, edit and forbid what it depends on.

func (c *cluster) images(digits map[string]string) {
	c.Helper()
	images := map[string]string{}
	for key, digit := range digits {
		images[key] = imageOf(digit)
	}
	raw, _ := json.Marshal(images)
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.ImagesConfigMap},
		Data: map[string]string{"images.json": string(raw)}})
}

func (c *cluster) deleteConfigMap(name string) {
	c.Helper()
	if err := c.Delete(c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: name}}); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) image(deployment string) string {
	c.Helper()
	containers, _, _ := unstructured.NestedSlice(c.must("Deployment", deployment).Object, "spec", "template", "spec", "containers")
	image, _ := containers[0].(map[string]any)["image"].(string)
	return image
}

// passes has some passes, whatever they end with.
func (c *cluster) passes(n int) {
	for range n {
		_, _ = c.once()
	}
}

func (c *cluster) stored() []string {
	c.Helper()
	crd := c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io")
	stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	return stored
}

func (c *cluster) things(n int) {
	c.Helper()
	for i := range n {
		thing := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": int64(i)}}}
		thing.SetGroupVersionKind(kindOf("awsThing"))
		thing.SetNamespace(bundle.Namespace)
		thing.SetName(fmt.Sprintf("t%d", i))
		if err := c.Create(c.Context(), thing); err != nil {
			c.Fatal(err)
		}
	}
}

// Content that became ready keeps the images and values that it had then: those of a newer release belong to newer manifests.
func TestKeptContentKeepsItsImagesAndValues(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	needing := replaced("${AWS_MODE:=quiet}", "${AWS_MODE}")
	values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.VariablesConfigMap},
		Data: map[string]string{"AWS_MODE": "then", "OTHER": "x"}}
	c.put(values)
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", needing))
	c.untilDone()
	// The next release has other images, and its manifests cannot be read.
	broken := provider(t, "infrastructure-aws", "v1.1.0", needing)
	broken.Data["components"] += "# by hand\n"
	c.images(map[string]string{"clusterapi": "1", "aws": "9"})
	c.release(broken)
	c.passes(3)
	if image := c.image("aws-manager"); image != imageOf("2") {
		t.Errorf("the older manifests have the newer image %s", image)
	}
	// Somebody deletes what content is made from: what is installed stays, and is kept in order.
	c.deleteConfigMap(bundle.ImagesConfigMap)
	c.deleteConfigMap(bundle.VariablesConfigMap)
	c.release(provider(t, "infrastructure-aws", "v1.0.0", needing))
	if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
		t.Fatal(err)
	}
	c.restart()
	c.passes(3)
	c.expect(statuses{available: "True", progressing: "False", degraded: "True"})
	if c.find("ClusterRoleBinding", "aws-manager") == nil {
		t.Error("what is installed is not kept in order without the list of images")
	}
	if mode, _, _ := unstructured.NestedString(c.must("ConfigMap", "aws-settings").Object, "data", "mode"); mode != "then" {
		t.Errorf("the value is %q", mode)
	}
	values.Data["AWS_MODE"] = "now"
	c.put(values)
	c.images(map[string]string{"clusterapi": "1", "aws": "9"})
	c.untilDone()
	c.expect(well)
	if image := c.image("aws-manager"); image != imageOf("9") {
		t.Errorf("the image is %s", image)
	}
	c.quiet()
}

// marked marks ConfigMaps for a release.
func marked(release string, all ...*corev1.ConfigMap) []*corev1.ConfigMap {
	for _, cm := range all {
		metav1.SetMetaDataAnnotation(&cm.ObjectMeta, bundle.ReleaseAnnotation, release)
	}
	return all
}

func imagesOf(release, aws string) *corev1.ConfigMap {
	images, _ := json.Marshal(map[string]string{"clusterapi": imageOf("1"), "aws": imageOf(aws)})
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.ImagesConfigMap},
		Data: map[string]string{"images.json": string(images)}}
	return marked(release, cm)[0]
}

// A release is applied one ConfigMap after the other. Older manifests do not get newer images between two of them, nor newer ones older images.
func TestAReleaseThatComesInPartsWaits(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	next := func(release, version string) []*corev1.ConfigMap {
		return marked(release, provider(t, "cluster-api", version), provider(t, "infrastructure-aws", version))
	}
	c.release(append(next("4.20", "v1.0.0"), imagesOf("4.20", "2"))...)
	c.untilDone()
	waits := func(image string, parts ...string) {
		t.Helper()
		c.passes(3)
		c.expect(statuses{available: "True", progressing: "True", degraded: "False"})
		for _, part := range parts {
			if m := c.condition(progressing).Message; !strings.Contains(m, part) {
				t.Errorf("%q is not in %q", part, m)
			}
		}
		if is := c.image("aws-manager"); is != imageOf(image) {
			t.Errorf("the image is %s while the release is not there completely", is)
		}
	}
	c.release(imagesOf("4.21", "9"))
	waits("2", "cluster-api", "4.20", bundle.ImagesConfigMap, "4.21", "Apply all ConfigMaps")
	// What is installed is kept in order meanwhile, by another process, too.
	if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
		t.Fatal(err)
	}
	c.restart()
	c.passes(1)
	c.must("ClusterRoleBinding", "aws-manager")
	all := next("4.21", "v1.1.0")
	c.release(all[0])
	waits("2", "infrastructure-aws")
	c.now = c.now.Add(installation.StageDeadline + time.Second)
	c.passes(1)
	if m := c.condition(degraded); m.Status != "True" || m.Reason != "StageOverdue" || !strings.Contains(m.Message, "4.21") {
		t.Errorf("%s %s %s", m.Status, m.Reason, m.Message)
	}
	c.release(all[1])
	c.untilDone()
	c.expect(well)
	if is := c.image("aws-manager"); is != imageOf("9") {
		t.Errorf("the image is %s", is)
	}
}

// The shards of a release come one after the other, beside the ConfigMaps of the release before. A shard that is deleted later is missed as a whole
// ConfigMap is.
func TestShardsComeAndGo(t *testing.T) {
	long(t, "shards that come and go")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	keeps := func(want statuses) {
		t.Helper()
		if err := c.Delete(t.Context(), c.must("ClusterRoleBinding", "aws-manager")); err != nil {
			t.Fatal(err)
		}
		c.passes(3)
		c.must("ClusterRoleBinding", "aws-manager")
		c.expect(want)
	}
	waits := func(words ...string) {
		t.Helper()
		keeps(statuses{available: "True", progressing: "True", degraded: "False"})
		for _, word := range words {
			if m := c.condition(progressing).Message; !strings.Contains(m, word) {
				t.Errorf("%q is not in %q", word, m)
			}
		}
	}
	mode := func(is string) func(string) string { return replaced("${AWS_MODE:=quiet}", is) }
	installed := func(is string) {
		t.Helper()
		c.untilDone()
		c.expect(well)
		if got, _, _ := unstructured.NestedString(c.must("ConfigMap", "aws-settings").Object, "data", "mode"); got != is {
			t.Errorf("the content is %q, want %q", got, is)
		}
		c.quiet()
	}
	first := sharded(t, "infrastructure-aws", "v1.1.0", mode("first"))
	c.release(first[1])
	waits("v1.0.0 in infrastructure-aws", "v1.1.0 in infrastructure-aws.2 (numbers 1, 3 are missing)", "Apply all ConfigMaps of the release that you want")
	c.release(first[2])
	waits("v1.1.0 in infrastructure-aws.2, infrastructure-aws.3 (number 1 is missing)")
	c.release(first[0])
	installed("first")
	second := sharded(t, "infrastructure-aws", "v1.1.1", mode("second"))
	for n, shard := range second[:2] {
		c.release(shard)
		waits("v1.1.1 in infrastructure-aws", fmt.Sprintf("infrastructure-aws.%d", n+2))
	}
	c.release(second[2])
	installed("second")

	c.deleteConfigMap("infrastructure-aws.2")
	for range 2 {
		keeps(statuses{available: "True", progressing: "False", degraded: "True"})
		if d := c.condition(degraded); d.Reason != "ContentMissing" || !strings.Contains(d.Message, "infrastructure-aws (1 of 3)") {
			t.Errorf("%s: %s", d.Reason, d.Message)
		}
		c.restart()
	}
	c.release(second[1])
	installed("second")

	// The next release needs one ConfigMap, and nobody has deleted the other two yet.
	c.release(provider(t, "infrastructure-aws", "v1.1.2", mode("third")))
	waits("v1.1.1 in infrastructure-aws.2, infrastructure-aws.3", "delete the others")
	c.deleteConfigMap("infrastructure-aws.2")
	c.deleteConfigMap("infrastructure-aws.3")
	installed("third")
}

// The mark counts by itself: neither images nor manifests need to differ.
func TestAnotherMarkAloneWaits(t *testing.T) {
	long(t, "a release whose marks differ and nothing else")
	c := newCluster(t)
	c.release(append(marked("4.20", both(t)...), imagesOf("4.20", "2"))...)
	c.untilDone()
	values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.VariablesConfigMap}}
	for name, cm := range map[string]*corev1.ConfigMap{bundle.ImagesConfigMap: imagesOf("4.21", "2"), bundle.VariablesConfigMap: marked("4.21", values)[0]} {
		c.release(cm)
		c.passes(1)
		if m := c.condition(progressing).Message; !strings.Contains(m, name) {
			t.Errorf("%s has another mark, and Progressing says %q", name, m)
		}
		c.release(marked("4.20", cm)...)
		c.untilDone()
		c.expect(well)
	}
	// Manifests that come before their images.
	c.release(marked("4.21", provider(t, "cluster-api", "v1.1.0"), provider(t, "infrastructure-aws", "v1.1.0"))...)
	before := len(c.wire.Writes())
	c.passes(3)
	for _, w := range c.wire.Writes()[before:] {
		if w.Resource != "clusteroperators" {
			t.Errorf("written: %s", w)
		}
	}
	c.expect(statuses{available: "True", progressing: "True", degraded: "False"})
	c.release(imagesOf("4.21", "9"), marked("4.21", values)[0])
	c.untilDone()
	c.expect(well)
	// One without a mark goes with each release.
	c.release(both(t)...)
	c.untilDone()
	c.expect(well)
}

func TestKeptContentComesBack(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	c.deleteConfigMap(lastGoodPrefix + "infrastructure-aws")
	c.passes(1)
	if c.find("ConfigMap", lastGoodPrefix+"infrastructure-aws") == nil {
		t.Error("somebody deleted what became ready last, and it is not kept again")
	}
	c.quiet()
	c.deleteConfigMap("infrastructure-aws")
	c.passes(3)
	c.expect(statuses{available: "True", degraded: "True"})
}

// The server of a conversion is gone, and with it each read of the objects that it converts. The installer brings it back.
func TestADeadConversionHoldsNothingElseBack(t *testing.T) {
	long(t, "a conversion whose server is gone")
	c := newCluster(t)
	webhook := &converter{}
	webhook.knowsBoth.Store(true)
	c.release(provider(t, "cluster-api", "v1.0.0"),
		provider(t, "infrastructure-aws", "v1.0.0", converting(webhook.serve(t), strings.ReplaceAll(oneVersion, "name: v1", "name: v2"))))
	c.untilDone()
	webhook.away.Store(true)
	changed := &unstructured.Unstructured{}
	changed.SetGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v2", Kind: "awsThing"})
	changed.SetNamespace(bundle.Namespace)
	changed.SetName("aws-default")
	// What the API server has converted before it still has, until an object changes.
	if err := c.Patch(t.Context(), changed, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`))); err != nil {
		t.Fatal(err)
	}
	c.eventually("the objects cannot be read", func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kindOf("awsThing"))
		if err := c.List(t.Context(), list); err == nil {
			return errWaits
		}
		return nil
	})
	for _, name := range []string{"aws-manager", "clusterapi-manager"} {
		if err := c.Delete(t.Context(), c.must("Deployment", name)); err != nil {
			t.Fatal(err)
		}
	}
	c.restart()
	c.eventually("the Deployments come back", func() error {
		_, _ = c.once()
		for _, name := range []string{"aws-manager", "clusterapi-manager"} {
			if c.find("Deployment", name) == nil {
				return fmt.Errorf("%s is not there", name)
			}
		}
		return nil
	})
	if out := c.shown(); !strings.Contains(out, "awsThing/aws-default: it cannot be read") {
		t.Errorf("a look shows\n%s", out)
	}
	webhook.away.Store(false)
	c.untilDone()
	c.expect(well)
}

// A provider brings an object of a group that the installer's role does not name. The others are installed, and the status says what is wrong.
func TestAKindThatTheInstallerMayNotRead(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	if err := plane.InstallCRDs(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.org", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget",
				Kind: "Gadget", ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything}}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", func(all string) string {
		return all + "---\napiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: aws, namespace: openshift-cluster-api}\n"
	}))
	c.eventually("everything else is installed", func() error {
		_, _ = c.once()
		if c.find("ValidatingWebhookConfiguration", "clusterapi-validating") == nil || c.find("ValidatingWebhookConfiguration", "aws-validating") == nil {
			return errWaits
		}
		return nil
	})
	c.passes(2)
	c.now = c.now.Add(3 * time.Minute)
	c.passes(5)
	c.expect(statuses{degraded: "True"})
	if m := c.condition(degraded).Message; !strings.Contains(m, "infrastructure-aws") || !strings.Contains(m, "Gadget") || !strings.Contains(m, "forbidden") {
		t.Errorf("the message is %q", m)
	}
}

// What a pass depends on cannot be read: the status says so, and keeps what it said of the providers.
func TestWhatCannotBeReadIsShown(t *testing.T) {
	long(t, "what the status shows when nothing can be read")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	inventory := inventoryPrefix + "infrastructure-aws"
	c.edit("ConfigMap", inventory, types.MergePatchType, `{"data": {"inventory": "{"}}`)
	c.passes(2)
	c.expect(statuses{available: "True", progressing: "False", degraded: "True"})
	if d := c.condition(degraded); d.Reason != "ApplyFailed" || !strings.Contains(d.Message, inventory) {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
	c.deleteConfigMap(inventory)
	c.untilDone()
	c.expect(well)
	// A server that refuses to list ConfigMaps is shown after a while, and not at once.
	lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return r.Verb == "list" && r.Resource == "configmaps" }, Do: wire.InternalError()})
	c.passes(2)
	c.expect(statuses{available: "True", degraded: "False"})
	c.now = c.now.Add(3 * time.Minute)
	c.passes(4)
	c.expect(statuses{available: "True", degraded: "True"})
	lift()
	c.untilDone()
	c.expect(well)
}

// One provider's definition lacks the version of its objects: nothing of the whole set is written.
func TestStoredVersionsHoldTheSet(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	c.release(
		provider(t, "cluster-api", "v1.1.0", replaced("value: x", "value: new")),
		provider(t, "infrastructure-aws", "v1.1.0", replaced(oneVersion, strings.ReplaceAll(oneVersion, "name: v1", "name: v3")),
			replaced("infrastructure.cluster.x-k8s.io/v1\n", "infrastructure.cluster.x-k8s.io/v3\n")))
	c.passes(3)
	if text := fmt.Sprint(c.must("Deployment", "clusterapi-manager").Object["spec"]); strings.Contains(text, "value:new") {
		t.Error("core was upgraded, and the set cannot be")
	}
	c.expect(statuses{available: "True", degraded: "True"})
	if d := c.condition(degraded); d.Reason != "ContentInvalid" || !strings.Contains(d.Message, "stored in version v1") {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
	c.release(both(t)...)
	c.untilDone()
	c.expect(well)
}

// A webhook keeps its name and moves to another path. While servers change, no request is refused because the wrong one was asked.
func TestAWebhookThatMovesRefusesNothing(t *testing.T) {
	long(t, "a webhook with another path")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	hook := func(name string) (policy, path string) {
		for _, h := range hooksOf(c.must("ValidatingWebhookConfiguration", "aws-validating")) {
			if h["name"] == name {
				policy, _ = h["failurePolicy"].(string)
				path, _, _ = unstructured.NestedString(h, "clientConfig", "service", "path")
			}
		}
		return policy, path
	}
	c.standin.Crash("aws-manager", true)
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced("path: /one", "path: /v2/one"), replaced("value: x", "value: new")))
	c.eventually("aws waits for its pods", func() error {
		_, err := c.once()
		if err == nil && !strings.Contains(c.condition(progressing).Message, "Deployment/aws-manager") {
			return errWaits
		}
		return err
	})
	if policy, path := hook("one.aws.example.com"); policy != "Ignore" || path != "/one" {
		t.Errorf("the one that moves: %s %s, want the old server to be asked, and no refusal where the new one answers", policy, path)
	}
	if policy, path := hook("two.aws.example.com"); policy != "Fail" || path != "/two" {
		t.Errorf("the one that stays: %s %s", policy, path)
	}
	c.standin.Crash("aws-manager", false)
	c.untilDone()
	if policy, path := hook("one.aws.example.com"); policy != "Fail" || path != "/v2/one" {
		t.Errorf("in the end: %s %s", policy, path)
	}
	c.expect(well)
	c.quiet()
}

// The process dies after each of its writes of an upgrade in which everything happens at once.
func TestDiesAtEachWriteOfAnUpgrade(t *testing.T) {
	stories.Long(t)
	for name, effect := range drawn(t, map[string]wire.Effect{"after it": wire.LoseAnswer(), "instead of it": wire.LoseRequest()}) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			webhook := &converter{}
			webhook.knowsBoth.Store(true)
			url := webhook.serve(t)
			c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", converting(url, "")))
			c.untilDone()
			c.things(3)
			died := map[string]bool{} // at each write once: a rewrite of an object begins anew
			lift := c.wire.Lay(wire.Rule{When: wire.Both(wire.Stores, func(r wire.Request) bool {
				write := r.Verb + " " + r.URL
				first := !died[write]
				died[write] = true
				return first
			}), Do: effect})
			c.release(provider(t, "cluster-api", "v1.1.0", replaced("value: x", "value: new")), provider(t, "infrastructure-aws", "v1.1.0",
				converting(url, strings.ReplaceAll(oneVersion, "name: v1", "name: v2")), replaced("path: /one", "path: /v2/one"), replaced("value: x", "value: new"),
				without("aws-settings"), without("name: aws-priority")))
			deaths := 0
			c.eventually("everything is installed", func() error {
				again, err := c.once()
				if err != nil {
					deaths++
					c.restart()
					return err
				}
				if again < c.r.Resync {
					return errWaits
				}
				return nil
			})
			lift()
			if t.Logf("%d deaths", deaths); deaths < 8 {
				t.Errorf("it died %d times only", deaths)
			}
			c.untilDone()
			c.expect(well)
			if diff := cmp.Diff([]string{"v2"}, c.stored()); diff != "" {
				t.Error(diff)
			}
			for kind, name := range map[string]string{"ConfigMap": "aws-settings", "PriorityClass": "aws-priority"} {
				if c.find(kind, name) != nil {
					t.Errorf("%s/%s is left", kind, name)
				}
			}
			c.quiet()
		})
	}
}

// Two installers work at once, as for a moment when a Lease is lost: nothing is written to and fro.
func TestTwoInstallers(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	first := c.r
	c.restart()
	second := c.r
	c.release(both(t)...)
	var working sync.WaitGroup
	for _, r := range []*reconciler{first, second} {
		working.Go(func() {
			for range 15 {
				_, _ = r.Reconcile(t.Context(), theRequest)
			}
		})
	}
	working.Wait()
	c.untilDone()
	c.release(provider(t, "infrastructure-aws", "v1.1.0", without("aws-settings"), replaced("value: x", "value: new")))
	for _, r := range []*reconciler{first, second} {
		working.Go(func() {
			for range 10 {
				_, _ = r.Reconcile(t.Context(), theRequest)
			}
		})
	}
	working.Wait()
	c.untilDone()
	c.expect(well)
	if c.find("ConfigMap", "aws-settings") != nil {
		t.Error("what the release no longer has is left")
	}
	c.r = first
	c.quiet()
	c.r = second
	c.quiet()
}

// Everything in the namespace is lost, the installer's records included, as if the namespace had been deleted. The release's ConfigMaps come again.
func TestTheNamespaceIsLost(t *testing.T) {
	long(t, "a namespace that loses everything")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	for _, o := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.ServiceAccount{}} {
		if err := c.DeleteAllOf(t.Context(), o, client.InNamespace(bundle.Namespace)); err != nil {
			t.Fatal(err)
		}
	}
	for kind, names := range map[string][]string{"Deployment": {"aws-manager", "clusterapi-manager"}, "Service": {"aws-webhook", "clusterapi-webhook"}} {
		for _, name := range names {
			if err := c.Delete(t.Context(), c.must(kind, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.restart()
	c.passes(2)
	c.expect(statuses{available: "False", progressing: "True"})
	c.furnish("AWS")
	c.release(both(t)...)
	c.untilDone()
	c.expect(well)
	c.quiet()
}

// The namespace is being deleted: its ConfigMaps are gone, and then the installer's role in it. What is shown names the cause.
func TestTheNamespaceIsBeingDeleted(t *testing.T) {
	long(t, "a namespace that is being deleted")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	const hold = "example.org/hold"
	namespace := &corev1.Namespace{}
	change := func(finalizers ...string) error {
		if err := c.Get(t.Context(), client.ObjectKey{Name: bundle.Namespace}, namespace); err != nil {
			return client.IgnoreNotFound(err)
		}
		namespace.Finalizers = finalizers
		return c.Update(t.Context(), namespace)
	}
	shown := func(what string) {
		t.Helper()
		c.restart()
		c.passes(2)
		_, err := c.once()
		if text := fmt.Sprint(err, c.condition(progressing).Message); !strings.Contains(text, "namespace "+bundle.Namespace+what) {
			t.Errorf("%q is not in %q", what, text)
		}
	}
	c.eventually("the namespace is held", func() error { return change(hold) })
	defer func() {
		c.eventually("the namespace is gone", func() error {
			if err := change(); err != nil {
				return err
			}
			if err := c.Get(t.Context(), client.ObjectKey{Name: bundle.Namespace}, namespace); apierrors.IsNotFound(err) {
				return nil
			}
			namespace.Spec.Finalizers = nil
			return errors.Join(errWaits, c.SubResource("finalize").Update(t.Context(), namespace))
		})
		shown(" does not exist: create it")
		c.furnish("AWS")
		c.release(both(t)...)
		c.untilDone()
		c.expect(well)
	}()
	if err := c.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(bundle.Namespace)); err != nil {
		t.Fatal(err)
	}
	shown(" is being deleted, and its status.conditions show what the deletion waits for")
}

// Somebody deletes a definition, and with it all objects of its kind.
func TestADefinitionIsDeleted(t *testing.T) {
	long(t, "a definition that somebody deletes")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	if err := c.Delete(t.Context(), c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io")); err != nil {
		t.Fatal(err)
	}
	c.untilDone()
	c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io")
	c.must("awsThing", "aws-default")
	c.expect(well)
	c.quiet()
}

// Another webhook refuses what the installer writes. It is an error that passes, shown after a while, with the webhook's name.
func TestAWebhookRefuses(t *testing.T) {
	long(t, "somebody's webhook that refuses")
	c := newCluster(t)
	all := refusing("deployments", "apps", admissionregistrationv1.OperationAll)
	if err := c.Create(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), all)) }()
	c.release(both(t)...)
	c.eventually("it is refused", func() error {
		if _, err := c.once(); err == nil || !strings.Contains(err.Error(), "deployments.example.org") {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	c.expect(statuses{available: "False", progressing: "True", degraded: "False"})
	c.now = c.now.Add(3 * time.Minute)
	c.passes(5)
	c.expect(statuses{degraded: "True"})
	if m := c.condition(degraded).Message; !strings.Contains(m, "Deployment/clusterapi-manager") || !strings.Contains(m, "deployments.example.org") {
		t.Errorf("the message is %q", m)
	}
	if shown := c.shown(); !strings.Contains(shown, "trouble: applying Deployment/clusterapi-manager") {
		t.Errorf("a look does not show why it does not go on: %s", shown)
	}
	if err := c.Delete(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	c.untilDone()
	c.expect(well)
}

// Admission refuses the objects of one kind, which stay stored in the older version. No other kind waits for that, and the status says that the
// cluster is not to be upgraded.
func TestRefusedObjectsKeepNoOtherKindWaiting(t *testing.T) {
	long(t, "objects that are refused, beside other kinds")
	c := newCluster(t)
	v1 := "---\n" + strings.NewReplacer("awsthing", "awszone", "awsThing", "awsZone").Replace(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: awsthings.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: awsThing, listKind: awsThingList, plural: awsthings, singular: awsthing}
  scope: Namespaced
  versions:
`) + oneVersion
	both := strings.ReplaceAll(oneVersion, "storage: true", "storage: false") + strings.ReplaceAll(oneVersion, "name: v1", "name: v2")
	more := func(text string) func(string) string { return func(all string) string { return all + text } }
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", more(v1)))
	c.untilDone()
	c.things(2)
	refuses := refusing("awsthings", "infrastructure.cluster.x-k8s.io", admissionregistrationv1.Update)
	if err := c.Create(t.Context(), refuses); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), refuses)) }()
	c.release(provider(t, "infrastructure-aws", "v1.1.0", more(v1), replaced(oneVersion, both)))
	zones := func() []string {
		stored, _, _ := unstructured.NestedStringSlice(c.must("CustomResourceDefinition", "awszones.infrastructure.cluster.x-k8s.io").Object,
			"status", "storedVersions")
		return stored
	}
	c.eventually("the other kind is rewritten", func() error {
		_, _ = c.once()
		if diff := cmp.Diff([]string{"v2"}, zones()); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		return nil
	})
	if diff := cmp.Diff([]string{"v1", "v2"}, c.stored()); diff != "" {
		t.Error(diff)
	}
	c.passes(1)
	c.expect(statuses{available: "True", upgradeable: "False"})
	if m := c.condition(upgradeable).Message; !strings.Contains(m, "awsthings") || strings.Contains(m, "awszones") {
		t.Errorf("the message is %q", m)
	}
	if err := c.Delete(t.Context(), refuses); err != nil {
		t.Fatal(err)
	}
	c.untilDone()
	if diff := cmp.Diff([]string{"v2"}, c.stored()); diff != "" {
		t.Error(diff)
	}
	c.expect(well)
}

// refusing is a webhook that nobody answers, and that fails closed.
func refusing(resource, group string, operation admissionregistrationv1.OperationType) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "others"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: resource + ".example.org", FailurePolicy: ptr.To(admissionregistrationv1.Fail), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{operation}, Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"},
					Resources: []string{resource}},
			}},
		}},
	}
}

// A missing shard and no content at all have conditions of their own.
func TestWhatIsMissingIsReported(t *testing.T) {
	long(t, "a shard that never comes")
	c := newCluster(t)
	half := provider(t, "infrastructure-aws", "v1.0.0")
	half.Annotations[bundle.ShardAnnotation] = "1/2"
	c.release(provider(t, "cluster-api", "v1.0.0"), half)
	c.passes(2)
	c.expect(statuses{available: "False", progressing: "True", degraded: "False"})
	if a := c.condition(available); a.Reason != "Installing" || !strings.Contains(a.Message, "number 2") {
		t.Errorf("%s: %s", a.Reason, a.Message)
	}
	// A restart does not begin the time anew.
	c.now = c.now.Add(15 * time.Minute)
	c.restart()
	c.passes(1)
	c.now = c.now.Add(6 * time.Minute)
	c.passes(1)
	if d := c.condition(degraded); d.Status != configv1.ConditionTrue || !strings.Contains(d.Message, "number 2") {
		t.Errorf("after 21 minutes: %s %s", d.Status, d.Message)
	}
	c.release(provider(t, "infrastructure-aws", "v1.0.0"))
	c.untilDone()
	c.expect(well)
}

// cert-manager served a provider before. The CA that the service CA injects does not verify that certificate, so nothing is served with it.
func TestACertificateOfSomebodyElseIsNotServed(t *testing.T) {
	long(t, "a certificate of another writer")
	c := newCluster(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "aws-cert",
			Annotations: map[string]string{"cert-manager.io/certificate-name": "aws-serving"}},
		Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key")},
	}
	waits := func(words ...string) {
		t.Helper()
		c.eventually("aws waits for the certificate", func() error {
			_, err := c.once()
			m := c.condition(progressing).Message
			for _, word := range append(words, "stage 5 (services)", "Secret aws-cert") {
				if err == nil && !strings.Contains(m, word) {
					return fmt.Errorf("%q is not in %q", word, m)
				}
			}
			return err
		})
		if c.find("Deployment", "aws-manager") != nil || c.find("ValidatingWebhookConfiguration", "aws-validating") != nil {
			t.Error("the provider is served with a certificate that nothing verifies")
		}
	}
	annotations := secret.Annotations
	secret.Annotations = nil // it does not show its writer, and the service CA has not complained yet
	c.standin.TakeAway(true)
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	c.release(both(t)...)
	waits("does not show who wrote it", "Delete the Secret")
	secret.Annotations = annotations
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	waits("cert-manager's Certificate aws-serving", "Delete the Secret")
	c.standin.TakeAway(false)
	c.eventually("the service CA complains", func() error {
		if c.must("Service", "aws-webhook").GetAnnotations()["service.beta.openshift.io/serving-cert-generation-error"] == "" {
			return errWaits
		}
		return nil
	})
	secret.Annotations = nil // it does not show its writer
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	waits("does not have corresponding service UID", "serving-cert-generation-error-num")
	if err := c.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	c.untilDone()
	c.expect(well)
	c.quiet()
}

// New content names its workload and its pods anew. Until the new pods are ready, the Service goes on having the old ones behind it: the webhooks in force
// fail closed. What became ready last serves, so Available is True.
func TestAWorkloadThatIsRenamedServesThroughout(t *testing.T) {
	long(t, "a workload with another name")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	endpoints := func() bool {
		slice := &discoveryv1.EndpointSlice{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: bundle.Namespace, Name: "aws-webhook-standin"}, slice); err != nil {
			t.Fatal(err)
		}
		return ptr.Deref(slice.Endpoints[0].Conditions.Ready, false)
	}
	selected := func() string {
		app, _, _ := unstructured.NestedString(c.must("Service", "aws-webhook").Object, "spec", "selector", "app")
		return app
	}
	if !endpoints() {
		t.Fatal("nothing serves")
	}
	c.standin.Crash("aws-controller", true)
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced("app: aws", "app: anew"),
		replaced("metadata: {name: aws-manager, namespace: openshift-cluster-api}\nspec:",
			"metadata: {name: aws-controller, namespace: openshift-cluster-api}\nspec:"), replaced("targetPort: 9443", "targetPort: 9444")))
	c.eventually("aws waits for its pods", func() error {
		_, err := c.once()
		if err == nil && !strings.Contains(c.condition(progressing).Message, "Deployment/aws-controller") {
			return errWaits
		}
		return err
	})
	direct := &standin.Standin{Client: c.Client, Namespace: bundle.Namespace, CA: plane.Admin().CAData} // one that has seen what is there now
	direct.Crash("aws-controller", true)
	c.eventually("the endpoints follow the Service", func() error { return direct.Beat(t.Context()) })
	c.passes(1)
	if !endpoints() || selected() != "aws" {
		t.Errorf("webhooks fail closed, and nothing serves: the Service selects %s", selected())
	}
	c.expect(statuses{available: "True", progressing: "True", degraded: "False"})
	c.standin.Crash("aws-controller", false)
	c.untilDone()
	ports, _, _ := unstructured.NestedSlice(c.must("Service", "aws-webhook").Object, "spec", "ports")
	if port := ports[0].(map[string]any)["targetPort"]; selected() != "anew" || port != int64(9444) || !endpoints() {
		t.Errorf("in the end the Service selects %s at port %v", selected(), port)
	}
	if c.find("Deployment", "aws-manager") != nil {
		t.Error("the old workload is left")
	}
	c.expect(well)
	c.quiet()
	// Without new content, what somebody changes is undone at once.
	c.edit("Service", "aws-webhook", types.MergePatchType, `{"spec": {"selector": {"app": "aws"}}}`)
	c.untilDone()
	if selected() != "anew" {
		t.Error("somebody's selector stays")
	}
	c.quiet()
}

// What cannot be read does not prove that nothing serves.
func TestAPassThatCannotReadLeavesAvailable(t *testing.T) {
	long(t, "Available while reads fail")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	for _, resource := range []string{"customresourcedefinitions", "deployments"} {
		lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return r.Verb == "list" && r.Resource == resource }, Do: wire.InternalError()})
		c.passes(1)
		c.expect(statuses{available: "True", degraded: "False"})
		lift()
		c.untilDone()
	}
	c.standin.Crash("aws-manager", true)
	c.eventually("it is down", func() error {
		_, _ = c.once()
		if c.condition(available).Status != "False" {
			return errWaits
		}
		return nil
	})
	lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return r.Verb == "list" && r.Resource == "deployments" }, Do: wire.InternalError()})
	c.passes(1)
	c.expect(statuses{available: "False"})
	lift()
	c.standin.Crash("aws-manager", false)
	c.untilDone()
	c.expect(well)
}

// A provider that comes to a set that serves takes nothing from it. Before that set can create a machine, Available stays False.
func TestOneMoreProviderLeavesAvailable(t *testing.T) {
	long(t, "Available while a provider is added")
	c := newCluster(t)
	waits := func(label string) {
		t.Helper()
		c.eventually(label+" waits", func() error {
			_, err := c.once()
			if m := c.condition(progressing).Message; !strings.Contains(m, label+" v1.0.0 is not installed yet, is in stage 7 (workloads)") {
				return fmt.Errorf("%w: %s", errWaits, m)
			}
			return err
		})
	}
	c.release(provider(t, "cluster-api", "v1.0.0"))
	c.untilDone()
	c.expect(statuses{available: "False"})
	c.standin.Crash("aws-manager", true)
	c.release(provider(t, "infrastructure-aws", "v1.0.0"))
	waits("infrastructure-aws")
	c.expect(statuses{available: "False", progressing: "True", degraded: "False"})
	c.standin.Crash("aws-manager", false)
	c.untilDone()
	c.expect(well)

	c.standin.Crash("kubeadm-manager", true)
	c.release(provider(t, "bootstrap-kubeadm", "v1.0.0"))
	for range 2 {
		waits("bootstrap-kubeadm")
		c.expect(statuses{available: "True", progressing: "True", degraded: "False"})
		c.restart()
	}
	c.standin.Crash("kubeadm-manager", false)
	c.untilDone()
	c.expect(well)
}

// A workload keeps its name and selects other pods, which an API server never allows. The message names the object, the field and the remedy.
func TestAnImmutableFieldHasARemedy(t *testing.T) {
	long(t, "fields that may not change")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	for _, one := range []struct {
		kind, name, field string
		change            func(string) string
	}{
		{"Deployment", "aws-manager", "spec.selector", replaced("app: aws", "app: anew")},
		{"ClusterRoleBinding", "aws-manager", "roleRef", replaced("kind: ClusterRole, name: aws-manager}", "kind: ClusterRole, name: view}")},
		{"PriorityClass", "aws-priority", "may not be changed", replaced("value: 1000", "value: 2000")},
	} {
		c.release(provider(t, "infrastructure-aws", "v1.1.0", one.change))
		c.passes(2)
		c.expect(statuses{available: "True", degraded: "True"})
		for _, words := range []string{one.kind + "/" + one.name, one.field, "Give the object another name in the release's content, or delete the object"} {
			if m := c.condition(degraded).Message; !strings.Contains(m, words) {
				t.Errorf("%q is not in %q", words, m)
			}
		}
		if err := c.Delete(t.Context(), c.must(one.kind, one.name)); err != nil {
			t.Fatal(err)
		}
		c.untilDone()
		c.expect(well)
		c.release(provider(t, "infrastructure-aws", "v1.0.0"))
		c.passes(1)
		if err := client.IgnoreNotFound(c.Delete(t.Context(), c.must(one.kind, one.name))); err != nil {
			t.Fatal(err)
		}
		c.untilDone()
	}
	// All objects of a kind would go with its definition.
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced("scope: Namespaced", "scope: Cluster")))
	c.passes(2)
	if m := c.condition(degraded).Message; !strings.Contains(m, "Restore the field in the release's content") || strings.Contains(m, "delete the object") {
		t.Errorf("%q", m)
	}
}

// The API server takes a request and never answers. The pass ends, the error passes, and the status names the provider, the stage and the object.
func TestAServerThatHangs(t *testing.T) {
	stories.Long(t)
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	c.timeout = 3 * time.Second // a busy machine takes a second for what does not hang
	c.restart()
	deployment := func(r wire.Request) bool { return r.Stores() && r.Resource == "deployments" && r.Name == "aws-manager" }
	lift := c.wire.Lay(wire.Rule{When: deployment, Do: wire.Hang()})
	c.release(provider(t, "infrastructure-aws", "v1.1.0", replaced("value: x", "value: new")))
	before := c.counted(bundle.Workloads, "error")
	var netErr net.Error
	if _, err := c.once(); !errors.As(err, &netErr) || !netErr.Timeout() || installation.IsFinal(err) {
		t.Errorf("the pass ends with %v", err)
	}
	if got := c.counted(bundle.Workloads, "error") - before; got != 1 {
		t.Errorf("%v errors are counted in stage workloads, want 1", got)
	}
	c.expect(statuses{available: "True", progressing: "True", degraded: "False"})
	c.passes(1)
	if shown := c.shown(); !strings.Contains(shown, "infrastructure-aws 7") || !strings.Contains(shown, "trouble: applying Deployment/aws-manager") {
		t.Errorf("a look shows %s", shown)
	}
	c.now = c.now.Add(3 * time.Minute)
	for range 10 { // another request may take too long as well
		if c.passes(1); c.condition(degraded).Status == "True" {
			break
		}
	}
	c.expect(statuses{available: "True", degraded: "True"})
	if m := c.condition(degraded).Message; !strings.Contains(m, "infrastructure-aws: applying Deployment/aws-manager") {
		t.Error(m)
	}
	if m := c.condition(progressing).Message; !strings.Contains(m, "infrastructure-aws v1.1.0 is in stage 7 (workloads)") {
		t.Error(m)
	}
	lift()
	c.untilDone()
	c.expect(well)
	// Nothing can be read.
	lift = c.wire.Lay(wire.Rule{When: wire.Reads, Do: wire.Hang()})
	if again, err := c.once(); err == nil {
		t.Errorf("a pass that read nothing ends well, and the next one comes after %s", again)
	}
	lift()
	c.untilDone()
	c.expect(well)
	c.quiet()
}

// A server, or a webhook before it, that goes on asking for patience is given it, and is shown all the same: the others go on, and the ClusterOperator has
// what is in the way.
func TestAServerThatStaysBusyIsShown(t *testing.T) {
	long(t, "a server that answers 429 for ever")
	c := newCluster(t)
	c.release(both(t)...)
	c.untilDone()
	lift := c.wire.Lay(wire.Rule{When: func(r wire.Request) bool { return wire.Stores(r) && r.Name == "clusterapi-settings" }, Do: wire.TooManyRequests(0)})
	c.release(provider(t, "cluster-api", "v1.1.0", replaced(":=quiet", ":=loud")))
	c.edit("ConfigMap", "aws-settings", types.MergePatchType, `{"data": {"mine": "x"}}`)
	before := len(c.wire.Writes())
	c.passes(installation.Passes)
	if after := c.wire.Writes()[before:]; len(after) > 1 { // the inventory of core
		t.Errorf("a server that asks for patience is written to: %v", after)
	}
	c.expect(statuses{available: "True", degraded: "False"})
	c.now = c.now.Add(installation.Grace)
	c.passes(2)
	c.expect(statuses{available: "True", progressing: "True", degraded: "True"})
	if m := c.condition(progressing).Message; !strings.Contains(m, "cluster-api v1.1.0 is in stage 3 (accounts)") {
		t.Errorf("Progressing: %q", m)
	}
	if m := c.condition(degraded).Message; !strings.Contains(m, "applying ConfigMap/clusterapi-settings") {
		t.Errorf("Degraded: %q", m)
	}
	if _, drifted, _ := unstructured.NestedString(c.must("ConfigMap", "aws-settings").Object, "data", "mine"); drifted {
		t.Error("another provider is not kept as it is")
	}
	if out := c.shown(); !strings.Contains(out, "trouble: applying ConfigMap/clusterapi-settings") {
		t.Errorf("a look shows\n%s", out)
	}
	before = len(c.wire.Writes())
	c.passes(2)
	if after := c.wire.Writes()[before:]; len(after) > 0 {
		t.Errorf("it is written again: %v", after)
	}
	lift()
	c.untilDone()
	c.expect(well)
	c.quiet()
}

// How long the installer waits after an error: as long as the API server asks for, a moment after a conflict, and ever longer after the others.
func TestTheNextPassAfterAnError(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	conflict := apierrors.NewConflict(things, "a", errors.New("it changed"))
	for name, c := range map[string]struct {
		err   error
		again time.Duration // 0: the queue's, after an error
	}{
		"429 with Retry-After": {apierrors.NewTooManyRequests("later", 7), 7 * time.Second},
		"within another error": {fmt.Errorf("applying: %w", apierrors.NewTooManyRequests("later", 7)), 7 * time.Second},
		"a conflict":           {conflict, time.Second},
		"a final one":          {&installation.Final{Err: conflict}, 0},
		"503 with Retry-After": {apierrors.NewServerTimeout(things, "get", 7), 0},
		"500":                  {apierrors.NewInternalError(errors.New("x")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := (&reconciler{Options: Options{Poll: time.Second}}).after(c.err)
			if result.RequeueAfter != c.again || (err == nil) != (c.again > 0) {
				t.Errorf("%s, %v; want %s", result.RequeueAfter, err, c.again)
			}
		})
	}
}
