// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirroringtest makes the objects of a pair from short texts, for tests.
package mirroringtest

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
)

// Machine returns the Cluster API Machine that a YAML text describes.
func Machine(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := Object(t, text)
	o.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	o.SetKind("Machine")
	return o
}

// Object returns the object that a YAML text describes.
func Object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	Read(t, text, &o.Object)
	return o
}

// Read parses a YAML text into a map.
func Read(t *testing.T, text string, into *map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// Manager returns an entry of metadata.managedFields as YAML.
func Manager(name, operation, fields string) string {
	return fmt.Sprintf(`{manager: %s, operation: %s, apiVersion: cluster.x-k8s.io/v1beta2, fieldsType: FieldsV1, fieldsV1: %s}`, name, operation, fields)
}

// Kind returns the mirrored kind of a name.
func Kind(t *testing.T, name string) authority.Kind {
	t.Helper()
	kind, ok := authority.KindNamed(name)
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	return kind
}
