// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
)

// large makes documents: definitions with long descriptions, as providers have them, and small objects. Their names begin with a prefix.
func large(prefix string, definitions, others int) string {
	prose := strings.Repeat("This field is described at length. ", 1200)
	var all []string
	for i := range definitions {
		all = append(all, fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s%[2]ds.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: %[1]s%[2]d, listKind: %[1]s%[2]dList, plural: %[1]s%[2]ds, singular: %[1]s%[2]d}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: %[3]q, x-kubernetes-preserve-unknown-fields: true}}}
`, prefix, i, prose))
	}
	for i := range others {
		all = append(all, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: openshift-cluster-api}\ndata: {k: %q}\n",
			prefix, i, prose[:500]))
	}
	return strings.Join(all, "---\n")
}

// BenchmarkInstall compares the first installation of 200 objects, 1.4 MB, with the same number of bare server-side applies, one after the
// other, and has one pass after it in which nothing is to be done. One run each: -benchtime=1x.
func BenchmarkInstall(b *testing.B) {
	const definitions, others = 32, 168
	for range b.N {
		c := newCluster(b)
		bare, size := c.bareApplies(large("bare", definitions, others))
		documents, err := bundle.Decode([]byte(large("core", definitions, others)))
		if err != nil {
			b.Fatal(err)
		}
		p, err := bundle.Provider{Name: "cluster-api", Type: bundle.Core, Version: "v1.0.0"}.Complete()
		if err != nil {
			b.Fatal(err)
		}
		packed, err := bundle.Bundle{Provider: p, Metadata: []byte(metadataYAML), Documents: documents}.Pack(bundle.Packing{})
		if err != nil {
			b.Fatal(err)
		}
		for _, cm := range packed {
			c.put(cm)
		}
		began := time.Now()
		for {
			again, err := c.once()
			if err != nil {
				b.Fatal(err)
			}
			if again >= c.r.Resync {
				break
			}
		}
		first := time.Since(began)
		before := len(c.wire.Writes())
		began = time.Now()
		if _, err := c.once(); err != nil {
			b.Fatal(err)
		}
		steady := time.Since(began)
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(size)/1e6, "MB")
		b.ReportMetric(bare.Seconds(), "bare-s")
		b.ReportMetric(first.Seconds(), "first-s")
		b.ReportMetric(first.Seconds()/bare.Seconds(), "first/bare")
		b.ReportMetric(steady.Seconds(), "steady-s")
		b.ReportMetric(float64(len(c.wire.Writes())-before), "steady-writes")
		b.ReportMetric(float64(memory.Sys)/1e6, "memory-MB") // with the test's own
	}
}

// bareApplies applies documents without a look, through the same wire, and removes them again.
func (c *cluster) bareApplies(text string) (took time.Duration, size int) {
	c.Helper()
	documents, err := bundle.Decode([]byte(text))
	if err != nil {
		c.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, d := range documents {
		all = append(all, &unstructured.Unstructured{Object: d.Object})
	}
	began := time.Now()
	for _, o := range all {
		raw, err := json.Marshal(o)
		if err != nil {
			c.Fatal(err)
		}
		size += len(raw)
		if err := c.r.client.Apply(c.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("bare"), client.ForceOwnership); err != nil {
			c.Fatal(err)
		}
	}
	took = time.Since(began)
	for _, o := range all {
		if err := c.Delete(c.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()},
		}}); err != nil {
			c.Fatal(err)
		}
	}
	return took, size
}
