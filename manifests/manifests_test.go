// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/webhooks"
)

var update = flag.Bool("update", false, "write the generated manifests")

func TestGenerated(t *testing.T) {
	files, err := Generated()
	if err != nil {
		t.Fatal(err)
	}
	for kind, text := range crdPatches(t) {
		files["crds/"+kind+".yaml"] = text
	}
	for path, want := range files {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the code gives; `go generate ./manifests` writes it (-want +got):\n%s", path, diff)
		}
	}
}

// crds reads the published CRDs of a package of openshift/api whose file names contain all parts, by file name.
func crds(t *testing.T, pkg string, parts ...string) map[string][]byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), pkg, "zz_generated.crd-manifests", "*"+strings.Join(parts, "*")+"*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no CRDs like %v in %s: %v", parts, pkg, err)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out[filepath.Base(path)], err = yaml.YAMLToJSON(text); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// lacking are the CRDs without the authority fields, each published variant of them, by resource.
func lacking(t *testing.T) map[string]map[string][]byte {
	return map[string]map[string][]byte{
		"machinehealthchecks":     crds(t, "machine/v1beta1", "machinehealthchecks"),
		"controlplanemachinesets": crds(t, "machine/v1", "controlplanemachinesets"),
	}
}

func machineCRD(t *testing.T) []byte {
	for _, crd := range crds(t, "machine/v1beta1", "_machines-CustomNoUpgrade") {
		return crd
	}
	return nil
}

// crdPatches are the patches of crds/. One fits every published variant of its CRD.
func crdPatches(t *testing.T) map[string][]byte {
	t.Helper()
	machine := machineCRD(t)
	out := map[string][]byte{}
	for kind, variants := range lacking(t) {
		for variant, crd := range variants {
			ops, err := AuthorityPatch(machine, crd, kind == "machinehealthchecks")
			if err != nil {
				t.Fatalf("%s: %v", variant, err)
			}
			if kind == controlplane.Resource {
				for _, patch := range []func([]byte) ([]policies.Operation, error){TemplatePatch, StrategyPatch} {
					more, err := patch(crd)
					if err != nil {
						t.Fatalf("%s: %v", variant, err)
					}
					ops = append(ops, more...)
				}
			}
			text, err := yaml.Marshal(ops)
			if err != nil {
				t.Fatal(err)
			}
			text = append([]byte(header), text...)
			if out[kind] != nil && string(out[kind]) != string(text) {
				t.Fatalf("%s: the variants need different patches", variant)
			}
			out[kind] = text
		}
	}
	return out
}

func TestPatchedCRDsHaveTheMachinesFields(t *testing.T) {
	var machine apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(machineCRD(t), &machine); err != nil {
		t.Fatal(err)
	}
	want := machine.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for kind, variants := range lacking(t) {
		for variant, crd := range variants {
			got := patched(t, crd).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			for part, names := range map[string][]string{"spec": specFields, "status": statusFields} {
				for _, name := range names {
					want := want[part].Properties[name]
					if kind == "machinehealthchecks" && part == "spec" {
						want.Default = nil // a default would differ for ever from the check of a release
					}
					if diff := cmp.Diff(want, got[part].Properties[name]); diff != "" {
						t.Errorf("%s: %s.%s (-Machine's +patched):\n%s", variant, part, name, diff)
					}
				}
			}
			if n := len(got["status"].XValidations); n < len(want["status"].XValidations)-1 {
				t.Errorf("%s: status has %d validations, the Machine's has %d", variant, n, len(want["status"].XValidations))
			}
			for _, rule := range got["status"].XValidations {
				if removes := "has(self.authoritativeAPI)"; strings.Contains(rule.Rule, "has(self.") && (strings.Contains(rule.Rule, removes) || !strings.Contains(rule.Rule, "|| !has(self.")) {
					t.Errorf("%s: a controller whose types lack the fields replaces the status without them, and this refuses it: %s", variant, rule.Rule)
				}
			}
		}
	}
}

// patched builds a kustomization of one CRD with the component crds.
func patched(t *testing.T, crd []byte) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	write := func(path string, text []byte) {
		if err := fs.WriteFile(path, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kustomization.yaml", "machinehealthchecks.yaml", "controlplanemachinesets.yaml"} {
		text, err := os.ReadFile(filepath.Join("crds", name))
		if err != nil {
			t.Fatal(err)
		}
		write("/crds/"+name, text)
	}
	write("/app/crd.yaml", crd)
	write("/app/kustomization.yaml", []byte("resources: [crd.yaml]\ncomponents: [../crds]\n"))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/app")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	var out apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAuthorityPatchRefusesACRDWithoutTheFields(t *testing.T) {
	for _, crd := range crds(t, "machine/v1beta1", "_machines-Default") {
		if ops, err := AuthorityPatch(crd, crd, false); err == nil {
			t.Errorf("made %v of a Machine without the fields", ops)
		}
	}
}

// built is an overlay, every object in its type, unknown fields refused.
type built struct {
	resmap.ResMap
	deployments []appsv1.Deployment
	services    []corev1.Service
	budgets     []policyv1.PodDisruptionBudget
	accounts    []corev1.ServiceAccount
	roles       []rbacv1.Role
	cluster     []rbacv1.ClusterRole
	// users are the ClusterRoles for people, which nobody is bound to.
	users      []rbacv1.ClusterRole
	bindings   []rbacv1.RoleBinding
	clusterB   []rbacv1.ClusterRoleBinding
	validating []admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   []admissionregistrationv1.MutatingWebhookConfiguration
	others     []string
}

func overlays(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func build(t *testing.T, overlay string) *built {
	t.Helper()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("overlays", overlay))
	if err != nil {
		t.Fatal(err)
	}
	b := &built{ResMap: m}
	for _, r := range m.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		b.add(t, r.GetKind(), text)
	}
	return b
}

func (b *built) add(t *testing.T, kind string, text []byte) {
	t.Helper()
	switch kind {
	case "Deployment":
		b.deployments = append(b.deployments, strict[appsv1.Deployment](t, text))
	case "Service":
		b.services = append(b.services, strict[corev1.Service](t, text))
	case "PodDisruptionBudget":
		b.budgets = append(b.budgets, strict[policyv1.PodDisruptionBudget](t, text))
	case "ServiceAccount":
		b.accounts = append(b.accounts, strict[corev1.ServiceAccount](t, text))
	case "Role":
		b.roles = append(b.roles, strict[rbacv1.Role](t, text))
	case "ClusterRole":
		role := strict[rbacv1.ClusterRole](t, text)
		if strings.Contains(strings.Join(slices.Collect(maps.Keys(role.Labels)), " "), "/aggregate-to-") {
			b.users = append(b.users, role)
			break
		}
		b.cluster = append(b.cluster, role)
	case "RoleBinding":
		b.bindings = append(b.bindings, strict[rbacv1.RoleBinding](t, text))
	case "ClusterRoleBinding":
		b.clusterB = append(b.clusterB, strict[rbacv1.ClusterRoleBinding](t, text))
	case "ValidatingWebhookConfiguration":
		b.validating = append(b.validating, strict[admissionregistrationv1.ValidatingWebhookConfiguration](t, text))
	case "MutatingWebhookConfiguration":
		b.mutating = append(b.mutating, strict[admissionregistrationv1.MutatingWebhookConfiguration](t, text))
	default:
		b.others = append(b.others, kind)
	}
}

func strict[T any](t *testing.T, text []byte) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

// An image that a tag may move under is none that a cluster can be taken back to: the installation names one.
func TestNoManifestNamesALatestImage(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(at string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(at) != ".yaml" {
			return err
		}
		read++
		text, err := os.ReadFile(at)
		if strings.Contains(string(text), ":latest") {
			t.Errorf("%s: an image is :latest", at)
		}
		return err
	})
	if err != nil || read < 20 {
		t.Errorf("%d manifests: %v", read, err)
	}
}

func TestOverlays(t *testing.T) {
	others := map[string][]string{
		"cert-manager": {"Certificate", "Issuer"}, "openshift": {"PrometheusRule", "ServiceMonitor"},
	}
	for _, overlay := range overlays(t) {
		t.Run(overlay, func(t *testing.T) {
			b := build(t, overlay)
			slices.Sort(b.others)
			for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
				if !slices.Contains(b.others, kind) {
					t.Errorf("no %s: the locks would not hold while the webhooks are away", kind)
				}
			}
			b.others = slices.DeleteFunc(b.others, func(kind string) bool { return strings.HasPrefix(kind, "ValidatingAdmissionPolicy") })
			if !slices.Equal(b.others, others[overlay]) {
				t.Errorf("kinds of other APIs: %v, want %v", b.others, others[overlay])
			}
			if len(b.validating) != 1 || len(b.mutating) != 1 || len(b.accounts) != 1 {
				t.Fatalf("%d and %d webhook configurations, %d accounts, want one of each", len(b.validating), len(b.mutating), len(b.accounts))
			}
			if account := b.accounts[0]; "system:serviceaccount:"+account.Namespace+":"+account.Name != User() {
				t.Errorf("the account %s/%s is not %s, whose writes are kept out of the webhooks", account.Namespace, account.Name, User())
			}
			checkInjection(t, b)
			checkMonitor(t, b)
			checkImages(t, b)
			checkMemory(t, b)
			checkReplicas(t, b, overlay)
			checkRoutes(t, b)
			checkReach(t, b, overlay)
			checkBindings(t, b)
			checkGrants(t, b)
			checkFlags(t, b, overlay)
			if len(b.users) != 3 {
				t.Errorf("%d ClusterRoles for people, want a viewer's, a migrator's and an administrator's", len(b.users))
			}
		})
	}
}

// checkFlags: on OpenShift the Lease lasts as long as OpenShift asks of its components, and Cluster API's manager syncs every label and annotation to Nodes.
func checkFlags(t *testing.T, b *built, overlay string) {
	t.Helper()
	if overlay == "dev" {
		return // it has no Deployment
	}
	for _, flag := range []string{
		"--additional-sync-machine-labels=.*", "--additional-sync-machine-annotations=.*",
		"--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s",
	} {
		if has := slices.Contains(b.deployments[0].Spec.Template.Spec.Containers[0].Args, flag); has != (overlay == "openshift") {
			t.Errorf("%s is given: %t", flag, has)
		}
	}
}

// Each role for people has the rights of the one before; only the administrator's deletes, and nothing but Poundlock's admission.
func TestTheRolesForPeople(t *testing.T) {
	roles := build(t, "openshift").users
	var before []rbacv1.PolicyRule
	for i, want := range []string{"view " + Viewer, "edit " + Migrator, "admin " + Administrator} {
		to, name, _ := strings.Cut(want, " ")
		at := slices.IndexFunc(roles, func(r rbacv1.ClusterRole) bool { return r.Name == name })
		if at < 0 || roles[at].Labels["rbac.authorization.k8s.io/aggregate-to-"+to] != "true" {
			t.Fatalf("%s: %+v", want, roles)
		}
		rules := roles[at].Rules
		if len(rules) <= len(before) || len(before) > 0 && !reflect.DeepEqual(rules[:len(before)], before) {
			t.Errorf("%s lacks rights of the one before", name)
		}
		for _, r := range rules {
			switch {
			case i == 0 && slices.ContainsFunc(r.Verbs, func(v string) bool { return !slices.Contains(read, v) }):
				t.Errorf("a viewer writes: %v", r)
			case slices.Contains(r.Resources, "secrets") || slices.Contains(r.Verbs, "*"):
				t.Errorf("%s: %v", name, r)
			case slices.Contains(r.Verbs, "delete") &&
				(i < 2 || len(r.ResourceNames) == 0 || slices.ContainsFunc(r.ResourceNames, func(n string) bool { return !strings.HasPrefix(n, Name) })):
				t.Errorf("%s deletes what is not Poundlock's: %v", name, r)
			}
		}
		before = rules
	}
	for _, reads := range []string{"featuregates", "namespaces", "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "leases", "infrastructures"} {
		if !slices.ContainsFunc(roles[slices.IndexFunc(roles, func(r rbacv1.ClusterRole) bool { return r.Name == Viewer })].Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, reads) && slices.Contains(r.Verbs, "get")
		}) {
			t.Errorf("a viewer may not read %s, by which status says what keeps everything", reads)
		}
	}
}

// The installer has no right to everything: it names groups, of Secrets it lists those of its namespace, and no definition is deleted. Only roles are
// escalated and bound.
func TestTheInstallersRole(t *testing.T) {
	check := func(role string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, group := range r.APIGroups {
				if group == "*" || slices.Contains(r.Resources, "*") && !slices.Contains(ProviderGroups, group) && group != "monitoring.coreos.com" {
					t.Errorf("%s: everything of %q: %v", role, group, r)
				}
			}
			unusual := slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return slices.Contains(own, v) || v == "update" })
			onRoles := !slices.ContainsFunc(r.Resources, func(name string) bool { return name != "roles" && name != "clusterroles" })
			switch {
			case len(unusual) > 0 && (!onRoles || !slices.Equal(unusual, []string{"bind", "escalate"})):
				t.Errorf("%s: %v", role, r)
			case slices.Contains(r.Resources, "secrets") && (role != "Role" || !slices.Equal(r.Verbs, []string{"list"})):
				t.Errorf("%s: Secrets: %v", role, r)
			case slices.Contains(r.Resources, "customresourcedefinitions") && slices.Contains(r.Verbs, "delete"):
				t.Errorf("%s: definitions are deleted: %v", role, r)
			}
		}
	}
	for _, o := range installRoles() {
		switch o := o.(type) {
		case rbacv1.Role:
			check("Role", o.Rules)
		case rbacv1.ClusterRole:
			check("ClusterRole", o.Rules)
		}
	}
}

// checkInjection: injectors are asked about webhook configurations alone. Policies are of the same API group, and have no caBundle. cert-manager is given a
// Certificate that exists.
func checkInjection(t *testing.T, b *built) {
	t.Helper()
	known := map[string]string{"service.beta.openshift.io/inject-cabundle": "true"}
	for _, r := range b.Resources() {
		if r.GetKind() == "Certificate" && r.GetName() == "poundlock-serving" {
			known["cert-manager.io/inject-ca-from"] = r.GetNamespace() + "/" + r.GetName()
		}
	}
	for _, r := range b.Resources() {
		for name, value := range r.GetAnnotations() {
			if strings.Contains(name, "/inject-") && (!strings.HasSuffix(r.GetKind(), "WebhookConfiguration") || known[name] != value) {
				t.Errorf("%s %s has %s: %s", r.GetKind(), r.GetName(), name, value)
			}
		}
	}
}

// checkMonitor: Prometheus asks for the metrics as the manager serves them, and verifies the certificate.
func checkMonitor(t *testing.T, b *built) {
	t.Helper()
	secure := slices.ContainsFunc(b.deployments, func(d appsv1.Deployment) bool {
		return slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--metrics-secure")
	})
	for _, r := range b.Resources() {
		if r.GetKind() != "ServiceMonitor" {
			continue
		}
		content, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		endpoints, _, err := unstructured.NestedSlice(content, "spec", "endpoints")
		if err != nil || len(endpoints) == 0 {
			t.Fatalf("endpoints %v, %v", endpoints, err)
		}
		for _, e := range endpoints {
			e, _ := e.(map[string]any)
			scheme, _, _ := unstructured.NestedString(e, "scheme")
			unverified, _, _ := unstructured.NestedBool(e, "tlsConfig", "insecureSkipVerify")
			name, _, _ := unstructured.NestedString(e, "tlsConfig", "serverName")
			token, _, _ := unstructured.NestedString(e, "bearerTokenFile")
			ref := b.validating[0].Webhooks[0].ClientConfig.Service // the metrics have the webhooks' certificate
			if (scheme == "https") != secure || secure != (name == ref.Name+"."+ref.Namespace+".svc") || secure == (token == "") || unverified {
				t.Errorf("secure metrics: %t, asked for by %v", secure, e)
			}
		}
	}
}

// checkImages: an image has a tag that means one thing, and the installing user's overlay sets it.
func checkImages(t *testing.T, b *built) {
	t.Helper()
	for _, d := range b.deployments {
		for _, c := range d.Spec.Template.Spec.Containers {
			if name, tag, _ := strings.Cut(c.Image, ":"); name != "poundlock" || tag == "" || tag == "latest" {
				t.Errorf("image %s: want poundlock with a tag other than latest", c.Image)
			}
		}
	}
}

// checkMemory wants a limit for Go's runtime below the container's. A tenth between the two is for memory that is not the runtime's.
func checkMemory(t *testing.T, b *built) {
	t.Helper()
	for _, d := range b.deployments {
		c := d.Spec.Template.Spec.Containers[0]
		limit := c.Resources.Limits.Memory().Value()
		i := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "GOMEMLIMIT" })
		if i < 0 || limit == 0 {
			t.Errorf("Deployment %s: env %v, limit %d: want GOMEMLIMIT and a limit of memory", d.Name, c.Env, limit)
			continue
		}
		soft, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[i].Value, "B"))
		if err != nil || soft.Value() > limit*9/10 || soft.Value() < limit/2 {
			t.Errorf("Deployment %s: GOMEMLIMIT %s (%v), limit %d", d.Name, c.Env[i].Value, err, limit)
		}
	}
}

// checkReplicas: while a replica is replaced another one answers, it has the time to end, and it is not root. On OpenShift, it may ask who asks for metrics.
func checkReplicas(t *testing.T, b *built, overlay string) {
	t.Helper()
	if overlay == "dev" {
		return // the manager runs on the developer's machine
	}
	d := b.deployments[0]
	if most := d.Spec.Strategy.RollingUpdate.MaxUnavailable; *d.Spec.Replicas < 2 || most.IntValue() != 0 {
		t.Errorf("%d replicas, and %s of them may be missing during an update", *d.Spec.Replicas, most)
	}
	pods := d.Spec.Template.Spec
	// The default of --shutdown-delay is 5 s, and the manager takes up to 25 s more.
	if least := int64(5 + 25 + 10); *pods.TerminationGracePeriodSeconds < least {
		t.Errorf("the kubelet ends a replica after %d s, want %d or more", *pods.TerminationGracePeriodSeconds, least)
	}
	own := pods.Containers[0].SecurityContext
	if !*pods.SecurityContext.RunAsNonRoot || *own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem || !slices.Contains(own.Capabilities.Drop, "ALL") {
		t.Errorf("a replica has more rights than it needs: %v, %v", pods.SecurityContext, own)
	}
	if policy := b.budgets[0].Spec.UnhealthyPodEvictionPolicy; policy == nil || *policy != policyv1.AlwaysAllow {
		t.Errorf("a replica that is not ready holds up the drain of its node: %v", policy)
	}
	asks := 0
	for _, role := range b.cluster {
		for _, rule := range role.Rules {
			for _, resource := range []string{"tokenreviews", "subjectaccessreviews"} {
				if slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, "create") {
					asks++
				}
			}
		}
	}
	if asks != map[string]int{"openshift": 2}[overlay] {
		t.Errorf("%d of the rights to ask who may get /metrics are granted", asks)
	}
}

// checkRoutes: every route has its webhook, and no webhook is without a route.
func checkRoutes(t *testing.T, b *built) {
	t.Helper()
	var want, got []string
	for _, r := range webhooks.Routes(webhooks.Catalog{Platforms: platforms.List()}) {
		want = append(want, r.Path())
	}
	for _, w := range b.validating[0].Webhooks {
		got = append(got, path(w.ClientConfig))
	}
	for _, w := range b.mutating[0].Webhooks {
		got = append(got, path(w.ClientConfig))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-routes +configurations):\n%s", diff)
	}
}

func path(c admissionregistrationv1.WebhookClientConfig) string {
	if c.URL != nil {
		return strings.TrimPrefix(*c.URL, DevURL)
	}
	return *c.Service.Path
}

// checkReach: the API server finds the service, the service its pods, the pods their certificate.
func checkReach(t *testing.T, b *built, overlay string) {
	t.Helper()
	if overlay == "dev" {
		if len(b.deployments)+len(b.services)+len(b.budgets) > 0 {
			t.Error("the manager runs outside the cluster, but its parts are installed inside")
		}
		return
	}
	pods := b.deployments[0].Spec.Template
	ports := map[string]bool{}
	for _, p := range pods.Spec.Containers[0].Ports {
		ports[p.Name] = true
	}
	for _, s := range b.services {
		if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pods.Labels)) {
			t.Errorf("service %s does not select the pods", s.Name)
		}
		if target := s.Spec.Ports[0].TargetPort.StrVal; !ports[target] {
			t.Errorf("service %s points at port %q, which the pods do not have", s.Name, target)
		}
	}
	for _, w := range b.validating[0].Webhooks {
		ref := w.ClientConfig.Service
		if !slices.ContainsFunc(b.services, func(s corev1.Service) bool {
			return s.Name == ref.Name && s.Namespace == ref.Namespace && s.Spec.Ports[0].Port == *ref.Port
		}) {
			t.Errorf("%s calls service %s/%s:%d, which is not there", w.Name, ref.Namespace, ref.Name, *ref.Port)
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(b.budgets[0].Spec.Selector); err != nil || !selector.Matches(labels.Set(pods.Labels)) {
		t.Errorf("the disruption budget does not select the pods: %v", err)
	}
	mounted := slices.Contains(pods.Spec.Containers[0].Args, "--cert-dir="+"/etc/poundlock/serving")
	if mounted != (overlay != "self-managed") || mounted != (len(pods.Spec.Volumes) == 1) {
		t.Errorf("certificate mounted: %t, volumes: %d", mounted, len(pods.Spec.Volumes))
	}
	if injected := len(b.validating[0].Annotations) == 1 && len(b.mutating[0].Annotations) == 1; injected != mounted {
		t.Errorf("who mounts the certificate injects its CA: mounted %t, injected %t", mounted, injected)
	}
}

// checkBindings: every role is bound to Poundlock and nobody else, but that by which OpenShift's Prometheus finds the replicas.
func checkBindings(t *testing.T, b *built) {
	t.Helper()
	bound := map[string]bool{}
	check := func(name string, subjects []rbacv1.Subject, ref rbacv1.RoleRef, namespace string) {
		want := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: ClusterAPINamespace, Name: Name}
		if name == "poundlock-prometheus" {
			want.Namespace, want.Name = "openshift-monitoring", "prometheus-k8s"
		}
		if len(subjects) != 1 || subjects[0] != want {
			t.Errorf("binding %s is of %v", name, subjects)
		}
		bound[ref.Kind+" "+namespace+"/"+ref.Name] = true
	}
	for _, r := range b.bindings {
		check(r.Name, r.Subjects, r.RoleRef, r.Namespace)
	}
	for _, r := range b.clusterB {
		check(r.Name, r.Subjects, r.RoleRef, "")
	}
	for _, r := range b.roles {
		if !bound["Role "+r.Namespace+"/"+r.Name] {
			t.Errorf("role %s/%s is not bound", r.Namespace, r.Name)
		}
	}
	for _, r := range b.cluster {
		if !bound["ClusterRole /"+r.Name] {
			t.Errorf("cluster role %s is not bound", r.Name)
		}
	}
}

// checkGrants: whatever has a door is read and mirrored in its namespace, and nothing is granted with a wildcard.
func checkGrants(t *testing.T, b *built) {
	t.Helper()
	granted := map[string]bool{}
	for _, role := range b.roles {
		for _, rule := range role.Rules {
			for _, g := range rule.APIGroups {
				for _, r := range rule.Resources {
					for _, v := range rule.Verbs {
						if strings.Contains(g+r+v, "*") {
							t.Errorf("role %s grants %s of %s.%s", role.Name, v, r, g)
						}
						granted[strings.Join([]string{role.Namespace, g, r, v}, " ")] = true
					}
				}
			}
		}
	}
	for _, route := range webhooks.Routes(webhooks.Catalog{Platforms: platforms.List()}) {
		namespace := ClusterAPINamespace
		if route.Side == policies.Surroundings || route.Probe {
			continue // each is read by its name alone, and a probe is never stored
		}
		if route.Side == policies.SideMachineAPI {
			namespace = MachineAPINamespace
		}
		for _, s := range route.Subjects {
			verbs := []string{"get", "list", "watch", "patch"}
			if s.Kind == authority.MachineDeployment {
				verbs = verbs[:2] // nothing mirrors it
			}
			for _, verb := range verbs {
				if key := strings.Join([]string{namespace, s.GroupVersion.Group, s.Resource, verb}, " "); !granted[key] {
					t.Errorf("not granted: %s", key)
				}
			}
		}
	}
}

// TestTheControlPlaneComponent: laid over any overlay it adds its argument, and keeps the others.
func TestTheControlPlaneComponent(t *testing.T) {
	for _, overlay := range []string{"openshift", "self-managed"} {
		memory := filesys.MakeFsInMemory()
		if err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return memory.WriteFile("/"+path, text)
		}); err != nil {
			t.Fatal(err)
		}
		if err := memory.WriteFile("/overlays/mine/kustomization.yaml",
			[]byte("resources: [../"+overlay+"]\ncomponents: [../../components/control-plane]\n")); err != nil {
			t.Fatal(err)
		}
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/overlays/mine")
		if err != nil {
			t.Fatal(err)
		}
		b := &built{ResMap: made}
		for _, r := range made.Resources() {
			text, err := r.AsYAML()
			if err != nil {
				t.Fatal(err)
			}
			b.add(t, r.GetKind(), text)
		}
		want := append(slices.Clone(build(t, overlay).deployments[0].Spec.Template.Spec.Containers[0].Args), "--control-plane")
		if got := b.deployments[0].Spec.Template.Spec.Containers[0].Args; !slices.Equal(got, want) {
			t.Errorf("%s: the arguments are %v, want %v", overlay, got, want)
		}
		checkBindings(t, b)
	}
}
