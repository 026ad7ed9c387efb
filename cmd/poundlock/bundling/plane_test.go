// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// onPlane is an API server with OpenShift's Infrastructure and the namespace.
type onPlane struct {
	*testing.T
	client.Client
	plane *embedded.Plane
}

var plane = &embedded.Shared{Options: func(ctx context.Context) (embedded.Options, error) {
	crds, err := embedded.CRDs(ctx)
	return embedded.Options{CRDs: slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Name != "infrastructures.config.openshift.io"
	})}, err
}}

func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }

func startPlane(t *testing.T) onPlane {
	t.Helper()
	shared := plane.Plane(t)
	admin, err := client.New(shared.Admin(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := onPlane{t, admin, shared}
	if err := p.Get(t.Context(), client.ObjectKey{Name: bundle.Namespace}, &corev1.Namespace{}); err == nil {
		return p
	}
	p.create("v1", "Namespace", "", bundle.Namespace, nil)
	infrastructure := p.create("config.openshift.io/v1", "Infrastructure", "", "cluster", map[string]any{"platformSpec": map[string]any{"type": "AWS"}})
	infrastructure.Object["status"] = map[string]any{
		"infrastructureName": "own-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable", "platformStatus": map[string]any{"type": "AWS"},
	}
	if err := p.Status().Update(t.Context(), infrastructure); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p onPlane) create(version, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	p.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}}
	o.SetNamespace(namespace)
	if spec != nil {
		o.Object["spec"] = spec
	}
	p.eventually("creating "+kind+"/"+name, func(ctx context.Context) error { return p.Create(ctx, o) })
	return o
}

func (p onPlane) eventually(what string, do func(context.Context) error) {
	p.Helper()
	var last error
	err := wait.PollUntilContextTimeout(p.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		if err := do(ctx); err == nil || ctx.Err() == nil {
			last = err // not the end of the waiting itself
			return err == nil, nil
		}
		return false, nil
	})
	if err != nil {
		p.Fatalf("%s: %v", what, last)
	}
}

// apply applies the documents of some stages in their order, as the server takes them.
func (p onPlane) apply(documents []bundle.Document, wanted func(bundle.Stage) bool) {
	p.Helper()
	for _, d := range documents {
		if wanted(bundle.StageOf(d.GroupKind())) {
			o := &unstructured.Unstructured{Object: d.Object}
			// A custom resource waits until its definition is served; nothing else fails.
			p.eventually("applying "+d.ID(), func(ctx context.Context) error {
				return p.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership)
			})
		}
	}
}

// A real API server takes what a bundle renders to, and then refuses to delete the cluster's own infrastructure, and no other.
func TestAPIServerTakesBundles(t *testing.T) {
	embedded.LeaveOut(t)
	for _, provider := range realProviders() {
		if !slices.Contains([]string{"core", "aws", "nutanix", "metal3"}, provider.file) {
			continue
		}
		t.Run(provider.file, func(t *testing.T) {
			if provider.file != "aws" {
				stories.Long(t)
			}
			p, dir := startPlane(t), t.TempDir()
			args := provider.args(t, dir)
			if provider.file == "metal3" {
				args = append(args, "--exclude", "ServiceMonitor/*") // OpenShift serves this kind, a bare API server does not
			}
			if _, _, err := runBundle(t, args...); err != nil {
				t.Fatal(err)
			}
			p.kubectlApply(dir)
			documents := provider.installable(t, dir)
			p.apply(documents, func(stage bundle.Stage) bool { return stage != bundle.Webhooks })
			if provider.file == "aws" {
				p.protects("infrastructure.cluster.x-k8s.io/v1beta2", "AWSCluster")
			}
			p.apply(documents, func(stage bundle.Stage) bool { return stage == bundle.Webhooks })
		})
	}
}

// kubectlApply applies the files of a folder as a person would, without --server-side.
func (p onPlane) kubectlApply(dir string) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), p.plane.Kubectl(), "--kubeconfig", p.plane.KubeconfigPath(), "apply", "-f", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("kubectl apply: %v: %s", err, out)
	}
}

func (p onPlane) protects(version, kind string) {
	p.Helper()
	own := p.create(version, kind, bundle.Namespace, "own-7x2k9", map[string]any{})
	other := p.create(version, kind, bundle.Namespace, "other", map[string]any{})
	elsewhere := p.create(version, kind, "default", "own-7x2k9", map[string]any{})
	p.eventually("waiting for the policy", func(ctx context.Context) error {
		err := p.Delete(ctx, own, client.DryRunAll)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "infrastructure of this cluster") {
			return nil
		}
		return fmt.Errorf("not refused: %v", err)
	})
	if err := p.DeleteAllOf(p.Context(), own, client.InNamespace(bundle.Namespace), client.DryRunAll); !apierrors.IsForbidden(err) {
		p.Errorf("deleting all of %s: %v", kind, err)
	}
	for _, free := range []client.Object{other, elsewhere} {
		if err := p.Delete(p.Context(), free); err != nil {
			p.Error(err)
		}
	}
}
