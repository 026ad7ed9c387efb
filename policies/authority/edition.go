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

// Edition is what a mirror is made from, as a number to compare: the authoritative object and the provider's object, each in a generation. Labels and
// annotations of the authoritative object are part of it because they do not change its generation. UIDs are part of it because a restored or recreated
// object starts again at generation 1. What Poundlock alone writes is no part of it. source is the API that the mirror is made from.
func Edition(source API, machineAPI, core, infra *unstructured.Unstructured) uint64 {
	of := machineAPI
	if source == ClusterAPI {
		of = core
	} else {
		infra = nil // the mirror's own
	}
	e := edition{Source: source}
	if of != nil {
		e.UID, e.Generation, e.Labels, e.Annotations = of.GetUID(), of.GetGeneration(), of.GetLabels(), of.GetAnnotations()
		maps.DeleteFunc(e.Annotations, func(key, _ string) bool { return key == PausedAnnotation || strings.HasPrefix(key, Domain+"/") })
	}
	if infra != nil {
		e.InfraUID, e.InfraGeneration = infra.GetUID(), infra.GetGeneration()
	}
	sum := fnv.New64a()
	_ = json.NewEncoder(sum).Encode(e) // neither a hash nor text fails
	return sum.Sum64()
}

// edition is what Edition hashes; JSON encodes the keys of its maps in order.
type edition struct {
	Source                      API
	UID, InfraUID               types.UID
	Generation, InfraGeneration int64
	Labels, Annotations         map[string]string
}
