// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
)

// former is the server of Cluster API 1.10: it does not know v1beta2, and lets everything in.
type former struct{ converter }

func (f *former) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/convert" {
		f.converter.ServeHTTP(rw, r)
		return
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(rw, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(review)
}

// calledAt has the webhooks and conversions of a provider called at an address of this machine.
func (c *cluster) calledAt(all []corev1.ConfigMap, url string) []*corev1.ConfigMap {
	c.Helper()
	var pieces []bundle.Piece
	for i := range all {
		piece, err := bundle.Unpack(&all[i])
		if err != nil {
			c.Fatal(err)
		}
		pieces = append(pieces, piece)
	}
	whole, err := bundle.Merge(pieces)
	if err != nil {
		c.Fatal(err)
	}
	redirect := func(client map[string]any) {
		if service, is := client["service"].(map[string]any); is {
			client["url"], client["caBundle"] = url+fmt.Sprint(service["path"]), base64.StdEncoding.EncodeToString(plane.Admin().CAData)
			delete(client, "service")
		}
	}
	for _, d := range whole.Documents {
		o := &unstructured.Unstructured{Object: d.Object}
		if annotations := o.GetAnnotations(); annotations["service.beta.openshift.io/inject-cabundle"] != "" {
			delete(annotations, "service.beta.openshift.io/inject-cabundle")
			o.SetAnnotations(annotations)
		}
		hooks, found, _ := unstructured.NestedFieldNoCopy(o.Object, "webhooks")
		if list, _ := hooks.([]any); found {
			for _, hook := range list {
				redirect(hook.(map[string]any)["clientConfig"].(map[string]any))
			}
		}
		if conversion, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "conversion", "webhook", "clientConfig"); found {
			redirect(conversion.(map[string]any))
		}
	}
	packed, err := whole.Pack(bundle.Packing{})
	if err != nil {
		c.Fatal(err)
	}
	return packed
}

// realCore starts Cluster API's core manager, and returns where its webhooks are. It may do everything: this is about its conversion.
func (c *cluster) realCore() (url string, start func()) {
	c.Helper()
	binary, err := build.ClusterAPI(c.Context(), io.Discard)
	if err != nil {
		c.Fatal(err)
	}
	ports, err := embedded.FreePorts(2)
	if err != nil {
		c.Fatal(err)
	}
	dir := filepath.Join(plane.Dir(), "real-core")
	if err := plane.Serving(dir); err != nil {
		c.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := plane.Kubeconfig(plane.Admin(), kubeconfig); err != nil {
		c.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports[1])
	return fmt.Sprintf("https://127.0.0.1:%d", ports[0]), func() {
		c.Helper()
		const name = "real-core"
		if err := plane.Attach(name, binary, "--kubeconfig="+kubeconfig, "--namespace="+bundle.Namespace, fmt.Sprintf("--webhook-port=%d", ports[0]),
			"--webhook-cert-dir="+dir,
			"--health-addr="+health, "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics",
			"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"); err != nil { // that is the installer's
			c.Fatal(err)
		}
		c.Cleanup(func() { _ = plane.StopPart(name) })
		c.eventually("Cluster API's manager is ready", func() error {
			answer, err := http.Get("http://" + health + "/readyz") //nolint:noctx // it is polled
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("%s; its log is %s", answer.Status, plane.Log(name))
			}
			return nil
		})
	}
}

// Cluster API's core goes from the last release that stores v1beta1 to one that stores v1beta2, with its real conversion. No read in v1beta1 fails.
// The new manager does not start before
// the API server serves v1beta2, which until then nobody could read; from the moment in which the manager converts no read in v1beta2 fails either.
func TestUpgradeOfRealCore(t *testing.T) {
	long(t, "the upgrade of Cluster API's real core")
	c := newCluster(t)
	root, err := build.FormerClusterAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := &former{}
	core := real{name: "cluster-api", kind: "core", dir: "config/default", version: "v1.10.10"}
	before := core.bundlesOf(t, root)
	now := shared[0].bundles(t)
	const name = "  name: awsthings.infrastructure.cluster.x-k8s.io\n"
	aws := provider(t, "infrastructure-aws", "v1.0.0", replaced(name, name+"  labels: {cluster.x-k8s.io/v1beta1: v1}\n")) // the conversion of a reference needs it
	c.needs(slices.Concat(before, now, []corev1.ConfigMap{*aws}))
	c.release(append(c.calledAt(before, serve(t, old)), aws)...)
	c.untilDone()
	thing := map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "awsThing", "name": "t", "namespace": bundle.Namespace}
	kinds := map[string]map[string]any{
		"Cluster": {"paused": true, "controlPlaneEndpoint": map[string]any{"host": "h", "port": int64(6443)}, "infrastructureRef": thing},
		"Machine": {"clusterName": "c", "bootstrap": map[string]any{"dataSecretName": "s"}, "version": "v1.32.0", "infrastructureRef": thing},
	}
	for kind, spec := range kinds {
		for i := range 4 {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "spec": spec}}
			o.SetNamespace(bundle.Namespace)
			o.SetName(fmt.Sprintf("%s-%d", strings.ToLower(kind), i))
			o.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c"})
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	readers := map[schema.GroupVersionKind]*reader{}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	for kind := range kinds {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			gvk := schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: kind + "List"}
			r := &reader{}
			readers[gvk] = r
			reading.Go(func() { r.run(ctx, c.Client, gvk) })
		}
	}
	url, start := c.realCore()
	c.standin.Crash("capi-controller-manager", true)
	c.release(c.calledAt(now, url)...)
	c.passes(5)
	served := func() bool {
		for _, v := range c.must("CustomResourceDefinition", "machines.cluster.x-k8s.io").Object["spec"].(map[string]any)["versions"].([]any) {
			if version := v.(map[string]any); version["name"] == "v1beta2" {
				return version["served"] == true
			}
		}
		return false
	}
	if served() {
		t.Error("v1beta2 is served while the old server is the only one")
	}
	c.now = c.now.Add(patience + time.Second)
	c.eventually("v1beta2 is served, since the new manager does not start without it", func() error {
		_, err := c.once()
		if err == nil && !served() {
			return errWaits
		}
		return err
	})
	start() // only now its pods are ready
	c.standin.Crash("capi-controller-manager", false)
	c.untilDone()
	c.expect(well)
	for kind, r := range readers {
		if kind.Version == "v1beta2" {
			r.forget()
		}
	}
	c.eventually("all versions are read", func() error {
		for kind, r := range readers {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.reads < 10 {
				return fmt.Errorf("%s: %d reads, %v", kind, r.reads, r.failures)
			}
		}
		return nil
	})
	cancel()
	reading.Wait()
	for kind, r := range readers {
		if len(r.failures) > 0 {
			t.Errorf("%s: %d reads, %d failures, such as %s", kind, r.reads, len(r.failures), r.failures[0])
		}
	}
	for _, name := range []string{"clusters", "machines", "machinesets", "machinedeployments"} {
		crd := c.must("CustomResourceDefinition", name+".cluster.x-k8s.io")
		stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		if diff := cmp.Diff([]string{"v1beta2"}, stored); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c.quiet()
}
