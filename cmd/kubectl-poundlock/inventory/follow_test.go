// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "testing"

// What is read once is of each fleet that follows: a Rival that only the first one has would be gone from the page at the first event.
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
