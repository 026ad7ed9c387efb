// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/standin"
)

// prometheus has the API server serve the kinds of the Prometheus operator. The service CA is the stage's.
func prometheus(t *testing.T, p *place) {
	t.Helper()
	p.serves(t, "monitoring.coreos.com/v1", "ServiceMonitor", "PrometheusRule")
}

// certManager plays cert-manager for one Certificate, and its injector.
func certManager(t *testing.T, p *place) {
	t.Helper()
	p.serves(t, "cert-manager.io/v1", "Issuer", "Certificate")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		wait.UntilWithContext(ctx, func(ctx context.Context) { _ = p.certify(ctx) }, 200*time.Millisecond)
	}()
}

func (p *place) certify(ctx context.Context) error {
	ca := standin.Standin{Client: p.admin, Namespace: "openshift-cluster-api", Issue: p.stage.Plane.Issue}
	certificates := list("cert-manager.io/v1", "Certificate")
	if err := p.admin.List(ctx, certificates); err != nil {
		return err
	}
	var errs []error
	for _, c := range certificates.Items {
		secret, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
		names, _, _ := unstructured.NestedStringSlice(c.Object, "spec", "dnsNames")
		errs = append(errs, ca.IssueInto(ctx, secret, names...))
	}
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		configurations := list("admissionregistration.k8s.io/v1", kind)
		errs = append(errs, p.admin.List(ctx, configurations))
		for i := range configurations.Items {
			if c := &configurations.Items[i]; c.GetAnnotations()["cert-manager.io/inject-ca-from"] != "" {
				errs = append(errs, p.inject(ctx, c))
			}
		}
	}
	return errors.Join(errs...)
}

func (p *place) inject(ctx context.Context, c *unstructured.Unstructured) error {
	hooks, _, _ := unstructured.NestedSlice(c.Object, "webhooks")
	patch := []string{fmt.Sprintf(`{"op":"test","path":"/metadata/resourceVersion","value":%q}`, c.GetResourceVersion())}
	for i := range hooks {
		if _, has, _ := unstructured.NestedString(hooks[i].(map[string]any), "clientConfig", "caBundle"); !has {
			patch = append(patch, fmt.Sprintf(`{"op":"add","path":"/webhooks/%d/clientConfig/caBundle","value":%q}`,
				i, base64.StdEncoding.EncodeToString(p.stage.Plane.Admin().CAData)))
		}
	}
	if len(patch) == 1 {
		return nil
	}
	return p.admin.Patch(ctx, c, client.RawPatch("application/json-patch+json", []byte("["+strings.Join(patch, ",")+"]")))
}

func list(version, kind string) *unstructured.UnstructuredList {
	out := &unstructured.UnstructuredList{}
	out.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind+"List"))
	return out
}

// serves creates CRDs that take whatever there is of a kind.
func (p *place) serves(t *testing.T, version string, kinds ...string) {
	t.Helper()
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		singular := strings.ToLower(kind)
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + gv.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: gv.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: gv.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{
						OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
					}}},
			},
		}
		if err := p.stage.Plane.InstallCRDs(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
	}
}
