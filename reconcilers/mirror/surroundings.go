// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

var (
	namespaceKind  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// reasonSurroundings is why a pair is not mirrored while what it lives in is being deleted.
const reasonSurroundings = "SurroundingsDeleted"

// recreates ends the sentence that says what is being deleted, or is gone.
const recreates = ": Poundlock deletes nothing because of that, and recreates the mirror once it exists again"

// surrounding is an object that a pair cannot live without.
type surrounding struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	// uid is what an owner reference names; "" where any object of that name will do.
	uid types.UID
}

// gatherSurroundings reads from the API server whether a part of the pair is deleted, or is missing, because what it lives in is being deleted. Such a
// deletion is nobody's request (DESIGN §3.3). A pair that is complete is not asked about.
func (r *reconciler) gatherSurroundings(ctx context.Context, s *state) error {
	if s.complete() {
		return nil
	}
	for _, part := range s.livesIn() {
		why, err := r.leaves(ctx, part)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		s.surroundings = authority.Go
		if s.missing == "" {
			s.reason = reasonSurroundings
			s.missing = why + recreates
		}
		return nil
	}
	return nil
}

// complete reports whether all objects of the pair exist and none of them is being deleted.
func (s *state) complete() bool {
	return presence(s.machineAPI) == authority.Present && presence(s.core) == authority.Present &&
		(s.kind.Infra == "" || presence(s.infra) == authority.Present)
}

// livesIn lists a pair's surroundings.
func (s *state) livesIn() []surrounding {
	out := []surrounding{{gvk: namespaceKind, name: s.pair.MachineAPI}, {gvk: namespaceKind, name: s.pair.ClusterAPI}}
	for _, name := range append(s.kind.Definitions(), s.infraDefinitions()...) {
		out = append(out, surrounding{gvk: definitionKind, name: name})
	}
	if s.env.ClusterName != "" {
		out = append(out, surrounding{gvk: clusterKind, namespace: s.pair.ClusterAPI, name: s.env.ClusterName})
	}
	for _, o := range []*unstructured.Unstructured{s.core, s.parents[authority.ClusterAPI]} {
		if o == nil {
			continue
		}
		for _, ref := range o.GetOwnerReferences() {
			if group, _, _ := strings.Cut(ref.APIVersion, "/"); group == clusterKind.Group && ref.Kind == clusterKind.Kind {
				out = append(out, surrounding{gvk: clusterKind, namespace: s.pair.ClusterAPI, name: ref.Name, uid: ref.UID})
			}
		}
	}
	return out
}

func (s *state) infraDefinitions() []string {
	switch {
	case s.env.Platform.Name == "":
		return nil
	case s.kind.Infra == authority.InfraMachine:
		return []string{s.env.Platform.InfraMachine.Definition()}
	case s.kind.Infra == authority.InfraMachineTemplate:
		return []string{s.env.Platform.InfraMachineTemplate.Definition()}
	}
	return nil
}

// leaves returns a sentence about a part of the surroundings that is being deleted, or is gone; "": it stays.
func (r *reconciler) leaves(ctx context.Context, part surrounding) (string, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(part.gvk)
	err := r.live.Get(ctx, client.ObjectKey{Namespace: part.namespace, Name: part.name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("%s %s does not exist", part.gvk.Kind, part.name), nil
	case err != nil:
		return "", fmt.Errorf("reading %s %s: %w", part.gvk.Kind, part.name, err)
	case o.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("%s %s is being deleted", part.gvk.Kind, part.name), nil
	case part.uid != "" && part.uid != o.GetUID():
		return fmt.Sprintf("%s %s with the UID %s does not exist", part.gvk.Kind, part.name, part.uid), nil
	}
	return "", nil
}

// givenToCluster makes the Cluster that is being deleted the owner of a mirror that has none, since its set went first. Cluster API's
// controller deletes what the Cluster owns, and waits for all else. A conversion would say the same, but for that it may be too late: the
// infrastructure cluster is gone.
func (s *state) givenToCluster() *write {
	if presence(s.cluster) != authority.Deleting || s.source() != authority.MachineAPI || !s.isMirror(s.core) || presence(s.core) != authority.Present || len(s.core.GetOwnerReferences()) > 0 {
		return nil
	}
	return &write{verb: patch, object: s.core, patch: metadataPatch(s.core, map[string]any{"ownerReferences": []metav1.OwnerReference{s.clusterOwns()}}),
		reason: "Released", note: "made the Cluster, which is being deleted, the owner of " + describe(s.core) + ", so that Cluster API deletes it"}
}
