// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/internal/managedfields"
)

// legacyManagers are the field managers that wrote objects before the installer did. What they set in metadata is removed as well, unless the manifests still
// have it. The first two are the names that the API server and csaupgrade use for a client-side apply.
var legacyManagers = []string{
	"kubectl-client-side-apply", "before-first-apply", "kubectl", "clusterctl", "cluster-api-operator", "cluster-capi-operator", "capi-installer",
	"cluster-version-operator", "capi-operator.openshift.io/installer",
}

// Allowed is a field that others may set on the installer's objects, and the reason.
type Allowed struct {
	Kind string // "" for every kind
	Path []string
	Why  string
}

// AllowedFields lists the fields that others may set, with everything beneath them. A * stands for any one element, such as an item of a list. Labels,
// annotations, finalizers and owners in metadata belong to others unless the manifests have them.
var AllowedFields = []Allowed{
	{"", []string{"metadata"}, "others label and annotate objects"},
	{"", []string{"status"}, "controllers write it"},
	{crdKind, []string{"spec", "conversion", "webhook", "clientConfig", "caBundle"}, "the service CA writes it"},
	{"MutatingWebhookConfiguration", []string{"webhooks", "*", "clientConfig", "caBundle"}, "the service CA writes it"},
	{"ValidatingWebhookConfiguration", []string{"webhooks", "*", "clientConfig", "caBundle"}, "the service CA writes it"},
	{"Deployment", []string{"spec", "template", "metadata", "annotations", restartedAt}, "kubectl rollout restart sets it"},
	{"StatefulSet", []string{"spec", "template", "metadata", "annotations", restartedAt}, "kubectl rollout restart sets it"},
	{"DaemonSet", []string{"spec", "template", "metadata", "annotations", restartedAt}, "kubectl rollout restart sets it"},
	{"ServiceAccount", []string{"secrets"}, "OpenShift's token controllers write it"},
	{"ServiceAccount", []string{"imagePullSecrets"}, "OpenShift's image registry writes it"},
	{"PersistentVolumeClaim", []string{"spec"}, "the volume controller binds it"},
	{"ServiceAccount", []string{"automountServiceAccountToken"}, "a cluster's policy sets it"},
}

const restartedAt = "kubectl.kubernetes.io/restartedAt"

// guarded reports whether a field of an object counts as drift if others have added it.
func guarded(o *unstructured.Unstructured, path fieldpath.Path) bool {
	if bundle.StageOf(o.GroupVersionKind().GroupKind()) == bundle.Rest {
		return false // controllers add fields to custom resources
	}
	if o.GetKind() == "ClusterRole" && at(o.Object, "aggregationRule") != nil && elements(path)[0] == "rules" {
		return false // the aggregation controller writes the rules
	}
	for _, a := range AllowedFields {
		if (a.Kind == "" || a.Kind == o.GetKind()) && begins(elements(path), a.Path) {
			return false
		}
	}
	return !onTheWay(o, path)
}

// onTheWay reports whether a path only leads to an allowed field, as the path of the map that contains the field does. The path of an item of a list does not
// count, because such an item is more than the way to a field.
func onTheWay(o *unstructured.Unstructured, path fieldpath.Path) bool {
	all := elements(path)
	if len(all) == 0 || path[len(path)-1].FieldName == nil {
		return false
	}
	return slices.ContainsFunc(AllowedFields, func(a Allowed) bool {
		return (a.Kind == "" || a.Kind == o.GetKind()) && len(all) < len(a.Path) && begins(all, a.Path[:len(all)])
	})
}

func begins(path, prefix []string) bool {
	if len(path) < len(prefix) {
		return false
	}
	for i, element := range prefix {
		if element != "*" && path[i] != "*" && element != path[i] {
			return false
		}
	}
	return true
}

// elements returns a path as names of fields, with * for an item of a list.
func elements(path fieldpath.Path) []string {
	out := make([]string, len(path))
	for i, element := range path {
		out[i] = "*"
		if element.FieldName != nil {
			out[i] = *element.FieldName
		}
	}
	return out
}

// Drift is what others added to an object.
type Drift struct {
	// Fields are the paths of the added fields, in a form for people, each with the field manager that set it.
	Fields []string
	// Managed are the managed fields of the object in which the installer owns all these fields, so that its next apply removes them.
	Managed []metav1.ManagedFieldsEntry
}

// DriftOf returns what others added to an object of the installer. A plain server-side apply would leave these fields, because an apply removes only fields
// that its manager has owned.
func DriftOf(live *unstructured.Unstructured, adopting bool) (Drift, error) {
	entries := live.GetManagedFields()
	own, ours, err := ownEntry(live, entries)
	if err != nil {
		return Drift{}, err
	}
	var d Drift
	foreign, all, err := take(live, entries, adopting)
	if err != nil {
		return Drift{}, err
	}
	taken, items := ours, addedItems(all, ours)
	var kept []metav1.ManagedFieldsEntry
	for i, e := range foreign {
		take := all[i].take.Union(within(all[i].theirs, items))
		if added := take.Difference(ours); !added.Empty() {
			d.Fields = append(d.Fields, describe(added, e.Manager)...)
		}
		taken = taken.Union(take)
		if rest := all[i].theirs.Difference(take); !rest.Empty() {
			if e.FieldsV1, err = managedfields.Write(rest); err != nil {
				return Drift{}, err
			}
			kept = append(kept, e)
		}
	}
	if len(d.Fields) == 0 {
		return Drift{}, nil
	}
	if own.FieldsV1, err = managedfields.Write(taken); err != nil {
		return Drift{}, err
	}
	d.Managed = append([]metav1.ManagedFieldsEntry{own}, kept...)
	return d, nil
}

// shares are the fields of an entry of managed fields (theirs), and those among them that the installer takes (take).
type shares struct{ theirs, take *fieldpath.Set }

func take(live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, adopting bool) ([]metav1.ManagedFieldsEntry, []shares, error) {
	var foreign []metav1.ManagedFieldsEntry
	var all []shares
	for _, e := range entries {
		if isOwn(e) {
			continue
		}
		theirs, err := managedfields.Read(e)
		if err != nil {
			return nil, nil, err
		}
		foreign = append(foreign, e)
		all = append(all, shares{theirs, takeFrom(live, e, theirs, adopting)})
	}
	return foreign, all, nil
}

// addedItems returns the paths of the items of lists that others added. Everything in such an item is removed, including fields that yet others have set in it.
// Otherwise an API server would keep the item with the remaining fields.
func addedItems(all []shares, ours *fieldpath.Set) []fieldpath.Path {
	var out []fieldpath.Path
	for _, s := range all {
		s.take.Difference(ours).Iterate(func(path fieldpath.Path) {
			if last := path[len(path)-1]; last.Key != nil || last.Value != nil {
				out = append(out, path.Copy())
			}
		})
	}
	return out
}

func within(set *fieldpath.Set, roots []fieldpath.Path) *fieldpath.Set {
	out := fieldpath.NewSet()
	set.Iterate(func(path fieldpath.Path) {
		if slices.ContainsFunc(roots, func(root fieldpath.Path) bool { return len(path) >= len(root) && root.Equals(path[:len(root)]) }) {
			out.Insert(path.Copy())
		}
	})
	return out
}

func ownEntry(live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) (metav1.ManagedFieldsEntry, *fieldpath.Set, error) {
	for _, e := range entries {
		if isOwn(e) {
			set, err := managedfields.Read(e)
			return e, set, err
		}
	}
	return metav1.ManagedFieldsEntry{
		Manager: Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
	}, fieldpath.NewSet(), nil
}

// takeFrom returns the fields of an entry that the installer takes. While it adopts an object, it also takes metadata from a legacy manager.
func takeFrom(live *unstructured.Unstructured, e metav1.ManagedFieldsEntry, theirs *fieldpath.Set, adopting bool) *fieldpath.Set {
	take := fieldpath.NewSet()
	if e.Subresource != "" && e.Subresource != "scale" {
		return take
	}
	if e.Subresource == "scale" && e.Manager == "kube-controller-manager" {
		return take // a HorizontalPodAutoscaler scales the workload
	}
	legacy := adopting && slices.Contains(legacyManagers, e.Manager)
	theirs.Iterate(func(path fieldpath.Path) {
		if guarded(live, path) || legacy && ofManifests(path) {
			take.Insert(path.Copy())
		}
	})
	return take
}

// ofManifests reports whether a path belongs to metadata that an earlier installer took from manifests: a label or an annotation.
func ofManifests(path fieldpath.Path) bool {
	names := elements(path)
	return len(names) > 2 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations") && names[2] != AdoptAnnotation
}

// describe returns the paths that were added, each with its manager. For a whole item it returns only the item's own path.
func describe(added *fieldpath.Set, manager string) []string {
	var out []string
	var last fieldpath.Path
	added.Iterate(func(path fieldpath.Path) {
		if last != nil && len(path) > len(last) && last.Equals(path[:len(last)]) {
			return
		}
		last = path.Copy()
		out = append(out, fmt.Sprintf("%s (%s)", path, manager))
	})
	return out
}

// ScaledByOthers reports whether a HorizontalPodAutoscaler sets the replicas of a live workload.
func ScaledByOthers(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "scale" && e.Manager == "kube-controller-manager"
	})
}
