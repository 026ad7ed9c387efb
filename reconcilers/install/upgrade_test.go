// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
)

// converter is the conversion webhook of a provider. The one of the first release knows v1 alone. It can be away.
type converter struct{ knowsBoth, away atomic.Bool }

func (c *converter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if c.away.Load() {
		http.Error(rw, "away", http.StatusServiceUnavailable)
		return
	}
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(rw, "no review", http.StatusBadRequest)
		return
	}
	answer := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(raw.Raw); err != nil {
			answer.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		if !c.knowsBoth.Load() && (strings.HasSuffix(review.Request.DesiredAPIVersion, "2") || strings.HasSuffix(o.GetAPIVersion(), "2")) {
			answer.Result = metav1.Status{Status: metav1.StatusFailure, Message: "this server does not know the second version"}
			break
		}
		o.SetAPIVersion(review.Request.DesiredAPIVersion)
		out, _ := o.MarshalJSON()
		answer.ConvertedObjects = append(answer.ConvertedObjects, runtime.RawExtension{Raw: out})
	}
	review.Request, review.Response = nil, answer
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(review)
}

// serve starts the webhook on loopback.
func (c *converter) serve(t *testing.T) (url string) {
	t.Helper()
	return serve(t, c)
}

func serve(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	dir := t.TempDir()
	if err := plane.Serving(dir); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

const oneVersion = "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"

// converting gives the definition of a provider a conversion webhook, and more versions.
func converting(url, more string) func(string) string {
	versions := oneVersion
	if more != "" {
		versions = strings.ReplaceAll(oneVersion, "storage: true", "storage: false") + more
	}
	conversion := fmt.Sprintf("  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: %q, caBundle: %s}}}\n",
		url, base64.StdEncoding.EncodeToString(plane.Admin().CAData))
	return replaced(oneVersion, versions+conversion)
}

// reader reads objects in one version all the time.
type reader struct {
	mu       sync.Mutex
	reads    int
	failures []string
}

// forget begins the count anew.
func (r *reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads, r.failures = 0, nil
}

func (r *reader) run(ctx context.Context, c client.Client, kind schema.GroupVersionKind) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		err := c.List(ctx, list, client.InNamespace(bundle.Namespace))
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case err == nil:
			r.reads++
		case !apierrors.IsNotFound(err) && !isNoMatch(err): // not served yet is no failure
			r.failures = append(r.failures, err.Error())
		}
	}, 20*time.Millisecond)
}

func isNoMatch(err error) bool { return strings.Contains(err.Error(), "no matches for kind") }

// A storage version moves whose conversion only the new server knows: no read fails in either version, and all objects end in the new one.
func TestUpgradeMovesAStorageVersionBehindAWebhook(t *testing.T) {
	long(t, "an upgrade with a conversion, read throughout")
	c := newCluster(t)
	webhook := &converter{}
	url := webhook.serve(t)
	c.release(provider(t, "cluster-api", "v1.0.0"), provider(t, "infrastructure-aws", "v1.0.0", converting(url, "")))
	c.untilDone()
	for i := range 5 {
		thing := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": int64(i)}}}
		thing.SetGroupVersionKind(kindOf("awsThing"))
		thing.SetNamespace(bundle.Namespace)
		thing.SetName(fmt.Sprintf("t%d", i))
		if err := c.Create(t.Context(), thing); err != nil {
			t.Fatal(err)
		}
	}
	old, next := &reader{}, &reader{}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	for version, r := range map[string]*reader{"v1": old, "v2": next} {
		reading.Go(func() {
			r.run(ctx, c.Client, schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: version, Kind: "awsThingList"})
		})
	}
	c.standin.Crash("aws-manager", true) // the rollout takes its time
	c.release(provider(t, "infrastructure-aws", "v1.1.0", converting(url, strings.ReplaceAll(oneVersion, "name: v1", "name: v2")),
		replaced("value: x", "value: new")))
	for range 5 {
		if _, err := c.once(); err != nil {
			t.Fatal(err)
		}
	}
	stored, _, _ := unstructured.NestedStringSlice(c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io").Object,
		"status", "storedVersions")
	if diff := cmp.Diff([]string{"v1"}, stored); diff != "" {
		t.Error("the storage version moved before the new server ran:", diff)
	}
	c.expect(statuses{available: "False", progressing: "True"})
	webhook.knowsBoth.Store(true)
	c.standin.Crash("aws-manager", false)
	c.untilDone()
	c.expect(well)
	c.eventually("the new version is read", func() error {
		next.mu.Lock()
		defer next.mu.Unlock()
		if next.reads < 10 {
			return errWaits
		}
		return nil
	})
	cancel()
	reading.Wait()
	for version, r := range map[string]*reader{"v1": old, "v2": next} {
		if len(r.failures) > 0 || r.reads == 0 {
			t.Errorf("%s: %d reads, %d failures, such as %v", version, r.reads, len(r.failures), r.failures[:min(1, len(r.failures))])
		}
	}
	stored, _, _ = unstructured.NestedStringSlice(c.must("CustomResourceDefinition", "awsthings.infrastructure.cluster.x-k8s.io").Object,
		"status", "storedVersions")
	if diff := cmp.Diff([]string{"v2"}, stored); diff != "" {
		t.Error(diff)
	}
	c.quiet()
}

// Who may write a ConfigMap that carries a provider holds all rights of the installer, which may bind and escalate roles. The shipped roles
// give that to nobody else.
func TestWhoMayWriteATransport(t *testing.T) {
	c := newCluster(t)
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-machine-api"}}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	roles := exec.CommandContext(t.Context(), plane.Kubectl(), "--kubeconfig", plane.KubeconfigPath(), "apply", "-f", "../../manifests/base/access/roles.yaml")
	if out, err := roles.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	person, err := plane.As("somebody")
	if err != nil {
		t.Fatal(err)
	}
	other, err := plane.As("system:serviceaccount:openshift-cluster-api:poundlock")
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*rest.Config{"somebody": person, "Poundlock's manager": other} {
		as, err := client.New(cfg, client.Options{Scheme: scheme()})
		if err != nil {
			t.Fatal(err)
		}
		if err := as.Create(t.Context(), provider(t, "cluster-api", "v1.0.0")); !apierrors.IsForbidden(err) {
			t.Errorf("%s may write a transport ConfigMap: %v", name, err)
		}
	}
	installer, err := plane.As(account)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*rest.Config{"an administrator": plane.Admin(), "the installer": installer} {
		as, err := client.New(cfg, client.Options{Scheme: scheme()})
		if err != nil {
			t.Fatal(err)
		}
		cm := provider(t, "cluster-api", "v1.0.0")
		if err := as.Create(t.Context(), cm); err != nil {
			t.Errorf("%s may not: %v", name, err)
		} else if err := as.Delete(t.Context(), cm); err != nil {
			t.Error(err)
		}
	}
}
