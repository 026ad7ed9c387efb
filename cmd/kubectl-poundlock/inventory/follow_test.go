// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "testing"

// Circumstances that are read once belong to each later fleet: a Rival in the first one alone would disappear at the first event.
func TestFollowKeepsWhatWasReadOnce(t *testing.T) {
	first := newCollection(nil).fleet
	first.Rival, first.account, first.undrained = "a Deployment", "123", []string{"one"}
	w := watcher{cluster: first}
	now, err := w.fleet()
	if err != nil {
		t.Fatal(err)
	}
	if now.Rival != first.Rival || now.account != first.account || len(now.undrained) != 1 {
		t.Errorf("%+v, want what %+v has", now, first)
	}
}
