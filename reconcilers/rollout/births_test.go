// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A read that lacks a Machine that was created before is outdated, until one has shown it, or it has been away for so long that somebody has deleted it.
func TestAReadWithoutWhatWasCreatedIsOutdated(t *testing.T) {
	read := func(uids ...types.UID) []machinev1beta1.Machine {
		var out []machinev1beta1.Machine
		for _, uid := range uids {
			out = append(out, machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{UID: uid}})
		}
		return out
	}
	now := time.Now()
	var b births
	wants := func(sentence string, want bool, after time.Duration, uids ...types.UID) {
		t.Helper()
		if got := b.outdated(read(uids...), now.Add(after)); got != want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
	wants("nothing was created", false, 0, "a")
	b.add("b", now)
	b.add("c", now)
	wants("both are missing", true, time.Second, "a")
	wants("one is missing", true, time.Second, "a", "b")
	wants("both were seen", false, time.Second, "a", "c")
	wants("an older read comes after that", false, time.Second, "a")
	b.add("d", now)
	wants("it is missing still", true, unseen, "a")
	wants("somebody has deleted it", false, unseen+time.Second, "a")
}
