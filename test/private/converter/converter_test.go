// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // deprecated, and what has to be converted
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/randfill"

	"github.com/poundlock/poundlock/certs"
	"github.com/poundlock/poundlock/proxy"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/translation"
	"github.com/poundlock/poundlock/webhooks/shim"
)

var (
	objects = flag.Int("objects", 12, "how many objects of each kind are drawn")
	seed    = flag.Int64("seed", 0, "what the objects are drawn from; 0 means the time")
)

type kind struct {
	plural     string
	old, newer func() runtime.Object
}

// kinds have two versions and a converter between them in Cluster API.
var kinds = []kind{
	{"clusters", func() runtime.Object { return &clusterv1beta1.Cluster{} }, func() runtime.Object { return &clusterv1.Cluster{} }},
	{"machines", func() runtime.Object { return &clusterv1beta1.Machine{} }, func() runtime.Object { return &clusterv1.Machine{} }},
	{"machinesets", func() runtime.Object { return &clusterv1beta1.MachineSet{} }, func() runtime.Object { return &clusterv1.MachineSet{} }},
	{"machinedeployments", func() runtime.Object { return &clusterv1beta1.MachineDeployment{} }, func() runtime.Object { return &clusterv1.MachineDeployment{} }},
	{"machinehealthchecks", func() runtime.Object { return &clusterv1beta1.MachineHealthCheck{} }, func() runtime.Object { return &clusterv1.MachineHealthCheck{} }},
}

// Objects that Cluster API's own fuzzer draws come through API server, shim and Cluster API's own converter as they would come from the
// converter alone, there and back; one by one and as a list. The manager's binary is the real one, behind a proxy: for some conversions it
// reads definitions.
func TestTheRealConverter(t *testing.T) {
	st := start(t)
	for _, k := range kinds {
		t.Run(k.plural, func(t *testing.T) {
			older, newer := st.private(k.plural, "v1beta1"), st.private(k.plural, "v1beta2")
			var names []string
			for n := range *objects {
				name, made := fmt.Sprintf("o%d", n), newer
				empty := k.newer
				if n%2 == 1 {
					made, empty = older, k.old
				}
				drawn := st.draw(t, empty(), name)
				if _, err := st.client.Resource(made).Namespace("default").Create(t.Context(), drawn, metav1.CreateOptions{}); err != nil {
					t.Fatalf("creating %s at %s: %s: %s", name, made.Version, err, dump(drawn))
				}
				names = append(names, name)
			}
			slices.Sort(names)
			list, err := st.client.Resource(older).Namespace("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			for _, converted := range list.Items {
				listed = append(listed, converted.GetName())
				stored, err := st.client.Resource(newer).Namespace("default").Get(t.Context(), converted.GetName(), metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				st.asConvertedAlone(t, stored, &converted)
				if _, err := st.client.Resource(older).Namespace("default").Update(t.Context(), &converted, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				again, err := st.client.Resource(newer).Namespace("default").Get(t.Context(), converted.GetName(), metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				st.asConvertedAlone(t, &converted, again)
			}
			if d := gocmp.Diff(names, listed); d != "" {
				t.Error("the list's order:", d)
			}
		})
	}
	t.Run("the converter is away", st.outage)
	if at := strings.Index(st.log(t), translation.Private); at >= 0 {
		t.Error("the converter knows a private name: ", st.log(t)[max(0, at-300):])
	}
}

type stage struct {
	plane  *embedded.Plane
	client dynamic.Interface
	direct *http.Client // to the converter
	url    string
	filler *randfill.Filler
	manage func() error
	logged *bytes.Buffer
}

func start(t *testing.T) *stage {
	t.Helper()
	binary, err := build.ClusterAPI(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	all, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{plane: embedded.ForTest(t, embedded.Options{}), logged: &bytes.Buffer{}}
	dir := t.TempDir()
	if err := st.plane.Serving(dir); err != nil {
		t.Fatal(err)
	}
	reviews, health := listen(t), listen(t)
	if err := st.plane.InstallCRDs(t.Context(), st.definitions(all, "https://"+reviews.Addr().String()+"/convert")...); err != nil {
		t.Fatal(err)
	}
	st.client = dynamic.NewForConfigOrDie(quiet(st.plane.Admin()))

	ports, err := embedded.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	st.url = fmt.Sprintf("https://127.0.0.1:%d/convert", ports[0])
	st.manage = st.manager(t, binary, dir, ports)
	if err := st.manage(); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, st.plane.Admin().CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: ca}})
	if err != nil {
		t.Fatal(err)
	}
	st.direct = &http.Client{Transport: transport}
	st.serve(t, dir, ca, reviews, health)

	drawnFrom := *seed
	if drawnFrom == 0 {
		drawnFrom = time.Now().UnixNano()
	}
	t.Logf("objects are drawn from -seed=%d", drawnFrom)
	scheme := runtime.NewScheme()
	st.filler = utilconversion.GetFuzzer(scheme, values).RandSource(rand.NewSource(drawnFrom))
	return st
}

func quiet(c *rest.Config) *rest.Config {
	c.WarningHandler = rest.NoWarnings{}
	return c
}

// definitions are those of Cluster API and AWS under private names. What is drawn fits no schema, so the kinds that are converted have none.
func (st *stage) definitions(all []*apiextensionsv1.CustomResourceDefinition, url string) []*apiextensionsv1.CustomResourceDefinition {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range all {
		referred := slices.Contains([]string{"awsclusters", "awsmachinetemplates"}, crd.Spec.Names.Plural)
		if !strings.HasSuffix(crd.Spec.Group, translation.Standard) || strings.HasPrefix(crd.Spec.Group, "infrastructure.") && !referred {
			continue
		}
		crd.Name, crd.Spec.Group = translation.ToPrivate.Definition(crd.Name), translation.ToPrivate.Group(crd.Spec.Group)
		out = append(out, crd)
		if crd.Spec.Group != translation.Private || !slices.ContainsFunc(kinds, func(k kind) bool { return k.plural == crd.Spec.Names.Plural }) {
			continue
		}
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			crd.Spec.Versions[i].Subresources = nil // a status would be dropped
		}
		versions := []string{"v1"}
		if crd.Spec.Names.Plural == "machines" {
			versions = []string{"v1beta1", "v1beta2"} // as HyperShift has it
		}
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: st.plane.Admin().CAData}, ConversionReviewVersions: versions,
		}}
	}
	return out
}

// manager returns what starts the real core manager. It watches a namespace in which there is nothing.
func (st *stage) manager(t *testing.T, binary, dir string, ports []int) func() error {
	t.Helper()
	p, err := proxy.New(proxy.Options{Upstream: st.plane.Admin(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.CloseClientConnections)
	c, kubeconfig := clientcmdapi.NewConfig(), filepath.Join(dir, "kubeconfig")
	c.Clusters["c"], c.Contexts["c"], c.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "c"}, "c"
	if err := clientcmd.WriteToFile(*c, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return func() error {
		return st.plane.Attach("core-manager", binary, "--kubeconfig="+kubeconfig, "--namespace=nothing", fmt.Sprintf("--webhook-port=%d", ports[0]),
			"--webhook-cert-dir="+dir,
			fmt.Sprintf("--health-addr=127.0.0.1:%d", ports[1]), "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--feature-gates=MachinePool=false")
	}
}

func (st *stage) log(t *testing.T) string {
	t.Helper()
	log, err := os.ReadFile(st.plane.Log("core-manager"))
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

// serve starts the shim, and returns when it is ready.
func (st *stage) serve(t *testing.T, dir, ca string, reviews, health net.Listener) {
	t.Helper()
	files, err := certs.NewFiles(certs.FilesOptions{Dir: dir, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := shim.New(shim.Options{
		Upstreams: []string{translation.Standard + "=" + st.url}, Trust: rest.TLSClientConfig{CAFile: ca}, Budget: time.Second,
		Log: slog.New(slog.NewTextHandler(st.logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 2)
	go func() { served <- files.Start(ctx) }()
	go func() { served <- s.Serve(ctx, reviews, health, files, nil, time.Second) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.Log(st.logged)
		}
	})
	until(t, "ready", func() bool { return ready(health) })
}

func (st *stage) private(plural, version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: translation.Private, Version: version, Resource: plural}
}

// values are what a converter needs where the fuzzer would draw anything.
func values(serializer.CodecFactory) []any {
	return []any{
		func(r *clusterv1.ContractVersionedObjectReference, c randfill.Continue) {
			c.FillNoCustom(r)
			r.APIGroup, r.Kind = "infrastructure."+translation.Standard, []string{"AWSMachineTemplate", "AWSCluster"}[c.Intn(2)]
			r.Name = "n" + r.Name
		},
		func(r *corev1.ObjectReference, c randfill.Continue) {
			c.FillNoCustom(r)
			r.APIVersion, r.Kind = "infrastructure."+translation.Standard+"/v1beta2", []string{"AWSMachineTemplate", "AWSCluster"}[c.Intn(2)]
		},
		func(j *apiextensionsv1.JSON, c randfill.Continue) {
			j.Raw = fmt.Appendf(nil, `{"apiVersion":"%s/v1","n":%d}`, translation.Standard, c.Int31())
		},
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Int31()) * time.Second },
	}
}

// draw makes an object with random spec and status, as a client of the private types would write it.
func (st *stage) draw(t *testing.T, o runtime.Object, name string) *unstructured.Unstructured {
	t.Helper()
	st.filler.Fill(o)
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		t.Fatal(err)
	}
	gvk := kindOf(o)
	u.Object = renamed(u.Object, translation.Standard, translation.Private).(map[string]any)
	u.Object["metadata"] = map[string]any{}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	u.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c", "apiVersion": translation.Private})
	u.SetAnnotations(map[string]string{"a": `{"apiVersion":"` + translation.Private + `/v1"}`, "cluster.x-k8s.io/paused": ""})
	u.SetFinalizers([]string{"machine.cluster.x-k8s.io"})
	u.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: translation.Private + "/v1beta2", Kind: "Cluster", Name: "c", UID: "1"}, {APIVersion: translation.Standard + "/v1beta2", Kind: "Cluster", Name: "platform", UID: "2"},
	})
	return u
}

func kindOf(o runtime.Object) schema.GroupVersionKind {
	kind := reflect.TypeOf(o).Elem()
	return schema.GroupVersionKind{Group: translation.Private, Version: filepath.Base(kind.PkgPath()), Kind: kind.Name()}
}

// renamed is what a tree of JSON becomes: the plain way to do what translation does, for objects of Cluster API without metadata.
func renamed(v any, from, to string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = renamed(v[i], from, to)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, is := range v {
			s, text := is.(string)
			group, version, _ := strings.Cut(s, "/")
			switch {
			case k == "labels", k == "annotations", k == "matchLabels", k == "metadata":
				out[k] = is
			case text && (k == "apiVersion" || k == "apiGroup") && (group == from || strings.HasSuffix(group, "."+from)):
				out[k] = strings.TrimSuffix(strings.TrimSuffix(group, from)+to+"/"+version, "/")
			default:
				out[k] = renamed(is, from, to)
			}
		}
		return out
	}
	return v
}

// asConvertedAlone asks the converter itself, with standard names and without the shim.
func (st *stage) asConvertedAlone(t *testing.T, from, to *unstructured.Unstructured) {
	t.Helper()
	standard := renamed(from.Object, translation.Private, translation.Standard)
	review, err := json.Marshal(map[string]any{"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": map[string]any{
		"uid": "u", "desiredAPIVersion": translation.Standard + "/" + to.GroupVersionKind().Version, "objects": []any{standard},
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := st.direct.Post(st.url, "application/json", bytes.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var alone struct {
		Response struct {
			ConvertedObjects []map[string]any
			Result           metav1.Status
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&alone); err != nil || len(alone.Response.ConvertedObjects) != 1 {
		t.Fatal(err, alone.Response.Result, dump(from))
	}
	want := &unstructured.Unstructured{Object: renamed(alone.Response.ConvertedObjects[0], translation.Standard, translation.Private).(map[string]any)}
	if d := gocmp.Diff(compared(t, want), compared(t, to)); d != "" {
		t.Errorf("%s at %s (-converted alone +through the shim):\n%s", to.GetName(), to.GetAPIVersion(), d)
	}
	if d := gocmp.Diff(from.GetOwnerReferences(), to.GetOwnerReferences()); d != "" {
		t.Error("owners:", d)
	}
}

// compared is an object without the metadata that the API server keeps itself.
func compared(t *testing.T, u *unstructured.Unstructured) any {
	t.Helper()
	text, err := json.Marshal([]any{u.GetAPIVersion(), u.GetKind(), u.GetName(), u.GetLabels(), u.GetAnnotations(), u.Object["spec"], u.Object["status"]})
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func dump(u *unstructured.Unstructured) string {
	text, err := u.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// outage ends the converter: a reader of an object that needs it gets an error that names it, and is answered again once it is back.
func (st *stage) outage(t *testing.T) {
	read := func() error {
		_, err := st.client.Resource(st.private("machines", "v1beta1")).Namespace("default").Get(t.Context(), "o0", metav1.GetOptions{})
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := st.plane.StopPart("core-manager"); err != nil {
		t.Fatal(err)
	}
	if err := read(); err == nil || !strings.Contains(err.Error(), "poundlock shim: the converter "+st.url+" is unavailable") {
		t.Errorf("the API server says %v", err)
	}
	if _, err := st.client.Resource(st.private("machines", "v1beta2")).Namespace("default").Get(t.Context(), "o0", metav1.GetOptions{}); err != nil {
		t.Error("what needs no conversion:", err)
	}
	if !strings.Contains(st.logged.String(), "Upstream webhook unavailable") {
		t.Error(st.logged)
	}
	if err := st.manage(); err != nil {
		t.Fatal(err)
	}
	until(t, "the converter is back", func() bool { return read() == nil })
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ready(at net.Listener) bool {
	r, err := http.Get("http://" + at.Addr().String() + "/readyz")
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("%s: %s", what, err)
	}
}
