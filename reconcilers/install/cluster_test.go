// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apihelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/standin"
)

// plane is shared: a story begins with an empty cluster.
var (
	plane    *embedded.Plane
	auditLog string
	// followed is what the stand-in reads. It looks many times a second, and half of all requests would be its own.
	followed cache.Cache
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if slices.Contains(os.Args, "-test.short=true") {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "poundlock-audit-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	policy := filepath.Join(dir, "policy.yaml")
	auditLog = filepath.Join(dir, "audit.log")
	err = os.WriteFile(policy,
		[]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata, verbs: [create, update, patch, delete]}]\n"), 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	crds, err := embedded.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Name != "infrastructures.config.openshift.io" && crd.Name != "clusteroperators.config.openshift.io"
	})
	o := embedded.Options{CRDs: crds, APIServerArgs: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog, "--audit-log-mode=blocking"}}
	return embedded.Main(m, o, func(p *embedded.Plane) error {
		plane = p
		return follow()
	})
}

func follow() error {
	var err error
	followed, err = cache.New(plane.Admin(), cache.Options{Scheme: scheme(), DefaultNamespaces: map[string]cache.Config{bundle.Namespace: {}}})
	if err != nil {
		return err
	}
	go func() { _ = followed.Start(context.Background()) }() // as long as the control plane runs
	return nil
}

// errWaits is the error of a story that looks again.
var errWaits = errors.New("not yet")

// account is who the installer runs as.
const account = "system:serviceaccount:openshift-cluster-api:poundlock-install"

// cluster is an OpenShift cluster on AWS, with the stand-ins, and an installer with its own account and the role that is shipped.
type cluster struct {
	testing.TB
	client.Client
	wire    *wire.Wire
	standin *standin.Standin
	now     time.Time
	options Options
	// timeout bounds each request of the installer; 0 is its own.
	timeout time.Duration
	r       *reconciler
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	embedded.LeaveOut(t)
	admin, err := client.New(plane.Admin(), client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{TB: t, Client: admin, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	c.clear()
	c.furnish("AWS")
	as, err := plane.As(account)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := plane.Serving(dir); err != nil {
		t.Fatal(err)
	}
	if c.wire, err = wire.Stretch(as, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.wire.Close() })
	c.standin = c.newStandin()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { defer close(stopped); c.standin.Run(ctx) }()
	read := make(chan struct{})
	go func() { defer close(read); c.readers(ctx) }()
	t.Cleanup(func() { cancel(); <-stopped; <-read })
	c.restart()
	return c
}

// newStandin plays in this story, and has seen that the one before is over.
func (c *cluster) newStandin() *standin.Standin {
	c.Helper()
	following, err := client.New(plane.Admin(), client.Options{Scheme: scheme(), Cache: &client.CacheOptions{Reader: followed}})
	if err != nil {
		c.Fatal(err)
	}
	c.eventually("the stand-in sees an empty cluster", func() error {
		services, deployments := &corev1.ServiceList{}, &appsv1.DeploymentList{}
		if err := errors.Join(following.List(c.Context(), services), following.List(c.Context(), deployments)); err != nil {
			return err
		}
		if left := len(services.Items) + len(deployments.Items); left > 0 {
			return fmt.Errorf("%d Services and Deployments are left", left)
		}
		return nil
	})
	const beat = 20 * time.Millisecond
	return &standin.Standin{Client: following, Namespace: bundle.Namespace, CA: plane.Admin().CAData, Every: beat}
}

// restart has another process begin, with nothing in its memory.
func (c *cluster) restart() {
	c.Helper()
	counted, err := newMeters()
	if err != nil {
		c.Fatal(err)
	}
	o := c.options
	o.Now = func() time.Time { return c.now }
	cfg := rest.CopyConfig(c.wire.Config())
	cfg.Timeout = c.timeout
	if c.r, err = newReconciler(cfg, o, events.NewFakeRecorder(1000), counted); err != nil {
		c.Fatal(err)
	}
}

// readers are other clients, who list the objects of a small provider's definition once it is established. The API server fills its cache of them when they
// are first read, and answers until then that the client may come again in a second: the installer would wait for that second in each story. Of real
// providers most definitions are never read.
func (c *cluster) readers(ctx context.Context) {
	known := scheme()
	if err := apiextensionsv1.AddToScheme(known); err != nil {
		c.Error(err)
		return
	}
	definitions, err := client.NewWithWatch(plane.Admin(), client.Options{Scheme: known})
	if err != nil {
		c.Error(err)
		return
	}
	objects, err := dynamic.NewForConfig(plane.Admin())
	if err != nil {
		c.Error(err)
		return
	}
	for ctx.Err() == nil {
		news, err := definitions.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{})
		if err != nil {
			return // nothing depends on it
		}
		for event := range news.ResultChan() {
			crd, is := event.Object.(*apiextensionsv1.CustomResourceDefinition)
			if !is || event.Type == watch.Deleted || !strings.HasSuffix(crd.Spec.Names.Kind, "Thing") ||
				!apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
				continue
			}
			for _, version := range crd.Spec.Versions {
				if version.Served {
					resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural}
					go func() { _, _ = objects.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}) }()
				}
			}
		}
	}
}

// clear removes what an earlier story left.
func (c *cluster) clear() {
	c.Helper()
	ctx := c.Context()
	mine := client.HasLabels{installation.InstalledByLabel}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}, {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}, {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}, {Group: "config.openshift.io", Version: "v1", Kind: "ClusterOperator"},
	} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		var options []client.DeleteAllOfOption
		if kind.Kind != "ClusterOperator" {
			options = append(options, mine)
		}
		if err := c.DeleteAllOf(ctx, o, options...); err != nil {
			c.Fatal(err)
		}
	}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Secret"},
		{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		if err := c.DeleteAllOf(ctx, o, client.InNamespace(bundle.Namespace)); err != nil {
			c.Fatal(err)
		}
	}
	services := &corev1.ServiceList{}
	if err := c.List(ctx, services, client.InNamespace(bundle.Namespace)); err != nil {
		c.Fatal(err)
	}
	for i := range services.Items {
		_ = c.Delete(ctx, &services.Items[i])
	}
	crds := &unstructured.UnstructuredList{}
	crds.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	c.eventually("definitions are gone", func() error {
		if err := c.List(ctx, crds); err != nil {
			return err
		}
		var left []string
		for i := range crds.Items {
			if !strings.HasSuffix(crds.Items[i].GetName(), ".config.openshift.io") {
				status, _, _ := unstructured.NestedSlice(crds.Items[i].Object, "status", "conditions")
				left = append(left, fmt.Sprint(crds.Items[i].GetName(), " ", crds.Items[i].GetFinalizers(), " ", status))
				_ = c.Delete(ctx, &crds.Items[i])
				c.letGo(&crds.Items[i])
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("%s are left", strings.Join(left, "; "))
		}
		return nil
	})
}

// letGo takes the finalizers off the objects of a definition that is being deleted: a real manager that a story ran may have put its own on them.
func (c *cluster) letGo(definition *unstructured.Unstructured) {
	c.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, &crd); err != nil {
		c.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if !v.Storage || crd.DeletionTimestamp == nil {
			continue
		}
		objects := &metav1.PartialObjectMetadataList{}
		objects.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.ListKind})
		_ = c.List(c.Context(), objects) // the definition may just have gone
		for i := range objects.Items {
			objects.Items[i].SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
			_ = c.Patch(c.Context(), &objects.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}
	}
}

func (c *cluster) furnish(platform configv1.PlatformType) {
	c.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bundle.Namespace}}
	if err := c.Create(c.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		c.Fatal(err)
	}
	c.roles()
	infrastructure := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	if err := c.Create(c.Context(), infrastructure); err != nil && !apierrors.IsAlreadyExists(err) {
		c.Fatal(err)
	}
	c.platform(platform)
	images, _ := json.Marshal(map[string]string{"clusterapi": imageOf("1"), "aws": imageOf("2"), "kubeadm": imageOf("3"), "gcp": imageOf("4")})
	c.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: bundle.ImagesConfigMap},
		Data: map[string]string{"images.json": string(images)}})
}

// roles has the installer's role and account be what is shipped.
func (c *cluster) roles() {
	c.Helper()
	for _, file := range []string{"roles.yaml", "serviceaccount.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../manifests/components/install", file))
		if err != nil {
			c.Fatal(err)
		}
		documents, err := bundle.Decode(text)
		if err != nil {
			c.Fatal(err)
		}
		for _, d := range documents {
			o := &unstructured.Unstructured{Object: d.Object}
			if err := c.Apply(c.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl"), client.ForceOwnership); err != nil {
				c.Fatal(err)
			}
		}
	}
}

func (c *cluster) platform(platform configv1.PlatformType) {
	c.Helper()
	infrastructure := &configv1.Infrastructure{}
	if err := c.Get(c.Context(), client.ObjectKey{Name: "cluster"}, infrastructure); err != nil {
		c.Fatal(err)
	}
	infrastructure.Status = configv1.InfrastructureStatus{
		InfrastructureName: "own", ControlPlaneTopology: configv1.HighlyAvailableTopologyMode, InfrastructureTopology: configv1.HighlyAvailableTopologyMode,
		PlatformStatus: &configv1.PlatformStatus{Type: platform},
	}
	if err := c.Status().Update(c.Context(), infrastructure); err != nil {
		c.Fatal(err)
	}
}

// put creates or replaces a ConfigMap, as the version operator does.
func (c *cluster) put(cm *corev1.ConfigMap) {
	c.Helper()
	cm = cm.DeepCopy()
	old := &corev1.ConfigMap{}
	err := c.Get(c.Context(), client.ObjectKeyFromObject(cm), old)
	if err == nil {
		cm.ResourceVersion = old.ResourceVersion
		err = c.Update(c.Context(), cm)
	} else if apierrors.IsNotFound(err) {
		err = c.Create(c.Context(), cm)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// release puts the ConfigMaps of a release, in an order of chance.
func (c *cluster) release(all ...*corev1.ConfigMap) {
	c.Helper()
	for _, cm := range all {
		c.put(cm)
	}
}

// once has one pass.
func (c *cluster) once() (wait time.Duration, err error) {
	result, err := c.r.Reconcile(c.Context(), theRequest)
	return result.RequeueAfter, err
}

// untilDone has passes until nothing is waited for.
func (c *cluster) untilDone() {
	c.Helper()
	c.eventually("everything is installed", func() error {
		again, err := c.once()
		if err != nil {
			return err
		}
		if again < c.r.Resync {
			return fmt.Errorf("it waits: %s", c.condition(configv1.OperatorProgressing).Message)
		}
		return nil
	})
}

func (c *cluster) eventually(what string, do func() error) {
	c.Helper()
	var last error
	const limit = 3 * time.Minute // a machine with other tests on it is slow: this is for what never comes
	err := wait.PollUntilContextTimeout(c.Context(), 50*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = do()
		return last == nil, nil
	})
	if err != nil {
		c.Fatalf("%s: %v", what, last)
	}
}

func (c *cluster) condition(kind configv1.ClusterStatusConditionType) configv1.ClusterOperatorStatusCondition {
	c.Helper()
	o := &configv1.ClusterOperator{}
	if err := c.Get(c.Context(), client.ObjectKey{Name: installation.OperatorName}, o); err != nil {
		return configv1.ClusterOperatorStatusCondition{Message: err.Error()}
	}
	for _, found := range o.Status.Conditions {
		if found.Type == kind {
			return found
		}
	}
	return configv1.ClusterOperatorStatusCondition{}
}

func (c *cluster) expect(want map[configv1.ClusterStatusConditionType]configv1.ConditionStatus) {
	c.Helper()
	for kind, status := range want {
		if got := c.condition(kind); got.Status != status {
			c.Errorf("%s is %s (%s: %s), want %s", kind, got.Status, got.Reason, got.Message, status)
		}
	}
}

func kindOf(kind string) schema.GroupVersionKind {
	groups := map[string]string{
		"ClusterOperator": "config.openshift.io",
		"Deployment":      "apps", "ClusterRole": "rbac.authorization.k8s.io", "ClusterRoleBinding": "rbac.authorization.k8s.io", "PriorityClass": "scheduling.k8s.io",
		"ValidatingWebhookConfiguration": "admissionregistration.k8s.io", "CustomResourceDefinition": "apiextensions.k8s.io", "ValidatingAdmissionPolicy": "admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io",
	}
	if strings.HasSuffix(kind, "Thing") {
		return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1", Kind: kind}
	}
	return schema.GroupVersionKind{Group: groups[kind], Version: "v1", Kind: kind}
}

// find returns an object, nil for none.
func (c *cluster) find(kind, name string) *unstructured.Unstructured {
	c.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kindOf(kind))
	key := client.ObjectKey{Name: name}
	if slices.Contains([]string{"Deployment", "ConfigMap", "Service", "ServiceAccount"}, kind) || strings.HasSuffix(kind, "Thing") {
		key.Namespace = bundle.Namespace
	}
	if err := c.Get(c.Context(), key, o); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		c.Fatal(err)
	}
	return o
}

func (c *cluster) must(kind, name string) *unstructured.Unstructured {
	c.Helper()
	o := c.find(kind, name)
	if o == nil {
		c.Fatalf("%s/%s is not there", kind, name)
	}
	return o
}

// edit patches an object as a person.
func (c *cluster) edit(kind, name string, patch types.PatchType, text string) {
	c.Helper()
	if err := c.Patch(c.Context(), c.must(kind, name), client.RawPatch(patch, []byte(text)), client.FieldOwner("kubectl-edit")); err != nil {
		c.Fatal(err)
	}
}

// quiet holds that a pass writes nothing.
func (c *cluster) quiet() {
	c.Helper()
	before := len(c.wire.Writes())
	if _, err := c.once(); err != nil {
		c.Error(err)
	}
	for _, w := range c.wire.Writes()[before:] {
		c.Errorf("an unchanged pass wrote: %s", w)
	}
}

// audited are the writes of the installer to objects that have a name with a prefix, in order, as RESOURCE/NAME.
func audited(t *testing.T, from int64, prefix string) []string {
	t.Helper()
	file, err := os.Open(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var out []string
	decoder := json.NewDecoder(file)
	for {
		var e struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Name, Subresource string }
			ResponseStatus struct{ Code int }
		}
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if what := e.ObjectRef.Resource + "/" + e.ObjectRef.Name; e.User.Username == account && strings.HasPrefix(e.ObjectRef.Name, prefix) &&
			e.ResponseStatus.Code < 300 && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
}

func auditedSoFar(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
