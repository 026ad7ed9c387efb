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

// filledIn reports whether a difference is a default and not the requester's. Webhooks of Cluster API and of its providers fill in what is absent, in each
// update, and those of a new release fill in more. If such a default counted as a change, the locks would refuse the collector, the provider and all others
// what they may write, until Poundlock itself writes to the object.
//
// The API server records each field that a request sets under the client's name before it calls those webhooks, and does not record what they add. A client
// can clear what is recorded, but only for all fields. A client that writes in another version has its fields recorded in that version's names, so nothing
// follows from a missing name.
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

// managedFields are those of an object under review. Other rules do not decode them, because they are most of an object's bytes.
func managedFields(o *policies.Object) []metav1.ManagedFieldsEntry {
	var content struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(o.Raw(), &content) // it has been read before
	return content.Metadata.ManagedFields
}

// ownsField reports whether an entry has a field, a part of it, or the whole that it is in.
func ownsField(e metav1.ManagedFieldsEntry, path []string) bool {
	set, err := managedfields.Read(e)
	if err != nil || e.FieldsV1 == nil {
		return true // what cannot be read may be anything
	}
	leaves := set.Leaves()
	for i := 1; i < len(path); i++ {
		if leaves.Has(managedfields.Path(path[:i]...)) {
			return true
		}
	}
	return managedfields.Holds(set, managedfields.Path(path...))
}
