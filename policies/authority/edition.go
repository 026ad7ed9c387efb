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

// Edition is what a mirror is made from, as a number to compare: the authoritative object in a generation with its labels and annotations, which bump no
// generation, and the provider's object in a generation. What was restored or recreated begins with generation 1 again, so the UIDs count. What Poundlock alone
// writes does not. source is the API that the mirror is made from.
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

// edition is what counts; the keys of its maps are encoded in order.
type edition struct {
	Source                      API
	UID, InfraUID               types.UID
	Generation, InfraGeneration int64
	Labels, Annotations         map[string]string
}
