// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// needed are the CRDs that these stories need.
var needed = []string{
	"machines.machine.openshift.io", "machinesets.machine.openshift.io", "infrastructures.config.openshift.io",
	"machinehealthchecks.machine.openshift.io", "machinehealthchecks.cluster.x-k8s.io",
	"machines.cluster.x-k8s.io", "machinesets.cluster.x-k8s.io", "awsmachines.infrastructure.cluster.x-k8s.io",
	"awsmachinetemplates.infrastructure.cluster.x-k8s.io", "awsclusters.infrastructure.cluster.x-k8s.io",
	"controlplanemachinesets.machine.openshift.io", "machinedeployments.cluster.x-k8s.io",
}

const (
	poundlockUser  = "system:serviceaccount:c:poundlock"
	controllerUser = "system:serviceaccount:m:machine-api-controllers"
)

// TestOnAnAPIServer installs the generated configurations and sends requests as a user would.
func TestOnAnAPIServer(t *testing.T) {
	embedded.LeaveOut(t)
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	crds = slices.DeleteFunc(crds, func(c *apiextensionsv1.CustomResourceDefinition) bool { return !slices.Contains(needed, c.Name) })
	if len(crds) != len(needed) {
		t.Fatalf("%d CRDs, want %d", len(crds), len(needed))
	}
	plane := embedded.ForTest(t, embedded.Options{CRDs: crds})
	p := newPlace(t, plane)
	for _, story := range []struct {
		name string
		tell func(*testing.T, *place)
	}{
		{"whoever writes status first stores the authority", firstStatus},
		{"a client whose types lack fields of status replaces it, and they keep their values", replacesStatus},
		{"what is restored beside its own mirror is created as it was", restored},
		{"an instance has one Machine, by any spelling of its ID, and by any reference to it", oneInstance},
		{"an infrastructure machine is not created again without the instance of its Machine", recreates},
		{"an owner that is gone is refused, and one that may not be read is warned of", ownersThatAreGone},
		{"a MachineDeployment gets no owner that is gone, and is not deleted in the foreground past its Machines' hooks", deployment},
		{"a Machine does not get the name of an infrastructure machine that another Machine runs", namedAsInfra},
		{"what vSphere's provider keeps for the instance of a Machine is not deleted, nor is a Machine created beside it", keptOnVSphere},
		{"a lock holds, dry run or not, and not for Poundlock", lock},
		{"kubectl scale of the wrong set is refused", scale},
		{"a provider's template is locked through its set", template},
		{"a collection is refused and warned of like its objects", collection},
		{"a delete that fails open warns", warnOfDelete},
		{"a move that cannot be converted is stored, with a warning for each field", warnOfMove},
		{"what Machine API cannot express is named where Cluster API is authoritative", warnOfUse},
		{"what would be fought over is not moved", neverMoves},
		{"a request to move warns of each controller that will be refused", namesNeighbours},
		{"Machine API's controllers are let through by field, and create nothing for a set of Cluster API's", controllers},
		{"of two sets of one name, created in both APIs at once, at most one begins", twoSets},
		{"a set of Cluster API's creates no Machine in the place of one that has lost its mirror", noSurplus},
		{"Cluster API's pause is not put on a set of the Machine API, and can be taken off", takesPauseOff},
		{"a restored object without a twin loses the finalizer that nobody would remove", withoutTwin},
		{"the control plane does not end with a namespace by a slip", endsControlPlane},
		{"what each other component writes at each stage of a move meets the rule that the survey has for it", everyWriter},
		{"elsewhere nothing is locked", elsewhere},
		{"what fails closed does so once the webhooks have answered, and again when somebody removes the label", enforces},
		{"a control plane's set is told what it will do", controlPlaneSet},
		{"and what an edit of its Machines in Cluster API leads to", editsMasterInClusterAPI},
		{"and what a move of authority over it means", controlPlaneAuthority},
		{"and what becomes of its Machines without its finalizer", finalizerOfASet},
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(t, p) })
	}
	t.Run("checks of one name are locked", func(t *testing.T) { checks(t, p, "locked") })
	for _, crd := range crds {
		if crd.Name == "machinehealthchecks.machine.openshift.io" {
			p.create(t, p.admin, check("seen"))
			takeAuthority(crd)
			p.must(t, plane.InstallCRDs(t.Context(), crd))
			p.withoutAuthority(t, "seen")
		}
	}
	t.Run("and left alone where their CRD has no fields of authority", func(t *testing.T) { checks(t, p, "") })
	t.Run("a control plane does not end because nobody answers", func(t *testing.T) { nobodyAnswers(t, p) })
}

// takeAuthority removes from a CRD what Poundlock's overlay adds to the published one.
func takeAuthority(crd *apiextensionsv1.CustomResourceDefinition) {
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for part, names := range map[string][]string{"spec": {"authoritativeAPI"}, "status": {"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"}} {
		schema := properties[part]
		for _, name := range names {
			delete(schema.Properties, name)
		}
		schema.XValidations = nil
		properties[part] = schema
	}
}

// withoutAuthority waits until the API server serves checks by the schema without the authority fields.
func (p *place) withoutAuthority(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		o := toward(coreKind(policies.SideMachineAPI, "MachineHealthCheck"), "m", name)
		p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		if value(o, "spec", "authoritativeAPI") == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the API server goes on serving the fields of authority")
		}
		<-time.After(50 * time.Millisecond)
	}
}

func check(name string) string {
	return fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck, metadata: {name: %s, namespace: m},
		spec: {authoritativeAPI: MachineAPI, selector: {}, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 5m}]}}`, name)
}

// checks creates two health checks with one name, one in each API, as users who do not know Poundlock create them.
func checks(t *testing.T, p *place, name string) {
	want := name
	if name == "" {
		name = "alone"
	}
	p.create(t, p.admin, fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineHealthCheck, metadata: {name: %s, namespace: c},
		spec: {clusterName: x, selector: {matchLabels: {a: b}}}}`, name))
	created := p.admin.Create(t.Context(), p.object(t, check(name)))
	edited := p.admin.Patch(t.Context(), toward(coreKind(policies.SideClusterAPI, "MachineHealthCheck"), "c", name),
		merge(`{"spec":{"checks":{"nodeStartupTimeoutSeconds":60}}}`))
	if want == "" && (created != nil || edited != nil) {
		t.Errorf("created: %v; edited: %v", created, edited)
	}
	if want != "" && (created == nil || !strings.Contains(created.Error(), "authority/create-machineapi")) {
		t.Errorf("created beside Cluster API's: %v", created)
	}
}

// place is a control plane with the webhooks, and two users.
type place struct {
	plane            *embedded.Plane
	admin, poundlock client.Client
	warned           *warnedOf
}

// warnedOf records the API server's warnings.
type warnedOf struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnedOf) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last take.
func (w *warnedOf) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.texts
	w.texts = nil
	return out
}

func newPlace(t *testing.T, plane *embedded.Plane) *place {
	t.Helper()
	p := &place{plane: plane, warned: &warnedOf{}}
	as := func(cfg *rest.Config) client.Client {
		cfg.WarningHandler = p.warned
		c, err := client.New(cfg, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	p.admin = as(plane.Admin())
	own, err := plane.As(poundlockUser, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	p.poundlock = as(own)
	for _, ns := range []string{"m", "c", "elsewhere", writersPair.MachineAPI, writersPair.ClusterAPI} {
		p.must(t, p.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: ctrl.ObjectMeta{Name: ns}}))
	}
	p.create(t, p.admin, `
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
spec: {platformSpec: {type: AWS}}`)
	p.patchStatus(t, configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster", `{"status":{"infrastructureName":"x","controlPlaneTopology":"HighlyAvailable","infrastructureTopology":"HighlyAvailable",
		"platformStatus":{"type":"AWS","aws":{"region":"eu-west-1"}}}}`)
	p.open(t, own)
	return p
}

// open starts the webhooks and registers them at the API server.
func (p *place) open(t *testing.T, cfg *rest.Config) {
	t.Helper()
	probes := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: probes, Logger: log.Log,
	})
	p.must(t, err)
	cert, _, der := certificate(t)
	pairs, port := authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}, writersPair}, freePort(t)
	s, err := New(t.Context(), mgr, Options{
		Pairs: pairs, Catalog: All(platforms.List()...), Identities: played(),
		Host: "127.0.0.1", Port: port, Registerer: prometheus.NewRegistry(), Log: log.Log,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil },
	})
	p.must(t, err)
	p.must(t, s.AddTo(mgr))
	everyRouteIsGuarded(t, s)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the webhooks are ready", func() bool {
		r, err := http.Get("http://" + probes + "/readyz/webhooks")
		return err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK
	})
	if got := p.labelOf(t, "c"); got != "" {
		t.Errorf("the namespace c is labelled %q before the API server knows the webhooks", got)
	}
	validating, mutating := Configurations(ConfigOptions{
		Platforms: platforms.List(), Pairs: pairs, Own: []string{poundlockUser}, URL: fmt.Sprintf("https://127.0.0.1:%d", port),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	})
	p.must(t, p.admin.Create(t.Context(), validating))
	p.must(t, p.admin.Create(t.Context(), mutating))
	eventually(t, "the API server calls the webhooks", func() bool {
		err := p.admin.Create(t.Context(), p.object(t, machineManifest("probe", "")), client.DryRunAll)
		return err == nil && p.filled(t)
	})
	p.warned.take()
}

// everyRouteIsGuarded checks that no route of a server answers without the limits of guard, which ends the connection while the server is stopping.
func everyRouteIsGuarded(t *testing.T, s *Server) {
	t.Helper()
	s.draining.Store(true)
	defer s.draining.Store(false)
	for _, route := range Routes(All(platforms.List()...)) {
		w := httptest.NewRecorder()
		s.WebhookMux().ServeHTTP(w, httptest.NewRequest(http.MethodPost, route.Path(), strings.NewReader("{}")))
		if w.Code != http.StatusBadRequest || w.Header().Get("Connection") != "close" {
			t.Errorf("%s: HTTP %d, Connection: %q", route.Path(), w.Code, w.Header().Get("Connection"))
		}
	}
}

// filled reports whether a first write of a status is defaulted. If it is, the API server has both configurations.
func (p *place) filled(t *testing.T) bool {
	t.Helper()
	o := p.object(t, machineManifest("probe", ""))
	if err := p.admin.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	p.must(t, p.admin.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{}`))))
	return value(o, "status", "authoritativeAPI") == "MachineAPI"
}

func (p *place) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *place) object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	p.must(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

func (p *place) create(t *testing.T, c client.Client, text string) {
	t.Helper()
	p.must(t, c.Create(t.Context(), p.object(t, text)))
}

func toward(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func (p *place) patchStatus(t *testing.T, gvk schema.GroupVersionKind, namespace, name, patch string) {
	t.Helper()
	p.must(t, p.poundlock.Status().Patch(t.Context(), toward(gvk, namespace, name), client.RawPatch(types.MergePatchType, []byte(patch))))
}

func value(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

func machineManifest(name, providerSpec string) string {
	return fmt.Sprintf(`
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {namespace: m, name: %s}
spec:
  providerSpec:
    value: {apiVersion: machine.openshift.io/v1beta1, kind: AWSMachineProviderConfig, ami: {id: ami-1}, instanceType: m6i.large, placement: {region: eu-west-1}%s}`, name, providerSpec)
}

func twinManifest(name string) string {
	return fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {namespace: c, name: %s, annotations: {cluster.x-k8s.io/paused: ""}}
spec:
  clusterName: x
  bootstrap: {dataSecretName: worker-user-data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: %s}`, name, name)
}

func setManifests(name string) (mapi, capi string) {
	return fmt.Sprintf(`
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {namespace: m, name: %s}
spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {}}}`, name), fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineSet
metadata: {namespace: c, name: %s, annotations: {cluster.x-k8s.io/paused: ""}}
spec:
  clusterName: x
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      clusterName: x
      bootstrap: {dataSecretName: worker-user-data}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: %s}`, name, name)
}

// denied compares a refusal's status, rule and field, as a client reads them.
func denied(t *testing.T, err error, rule, path string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Fatalf("want a denial by %s, got %v", rule, err)
	}
	s := status.Status()
	if s.Code != http.StatusUnprocessableEntity || !apierrors.IsInvalid(err) || s.Details == nil || len(s.Details.Causes) == 0 ||
		s.Details.Causes[0].Field != path || !strings.HasSuffix(s.Details.Causes[0].Message, "["+rule+"]") {
		t.Errorf("want 422 of %s by %s, got %+v", path, rule, s)
	}
}

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

var (
	mapiMachine  = coreKind(policies.SideMachineAPI, "Machine")
	capiMachine  = coreKind(policies.SideClusterAPI, "Machine")
	capiSet      = coreKind(policies.SideClusterAPI, "MachineSet")
	mapiSet      = coreKind(policies.SideMachineAPI, "MachineSet")
	settledState = `{"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI"}}`
)

func (p *place) pair(t *testing.T, name string) {
	t.Helper()
	p.create(t, p.admin, machineManifest(name, ""))
	p.patchStatus(t, mapiMachine, "m", name, settledState)
	p.create(t, p.admin, twinManifest(name))
}

func firstStatus(t *testing.T, p *place) {
	p.create(t, p.admin, machineManifest("fresh", ""))
	o := toward(mapiMachine, "m", "fresh")
	p.must(t, p.admin.Status().Patch(t.Context(), o, merge(`{"status":{"phase":"Provisioning"}}`)))
	if got := value(o, "status", "authoritativeAPI"); got != "MachineAPI" {
		t.Errorf("status.authoritativeAPI %q, want the stored spec's", got)
	}
	err := p.admin.Status().Patch(t.Context(), o, merge(`{"status":{"authoritativeAPI":"Migrating"}}`))
	denied(t, err, "authority/status-owned", "status.authoritativeAPI")
	for name, status := range map[string]string{"begun": `{"status":{"phase":"Provisioning"}}`, "begun-too": `{"status":{"authoritativeAPI":"ClusterAPI"}}`} {
		p.create(t, p.admin, twinManifest(name))
		p.create(t, p.admin, strings.Replace(machineManifest(name, ""), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1))
		o := toward(mapiMachine, "m", name)
		p.must(t, p.admin.Status().Patch(t.Context(), o, merge(status)))
		if generation, stored, _ := unstructured.NestedInt64(o.Object, "status", "synchronizedGeneration"); !stored || generation != 0 {
			t.Errorf("%s: status %v does not say that Cluster API has its object already", name, o.Object["status"])
		}
	}
}

// replacesStatus does what an older machine-api-operator does: it reads the object into a Go type that lacks the authority fields, and updates the whole
// status.
func replacesStatus(t *testing.T, p *place) {
	p.create(t, p.admin, machineManifest("older", ""))
	p.patchStatus(t, mapiMachine, "m", "older",
		`{"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"True","lastTransitionTime":"2026-11-23T00:00:00Z"},{"type":"AuthoritySettled","status":"True","lastTransitionTime":"2026-11-23T00:00:00Z"}]}}`)
	for _, lacks := range [][]string{{"synchronizedAPI"}, {"synchronizedAPI", "synchronizedGeneration"}, {"conditions"},
		{"authoritativeAPI", "synchronizedAPI", "synchronizedGeneration", "conditions"}} {
		o := toward(mapiMachine, "m", "older")
		p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		before, _, _ := unstructured.NestedMap(o.Object, "status")
		for _, field := range lacks {
			unstructured.RemoveNestedField(o.Object, "status", field)
		}
		_ = unstructured.SetNestedField(o.Object, strings.Join(lacks, "-"), "status", "phase")
		before["phase"] = strings.Join(lacks, "-")
		p.must(t, p.admin.Status().Update(t.Context(), o))
		if after, _, _ := unstructured.NestedMap(o.Object, "status"); !reflect.DeepEqual(before, after) {
			t.Errorf("without %v: status %v, want %v", lacks, after, before)
		}
		_ = unstructured.SetNestedField(o.Object, "ClusterAPI", "status", "synchronizedAPI")
		denied(t, p.admin.Status().Update(t.Context(), o), "authority/status-owned", "status.synchronizedAPI")
	}
}

// restored is about a Machine that is restored from a backup while its mirror still exists.
func restored(t *testing.T, p *place) {
	const id = "spec: {providerID: 'aws:///eu-west-1a/i-back'"
	p.create(t, p.poundlock, strings.NewReplacer("annotations: {", "annotations: {poundlock.openshift.io/mirror-of: Machine/back, ",
		"spec:\n", "spec:\n  providerID: aws:///eu-west-1a/i-back\n").Replace(twinManifest("back")))
	p.create(t, p.poundlock, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: back}
`+id+`, instanceType: m6i.large}`)
	backup := strings.Replace(machineManifest("back", ""), "spec:", "spec:\n  authoritativeAPI: MachineAPI\n  providerID: aws:///eu-west-1a/i-back", 1)
	denied(t, p.admin.Create(t.Context(), p.object(t, backup)), "authority/create-machineapi", "spec.authoritativeAPI")
	p.must(t, p.poundlock.Patch(t.Context(), toward(platforms.List()[0].InfraMachine.GroupVersionKind, "c", "back"),
		merge(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)))
	denied(t, p.admin.Create(t.Context(), p.object(t, strings.Replace(backup, "i-back", "i-other", 1))), "authority/create-machineapi", "spec.providerID")
	p.create(t, p.admin, backup)
}

func oneInstance(t *testing.T, p *place) {
	named := func(name, id string) *unstructured.Unstructured {
		return p.object(t, strings.Replace(machineManifest(name, ""), "spec:", fmt.Sprintf("spec:\n  providerID: %q", id), 1))
	}
	p.must(t, p.admin.Create(t.Context(), named("one", "aws:///eu-west-1a/i-one")))
	for _, id := range []string{
		"aws:///eu-west-1a/i-one", "aws:///eu-west-1a/i-one/", "aws:///eu-west-1b//i-one", "AWS:///eu-west-1a/I-one", " aws:///eu-west-1a/i-one", "aws:///i-one\n",
	} {
		var err error
		_ = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) { // a cache may lag
			err = p.admin.Create(ctx, named("two", id), client.DryRunAll)
			return err != nil, nil
		})
		denied(t, err, "authority/provider-id", "spec.providerID")
	}
	// Nothing mirrors that Machine, so no infrastructure machine has its name.
	other := strings.Replace(twinManifest("one"), "name: one", "name: other", 1)
	denied(t, p.admin.Create(t.Context(), p.object(t, other)), "authority/infra-owner", "spec.infrastructureRef.name")
	p.must(t, p.admin.Create(t.Context(), p.object(t, strings.Replace(other, "name: one", "name: free", 1)), client.DryRunAll))
}

// recreates is about the infrastructure machine of a Machine that has an instance. Somebody deleted it and creates it again from a manifest without the ID. Its
// provider would create a second instance as soon as Cluster API owns it.
func recreates(t *testing.T, p *place) {
	withID := func(manifest string) string {
		return strings.Replace(manifest, "spec:", "spec:\n  providerID: aws:///eu-west-1a/i-again", 1)
	}
	p.create(t, p.poundlock, strings.Replace(withID(machineManifest("again", "")), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1))
	p.patchStatus(t, mapiMachine, "m", "again", `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
	p.create(t, p.poundlock, strings.Replace(withID(twinManifest("again")), `annotations: {cluster.x-k8s.io/paused: ""}`, "annotations: {}", 1))
	manifest := `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: again}
spec: {instanceType: m6i.large%s}`
	for _, lacks := range []string{"", ", providerID: ''", ", providerID: 'aws:/// '"} {
		denied(t, p.admin.Create(t.Context(), p.object(t, fmt.Sprintf(manifest, lacks))), "authority/provider-id", "spec.providerID")
	}
	p.create(t, p.admin, fmt.Sprintf(manifest, ", providerID: 'aws:///eu-west-1a/i-again'"))
}

func ownersThatAreGone(t *testing.T, p *place) {
	owned := func(manifest, owner string) *unstructured.Unstructured {
		return p.object(t, strings.Replace(manifest, "metadata: {", "metadata: {ownerReferences: ["+owner+"], ", 1))
	}
	// They are refused even if nothing mirrors the object, because the garbage collector would delete the object without any message.
	const set, cluster = "{apiVersion: %s, kind: MachineSet, name: x, uid: gone}", "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: x, uid: gone}"
	_, capi := setManifests("owned")
	for manifest, owner := range map[string]string{
		machineManifest("owned", ""): fmt.Sprintf(set, "machine.openshift.io/v1beta1"),
		twinManifest("owned"):        fmt.Sprintf(set, "cluster.x-k8s.io/v1beta2"),
		capi:                         cluster,
	} {
		denied(t, p.admin.Create(t.Context(), owned(manifest, owner), client.DryRunAll), "authority/finalizers-owned", "metadata.ownerReferences")
	}
	infra := `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: owned}
spec: {instanceType: m6i.large, providerID: 'aws:///eu-west-1a/i-owned'}`
	denied(t, p.admin.Create(t.Context(), owned(infra, cluster), client.DryRunAll), "authority/infra-owner", "metadata.ownerReferences")
	p.create(t, p.admin, twinManifest("owned"))
	machine := strings.Replace(machineManifest("owned", ""), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1)
	const gone = "{apiVersion: machine.openshift.io/v1, kind: ControlPlaneMachineSet, name: cluster, uid: gone, controller: true}"
	denied(t, p.admin.Create(t.Context(), owned(machine, gone), client.DryRunAll), "authority/finalizers-owned", "metadata.ownerReferences")
	p.warned.take()
	const unread = "{apiVersion: v1, kind: ConfigMap, name: x, uid: x}"
	p.must(t, p.admin.Create(t.Context(), owned(machine, unread), client.DryRunAll))
	if got := strings.Join(p.warned.take(), "\n"); !strings.Contains(got, "if ConfigMap x with the UID x does not exist, the garbage collector deletes this Machine") {
		t.Errorf("warnings are %q", got)
	}
	p.create(t, p.admin, machine)
	p.patchStatus(t, mapiMachine, "m", "owned", `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
	denied(t, p.admin.Create(t.Context(), owned(infra, cluster), client.DryRunAll), "authority/infra-owner", "metadata.ownerReferences")
	p.create(t, p.poundlock, infra)
	err := p.admin.Patch(t.Context(), toward(platforms.List()[0].InfraMachine.GroupVersionKind, "c", "owned"), merge(
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]}}`))
	denied(t, err, "authority/infra-owner", "metadata.ownerReferences[0]")
}

func namedAsInfra(t *testing.T, p *place) {
	other := p.object(t, strings.Replace(twinManifest("other"), "AWSMachine, name: other", "AWSMachine, name: taken", 1))
	p.must(t, p.admin.Create(t.Context(), other))
	taken := p.object(t, fmt.Sprintf(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: taken, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: other, uid: %s}]}
spec: {instanceType: m6i.large, providerID: 'aws:///eu-west-1a/i-taken'}`, other.GetUID()))
	p.must(t, p.poundlock.Create(t.Context(), taken))
	err := p.admin.Create(t.Context(), p.object(t, machineManifest("taken", "")), client.DryRunAll)
	denied(t, err, "authority/infra-owner", "metadata.name")
	p.must(t, p.admin.Create(t.Context(), p.object(t, machineManifest("not-taken", "")), client.DryRunAll))
	p.must(t, p.poundlock.Delete(t.Context(), taken)) // other stories count Machines
	p.must(t, p.poundlock.Delete(t.Context(), other))
}

func lock(t *testing.T, p *place) {
	p.pair(t, "locked")
	o, change := toward(capiMachine, "c", "locked"), merge(`{"spec":{"version":"v1.36.0"}}`)
	denied(t, p.admin.Patch(t.Context(), o, change), "authority/spec-locked", "spec.version")
	denied(t, p.admin.Patch(t.Context(), o, change, client.DryRunAll), "authority/spec-locked", "spec.version")
	p.must(t, p.poundlock.Patch(t.Context(), o, change, client.DryRunAll))
	p.must(t, p.admin.Patch(t.Context(), o, merge(`{"metadata":{"labels":{"team":"blue"}}}`)))
	// A request in the previous version is converted for the webhook, so it is locked, too.
	old := capiMachine
	old.Version = "v1beta1"
	denied(t, p.admin.Patch(t.Context(), toward(old, "c", "locked"), change), "authority/spec-locked", "spec.version")
}

func scale(t *testing.T, p *place) {
	mapi, capi := setManifests("scaled")
	p.create(t, p.admin, mapi)
	p.patchStatus(t, mapiSet, "m", "scaled", settledState)
	p.create(t, p.admin, capi)
	patch := merge(`{"spec":{"replicas":3}}`)
	err := p.admin.SubResource("scale").Patch(t.Context(), toward(capiSet, "c", "scaled"), patch)
	denied(t, err, "authority/scale-locked", "spec.replicas")
	p.must(t, p.admin.SubResource("scale").Patch(t.Context(), toward(mapiSet, "m", "scaled"), patch))
}

func template(t *testing.T, p *place) {
	mapi, capi := setManifests("templated")
	p.create(t, p.admin, mapi)
	p.patchStatus(t, mapiSet, "m", "templated", settledState)
	p.create(t, p.admin, capi)
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {namespace: c, name: templated}
spec: {template: {spec: {instanceType: m6i.large}}}`)
	o := toward(platforms.List()[0].InfraMachineTemplate.GroupVersionKind, "c", "templated")
	// The template has no label and no mark. The index finds the set that refers to it, once the cache has the set.
	eventually(t, "the set is known to the cache", func() bool { return p.admin.Delete(t.Context(), o, client.DryRunAll) != nil })
	denied(t, p.admin.Delete(t.Context(), o), "authority/infra-locked", "metadata.name")
}

// collection deletes, by a request for a whole collection, objects that must not be deleted by name, while authority moves back.
func collection(t *testing.T, p *place) {
	p.pair(t, "collected")
	p.must(t, p.poundlock.Patch(t.Context(), toward(capiMachine, "c", "collected"),
		merge(`{"metadata":{"labels":{"of":"collection"},"finalizers":["sync.machine.openshift.io/finalizer"]}}`)))
	p.create(t, p.poundlock, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: collected, labels: {of: collection}, annotations: {cluster.x-k8s.io/paused: ""}}
spec: {instanceType: m6i.large}`)
	all := func(o client.Object) error {
		return p.admin.DeleteAllOf(t.Context(), o, client.InNamespace("c"), client.MatchingLabels{"of": "collection"})
	}
	p.warned.take()
	p.must(t, p.admin.DeleteAllOf(t.Context(), toward(capiMachine, "c", ""), client.InNamespace("c"), client.MatchingLabels{"of": "collection"}, client.DryRunAll))
	if got := p.warned.take(); len(got) != 1 || !strings.HasSuffix(got[0], "[authority/delete-recreated]") {
		t.Errorf("warned of %q, want authority/delete-recreated", got)
	}
	p.patchStatus(t, mapiMachine, "m", "collected", `{"status":{"authoritativeAPI":"Migrating"}}`)
	p.patchStatus(t, mapiMachine, "m", "collected", `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
	p.patchStatus(t, mapiMachine, "m", "collected", `{"status":{"authoritativeAPI":"Migrating"}}`)
	denied(t, all(toward(platforms.List()[0].InfraMachine.GroupVersionKind, "c", "")), "authority/infra-locked", "metadata.name")
}

func warnOfDelete(t *testing.T, p *place) {
	p.pair(t, "deleted")
	p.must(t, p.poundlock.Patch(t.Context(), toward(capiMachine, "c", "deleted"), merge(`{"metadata":{"finalizers":["sync.machine.openshift.io/finalizer"]}}`)))
	p.warned.take()
	p.must(t, p.admin.Delete(t.Context(), toward(capiMachine, "c", "deleted"), client.DryRunAll))
	if got := p.warned.take(); len(got) != 1 || !strings.HasSuffix(got[0], "[authority/delete-recreated]") {
		t.Errorf("warned of %q, want authority/delete-recreated", got)
	}
	// An object without a finalizer has no twin, and its deletion calls no webhook. While the API server waits for a webhook, it would not see a finalizer that is
	// added.
	p.create(t, p.admin, machineManifest("free", ""))
	p.warned.take()
	p.must(t, p.admin.Delete(t.Context(), toward(mapiMachine, "m", "free")))
	if got := p.warned.take(); len(got) > 0 {
		t.Errorf("warned of %q, want nothing", got)
	}
}

func warnOfMove(t *testing.T, p *place) {
	p.create(t, p.admin, machineManifest("moved", ", deviceIndex: 2"))
	p.patchStatus(t, mapiMachine, "m", "moved", settledState)
	p.create(t, p.admin, twinManifest("moved"))
	p.warned.take()
	o := toward(mapiMachine, "m", "moved")
	p.must(t, p.admin.Patch(t.Context(), o, merge(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`)))
	got := p.warned.take()
	if !slices.ContainsFunc(got, func(w string) bool {
		return strings.HasPrefix(w, "spec.providerSpec.value.deviceIndex: ") && strings.HasSuffix(w, "[authority/request-warning]")
	}) {
		t.Errorf("warned of %q, want deviceIndex", got)
	}
	if value(o, "spec", "authoritativeAPI") != "ClusterAPI" {
		t.Error("the request was not stored")
	}
}

// warnOfUse edits and creates objects for which Cluster API is authoritative, and expects warnings.
func warnOfUse(t *testing.T, p *place) {
	p.create(t, p.admin, strings.Replace(machineManifest("used", ""), "spec:\n", "spec:\n  authoritativeAPI: ClusterAPI\n", 1))
	p.patchStatus(t, mapiMachine, "m", "used",
		`{"status":{"authoritativeAPI":"ClusterAPI","conditions":[{"type":"Paused","status":"True","lastTransitionTime":"2026-11-23T00:00:00Z"}]}}`)
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {namespace: c, name: x}
spec: {region: us-east-1}`)
	t.Cleanup(func() {
		p.must(t, p.admin.Delete(context.Background(), toward(platforms.List()[0].InfraCluster.GroupVersionKind, "c", "x"))) // later steps expect that there is none
	})
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: used}
spec: {instanceType: m6i.large}`)
	p.create(t, p.admin, twinManifest("used"))
	var last []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("warned of %q", last)
		}
	})
	warns := func(what string, change func() error, path string) {
		t.Helper()
		eventually(t, what, func() bool {
			p.warned.take()
			if err := change(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			last = p.warned.take()
			return slices.ContainsFunc(last, func(w string) bool {
				return strings.HasPrefix(w, path) && strings.HasSuffix(w, "[authority/unconvertible]")
			})
		})
	}
	hook := toward(capiMachine, "c", "used")
	warns("a hook too short for Machine API", func() error {
		return p.admin.Patch(t.Context(), hook, merge(`{"metadata":{"annotations":{"pre-drain.delete.hook.machine.cluster.x-k8s.io/a":"me"}}}`), client.DryRunAll)
	}, "metadata.annotations[pre-drain.delete.hook.machine.cluster.x-k8s.io/a]: ")
	infra := toward(platforms.List()[0].InfraMachine.GroupVersionKind, "c", "used")
	warns("an AWSMachine in use", func() error {
		return p.admin.Patch(t.Context(), infra, merge(`{"spec":{"imageLookupFormat":"capa-ami"}}`), client.DryRunAll)
	}, "AWSMachine.spec.imageLookupFormat: ")
	acknowledged := merge(`{"status":{"conditions":[{"type":"Paused","status":"True","reason":"Paused","message":"m","lastTransitionTime":"2026-11-30T00:00:00Z"}]}}`)
	for _, o := range []client.Object{hook, infra} {
		denied(t, p.admin.Status().Patch(t.Context(), o.DeepCopyObject().(client.Object), acknowledged, client.DryRunAll), "authority/pause-condition", "status.conditions[Paused]")
		p.must(t, p.admin.Status().Patch(t.Context(), o.DeepCopyObject().(client.Object), merge(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"m","lastTransitionTime":"2026-11-30T00:00:00Z"}]}}`), client.DryRunAll))
	}
	// A whole object without the field is sent, as `kubectl replace` sends an older manifest. The CRD's default then fills in the field.
	whole := toward(mapiMachine, "m", "used")
	p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(whole), whole))
	unstructured.RemoveNestedField(whole.Object, "spec", "authoritativeAPI")
	p.warned.take()
	p.must(t, p.admin.Update(t.Context(), whole, client.DryRunAll))
	if text := strings.Join(p.warned.take(), "\n"); !strings.Contains(text, "this Machine moves to Machine API") ||
		!strings.Contains(text, "A manifest without spec.authoritativeAPI requests this move too") {
		t.Errorf("a replacement without the field asks for %q: warned of %q", value(whole, "spec", "authoritativeAPI"), text)
	}
}

func enforces(t *testing.T, p *place) {
	for range 2 {
		for _, name := range []string{"m", "c"} {
			eventually(t, "the namespace "+name+" has the label", func() bool { return p.labelOf(t, name) == authority.Enforced })
		}
		ns := &corev1.Namespace{ObjectMeta: ctrl.ObjectMeta{Name: "c"}}
		p.must(t, p.admin.Patch(t.Context(), ns, merge(`{"metadata":{"labels":{"poundlock.openshift.io/admission":null}}}`)))
	}
	eventually(t, "the namespace c has the label again", func() bool { return p.labelOf(t, "c") == authority.Enforced })
	if got := p.labelOf(t, "elsewhere"); got != "" {
		t.Errorf("a namespace of nobody's is labelled %q", got)
	}
}

func (p *place) labelOf(t *testing.T, namespace string) string {
	t.Helper()
	ns := &corev1.Namespace{}
	p.must(t, p.admin.Get(t.Context(), client.ObjectKey{Name: namespace}, ns))
	return ns.Labels[authority.AdmissionLabel]
}

func elsewhere(t *testing.T, p *place) {
	text := strings.Replace(machineManifest("fresh", ""), "namespace: m", "namespace: elsewhere", 1)
	p.create(t, p.admin, text)
	o := toward(mapiMachine, "elsewhere", "fresh")
	p.must(t, p.admin.Status().Patch(t.Context(), o, merge(`{"status":{"phase":"Provisioning"}}`)))
	if got := value(o, "status", "authoritativeAPI"); got != "" {
		t.Errorf("status.authoritativeAPI %q in a namespace of nobody's", got)
	}
}

// neverMoves: a controller sets a set's replicas, and the cluster-version-operator writes the whole spec of its check, whichever API is authoritative.
func neverMoves(t *testing.T, p *place) {
	set, _ := setManifests("by-hosts")
	p.create(t, p.admin, set)
	p.patchStatus(t, mapiSet, "m", "by-hosts", settledState)
	p.must(t, p.admin.Patch(t.Context(), toward(mapiSet, "m", "by-hosts"), merge(`{"metadata":{"annotations":{"metal3.io/autoscale-to-hosts":""}}}`)))
	ask := merge(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`)
	denied(t, p.admin.Patch(t.Context(), toward(mapiSet, "m", "by-hosts"), ask), "authority/request-blocked", "spec.authoritativeAPI")
	p.must(t, p.admin.Patch(t.Context(), toward(mapiSet, "m", "by-hosts"), merge(`{"metadata":{"annotations":{"metal3.io/autoscale-to-hosts":null}}}`)))
	p.must(t, p.admin.Patch(t.Context(), toward(mapiSet, "m", "by-hosts"), ask, client.DryRunAll))

	released := coreKind(policies.SideMachineAPI, "MachineHealthCheck")
	p.create(t, p.admin, check("machine-api-termination-handler"))
	p.patchStatus(t, released, "m", "machine-api-termination-handler", settledState)
	denied(t, p.admin.Patch(t.Context(), toward(released, "m", "machine-api-termination-handler"), ask), "authority/request-blocked", "spec.authoritativeAPI")

	// The cluster-version-operator sends everything but status. It leaves out the field of authority, whatever was stored.
	o := toward(released, "m", "machine-api-termination-handler")
	p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	o.SetLabels(map[string]string{"k8s-app": "termination-handler"})
	o.SetAnnotations(map[string]string{"exclude.release.openshift.io/internal-openshift-hosted": "true"})
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "config.openshift.io/v1", Kind: "ClusterVersion", Name: "version", UID: "v", Controller: &yes}})
	p.must(t, unstructured.SetNestedField(o.Object, "100%", "spec", "maxUnhealthy"))
	unstructured.RemoveNestedField(o.Object, "spec", "authoritativeAPI")
	p.must(t, p.admin.Update(t.Context(), o))
	if got := value(o, "spec", "authoritativeAPI"); got != "" {
		t.Errorf("spec.authoritativeAPI is filled in with %s, and differs from the release's manifest for ever", got)
	}
}

// namesNeighbours: controllers do not read warnings, so the user who requests a move gets them. The set's fields show which other components write to it.
func namesNeighbours(t *testing.T, p *place) {
	set, _ := setManifests("shared")
	p.create(t, p.admin, strings.Replace(set, "spec: {}}", `spec: {providerSpec: {value: {apiVersion: machine.openshift.io/v1beta1,
		kind: AWSMachineProviderConfig, ami: {id: ami-1}, instanceType: m6i.large, placement: {region: eu-west-1}}}}}`, 1))
	p.patchStatus(t, mapiSet, "m", "shared", settledState)
	const images = "exclude the set in spec.managedBootImages of MachineConfiguration cluster (guide: Boot images)"
	for _, c := range []struct{ sentence, change, warned, not string }{
		{"nobody has excluded it from updates of boot images", `{}`, images, ""},
		{"it is of a MachinePool of Hive's", `{"metadata":{"labels":{"hive.openshift.io/managed":"true","hive.openshift.io/machine-pool":"worker"}}}`, "Hive (MachinePool worker)", ""},
		{"GitOps applies it", `{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"fleet:machine.openshift.io/MachineSet:m/shared"}}}`, "GitOps (app fleet)", ""},
		{"it ends with an upgrade", `{"metadata":{"labels":{"upgrade.managed.openshift.io":"true"}}}`, "the managed-upgrade-operator deletes this set", ""},
		{"its Machines run Windows, whose boot images nobody updates", `{"spec":{"template":{"metadata":{"labels":{"machine.openshift.io/os-id":"Windows"}}}}}`,
			"Hive (MachinePool worker)", "this set's boot image"},
	} {
		p.must(t, p.admin.Patch(t.Context(), toward(mapiSet, "m", "shared"), merge(c.change)))
		text := p.asks(t, mapiSet, "shared")
		if !strings.Contains(text, c.warned) || !strings.Contains(text, "[authority/request-warning]") || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: warned of %q, want %q and no word of %q", c.sentence, text, c.warned, c.not)
		}
	}

	reboots := coreKind(policies.SideMachineAPI, "MachineHealthCheck")
	p.create(t, p.admin, check("reboots"))
	p.patchStatus(t, reboots, "m", "reboots", settledState)
	const strategy = "metadata.annotations[machine.openshift.io/remediation-strategy]: "
	if message := p.asks(t, reboots, "reboots"); strings.Contains(message, strategy) {
		t.Errorf("a check that deletes: warned of %q", message)
	}
	p.must(t, p.admin.Patch(t.Context(), toward(reboots, "m", "reboots"), merge(`{"metadata":{"annotations":{"machine.openshift.io/remediation-strategy":"external-baremetal"}}}`)))
	if answer := p.asks(t, reboots, "reboots"); !strings.Contains(answer, strategy) {
		t.Errorf("a check that reboots: warned of %q", answer)
	}
}

// asks requests a move to Cluster API as a dry run, and returns the warnings.
func (p *place) asks(t *testing.T, gvk schema.GroupVersionKind, name string) string {
	t.Helper()
	p.warned.take()
	p.must(t, p.admin.Patch(t.Context(), toward(gvk, "m", name), merge(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`), client.DryRunAll))
	return strings.Join(p.warned.take(), "\n")
}

// Controllers of the Machine API whose feature gate is off act on every object.
func controllers(t *testing.T, p *place) {
	config, err := p.plane.As(controllerUser, "system:masters")
	p.must(t, err)
	c, err := client.New(config, client.Options{})
	p.must(t, err)
	moved := strings.ReplaceAll(settledState, "MachineAPI", "ClusterAPI")
	set, _ := setManifests("acted-for")
	p.create(t, p.admin, strings.Replace(set, "spec: {", "spec: {authoritativeAPI: ClusterAPI, ", 1))
	p.patchStatus(t, mapiSet, "m", "acted-for", moved)
	owner := toward(mapiSet, "m", "acted-for")
	p.must(t, c.Get(t.Context(), client.ObjectKeyFromObject(owner), owner))
	one := func(name, owners string) *unstructured.Unstructured {
		return p.object(t, strings.Replace(machineManifest(name, ""), "name: "+name+"}", "name: "+name+owners+"}", 1))
	}
	owned := fmt.Sprintf(", ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: acted-for, uid: %s, controller: true}]", owner.GetUID())
	eventually(t, "a Machine for the set is refused", func() bool {
		err := c.Create(t.Context(), one("acted-for-1", owned), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "authority/create-for-set")
	})
	p.must(t, c.Create(t.Context(), one("acted-for-none", ""), client.DryRunAll))
	p.must(t, c.Patch(t.Context(), owner, merge(`{"metadata":{"annotations":{"machine.openshift.io/vCPU":"4","capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=amd64"}}}`)))
	arm := merge(`{"metadata":{"annotations":{"capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=arm64"}}}`)
	denied(t, p.admin.Patch(t.Context(), toward(mapiSet, "m", "acted-for"), arm), "authority/metadata-reserved",
		"metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/labels]")

	p.create(t, p.admin, strings.Replace(machineManifest("acted-on", ""), "spec:\n", "spec:\n  authoritativeAPI: ClusterAPI\n", 1))
	p.patchStatus(t, mapiMachine, "m", "acted-on", moved)
	machine := toward(mapiMachine, "m", "acted-on")
	denied(t, c.Patch(t.Context(), machine.DeepCopy(), merge(`{"metadata":{"finalizers":["machine.machine.openshift.io"]}}`)), "authority/finalizer-fence", "metadata.finalizers")
	denied(t, c.Patch(t.Context(), machine.DeepCopy(), merge(`{"spec":{"providerID":"aws:///eu-west-1a/i-second"}}`)), "authority/spec-locked", "spec.providerID")
	p.must(t, c.Patch(t.Context(), machine.DeepCopy(), merge(`{"metadata":{"labels":{"machine.openshift.io/zone":"eu-west-1a"},"annotations":{"machine.openshift.io/instance-state":"running"}}}`)))
	p.must(t, c.Status().Patch(t.Context(), machine.DeepCopy(), merge(`{"status":{"phase":"Running","nodeRef":{"kind":"Node","name":"n"}}}`)))
}

// twoSets is about two sets of one name. Each API's controller acts as soon as its set is stored.
func twoSets(t *testing.T, p *place) {
	stories.Long(t)
	as := func(user string) client.Client {
		config, err := p.plane.As(user, "system:masters")
		p.must(t, err)
		return quiet(t, config)
	}
	type half struct {
		client.Client
		set     schema.GroupVersionKind
		machine string
	}
	here, there := half{as(controllerUser), mapiSet, machineManifest("%s", "")}, half{as(capiManager), capiSet, strings.Replace(twinManifest("%[1]s"), pausedText, "", 1)}
	first := func(h half, set *unstructured.Unstructured, options ...client.CreateOption) error {
		machine := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(fmt.Sprintf(h.machine, set.GetName()+"-1")), &machine.Object); err != nil {
			return err
		}
		controls := true
		machine.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: set.GetAPIVersion(), Kind: set.GetKind(), Name: set.GetName(), UID: set.GetUID(), Controller: &controls}})
		return h.Create(t.Context(), machine, options...)
	}
	for i := range 20 {
		one, other := setManifests(fmt.Sprintf("raced-%d", i))
		other = strings.Replace(other, pausedText, "", 1)
		var began [2]error
		var both sync.WaitGroup
		for side, h := range []half{here, there} {
			set := p.object(t, []string{one, other}[side])
			both.Go(func() {
				if began[side] = p.admin.Create(t.Context(), set); began[side] == nil {
					began[side] = first(h, set)
				}
			})
		}
		both.Wait()
		if began[0] == nil && began[1] == nil {
			t.Errorf("raced-%d: both sets create Machines", i)
		}
	}
	one, other := setManifests("twofold")
	p.create(t, p.admin, one)
	p.create(t, p.poundlock, strings.Replace(other, pausedText, "", 1)) // as if its review had not seen the other set
	read := func(h half) *unstructured.Unstructured {
		o := in(h.set, "twofold")
		p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		return o
	}
	want := func(what string, h half, refused bool) {
		t.Helper()
		err := first(h, read(h), client.DryRunAll)
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "authority/created-twice") {
			t.Errorf("%s: refused %t is wanted, got %v", what, refused, err)
		}
	}
	want("neither has begun: Machine API's", here, true)
	want("neither has begun: Cluster API's", there, true)
	p.patchStatus(t, capiSet, "c", "twofold", `{"status":{"replicas":1}}`)
	want("Cluster API's has begun: Cluster API's", there, false)
	want("Cluster API's has begun: Machine API's", here, true)
	p.must(t, p.admin.Delete(t.Context(), in(capiSet, "twofold")))
	want("Cluster API's is deleted: Machine API's", here, false)
}

// noSurplus is about a set of Cluster API's. Machine API runs one of its Machines, whose mirror is gone.
func noSurplus(t *testing.T, p *place) {
	config, err := p.plane.As(capiManager, "system:masters")
	p.must(t, err)
	controller := quiet(t, config)
	set, twin := setManifests("mixed")
	for _, text := range []*string{&set, &twin} {
		*text = strings.NewReplacer("{a: b}", "{set: mixed}", "spec: {replicas", "spec: {authoritativeAPI: ClusterAPI, replicas", pausedText, "").Replace(*text)
	}
	p.create(t, p.admin, set)
	p.patchStatus(t, mapiSet, "m", "mixed", strings.ReplaceAll(settledState, "MachineAPI", "ClusterAPI"))
	p.create(t, p.poundlock, twin)
	owned := func(manifest string, gvk schema.GroupVersionKind, namespace string) *unstructured.Unstructured {
		owner, machine, controls := toward(gvk, namespace, "mixed"), p.object(t, manifest), true
		p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(owner), owner))
		machine.SetLabels(map[string]string{"set": "mixed"})
		machine.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: &controls}})
		return machine
	}
	p.must(t, p.admin.Create(t.Context(), owned(machineManifest("mixed-run", ""), mapiSet, "m")))
	p.patchStatus(t, mapiMachine, "m", "mixed-run", settledState)
	creates := func(name string, options ...client.CreateOption) error {
		return controller.Create(t.Context(), owned(strings.Replace(twinManifest(name), pausedText, "", 1), capiSet, "c"), options...)
	}
	refused := func(err error) bool { return err != nil && strings.Contains(err.Error(), "authority/create-surplus") }
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(50 * time.Millisecond) { // until the cache has the Machine
		if err := creates("mixed-one", client.DryRunAll); refused(err) {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("a Machine in the place of the one without a mirror: %v", err)
		}
	}
	p.must(t, p.admin.Patch(t.Context(), toward(capiSet, "c", "mixed"), merge(`{"spec":{"replicas":4}}`)))
	for _, name := range []string{"mixed-one", "mixed-two", "mixed-three"} { // at once, as its controller creates them
		p.must(t, creates(name))
	}
	if err := creates("mixed-four"); !refused(err) {
		t.Errorf("beside the three that it lacked: %v", err)
	}
	p.must(t, p.poundlock.Create(t.Context(), owned(twinManifest("mixed-run"), capiSet, "c")))
	if err := creates("mixed-four"); !refused(err) {
		t.Errorf("of a controller that does not see the mirror: %v", err)
	}
	p.must(t, p.admin.Patch(t.Context(), toward(capiSet, "c", "mixed"), merge(`{"spec":{"replicas":5}}`)))
	p.must(t, creates("mixed-four"))
}

// takesPauseOff: the autoscaler ignores a set of the Machine API that has Cluster API's pause annotation, whichever API is authoritative.
func takesPauseOff(t *testing.T, p *place) {
	set, twin := setManifests("paused")
	p.create(t, p.admin, strings.Replace(set, "spec: {", "spec: {authoritativeAPI: ClusterAPI, ", 1))
	p.patchStatus(t, mapiSet, "m", "paused", strings.ReplaceAll(settledState, "MachineAPI", "ClusterAPI"))
	p.create(t, p.poundlock, twin)
	o, pause := toward(mapiSet, "m", "paused"), merge(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	denied(t, p.admin.Patch(t.Context(), o, pause), "authority/metadata-reserved", "metadata.annotations[cluster.x-k8s.io/paused]")
	p.must(t, p.poundlock.Patch(t.Context(), o, pause)) // as a user did before the move
	p.must(t, p.admin.Patch(t.Context(), o, merge(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)))
}

// withoutTwin is about a Machine of a backup that has no mirror. Its finalizers are from another cluster.
func withoutTwin(t *testing.T, p *place) {
	backup := strings.Replace(machineManifest("lonely", ""), "name: lonely}", "name: lonely, finalizers: [sync.machine.openshift.io/finalizer]}", 1)
	p.create(t, p.admin, backup)
	p.must(t, p.admin.Patch(t.Context(), toward(mapiMachine, "m", "lonely"), merge(`{"metadata":{"finalizers":null}}`)))
	begun := strings.NewReplacer("name: lonely}", "name: begun, finalizers: [machine.machine.openshift.io]}", "spec:\n", "spec:\n  authoritativeAPI: ClusterAPI\n").
		Replace(machineManifest("lonely", ""))
	denied(t, p.admin.Create(t.Context(), p.object(t, begun)), "authority/finalizer-fence", "metadata.finalizers")
}

// endsControlPlane: a user allows the deletion of a namespace, and forgets that the masters run in Cluster API.
func endsControlPlane(t *testing.T, p *place) {
	for i := range 3 {
		name := fmt.Sprintf("master-%d", i)
		p.create(t, p.admin, strings.NewReplacer("name: "+name+"}",
			"name: "+name+", labels: {machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}}",
			"spec:\n", "spec:\n  authoritativeAPI: ClusterAPI\n").Replace(machineManifest(name, "")))
		p.patchStatus(t, mapiMachine, "m", name, strings.ReplaceAll(settledState, "MachineAPI", "ClusterAPI"))
	}
	namespace := toward(corev1.SchemeGroupVersion.WithKind("Namespace"), "", "c")
	annotate := func(text string) {
		t.Helper()
		p.must(t, p.poundlock.Patch(t.Context(), namespace.DeepCopy(), merge(`{"metadata":{"annotations":`+text+`}}`)))
	}
	t.Cleanup(func() {
		if err := p.poundlock.Patch(context.WithoutCancel(t.Context()), namespace.DeepCopy(), merge(`{"metadata":{"annotations":null}}`)); err != nil {
			t.Error(err)
		}
		for i := range 3 {
			if err := p.poundlock.Delete(context.WithoutCancel(t.Context()), toward(mapiMachine, "m", fmt.Sprintf("master-%d", i))); err != nil {
				t.Error(err)
			}
		}
	})
	annotate(`{"poundlock.openshift.io/holds-mirrors":"3 Machines"}`)
	eventually(t, "the reviews know the Machines", func() bool {
		err := p.admin.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "3 of 3 control plane Machines (master-0, master-1, master-2)")
	})
	denied(t, p.admin.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll), "authority/surroundings", "metadata.name")
	annotate(`{"poundlock.openshift.io/allow-deletion":"true"}`)
	// Other stories leave a Machine in this namespace that is asked to move, which has a refusal of its own.
	if err := p.admin.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "[authority/control-plane-ends]") {
		t.Errorf("the control plane ends: %v", err)
	}
	annotate(`{"poundlock.openshift.io/allow-deletion":"with-control-plane"}`)
	p.warned.take()
	p.must(t, p.admin.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll))
	if got := strings.Join(p.warned.take(), " "); !strings.Contains(got, "3 of 3 control plane Machines") {
		t.Errorf("warned of %q", got)
	}
	// If all of them were asked to move to the API that stays, they would be deleted on their way.
	for i := range 3 {
		name := fmt.Sprintf("master-%d", i)
		p.must(t, p.poundlock.Patch(t.Context(), toward(mapiMachine, "m", name), merge(`{"spec":{"authoritativeAPI":"MachineAPI"}}`)))
		p.patchStatus(t, mapiMachine, "m", name, `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}}`)
	}
	eventually(t, "the reviews know that they move", func() bool {
		p.warned.take()
		p.must(t, p.admin.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll))
		got := strings.Join(p.warned.take(), " ")
		return strings.Contains(got, "have not moved to Machine API yet") && strings.Contains(got, "master-0, master-1")
	})
	annotate(`{"poundlock.openshift.io/allow-deletion":"true"}`)
	if err := p.admin.Delete(t.Context(), namespace.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "[authority/moves-end]") {
		t.Errorf("they are deleted while they move: %v", err)
	}
}
