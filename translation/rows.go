// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// Document is a form that a body may have. EndpointOf finds it from the path of a request.
type Document uint8

// The documents. A body of each of them, except for the last five, may also be a list, a Table, a watch frame or a Status.
const (
	// Objects are objects of a group that is not translated. Only their metadata names groups.
	Objects Document = iota
	// ClusterAPI are objects of a translated group. Their references name groups, too, at any depth.
	ClusterAPI
	// Definitions are CustomResourceDefinitions. The platform's own definitions of standard groups are hidden from the client.
	Definitions
	// Events refer to the objects that they are about.
	Events
	// AccessReviews ask what somebody may do.
	AccessReviews
	// Discovery is the answer to `/apis`, and to the paths one and two segments below it, in the old form and in the aggregated form.
	Discovery
	// Roots is the answer to `/`: the list of paths that the API server serves.
	Roots
	// OpenAPI is the index of OpenAPI version 3, each of its documents, and the document of version 2.
	OpenAPI
	// ConversionReviews carry objects to a conversion webhook and back.
	ConversionReviews
	// AdmissionReviews carry an object to an admission webhook.
	AdmissionReviews

	documents
)

// Row names a position in a document at which a group's name is translated.
type Row struct {
	In Document
	// At is the position's path: members by their names, [] for each element, {} for each member, ** for any depth. {key} means the names of the members
	// themselves.
	At string
	// Is is the form of the value at that position.
	Is Value
	// Kind is the kind of the objects that have this position, if only one kind has it. The kind must be the object's first member. It is the first in objects
	// of the API server's own kinds that the API server sends. So a row with a Kind counts only on the way to a client.
	Kind string
	// Hide means that an element (or frame) is left out on the way to a client if this position has a standard group. The element is then the platform's.
	Hide bool
	// Why is a sentence for the documentation.
	Why string
}

// Rows has all positions that are translated. Nothing else is translated.
var Rows = []Row{
	{In: Objects, At: "apiVersion", Is: APIVersion, Why: "The API server refuses a body whose group is not the path's."},
	{In: Objects, At: "metadata.ownerReferences[].apiVersion", Is: Reference,
		Why: "The garbage collector deletes the dependents of an owner that does not exist."},
	{In: Objects, At: "metadata.managedFields[].apiVersion", Is: APIVersion,
		Why: "The API server discards all managed fields if one entry has a version that it does not know."},
	{In: Objects, At: "details.group", Is: Group, Kind: "Status", Why: "Clients compare it."},
	{In: Objects, At: "message", Is: Prose, Kind: "Status", Why: "People read it."},
	{In: Objects, At: "details.causes[].message", Is: Prose, Kind: "Status", Why: "People read it."},

	{In: ClusterAPI, At: "spec.**.apiVersion", Is: APIVersion,
		Why: "References of the contracts up to v1beta1: infrastructureRef, bootstrap.configRef, templates."},
	{In: ClusterAPI, At: "spec.**.apiGroup", Is: Group, Why: "References of the contract v1beta2."},
	{In: ClusterAPI, At: "status.**.apiVersion", Is: APIVersion, Why: "References in status."},
	{In: ClusterAPI, At: "status.**.apiGroup", Is: Group, Why: "References in status."},

	{In: Definitions, At: "metadata.name", Is: DefinitionName, Hide: true,
		Why: "Cluster API reads the labels of contracts from the definition by its standard name."},
	{In: Definitions, At: "spec.group", Is: Group, Why: "It belongs to the name."},
	{In: Definitions, At: "details.name", Is: DefinitionName, Kind: "Status", Why: "The name of a definition that was not found, or was deleted."},

	{In: Events, At: "involvedObject.apiVersion", Is: Reference, Why: "`kubectl events --for` compares it."},
	{In: Events, At: "regarding.apiVersion", Is: Reference, Why: "`kubectl events --for` compares it."},
	{In: Events, At: "related.apiVersion", Is: Reference, Why: "`kubectl events --for` compares it."},

	{In: AccessReviews, At: "spec.resourceAttributes.group", Is: Group, Why: "`kubectl auth can-i` asks about the group that the store has."},
	{In: AccessReviews, At: "status.resourceRules[].apiGroups[]", Is: Group, Why: "`kubectl auth can-i --list` shows them."},

	{In: Discovery, At: "groups[].name", Is: Group, Hide: true, Why: "The list of groups."},
	{In: Discovery, At: "groups[].versions[].groupVersion", Is: APIVersion, Why: "The list of groups."},
	{In: Discovery, At: "groups[].preferredVersion.groupVersion", Is: APIVersion, Why: "The list of groups."},
	{In: Discovery, At: "name", Is: Group, Why: "One group."},
	{In: Discovery, At: "versions[].groupVersion", Is: APIVersion, Why: "One group."},
	{In: Discovery, At: "preferredVersion.groupVersion", Is: APIVersion, Why: "One group."},
	{In: Discovery, At: "groupVersion", Is: APIVersion, Why: "The resources of one version."},
	{In: Discovery, At: "resources[].group", Is: Group, Why: "The resources of one version. Scale stays autoscaling."},
	{In: Discovery, At: "items[].metadata.name", Is: Group, Hide: true, Why: "Aggregated discovery."},
	{In: Discovery, At: "items[].versions[].resources[].responseKind.group", Is: Group, Why: "Aggregated discovery."},
	{In: Discovery, At: "items[].versions[].resources[].subresources[].responseKind.group", Is: Group, Why: "Aggregated discovery."},

	{In: Roots, At: "paths[]", Is: Path, Hide: true, Why: "The list of paths at the root."},

	{In: OpenAPI, At: "paths{key}", Is: Path, Hide: true, Why: "The index, and the paths of a document."},
	{In: OpenAPI, At: "paths{}.serverRelativeURL", Is: Path, Why: "Where the index leads."},
	{In: OpenAPI, At: "definitions{key}", Is: SchemaName, Hide: true, Why: "The schemas of all groups in version 2: two of a name are no JSON."},
	{In: OpenAPI, At: "components.schemas{key}", Is: SchemaName, Why: "The name of a schema begins with its group in reverse."},
	{In: OpenAPI, At: "**.$ref", Is: SchemaReference, Why: "It names a schema."},
	{In: OpenAPI, At: "**.x-kubernetes-group-version-kind.group", Is: Group, Why: "The kind of an operation."},
	{In: OpenAPI, At: "**.x-kubernetes-group-version-kind[].group", Is: Group, Why: "The kinds of a schema."},

	{In: ConversionReviews, At: "request.desiredAPIVersion", Is: APIVersion, Why: "What a converter is asked for."},
	{In: ConversionReviews, At: "response.result.message", Is: Prose, Why: "People read it."},

	{In: AdmissionReviews, At: "request.kind.group", Is: Group, Why: "What is written."},
	{In: AdmissionReviews, At: "request.resource.group", Is: Group, Why: "What is written."},
	{In: AdmissionReviews, At: "request.requestKind.group", Is: Group, Why: "What is written."},
	{In: AdmissionReviews, At: "request.requestResource.group", Is: Group, Why: "What is written."},
	{In: AdmissionReviews, At: "request.options.apiVersion", Is: APIVersion, Why: "How it is written."},
	{In: AdmissionReviews, At: "response.status.message", Is: Prose, Why: "People read it."},
	{In: AdmissionReviews, At: "response.status.details.group", Is: Group, Why: "Clients compare it."},
	{In: AdmissionReviews, At: "response.status.details.causes[].message", Is: Prose, Why: "People read it."},
}

// Untouched names a position whose text looks like a group's name, or contains one, and is not translated.
type Untouched struct {
	In  Document
	At  string
	Why string
}

// Never lists the Untouched places. Nothing beneath such a place is translated either, even if Rows has a row for any depth.
var Never = []Untouched{
	{Objects, "metadata.labels", "Keys and values of labels are the same for clients and in the store."},
	{Objects, "metadata.annotations", "So are those of annotations, `cluster.x-k8s.io/cloned-from-groupkind` and JSON in text included."},
	{Objects, "metadata.finalizers", "A finalizer is a name, and not a group."},
	{Objects, "metadata.managedFields[].fieldsV1", "The keys are fields' names, among them labels' and annotations'."},
	{Objects, "type", "`cluster.x-k8s.io/secret` is a type of Secret."},
	{Objects, "data", "What ConfigMaps and Secrets carry is their user's."},
	{Objects, "rules", "RBAC names both groups: a translated Role would lose rights that it had."},
	{Objects, "roleRef", "A Role is in the group of RBAC."},
	{Objects, "webhooks", "Configurations of webhooks name the groups that they are asked about."},
	{Objects, "spec.group", "So do APIServices."},
	{Objects, "spec.hard", "A quota counts by resource and group."},
	{Objects, "spec.scaleTargetRef", "An autoscaler acts outside of the proxy, on what it names."},
	{Objects, "spec.taints", "A taint's key is a name."},
	{Objects, "rows[].cells", "What kubectl prints of a Table."},
	{ClusterAPI, "spec.**.labels", "Labels of templates are users' data, even one named apiVersion."},
	{ClusterAPI, "spec.**.annotations", "So are annotations of templates."},
	{ClusterAPI, "spec.**.matchLabels", "A selector has labels."},
	{ClusterAPI, "status.**.labels", "The same in status."},
	{ClusterAPI, "status.**.annotations", "The same in status."},
	{ClusterAPI, "status.**.matchLabels", "The same in status."},
	{Definitions, "spec.conversion", "The converter has the name that the installer gave it."},
	{Definitions, "spec.versions", "A schema has no group's name that anybody looks for."},
	{Definitions, "status", "Sentences of the API server's about the definition."},
	{Events, "message", "What a controller wrote."},
	{AdmissionReviews, "response.patch", "A patch in base64 is text."},
}

// part is a position within a document at which an object of another Document begins.
type part struct {
	prefix string
	rows   Document
	kind   string // of the object that has this position, or ""
	list   bool   // only an answer to a list request has this position: an object may have a member of that name
}

// anyBody returns the parts of a body that may be an object, a list or a Table.
func anyBody(rows Document) []part {
	return []part{{rows: rows}, {prefix: "items[]", rows: rows, list: true}, {prefix: "rows[].object", rows: rows, kind: "Table"}}
}

// parts returns which rows hold at which positions of a document. All documents of objects have the rows of Objects, too.
func (doc Document) parts() []part {
	switch doc {
	case Objects:
		return anyBody(Objects)
	case ClusterAPI, Definitions, Events, AccessReviews:
		return append(anyBody(Objects), anyBody(doc)...)
	case ConversionReviews:
		return []part{
			{rows: doc},
			{prefix: "request.objects[]", rows: Objects}, {prefix: "request.objects[]", rows: ClusterAPI},
			{prefix: "response.convertedObjects[]", rows: Objects}, {prefix: "response.convertedObjects[]", rows: ClusterAPI},
		}
	case AdmissionReviews:
		return []part{
			{rows: doc},
			{prefix: "request.object", rows: Objects}, {prefix: "request.object", rows: ClusterAPI},
			{prefix: "request.oldObject", rows: Objects}, {prefix: "request.oldObject", rows: ClusterAPI},
		}
	case Discovery, Roots, OpenAPI:
		return []part{{rows: doc}, {rows: Objects}} // Objects for a Status: the answer if a group is not served or a path is forbidden
	}
	return []part{{rows: doc}}
}
