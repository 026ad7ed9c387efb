// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/translation"
)

// The real core manager, unmodified, makes a MachineDeployment's Machines, scales, replaces and deletes them, on an API server that has its kinds under private
// names and the platform's under the standard ones. No private name is in its log, and no standard one in what it stores.
func TestTheRealCoreManager(t *testing.T) {
	t.Parallel()
	binary, err := build.ClusterAPI(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s := story{t: t, ns: namespace(t), direct: dynamic.NewForConfigOrDie(plane.Admin())}
	config := behind(t)
	s.client = dynamic.NewForConfigOrDie(config)
	ports, err := embedded.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"], c.Contexts["c"], c.CurrentContext = &clientcmdapi.Cluster{Server: config.Host}, &clientcmdapi.Context{Cluster: "c"}, "c"
	if err := clientcmd.WriteToFile(*c, filepath.Join(dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	if err := plane.Serving(dir); err != nil {
		t.Fatal(err)
	}
	if err := plane.Attach("core-manager", binary, "--kubeconfig="+filepath.Join(dir, "kubeconfig"), "--namespace="+s.ns, fmt.Sprintf("--webhook-port=%d", ports[0]), "--webhook-cert-dir="+dir,
		fmt.Sprintf("--health-addr=127.0.0.1:%d", ports[1]), "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--feature-gates=MachinePool=false", "--v=2"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.log(plane.StopPart("core-manager")) })
	go s.provider()

	s.apply(deployment)
	s.wait("two Machines that are provisioned", func() bool { return s.phases("Provisioned") == 2 })
	s.patch("machinedeployments", `{"spec":{"replicas":3}}`)
	s.wait("three", func() bool { return s.phases("Provisioned") == 3 })
	s.checkStored()
	s.patch("machinedeployments", `{"spec":{"template":{"spec":{"version":"v1.36.4"}}}}`)
	s.wait("a new MachineSet", func() bool { return len(s.list("machinesets", "").Items) == 2 })
	s.patch("machinedeployments", `{"spec":{"replicas":1}}`)
	if err := s.client.Resource(clusters).Namespace(s.ns).Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.wait("the Cluster's deletion", func() bool {
		_, err := s.client.Resource(clusters).Namespace(s.ns).Get(t.Context(), "c", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && len(s.list("machines", "").Items) == 0 && len(s.list("awsmachines", "infrastructure.").Items) == 0
	})
}

const deployment = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: c}
spec: {controlPlaneEndpoint: {host: 127.0.0.1, port: 1}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec:
  controlPlaneEndpoint: {host: 127.0.0.1, port: 1}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: m}
spec: {template: {spec: {instanceType: m5.large}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: d, labels: {cluster.x-k8s.io/cluster-name: c}}
spec:
  clusterName: c
  replicas: 2
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: d}}
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}
  template:
    metadata: {labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: d}}
    spec:
      clusterName: c
      version: v1.36.3
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: m}
`

type story struct {
	t              *testing.T
	ns             string
	client, direct dynamic.Interface
}

func resource(prefix, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: prefix + translation.Standard, Version: "v1beta2", Resource: name}
}

// apply creates what a manifest has, in the order in which it has it.
func (s *story) apply(manifest string) {
	s.t.Helper()
	for _, document := range strings.Split(manifest, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			s.t.Fatal(err)
		}
		plural := strings.ToLower(o.GetKind()) + "s"
		if _, err := s.client.Resource(o.GroupVersionKind().GroupVersion().WithResource(plural)).Namespace(s.ns).Create(s.t.Context(), o, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *story) patch(plural, patch string) {
	s.t.Helper()
	if _, err := s.client.Resource(resource("", plural)).Namespace(s.ns).Patch(s.t.Context(), "d", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) list(plural, prefix string) *unstructured.UnstructuredList {
	l, err := s.client.Resource(resource(prefix, plural)).Namespace(s.ns).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 1)}
	}
	return l
}

func (s *story) phases(phase string) int {
	n := 0
	for _, m := range s.list("machines", "").Items {
		if p, _, _ := unstructured.NestedString(m.Object, "status", "phase"); p == phase {
			n++
		}
	}
	return n
}

func (s *story) wait(what string, until func() bool) {
	s.t.Helper()
	poll(s.t, what, func(context.Context) (bool, error) { return until(), nil })
}

// provider does what the infrastructure's controllers do, on the private kinds: it says that everything is there.
func (s *story) provider() {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-s.t.Context().Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		for _, plural := range []string{"awsclusters", "awsmachines"} {
			kind := s.direct.Resource(stored(resource("infrastructure.", plural))).Namespace(s.ns)
			l, err := kind.List(s.t.Context(), metav1.ListOptions{})
			if err != nil {
				continue
			}
			for _, o := range l.Items {
				if ready, _, _ := unstructured.NestedBool(o.Object, "status", "ready"); ready {
					continue
				}
				if plural == "awsmachines" {
					_, _ = kind.Patch(s.t.Context(), o.GetName(), types.MergePatchType, []byte(`{"spec":{"providerID":"aws:///z/i-`+o.GetName()+`"}}`), metav1.PatchOptions{})
				}
				_, _ = kind.Patch(s.t.Context(), o.GetName(), types.MergePatchType, []byte(`{"status":{"ready":true}}`), metav1.PatchOptions{}, "status")
			}
		}
	}
}

// checkStored looks at the store itself: whatever names a group names a private one.
func (s *story) checkStored() {
	s.t.Helper()
	owners := 0
	for _, r := range []schema.GroupVersionResource{resource("", "machines"), resource("", "machinesets"), resource("", "machinedeployments"), resource("infrastructure.", "awsmachines"), resource("infrastructure.", "awsmachinetemplates")} {
		l, err := s.direct.Resource(stored(r)).Namespace(s.ns).List(s.t.Context(), metav1.ListOptions{})
		if err != nil || len(l.Items) == 0 {
			s.t.Fatal(r, len(l.Items), err)
		}
		for _, o := range l.Items {
			for _, owner := range o.GetOwnerReferences() {
				owners++
				if !strings.Contains(owner.APIVersion, translation.Private+"/") {
					s.t.Errorf("%s %s is owned by %s", r.Resource, o.GetName(), owner.APIVersion)
				}
			}
			for _, m := range o.GetManagedFields() {
				if !strings.Contains(m.APIVersion, translation.Private+"/") {
					s.t.Errorf("%s %s has managed fields of %s", r.Resource, o.GetName(), m.APIVersion)
				}
			}
		}
	}
	if owners < 8 {
		s.t.Errorf("%d owners", owners)
	}
}

// log looks for a private name in what the manager logged, and shows the end if something else failed.
func (s *story) log(err error) {
	if err != nil {
		s.t.Error(err)
	}
	log, err := os.ReadFile(plane.Log("core-manager"))
	if err != nil {
		s.t.Error(err)
	}
	if at := bytes.Index(log, []byte(translation.Private)); at >= 0 {
		s.t.Errorf("the manager knows a private name: %s", log[max(0, at-300):min(len(log), at+300)])
	}
	if s.t.Failed() {
		s.t.Logf("%s", log[max(0, len(log)-6000):])
	}
}
