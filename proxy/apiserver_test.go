// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/translation"
)

var (
	plane *embedded.Plane // set once, by TestMain
	// names are those of the definitions that a client sees, each once.
	names = map[string]int{}
)

func TestMain(m *testing.M) {
	if flag.Parse(); flag.Lookup("test.run").Value.String() == "^$" {
		os.Exit(m.Run()) // benchmarks alone, which an API server beside them would disturb
	}
	all, err := embedded.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range all {
		provider := strings.HasPrefix(crd.Spec.Group, "infrastructure.")
		needed := slices.Contains([]string{"awsclusters", "awsmachines", "awsmachinetemplates"}, crd.Spec.Names.Plural)
		large := crd.Spec.Names.Plural == "clusterclasses" // the largest schema, and no test has an object of it
		if strings.HasSuffix(crd.Spec.Group, translation.Standard) && (!provider || needed) && !large {
			names[crd.Name] = 1
			private := crd.DeepCopy()
			private.Name, private.Spec.Group = translation.ToPrivate.Definition(crd.Name), translation.ToPrivate.Group(crd.Spec.Group)
			crds = append(crds, crd, private) // the platform's, and ours
		}
	}
	options := embedded.Options{CRDs: crds, ControllerManager: true,
		ControllerManagerArgs: []string{"--controllers=garbage-collector-controller,namespace-controller"}}
	os.Exit(embedded.Main(m, options, func(p *embedded.Plane) error {
		plane = p
		return nil
	}))
}

var (
	clusters = schema.GroupVersionResource{Group: translation.Standard, Version: "v1beta2", Resource: "clusters"}
	machines = schema.GroupVersionResource{Group: translation.Standard, Version: "v1beta2", Resource: "machines"}
)

func stored(r schema.GroupVersionResource) schema.GroupVersionResource {
	r.Group = translation.ToPrivate.Group(r.Group)
	return r
}

// seen is every byte that clients were answered.
type seen struct {
	handler http.Handler
	mu      sync.Mutex
	answers bytes.Buffer
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.handler.ServeHTTP(&watching{ResponseWriter: w, seen: s}, r)
}

type watching struct {
	http.ResponseWriter
	seen *seen
}

func (w *watching) WriteHeader(code int) {
	w.seen.note([]byte(fmt.Sprint(w.Header()["Warning"])))
	w.ResponseWriter.WriteHeader(code)
}

func (w *watching) Write(p []byte) (int, error) {
	w.seen.note(p)
	return w.ResponseWriter.Write(p)
}

func (w *watching) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *seen) note(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.Write(p)
}

// behind starts a proxy, and returns the configuration of clients behind it. At the end of the test no private name may have reached any of them.
func behind(t *testing.T) *rest.Config {
	t.Helper()
	p, err := New(Options{Upstream: plane.Admin(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{handler: p}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		p.drain()
		server.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		// JSON in text is not translated, and of this text the API server writes a part itself when somebody applies.
		answers := regexp.MustCompile(`"kubectl.kubernetes.io/last-applied-configuration":"(\\.|[^"\\])*"`).ReplaceAll(s.answers.Bytes(), nil)
		if at := bytes.Index(answers, []byte(translation.Private)); at >= 0 {
			t.Errorf("a client saw a private name: %s", answers[max(0, at-300):min(len(answers), at+200)])
		}
	})
	return &rest.Config{Host: server.URL, QPS: -1}
}

func namespace(t *testing.T) string {
	t.Helper()
	c := kubernetes.NewForConfigOrDie(plane.Admin())
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "proxy-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

func cluster(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"cluster.x-k8s.io/cluster-name": name, "apiVersion": "kept"}, "annotations": map[string]any{"cluster.x-k8s.io/cloned-from-groupkind": "X." + translation.Standard}},
		"spec":     map[string]any{"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSCluster", "name": name}},
	}}
}

func machine(name, cluster string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": map[string]any{"name": name, "finalizers": []any{"machine.cluster.x-k8s.io"}},
		"spec": map[string]any{
			"clusterName": cluster, "bootstrap": map[string]any{"dataSecretName": "s"},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": name},
		},
	}}
}

func machineSet(name, cluster string) *unstructured.Unstructured {
	labels := map[string]any{"cluster.x-k8s.io/cluster-name": cluster}
	spec := machine(name, cluster).Object["spec"]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"clusterName": cluster, "replicas": int64(1), "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec},
		},
	}}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func poll(t *testing.T, what string, until func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 60*time.Second, true, until); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// A client writes standard names in every way there is; the store has private ones.
func TestWhatIsStored(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	client, direct := dynamic.NewForConfigOrDie(behind(t)), dynamic.NewForConfigOrDie(plane.Admin())
	one := must[*unstructured.Unstructured](t)
	ours, theirs := client.Resource(clusters).Namespace(ns), direct.Resource(stored(clusters)).Namespace(ns)
	created := one(ours.Create(t.Context(), cluster("a"), metav1.CreateOptions{FieldManager: "creator"}))
	check := func(why string) {
		t.Helper()
		o := one(theirs.Get(t.Context(), "a", metav1.GetOptions{}))
		text, _ := json.Marshal(o)
		if o.GetAPIVersion() != translation.Private+"/v1beta2" || o.GetUID() != created.GetUID() {
			t.Errorf("%s: %s", why, text)
		}
		if group, _, _ := unstructured.NestedString(o.Object, "spec", "infrastructureRef", "apiGroup"); group != "infrastructure."+translation.Private {
			t.Errorf("%s: the reference is stored as %q", why, group)
		}
		for _, m := range o.GetManagedFields() {
			if m.APIVersion != translation.Private+"/v1beta2" {
				t.Errorf("%s: managed fields of %s have %q", why, m.Manager, m.APIVersion)
			}
		}
		if o.GetLabels()["cluster.x-k8s.io/cluster-name"] != "a" || o.GetAnnotations()["cluster.x-k8s.io/cloned-from-groupkind"] != "X."+translation.Standard {
			t.Errorf("%s: %s", why, text)
		}
	}
	check("created")
	read := one(ours.Get(t.Context(), "a", metav1.GetOptions{}))
	if d := cmp.Diff(created, read); d != "" {
		t.Error(d)
	}
	read.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "a", "l": "1"})
	read = one(ours.Update(t.Context(), read, metav1.UpdateOptions{FieldManager: "updater"}))
	check("updated")
	if n := len(read.GetManagedFields()); n != 2 {
		t.Errorf("%d managed fields after an update", n)
	}
	for media, patch := range map[types.PatchType]string{
		types.MergePatchType: `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"labels":{"m":"1"}},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io"}}}`,
		types.JSONPatchType: `[{"op":"test","path":"/apiVersion","value":"cluster.x-k8s.io/v1beta2"},{"op":"test","path":"/spec/infrastructureRef/apiGroup","value":"infrastructure.cluster.x-k8s.io"},` +
			`{"op":"replace","path":"/spec/infrastructureRef","value":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSCluster","name":"a"}}]`,
		types.ApplyPatchType: "# YAML\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a, labels: {y: \"1\"}}\n",
	} {
		one(ours.Patch(t.Context(), "a", media, []byte(patch), metav1.PatchOptions{FieldManager: "patcher"}))
		check(string(media))
	}
	applied := cluster("a")
	applied.SetLabels(map[string]string{"applied": "1", "cluster.x-k8s.io/cluster-name": "a"})
	one(ours.Apply(t.Context(), "a", applied, metav1.ApplyOptions{FieldManager: "json", Force: true}))
	check("applied as JSON")
	if _, err := ours.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"test","path":"/apiVersion","value":"x"}]`),
		metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Error("a test that fails:", err)
	}

	list := must[*unstructured.UnstructuredList](t)(ours.List(t.Context(), metav1.ListOptions{LabelSelector: "cluster.x-k8s.io/cluster-name=a"}))
	if len(list.Items) != 1 || list.GetAPIVersion() != "cluster.x-k8s.io/v1beta2" || list.Items[0].GetAPIVersion() != "cluster.x-k8s.io/v1beta2" {
		t.Errorf("%+v", list)
	}
	fromMetadata, err := metadata.NewForConfigOrDie(behind(t)).Resource(clusters).Namespace(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(fromMetadata.Items) != 1 || fromMetadata.Items[0].ManagedFields[0].APIVersion != "cluster.x-k8s.io/v1beta2" {
		t.Errorf("%+v %v", fromMetadata, err)
	}
	if err := ours.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := theirs.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// A watch has what was there, what comes, and how it ends.
func TestAWatch(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	client := dynamic.NewForConfigOrDie(behind(t)).Resource(machines).Namespace(ns)
	direct := dynamic.NewForConfigOrDie(plane.Admin())
	one := must[*unstructured.Unstructured](t)
	one(client.Create(t.Context(), machine("a", "c"), metav1.CreateOptions{}))
	initial := true
	w, err := client.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	o := machine("b", "c")
	o.SetAPIVersion(translation.Private + "/v1beta2")
	o.Object["spec"].(map[string]any)["infrastructureRef"].(map[string]any)["apiGroup"] = "infrastructure." + translation.Private
	one(direct.Resource(stored(machines)).Namespace(ns).Create(t.Context(), o, metav1.CreateOptions{}))
	var got []string
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || u.GroupVersionKind().Group != translation.Standard {
			t.Fatalf("%+v", event)
		}
		got = append(got, string(event.Type)+" "+u.GetName())
		if u.GetName() == "b" {
			break
		}
	}
	if want := "ADDED a,BOOKMARK ,ADDED b"; strings.Join(got, ",") != want {
		t.Errorf("%v, want %s", got, want)
	}
	old, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Stop()
	if event := <-old.ResultChan(); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("from a version that the API server has forgotten: %+v", event)
	}
}

// A list that is read in pieces goes on from a token, and what is left of it can be had when the token has expired.
func TestATokenThatExpires(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	client := dynamic.NewForConfigOrDie(behind(t)).Resource(machines).Namespace(ns)
	list := func(token string) (*unstructured.UnstructuredList, error) {
		return client.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: token})
	}
	one := must[*unstructured.Unstructured](t)
	for _, name := range []string{"a", "b", "c"} {
		one(client.Create(t.Context(), machine(name, "c"), metav1.CreateOptions{}))
	}
	page := must[*unstructured.UnstructuredList](t)(list(""))
	if err := plane.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The API server has kept what the list was made of. It has nothing of its first version.
	token, err := base64.RawURLEncoding.DecodeString(page.GetContinue())
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`"rv":\d+`).ReplaceAll(token, []byte(`"rv":1`))
	_, err = list(base64.RawURLEncoding.EncodeToString(old))
	var expired apierrors.APIStatus
	if !errors.As(err, &expired) || !apierrors.IsResourceExpired(err) {
		t.Fatal(err)
	}
	rest := must[*unstructured.UnstructuredList](t)(list(expired.Status().Continue))
	if len(rest.Items) != 1 || rest.Items[0].GetName() != "b" || rest.Items[0].GroupVersionKind().Group != translation.Standard {
		t.Errorf("%+v", rest)
	}
}

// An owner is deleted and the collector, which knows private names alone, deletes its dependents; the platform's dependents stay whatever a client does with
// them. The client sends protobuf.
func TestOwners(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	config := behind(t)
	typed := rest.CopyConfig(config)
	typed.ContentType, typed.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+",application/json"
	secrets := kubernetes.NewForConfigOrDie(typed).CoreV1().Secrets(ns)
	direct := kubernetes.NewForConfigOrDie(plane.Admin()).CoreV1().Secrets(ns)
	one, secret := must[*unstructured.Unstructured](t), must[*corev1.Secret](t)
	ours := dynamic.NewForConfigOrDie(config).Resource(clusters).Namespace(ns)
	owner := one(ours.Create(t.Context(), cluster("c"), metav1.CreateOptions{}))
	platforms := one(dynamic.NewForConfigOrDie(plane.Admin()).Resource(clusters).Namespace(ns).Create(t.Context(), cluster("c"), metav1.CreateOptions{}))
	reference := func(o *unstructured.Unstructured) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()}}
	}
	secret(secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ours", OwnerReferences: reference(owner)},
		Type: "cluster.x-k8s.io/secret"}, metav1.CreateOptions{}))
	secret(direct.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs", OwnerReferences: reference(platforms)}},
		metav1.CreateOptions{}))

	if o := secret(direct.Get(t.Context(), "ours", metav1.GetOptions{})); o.OwnerReferences[0].APIVersion != translation.Private+"/v1beta2" ||
		o.Type != "cluster.x-k8s.io/secret" {
		t.Errorf("stored: %+v", o)
	}
	if o := secret(secrets.Get(t.Context(), "ours", metav1.GetOptions{})); o.OwnerReferences[0].APIVersion != translation.Standard+"/v1beta2" {
		t.Errorf("read: %+v", o)
	}
	o := secret(secrets.Get(t.Context(), "theirs", metav1.GetOptions{}))
	if o.OwnerReferences[0].APIVersion != translation.Foreign+"/v1beta2" {
		t.Errorf("read: %+v", o)
	}
	o.Labels = map[string]string{"changed": "yes"}
	secret(secrets.Update(t.Context(), o, metav1.UpdateOptions{}))
	if o := secret(direct.Get(t.Context(), "theirs", metav1.GetOptions{})); o.OwnerReferences[0].APIVersion != translation.Standard+"/v1beta2" ||
		o.Labels["changed"] != "yes" {
		t.Errorf("written back: %+v", o)
	}
	if err := ours.Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, "the collector", func(ctx context.Context) (bool, error) {
		_, err := direct.Get(ctx, "ours", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	secret(direct.Get(t.Context(), "theirs", metav1.GetOptions{}))
}

// Definitions have their standard names, once; the platform's are not there.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	config := behind(t)
	client := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	direct := apiextensions.NewForConfigOrDie(plane.Admin()).ApiextensionsV1().CustomResourceDefinitions()
	one := must[*apiextensionsv1.CustomResourceDefinition](t)
	const name = "machines.cluster.x-k8s.io"
	ours := one(direct.Get(t.Context(), "machines."+translation.Private, metav1.GetOptions{}))
	for why, read := range map[string]func() (string, types.UID, error){
		"by name": func() (string, types.UID, error) {
			crd, err := client.Get(t.Context(), name, metav1.GetOptions{})
			return crd.Spec.Group, crd.UID, err
		},
		"by a selector": func() (string, types.UID, error) {
			list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
			if err != nil || len(list.Items) != 1 {
				return "", "", fmt.Errorf("%+v %w", list, err)
			}
			return list.Items[0].Spec.Group, list.Items[0].UID, err
		},
		"metadata": func() (string, types.UID, error) {
			o, err := metadata.NewForConfigOrDie(config).Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(t.Context(),
				name, metav1.GetOptions{})
			return translation.Standard, o.UID, err
		},
		"patched": func() (string, types.UID, error) {
			crd, err := client.Patch(t.Context(), name, types.MergePatchType,
				[]byte(`{"metadata":{"name":"`+name+`","labels":{"patched":"yes"}},"spec":{"group":"cluster.x-k8s.io"}}`), metav1.PatchOptions{})
			return crd.Spec.Group, crd.UID, err
		},
	} {
		if group, uid, err := read(); err != nil || group != translation.Standard || uid != ours.UID {
			t.Errorf("%s: %q %q %v", why, group, uid, err)
		}
	}
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, crd := range list.Items {
		got[crd.Name]++
	}
	if !maps.Equal(got, names) {
		t.Error(cmp.Diff(names, got))
	}
	if _, err := client.Get(t.Context(), "machines."+translation.Private, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error("by its private name:", err)
	}
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Error("deleting all:", err)
	}
}

// Discovery, in both forms, has each standard group once.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	config := behind(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(config)
	for _, legacy := range []bool{false, true} {
		client.UseLegacyDiscovery = legacy
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, l := range lists {
			for _, r := range l.APIResources {
				if strings.Contains(l.GroupVersion, "cluster") {
					seen[l.GroupVersion+" "+r.Name+" "+r.Group]++
				}
			}
		}
		if n := seen["cluster.x-k8s.io/v1beta2 machines "] + seen["cluster.x-k8s.io/v1beta2 machines cluster.x-k8s.io"]; n != 1 {
			t.Errorf("legacy %v: %v", legacy, seen)
		}
		if seen["cluster.x-k8s.io/v1beta2 machinesets/scale autoscaling"] != 1 {
			t.Errorf("legacy %v: %v", legacy, seen)
		}
		for r, n := range seen {
			if n != 1 || strings.Contains(r, "openshift") {
				t.Errorf("legacy %v: %s %d times", legacy, r, n)
			}
		}
	}
	// The API server publishes the schemas of definitions some seconds after them, so each version is asked for until it is whole.
	for what, read := range map[string]func() error{
		"OpenAPI's version 3": func() error {
			paths, err := client.OpenAPIV3().Paths()
			if err != nil {
				return err
			}
			document, ok := paths["apis/cluster.x-k8s.io/v1beta2"]
			if !ok {
				return errors.New("no path of the group")
			}
			// A path with the hash of a document that has changed since leads to the one that is there.
			path := "/openapi/v3/apis/cluster.x-k8s.io/v1beta2"
			led := ""
			follower := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
				led = r.URL.Path
				return nil
			}}
			answer, err := follower.Get(config.Host + path + "?hash=OLD")
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK || led != path {
				return fmt.Errorf("an old hash leads to %q: %s", led, answer.Status)
			}
			text, err := document.Schema("application/json")
			if err == nil && (!bytes.Contains(text, []byte(`"io.x-k8s.cluster.v1beta2.Machine":`)) ||
				!bytes.Contains(text, []byte(`"/apis/cluster.x-k8s.io/v1beta2/machines"`))) {
				err = fmt.Errorf("no Machine in %.400s", text)
			}
			return err
		},
		"OpenAPI's version 2": func() error {
			whole, err := client.OpenAPISchema() // in its binary form, as kubectl falls back to
			if err != nil {
				return err
			}
			var standard, hidden int
			for _, schema := range whole.GetDefinitions().GetAdditionalProperties() {
				switch {
				case schema.Name == "io.x-k8s.cluster.v1beta2.Machine":
					standard++
				case strings.Contains(schema.Name, "hypershift"):
					hidden++
				}
			}
			if standard != 1 || hidden != 0 {
				return fmt.Errorf("it has the schema of a Machine %d times, and %d of private groups", standard, hidden)
			}
			return nil
		},
	} {
		var last error
		if wait.PollUntilContextTimeout(t.Context(), time.Second, 3*time.Minute, true, func(context.Context) (bool, error) {
			last = read()
			return last == nil, nil
		}) != nil {
			t.Errorf("%s: %v", what, last)
		}
	}
}

// kubectl does through the proxy what it does anywhere: where it has full names, it prints what it prints of the platform's own kinds without a proxy.
func TestKubectl(t *testing.T) {
	stories.Long(t)
	t.Parallel()
	ns := namespace(t)
	config := behind(t)
	kubeconfig, home := t.TempDir()+"/kubeconfig", t.TempDir()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host}
	c.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	c.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*c, kubeconfig); err != nil {
		t.Fatal(err)
	}
	run := func(kubeconfig, in string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), plane.Kubectl(),
			append([]string{"--namespace=" + ns, "--kubeconfig=" + kubeconfig, "--cache-dir=" + home + "/" + filepath.Base(filepath.Dir(kubeconfig))}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "error: " + string(out)
		}
		return string(out)
	}
	// The API server publishes the schemas of definitions some seconds after them.
	for _, face := range []string{plane.KubeconfigPath(), kubeconfig} {
		if err := wait.PollUntilContextTimeout(t.Context(), time.Second, 3*time.Minute, true, func(context.Context) (bool, error) {
			return !strings.HasPrefix(run(face, "", "explain", "machines.cluster.x-k8s.io.spec.clusterName"), "error"), nil
		}); err != nil {
			t.Fatalf("no schema of Machines: %v", err)
		}
	}
	manifest, _ := json.Marshal(machine("m", "c"))
	// Of last-applied-configuration, the API server writes a part itself when somebody applies.
	unstable := regexp.MustCompile(`(uid|resourceVersion|creationTimestamp|deletionTimestamp|time): .*|[0-9]+m?s\b|\{"apiVersion":.*`)
	for _, step := range []struct {
		in   string
		args string
		want string // a pattern
	}{
		{string(manifest), "apply -f -", `(?m)^machine.cluster.x-k8s.io/m created`},
		{string(manifest), "apply -f -", `(?m)^machine.cluster.x-k8s.io/m unchanged`},
		{string(manifest), "apply --server-side --force-conflicts -f -", `(?m)^machine.cluster.x-k8s.io/m serverside-applied`},
		{string(manifest), "apply -f -", `(?m)^machine.cluster.x-k8s.io/m (unchanged|configured)`},
		{"", "get machines.cluster.x-k8s.io", `NAME +CLUSTER[\s\S]*m +c`},
		{"", "get machine -o name", `^machine.cluster.x-k8s.io/m\n`},
		{"", "get machines.cluster.x-k8s.io m -o yaml", `apiVersion: cluster.x-k8s.io/v1beta2`},
		{"", "label machines.cluster.x-k8s.io m a=b", `(?m)^machine.cluster.x-k8s.io/m labeled`},
		{"", "explain machine.spec.clusterName", `GROUP: +cluster.x-k8s.io`},
		{"", "auth can-i get machines.cluster.x-k8s.io", `^yes`},
		{"", "api-resources --api-group=cluster.x-k8s.io -o name", `machines.cluster.x-k8s.io`},
		{"", "get machines.cluster.x-k8s.io nothing", `^error: .*machines.cluster.x-k8s.io "nothing" not found`},
		{"", "get machines.cluster.hypershift.openshift.io", `^error: .*the server doesn't have a resource type`},
		{"", "get crd machines.cluster.x-k8s.io -o name", `^customresourcedefinition.apiextensions.k8s.io/machines.cluster.x-k8s.io`},
		{"", "patch machines.cluster.x-k8s.io m --type=merge -p {\"metadata\":{\"finalizers\":null}}", `patched`},
		{"", "delete machines.cluster.x-k8s.io m", `(?m)^machine.cluster.x-k8s.io "m" deleted`},
	} {
		args := strings.Split(step.args, " ")
		got := run(kubeconfig, step.in, args...)
		if !regexp.MustCompile(step.want).MatchString(got) {
			t.Errorf("kubectl %s: %s", step.args, got)
		}
		if !strings.Contains(step.args, "machines.cluster.x-k8s.io") && step.in == "" {
			continue // a short name is another kind's, where there are two
		}
		stable := func(text string) string { return columns.ReplaceAllString(unstable.ReplaceAllString(text, "…"), " ") }
		if d := cmp.Diff(stable(run(plane.KubeconfigPath(), step.in, args...)), stable(got)); d != "" {
			t.Errorf("kubectl %s (-without +through the proxy): %s", step.args, d)
		}
	}
}

// columns are as wide as what stands in them, such as an age.
var columns = regexp.MustCompile(` +`)

// The client of scales, a typed client of controller-runtime's and its cache work on a set together.
func TestClients(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	config := behind(t)
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed := must[client.Client](t)(client.New(config, client.Options{Scheme: scheme}))
	cached := must[cache.Cache](t)(cache.New(config, cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{ns: {}}}))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- cached.Start(ctx) }()

	set := &clusterv1.MachineSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(machineSet("s", "c").Object, set); err != nil {
		t.Fatal(err)
	}
	set.Namespace = ns
	if err := typed.Create(ctx, set); err != nil {
		t.Fatal(err)
	}
	set.Status.AvailableReplicas = new(int32(7))
	if err := typed.Status().Update(ctx, set); err != nil {
		t.Fatal(err)
	}
	d := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(config))
	scales, err := scale.NewForConfig(config, restmapper.NewDeferredDiscoveryRESTMapper(d), dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(d))
	if err != nil {
		t.Fatal(err)
	}
	sets := schema.GroupResource{Group: translation.Standard, Resource: "machinesets"}
	of, err := scales.Scales(ns).Get(ctx, sets, "s", metav1.GetOptions{})
	if err != nil || of.Spec.Replicas != 1 {
		t.Fatal(of, err)
	}
	of.Spec.Replicas = 5
	if _, err := scales.Scales(ns).Update(ctx, sets, of, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, "the cache", func(ctx context.Context) (bool, error) {
		seen := &clusterv1.MachineSet{}
		err := cached.Get(ctx, client.ObjectKeyFromObject(set), seen)
		return err == nil && *seen.Spec.Replicas == 5 && *seen.Status.AvailableReplicas == 7 && seen.UID == set.UID, client.IgnoreNotFound(err)
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What a client has of discovery it keeps, for as long as the API server says that nothing has changed.
func TestETags(t *testing.T) {
	t.Parallel()
	address := behind(t).Host
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	first, body, err := ask(t, "GET", address+"/apis", "", "Accept", accept)
	if err != nil || first.StatusCode != 200 || first.Header.Get("ETag") == "" || !strings.Contains(body, `"name":"cluster.x-k8s.io"`) {
		t.Fatalf("%+v %.300s %v", first, body, err)
	}
	again, body, err := ask(t, "GET", address+"/apis", "", "Accept", accept, "If-None-Match", first.Header.Get("ETag"))
	if err != nil || again.StatusCode != 304 || body != "" {
		t.Errorf("%+v %.300s %v", again, body, err)
	}
}

// The platform's standard kinds are served by the same API server: what a client gets for its own, through the proxy, is what it would get for those,
// errors and warnings included.
func TestTheSameAnswers(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	through, direct := behind(t), plane.Admin()
	plain, err := rest.HTTPClientFor(direct)
	if err != nil {
		t.Fatal(err)
	}
	wrong := machine("wrong", "c")
	unstructured.RemoveNestedField(wrong.Object, "spec", "clusterName")
	text := func(o *unstructured.Unstructured) string {
		b, _ := json.Marshal(o)
		return string(b)
	}
	path := "/apis/cluster.x-k8s.io/v1beta2/namespaces/" + ns + "/machines"
	sets := strings.TrimSuffix(path, "machines") + "machinesets"
	set := machineSet("s", "c")
	codes := map[string]int{}
	unstable := regexp.MustCompile(
		`"(uid|resourceVersion|creationTimestamp|deletionTimestamp|time)":"[^"]*"|"(age|AGE)":"[^"]*"|"continue":"[^"]*"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|"[0-9]+m?s"|1 \([0-9]+\)`)
	for _, step := range []struct{ method, path, media, body, accept, user string }{
		{"GET", path, "", "", "", ""},
		{"POST", path, "application/json", text(machine("m", "c")), "", ""},
		{"POST", path, "application/json", text(machine("m", "c")), "", ""},
		{"POST", path, "application/json", text(wrong), "", ""},
		{"POST", path, "application/json", text(cluster("not-a-machine")), "", ""},
		{"POST", path, "application/yaml", "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: y}\nspec: {clusterName: c, bootstrap: {dataSecretName: s}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: K, name: n}}\n", "", ""},
		{"POST", path, "text/plain", "x", "", ""},
		{"GET", path, "", "", "", ""},
		{"GET", path + "?limit=1", "", "", "", ""},
		{"GET", path + "/m", "", "", "", ""},
		{"GET", path + "/m", "", "", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ""},
		{"GET", path, "", "", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", ""},
		{"GET", path, "", "", "application/json;as=Table;g=meta.k8s.io;v=v1", ""},
		{"GET", path + "?includeObject=Object", "", "", "application/json;as=Table;g=meta.k8s.io;v=v1", ""},
		{"GET", path + "/none", "", "", "", ""},
		{"GET", "/apis/cluster.x-k8s.io/v1beta1/namespaces/" + ns + "/machines/m", "", "", "", ""},
		{"GET", "/apis/cluster.x-k8s.io/v0/machines", "", "", "", ""},
		{"GET", "/apis/cluster.x-k8s.io", "", "", "", ""},
		{"PATCH", path + "/m", "application/merge-patch+json", `{"apiVersion":"cluster.x-k8s.io/v1","kind":"Machine"}`, "", ""},
		{"PATCH", path + "/m", "application/merge-patch+json", `{"metadata":{"resourceVersion":"1"}}`, "", ""},
		{"PATCH", path + "/m", "application/merge-patch+json", `{"spec":{"clusterName":7}}`, "", ""},
		{"PATCH", path + "/m", "application/strategic-merge-patch+json", `{}`, "", ""},
		{"PATCH", path + "/m?fieldManager=x", "application/apply-patch+yaml", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"m"},"spec":{"clusterName":"other"}}`, "", ""},
		{"PATCH", path + "/m/status", "application/merge-patch+json", `{"status":{"phase":"Running"}}`, "", ""},
		{"POST", sets, "application/json", text(set), "", ""},
		{"GET", sets + "/s/scale", "", "", "", ""},
		{"PATCH", sets + "/s/scale", "application/merge-patch+json", `{"spec":{"replicas":2}}`, "", ""},
		{"PATCH", sets + "/s/scale", "application/merge-patch+json", `{"spec":{"replicas":-1}}`, "", ""},
		{"GET", path + "?watch=1&resourceVersion=1", "", "", "", ""},
		{"GET", path + "?limit=1&continue=x", "", "", "", ""},
		{"GET", path, "", "", "", "nobody"},
		{"POST", path, "application/json", text(machine("m", "c")), "", "nobody"},
		{"DELETE", path, "", "", "", "nobody"},
		{"PUT", path + "/none", "application/json", text(machine("none", "c")), "", ""},
		{"PUT", path + "/m", "application/json", text(machine("other", "c")), "", ""},
		{"DELETE", path + "?dryRun=All", "", "", "", ""},
		{"DELETE", path + "/m", "application/json", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"DeleteOptions","dryRun":["All"]}`, "", ""},
		{"DELETE", path + "/m", "application/json", `{"preconditions":{"uid":"x"}}`, "", ""},
		{"DELETE", path + "/y", "", "", "", ""},
		{"HEAD", path, "", "", "", ""},
	} {
		answer := func(c *http.Client, host string) string {
			r, err := http.NewRequestWithContext(t.Context(), step.method, host+step.path, strings.NewReader(step.body))
			if err != nil {
				t.Fatal(err)
			}
			if step.media != "" {
				r.Header.Set("Content-Type", step.media)
			}
			if step.accept != "" {
				r.Header.Set("Accept", step.accept)
			}
			if step.user != "" {
				r.Header.Set("Impersonate-User", step.user)
			}
			a, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			b, err := io.ReadAll(a.Body)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%d %v %v\n%s", a.StatusCode, a.Header["Content-Type"], a.Header["Warning"], unstable.ReplaceAllString(string(b), "…"))
		}
		got, want := answer(http.DefaultClient, through.Host), answer(plain, direct.Host)
		if got != want {
			t.Errorf("%s %s %s %s\n%s\nwant\n%s", step.method, step.path, step.body, step.accept, got, want)
		}
		codes[got[:3]]++
	}
	for _, code := range []string{"200", "201", "400", "403", "404", "409", "415", "422"} {
		if codes[code] == 0 {
			t.Errorf("no answer was a %s: %v", code, codes)
		}
	}
}
