// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/translation"
)

var complete = flag.Bool("complete", false,
	"also play Cluster API's releases 1.11 and 1.14 and real providers, which are built at the first time, and load the proxy for five minutes")

// built has what is built once for all tests, since each link takes seconds.
var built = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(root, "bin")
	return dir, Build(context.Background(), dir)
})

// root is a folder for all tests.
var root string

func TestMain(m *testing.M) {
	var err error
	if root, err = os.MkdirTemp("", "poundlock-private-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// The real core manager, unmodified and with the rights of a ServiceAccount, makes a MachineDeployment's Machines, scales, replaces and
// deletes them, on an API server that has its kinds under private names and the platform's under the standard ones. No private name is in its
// log, and no standard one in what it stores.
func TestTheRealCoreManager(t *testing.T) {
	releases := []string{""}
	if *complete {
		releases = append(releases, "1.11", "1.14")
	}
	for _, release := range releases {
		t.Run("release "+release, func(t *testing.T) {
			begin(t, Options{Release: release}).play()
		})
	}
}

type story struct {
	t              *testing.T
	stage          *Stage
	client, direct dynamic.Interface
}

// begin sets a stage, which ends with the test. Then the logs are looked at.
func begin(t *testing.T, o Options) *story {
	t.Helper()
	embedded.LeaveOut(t)
	o.Out = os.Stderr
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	o.Bin = bin
	stage, err := Set(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	s := &story{t: t, stage: stage, client: dynamic.NewForConfigOrDie(stage.Proxied()), direct: dynamic.NewForConfigOrDie(stage.Plane.Admin())}
	t.Cleanup(s.log)
	return s
}

func (s *story) play() {
	s.apply("cluster.yaml")
	s.wait("two Machines that are provisioned", func() bool { return s.provisioned() == 2 })
	s.patch(`{"spec":{"replicas":3}}`)
	s.wait("three", func() bool { return s.provisioned() == 3 })
	s.checkStored(8, "machines", "machinesets", "machinedeployments", "awsmachines", "awsmachinetemplates")
	s.checkConverted()
	s.checkRights()
	s.checkPeak()
	s.theProxyCrashes()
	s.theShimIsAway()
	s.patch(`{"spec":{"template":{"spec":{"version":"v1.36.4"}}}}`)
	s.wait("a new MachineSet", func() bool { return len(s.list("machinesets", "").Items) == 2 })
	s.patch(`{"spec":{"replicas":1}}`)
	if err := s.at("clusters", "").Delete(s.t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.wait("the Cluster's deletion", func() bool {
		_, err := s.at("clusters", "").Get(s.t.Context(), "c", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && len(s.list("machines", "").Items) == 0 && len(s.list("awsmachines", "infrastructure.").Items) == 0
	})
	s.checkPeak()
	if text, err := s.stage.Plugin(s.t.Context(), "private-types", "status"); err != nil || !strings.Contains(text, "yes, hidden from clients") {
		s.t.Error(text, err)
	}
}

func resource(plural, prefix string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: prefix + translation.Standard, Version: "v1beta2", Resource: plural}
}

func (s *story) at(plural, prefix string) dynamic.ResourceInterface {
	return s.client.Resource(resource(plural, prefix)).Namespace(Namespace)
}

// apply creates what is in a file: cluster.yaml is what `make run PRIVATE=1` has a person create.
func (s *story) apply(file string) {
	s.t.Helper()
	manifest, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(manifest), "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			s.t.Fatal(err)
		}
		kind := o.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(o.GetKind()) + "s")
		if _, err := s.client.Resource(kind).Namespace(Namespace).Create(s.t.Context(), o, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *story) patch(patch string) {
	s.t.Helper()
	if _, err := s.at("machinedeployments", "").Patch(s.t.Context(), "workers", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) list(plural, prefix string) *unstructured.UnstructuredList {
	l, err := s.at(plural, prefix).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Log(err)
		return &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 1)}
	}
	return l
}

func (s *story) provisioned() int {
	n := 0
	for _, m := range s.list("machines", "").Items {
		if p, _, _ := unstructured.NestedString(m.Object, "status", "phase"); p == "Provisioned" {
			n++
		}
	}
	return n
}

func (s *story) wait(what string, until func() bool) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) { return until(), nil })
	if err != nil {
		s.t.Fatalf("waiting for %s: %v", what, err)
	}
}

// checkStored looks at the store itself, at whatever is in the namespace: each owner and each entry of managed fields that is Cluster API's
// has a private name, and so has each reference of Cluster API's objects. There must be as many owners as are asked for, and these private
// resources.
func (s *story) checkStored(owners int, resources ...string) {
	s.t.Helper()
	all, err := discovery.NewDiscoveryClientForConfigOrDie(s.stage.Plane.Admin()).ServerPreferredNamespacedResources()
	if err != nil {
		s.t.Fatal(err)
	}
	seen := sets.New[string]()
	for _, group := range all {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range group.APIResources {
			if !slices.Contains(r.Verbs, "list") || translation.ToPrivate.Group(gv.Group) != gv.Group {
				continue // of the platform, which has nothing here
			}
			l, err := s.direct.Resource(gv.WithResource(r.Name)).Namespace(Namespace).List(s.t.Context(), metav1.ListOptions{})
			if err != nil {
				s.t.Fatal(r.Name, err)
			}
			for _, o := range l.Items {
				seen.Insert(r.Name)
				owners -= s.checkObject(o)
			}
		}
	}
	if owners > 0 {
		s.t.Errorf("%d owners are missing", owners)
	}
	if missing := sets.New(resources...).Difference(seen); missing.Len() > 0 {
		s.t.Errorf("there is none of %v", sets.List(missing))
	}
}

// checkObject returns how many owners with a private name an object has.
func (s *story) checkObject(o unstructured.Unstructured) (owners int) {
	s.t.Helper()
	for _, owner := range o.GetOwnerReferences() {
		if translation.ToPrivate.APIVersion(owner.APIVersion) != owner.APIVersion {
			s.t.Errorf("%s %s is owned by %s", o.GetKind(), o.GetName(), owner.APIVersion)
		}
		if translation.ToStandard.APIVersion(owner.APIVersion) != owner.APIVersion {
			owners++
		}
	}
	for _, m := range o.GetManagedFields() {
		if translation.ToPrivate.APIVersion(m.APIVersion) != m.APIVersion {
			s.t.Errorf("%s %s has managed fields of %s", o.GetKind(), o.GetName(), m.APIVersion)
		}
	}
	for _, part := range []string{"spec", "status"} {
		references(o.Object[part], func(key, value string) {
			if key == "apiGroup" && translation.ToPrivate.Group(value) != value || key == "apiVersion" && translation.ToPrivate.APIVersion(value) != value {
				s.t.Errorf("%s %s has %s %s in its %s", o.GetKind(), o.GetName(), key, value, part)
			}
		})
	}
	return owners
}

// references sees each member of a document that is a text.
func references(in any, see func(key, value string)) {
	switch in := in.(type) {
	case map[string]any:
		for key, value := range in {
			if text, is := value.(string); is {
				see(key, text)
			}
			references(value, see)
		}
	case []any:
		for _, value := range in {
			references(value, see)
		}
	}
}

// checkPeak holds the proxy's memory against what it may take under one manager.
func (s *story) checkPeak() {
	s.t.Helper()
	if peak := peakOf(s.t, s.stage.Plane.PID(Proxy)); peak > 40<<10 {
		s.t.Errorf("the proxy took %d kB", peak)
	}
}

// theProxyCrashes ends the proxy as a crash does. What happens meanwhile, the manager learns of once the proxy is back.
func (s *story) theProxyCrashes() {
	s.t.Helper()
	if err := s.stage.Plane.StopPart(Proxy); err != nil {
		s.t.Fatal(err)
	}
	stored := schema.GroupVersionResource{Group: translation.Private, Version: "v1beta2", Resource: "machinedeployments"}
	if _, err := s.direct.Resource(stored).Namespace(Namespace).Patch(s.t.Context(), "workers", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`),
		metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.stage.StartProxy(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.wait("a fourth Machine after the proxy's crash", func() bool { return s.provisioned() == 4 })
}

// theShimIsAway reads the older version without a shim, which is an error under standard names. The collector goes on, and so do conversions once the shim is
// back.
func (s *story) theShimIsAway() {
	s.t.Helper()
	if err := s.stage.Plane.StopPart(Shim); err != nil {
		s.t.Fatal(err)
	}
	older := resource("machinedeployments", "")
	older.Version = "v1beta1"
	_, err := s.client.Resource(older).Namespace(Namespace).Get(s.t.Context(), "workers", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "conversion webhook for "+translation.Standard) || strings.Contains(err.Error(), translation.Private) {
		s.t.Errorf("without a shim: %v", err)
	}
	s.checkCollected()
	if err := s.stage.StartShim(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.checkConverted()
}

// checkCollected waits for the garbage collector to delete what a ConfigMap owns.
func (s *story) checkCollected() {
	s.t.Helper()
	maps := s.direct.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(Namespace)
	create := func(name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
		o.SetOwnerReferences(owners)
		o, err := maps.Create(s.t.Context(), o, metav1.CreateOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		return o
	}
	owner := create("owner")
	create("owned", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID()})
	if err := maps.Delete(s.t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.wait("what a ConfigMap owned", func() bool {
		_, err := maps.Get(s.t.Context(), "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// checkConverted reads the older version, through API server, shim and the manager's own converter, and proxy.
func (s *story) checkConverted() {
	s.t.Helper()
	older := resource("machinedeployments", "")
	older.Version = "v1beta1"
	got, err := s.client.Resource(older).Namespace(Namespace).Get(s.t.Context(), "workers", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	reference, _, _ := unstructured.NestedStringMap(got.Object, "spec", "template", "spec", "infrastructureRef")
	if got.GetAPIVersion() != translation.Standard+"/v1beta1" || reference["apiVersion"] != "infrastructure."+translation.Standard+"/v1beta2" {
		s.t.Error(got.GetAPIVersion(), reference)
	}
}

// checkRights asks for what the ServiceAccount has rights under the private names alone: through the proxy, it has them under the standard ones.
func (s *story) checkRights() {
	s.t.Helper()
	alone, err := s.stage.Plane.As("system:serviceaccount:" + Namespace + ":" + client)
	if err != nil {
		s.t.Fatal(err)
	}
	for want, config := range map[bool]*rest.Config{true: s.stage.Proxied(), false: alone} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: Namespace, Verb: "delete", Group: translation.Standard, Version: "v1beta2", Resource: "machines",
		}}}
		got, err := kubernetes.NewForConfigOrDie(config).AuthorizationV1().SelfSubjectAccessReviews().Create(s.t.Context(), review, metav1.CreateOptions{})
		if err != nil || got.Status.Allowed != want || got.Spec.ResourceAttributes.Group != translation.Standard {
			s.t.Errorf("through the proxy %t: %+v %v", want, got, err)
		}
	}
}

// peakOf is how much memory a process has taken at once, in kB.
func peakOf(t *testing.T, pid int) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if os.IsNotExist(err) {
		return 0 // not on this system
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, scanned := fmt.Sscan(rest, &kilobytes); err != nil || scanned != nil {
		t.Fatal(err, scanned)
	}
	t.Logf("the proxy's VmHWM is %d kB", kilobytes)
	return kilobytes
}

// log looks for a private name in what the clients logged, and shows the ends of all logs if something failed.
func (s *story) log() {
	clients := []string{Manager}
	for _, m := range s.stage.managers {
		clients = append(clients, m.Name)
	}
	for _, name := range clients {
		log, err := os.ReadFile(s.stage.Plane.Log(name))
		if err != nil || len(log) == 0 {
			s.t.Error(len(log), err)
		}
		if at := bytes.Index(log, []byte(translation.Private)); at >= 0 {
			s.t.Errorf("the %s knows a private name: %s", name, log[max(0, at-300):min(len(log), at+300)])
		}
	}
	if !s.t.Failed() {
		return
	}
	for _, name := range append(clients, Proxy, Shim) {
		log, err := os.ReadFile(s.stage.Plane.Log(name))
		s.t.Logf("%s: %v\n%s", name, err, log[max(0, len(log)-5000):])
	}
}
