// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed cluster.yaml
var clusterYAML []byte

//go:embed clusterapi.yaml
var clusterAPIYAML []byte

//go:embed fleet.yaml
var fleetYAML []byte

// fieldManager owns what the stage sets.
const fieldManager = "scene"

// objects returns the documents of a YAML file, in order.
func objects(file []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(file), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// apply makes objects equal to what they say, status included. It writes nothing to those that are equal already.
func apply(ctx context.Context, c client.Client, all ...*unstructured.Unstructured) error {
	for _, o := range all {
		status, hasStatus := o.Object["status"]
		delete(o.Object, "status")
		owner := []client.ApplyOption{client.FieldOwner(fieldManager), client.ForceOwnership}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), owner...); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if !hasStatus {
			continue
		}
		o.Object["status"] = status
		delete(o.Object, "spec")
		err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying the status of %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
