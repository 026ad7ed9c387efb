// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/issuers"
)

// Kind is the name of a kind whose objects have caBundles.
type Kind string

// The kinds in which the API server finds the webhooks that it calls.
const (
	ValidatingWebhooks        Kind = "ValidatingWebhookConfiguration"
	MutatingWebhooks          Kind = "MutatingWebhookConfiguration"
	CustomResourceDefinitions Kind = "CustomResourceDefinition"
)

// kindRow says how to read and write objects of a kind. To support another kind, add a row to kindRows.
type kindRow struct {
	kind          Kind
	gvk           schema.GroupVersionKind
	clientConfigs func(object map[string]any) []map[string]any
}

func kindRows() []kindRow {
	return []kindRow{
		{ValidatingWebhooks, admission(ValidatingWebhooks), webhookClientConfigs},
		{MutatingWebhooks, admission(MutatingWebhooks), webhookClientConfigs},
		{
			CustomResourceDefinitions,
			schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: string(CustomResourceDefinitions)},
			conversionClientConfigs,
		},
	}
}

func rowOf(kind Kind) (kindRow, error) {
	for _, row := range kindRows() {
		if row.kind == kind {
			return row, nil
		}
	}
	return kindRow{}, fmt.Errorf("objects of kind %q have no caBundle", kind)
}

func admission(kind Kind) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: admissionregistrationv1.GroupName, Version: "v1", Kind: string(kind)}
}

// webhookClientConfigs returns the clientConfigs in the object itself, not copies, so that callers can change them.
func webhookClientConfigs(object map[string]any) []map[string]any {
	webhooks, _ := object["webhooks"].([]any)
	var configs []map[string]any
	for _, webhook := range webhooks {
		if entry, ok := webhook.(map[string]any); ok {
			configs = appendMap(configs, entry["clientConfig"])
		}
	}
	return configs
}

func conversionClientConfigs(object map[string]any) []map[string]any {
	config, found, err := unstructured.NestedFieldNoCopy(object, "spec", "conversion", "webhook", "clientConfig")
	if !found || err != nil {
		return nil
	}
	return appendMap(nil, config)
}

func appendMap(list []map[string]any, item any) []map[string]any {
	if m, ok := item.(map[string]any); ok {
		return append(list, m)
	}
	return list
}

// host returns the host name that a clientConfig calls. The call succeeds only if the certificate has that name.
func host(clientConfig map[string]any) string {
	if address, _ := clientConfig["url"].(string); address != "" {
		parsed, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return parsed.Hostname()
	}
	service, _ := clientConfig["service"].(map[string]any)
	name, _ := service["name"].(string)
	namespace, _ := service["namespace"].(string)
	if name == "" || namespace == "" {
		return ""
	}
	return name + "." + namespace + ".svc"
}

// ours returns the clientConfigs of an object that call one of the names in leaf. The remaining clientConfigs belong to other servers.
func (row kindRow) ours(object *unstructured.Unstructured, leaf *x509.Certificate) []map[string]any {
	var configs []map[string]any
	for _, config := range row.clientConfigs(object.Object) {
		if h := host(config); h != "" && leaf.VerifyHostname(h) == nil {
			configs = append(configs, config)
		}
	}
	return configs
}

func caBundle(clientConfig map[string]any) []byte {
	encoded, _ := clientConfig["caBundle"].(string)
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	return decoded
}

// writing has what the caBundles are filled from, and the time at which this happens.
type writing struct {
	material
	name string
	life Lifetimes
	now  time.Time
}

// merged returns the wanted content of a caBundle: Poundlock's CAs, and then the CAs of others that are still valid. If present has exactly these, in any
// order, it is returned unchanged.
func (w writing) merged(present []byte) []byte {
	have, err := readCertificates(present)
	want := distinct(w.trust(w.now), w.leaving(have), foreign(have, w.name, w.now))
	if err == nil && len(have) == len(want) && len(distinct(want, have)) == len(want) {
		return present
	}
	return encodeCertificates(want...)
}

// leaving returns the retired CAs that a replica with a slow clock may still add again. They stay in the bundle for one skew.
func (w writing) leaving(have []*x509.Certificate) []*x509.Certificate {
	var keep []*x509.Certificate
	for _, cert := range have {
		if holds(w.previous, cert) && !w.retired(cert, w.now.Add(-w.life.skew())) {
			keep = append(keep, cert)
		}
	}
	return keep
}

func foreign(certs []*x509.Certificate, name string, now time.Time) []*x509.Certificate {
	var keep []*x509.Certificate
	for _, cert := range unexpired(certs, now) {
		if !own(cert, name) {
			keep = append(keep, cert)
		}
	}
	return keep
}

// inject writes the merged bundle into each of Poundlock's entries, and reports whether it has changed any.
func (row kindRow) inject(object *unstructured.Unstructured, w writing) bool {
	changed := false
	for _, config := range row.ours(object, w.leaf()) {
		present := caBundle(config)
		if want := w.merged(present); !bytes.Equal(want, present) {
			config["caBundle"] = base64.StdEncoding.EncodeToString(want)
			changed = true
		}
	}
	return changed
}

// trusted returns all CAs in the caBundles of an object, including those of others.
func (row kindRow) trusted(object *unstructured.Unstructured) []*x509.Certificate {
	var all []*x509.Certificate
	for _, config := range row.clientConfigs(object.Object) {
		certs, _ := readCertificates(caBundle(config))
		all = distinct(all, certs)
	}
	return all
}

// obstacle returns why the API server could not call Poundlock through this object; "" if it can. leaf is the certificate that Poundlock will serve.
func (row kindRow) obstacle(object *unstructured.Unstructured, leaf *x509.Certificate) string {
	configs := row.clientConfigs(object.Object)
	if len(configs) > 0 && len(row.ours(object, leaf)) == 0 {
		return fmt.Sprintf("no webhook of %s %s calls a host name that the serving certificate has (%s). The webhooks call %s: add this name to the "+
			"certificate, or "+
			"correct clientConfig of the webhooks",
			row.kind, object.GetName(), strings.Join(hostsOf(leaf), ", "), host(configs[0]))
	}
	if injector := otherInjector(object.GetAnnotations()); injector != "" {
		return fmt.Sprintf("another component also writes the caBundle of %s %s (annotation %s): remove the annotation, or mount that component's certificate "+
			"and set --cert-dir",
			row.kind, object.GetName(), injector)
	}
	return ""
}

func hostsOf(leaf *x509.Certificate) []string {
	return Names{DNS: leaf.DNSNames, IPs: leaf.IPAddresses}.hosts()
}

// otherInjector returns the annotation by which another component fills in caBundles; "" if there is none. Two such components would overwrite each other for
// ever.
func otherInjector(annotations map[string]string) string {
	for _, name := range []string{
		issuers.InjectCAFrom,
		issuers.InjectCAFromSecret,
		issuers.InjectAPIServerCA,
		issuers.InjectCABundle,
	} {
		if value, set := annotations[name]; set && value != "false" {
			return name
		}
	}
	return ""
}

func (s *SelfManaged) injectOne(ctx context.Context, t target, w writing) error {
	if obstacle := t.row.obstacle(t.object, w.leaf()); obstacle != "" {
		return errors.New(obstacle)
	}
	before := t.object.DeepCopy()
	if !t.row.inject(t.object, w) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.o.Client.Patch(ctx, t.object, patch, client.FieldOwner(FieldOwner)); err != nil {
		return conflicted(fmt.Errorf("patching the caBundle of %s %s: %w", t.row.kind, before.GetName(), err))
	}
	s.o.Log.Info("Patched a caBundle", "kind", t.row.kind, "name", before.GetName(), "authorities", len(w.trust(w.now)))
	return nil
}
