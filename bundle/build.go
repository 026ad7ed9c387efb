// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Options are the parameters of Build.
type Options struct {
	Provider Provider
	// Metadata is the provider's metadata.yaml.
	Metadata []byte
	// Images has the key of each container's image in the release's list of images. It names a container by CONTAINER, by WORKLOAD/CONTAINER, or by the image
	// that the manifests give the container, with or without its tag.
	Images map[string]string
	// Annotations are written to the ConfigMaps, such as the release's profiles and feature set.
	Annotations map[string]string
	// Release is the name of the release, which the ConfigMaps get as ReleaseAnnotation; "" leaves the annotation out.
	Release string
	// Exclude names objects to leave out, together with the objects that depend on them. The form is KIND/NAME; a * in the name matches any text.
	Exclude []string
	// FeatureGates are the feature gates to set in the managers' arguments.
	FeatureGates map[string]bool
}

// Bundle is what a release contains of a provider.
type Bundle struct {
	Provider    Provider
	Contract    string
	Metadata    []byte
	Annotations map[string]string
	// Release does not count as content, and the hash does not cover it. So equal content of two releases is installed only once.
	Release string
	// Documents are in the order in which an installer applies them.
	Documents []Document
	Images    []Image
	Variables []Variable
}

// Transformation is one change that Build makes to the manifests.
type Transformation struct {
	Name string
	// Why is the reason, for the summary.
	Why   string
	Apply func(*Draft)
}

// Transformations are applied in this order. A transformation that reads certificates or namespaces comes before the one that drops them.
var Transformations = []Transformation{
	{"exclusions", "the provider's maintainer excluded it", Exclusions},
	{"refused-kinds", "the installer does not apply objects of this kind", RefusedKinds},
	{"server-fields", "only the API server writes status and these fields of metadata", ServerFields},
	{"templated-keys", "variables are evaluated in values, not in keys, and the API server refuses a key with a variable", TemplatedKeys},
	{"serving-certificates", "OpenShift's service CA writes the certificate into the Secret that the pod mounts", ServingCertificates},
	{"ca-bundles", "OpenShift's service CA writes its CA certificate into webhook configurations and CRD conversions", CABundles},
	{"dropped-kinds", "the release or OpenShift provides this object", DroppedKinds},
	{"namespaces", "all providers of Cluster API run in one namespace", Namespaces},
	{"unmoved-namespaces", "this command cannot tell which words in an expression or a URL are the namespace: the manifests' author must change " +
		"them", UnmovedNamespaces},
	{"labels", "each object carries its provider's label, so that no selector matches another provider's pods", Labels},
	{"priority", "a cluster without these pods cannot replace its machines", Priority},
	{"requests", "OpenShift requires each pod of the platform to request CPU and memory", Requests},
	{"no-limits", "OpenShift does not allow resource limits on pods of the platform", NoLimits},
	{"termination-messages", "the Pod's status then shows the last log lines of a container that stopped", TerminationMessages},
	{"pull-policy", "the image is named by its digest, so a node needs to pull it only once", PullPolicy},
	{"management-workload", "OpenShift's workload partitioning keeps pods with this annotation on the reserved cores", ManagementWorkload},
	{"required-scc", "without this annotation, an SCC with a higher priority could change the pod", RequiredSCC},
	{"feature-gates", "the release sets the feature gates, not the provider's manifests", FeatureGates},
	{"images", "the release supplies each image by its key", Images},
	{"cluster-protection", "without its infrastructure cluster object, the cluster's own machines would be deleted or no longer managed", ClusterProtection},
	{"contract-labels", "the core provider reads from this label which version of a provider's CRD to use", ContractLabels},
	{"needed-secrets", "a pod does not start while a Secret that it needs is missing", NeededSecrets},
}

// Draft is a bundle while Build makes it. The transformations change its documents, and record each change.
type Draft struct {
	Options
	Documents []Document
	// Keys are the images that the transformation Images has found.
	Keys []Image

	// own are the namespaces for which the provider's manifests are written (ownNamespaces).
	own      []string
	running  Transformation
	entries  []Entry
	problems []error
	// issued are the Secrets that OpenShift's service CA creates.
	issued map[string]bool
}

// Build makes a bundle of manifests that kustomize has rendered. The error names everything that is wrong.
func Build(manifests []byte, o Options) (Bundle, Summary, error) {
	var err error
	if o.Provider, err = o.Provider.Complete(); err != nil {
		return Bundle{}, Summary{}, err
	}
	contract, err := Contract(o.Metadata, o.Provider.Version)
	if err != nil {
		return Bundle{}, Summary{}, err
	}
	all, err := Decode(manifests)
	if err != nil {
		return Bundle{}, Summary{}, err
	}
	if len(all) == 0 {
		return Bundle{}, Summary{}, errors.New("the kustomization renders no objects: check the resources in its kustomization.yaml")
	}
	d := newDraft(all, o)
	for _, t := range Transformations {
		d.apply(t)
	}
	return d.bundle(contract)
}

func newDraft(all []Document, o Options) *Draft {
	return &Draft{Options: o, Documents: all, own: ownNamespaces(all), issued: map[string]bool{}}
}

// ownNamespaces returns the namespaces that the manifests create or, if they create none, those of their workloads. It leaves out namespaces that a cluster has
// anyway, such as default and openshift-*.
func ownNamespaces(all []Document) []string {
	var created, used []string
	for _, doc := range all {
		switch {
		case doc.is("", "Namespace"):
			created = append(created, doc.Name())
		case doc.IsWorkload() && doc.Namespace() != "":
			used = append(used, doc.Namespace())
		}
	}
	if len(created) == 0 {
		created = used
	}
	created = slices.DeleteFunc(created, func(name string) bool {
		return name == "default" || name == Namespace || strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "openshift")
	})
	slices.Sort(created)
	return slices.Compact(created)
}

func (d *Draft) apply(t Transformation) {
	d.running = t
	t.Apply(d)
}

func (d *Draft) bundle(contract string) (Bundle, Summary, error) {
	if len(d.problems) == 0 {
		d.problems = Check(d.Documents, Namespace)
	}
	variables, err := Variables(d.Documents)
	if err != nil {
		d.problems = append(d.problems, err)
	}
	Sort(d.Documents)
	b := Bundle{
		Provider: d.Provider, Contract: contract, Metadata: d.Metadata, Annotations: d.Annotations, Release: d.Release, Documents: d.Documents,
		Images: d.Keys, Variables: variables,
	}
	return b, summarize(b, d.entries), errors.Join(d.problems...)
}

func (d *Draft) record(action Action, doc Document, what string) {
	entry := Entry{Action: action, Transformation: d.running.Name, Object: doc.ID(), What: what}
	if !slices.Contains(d.entries, entry) {
		d.entries = append(d.entries, entry)
	}
}

func (d *Draft) changed(doc Document, format string, args ...any) {
	d.record(Changed, doc, fmt.Sprintf(format, args...))
}

func (d *Draft) note(doc Document, format string, args ...any) {
	d.record(Noted, doc, fmt.Sprintf(format, args...))
}

func (d *Draft) refuse(doc Document, format string, args ...any) {
	d.problems = append(d.problems, fmt.Errorf("%s: %s", doc.ID(), fmt.Sprintf(format, args...)))
}

// set sets the member key of o, and records the change in the summary if the member had another value. field names the member for a person.
func (d *Draft) set(doc Document, o map[string]any, field, key string, value any) {
	if before, ok := o[key]; ok && before == value {
		return
	}
	o[key] = value
	d.changed(doc, "%s is %v", field, value)
}

// pod is the pod template of a workload.
type pod struct {
	Document
	template, spec map[string]any
}

var workloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"}

// IsWorkload reports whether a document has a pod template.
func (d Document) IsWorkload() bool {
	return slices.Contains(workloadKinds, d.Kind()) && (d.Group() == "apps" || d.Group() == "")
}

func (d *Draft) pods() []pod {
	var out []pod
	for _, doc := range d.Documents {
		if doc.IsWorkload() {
			template := ensure(doc.Object, "spec", "template")
			out = append(out, pod{doc, template, ensure(template, "spec")})
		}
	}
	return out
}

// container is a container of a pod. init means that it is one of initContainers.
type container struct {
	pod
	object map[string]any
	init   bool
}

func (c container) name() string { return text(c.object, "name") }

// field returns the path of a container's field for a person: containers[NAME].FIELD.
func (c container) field(name string) string {
	list := "containers"
	if c.init {
		list = "initContainers"
	}
	return fmt.Sprintf("%s[%s].%s", list, c.name(), name)
}

func (p pod) containers() []container {
	var out []container
	for _, o := range objects(p.spec, "initContainers") {
		out = append(out, container{p, o, true})
	}
	for _, o := range objects(p.spec, "containers") {
		out = append(out, container{p, o, false})
	}
	return out
}

func (p pod) labels() map[string]any { return at(p.template, "metadata", "labels") }

func (d *Draft) containers() []container {
	var out []container
	for _, p := range d.pods() {
		out = append(out, p.containers()...)
	}
	return out
}

// webhooks returns the webhooks of a webhook configuration; nil for any other document.
func webhooks(doc Document) []map[string]any {
	if doc.is(admissionGroup, "MutatingWebhookConfiguration") || doc.is(admissionGroup, "ValidatingWebhookConfiguration") {
		return objects(doc.Object, "webhooks")
	}
	return nil
}

// conversion returns the clientConfig of the conversion webhook of a CustomResourceDefinition; nil if the document has none.
func conversion(doc Document) map[string]any {
	if c := at(doc.Object, "spec", "conversion"); doc.isDefinition() && text(c, "strategy") == "Webhook" {
		return at(c, "webhook", "clientConfig")
	}
	return nil
}

func splitOnce(s string) (string, string) {
	before, after, _ := strings.Cut(s, "/")
	return before, after
}
