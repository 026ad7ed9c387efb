// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Edition returns a hash of what a mirror is made from, so that a change can be detected by comparing two numbers. source is the API that the mirror is made
// from. The hash covers the UID and generation of the authoritative object and, if source is ClusterAPI, of the provider's object. It also covers the labels
// and annotations of the authoritative object, because a change of these does not change the generation. UIDs are included because a restored or recreated
// object starts again at generation 1. If source is MachineAPI, the hash also covers the UID and generation of Cluster API's object: a mirror that somebody has
// recreated is not the mirror that was compared. The pause annotation and the annotations in Poundlock's own domain are not included.
func Edition(source API, machineAPI, core, infra *unstructured.Unstructured) uint64 {
	of := machineAPI
	if source == ClusterAPI {
		of = core
	} else {
		infra = nil // if Machine API is the source, the provider's object belongs to the mirror
	}
	e := edition{Source: source}
	if of != nil {
		e.UID, e.Generation, e.Labels, e.Annotations = of.GetUID(), of.GetGeneration(), of.GetLabels(), of.GetAnnotations()
		maps.DeleteFunc(e.Annotations, func(key, _ string) bool { return key == PausedAnnotation || strings.HasPrefix(key, Domain+"/") })
	}
	if core != nil {
		e.CoreUID, e.CoreGeneration = core.GetUID(), core.GetGeneration()
	}
	if infra != nil {
		e.InfraUID, e.InfraGeneration = infra.GetUID(), infra.GetGeneration()
	}
	sum := fnv.New64a()
	_ = json.NewEncoder(sum).Encode(e) // neither the hash nor the encoding of strings and numbers fails
	return sum.Sum64()
}

// edition is the content that Edition hashes. JSON encodes the keys of a map in order, so equal content gives an equal hash.
type edition struct {
	Source                                      API
	UID, CoreUID, InfraUID                      types.UID
	Generation, CoreGeneration, InfraGeneration int64
	Labels, Annotations                         map[string]string
}
