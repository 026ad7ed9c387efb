// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/embedded"
)

// history judges the fleet at each revision that etcd stores, in the order of etcd. Machine API must never be authoritative for an object while Cluster API's
// object is not paused. history goes on while the API server is away. A recorder with one watch for each kind would see the objects in an order of its own.
type history struct {
	mu sync.Mutex
	// pairs has what is stored of each object: by plural and name, then by API group. The infrastructure object counts as the third of a pair.
	pairs map[string]map[string]party
	// moved counts the changes of status.authoritativeAPI, by name.
	moved map[string]int
	flaws map[string][]string
}

// party is the part of an object that says who acts.
type party struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		AuthoritativeAPI authority.API `json:"authoritativeAPI"`
	} `json:"status"`
}

var revisions = newHistory()

func newHistory() *history {
	return &history{pairs: map[string]map[string]party{}, moved: map[string]int{}, flaws: map[string][]string{}}
}

// follow judges all revisions until ctx is done.
func (h *history) follow(ctx context.Context) error {
	return stage.Plane.History(ctx, "/registry/", func(o embedded.Stored) { h.see(o) })
}

// see stores one object and judges its pair.
func (h *history) see(o embedded.Stored) {
	parts := strings.Split(o.Key, "/") // "", registry, group, plural, namespace, name
	if len(parts) != 6 || !strings.HasSuffix(parts[2], "machine.openshift.io") && !strings.HasSuffix(parts[2], "cluster.x-k8s.io") {
		return
	}
	who, plural, name := parts[2], parts[3], parts[5]
	if plural == "awsmachines" {
		plural = "machines"
	}
	var now party
	if o.Value != nil {
		if err := json.Unmarshal(o.Value, &now); err != nil {
			now.Metadata.Name = name
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	pair := h.pairs[plural+"/"+name]
	if pair == nil {
		pair = map[string]party{}
		h.pairs[plural+"/"+name] = pair
	}
	was := pair[who]
	pair[who] = now
	if o.Value == nil {
		delete(pair, who)
	}
	if was.Status.AuthoritativeAPI != now.Status.AuthoritativeAPI {
		h.moved[name]++
	}
	if pair["machine.openshift.io"].Status.AuthoritativeAPI != authority.MachineAPI {
		return
	}
	for _, side := range []string{"cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"} {
		other, exists := pair[side]
		if _, paused := other.Metadata.Annotations[authority.PausedAnnotation]; exists && !paused {
			h.flaws[name] = append(h.flaws[name], fmt.Sprintf("at revision %d Machine API is authoritative for %s/%s, and its %s object is not paused",
				o.Revision, plural, name, side))
		}
	}
}

// of returns what was wrong with a play's objects, and how often their status.authoritativeAPI changed.
func (h *history) of(p *play) (flaws []string, moved int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, n := range h.moved {
		if p.owns(name) {
			moved += n
			flaws = append(flaws, h.flaws[name]...)
		}
	}
	slices.Sort(flaws)
	return flaws, moved
}
