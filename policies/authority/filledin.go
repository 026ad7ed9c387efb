// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies"
)

// filledIn reports whether a difference is a default that a webhook filled in, and not a change that the requester made. Webhooks of Cluster API and of its
// providers fill in absent fields in each update, and the webhooks of a new release fill in more fields. If such a default counted as a change, the locks would
// refuse writes that are allowed to the garbage collector, the provider and others, until Poundlock itself writes to the object.
//
// The managedFields prove it. The API server records each field that a request sets under the client's name. It does so before it calls those webhooks, and it
// does not record what the webhooks add. A client can clear this record, but only for all fields at once, and filledIn then returns false. If a client writes
// in another API version, the fields are recorded under their names in that version. A missing name then proves nothing, and filledIn returns false too.
func filledIn(c policies.Change, d policies.Difference) bool {
	path, plain := strings.Split(d.Path.String(), "."), !strings.Contains(d.Path.String(), "[")
	if c.Side == policies.SideMachineAPI || c.Old == nil || c.New == nil || d.Old != nil || !plain ||
		slices.Contains(allInstanceFields, path[len(path)-1]) {
		return false
	}
	before, after := managedFields(c.Old), managedFields(c.New)
	for _, e := range after {
		unread := e.APIVersion != c.New.APIVersion && !slices.ContainsFunc(before, func(o metav1.ManagedFieldsEntry) bool { return reflect.DeepEqual(e, o) })
		if unread || e.Subresource == "" && ownsField(e, path) {
			return false
		}
	}
	return len(after) > 0
}

// managedFields returns the managedFields of an object under review. An Object does not contain them decoded, because they are most of an object's bytes and
// few rules read them.
func managedFields(o *policies.Object) []metav1.ManagedFieldsEntry {
	var content struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(o.Raw(), &content) // the object was decoded before, so this does not fail
	return content.Metadata.ManagedFields
}

// ownsField reports whether a managedFields entry has the field, a part of the field, or a whole that contains the field.
func ownsField(e metav1.ManagedFieldsEntry, path []string) bool {
	set, err := managedfields.Read(e)
	if err != nil || e.FieldsV1 == nil {
		return true // an entry that cannot be read may have the field
	}
	leaves := set.Leaves()
	for i := 1; i < len(path); i++ {
		if leaves.Has(managedfields.Path(path[:i]...)) {
			return true
		}
	}
	return managedfields.Holds(set, managedfields.Path(path...))
}
