// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forward reads from the API server, and refuses a list that is older than a list that it has read before, or than an object that was written. An older list
// could lack a Machine that was just created, and the Machine would be created again. The second Machine would get another name if the set's status was written
// in between.
type forward struct {
	client.Reader
	now func() time.Time

	mu sync.Mutex
	// newest are the latest resource versions, by kind. behind is the time since when the lists of a kind have been older than that.
	newest map[string]string
	behind map[string]time.Time
}

// patience is how long forward refuses older lists. After that, it assumes that etcd itself went back to an earlier state, as after a restore.
const patience = time.Minute

var errOlder = errors.New("the API server has answered with an older state than before: reading it again")

func newForward(r client.Reader, now func() time.Time) *forward {
	return &forward{Reader: r, now: now, newest: map[string]string{}, behind: map[string]time.Time{}}
}

// List lists objects, and returns an error if the list is older than one before.
func (f *forward) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := f.Reader.List(ctx, list, options...); err != nil {
		return err
	}
	kind := kindOf(list)
	if !f.saw(kind, list.GetResourceVersion()) {
		return fmt.Errorf("listing %s: %w", kind, errOlder)
	}
	return nil
}

func kindOf(list client.ObjectList) string {
	if kind := list.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", list)
}

// wrote records the resource version of a Machine that was written.
func (f *forward) wrote(version string) { f.saw(machineKind.Kind+"List", version) }

// saw records a resource version, and reports whether it is not older than the latest one of its kind.
func (f *forward) saw(kind, version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(version, f.newest[kind])
	if err != nil || order >= 0 { // there was no version before, or the versions cannot be compared
		f.newest[kind] = version
		delete(f.behind, kind)
		return true
	}
	since, was := f.behind[kind]
	switch {
	case !was:
		f.behind[kind] = f.now()
	case f.now().Sub(since) > patience:
		f.newest[kind] = version
		delete(f.behind, kind)
		return true
	}
	return false
}
