// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/translation"
)

// The private types are installed from the files of Cluster API's module, shown, upgraded, and uninstalled. The platform's own definition stays unchanged.
func TestPrivateTypes(t *testing.T) {
	dir, err := build.ModuleDir(t.Context(), "sigs.k8s.io/cluster-api")
	if err != nil {
		t.Fatal(err)
	}
	crds := filepath.Join(dir, "config/crd/bases")
	all, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var platform []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range all {
		if crd.Name == "machines."+translation.Standard {
			platform = append(platform, crd)
		}
	}
	plane := embedded.ForTest(t, embedded.Options{CRDs: platform})
	client := dynamic.NewForConfigOrDie(plane.Admin())
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	before, err := definitions.Get(t.Context(), "machines."+translation.Standard, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "hypershift"}}}
	if _, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(t.Context(), namespace,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	enter := func(want int, value []string, args ...string) {
		t.Helper()
		out, errOut, code := run(t, "", append([]string{"private-types", "--kubeconfig=" + plane.KubeconfigPath()}, args...)...)
		if code != want {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errOut)
		}
		for _, s := range value {
			if !strings.Contains(out+errOut, s) {
				t.Errorf("%v does not say %q:\n%s%s", args, s, out, errOut)
			}
		}
	}
	enter(3, []string{"the namespace elsewhere does not exist", "kubectl create namespace elsewhere"}, "install", "-f", crds,
		"--upstream=cluster.x-k8s.io=https://h/convert", "-n", "elsewhere")
	install := []string{"install", "-f", filepath.Join(crds, "cluster.x-k8s.io_machines.yaml"), "-f", filepath.Join(crds, "cluster.x-k8s.io_clusters.yaml"),
		"--upstream=cluster.x-k8s.io=https://capi-webhook-service.capi-system.svc/convert", "--client=hypershift/operator"}

	enter(3, []string{"There are no private types"}, "status")
	enter(0, []string{"applied (server dry run)", "clusterclasses.cluster.hypershift.openshift.io"},
		append(install[5:], "install", "-f", crds, "--dry-run=server")...)
	enter(3, []string{"There are no private types"}, "status")
	enter(0, []string{
		"customresourcedefinition/machines.cluster.hypershift.openshift.io applied", "deployment/capi-conversion-webhook-shim applied",
		"clusterrolebinding/poundlock-private-types-client:hypershift:operator applied", "servicemonitor/capi-conversion-webhook-shim left out",
	}, install...)
	served, err := discovery.NewDiscoveryClientForConfigOrDie(plane.Admin()).ServerResourcesForGroupVersion(translation.Private + "/v1beta2")
	if err != nil || !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "machines" }) {
		t.Errorf("a controller that starts now does not find its kinds: %v %v", served, err)
	}
	enter(0, nil, install...)
	enter(0, nil, append([]string{"install", "-f", filepath.Join(crds, "cluster.x-k8s.io_machines.yaml")}, install[5:]...)...)
	for name, want := range map[string]bool{"machines." + translation.Private: true, "clusters." + translation.Private: true,
		"machines." + translation.Standard: false} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:hypershift:operator",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "patch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
				Subresource: "status", Name: name},
		}}
		got, err := kubernetes.NewForConfigOrDie(plane.Admin()).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || got.Status.Allowed != want {
			t.Errorf("a client may move the objects of %s to another version: %+v %v", name, got, err)
		}
	}
	enter(3, []string{"v1beta1,v1beta2*", "hypershift/capi-conversion-webhook-shim", "yes, hidden from clients", "has no CA for its converter yet", "0 of 2 replicas"},
		"status")

	// The test acts as the service CA and as the Deployment's controller.
	list, err := definitions.List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=poundlock-private-types"})
	if err != nil || len(list.Items) != 2 {
		t.Fatal(err)
	}
	ca := base64.StdEncoding.EncodeToString(plane.Admin().CAData)
	for _, d := range list.Items {
		if strategy, _, _ := unstructured.NestedString(d.Object, "spec", "conversion", "strategy"); strategy != "Webhook" {
			continue
		}
		if _, err := definitions.Patch(t.Context(), d.GetName(), types.MergePatchType,
			[]byte(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"`+ca+`"}}}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	deployments := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("hypershift")
	if _, err := deployments.Patch(t.Context(), "capi-conversion-webhook-shim", types.MergePatchType, []byte(`{"status":{"replicas":2,"readyReplicas":2}}`),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	enter(0, []string{"2 of 2 replicas are ready"}, "status")
	enter(0, nil, install...)
	enter(0, []string{"2 of 2 replicas are ready"}, "status") // an upgrade keeps the CA

	machines := client.Resource(schema.GroupVersionResource{Group: translation.Private, Version: "v1beta2", Resource: "machines"}).Namespace("hypershift")
	machine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": translation.Private + "/v1beta2", "kind": "Machine", "metadata": map[string]any{"name": "m"},
		"spec": map[string]any{"clusterName": "c", "bootstrap": map[string]any{"dataSecretName": "s"}, "infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "m"}},
	}}
	if _, err := machines.Create(t.Context(), machine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	enter(3, []string{"there are still objects of machines.cluster.hypershift.openshift.io (1)"}, "uninstall", "--yes")
	if err := machines.Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	enter(0, []string{"customresourcedefinition/machines.cluster.hypershift.openshift.io is to be deleted"}, "uninstall", "--dry-run=client")
	enter(0, []string{"customresourcedefinition/machines.cluster.hypershift.openshift.io deleted",
		"deployment/capi-conversion-webhook-shim deleted"}, "uninstall", "--yes")
	enter(0, []string{"Nothing is installed."}, "uninstall", "--yes")

	// They are installed from the cluster's own definitions, with a warning. Objects that another program created are not changed.
	enter(0, []string{"may be the platform's", "customresourcedefinition/machines.cluster.hypershift.openshift.io applied"}, "install", "--from-cluster",
		"--upstream=cluster.x-k8s.io=https://h/convert")
	if _, err := definitions.Patch(t.Context(), "machines."+translation.Private, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"app.kubernetes.io/part-of":"other"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	enter(3, []string{"--take-over"}, install...)
	after, err := definitions.Get(t.Context(), "machines."+translation.Standard, metav1.GetOptions{})
	if err != nil || after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the platform's definition was changed: %v", err)
	}
}

func TestPrivateTypesOffline(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	dir := t.TempDir()
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%GROUP"},"spec":{"group":"%GROUP","names":{"plural":"%PLURAL","kind":"K"},"versions":[{"name":"v1","served":true,"storage":true}]}}`
	write := func(name, plural, group string) string {
		path := filepath.Join(dir, name)
		text := strings.NewReplacer(`"name":"%GROUP"`, `"name":"`+plural+"."+group+`"`, "%GROUP", group, "%PLURAL", plural).Replace(definition)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("one.yaml", "machines", translation.Standard)
	write("provider.json", "foomachines", "infrastructure."+translation.Standard)
	other := write("other.txt", "others", "example.com")
	for sentence, c := range map[string]struct {
		args     []string
		stdin    string
		want     int
		contains string
	}{
		"from nowhere":           {args: []string{"install"}, want: 2, contains: "--filename FILE|DIR or --from-cluster"},
		"from two places":        {args: []string{"install", "-f", one, "--from-cluster"}, want: 2, contains: "--filename FILE|DIR or --from-cluster"},
		"no such file":           {args: []string{"install", "-f", one + "x", "--dry-run=client"}, want: 1, contains: "one.yamlx"},
		"nothing of Cluster API": {args: []string{"install", "-f", other, "--dry-run=client"}, want: 3, contains: "nothing was changed"},
		"twice the same":         {args: []string{"install", "-f", one, "-f", one, "--dry-run=client"}, want: 2, contains: "given twice"},
		"an unknown dry run":     {args: []string{"install", "-f", one, "--dry-run=x"}, want: 2, contains: "give none, client or server"},
		"an odd ServiceAccount":  {args: []string{"install", "-f", one, "--dry-run=client", "--client=x"}, want: 2, contains: "NAMESPACE/NAME"},
		"no bundle":              {args: []string{"install", "-f", one, "--dry-run=client", "--ca-bundle=" + one + "x"}, want: 2, contains: "--ca-bundle"},
		"a bundle without one":   {args: []string{"install", "-f", one, "--dry-run=client", "--ca-bundle=" + other}, want: 2, contains: "no certificate in PEM"},
		"an upstream in HTTP":    {args: []string{"install", "-f", one, "--dry-run=client", "--upstream=cluster.x-k8s.io=http://h/convert"}, want: 2, contains: "with a URL that begins with https://"},
		"no upstream's form":     {args: []string{"install", "-f", one, "--dry-run=client", "--upstream=nonsense"}, want: 2, contains: "use SUFFIX=URL"},
		"a shim in HTTP":         {args: []string{"install", "-f", one, "--dry-run=client", "--shim-url=http://h"}, want: 2, contains: "--shim-url http://h is not valid: use a URL that begins with https://"},
		"two places of the shim": {args: []string{"install", "-f", one, "--dry-run=client", "--shim-url=https://h", "--upstream=cluster.x-k8s.io=https://h/convert"}, want: 2, contains: "--upstream and --shim-url exclude each other"},
		"a command misspelt":     {args: []string{"instal"}, want: 2, contains: "Did you mean this?\n\tinstall"},
		"a folder":               {args: []string{"install", "-f", dir, "--dry-run=client"}, contains: "name: foomachines.infrastructure.cluster.hypershift.openshift.io"},
		"no contract":            {args: []string{"install", "-f", dir, "--dry-run=client"}, contains: "Warning: foomachines.infrastructure."},
		"a namespace":            {args: []string{"install", "-f", dir, "--dry-run=client", "-n", "elsewhere", "--upstream=cluster.x-k8s.io=https://h/convert"}, contains: "namespace: elsewhere"},
		"standard input":         {args: []string{"sidecar", "-f", "-"}, stdin: deployment, contains: "name: kube-apiserver-proxy"},
		"no Deployment":          {args: []string{"sidecar", "-f", "-"}, stdin: "kind: Pod\napiVersion: v1\nmetadata: {name: p}", want: 2, contains: "is not a Deployment"},
		"an image that is none":  {args: []string{"sidecar", "-f", "-"}, stdin: strings.Replace(deployment, "image: i", "image: y", 1), want: 1, contains: "containers.image of type string"},
		"a field that is none":   {args: []string{"sidecar", "-f", "-"}, stdin: strings.Replace(deployment, "image: i", "imagge: i", 1), want: 1, contains: `unknown field "spec.template.spec.containers[0].imagge"`},
		"a sidecar for nothing":  {args: []string{"sidecar"}, want: 2, contains: "--filename"},
	} {
		t.Run(sentence, func(t *testing.T) {
			out, errOut, code := run(t, c.stdin, append([]string{"private-types"}, c.args...)...)
			if code != c.want || !strings.Contains(out+errOut, c.contains) {
				t.Errorf("exit code %d: %s%s", code, out, errOut)
			}
		})
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: cluster-api, namespace: clusters-x}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, image: i}]}}}
`
