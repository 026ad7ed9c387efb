// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

const metadataYAML = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries: [{major: 1, minor: 0, contract: v1beta1}, {major: 2, minor: 0, contract: v1alpha3}]
`

// transport makes the ConfigMap of a provider with the documents of a text.
func transport(t *testing.T, label, version, text string, change ...func(*corev1.ConfigMap)) corev1.ConfigMap {
	t.Helper()
	kind, name, _ := strings.Cut(label, "-")
	if label == "cluster-api" {
		kind, name = "core", label
	}
	p, err := bundle.Provider{Name: name, Type: bundle.Type(kind), Version: version}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	documents, err := bundle.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := bundle.Bundle{Provider: p, Metadata: []byte(metadataYAML), Documents: documents}.Pack(bundle.Packing{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(maps[0])
	}
	return *maps[0]
}

func account(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: openshift-cluster-api}\n", name)
}

func TestSelect(t *testing.T) {
	named := func(name string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) { cm.Name = name }
	}
	core := transport(t, "cluster-api", "v1.0.0", account("core"))
	aws := transport(t, "infrastructure-aws", "v1.0.0", account("aws"))
	for name, c := range map[string]struct {
		maps []corev1.ConfigMap
		want string // the labels, then the problems
	}{
		"nothing":                           {nil, "| the core provider"},
		"core alone":                        {[]corev1.ConfigMap{core}, "cluster-api |"},
		"the order is core first":           {[]corev1.ConfigMap{aws, core}, "cluster-api infrastructure-aws |"},
		"without core the others are held":  {[]corev1.ConfigMap{aws}, "infrastructure-aws | the core provider"},
		"another platform's is left out":    {[]corev1.ConfigMap{core, transport(t, "infrastructure-gcp", "v1.0.0", account("gcp"))}, "cluster-api |"},
		"another platform's may be broken":  {[]corev1.ConfigMap{core, transport(t, "infrastructure-gcp", "v1.0.0", account("gcp"), spoil)}, "cluster-api |"},
		"a broken one stops the set":        {[]corev1.ConfigMap{core, transport(t, "infrastructure-aws", "v1.0.0", account("aws"), spoil)}, "cluster-api | somebody changed the content"},
		"two versions of one":               {[]corev1.ConfigMap{core, aws, transport(t, "infrastructure-aws", "v1.0.1", account("aws"), named("b"))}, "cluster-api | two versions"},
		"two providers share an object":     {[]corev1.ConfigMap{core, transport(t, "infrastructure-aws", "v1.0.0", account("core"))}, "cluster-api infrastructure-aws | rename the object"},
		"contracts that do not go together": {[]corev1.ConfigMap{core, transport(t, "infrastructure-aws", "v2.0.0", account("aws"))}, "cluster-api infrastructure-aws | contract"},
		"a shard is missing": {[]corev1.ConfigMap{core, transport(t, "infrastructure-aws", "v1.0.0", account("aws"), func(cm *corev1.ConfigMap) {
			cm.Annotations[bundle.ShardAnnotation] = "1/2"
		})}, "cluster-api | waiting until the ConfigMap is created"},
		"a provider's own ConfigMap is no transport": {[]corev1.ConfigMap{core, {ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{bundle.ProviderLabel: "cluster-api", InstalledByLabel: Manager}}, Data: map[string]string{"components": "x"},
		}}, "cluster-api |"},
		"nor is one with nothing but the label": {[]corev1.ConfigMap{core, {ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{bundle.ProviderLabel: "cluster-api"}}, Data: map[string]string{"a": "x"},
		}}, "cluster-api |"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Select(c.maps, "AWS")
			var labels []string
			for _, b := range s.Bundles {
				labels = append(labels, b.Provider.Label())
			}
			problems := ""
			for _, err := range s.Problems {
				problems += err.Error()
			}
			wantLabels, wantProblem, _ := strings.Cut(c.want, "|")
			wantProblem = strings.TrimSpace(wantProblem)
			if strings.Join(labels, " ") != strings.TrimSpace(wantLabels) || (wantProblem == "") != (problems == "") || !strings.Contains(problems, wantProblem) {
				t.Errorf("%v | %s; want %s", labels, problems, c.want)
			}
		})
	}
}

// Many shards that are within bounds, each by itself, do not fill the memory before somebody adds them up.
// A ConfigMap that cannot be read is no shard that is still to come, whatever else is not there.
func TestABrokenShardIsNotWaitedFor(t *testing.T) {
	shard := func(k string, edit func(*corev1.ConfigMap)) corev1.ConfigMap {
		return transport(t, "infrastructure-aws", "v1.0.0", account("aws"), func(cm *corev1.ConfigMap) {
			cm.Name, cm.Annotations[bundle.ShardAnnotation] = "aws."+k, k+"/3"
			edit(cm)
		})
	}
	whole := func(*corev1.ConfigMap) {}
	broken := func(cm *corev1.ConfigMap) {
		delete(cm.Data, "components")
		cm.BinaryData = map[string][]byte{"components": []byte("x")}
	}
	core := transport(t, "cluster-api", "v1.0.0", account("core"))
	for name, c := range map[string]struct {
		second   func(*corev1.ConfigMap)
		waits    bool
		contains string
	}{"one is missing": {whole, true, "number 3 is missing"}, "and another is broken": {broken, false, "reading ConfigMap aws.2"}} {
		s := Select([]corev1.ConfigMap{core, shard("1", whole), shard("2", c.second)}, "AWS")
		err := s.Problems["infrastructure-aws"]
		if err == nil || Waiting(err) != c.waits || !strings.Contains(err.Error(), c.contains) || strings.Contains(err.Error(), "number 3 is missing") != c.waits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSelectBoundsMemory(t *testing.T) {
	const shards, each = 20, 10 << 20
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(bytes.Repeat([]byte("#"), each)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all := []corev1.ConfigMap{transport(t, "cluster-api", "v1.0.0", account("core"))}
	for k := range shards {
		cm := transport(t, "infrastructure-aws", "v1.0.0", account("aws"))
		cm.Name, cm.Annotations[bundle.ShardAnnotation] = fmt.Sprintf("aws.%d", k), fmt.Sprintf("%d/%d", k+1, shards)
		delete(cm.Data, "components")
		cm.BinaryData = map[string][]byte{"components": packed.Bytes()}
		all = append(all, cm)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := Select(all, "AWS")
	runtime.ReadMemStats(&after)
	if err := s.Problems["infrastructure-aws"]; err == nil || !strings.Contains(err.Error(), "leave out objects") || Waiting(err) {
		t.Errorf("%v", err)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > shards*each>>20 {
		t.Errorf("%d MiB were allocated, want less than all shards have", allocated)
	} else {
		t.Logf("%d MiB", allocated)
	}
}

func TestSameRelease(t *testing.T) {
	mark := func(release string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) {
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, bundle.ReleaseAnnotation, release)
		}
	}
	of := func(label, release string) corev1.ConfigMap {
		return transport(t, label, "v1.0.0", account("a"), mark(release))
	}
	beside := func(name, release string) corev1.ConfigMap {
		cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		mark(release)(&cm)
		return cm
	}
	const images, values = bundle.ImagesConfigMap, bundle.VariablesConfigMap
	core := of("cluster-api", "4.20")
	for name, c := range map[string]struct {
		maps, beside []corev1.ConfigMap
		want         *Mixed
	}{
		"no mark anywhere":                  {maps: []corev1.ConfigMap{of("cluster-api", "")}, beside: []corev1.ConfigMap{beside(images, "")}},
		"one release":                       {maps: []corev1.ConfigMap{core}, beside: []corev1.ConfigMap{beside(images, "4.20"), beside(values, "4.20")}},
		"newer images":                      {maps: []corev1.ConfigMap{core}, beside: []corev1.ConfigMap{beside(images, "4.21")}, want: &Mixed{"cluster-api", "4.20", images, "4.21"}},
		"older images":                      {maps: []corev1.ConfigMap{core}, beside: []corev1.ConfigMap{beside(images, "4.19")}, want: &Mixed{"cluster-api", "4.20", images, "4.19"}},
		"newer values":                      {maps: []corev1.ConfigMap{core}, beside: []corev1.ConfigMap{beside(values, "4.21"), beside(images, "4.20")}, want: &Mixed{"cluster-api", "4.20", values, "4.21"}},
		"images without a mark":             {maps: []corev1.ConfigMap{core}, beside: []corev1.ConfigMap{beside(images, "")}},
		"manifests without a mark":          {maps: []corev1.ConfigMap{of("cluster-api", "")}, beside: []corev1.ConfigMap{beside(images, "4.21")}},
		"one provider is behind":            {maps: []corev1.ConfigMap{of("cluster-api", "4.21"), of("infrastructure-aws", "4.20")}, beside: []corev1.ConfigMap{beside(images, "4.21")}, want: &Mixed{"infrastructure-aws", "4.20", images, "4.21"}},
		"that of another platform is not":   {maps: []corev1.ConfigMap{of("infrastructure-gcp", "4.20")}, beside: []corev1.ConfigMap{beside(images, "4.21")}},
		"a provider's own ConfigMap is not": {maps: []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{bundle.ProviderLabel: "cluster-api"}, Annotations: core.Annotations}}}, beside: []corev1.ConfigMap{beside(images, "4.21")}},
	} {
		t.Run(name, func(t *testing.T) {
			err := SameRelease(c.maps, "AWS", c.beside)
			var got *Mixed
			errors.As(err, &got)
			if diff := cmp.Diff(c.want, got); diff != "" || Waiting(err) != (c.want != nil) {
				t.Error(diff, Waiting(err))
			}
		})
	}
}

func spoil(cm *corev1.ConfigMap) { cm.Data["components"] += "\n# by hand\n" }

func TestPlatformOf(t *testing.T) {
	for name, c := range map[string]struct {
		infrastructure string
		enabled        []string
		want           string
	}{
		"none yet":                  {"{}", nil, "waits"},
		"no type yet":               {"{status: {platformStatus: {}}}", nil, "waits"},
		"AWS":                       {"{status: {platformStatus: {type: AWS}}}", nil, "AWS"},
		"PowerVS":                   {"{status: {platformStatus: {type: PowerVS}}}", nil, "PowerVS"},
		"Azure":                     {"{status: {platformStatus: {type: Azure, azure: {cloudName: AzurePublicCloud}}}}", nil, "Azure"},
		"Azure Stack Hub":           {"{status: {platformStatus: {type: Azure, azure: {cloudName: AzureStackCloud}}}}", nil, "unsupported"},
		"None":                      {"{status: {platformStatus: {type: None}}}", nil, "unsupported"},
		"Nutanix, not asked for":    {"{status: {platformStatus: {type: Nutanix}}}", nil, "unsupported"},
		"Nutanix, asked for":        {"{status: {platformStatus: {type: Nutanix}}}", []string{"Nutanix"}, "Nutanix"},
		"one that is not known yet": {"{status: {platformStatus: {type: Moon}}}", nil, "unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			var in map[string]any
			if err := yaml.Unmarshal([]byte(c.infrastructure), &in); err != nil {
				t.Fatal(err)
			}
			p := PlatformOf(in, c.enabled)
			got := p.Name
			if p.Waits != "" {
				got = "waits"
			} else if p.Unsupported != "" {
				got = "unsupported"
			}
			if got != c.want {
				t.Errorf("%+v, want %s", p, c.want)
			}
		})
	}
	if p := PlatformOf(nil, nil); !strings.Contains(p.Waits, "does not exist") {
		t.Errorf("without an Infrastructure: %+v", p)
	}
	if CheckEnabled([]string{"Nutanix"}) != nil || CheckEnabled([]string{"AWS"}) == nil {
		t.Error("only optional platforms can be enabled")
	}
}

func TestPlaced(t *testing.T) {
	of := func(kind, name, platforms string) corev1.ConfigMap {
		return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{bundle.NameLabel: name, bundle.TypeLabel: kind, bundle.VersionLabel: "v1.0.0"},
			Annotations: map[string]string{bundle.PlatformAnnotation: platforms},
		}}
	}
	core, aws, gcp, ibm := of("core", "cluster-api", ""), of("infrastructure", "aws", "AWS"), of("infrastructure", "gcp", "GCP"),
		of("infrastructure", "ibmcloud", "PowerVS,IBMCloud")
	for name, c := range map[string]struct {
		platform Platform
		kept     []corev1.ConfigMap
		want     string // the platform whose content stays, "" for the platform as it is
		err      string
	}{
		"the same":                 {Platform{Name: "AWS"}, []corev1.ConfigMap{core, aws}, "", ""},
		"one of several":           {Platform{Name: "IBMCloud"}, []corev1.ConfigMap{core, ibm}, "", ""},
		"nothing is installed":     {Platform{Name: "AWS"}, nil, "", ""},
		"another":                  {Platform{Name: "GCP"}, []corev1.ConfigMap{core, aws}, "AWS", "infrastructure-aws is installed for AWS: correct"},
		"none":                     {Platform{Waits: "no type yet"}, []corev1.ConfigMap{core, ibm}, "PowerVS", "no type yet. Until then"},
		"two that exclude another": {Platform{Name: "GCP"}, []corev1.ConfigMap{core, aws, gcp}, "GCP", "infrastructure-aws is installed for AWS"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Placed(c.platform, c.kept)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if err != nil && InstalledOn(c.platform, c.kept).Name != c.want {
				t.Errorf("installed on %+v, want %q", InstalledOn(c.platform, c.kept), c.want)
			}
		})
	}
}

func TestPrepareLeavesOutWhatOthersWrite(t *testing.T) {
	documents, err := bundle.Decode([]byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sum, creationTimestamp: null}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}
rules: []
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks, annotations: {service.beta.openshift.io/inject-cabundle: "true"}}
webhooks: [{name: a, clientConfig: {caBundle: Cg==, service: {name: s}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: openshift-cluster-api}
spec: {replicas: 2}
status: {replicas: 1}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: d, namespace: openshift-cluster-api}
spec: {scaleTargetRef: {kind: Deployment, name: d}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: openshift-cluster-api}
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(bundle.Bundle{Documents: documents}, bundle.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Dropped) != 1 || p.Dropped[0].Object != "Secret/s" || p.Dropped[0].What == "" || len(p.Objects) != 4 {
		t.Errorf("%v is dropped of %d", p.Dropped, len(p.Objects))
	}
	for _, o := range p.Objects {
		if o.GetLabels()[InstalledByLabel] != Manager {
			t.Errorf("%s has no label", o.Key())
		}
	}
	got, _ := yaml.Marshal(p.Objects[0].Object)
	for _, left := range []string{"rules", "caBundle", "creationTimestamp", "replicas", "status"} {
		for _, o := range p.Objects {
			if text, _ := yaml.Marshal(o.Object); strings.Contains(string(text), left+":") {
				t.Errorf("%s still has %s:\n%s", o.Key(), left, text)
			}
		}
	}
	again, _ := Prepare(bundle.Bundle{Documents: documents}, bundle.Needs{})
	if p.Hash != again.Hash {
		t.Errorf("the hash differs: %s", got)
	}
}

func TestCheckScopes(t *testing.T) {
	of := func(text string) Object { return Object{Unstructured: object(t, text)} }
	served := func(kind schema.GroupVersionKind) (namespaced, known bool) {
		return kind.Kind == "Service", kind.Kind == "Service" || kind.Kind == "ClusterRole"
	}
	definition := "{apiVersion: apiextensions.k8s.io/v1, kind: ClusterRole, metadata: {name: d}}"
	for name, c := range map[string]struct {
		objects []Object
		want    string
	}{
		"as they are served":          {[]Object{of("{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}}"), of(definition)}, ""},
		"no namespace":                {[]Object{of("{apiVersion: v1, kind: Service, metadata: {name: a}}")}, "metadata.namespace is missing"},
		"a namespace that it has not": {[]Object{of("{apiVersion: v1, kind: ClusterRole, metadata: {name: a, namespace: ns}}")}, "objects of this kind have no namespace"},
		"nobody serves it":            {[]Object{of("{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}")}, "does not serve the kind example.com/v1"},
		"its definition comes along": {[]Object{
			of("{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}"),
			of("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}, spec: {group: apiextensions.k8s.io, names: {kind: CustomResourceDefinition}}}"),
			of("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: e}, spec: {group: example.com, names: {kind: Thing}}}"),
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(CheckScopes([]Provider{{Objects: c.objects}}, served)...)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestClaimOf(t *testing.T) {
	const entry = "managedFields: [{manager: poundlock-install, operation: Apply}]"
	for name, c := range map[string]struct {
		live     string
		recorded string
		want     Claim
	}{
		"absent":                             {"", "", Absent},
		"label and manager":                  {"{labels: {poundlock.openshift.io/installed-by: poundlock-install}, " + entry + "}", "", Ours},
		"manager and UID: the label is gone": {"{uid: u, " + entry + "}", "u", Ours},
		"label and UID: the managed fields were cleared": {"{uid: u, labels: {poundlock.openshift.io/installed-by: poundlock-install}}", "u", Ours},
		"the label alone":                                  {"{labels: {poundlock.openshift.io/installed-by: poundlock-install}}", "", Foreign},
		"the manager alone":                                {"{" + entry + "}", "", Foreign},
		"another object of the name":                       {"{uid: v, labels: {poundlock.openshift.io/installed-by: poundlock-install}}", "u", Foreign},
		"clusterctl's":                                     {"{labels: {cluster.x-k8s.io/provider: infrastructure-aws}, managedFields: [{manager: clusterctl, operation: Update}]}", "", Foreign},
		"a person allows it":                               {"{annotations: {poundlock.openshift.io/adopt: 'true'}}", "", Adopted},
		"a person allows it with another word":             {"{annotations: {poundlock.openshift.io/adopt: 'yes'}}", "", Foreign},
		"ours, being deleted":                              {"{deletionTimestamp: '2026-01-01T00:00:00Z', labels: {poundlock.openshift.io/installed-by: poundlock-install}, " + entry + "}", "", Deleting},
		"somebody's manager of our name does not prove it": {"{managedFields: [{manager: poundlock-install, operation: Update}], labels: {poundlock.openshift.io/installed-by: poundlock-install}}", "", Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			var live *unstructured.Unstructured
			if c.live != "" {
				live = object(t, "{apiVersion: v1, kind: Service, metadata: "+c.live+"}")
				live.SetName("s")
			}
			if got := ClaimOf(live, (&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": c.recorded}}}).GetUID()); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestDriftOf(t *testing.T) {
	ours := `{manager: poundlock-install, operation: Apply, fieldsV1: {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"manager"}': {".": {}, "f:name": {}, "f:image": {}}}}}}}}`
	entry := func(manager, more, fields string) string {
		return "{manager: " + manager + ", operation: Update, " + more + "fieldsV1: " + fields + "}"
	}
	for name, c := range map[string]struct {
		kind, entry string
		adopting    bool
		want        string // part of a path; "" for no drift
	}{
		"nothing":                   {"Deployment", "", false, ""},
		"a sidecar":                 {"Deployment", entry("kubectl-edit", "", `{"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"spy"}': {".": {}, "f:name": {}, "f:image": {}}}}}}}`), false, `containers[name="spy"]`},
		"an environment variable":   {"Deployment", entry("kubectl-edit", "", `{"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"manager"}': {"f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}}}}}}}}}`), false, "env"},
		"a host network":            {"Deployment", entry("kubectl-edit", "", `{"f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}}`), false, "hostNetwork"},
		"what others apply":         {"Deployment", strings.Replace(entry("argo", "", `{"f:spec": {"f:template": {"f:spec": {"f:hostNetwork": {}}}}}`), "Update", "Apply", 1), false, "hostNetwork"},
		"the same value set twice":  {"Deployment", entry("kubectl-edit", "", `{"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"manager"}': {"f:image": {}}}}}}}`), false, ""},
		"a restart":                 {"Deployment", entry("kubectl-rollout", "", `{"f:spec": {"f:template": {"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/restartedAt": {}}}}}}`), false, ""},
		"another pod annotation":    {"Deployment", entry("kubectl-edit", "", `{"f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:a": {}}}}}}`), false, "annotations.a"},
		"status":                    {"Deployment", entry("kube-controller-manager", "subresource: status, ", `{"f:status": {"f:replicas": {}}}`), false, ""},
		"a scale by a person":       {"Deployment", entry("kubectl", "subresource: scale, ", `{"f:spec": {"f:replicas": {}}}`), false, "replicas"},
		"a scale by an autoscaler":  {"Deployment", entry("kube-controller-manager", "subresource: scale, ", `{"f:spec": {"f:replicas": {}}}`), false, ""},
		"somebody's label":          {"Deployment", entry("kubectl-label", "", `{"f:metadata": {"f:labels": {"f:team": {}}}}`), false, ""},
		"a legacy label":            {"Deployment", entry("clusterctl", "", `{"f:metadata": {"f:labels": {"f:old": {}}}}`), true, "labels.old"},
		"a legacy label, later":     {"Deployment", entry("clusterctl", "", `{"f:metadata": {"f:labels": {"f:old": {}}}}`), false, ""},
		"a caBundle":                {"ValidatingWebhookConfiguration", entry("service-ca", "", `{"f:webhooks": {'k:{"name":"a"}': {"f:clientConfig": {"f:caBundle": {}}}}}`), false, ""},
		"a webhook":                 {"ValidatingWebhookConfiguration", entry("kubectl", "", `{"f:webhooks": {'k:{"name":"b"}': {".": {}, "f:name": {}, "f:clientConfig": {"f:url": {}, "f:caBundle": {}}}}}`), false, `webhooks[name="b"]`},
		"a conversion's caBundle":   {"CustomResourceDefinition", entry("service-ca", "", `{"f:spec": {"f:conversion": {"f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}}}`), false, ""},
		"pull secrets":              {"ServiceAccount", entry("openshift", "", `{"f:imagePullSecrets": {'k:{"name":"a"}': {}}, "f:secrets": {'k:{"name":"a"}': {}}}`), false, ""},
		"a key of a ConfigMap":      {"ConfigMap", entry("kubectl-edit", "", `{"f:data": {"f:x": {}}}`), false, "data.x"},
		"a field of another's kind": {"IPPool", entry("metal3", "", `{"f:spec": {"f:pools": {}}}`), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			apiVersion := map[string]string{
				"Deployment": "apps/v1", "ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
				"IPPool": "ipam.metal3.io/v1", "ServiceAccount": "v1", "ConfigMap": "v1",
			}[c.kind]
			live := object(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: d, managedFields: [%s, %s]}}", apiVersion, c.kind, ours, c.entry))
			drift, err := DriftOf(live, c.adopting)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(drift.Fields, " ")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want != "" {
				live.SetManagedFields(drift.Managed)
				if again, err := DriftOf(live, c.adopting); err != nil || len(again.Fields) > 0 {
					t.Errorf("the installer's now, it is drift again: %v %v", again.Fields, err)
				}
			}
			if name == "a webhook" && len(drift.Managed) != 1 {
				t.Errorf("somebody still holds a part of the added webhook: %v", drift.Managed)
			}
		})
	}
}

func TestApplied(t *testing.T) {
	const base = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: "
	for name, c := range map[string]struct {
		want, live string
		same       bool
	}{
		"equal":                       {"{a: 1}", "{a: 1}", true},
		"defaults of the server":      {"{a: 1}", "{a: 1, b: 2}", true},
		"another value":               {"{a: 1}", "{a: 2}", false},
		"a missing field":             {"{a: 1}", "{}", false},
		"empty is absent":             {"{a: {}, b: []}", "{}", true},
		"null is absent":              {"{a: null}", "{}", true},
		"a sidecar is drift, no lack": {"{c: [{name: a, i: 1}]}", "{c: [{name: a, i: 1}, {name: b}]}", true},
		"an item that changed":        {"{c: [{name: a, i: 1}]}", "{c: [{name: a, i: 2}, {name: b}]}", false},
		"a list of words":             {"{c: [a, b]}", "{c: [a, b, c]}", false},
		"amounts":                     {"{resources: {requests: {cpu: 1000m, memory: 1Gi}}}", "{resources: {requests: {cpu: '1', memory: 1024Mi}}}", true},
		"other amounts":               {"{resources: {requests: {cpu: 1000m}}}", "{resources: {requests: {cpu: '2'}}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			want, live := Seal(object(t, base+c.want+"}")), object(t, base+c.live+"}")
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: Manager, Operation: metav1.ManagedFieldsOperationApply}})
			live.SetAnnotations(map[string]string{AppliedAnnotation: want.GetAnnotations()[AppliedAnnotation]})
			if got := Applied(want, live); got != c.same {
				t.Errorf("%t, want %t", got, c.same)
			}
			live.SetAnnotations(map[string]string{AppliedAnnotation: "older"})
			if Applied(want, live) {
				t.Error("content that lost a field is in the live object, too: only the hash shows it")
			}
		})
	}
}

func TestWaits(t *testing.T) {
	deployment := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, generation: 2}, spec: {replicas: 1}, status: {observedGeneration: %d, replicas: %d, updatedReplicas: %d, availableReplicas: %d, conditions: [{type: Available, status: '%s'}]}}"
	definition := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d, annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, spec: {group: g, names: {plural: ps}, versions: [{name: v1, served: true}, {name: v2, served: false}], conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s}}}}}, status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: '%s'}]}}"
	established := fmt.Sprintf(definition, "True")
	serving := "{apiVersion: v1, kind: Service, metadata: {name: d, uid: u, annotations: {service.beta.openshift.io/serving-cert-secret-name: c%s}}}"
	for name, c := range map[string]struct {
		stage bundle.Stage
		live  string
		facts Facts
		want  string
	}{
		"rolled out":                                      {bundle.Workloads, fmt.Sprintf(deployment, 2, 1, 1, 1, "True"), Facts{}, ""},
		"not seen":                                        {bundle.Workloads, fmt.Sprintf(deployment, 1, 1, 1, 1, "True"), Facts{}, "the latest change"},
		"not updated":                                     {bundle.Workloads, fmt.Sprintf(deployment, 2, 1, 0, 1, "True"), Facts{}, "0 of 1 pods"},
		"an old pod runs":                                 {bundle.Workloads, fmt.Sprintf(deployment, 2, 2, 1, 2, "True"), Facts{}, "older version"},
		"none available":                                  {bundle.Workloads, fmt.Sprintf(deployment, 2, 1, 1, 0, "False"), Facts{}, "no pod is available"},
		"not Available":                                   {bundle.Workloads, fmt.Sprintf(deployment, 2, 1, 1, 1, "False"), Facts{}, "Available"},
		"absent":                                          {bundle.Workloads, "", Facts{}, "not there"},
		"established and served":                          {bundle.Definitions, established, Facts{Serves: func(r schema.GroupVersionResource) bool { return r.Version == "v1" }}, ""},
		"established, not yet served":                     {bundle.Definitions, established, Facts{Serves: func(schema.GroupVersionResource) bool { return false }}, "v1"},
		"not established":                                 {bundle.Definitions, fmt.Sprintf(definition, "False"), Facts{}, "Established"},
		"no endpoint":                                     {bundle.Serving, established, Facts{}, "Service/s"},
		"an endpoint, and no CA":                          {bundle.Serving, established, Facts{Endpoints: map[string]int{"s": 1}}, "caBundle"},
		"a Service without its Secret":                    {bundle.Services, "{apiVersion: v1, kind: Service, metadata: {name: d, annotations: {service.beta.openshift.io/serving-cert-secret-name: c}}}", Facts{}, "Secret c"},
		"a Service with its Secret":                       {bundle.Services, fmt.Sprintf(serving, ``), Facts{Certificates: map[string]Certificate{"c": {Service: "d", ServiceUID: "u"}}}, ""},
		"a Secret that does not show its writer":          {bundle.Services, fmt.Sprintf(serving, ``), Facts{Certificates: map[string]Certificate{"c": {}}}, "does not show who wrote it"},
		"cert-manager's Secret":                           {bundle.Services, fmt.Sprintf(serving, ``), Facts{Certificates: map[string]Certificate{"c": {CertManager: "serving"}}}, "cert-manager's Certificate serving"},
		"cert-manager's, and the service CA says so":      {bundle.Services, fmt.Sprintf(serving, `, service.beta.openshift.io/serving-cert-generation-error: not mine`), Facts{Certificates: map[string]Certificate{"c": {CertManager: "serving"}}}, "cert-manager's Certificate serving"},
		"the service CA's, of another Service":            {bundle.Services, fmt.Sprintf(serving, ``), Facts{Certificates: map[string]Certificate{"c": {Service: "e", ServiceUID: "u"}}}, "another Service, e"},
		"the service CA's, of a Service that was deleted": {bundle.Services, fmt.Sprintf(serving, ``), Facts{Certificates: map[string]Certificate{"c": {Service: "d", ServiceUID: "before"}}}, "a deleted Service"},
		"somebody's, and the service CA complains":        {bundle.Services, fmt.Sprintf(serving, `, service.beta.openshift.io/serving-cert-generation-error: not mine`), Facts{Certificates: map[string]Certificate{"c": {}}}, "not mine"},
		"an earlier service CA complains":                 {bundle.Services, fmt.Sprintf(serving, `, service.alpha.openshift.io/serving-cert-generation-error: not mine`), Facts{Certificates: map[string]Certificate{"c": {}}}, "not mine"},
		"no Secret, and the service CA complains":         {bundle.Services, fmt.Sprintf(serving, `, service.beta.openshift.io/serving-cert-generation-error: not mine`), Facts{Certificates: map[string]Certificate{}}, "not mine"},
		"its Secret, and an old complaint":                {bundle.Services, fmt.Sprintf(serving, `, service.beta.openshift.io/serving-cert-generation-error: not mine`), Facts{Certificates: map[string]Certificate{"c": {Service: "d", ServiceUID: "u"}}}, ""},
		"a webhook without CA":                            {bundle.Webhooks, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: d, annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, webhooks: [{name: a, clientConfig: {service: {name: s}}}]}", Facts{}, "caBundle"},
		"a webhook that got its CA while it was applied":  {bundle.Webhooks, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: d, annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, webhooks: [{name: a, matchConditions: [{name: poundlock-waits-for-ca-bundle, expression: 'false'}], clientConfig: {caBundle: Cg==, service: {name: s}}}]}", Facts{}, "will let the API server call it"},
		"a webhook with its CA":                           {bundle.Webhooks, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: d, annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, webhooks: [{name: a, matchConditions: [{name: own, expression: 'false'}], clientConfig: {caBundle: Cg==, service: {name: s}}}]}", Facts{}, ""},
		"an account":                                      {bundle.Accounts, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: d}}", Facts{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := c.live
			if wanted == "" {
				wanted = fmt.Sprintf(deployment, 0, 0, 0, 0, "")
			}
			o := object(t, wanted)
			p := Provider{Objects: []Object{{o, bundle.StageOf(o.GroupVersionKind().GroupKind())}}}
			c.facts.Live = func(Key) *unstructured.Unstructured {
				if c.live == "" {
					return nil
				}
				return o
			}
			if got := Waits(p, c.stage, c.facts); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRouted(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: %s}"
	live := object(t, fmt.Sprintf(service, "{clusterIP: 10.0.0.1, selector: {app: old}, ports: [{port: 443, protocol: TCP, targetPort: 9443}]}"))
	for name, c := range map[string]struct {
		want string
		held bool
	}{
		"the same":              {"{selector: {app: old}, ports: [{port: 443, targetPort: 9443}]}", false},
		"other pods":            {"{selector: {app: new}, ports: [{port: 443, targetPort: 9443}]}", true},
		"another port of a pod": {"{selector: {app: old}, ports: [{port: 443, targetPort: 9444}]}", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Routed(object(t, fmt.Sprintf(service, c.want)), live)
			if (got != nil) != c.held {
				t.Fatal(got)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(map[string]any{"selector": at(live.Object, "spec")["selector"], "ports": at(live.Object, "spec")["ports"]},
				at(got.Object, "spec")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if Routed(live, nil) != nil {
		t.Error("there is nothing to keep")
	}
	if Routed(live, object(t, fmt.Sprintf(service, "{ports: [{port: 1}]}"))) != nil {
		t.Error("no pods are behind the live one")
	}
}

// What served last is what became ready last, whatever newer content has.
func TestServed(t *testing.T) {
	workload := func(name string) Provider {
		return Provider{Objects: []Object{{object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: "+name+"}}"), bundle.Workloads}}}
	}
	names := func(all []Item) (out string) {
		for _, item := range all {
			out += item.Name
		}
		return out
	}
	older, newer := workload("a"), workload("b")
	i := Inventory{}.With(older)
	if got := names(i.Served()); got != "" {
		t.Errorf("before any content has become ready, or where that had no workload: %s", got)
	}
	i = i.Serving(older).With(newer)
	if got := names(i.Served()); got != "a" {
		t.Errorf("while newer content is not ready: %s", got)
	}
	if got := names(i.Serving(newer).Without(older.Objects[0].Key()).Served()); got != "b" {
		t.Errorf("in the end: %s", got)
	}
}

func TestCertificateOf(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        Certificate
	}{
		"nobody's":         {nil, Certificate{}},
		"cert-manager's":   {map[string]string{"cert-manager.io/certificate-name": "c"}, Certificate{CertManager: "c"}},
		"the service CA's": {map[string]string{"service.beta.openshift.io/originating-service-name": "s", "service.beta.openshift.io/originating-service-uid": "u"}, Certificate{Service: "s", ServiceUID: "u"}},
		"an earlier one's": {map[string]string{"service.alpha.openshift.io/originating-service-name": "s", "service.alpha.openshift.io/originating-service-uid": "u"}, Certificate{Service: "s", ServiceUID: "u"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, CertificateOf(c.annotations)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHeldAndVanishing(t *testing.T) {
	const hooks = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: d, annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, webhooks: %s}"
	want := object(t, fmt.Sprintf(hooks, "[{name: a, clientConfig: {}}, {name: b, clientConfig: {}}]"))
	live := object(t, fmt.Sprintf(hooks,
		"[{name: a, clientConfig: {caBundle: Cg==}}, {name: old1, clientConfig: {caBundle: Cg==}}, {name: old2, clientConfig: {}}]"))
	var held []string
	for _, hook := range items(Held(want, live).Object, "webhooks") {
		if len(items(hook, "matchConditions")) > 0 {
			held = append(held, text(hook, "name"))
		}
	}
	if diff := cmp.Diff([]string{"b"}, held); diff != "" {
		t.Error("only an entry without a CA is held:", diff)
	}
	if len(items(Held(want, nil).Object, "webhooks")[0]["matchConditions"].([]any)) != 1 {
		t.Error("a new configuration is held")
	}
	if diff := cmp.Diff([]int{2, 1}, Vanishing(want, live)); diff != "" {
		t.Error("from the end, so that positions stay right:", diff)
	}
}

func definition(t *testing.T, conversion, stored string, versions ...string) *unstructured.Unstructured {
	var list []string
	for _, v := range versions {
		name, marks, _ := strings.Cut(v, ":")
		list = append(list, fmt.Sprintf("{name: %s, served: %t, storage: %t}", name, strings.Contains(marks, "s"), strings.Contains(marks, "!")))
	}
	return object(t, fmt.Sprintf(
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}, spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: %s}}}}, versions: [%s]}, status: {storedVersions: [%s]}}",
		conversion, strings.Join(list, ", "), stored))
}

func TestBridge(t *testing.T) {
	for name, c := range map[string]struct {
		want, live []string
		serveNew   bool
		bridge     string
	}{
		"another server":        {[]string{"v1:s!"}, []string{"v1:s!"}, false, "v1 true true"},
		"storage moves":         {[]string{"v1:s", "v2:s!"}, []string{"v1:s!"}, false, "v1 true true,v2 false false"},
		"… and the time is up":  {[]string{"v1:s", "v2:s!"}, []string{"v1:s!"}, true, "v1 true true,v2 true false"},
		"on the bridge already": {[]string{"v1:s", "v2:s!"}, []string{"v1:s!", "v2:"}, false, "v1 true true,v2 false false"},
		"a version goes":        {[]string{"v2:s!"}, []string{"v1:s", "v2:s!"}, false, "v1 true false,v2 true true"},
		"a version is hidden":   {[]string{"v1:", "v2:s!"}, []string{"v1:s", "v2:s!"}, false, "v1 true false,v2 true true"},
	} {
		t.Run(name, func(t *testing.T) {
			out := Bridge(definition(t, "new", "", c.want...), definition(t, "old", "v1", c.live...), c.serveNew)
			got := ""
			if out != nil {
				var all []string
				for _, v := range items(at(out.Object, "spec"), "versions") {
					all = append(all, fmt.Sprint(v["name"], " ", v["served"], " ", v["storage"]))
				}
				got = strings.Join(sorted(all), ",")
				if text(at(out.Object, "spec", "conversion", "webhook", "clientConfig", "service"), "name") != "old" {
					t.Error("the old server converts until the new one runs")
				}
			}
			if got != c.bridge {
				t.Errorf("%q, want %q", got, c.bridge)
			}
		})
	}
}

func TestBridgeIsNeeded(t *testing.T) {
	const form = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d}, spec: {conversion: %s, versions: [{name: v1, served: true, storage: true}]}}"
	const server = "{strategy: Webhook, webhook: {clientConfig: {service: {name: s, namespace: n%s}%s}}}"
	at := func(more, beside string) string { return fmt.Sprintf(server, more, beside) }
	for name, c := range map[string]struct {
		want, live string
		serveNew   bool
		bridge     string // the strategy meanwhile, "" where no bridge is needed
	}{
		"the same":                        {at(", path: /c", ""), at(", path: /c", ""), false, ""},
		"the default port, and a CA":      {at("", ""), at(", port: 443", ", caBundle: Cg=="), false, ""},
		"another path":                    {at(", path: /d", ""), at(", path: /c", ""), false, "Webhook"},
		"a server where none was":         {at("", ""), "{strategy: None}", false, "None"},
		"… and the time is up":            {at("", ""), "{strategy: None}", true, "Webhook"},
		"no server where one was":         {"{strategy: None}", at("", ""), false, ""},
		"a definition without conversion": {"{strategy: None}", "{strategy: None}", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := Bridge(object(t, fmt.Sprintf(form, c.want)), object(t, fmt.Sprintf(form, c.live)), c.serveNew)
			got := ""
			if out != nil {
				got, _, _ = unstructured.NestedString(out.Object, "spec", "conversion", "strategy")
			}
			if got != c.bridge {
				t.Errorf("%q, want %q", got, c.bridge)
			}
		})
	}
}

func TestMoving(t *testing.T) {
	const hooks = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: d}, webhooks: [%s]}"
	hook := func(name, policy, service string) string {
		return fmt.Sprintf("{name: %s, failurePolicy: %s, clientConfig: {service: {name: s, namespace: n%s}}}", name, policy, service)
	}
	want := object(t, fmt.Sprintf(hooks,
		strings.Join([]string{hook("same", "Fail", ""), hook("path", "Fail", ", path: /b"), hook("open", "Ignore", ", path: /b")}, ", ")))
	live := object(t, fmt.Sprintf(hooks, strings.Join([]string{hook("gone", "Fail", ""), hook("same", "Fail", ", port: 443"), hook("path", "Fail", ", path: /a"),
		hook("open", "Ignore", ", path: /a")}, ", ")))
	if diff := cmp.Diff([]int{2}, Moving(want, live)); diff != "" {
		t.Error("one that fails closed, and has another path:", diff)
	}
	if Moving(nil, live) != nil || Moving(want, nil) != nil {
		t.Error("nothing moves without both")
	}
}

func sorted(all []string) []string {
	out := append([]string(nil), all...)
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}

func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		want   []string
		stored string
		live   []string
		first  bool
		fails  bool
	}{
		"nothing is lost":         {[]string{"v1:s", "v2:s!"}, "v1", []string{"v1:s!"}, false, false},
		"an older version":        {[]string{"v2:s!"}, "v1, v2", []string{"v1:s", "v2:s!"}, true, false},
		"the version of now":      {[]string{"v2:s!"}, "v1", []string{"v1:s!"}, false, true},
		"nothing is stored in it": {[]string{"v2:s!"}, "v2", []string{"v1:s", "v2:s!"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := Lost(definition(t, "a", "", c.want...), definition(t, "a", c.stored, c.live...))
			if first != c.first || (err != nil) != c.fails {
				t.Errorf("%t, %v", first, err)
			}
		})
	}
}

func TestRewrites(t *testing.T) {
	live := func(uid string, generation int) *unstructured.Unstructured {
		return object(t, fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d, uid: %s, generation: %d}}",
			uid, generation))
	}
	r, err := ParseRewrites(Rewrites(nil).With(live("u", 2), "here").Text())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want string
	}{
		"the same definition":                      {live("u", 2), "here"},
		"changed since, perhaps in what it stores": {live("u", 3), ""},
		"another definition, which has other ones": {live("v", 2), ""},
	} {
		if got := r.At(c.live); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if done := r.With(live("u", 2), ""); len(done) != 0 || len(r) != 1 {
		t.Errorf("after the last page: %v", done)
	}
}

func TestInventory(t *testing.T) {
	make := func(kind, apiVersion, name string) Object {
		o := object(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s}}", apiVersion, kind, name))
		return Object{o, bundle.StageOf(o.GroupVersionKind().GroupKind())}
	}
	role, binding := make("ClusterRole", "rbac.authorization.k8s.io/v1", "r"), make("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", "r")
	hooks, deployment := make("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "w"), make("Deployment", "apps/v1", "d")
	i := Inventory{}.With(Provider{Objects: []Object{role, binding, deployment, hooks}})
	var order []string
	for _, item := range i.Obsolete([]Provider{{Objects: []Object{deployment}}}) {
		order = append(order, item.Key().String())
	}
	if diff := cmp.Diff([]string{"ValidatingWebhookConfiguration/w", "ClusterRoleBinding/r", "ClusterRole/r"}, order); diff != "" {
		t.Error(diff)
	}
	back, err := ParseInventory(i.Text())
	if err != nil || cmp.Diff(i, back) != "" {
		t.Error(err, cmp.Diff(i, back))
	}
	live := deployment.DeepCopy()
	live.SetUID("u")
	find := func(k Key) *unstructured.Unstructured {
		if k == deployment.Key() {
			return live
		}
		return nil
	}
	if i.Noted(find).UID(deployment.Key()) != "" {
		t.Error("an object of somebody else was noted")
	}
	live.SetLabels(map[string]string{InstalledByLabel: Manager})
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: Manager, Operation: metav1.ManagedFieldsOperationApply}})
	if i = i.Noted(find); i.UID(deployment.Key()) != "u" {
		t.Error("the UID was not noted")
	}
}

func TestFateOf(t *testing.T) {
	const ours = "labels: {poundlock.openshift.io/installed-by: poundlock-install}, managedFields: [{manager: poundlock-install, operation: Apply}]"
	for name, c := range map[string]struct {
		kind, metadata string
		want           Fate
	}{
		"ours":                     {"Role", "{name: a, uid: u, " + ours + "}", Prune},
		"not there":                {"Role", "", Gone},
		"another of the name":      {"Role", "{name: a, uid: v, " + ours + "}", LeftOver},
		"without our label":        {"Role", "{name: a, uid: u, managedFields: [{manager: poundlock-install, operation: Apply}]}", LeftOver},
		"without our manager":      {"Role", "{name: a, uid: u, labels: {poundlock.openshift.io/installed-by: poundlock-install}}", LeftOver},
		"a definition is released": {"CustomResourceDefinition", "{name: a, uid: u, " + ours + "}", Release},
	} {
		t.Run(name, func(t *testing.T) {
			var live *unstructured.Unstructured
			if c.metadata != "" {
				live = object(t, fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: %s}", c.kind, c.metadata))
			}
			if got := FateOf(Item{Kind: c.kind, Name: "a", UID: "u"}, live); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestStored(t *testing.T) {
	live := map[Key]*unstructured.Unstructured{}
	p := Provider{}
	add := func(name, stored string) *unstructured.Unstructured {
		o := definition(t, "", stored, "v1:s", "v2:s!")
		o.SetName(name)
		p.Objects = append(p.Objects, Object{o, bundle.Definitions})
		return o
	}
	for name, stored := range map[string]string{"moved": "v2", "moving": "v1, v2"} {
		o := add(name, stored)
		live[KeyOf(o)] = o
	}
	live[KeyOf(add("absent", ""))] = nil
	seen := func(k Key) (*unstructured.Unstructured, bool) {
		o, known := live[k]
		return o, known
	}
	if names, unseen := Stored(p, seen); !slices.Equal(names, []string{"moving"}) || unseen {
		t.Error(names, unseen)
	}
	add("unread", "")
	if names, unseen := Stored(p, seen); !slices.Equal(names, []string{"moving"}) || !unseen {
		t.Error(names, unseen)
	}
}
