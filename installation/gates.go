// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/internal/issuers"
)

// Facts are what gates check in addition to the objects of the stage.
type Facts struct {
	// Live returns an object as the API server has it, nil for none.
	Live func(Key) *unstructured.Unstructured
	// Certificates are the Secrets that have a certificate and its key, by the name of the Secret.
	Certificates map[string]Certificate
	// Endpoints has the number of ready endpoints by the name of the Service.
	Endpoints map[string]int
	// Serves reports whether discovery lists a resource, such as machines, in a group and version.
	Serves func(schema.GroupVersionResource) bool
}

// Stages lists the stages in order.
func Stages() []bundle.Stage {
	var out []bundle.Stage
	for s := bundle.Prerequisites; s <= bundle.Rest; s++ {
		out = append(out, s)
	}
	return out
}

// WaitsForCore reports whether the other providers begin a stage only after the core provider has passed it. This holds for stages whose CRDs and webhooks
// build on those of the core provider.
func WaitsForCore(stage bundle.Stage) bool {
	return stage == bundle.Definitions || stage == bundle.Serving || stage == bundle.Webhooks
}

// NameOf returns the name of a stage for people.
func NameOf(stage bundle.Stage) string {
	names := map[bundle.Stage]string{
		bundle.Prerequisites: "prerequisites", bundle.Definitions: "definitions", bundle.Accounts: "accounts", bundle.Roles: "roles", bundle.Services: "services",
		bundle.Policies: "policies", bundle.Workloads: "workloads", bundle.Serving: "serving", bundle.Webhooks: "webhooks", bundle.Rest: "resources",
	}
	return names[stage]
}

// Waits returns what a stage of a provider waits for after everything in it was applied, as a sentence without a full stop. It returns "" if the next stage may
// begin.
func Waits(p Provider, stage bundle.Stage, f Facts) string {
	if stage == bundle.Serving {
		return waitsForServers(p, f)
	}
	for _, o := range p.In(stage) {
		live := f.Live(o.Key())
		if live == nil {
			return fmt.Sprintf("%s is not there", o.Key())
		}
		if live.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("%s is being deleted", o.Key())
		}
		if why := waitsFor(o, live, f); why != "" {
			return fmt.Sprintf("%s: %s", o.Key(), why)
		}
	}
	return ""
}

// waitsFor returns what a stage waits for because of one object; "" for nothing. Admission policies have no gate, because a controller that no installation
// depends on writes their status.
func waitsFor(o Object, live *unstructured.Unstructured, f Facts) string {
	switch o.Stage {
	case bundle.Definitions:
		return definitionWaits(live, f)
	case bundle.Services:
		return certificateWaits(o.GetAnnotations()[issuers.ServingCert], live, f)
	case bundle.Workloads:
		return rolloutWaits(live)
	case bundle.Webhooks:
		return caBundleWaits(live)
	}
	return ""
}

// Certificate says who wrote the certificate of a Secret, as far as the Secret shows it.
type Certificate struct {
	// CertManager is the name of cert-manager's Certificate, "" if cert-manager did not write the Secret.
	CertManager string
	// Service and ServiceUID identify the Service for which the service CA wrote the Secret. They are "" if the service CA did not write it.
	Service    string
	ServiceUID types.UID
}

// CertificateOf returns who wrote a Secret with a certificate, as the Secret's annotations show.
func CertificateOf(annotations map[string]string) Certificate {
	return Certificate{
		CertManager: annotations[issuers.CertificateName],
		Service:     cmp.Or(annotations[serviceCA+"originating-service-name"], annotations[formerServiceCA+"originating-service-name"]),
		ServiceUID:  types.UID(cmp.Or(annotations[serviceCA+"originating-service-uid"], annotations[formerServiceCA+"originating-service-uid"])),
	}
}

// The prefixes of the service CA's annotations. Earlier releases of OpenShift use the second prefix.
const (
	serviceCA       = "service.beta.openshift.io/"
	formerServiceCA = "service.alpha.openshift.io/"
	generationError = "serving-cert-generation-error"
)

// certificateWaits returns why the Secret does not hold the certificate that the service CA wrote for this Service; "" if it does. With any other certificate,
// the CA that the service CA injects verifies nothing, and a webhook that fails closed would refuse everything. The service CA marks each Secret that it
// writes. It does not overwrite a Secret of another writer, but writes the reason to the Service.
func certificateWaits(secret string, service *unstructured.Unstructured, f Facts) string {
	found, there := f.Certificates[secret]
	reason := cmp.Or(service.GetAnnotations()[serviceCA+generationError], service.GetAnnotations()[formerServiceCA+generationError])
	const remedy = "Delete the Secret: the service CA then creates it again. docs/providers.md has the order of the steps"
	switch {
	case secret == "" || there && found.Service == service.GetName() && found.ServiceUID == service.GetUID():
		return ""
	case there && found.CertManager != "":
		return fmt.Sprintf("Secret %s has the certificate of cert-manager's Certificate %s, and the service CA does not overwrite the Secret. Delete "+
			"the Certificate "+
			"first. %s",
			secret, found.CertManager, remedy)
	case there && found.Service != "" && found.Service != service.GetName():
		return fmt.Sprintf("Secret %s has the certificate of another Service, %s. %s", secret, found.Service, remedy)
	case there && found.Service != "":
		return fmt.Sprintf("Secret %s has the certificate of a deleted Service of the same name. %s", secret, remedy)
	case reason != "":
		return fmt.Sprintf("the service CA does not write the certificate into Secret %s: %s. "+
			"Delete the Secret if it exists, and remove the annotations %s%s and %s%s-num from the Service",
			secret, strings.TrimSuffix(reason, "."), serviceCA, generationError, serviceCA, generationError)
	case !there:
		return fmt.Sprintf("the service CA has not written the certificate into Secret %s", secret)
	}
	return fmt.Sprintf("Secret %s does not show who wrote it, and the service CA does not overwrite the Secret. %s", secret, remedy)
}

func definitionWaits(live *unstructured.Unstructured, f Facts) string {
	for _, condition := range []string{"NamesAccepted", "Established"} {
		if status, message := conditionOf(live, condition); status != "True" {
			return strings.TrimSuffix(fmt.Sprintf("%s is not True: %s", condition, message), ": ")
		}
	}
	spec := at(live.Object, "spec")
	for _, version := range items(spec, "versions") {
		if served, _ := version["served"].(bool); !served {
			continue
		}
		resource := schema.GroupVersionResource{Group: text(spec, "group"), Version: text(version, "name"), Resource: text(at(spec, "names"), "plural")}
		if !f.Serves(resource) {
			return fmt.Sprintf("the API server does not serve version %s yet", resource.Version)
		}
	}
	return ""
}

func conditionOf(o *unstructured.Unstructured, kind string) (status, message string) {
	for _, c := range items(at(o.Object, "status"), "conditions") {
		if text(c, "type") == kind {
			return text(c, "status"), text(c, "message")
		}
	}
	return "", ""
}

// rolloutWaits returns why the rollout of a workload is not complete; "" if it is. All pods must have the newest content, and no older pod may run: an older
// pod does not serve the versions that the next stages use.
func rolloutWaits(live *unstructured.Unstructured) string {
	spec, status := at(live.Object, "spec"), at(live.Object, "status")
	if number(status, "observedGeneration") < live.GetGeneration() {
		return "its controller has not processed the latest change"
	}
	if live.GetKind() == "DaemonSet" {
		return counted(number(status, "desiredNumberScheduled"), number(status, "updatedNumberScheduled"), number(status, "currentNumberScheduled"),
			number(status, "numberAvailable"))
	}
	want := int64(1)
	if _, set := spec["replicas"]; set {
		want = number(spec, "replicas")
	}
	if live.GetKind() != "Deployment" && live.GetKind() != "StatefulSet" {
		return counted(want, want, want, number(status, "availableReplicas"))
	}
	why := counted(want, number(status, "updatedReplicas"), number(status, "replicas"), number(status, "availableReplicas"))
	if available, message := conditionOf(live, "Available"); why == "" && live.GetKind() == "Deployment" && want > 0 && available != "True" {
		why = strings.TrimSuffix("its condition Available is not True: "+message, ": ")
	}
	if progressing, message := conditionOf(live, "Progressing"); why != "" && progressing == "False" {
		why += ": " + message
	}
	return why
}

// Unavailable returns why a workload does not serve, "" if it does. A workload whose pods are being replaced still serves.
func Unavailable(live *unstructured.Unstructured) string {
	spec, status := at(live.Object, "spec"), at(live.Object, "status")
	want, available := int64(1), number(status, "availableReplicas")
	if _, set := spec["replicas"]; set {
		want = number(spec, "replicas")
	}
	if live.GetKind() == "DaemonSet" {
		want, available = number(status, "desiredNumberScheduled"), number(status, "numberAvailable")
	}
	if want == 0 || available > 0 {
		return ""
	}
	_, message := conditionOf(live, "Available")
	return strings.TrimSuffix("no pod is available: "+message, ": ")
}

func counted(want, updated, all, available int64) string {
	switch {
	case updated < want:
		return fmt.Sprintf("%d of %d pods have been updated", updated, want)
	case all > updated:
		return fmt.Sprintf("%d pods of an older version still run", all-updated)
	case want > 0 && available < 1:
		return "no pod is available"
	}
	return ""
}

// caBundleWaits returns why a webhook configuration or CRD is not ready to be called; "" if it is. Every place that the service CA writes to must have a CA,
// and no webhook may still be held (Held), because the service CA may write while an object is being applied.
func caBundleWaits(live *unstructured.Unstructured) string {
	if !injected(live) {
		return ""
	}
	for _, client := range clientConfigs(live) {
		if text(client, "caBundle") == "" {
			return "the service CA has not written its caBundle yet"
		}
	}
	for _, hook := range items(live.Object, "webhooks") {
		if slices.ContainsFunc(items(hook, "matchConditions"), func(c map[string]any) bool { return text(c, "name") == unreachable }) {
			return fmt.Sprintf("webhook %s has its CA now; the installer will let the API server call it", text(hook, "name"))
		}
	}
	return ""
}

// waitsForServers returns what the stage Serving waits for; "" for nothing. Each Service that a webhook or a conversion calls must have a ready endpoint, and
// each CRD must have its CA.
func waitsForServers(p Provider, f Facts) string {
	for _, service := range p.Called() {
		if f.Endpoints[service] < 1 {
			return fmt.Sprintf("Service/%s has no ready endpoint", service)
		}
	}
	for _, o := range p.In(bundle.Definitions) {
		if live := f.Live(o.Key()); live != nil {
			if why := caBundleWaits(live); why != "" {
				return fmt.Sprintf("%s: %s", o.Key(), why)
			}
		}
	}
	return ""
}

// Called returns the names of the Services that the webhooks and conversions of a provider call.
func (p Provider) Called() []string {
	var out []string
	for _, o := range p.Objects {
		for _, client := range clientConfigs(o.Unstructured) {
			if service := text(at(client, "service"), "name"); service != "" && !slices.Contains(out, service) {
				out = append(out, service)
			}
		}
	}
	slices.Sort(out)
	return out
}

// unreachable is the name of a match condition that is never true, so that a webhook with this condition is never called.
const unreachable = "poundlock-waits-for-ca-bundle"

// Held returns a webhook configuration in which every webhook without a CA has the match condition unreachable, so that it is not called. Otherwise the API
// server could not verify the server of such a webhook, and a webhook that fails closed would refuse every request until the service CA has written the CA.
// Other objects are returned unchanged.
func Held(o, live *unstructured.Unstructured) *unstructured.Unstructured {
	if !isWebhooks(o) || !injected(o) {
		return o
	}
	ready := map[string]bool{}
	if live != nil {
		for _, hook := range items(live.Object, "webhooks") {
			ready[text(hook, "name")] = text(at(hook, "clientConfig"), "caBundle") != ""
		}
	}
	out := o.DeepCopy()
	for _, hook := range items(out.Object, "webhooks") {
		if !ready[text(hook, "name")] {
			conditions, _ := hook["matchConditions"].([]any)
			hook["matchConditions"] = append(conditions, map[string]any{"name": unreachable, "expression": "false"})
		}
	}
	return out
}

// Routed returns the Service o with the selector and ports of the live Service, or nil if o has the same ones. New content may have new labels for its pods:
// until these pods are ready, the webhooks in force need the old pods.
func Routed(o, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil || o.GroupVersionKind() != (schema.GroupVersionKind{Version: "v1", Kind: "Service"}) {
		return nil
	}
	out := o.DeepCopy()
	to, from := at(out.Object, "spec"), at(live.DeepCopy().Object, "spec")
	if to == nil || from["selector"] == nil || comparison.Has(to["selector"], from["selector"]) && comparison.Has(to["ports"], from["ports"]) {
		return nil
	}
	to["selector"], to["ports"] = from["selector"], from["ports"]
	return out
}

// Vanishing returns the positions of the entries of a live webhook configuration that the new content lacks, the last one first. These entries are removed
// before the new server runs, because that server may not serve their paths. o is nil if the whole configuration is removed.
func Vanishing(o, live *unstructured.Unstructured) []int {
	if live == nil || !isWebhooks(live) {
		return nil
	}
	wanted := hooksByName(o)
	var out []int
	for i, hook := range items(live.Object, "webhooks") {
		if wanted[text(hook, "name")] == nil {
			out = append(out, i)
		}
	}
	slices.Reverse(out)
	return out
}

// Moving returns the positions of the entries of a live webhook configuration that fail closed and that call another place in the new content, such as another
// path. While the servers are replaced, an old and a new one run, and neither answers at both places. During that time such an entry must not refuse a request
// that reached the wrong server.
func Moving(o, live *unstructured.Unstructured) []int {
	if live == nil || !isWebhooks(live) {
		return nil
	}
	wanted := hooksByName(o)
	var out []int
	for i, hook := range items(live.Object, "webhooks") {
		want := wanted[text(hook, "name")]
		if want != nil && text(hook, "failurePolicy") != "Ignore" && !samePlace(at(want, "clientConfig"), at(hook, "clientConfig")) {
			out = append(out, i)
		}
	}
	return out
}

func hooksByName(o *unstructured.Unstructured) map[string]map[string]any {
	out := map[string]map[string]any{}
	if o != nil {
		for _, hook := range items(o.Object, "webhooks") {
			out[text(hook, "name")] = hook
		}
	}
	return out
}

// samePlace reports whether two clientConfigs call the same server in the same way. Either may leave out what the API server sets by default.
func samePlace(a, b map[string]any) bool {
	place := func(client map[string]any) string {
		service, port := at(client, "service"), number(at(client, "service"), "port")
		if service != nil && port == 0 {
			port = 443
		}
		return fmt.Sprint(text(client, "url"), " ", text(service, "namespace"), "/", text(service, "name"), ":", port, " ", text(service, "path"))
	}
	return place(a) == place(b)
}
