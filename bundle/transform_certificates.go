// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/internal/issuers"
)

const (
	certManager     = "cert-manager.io"
	usualSecretPath = "serving-cert"
)

// ServingCertificates annotates Services, so that OpenShift's service CA issues the Service's certificate into the Secret that the Service's pods mount. It
// annotates each Service that a webhook, a conversion or a Certificate names.
func ServingCertificates(d *Draft) {
	called := d.called()
	owner := map[string]string{}
	// A Secret belongs to one Service. So the Services that webhooks and conversions call come first.
	for _, must := range []bool{true, false} {
		for _, doc := range d.Documents {
			if !doc.is("", "Service") || called[doc.Name()] != must {
				continue
			}
			d.issue(doc, must, owner)
		}
	}
	for name := range called {
		if !slices.ContainsFunc(d.Documents, func(doc Document) bool { return doc.is("", "Service") && doc.Name() == name }) {
			d.problems = append(d.problems, missingService(name))
		}
	}
	d.unissued()
}

// called returns the names of the Services that webhooks and conversions call.
func (d *Draft) called() map[string]bool {
	out := map[string]bool{}
	for _, doc := range d.Documents {
		for _, webhook := range webhooks(doc) {
			out[text(at(webhook, "clientConfig", "service"), "name")] = true
		}
		out[text(at(conversion(doc), "service"), "name")] = true
	}
	delete(out, "")
	return out
}

func missingService(name string) error {
	return fmt.Errorf("a webhook configuration or a CRD conversion calls Service/%s, which is not in the manifests: add the Service", name)
}

func (d *Draft) issue(service Document, must bool, owner map[string]string) {
	annotations := at(service.Object, "metadata", "annotations")
	secret, why := text(annotations, issuers.ServingCert), ""
	if secret == "" {
		secret, why = d.secretOf(service, must)
	}
	if secret == "" {
		if must {
			d.refuse(service, "a webhook configuration or a CRD conversion calls this Service, and the Secret of its serving certificate is unclear: %s", why)
		}
		return
	}
	if other, taken := owner[secret]; taken {
		if must {
			d.refuse(service, "the pods of this Service mount Secret %s, which has the certificate of Service %s: give each Service a Secret of its "+
				"own", secret, other)
		} else {
			d.note(service, "this Service gets no certificate of its own, because Secret %s belongs to Service %s", secret, other)
		}
		return
	}
	owner[secret] = service.Name()
	d.issued[secret] = true
	d.set(service, ensure(service.Object, "metadata", "annotations"), "annotation "+issuers.ServingCert, issuers.ServingCert, secret)
}

// secretOf returns the Secret for the certificate of a Service, or the problem that prevents it from finding one. Only Secrets that the Service's pods mount
// count, even if a Certificate names another one. must means that a webhook or a conversion calls the Service: then secretOf also guesses.
func (d *Draft) secretOf(service Document, must bool) (secret, problem string) {
	mounted := d.mountedBehind(service)
	var named, made []string
	for _, doc := range d.Documents {
		if !doc.is(certManager, "Certificate") {
			continue
		}
		spec := at(doc.Object, "spec")
		if secret := text(spec, "secretName"); mounted[secret] != "" {
			made = append(made, secret)
			if slices.ContainsFunc(texts(spec, "dnsNames"), func(name string) bool { return hostOf(name, service.Name()) }) {
				named = append(named, secret)
			}
		}
	}
	var usual []string
	for secret, path := range mounted {
		if strings.Contains(path, usualSecretPath) {
			usual = append(usual, secret)
		}
	}
	guesses := [][]string{named}
	if must {
		guesses = append(guesses, made, usual)
	}
	for _, guess := range guesses {
		slices.Sort(guess)
		guess = slices.Compact(guess)
		if len(guess) == 1 {
			return guess[0], ""
		}
		if len(guess) > 1 {
			return "", "the pods of this Service mount several Secrets with certificates: " +
				"" + strings.Join(guess, ", ") + ": set the annotation " + issuers.ServingCert + " on the Service"
		}
	}
	return "", "no pod of this Service mounts a Secret with a certificate: check the Service's selector and the volumes of the workload"
}

// hostOf reports whether a DNS name is that of a Service. It compares only the first label, because the rest may be variables of kustomize.
func hostOf(name, service string) bool {
	host, _, _ := strings.Cut(name, ".")
	return host == service
}

// mountedBehind returns the Secrets that the pods of a Service mount, and the path of each.
func (d *Draft) mountedBehind(service Document) map[string]string {
	out := map[string]string{}
	for _, p := range d.pods() {
		if selects(at(service.Object, "spec", "selector"), p.labels()) {
			maps.Copy(out, p.mountedSecrets())
		}
	}
	return out
}

func (p pod) mountedSecrets() map[string]string {
	paths := map[string]string{}
	for _, c := range p.containers() {
		for _, mount := range objects(c.object, "volumeMounts") {
			paths[text(mount, "name")] = text(mount, "mountPath")
		}
	}
	out := map[string]string{}
	for _, volume := range objects(p.spec, "volumes") {
		path, mounted := paths[text(volume, "name")]
		if !mounted {
			continue
		}
		if secret := text(at(volume, "secret"), "secretName"); secret != "" {
			out[secret] = path
		}
		for _, source := range objects(at(volume, "projected"), "sources") {
			if secret := text(at(source, "secret"), "name"); secret != "" {
				out[secret] = path
			}
		}
	}
	return out
}

// unissued refuses a workload that mounts the Secret of a Certificate if the service CA does not issue that Secret for any Service.
func (d *Draft) unissued() {
	for _, doc := range d.Documents {
		secret := text(at(doc.Object, "spec"), "secretName")
		if !doc.is(certManager, "Certificate") || d.issued[secret] {
			continue
		}
		for _, p := range d.pods() {
			if p.mountedSecrets()[secret] != "" {
				d.refuse(p.Document, "these pods mount Secret %s, which only cert-manager writes, and OpenShift has no cert-manager. Add a Service "+
					"for which the service CA writes the Secret, or remove the volume", secret)
			}
		}
	}
}

// CABundles makes OpenShift's service CA write its CA into webhook configurations and conversions. It removes cert-manager's annotations from all objects, and
// the CA bundles that the manifests contain. A definition keeps its conversion.
func CABundles(d *Draft) {
	for _, doc := range d.Documents {
		annotations := at(doc.Object, "metadata", "annotations")
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if strings.HasPrefix(key, certManager+"/inject-") {
				delete(annotations, key)
				d.changed(doc, "annotation %s removed", key)
			}
		}
		if annotations != nil && len(annotations) == 0 {
			delete(at(doc.Object, "metadata"), "annotations")
		}
		d.trust(doc)
	}
}

func (d *Draft) trust(doc Document) {
	clients := []map[string]any{conversion(doc)}
	for _, webhook := range webhooks(doc) {
		clients = append(clients, at(webhook, "clientConfig"))
	}
	var services, urls int
	for _, client := range clients {
		switch {
		case at(client, "service") != nil:
			services++
			if _, has := client["caBundle"]; has {
				delete(client, "caBundle")
				d.changed(doc, "caBundle removed")
			}
		case text(client, "url") != "":
			urls++
		}
	}
	switch {
	case services > 0 && urls > 0:
		d.refuse(doc, "some of these webhooks call a URL and some a Service, but the service CA writes its CA into all webhooks of a configuration: "+
			"use two configurations")
	case services > 0:
		d.set(doc, ensure(doc.Object, "metadata", "annotations"), "annotation "+issuers.InjectCABundle, issuers.InjectCABundle, "true")
	}
}
