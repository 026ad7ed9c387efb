// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// world has what lookups find, in the cache and on the API server: objects as JSON, by the text of their Ref.
type world struct {
	cached, live map[string]string
	sets         map[string][]string
	liveErr      error
	liveReads    int
	convert      ConverterFunc
	// adopters are MachineSets and MachineDeployments, by group, kind and namespace.
	adopters map[string]string
	// controlPlanes may be nil. Then there is no Machine, no Node and no Infrastructure.
	controlPlanes ControlPlanesFunc
}

func (w *world) lookups() Lookups {
	l := Lookups{
		Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			return policies.ParseObject([]byte(w.cached[ref.String()]))
		}),
		Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			w.liveReads++
			if w.liveErr != nil {
				return nil, w.liveErr
			}
			return policies.ParseObject([]byte(w.live[ref.String()]))
		}),
		Referrers: ReferrersFunc(func(_ context.Context, _, template string) ([]string, error) { return w.sets[template], nil }),
		Platforms: platforms.List(),
		Sets: ListingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*policies.Object, error) {
			set, err := policies.ParseObject([]byte(w.adopters[gvk.Group+" "+gvk.Kind+" "+namespace]))
			if set == nil || err != nil {
				return nil, err
			}
			return []*policies.Object{set}, nil
		}),
	}
	l.Deployments = l.Sets
	if w.convert != nil {
		l.Converter = w.convert
	}
	l.ControlPlanes = ControlPlanesFunc(func(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
		if w.controlPlanes == nil {
			return &policies.ControlPlane{}, nil
		}
		return w.controlPlanes(ctx, namespace, selector)
	})
	return l
}

// serve returns a handler that answers every route of a catalog from a world.
func serve(t testing.TB, c Catalog, w *world) (http.Handler, *metrics) {
	t.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}, LookupTimeout: time.Second, Catalog: c, Log: logr.Discard(),
		Identities: policies.Identities{policies.Poundlock: {"poundlock"}, policies.MachineAPIController: {"mapi"}, policies.NamespaceController: {"namespaces"}},
	}
	mux := http.NewServeMux()
	for path, h := range handlers(o, w.lookups(), m) {
		mux.Handle(path, h)
	}
	return mux, m
}

// ask sends one review; body is the request without its frame.
func ask(t testing.TB, h http.Handler, path, request string) *admissionv1.AdmissionResponse {
	t.Helper()
	rec := post(h, path, review(request))
	if rec.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", rec.Code, rec.Body)
	}
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if out.Response == nil || out.Response.UID != "u" || out.Kind != "AdmissionReview" || out.APIVersion != "admission.k8s.io/v1" {
		t.Fatalf("want a review that answers u, got %s", rec.Body)
	}
	return out.Response
}

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return rec
}

func review(request string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` + request + `}}`
}

const (
	mapiMachines = `"resource":{"group":"machine.openshift.io","version":"v1beta1","resource":"machines"},"namespace":"m","name":"a"`
	capiMachines = `"resource":{"group":"cluster.x-k8s.io","version":"v1beta2","resource":"machines"},"namespace":"c","name":"a"`
	capiChecks   = `"resource":{"group":"cluster.x-k8s.io","version":"v1beta2","resource":"machinehealthchecks"},"namespace":"c","name":"a"`
	awsMachines  = `"resource":{"group":"infrastructure.cluster.x-k8s.io","version":"v1beta2","resource":"awsmachines"},"namespace":"c","name":"a"`
	awsTemplates = `"resource":{"group":"infrastructure.cluster.x-k8s.io","version":"v1beta2","resource":"awsmachinetemplates"},"namespace":"c","name":"s-0123abcd"`
	capiScale    = `"resource":{"group":"cluster.x-k8s.io","version":"v1beta2","resource":"machinesets"},"subResource":"scale","namespace":"c","name":"s"`

	mapiA = "machine.openshift.io Machine m/a"
	mapiS = "machine.openshift.io MachineSet m/s"

	mapiCheck = "machine.openshift.io MachineHealthCheck m/a"
	capiA     = "cluster.x-k8s.io Machine c/a"
	capiS     = "cluster.x-k8s.io MachineSet c/s"

	underClusterAPI = `{"metadata":{"name":"a","namespace":"m"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`
	underMachineAPI = `{"metadata":{"name":"a","namespace":"m"},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI"}}`
)

// This tests the whole path: a review as the API server sends it, and a rule's answer as the API server reads it.
func TestReviews(t *testing.T) {
	paused := `"annotations":{"cluster.x-k8s.io/paused":""}`
	for name, tt := range map[string]struct {
		path, request string
		world         world
		denied        string // the rule that denies; "" if the request is allowed
		field         string
		liveReads     int
	}{
		"a locked field, from the cache, as the object's pause agrees with it": {
			path: "/validate/cluster-api",
			request: capiMachines + `,"operation":"UPDATE","oldObject":{"kind":"Machine","metadata":{` + paused + `},"spec":{"clusterName":"x"}},
				"object":{"kind":"Machine","metadata":{` + paused + `},"spec":{"clusterName":"y"}}`,
			world:  world{cached: map[string]string{mapiA: underMachineAPI}},
			denied: "authority/spec-locked", field: "spec.clusterName",
		},
		"the same, from the API server, where the object is not paused": {
			path: "/validate/cluster-api",
			request: capiMachines + `,"operation":"UPDATE","oldObject":{"kind":"Machine","spec":{"clusterName":"x"}},
				"object":{"kind":"Machine","spec":{"clusterName":"y"}}`,
			world:  world{cached: map[string]string{mapiA: underMachineAPI}, live: map[string]string{mapiA: underMachineAPI}},
			denied: "authority/spec-locked", field: "spec.clusterName", liveReads: 1,
		},
		"the same by Poundlock": {
			path: "/validate/cluster-api",
			request: capiMachines + `,"operation":"UPDATE","userInfo":{"username":"poundlock"},"oldObject":{"metadata":{` + paused + `},"spec":{"clusterName":"x"}},
				"object":{"metadata":{` + paused + `},"spec":{"clusterName":"y"}}`,
			world: world{cached: map[string]string{mapiA: underMachineAPI}},
		},
		"the same without a twin": {
			path: "/validate/cluster-api",
			request: capiMachines + `,"operation":"UPDATE","oldObject":{"spec":{"clusterName":"x"}},
				"object":{"spec":{"clusterName":"y"}}`,
			liveReads: 1,
		},
		"outside the pairs nothing is asked": {
			path: "/validate/cluster-api",
			request: strings.Replace(capiMachines, `"c"`, `"elsewhere"`, 1) + `,"operation":"UPDATE","oldObject":{"spec":{"clusterName":"x"}},
				"object":{"spec":{"clusterName":"y"}}`,
		},
		"a Cluster API kind in a Machine API namespace is nobody's twin": {
			path: "/validate/cluster-api",
			request: strings.Replace(capiMachines, `"c"`, `"m"`, 1) + `,"operation":"UPDATE","oldObject":{"spec":{"clusterName":"x"}},
				"object":{"spec":{"clusterName":"y"}}`,
		},
		"a create reads live, as absence decides": {
			path:    "/validate/cluster-api",
			request: capiMachines + `,"operation":"CREATE","object":{"metadata":{"name":"a"}}`,
			world:   world{live: map[string]string{mapiA: underMachineAPI}},
			denied:  "authority/create-clusterapi", field: "metadata.annotations[cluster.x-k8s.io/paused]", liveReads: 1,
		},
		"a create whose name the server made is looked up by the object's name": {
			path: "/validate/cluster-api",
			request: strings.Replace(capiMachines, `,"name":"a"`, ``, 1) +
				`,"operation":"CREATE","object":{"metadata":{"name":"a","generateName":"a"}}`,
			world:  world{live: map[string]string{mapiA: underMachineAPI}},
			denied: "authority/create-clusterapi", field: "metadata.annotations[cluster.x-k8s.io/paused]", liveReads: 1,
		},
		"a check whose twin cannot say which API is authoritative is nobody's mirror": {
			path: "/validate/cluster-api",
			request: capiChecks + `,"operation":"UPDATE","oldObject":{"kind":"MachineHealthCheck","spec":{"clusterName":"x"}},
				"object":{"kind":"MachineHealthCheck","metadata":{"ownerReferences":[{"kind":"Cluster","name":"x","uid":"u","apiVersion":"v"}]},"spec":{"clusterName":"y"}}`,
			world:     world{live: map[string]string{mapiCheck: `{"metadata":{"name":"a","namespace":"m"},"spec":{"selector":{}},"status":{"expectedMachines":1}}`}},
			liveReads: 1,
		},
		"a check whose twin can, and has not yet, is locked": {
			path: "/validate/cluster-api",
			request: capiChecks + `,"operation":"UPDATE","oldObject":{"kind":"MachineHealthCheck","spec":{"clusterName":"x"}},
				"object":{"kind":"MachineHealthCheck","spec":{"clusterName":"y"}}`,
			world:  world{live: map[string]string{mapiCheck: `{"metadata":{"name":"a","namespace":"m"},"spec":{"authoritativeAPI":"MachineAPI"}}`}},
			denied: "authority/spec-locked", field: "spec.clusterName", liveReads: 1,
		},
		"a provider's machine is locked through its owner": {
			path: "/validate/infrastructure",
			request: strings.Replace(awsMachines, `"name":"a"`, `"name":"other"`, 1) + `,"operation":"DELETE","oldObject":{"kind":"AWSMachine","metadata":{"name":"other","annotations":{"cluster.x-k8s.io/paused":"","poundlock.openshift.io/mirror-of":"Machine/a"},
				"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"a"}]}}`,
			world:  world{live: map[string]string{mapiA: underMachineAPI}},
			denied: "authority/infra-locked", field: "metadata.name", liveReads: 1,
		},
		"a provider's machine without an owner, through its name": {
			path:    "/validate/infrastructure",
			request: awsMachines + `,"operation":"DELETE","oldObject":{"kind":"AWSMachine","metadata":{"name":"a",` + paused + `}}`,
			world:   world{live: map[string]string{mapiA: underMachineAPI}},
			denied:  "authority/infra-locked", field: "metadata.name", liveReads: 1,
		},
		// One of the reads for a template is that of the control plane's set.
		"a template, through its label": {
			path:    "/validate/infrastructure",
			request: awsTemplates + `,"operation":"DELETE","oldObject":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"s"},` + paused + `}}`,
			world:   world{live: map[string]string{mapiS: underMachineAPI}},
			denied:  "authority/infra-locked", field: "metadata.name", liveReads: 2,
		},
		"a template, through the mirror's mark": {
			path: "/validate/infrastructure",
			request: awsTemplates +
				`,"operation":"DELETE","oldObject":{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"","poundlock.openshift.io/mirror-of":"MachineSet/s"}}}`,
			world:  world{live: map[string]string{mapiS: underMachineAPI}},
			denied: "authority/infra-locked", field: "metadata.name", liveReads: 2,
		},
		"a template, through the second of the sets that refer to it": {
			path:    "/validate/infrastructure",
			request: awsTemplates + `,"operation":"DELETE","oldObject":{"metadata":{` + paused + `}}`,
			world: world{sets: map[string][]string{"s-0123abcd": {"alone", "s"}},
				live: map[string]string{mapiS: underMachineAPI}},
			denied: "authority/infra-locked", field: "metadata.name", liveReads: 3,
		},
		"a template, by the strictest of the sets that refer to it": {
			path:    "/validate/infrastructure",
			request: awsTemplates + `,"operation":"DELETE","oldObject":{"metadata":{` + paused + `}}`,
			world: world{sets: map[string][]string{"s-0123abcd": {"first", "s"}},
				live: map[string]string{"machine.openshift.io MachineSet m/first": underClusterAPI, mapiS: underMachineAPI}},
			denied: "authority/infra-locked", field: "metadata.name", liveReads: 3,
		},
		"a marked template, by a stricter set that refers to it too": {
			path: "/validate/infrastructure",
			request: strings.Replace(awsTemplates, "s-0123abcd", "first-0123abcd", 1) + `,"operation":"DELETE","oldObject":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"first"},
				"annotations":{"poundlock.openshift.io/mirror-of":"MachineSet/first"}}}`,
			world: world{sets: map[string][]string{"first-0123abcd": {"s"}},
				live: map[string]string{"machine.openshift.io MachineSet m/first": underClusterAPI, mapiS: underMachineAPI}},
			denied: "authority/infra-locked", field: "metadata.name", liveReads: 3,
		},
		"a person's copy of a template, under another name, is its own": {
			path: "/validate/infrastructure",
			request: strings.Replace(awsTemplates, "s-0123abcd", "s-larger", 1) + `,"operation":"DELETE","oldObject":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"s"},
				"annotations":{"cluster.x-k8s.io/paused":"","poundlock.openshift.io/mirror-of":"MachineSet/s"}}}`,
			world: world{live: map[string]string{mapiS: underMachineAPI}}, liveReads: 1,
		},
		"a person's copy that a set refers to is locked like any template of it": {
			path: "/validate/infrastructure",
			request: strings.Replace(awsTemplates, "s-0123abcd", "s-larger", 1) + `,"operation":"DELETE","oldObject":{"metadata":{
				"annotations":{"cluster.x-k8s.io/paused":"","poundlock.openshift.io/mirror-of":"MachineSet/s"}}}`,
			world:  world{sets: map[string][]string{"s-larger": {"s"}}, live: map[string]string{mapiS: underMachineAPI}},
			denied: "authority/infra-locked", field: "metadata.name", liveReads: 2,
		},
		"a relabelled template is judged by its stored label": {
			path: "/validate/infrastructure",
			request: awsTemplates + `,"operation":"UPDATE","oldObject":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"s"},` + paused + `},"spec":{"a":1}},
				"object":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"other"},` + paused + `},"spec":{"a":2}}`,
			world:  world{cached: map[string]string{mapiS: underMachineAPI}},
			denied: "authority/infra-locked", field: "spec.a", liveReads: 1,
		},
		"scaling reads the set that the review does not carry": {
			path: "/validate/cluster-api-scale",
			request: capiScale + `,"operation":"UPDATE","oldObject":{"kind":"Scale","metadata":{"name":"s","resourceVersion":"7"},"spec":{"replicas":1}},
				"object":{"kind":"Scale","metadata":{"name":"s"},"spec":{"replicas":2}}`,
			world: world{cached: map[string]string{
				capiS: `{"metadata":{"name":"s","resourceVersion":"7",` + paused + `}}`, mapiS: underMachineAPI}},
			denied: "authority/scale-locked", field: "spec.replicas",
		},
		"scaling reads the set from the API server where the cache has another version": {
			path: "/validate/cluster-api-scale",
			request: capiScale + `,"operation":"UPDATE","oldObject":{"kind":"Scale","metadata":{"name":"s","resourceVersion":"8"},"spec":{"replicas":1}},
				"object":{"kind":"Scale","metadata":{"name":"s"},"spec":{"replicas":2}}`,
			world: world{
				cached: map[string]string{capiS: `{"metadata":{"name":"s","resourceVersion":"7"}}`, mapiS: underMachineAPI},
				live:   map[string]string{capiS: `{"metadata":{"name":"s","resourceVersion":"8",` + paused + `}}`}},
			denied: "authority/scale-locked", field: "spec.replicas", liveReads: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := serve(t, All(platforms.List()...), &tt.world)
			got := ask(t, h, tt.path, tt.request)
			if got.Allowed != (tt.denied == "") {
				t.Fatalf("allowed %t, want %t: %v", got.Allowed, tt.denied == "", got.Result)
			}
			if tt.world.liveReads != tt.liveReads {
				t.Errorf("%d reads from the API server, want %d", tt.world.liveReads, tt.liveReads)
			}
			if tt.denied == "" {
				return
			}
			cause := got.Result.Details.Causes[0]
			if got.Result.Code != http.StatusUnprocessableEntity || cause.Field != tt.field || !strings.HasSuffix(cause.Message, "["+tt.denied+"]") {
				t.Errorf("got %d, %s: %s, want 422, %s by %s", got.Result.Code, cause.Field, cause.Message, tt.field, tt.denied)
			}
		})
	}
}

// A deletion of a namespace deletes the Cluster in it, and no Cluster of another namespace, so the namespace is looked up.
func TestTheNamespaceControllerDeletesAClusterWithItsNamespaceAlone(t *testing.T) {
	const by = `,"userInfo":{"username":"namespaces"}`
	request := `"kind":{"group":"cluster.x-k8s.io","version":"v1beta2","kind":"Cluster"},"resource":{"group":"cluster.x-k8s.io","version":"v1beta2","resource":"clusters"},"namespace":"c","name":"x","operation":"DELETE",
		"oldObject":{"kind":"Cluster","metadata":{"name":"x","annotations":{"` + authority.HoldsMirrorsAnnotation + `":"1 Machine"}}}`
	for what, tt := range map[string]struct {
		namespace, by string
		allowed       bool
	}{
		"the namespace goes":                 {`{"metadata":{"name":"c","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, by, true},
		"the namespace is gone":              {"", by, true},
		"the namespace stays":                {`{"metadata":{"name":"c"}}`, by, false},
		"the namespace goes, and a person's": {`{"metadata":{"name":"c","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, "", false},
	} {
		w := world{live: map[string]string{}}
		if tt.namespace != "" {
			w.live["Namespace c"] = tt.namespace
		}
		h, _ := serve(t, All(platforms.List()...), &w)
		if got := ask(t, h, "/validate/surroundings", request+tt.by); got.Allowed != tt.allowed {
			t.Errorf("%s: allowed %t, want %t: %v", what, got.Allowed, tt.allowed, got.Result)
		}
	}
}

func TestWhatCannotBeLookedUpIsRefusedWhereItLocks(t *testing.T) {
	unpaused := `,"operation":"UPDATE","oldObject":{"spec":{"a":1}},"object":{"spec":{"a":2}}`
	h, m := serve(t, All(platforms.List()...), &world{liveErr: context.DeadlineExceeded})
	got := ask(t, h, "/validate/cluster-api", capiMachines+unpaused)
	if got.Allowed || got.Result.Code != http.StatusServiceUnavailable || !strings.Contains(got.Result.Message, mapiA) {
		t.Errorf("want 503 that names %s, got %+v", mapiA, got.Result)
	}
	if n := testutil.ToFloat64(m.failures.WithLabelValues("cluster-api", failureFacts)); n != 1 {
		t.Errorf("%v failures counted, want 1", n)
	}
}

func TestALookupThatFailsIsAWarningWhereRulesOnlyWarn(t *testing.T) {
	h, _ := serve(t, All(platforms.List()...), &world{liveErr: context.DeadlineExceeded})
	got := ask(t, h, "/validate/cluster-api-delete-open", capiMachines+`,"operation":"DELETE","oldObject":{"metadata":{"name":"a"}}`)
	if !got.Allowed || len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "not checked: ") || strings.Contains(got.Warnings[0], "nothing was changed") {
		t.Errorf("want one warning, got %+v", got)
	}
	// The end of a move is announced to the object: whether the deletion cancels the move or ends instances is not known.
	got = ask(t, h, "/validate/cluster-api-delete",
		capiMachines+`,"operation":"DELETE","oldObject":{"metadata":{"name":"a","annotations":{"cluster.x-k8s.io/paused":"authority-arrives-2"}}}`)
	if got.Allowed || got.Result.Code != http.StatusServiceUnavailable {
		t.Errorf("want 503, got %+v", got)
	}
}

// A Machine begins only once its twin was looked up, even if the route fails open. The creation may have been admitted without a check.
func TestAMachineDoesNotBeginUnchecked(t *testing.T) {
	fenced := func(o, finalizer string) string {
		return strings.Replace(o, `"metadata":{`, `"metadata":{"finalizers":["`+finalizer+`"],`, 1)
	}
	own := `{"metadata":{"name":"a"},"spec":{"a":1}}`
	w := &world{liveErr: context.DeadlineExceeded}
	h, _ := serve(t, All(platforms.List()...), w)
	begin := map[string]string{
		"/validate/machine-api-open": mapiMachines + `,"operation":"UPDATE","oldObject":` + underMachineAPI + `,"object":` + fenced(underMachineAPI, "machine.machine.openshift.io"),
		"/validate/cluster-api-open": capiMachines + `,"operation":"UPDATE","oldObject":` + own + `,"object":` + fenced(own, "machine.cluster.x-k8s.io"),
	}
	for path, review := range begin {
		if got := ask(t, h, path, review); got.Allowed || got.Result.Code != http.StatusServiceUnavailable ||
			!strings.Contains(got.Result.Message, "try again in a moment") {
			t.Errorf("%s: want 503, got %+v", path, got)
		}
	}
	restore := mapiMachines + `,"operation":"CREATE","object":` + underMachineAPI
	if got := ask(t, h, "/validate/machine-api-open", restore); !got.Allowed || len(got.Warnings) == 0 {
		t.Errorf("a creation: want a warning, got %+v", got)
	}
	if got := ask(t, h, "/validate/machine-api-open", fenced(restore, "machine.machine.openshift.io")); got.Allowed {
		t.Errorf("a creation with the finalizer: want 503, got %+v", got)
	}
	w.liveErr = nil
	for path, review := range begin {
		if got := ask(t, h, path, review); !got.Allowed {
			t.Errorf("%s: alone it begins, got %+v", path, got)
		}
	}
	w.live = map[string]string{capiA: own, mapiA: underMachineAPI}
	for path, review := range begin {
		if got := ask(t, h, path, review); got.Allowed || !strings.Contains(got.Result.Message, "[authority/created-twice]") {
			t.Errorf("%s: want authority/created-twice, got %+v", path, got)
		}
	}
}

// The first Machine of a MachineSet is created only once the set of its name in the other API was looked up. Once the cache shows that the set has Machines,
// nothing is read from the API server for that.
func TestASetDoesNotBeginUnchecked(t *testing.T) {
	const mapiSet, capiSet = "machine.openshift.io MachineSet m/workers", "cluster.x-k8s.io MachineSet c/workers"
	const here = `{"metadata":{"name":"workers","namespace":"m","uid":"u"%s},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI","replicas":%d}}`
	const there = `{"metadata":{"name":"workers","namespace":"c","uid":"u"%s},"status":{"replicas":%d}}`
	owned := `,"operation":"CREATE","object":{"metadata":{"name":"workers-1","ownerReferences":[{"apiVersion":"%s","kind":"MachineSet","name":"workers","uid":"u","controller":true}]},"spec":{}}`
	paused := `,"annotations":{"cluster.x-k8s.io/paused":""}`
	for path, c := range map[string]struct {
		review   string
		set, own string
	}{
		"/validate/machine-api-open": {mapiMachines + fmt.Sprintf(owned, "machine.openshift.io/v1beta1"), mapiSet, here},
		"/validate/cluster-api-open": {capiMachines + fmt.Sprintf(owned, "cluster.x-k8s.io/v1beta2"), capiSet, there},
	} {
		both := func(paused string) map[string]string {
			return map[string]string{mapiSet: fmt.Sprintf(here, "", 0), capiSet: fmt.Sprintf(there, paused, 0)}
		}
		w := &world{liveErr: context.DeadlineExceeded, cached: both("")}
		h, _ := serve(t, All(platforms.List()...), w)
		want := func(what, refusal string) {
			t.Helper()
			got := ask(t, h, path, c.review)
			if got.Allowed != (refusal == "") || refusal != "" && !strings.Contains(got.Result.Message, refusal) {
				t.Errorf("%s, %s: want %q, got %+v", path, what, refusal, got)
			}
		}
		want("unchecked", "try again in a moment")
		w.cached = map[string]string{c.set: fmt.Sprintf(c.own, "", 2)}
		want("unchecked, and has Machines", "")
		w.liveErr, w.live = nil, both("")
		want("has Machines", "")
		w.cached = nil
		want("beside one that acts", "[authority/created-twice]")
		w.cached = map[string]string{c.set: strings.Replace(fmt.Sprintf(c.own, "", 2), `"uid":"u"`, `"uid":"before"`, 1)}
		want("beside one that acts, and one of its name that is gone had Machines", "[authority/created-twice]")
		w.live = both(paused)
		want("beside the mirror", "")
		w.live = map[string]string{c.set: fmt.Sprintf(c.own, "", 0)}
		want("alone", "")
	}
}

func TestAConversionThatCannotBeTriedIsAWarning(t *testing.T) {
	w := &world{
		live: map[string]string{capiA: `{"metadata":{"name":"a"}}`},
		convert: func(context.Context, policies.Change) (field.ErrorList, error) {
			return nil, errors.New("the Infrastructure is unknown")
		},
	}
	h, m := serve(t, All(platforms.List()...), w)
	move := strings.Replace(underMachineAPI, `"spec":{"authoritativeAPI":"MachineAPI"}`, `"spec":{"authoritativeAPI":"ClusterAPI"}`, 1)
	got := ask(t, h, "/validate/machine-api", mapiMachines+`,"operation":"UPDATE","oldObject":`+underMachineAPI+`,"object":`+move)
	if !got.Allowed || !strings.Contains(strings.Join(got.Warnings, "\n"), "the Infrastructure is unknown") {
		t.Errorf("want a warning of it, got %+v", got)
	}
	if n := testutil.ToFloat64(m.doubts.WithLabelValues("machine-api")); n != 1 {
		t.Errorf("%v doubts counted, want 1", n)
	}
}

func TestUnconvertibleFieldsAreWarnedOf(t *testing.T) {
	var asked policies.Change
	w := &world{
		live: map[string]string{
			capiA: `{"metadata":{"name":"a","namespace":"c"},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"i"}}}`,
			"infrastructure.cluster.x-k8s.io AWSMachine c/i": `{"metadata":{"name":"i"},"status":{"ready":true}}`,
		},
		convert: func(_ context.Context, c policies.Change) (field.ErrorList, error) {
			asked = c
			return field.ErrorList{field.Invalid(field.NewPath("spec", "providerSpec", "value", "deviceIndex"), 2,
				"Cluster API attaches one interface, at index 0")}, nil
		},
	}
	h, _ := serve(t, All(platforms.List()...), w)
	move := strings.Replace(underMachineAPI, `"spec":{"authoritativeAPI":"MachineAPI"}`, `"spec":{"authoritativeAPI":"ClusterAPI"}`, 1)
	got := ask(t, h, "/validate/machine-api", mapiMachines+`,"operation":"UPDATE","oldObject":`+underMachineAPI+`,"object":`+move)
	if !got.Allowed || !strings.Contains(strings.Join(got.Warnings, "\n"), "deviceIndex") {
		t.Errorf("want a warning of deviceIndex, got %+v", got)
	}
	if asked.Facts.Twin == nil || asked.Facts.Infra == nil {
		t.Errorf("the conversion was tried before its facts were there: %+v", asked.Facts)
	}
}

// The answer names what is being deleted in the API to which a Machine moves. That is read from the API server, not from the cache.
func TestSurroundingsThatAreDeletedAreWarnedOf(t *testing.T) {
	const going = `{"metadata":{"name":"x","deletionTimestamp":"2026-01-01T00:00:00Z"}}`
	const machine = `{"metadata":{"name":"a"},"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q,"synchronizedAPI":%[2]q,"phase":"Running"}}`
	twin := `{"metadata":{"name":"a"},"spec":{"clusterName":"k"}}`
	for _, c := range []struct{ from, what, contains string }{
		{"MachineAPI", "Namespace c", "Namespace c is being deleted"},
		{"MachineAPI", "apiextensions.k8s.io CustomResourceDefinition machines.cluster.x-k8s.io", "CustomResourceDefinition machines.cluster.x-k8s.io is being deleted"},
		{"MachineAPI", "cluster.x-k8s.io Cluster c/k", "Cluster k is being deleted"},
		{"ClusterAPI", "Namespace m", "Namespace m is being deleted"},
		{"MachineAPI", "Namespace m", ""},
		{"ClusterAPI", "cluster.x-k8s.io Cluster c/k", ""},
	} {
		h, _ := serve(t, All(platforms.List()...), &world{live: map[string]string{capiA: twin, c.what: going}})
		to := map[string]string{"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[c.from]
		got := ask(t, h, "/validate/machine-api", mapiMachines+`,"operation":"UPDATE","oldObject":`+fmt.Sprintf(machine, c.from, c.from)+`,"object":`+
			fmt.Sprintf(machine, to, c.from))
		if all := strings.Join(got.Warnings, " "); !got.Allowed || strings.Contains(all, "being deleted") != (c.contains != "") || !strings.Contains(all, c.contains) {
			t.Errorf("from %s, %s: %+v", c.from, c.what, got)
		}
	}
}

// A set of the API to which a Machine moves is looked up in that API's namespace.
func TestASetThatWouldAdoptAMachineIsWarnedOf(t *testing.T) {
	const set = `{"metadata":{"name":"collector"},"spec":{"selector":{"matchLabels":{"app":"a"}}}}`
	const machine = `{"metadata":{"name":"a","labels":{"app":"a"}},"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q,"synchronizedAPI":%[2]q,"phase":"Running"}}`
	for from, where := range map[string]string{"MachineAPI": "cluster.x-k8s.io MachineSet c", "ClusterAPI": "machine.openshift.io MachineSet m"} {
		h, _ := serve(t, All(platforms.List()...),
			&world{adopters: map[string]string{where: set}, live: map[string]string{capiA: `{"metadata":{"name":"a","labels":{"app":"a"}}}`}})
		to := map[string]string{"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[from]
		got := ask(t, h, "/validate/machine-api", mapiMachines+`,"operation":"UPDATE","oldObject":`+fmt.Sprintf(machine, from, from)+`,"object":`+
			fmt.Sprintf(machine, to, from))
		if !got.Allowed || !strings.Contains(strings.Join(got.Warnings, " "), "MachineSet collector adopts this Machine") {
			t.Errorf("from %s: want a warning of the set, got %+v", from, got)
		}
	}
}

// A MachineDeployment with a wide selector adopts a set of Cluster API's, and replaces all of the set's Machines.
func TestADeploymentThatWouldAdoptASetIsWarnedOf(t *testing.T) {
	const deployment = `{"metadata":{"name":"collector"},"spec":{"selector":{"matchLabels":{"cluster.x-k8s.io/cluster-name":"k"}}}}`
	const set = `{"metadata":{"name":"a","labels":{"app":"a"}},"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q,"synchronizedAPI":%[2]q}}`
	const mirror = `{"metadata":{"name":"a","labels":{"cluster.x-k8s.io/cluster-name":%q}%s}}`
	owned := `,"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDeployment","name":"d","uid":"1","controller":true}]`
	for text, c := range map[string]struct {
		from, mirror string
		want         bool
	}{
		"to Cluster API":                 {"MachineAPI", fmt.Sprintf(mirror, "k", ""), true},
		"with other labels":              {"MachineAPI", fmt.Sprintf(mirror, "other", ""), false},
		"of another MachineDeployment":   {"MachineAPI", fmt.Sprintf(mirror, "k", owned), false},
		"to Machine API, which has none": {"ClusterAPI", fmt.Sprintf(mirror, "k", ""), false},
	} {
		h, _ := serve(t, All(platforms.List()...), &world{adopters: map[string]string{"cluster.x-k8s.io MachineDeployment c": deployment},
			live: map[string]string{"cluster.x-k8s.io MachineSet c/a": c.mirror}})
		to := map[string]string{"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[c.from]
		got := ask(t, h, "/validate/machine-api", strings.Replace(mapiMachines, `"machines"`, `"machinesets"`, 1)+`,"operation":"UPDATE","oldObject":`+fmt.Sprintf(set, c.from, c.from)+`,"object":`+
			fmt.Sprintf(set, to, c.from))
		if all := strings.Join(got.Warnings, " "); !got.Allowed || strings.Contains(all, "MachineDeployment collector adopts this MachineSet") != c.want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// The order is reversed: the MachineDeployment is created after the set.
func TestADeploymentThatIsCreatedIsWarnedOf(t *testing.T) {
	const deployments = `"resource":{"group":"cluster.x-k8s.io","version":"v1beta2","resource":"machinedeployments"},"namespace":"c","name":"collector"`
	h, _ := serve(t, All(platforms.List()...), &world{adopters: map[string]string{
		"cluster.x-k8s.io MachineSet c": `{"metadata":{"name":"s","labels":{"cluster.x-k8s.io/cluster-name":"k"},"annotations":{"cluster.x-k8s.io/paused":""},"finalizers":["sync.machine.openshift.io/finalizer"]}}`}})
	got := ask(t, h, "/validate/cluster-api-deployment", deployments+
		`,"operation":"CREATE","object":{"metadata":{"name":"collector"},"spec":{"selector":{"matchLabels":{"cluster.x-k8s.io/cluster-name":"k"}}}}`)
	if all := strings.Join(got.Warnings, " "); !got.Allowed || !strings.Contains(all, "spec.selector matches MachineSet s") {
		t.Errorf("%+v", got)
	}
}

// TestATemplateInUseIsReviewed: a MachineSet of Cluster API's creates Machines from the current template, whichever request wrote it.
func TestATemplateInUseIsReviewed(t *testing.T) {
	const before = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachineTemplate","metadata":{"name":"s-0123abcd","labels":{"machine.openshift.io/cluster-api-machineset":"s"}},"spec":{"template":{"spec":{"instanceType":"m6i.large","ami":{"id":"ami-1"}}}}}`
	after := strings.Replace(before, `"instanceType"`, `"imageLookupOrg":"1","instanceType"`, 1)
	ofControlPlane := strings.NewReplacer(`"s-0123abcd","labels":{"machine.openshift.io/cluster-api-machineset":"s"}`,
		`"cluster-0123abcd","annotations":{"poundlock.openshift.io/mirror-of":"ControlPlaneMachineSet/cluster"}`).Replace
	refers := func(template string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"c"},"spec":{"clusterName":"x","template":{"spec":{"clusterName":"x","bootstrap":{"dataSecretName":"d"},
			"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachineTemplate","name":%q}}}}}`, template)
	}
	for text, c := range map[string]struct {
		path, request string
		refers        map[string]string // the MachineSets that refer to the template, by their references
		want          string
	}{
		"it is edited": {path: "/validate/infrastructure", request: `,"operation":"UPDATE","oldObject":` + before + `,"object":` + after,
			refers: map[string]string{"s": "s-0123abcd"}, want: "AWSMachineTemplate.spec.template.spec.imageLookupOrg: Machine API cannot express this"},
		"it is edited, and the set that it was made for has another since": {path: "/validate/infrastructure",
			request: `,"operation":"UPDATE","oldObject":` + before + `,"object":` + after,
			refers:  map[string]string{"s": "s-ffffffff", "other": "s-0123abcd"}, want: "AWSMachineTemplate.spec.template.spec.imageLookupOrg: Machine API cannot express this"},
		"it is created again": {path: "/validate/infrastructure-template-create", request: `,"operation":"CREATE","object":` + after,
			refers: map[string]string{"s": "s-0123abcd"}, want: "AWSMachineTemplate.spec.template.spec.imageLookupOrg: Machine API cannot express this"},
		"it is edited, and was made for the ControlPlaneMachineSet": {path: "/validate/infrastructure", request: `,"operation":"UPDATE","oldObject":` +
			ofControlPlane(before) + `,"object":` + ofControlPlane(after),
			refers: map[string]string{"s": "cluster-0123abcd"}, want: "AWSMachineTemplate.spec.template.spec.imageLookupOrg: Machine API cannot express this"},
		"it is created before anybody refers to it": {path: "/validate/infrastructure-template-create", request: `,"operation":"CREATE","object":` + after,
			refers: map[string]string{"s": "s-ffffffff"}},
		"it is edited in another version of its CRD": {path: "/validate/infrastructure",
			request: `,"operation":"UPDATE","oldObject":` + strings.Replace(before, "v1beta2", "v1beta1", 1) + `,"object":` + strings.Replace(after, "v1beta2", "v1beta1", 1),
			refers:  map[string]string{"s": "s-0123abcd"}, want: "could not be checked: the request is in infrastructure.cluster.x-k8s.io/v1beta1, and Poundlock reads only infrastructure.cluster.x-k8s.io/v1beta2: send the request in this version"},
	} {
		t.Run(text, func(t *testing.T) {
			w := &world{cached: map[string]string{}, live: map[string]string{}, sets: map[string][]string{}}
			for set, template := range c.refers {
				w.cached["cluster.x-k8s.io MachineSet c/"+set] = strings.Replace(refers(template), `{"metadata":{`, fmt.Sprintf(`{"metadata":{"name":%q,`, set), 1)
				w.live["machine.openshift.io MachineSet m/"+set] = strings.Replace(underClusterAPI, `"name":"a"`, fmt.Sprintf(`"name":%q`, set), 1)
				w.sets[template] = append(w.sets[template], set)
			}
			w.convert = converting(awsShelf(t), w).Unconvertible
			h, _ := serve(t, All(platforms.List()...), w)
			w.live["machine.openshift.io ControlPlaneMachineSet m/cluster"] = strings.Replace(underClusterAPI, `"name":"a"`, `"name":"cluster"`, 1)
			resource := awsTemplates
			if w.sets["cluster-0123abcd"] != nil {
				resource = strings.Replace(awsTemplates, "s-0123abcd", "cluster-0123abcd", 1)
			}
			got := ask(t, h, c.path, resource+c.request)
			if all := strings.Join(got.Warnings, " "); !got.Allowed || !strings.Contains(all, c.want) || c.want == "" && all != "" {
				t.Errorf("want %q, got %+v", c.want, got)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	for name, tt := range map[string]struct {
		path, request string
		world         world
		want          string
	}{
		"a create with a twin follows it": {
			path: "/mutate/machine-api-default", request: mapiMachines + `,"operation":"CREATE","object":{"spec":{}}`,
			world: world{live: map[string]string{capiA: `{"metadata":{"name":"a"}}`}},
			want:  `[{"op":"add","path":"/spec/authoritativeAPI","value":"ClusterAPI"}]`,
		},
		"a create whose name is yet to be made has no twin": {
			path:    "/mutate/machine-api-default",
			request: strings.Replace(mapiMachines, `,"name":"a"`, ``, 1) + `,"operation":"CREATE","object":{"metadata":{"generateName":"a-"},"spec":{}}`,
			world:   world{liveErr: errors.New("resource name may not be empty")},
			want:    `[{"op":"add","path":"/spec/authoritativeAPI","value":"MachineAPI"}]`,
		},
		"a create without a spec is given one": {
			path: "/mutate/machine-api-default", request: mapiMachines + `,"operation":"CREATE","object":{}`,
			want: `[{"op":"add","path":"/spec","value":{}},{"op":"add","path":"/spec/authoritativeAPI","value":"MachineAPI"}]`,
		},
		"a create that names its authority stays": {
			path: "/mutate/machine-api-default", request: mapiMachines + `,"operation":"CREATE","object":{"spec":{"authoritativeAPI":"MachineAPI"}}`,
		},
		"a controller that leaves out a request keeps it": {
			path: "/mutate/machine-api-keep", request: mapiMachines +
				`,"operation":"UPDATE","userInfo":{"username":"mapi"},"oldObject":{"spec":{"authoritativeAPI":"ClusterAPI"}},"object":{"spec":{"authoritativeAPI":"MachineAPI"}}`,
			want: `[{"op":"add","path":"/spec/authoritativeAPI","value":"ClusterAPI"}]`,
		},
		"a person asks": {
			path: "/mutate/machine-api-keep", request: mapiMachines +
				`,"operation":"UPDATE","userInfo":{"username":"admin"},"oldObject":{"spec":{"authoritativeAPI":"ClusterAPI"}},"object":{"spec":{"authoritativeAPI":"MachineAPI"}}`,
		},
		"a manifest that replaces a set leaves out the finalizer": {
			path: "/mutate/cluster-api-keep",
			request: strings.Replace(capiMachines, "machines", "machinesets", 1) + `,"operation":"UPDATE","userInfo":{"username":"admin"},
				"oldObject":{"metadata":{"name":"a","finalizers":["sync.machine.openshift.io/finalizer"]},"spec":{"replicas":1}},"object":{"metadata":{"name":"a"},"spec":{"replicas":2}}`,
			world: world{live: map[string]string{"machine.openshift.io MachineSet m/a": `{"metadata":{"name":"a"},"status":{"authoritativeAPI":"ClusterAPI"}}`}},
			want:  `[{"op":"add","path":"/metadata/finalizers","value":["sync.machine.openshift.io/finalizer"]}]`,
		},
		"an empty status is filled in from the stored spec, not the sent one": {
			path: "/mutate/machine-api-status-default",
			request: mapiMachines + `,"subResource":"status","operation":"UPDATE","oldObject":{"spec":{"authoritativeAPI":"ClusterAPI"}},
				"object":{"spec":{"authoritativeAPI":"MachineAPI"}}`,
			want: `[{"op":"add","path":"/status","value":{}},{"op":"add","path":"/status/authoritativeAPI","value":"ClusterAPI"}]`,
		},
		"a controller adopts what Cluster API has already": {
			path: "/mutate/machine-api-status-default",
			request: mapiMachines + `,"subResource":"status","operation":"UPDATE","oldObject":{"metadata":{"name":"a"},"spec":{"authoritativeAPI":"ClusterAPI"}},
				"object":{"metadata":{"name":"a"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI"}}`,
			world: world{live: map[string]string{"cluster.x-k8s.io Machine c/a": `{"metadata":{"name":"a"}}`}},
			want:  `[{"op":"add","path":"/status/synchronizedGeneration","value":0}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := serve(t, All(platforms.List()...), &tt.world)
			got := ask(t, h, tt.path, tt.request)
			if !got.Allowed {
				t.Fatalf("refused: %+v", got.Result)
			}
			if diff := cmp.Diff(tt.want, string(got.Patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if (got.PatchType != nil) != (tt.want != "") {
				t.Errorf("patch type %v with patch %q", got.PatchType, got.Patch)
			}
		})
	}
}

func TestBodiesThatAreNoReview(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		code int
	}{
		"nothing":                  {``, http.StatusBadRequest},
		"no JSON":                  {`hello`, http.StatusBadRequest},
		"another kind":             {`{"apiVersion":"v1","kind":"Pod"}`, http.StatusBadRequest},
		"another version":          {`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u"}}`, http.StatusBadRequest},
		"no request":               {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest},
		"a request without a uid":  {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`, http.StatusBadRequest},
		"more than anybody stores": {`{"a":"` + strings.Repeat("a", maxBody) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := serve(t, All(platforms.List()...), &world{})
			rec := post(h, "/validate/cluster-api", tt.body)
			if rec.Code != tt.code || strings.TrimSpace(rec.Body.String()) == "" {
				t.Errorf("got %d %q, want %d and a sentence", rec.Code, rec.Body, tt.code)
			}
			if n := testutil.ToFloat64(m.failures.WithLabelValues("cluster-api", failureBody)); n != 1 {
				t.Errorf("%v failures counted, want 1", n)
			}
		})
	}
}

// An announced length of a body reserves no memory. A client may announce any length, and send nothing.
func TestABodyTakesTheMemoryOfWhatArrives(t *testing.T) {
	for promised, want := range map[int64]int64{-1: 0, 0: 0, 100: 100, 64 << 10: 64 << 10, maxBody: 64 << 10, 1 << 40: 64 << 10} {
		if got := roomFor(promised); got != want+bytes.MinRead {
			t.Errorf("%d announced: %d reserved, want %d", promised, got, want+bytes.MinRead)
		}
	}
	allocated := func(announced int64, body string) uint64 {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.ContentLength = announced
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _ = receive(httptest.NewRecorder(), r)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if got := allocated(maxBody, "{"); got > maxBody/8 {
		t.Errorf("one byte after %d announced: %d are allocated", maxBody, got)
	}
	if got := allocated(maxBody, strings.Repeat(" ", maxBody/2)); got < maxBody/2 {
		t.Errorf("what arrives is not counted: %d", got)
	}
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	for name, request := range map[string]string{
		"an object of another type":     capiMachines + `,"operation":"CREATE","object":[]`,
		"labels that are no map":        capiMachines + `,"operation":"CREATE","object":{"metadata":{"labels":1}}`,
		"an update without old object":  capiMachines + `,"operation":"UPDATE","object":{}`,
		"an update without object":      capiMachines + `,"operation":"UPDATE","oldObject":{}`,
		"an operation nobody asked for": capiMachines + `,"operation":"CONNECT","object":{}`,
		"a resource of another door":    mapiMachines + `,"operation":"CREATE","object":{}`,
	} {
		t.Run(name, func(t *testing.T) {
			h, m := serve(t, All(platforms.List()...), &world{})
			got := ask(t, h, "/validate/cluster-api", request)
			if got.Allowed || got.Result.Code != http.StatusBadRequest || got.Result.Message == "" {
				t.Errorf("want 400 and a sentence, got %+v", got)
			}
			if n := testutil.ToFloat64(m.failures.WithLabelValues("cluster-api", failureRequest)); n != 1 {
				t.Errorf("%v failures counted, want 1", n)
			}
		})
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	c := Catalog{Rules: policies.Set{{
		ID: "test/panics", On: []policies.Scope{{Side: policies.SideClusterAPI, Kinds: []string{"Machine"}, Operations: ops(create)}},
		Check: func(policies.Change) policies.Verdict { panic("index out of range") },
	}}}
	h, m := serve(t, c, &world{})
	got := ask(t, h, "/validate/cluster-api", capiMachines+`,"operation":"CREATE","object":{}`)
	if got.Allowed || got.Result.Code != http.StatusInternalServerError || strings.Contains(got.Result.Message, "index") {
		t.Errorf("want 500 without inner workings, got %+v", got.Result)
	}
	if n := testutil.ToFloat64(m.failures.WithLabelValues("cluster-api", failurePanic)); n != 1 {
		t.Errorf("%v failures counted, want 1", n)
	}
}

func TestDeletePropagation(t *testing.T) {
	for options, want := range map[string]string{
		``:                                     "",
		`{"kind":"DeleteOptions"}`:             "",
		`{"propagationPolicy":"Foreground"}`:   "Foreground",
		`{"orphanDependents":true}`:            "Orphan",
		`{"orphanDependents":false}`:           "Background",
		`{"propagationPolicy":"Orphan","x":1}`: "Orphan",
	} {
		got, err := propagation(&request{Operation: remove, Options: json.RawMessage(options)})
		if err != nil || string(got) != want {
			t.Errorf("options %s: %q and %v, want %q", options, got, err, want)
		}
	}
}

// Every verdict is counted under names that no request can influence.
func TestVerdictsAreCounted(t *testing.T) {
	h, m := serve(t, All(platforms.List()...), &world{live: map[string]string{mapiA: underMachineAPI}})
	ask(t, h, "/validate/cluster-api", capiMachines+`,"operation":"CREATE","object":{"metadata":{"name":"a"}}`)
	if n := testutil.ToFloat64(m.rules.WithLabelValues("authority/create-clusterapi", "denied", "Machine", "CREATE")); n != 1 {
		t.Errorf("%v denials counted, want 1", n)
	}
	if n := testutil.ToFloat64(m.inFlight); n != 0 {
		t.Errorf("%v reviews in flight after the answer", n)
	}
}

func BenchmarkReview(b *testing.B) {
	machine := func(replicas int, extra string) string {
		return fmt.Sprintf(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"c","uid":"1","resourceVersion":"5",
			"annotations":{"cluster.x-k8s.io/paused":""},"labels":{"cluster.x-k8s.io/cluster-name":"x","machine.openshift.io/zone":"eu-1a"},
			"managedFields":[{"manager":"m","fieldsV1":{%s}}]},
			"spec":{"clusterName":"x","n":%d,%s"bootstrap":{"dataSecretName":"worker-user-data"}}}`,
			strings.TrimSuffix(strings.Repeat(`"f:metadata":{"f:annotations":{".":{}}},`, 60), ","), replicas, extra)
	}
	body := []byte(review(capiMachines + `,"operation":"UPDATE","userInfo":{"username":"someone"},"oldObject":` + machine(1, "") + `,"object":` + machine(2, "")))
	h, _ := serve(b, All(platforms.List()...), &world{cached: map[string]string{mapiA: underMachineAPI}})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/validate/cluster-api", bytes.NewReader(body)))
	}
}
