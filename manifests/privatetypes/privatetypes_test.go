// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/poundlock/proxying"
	"github.com/poundlock/poundlock/translation"
)

const standard = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: machines.cluster.x-k8s.io
  uid: u
  resourceVersion: "7"
  labels: {cluster.x-k8s.io/v1beta2: v1beta2, cluster.x-k8s.io/provider: cluster-api}
  annotations: {cert-manager.io/inject-ca-from: a/b, service.beta.openshift.io/inject-cabundle: "true", include.release.openshift.io/x: "true"}
spec:
  group: cluster.x-k8s.io
  names: {plural: machines, kind: Machine}
  scope: Namespaced
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: platform}, caBundle: eA==}, conversionReviewVersions: [v1]}}
  versions:
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: "of cluster.x-k8s.io"}}}
  - {name: v1beta2, served: true, storage: true}
status: {storedVersions: [v1beta1]}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	objects, err := Parse([]byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatal(len(objects), err)
	}
	return objects[0]
}

func TestDefinition(t *testing.T) {
	one := strings.Replace(standard,
		"  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: \"of cluster.x-k8s.io\"}}}\n", "", 1)
	want := func(annotations, conversion, versions string) string {
		return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: machines.cluster.hypershift.openshift.io
  labels: {cluster.x-k8s.io/v1beta2: v1beta2, cluster.x-k8s.io/provider: cluster-api, app.kubernetes.io/part-of: poundlock-private-types}` + annotations + `
spec:
  group: cluster.hypershift.openshift.io
  names: {plural: machines, kind: Machine}
  scope: Namespaced
  conversion: ` + conversion + `
  versions:
` + versions
	}
	const (
		inject = "\n  annotations: {service.beta.openshift.io/inject-cabundle: \"true\"}"
		old    = "  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: \"of cluster.x-k8s.io\"}}}\n"
		newer  = "  - {name: v1beta2, served: true, storage: true}\n"
	)
	for why, c := range map[string]struct {
		standard, want string
		o              Options
	}{
		"two versions": {
			standard, want(inject,
				"{strategy: Webhook, webhook: {clientConfig: {service: {name: capi-conversion-webhook-shim, namespace: ns, path: /convert, port: 443}}, conversionReviewVersions: [v1, v1beta1]}}", old+newer),
			Options{Namespace: "ns"},
		},
		"a CA of one's own": {
			standard, want("", "{strategy: Webhook, webhook: {clientConfig: {service: {name: capi-conversion-webhook-shim, namespace: ns, path: /convert, port: 443}, caBundle: Y2E=}, conversionReviewVersions: [v1, v1beta1]}}", old+newer),
			Options{Namespace: "ns", CABundle: []byte("ca")},
		},
		"a shim outside": {
			standard, want("", "{strategy: Webhook, webhook: {clientConfig: {url: \"https://h/convert\", caBundle: Y2E=}, conversionReviewVersions: [v1, v1beta1]}}",
				old+newer),
			Options{Namespace: "ns", CABundle: []byte("ca"), URL: "https://h/convert"},
		},
		"one version": {one, want("", "{strategy: None}", newer), Options{Namespace: "ns"}},
	} {
		t.Run(why, func(t *testing.T) {
			got, err := Definition(parse(t, c.standard), c.o)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(parse(t, c.want).Object, got.Object); d != "" {
				t.Error(d)
			}
		})
	}
	for why, text := range map[string]string{
		"another group":     strings.ReplaceAll(standard, "cluster.x-k8s.io", "example.com"),
		"a private group":   strings.ReplaceAll(standard, "cluster.x-k8s.io", translation.Private),
		"an excluded group": strings.ReplaceAll(standard, "cluster.x-k8s.io", "operator.cluster.x-k8s.io"),
		"another kind":      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, spec: {group: cluster.x-k8s.io}}",
		"another name":      strings.Replace(standard, "name: machines.", "name: others.", 1),
		"no versions":       "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: m.cluster.x-k8s.io}, spec: {group: cluster.x-k8s.io, names: {plural: m}}}",
	} {
		if got, err := Definition(parse(t, text), Options{}); err == nil {
			t.Errorf("%s became %s", why, got.GetName())
		}
	}
}

func TestContracts(t *testing.T) {
	for group, want := range map[string]bool{"infrastructure." + translation.Private: true, "bootstrap." + translation.Private: true, translation.Private: false,
		"ipam." + translation.Private: false} {
		crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": group}}}
		if got := WithoutContract(crd); got != want {
			t.Errorf("%s: %t", group, got)
		}
		crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta2"})
		if WithoutContract(crd) {
			t.Errorf("%s has a label", group)
		}
	}
}

// strictly decodes an object into its type: a misspelt field is an error.
func strictly(t *testing.T, o *unstructured.Unstructured) any {
	t.Helper()
	types := map[string]any{
		"ServiceAccount": &corev1.ServiceAccount{}, "ConfigMap": &corev1.ConfigMap{}, "Service": &corev1.Service{}, "Deployment": &appsv1.Deployment{},
		"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{}, "NetworkPolicy": &networkingv1.NetworkPolicy{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
	}
	into, has := types[o.GetKind()]
	if !has {
		return nil // of monitoring.coreos.com, whose types are not here
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Errorf("%s %s: %s", o.GetKind(), o.GetName(), err)
	}
	return into
}

func TestObjects(t *testing.T) {
	o := Options{Namespace: "ns", Image: "registry/poundlock:1", Upstreams: []string{"cluster.x-k8s.io=https://h/convert"}, Clients: []string{"a/b"}}
	objects, err := Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, object := range objects {
		kinds[object.GetKind()]++
		if object.GetLabels()[PartOf] != Name {
			t.Errorf("uninstall does not find %s %s", object.GetKind(), object.GetName())
		}
		typed := strictly(t, object)
		if d, is := typed.(*appsv1.Deployment); is {
			checkDeployment(t, d)
		}
		if r, is := typed.(*rbacv1.ClusterRole); is {
			checkRole(t, r)
		}
	}
	for _, kind := range Kinds {
		want := 1
		if kind.GroupVersionKind.Kind == "ClusterRole" || kind.GroupVersionKind.Kind == "ConfigMap" {
			want = 2
		}
		if kinds[kind.GroupVersionKind.Kind] != want {
			t.Errorf("there are %d objects of kind %s", kinds[kind.GroupVersionKind.Kind], kind.GroupVersionKind.Kind)
		}
	}
	if err := Migrate(objects, []string{"b", "a", "b"}); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() == "poundlock-private-types-client" })
	role, _ := strictly(t, objects[i]).(*rbacv1.ClusterRole)
	if last := role.Rules[len(role.Rules)-1]; !slices.Equal(last.ResourceNames, []string{"a", "b"}) {
		t.Errorf("clients may write into %v", last)
	}
	if err := Migrate(nil, nil); err == nil {
		t.Error("there is no role")
	}
	o.URL, o.Upstreams = "https://h/convert", nil
	outside, err := Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range outside {
		if slices.Contains([]string{"Deployment", "Service", "NetworkPolicy", "ServiceMonitor"}, object.GetKind()) {
			t.Errorf("%s is of no use without a shim in the cluster", object.GetKind())
		}
	}
}

// checkDeployment has the command parse its own arguments, and compares the ports and folders that they name.
func checkDeployment(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	c := d.Spec.Template.Spec.Containers[0]
	cmd := proxying.Shim()
	if c.Args[0] != cmd.Name() || c.Image != "registry/poundlock:1" {
		t.Error(c.Args, c.Image)
	}
	if err := cmd.ParseFlags(c.Args[1:]); err != nil {
		t.Error(err)
	}
	for flag, want := range map[string]string{"listen": ":9443", "health-listen": ":8081", "webhook-cert-dir": "/etc/serving",
		"upstream": "[cluster.x-k8s.io=https://h/convert]", "upstream-ca": "/etc/upstream-ca/service-ca.crt"} {
		if got := cmd.Flag(flag).Value.String(); got != want {
			t.Errorf("--%s is %s", flag, got)
		}
	}
	grace, err := cmd.Flags().GetDuration("grace-period")
	if patience := *d.Spec.Template.Spec.TerminationGracePeriodSeconds; err != nil || grace.Seconds() >= float64(patience) {
		t.Errorf("the kubelet ends the shim after %d s, and it needs %s", patience, grace)
	}
}

// checkRole holds a role to the groups that translation has: each is one of one name, and has its twin in the other role.
func checkRole(t *testing.T, r *rbacv1.ClusterRole) {
	t.Helper()
	for _, group := range r.Rules[0].APIGroups {
		switch {
		case strings.HasSuffix(r.Name, "-standard") && translation.ToPrivate.Group(group) != group:
		case !strings.HasSuffix(r.Name, "-standard") && translation.ToStandard.Group(group) != group:
		default:
			t.Errorf("%s names %s", r.Name, group)
		}
	}
	if len(r.Rules[0].APIGroups) != 7 {
		t.Errorf("%s: %v", r.Name, r.Rules[0].APIGroups)
	}
}

// Kustomize builds the same objects.
func TestKustomization(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), ".")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Objects(Options{Namespace: "hypershift", Image: "poundlock:unset"})
	if err != nil {
		t.Fatal(err)
	}
	var files, got []string
	for _, r := range built.Resources() {
		files = append(files, r.GetKind()+" "+r.GetNamespace()+"/"+r.GetName())
	}
	for _, o := range objects {
		got = append(got, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	slices.Sort(files)
	slices.Sort(got)
	if d := cmp.Diff(files, got); d != "" {
		t.Error(d)
	}
}

func TestSidecar(t *testing.T) {
	read := func(t *testing.T, text string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(parse(t, text).Object, d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	const before = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ns}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {
  initContainers: [{name: init-environment, image: i, env: [{name: X, value: v}]}],
  containers: [%CONTAINER]}}}`
	for why, c := range map[string]struct {
		container, env, args, ports string
	}{
		"a manager":               {"{name: manager, image: i}", kubeconfig, "", "8080 8081"},
		"one that has KUBECONFIG": {"{name: manager, image: i, env: [{name: KUBECONFIG, value: /old}]}", kubeconfig, "", "8080 8081"},
		"8080 is a port":          {"{name: manager, image: i, ports: [{containerPort: 8080}]}", kubeconfig, "", "8081 8082"},
		"8080 is in an argument":  {`{name: manager, image: i, args: ["--metrics-bind-address=0.0.0.0:8080", "--health-port=8081"]}`, kubeconfig, "--metrics-bind-address=0.0.0.0:8080 --health-port=8081", "8082 8083"},
		"8080 is an argument":     {`{name: manager, image: i, args: [--port, "8080"]}`, kubeconfig, "--port 8080", "8081 8082"},
		"8080 is probed":          {"{name: manager, image: i, livenessProbe: {httpGet: {path: /healthz, port: 8080}}, readinessProbe: {tcpSocket: {port: 8081}}, startupProbe: {grpc: {port: 8082}}}", kubeconfig, "", "8083 8084"},
		"8081 is taken":           {`{name: manager, image: i, args: ["--health-addr=:8081"]}`, kubeconfig, "--health-addr=:8081", "8080 8082"},
		"cluster-autoscaler":      {"{name: cluster-autoscaler, image: i, args: [--kubeconfig=/workload, --cloud-config=/old]}", "", "--kubeconfig=/workload --cloud-config=" + kubeconfig, "8080 8081"},
		"machine-approver":        {"{name: c, image: i, command: [/usr/bin/machine-approver], args: [--workload-cluster-kubeconfig=/w]}", "", "--workload-cluster-kubeconfig=/w --management-cluster-kubeconfig=" + kubeconfig, "8080 8081"},
	} {
		t.Run(why, func(t *testing.T) {
			d := read(t, strings.Replace(before, "%CONTAINER", c.container, 1))
			config, err := Sidecar(d, "image")
			if err != nil {
				t.Fatal(err)
			}
			pod := d.Spec.Template.Spec
			proxy, is := pod.InitContainers[len(pod.InitContainers)-1], pod.Containers[0]
			client, health, _ := strings.Cut(c.ports, " ")
			if d := cmp.Diff([]string{"proxy", "--listen=127.0.0.1:" + client, "--health-listen=:" + health}, proxy.Args); d != "" ||
				proxy.Name != "kube-apiserver-proxy" || *proxy.RestartPolicy != corev1.ContainerRestartPolicyAlways {
				t.Error(d, proxy)
			}
			cmd := proxying.Proxy()
			if err := cmd.ParseFlags(proxy.Args[1:]); err != nil {
				t.Error(err)
			}
			if !strings.Contains(config.Data["kubeconfig"], "server: http://127.0.0.1:"+client+"\n") || config.Namespace != "ns" ||
				config.Name != pod.Volumes[0].ConfigMap.Name {
				t.Error(config)
			}
			env := ""
			for _, e := range is.Env {
				if e.Name == "KUBECONFIG" {
					env += e.Value
				}
			}
			if args := strings.Join(is.Args, " "); env != c.env || args != c.args || is.VolumeMounts[0].MountPath+"/kubeconfig" != kubeconfig {
				t.Error(env, args, is.VolumeMounts)
			}
			if first := pod.InitContainers[0]; len(first.Env) != 1 || len(first.VolumeMounts) != 0 {
				t.Error("an init container runs before the proxy:", first)
			}
			if d.Spec.Template.Labels[ProxyLabel] != "true" || d.Spec.Selector.MatchLabels["a"] != "b" || len(d.Spec.Selector.MatchLabels) != 1 {
				t.Error(d.Spec.Template.Labels)
			}
			again := d.DeepCopy()
			if _, err := Sidecar(again, "image"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d, again); diff != "" {
				t.Error("the second time:", diff)
			}
		})
	}
	if _, err := Sidecar(&appsv1.Deployment{}, "image"); err == nil {
		t.Error("a Deployment without containers")
	}
}

// The PodMonitor finds the proxies by what Sidecar gives them.
func TestThePodMonitorFindsTheProxies(t *testing.T) {
	text, err := os.ReadFile("podmonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{ProxyLabel + `: "true"`, "port: " + container("", 1, 2).Ports[0].Name + "\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("podmonitor.yaml has no %s", want)
		}
	}
}
