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
	{In: Objects, At: "apiVersion", Is: APIVersion, Why: "The API server refuses an object whose group differs from the group in the request's path."},
	{In: Objects, At: "metadata.ownerReferences[].apiVersion", Is: Reference,
		Why: "The garbage collector would not find an owner under the standard group, and would delete the object."},
	{In: Objects, At: "metadata.managedFields[].apiVersion", Is: APIVersion,
		Why: "The API server discards all managed fields if one entry has a version that it does not know."},
	{In: Objects, At: "details.group", Is: Group, Kind: "Status", Why: "Clients compare this group with the group that they use."},
	{In: Objects, At: "message", Is: Prose, Kind: "Status", Why: "People read this message, and know only the standard names."},
	{In: Objects, At: "details.causes[].message", Is: Prose, Kind: "Status", Why: "People read this message, and know only the standard names."},

	{In: ClusterAPI, At: "spec.**.apiVersion", Is: APIVersion,
		Why: "References in the contracts up to v1beta1 have an apiVersion: infrastructureRef, bootstrap.configRef, templates."},
	{In: ClusterAPI, At: "spec.**.apiGroup", Is: Group, Why: "References in the contract v1beta2 have an apiGroup."},
	{In: ClusterAPI, At: "status.**.apiVersion", Is: APIVersion, Why: "References in the status have an apiVersion."},
	{In: ClusterAPI, At: "status.**.apiGroup", Is: Group, Why: "References in the status have an apiGroup."},

	{In: Definitions, At: "metadata.name", Is: DefinitionName, Hide: true,
		Why: "Cluster API finds a CustomResourceDefinition by its standard name, and reads the labels of contracts."},
	{In: Definitions, At: "spec.group", Is: Group, Why: "The group is a part of the CustomResourceDefinition's name."},
	{In: Definitions, At: "details.name", Is: DefinitionName, Kind: "Status", Why: "This is the name of a CustomResourceDefinition that was not " +
		"found, or was deleted."},

	{In: Events, At: "involvedObject.apiVersion", Is: Reference, Why: "`kubectl events --for` compares this apiVersion."},
	{In: Events, At: "regarding.apiVersion", Is: Reference, Why: "`kubectl events --for` compares this apiVersion."},
	{In: Events, At: "related.apiVersion", Is: Reference, Why: "`kubectl events --for` compares this apiVersion."},

	{In: AccessReviews, At: "spec.resourceAttributes.group", Is: Group, Why: "`kubectl auth can-i` must ask about the group for which RBAC has rules."},
	{In: AccessReviews, At: "status.resourceRules[].apiGroups[]", Is: Group, Why: "`kubectl auth can-i --list` shows these groups."},

	{In: Discovery, At: "groups[].name", Is: Group, Hide: true, Why: "Clients find the groups of the API server in this list."},
	{In: Discovery, At: "groups[].versions[].groupVersion", Is: APIVersion, Why: "Clients find the groups of the API server in this list."},
	{In: Discovery, At: "groups[].preferredVersion.groupVersion", Is: APIVersion, Why: "Clients find the groups of the API server in this list."},
	{In: Discovery, At: "name", Is: Group, Why: "Clients read the description of one group."},
	{In: Discovery, At: "versions[].groupVersion", Is: APIVersion, Why: "Clients read the description of one group."},
	{In: Discovery, At: "preferredVersion.groupVersion", Is: APIVersion, Why: "Clients read the description of one group."},
	{In: Discovery, At: "groupVersion", Is: APIVersion, Why: "Clients read the resources of one version of a group."},
	{In: Discovery, At: "resources[].group", Is: Group, Why: "Clients read the resources of one version of a group. The group autoscaling of Scale is " +
		"not changed."},
	{In: Discovery, At: "items[].metadata.name", Is: Group, Hide: true, Why: "Clients read all groups in one document (aggregated discovery)."},
	{In: Discovery, At: "items[].versions[].resources[].responseKind.group", Is: Group, Why: "Clients read all groups in one document (aggregated discovery)."},
	{In: Discovery, At: "items[].versions[].resources[].subresources[].responseKind.group", Is: Group, Why: "Clients read all groups in one document " +
		"(aggregated discovery)."},

	{In: Roots, At: "paths[]", Is: Path, Hide: true, Why: "Clients find the paths of the API server in this list."},

	{In: OpenAPI, At: "paths{key}", Is: Path, Hide: true, Why: "The index and each OpenAPI document list paths with the group in them."},
	{In: OpenAPI, At: "paths{}.serverRelativeURL", Is: Path, Why: "The index has the URL of each OpenAPI document."},
	{In: OpenAPI, At: "definitions{key}", Is: SchemaName, Hide: true, Why: "An OpenAPI document of version 2 has the schemas of all groups, and two " +
		"schemas of one name would make the JSON invalid."},
	{In: OpenAPI, At: "components.schemas{key}", Is: SchemaName, Why: "The name of a schema begins with its group, in reverse order."},
	{In: OpenAPI, At: "**.$ref", Is: SchemaReference, Why: "A reference contains the name of a schema."},
	{In: OpenAPI, At: "**.x-kubernetes-group-version-kind.group", Is: Group, Why: "This is the group of the kind that an operation handles."},
	{In: OpenAPI, At: "**.x-kubernetes-group-version-kind[].group", Is: Group, Why: "This is the group of a kind that a schema describes."},

	{In: ConversionReviews, At: "request.desiredAPIVersion", Is: APIVersion, Why: "This is the version to which the converter must convert."},
	{In: ConversionReviews, At: "response.result.message", Is: Prose, Why: "People read this message, and know only the standard names."},

	{In: AdmissionReviews, At: "request.kind.group", Is: Group, Why: "A webhook reads which kind or resource is written."},
	{In: AdmissionReviews, At: "request.resource.group", Is: Group, Why: "A webhook reads which kind or resource is written."},
	{In: AdmissionReviews, At: "request.requestKind.group", Is: Group, Why: "A webhook reads which kind or resource is written."},
	{In: AdmissionReviews, At: "request.requestResource.group", Is: Group, Why: "A webhook reads which kind or resource is written."},
	{In: AdmissionReviews, At: "request.options.apiVersion", Is: APIVersion, Why: "A webhook reads the options of the request."},
	{In: AdmissionReviews, At: "response.status.message", Is: Prose, Why: "People read this message, and know only the standard names."},
	{In: AdmissionReviews, At: "response.status.details.group", Is: Group, Why: "Clients compare this group with the group that they use."},
	{In: AdmissionReviews, At: "response.status.details.causes[].message", Is: Prose, Why: "People read this message, and know only the standard names."},
}

// Untouched names a position whose text looks like a group's name, or contains one, and is not translated.
type Untouched struct {
	In  Document
	At  string
	Why string
}

// Never lists the Untouched places. Nothing beneath such a place is translated either, even if Rows has a row for any depth.
var Never = []Untouched{
	{Objects, "metadata.labels", "Keys and values of labels are the same for clients and in the API server."},
	{Objects, "metadata.annotations", "Keys and values of annotations are the same for clients and in the API server. That includes " +
		"`cluster.x-k8s.io/cloned-from-groupkind`, and JSON in a value."},
	{Objects, "metadata.finalizers", "A finalizer is only a name, although it contains a domain."},
	{Objects, "metadata.managedFields[].fieldsV1", "The keys are the names of fields, labels and annotations."},
	{Objects, "type", "`cluster.x-k8s.io/secret` is a type of Secret."},
	{Objects, "data", "The data of ConfigMaps and Secrets belongs to their users."},
	{Objects, "rules", "Rules of RBAC may name the standard and the private groups: a translated Role would lose rights."},
	{Objects, "roleRef", "The group of a Role is rbac.authorization.k8s.io."},
	{Objects, "webhooks", "A webhook configuration names the groups for which the API server calls the webhook, and these may be the standard ones."},
	{Objects, "spec.group", "An APIService names the group that it serves."},
	{Objects, "spec.hard", "A ResourceQuota counts objects by the resource and group in the API server."},
	{Objects, "spec.scaleTargetRef", "An autoscaler does not use the proxy, so it needs the group in the API server."},
	{Objects, "spec.taints", "The key of a taint is only a name, although it may contain a domain."},
	{Objects, "rows[].cells", "These are the cells of a Table, which kubectl prints."},
	{ClusterAPI, "spec.**.labels", "Labels of templates are users' data, even a label with the name apiVersion."},
	{ClusterAPI, "spec.**.annotations", "Annotations of templates are users' data."},
	{ClusterAPI, "spec.**.matchLabels", "A selector consists of labels."},
	{ClusterAPI, "status.**.labels", "Labels in the status are users' data."},
	{ClusterAPI, "status.**.annotations", "Annotations in the status are users' data."},
	{ClusterAPI, "status.**.matchLabels", "A selector in the status consists of labels."},
	{Definitions, "spec.conversion", "The conversion webhook has the name that the installer gave it."},
	{Definitions, "spec.versions", "Clients read no group's name from the schema in a CustomResourceDefinition."},
	{Definitions, "status", "The API server writes its own sentences about the CustomResourceDefinition."},
	{Events, "message", "The message is the controller's own text."},
	{AdmissionReviews, "response.patch", "The patch is encoded in base64."},
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
