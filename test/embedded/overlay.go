// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/build"
)

// addition is an operation "add" of a JSON patch. Poundlock's overlays of CRDs have no other operation.
type addition struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// overlay applies manifests/crds, as a cluster does that installs Poundlock. That gives the authority fields to the CRDs of the Machine API that are published
// without them.
func overlay(crds []*apiextensionsv1.CustomResourceDefinition) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		plural, group, _ := strings.Cut(crd.Name, ".")
		text, err := os.ReadFile(filepath.Join(root, "manifests", "crds", plural+".yaml"))
		if group != "machine.openshift.io" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = add(crd, text)
		}
		if err != nil {
			return fmt.Errorf("laying the authority fields over %s: %w", crd.Name, err)
		}
	}
	return nil
}

func add(crd *apiextensionsv1.CustomResourceDefinition, patch []byte) error {
	var additions []addition
	if err := yaml.UnmarshalStrict(patch, &additions); err != nil {
		return err
	}
	raw, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		return err
	}
	for _, a := range additions {
		if err := a.to(content); err != nil {
			return err
		}
	}
	if raw, err = json.Marshal(content); err != nil {
		return err
	}
	*crd = apiextensionsv1.CustomResourceDefinition{}
	return json.Unmarshal(raw, crd)
}

// to adds the value to content at the addition's path: as a field of an object, or at the end of a list if the path ends in "-".
func (a addition) to(content any) error {
	if a.Op != "add" {
		return fmt.Errorf("%s %s: only additions are known here", a.Op, a.Path)
	}
	steps := strings.Split(strings.TrimPrefix(a.Path, "/"), "/")
	last := len(steps) - 1
	for i, step := range steps[:last] {
		switch c := content.(type) {
		case map[string]any:
			if i == last-1 && steps[last] == "-" {
				list, _ := c[step].([]any)
				c[step] = append(list, a.Value)
				return nil
			}
			content = c[step]
		case []any:
			if step != "0" || len(c) == 0 {
				return fmt.Errorf("%s: no item %s", a.Path, step)
			}
			content = c[0]
		default:
			return fmt.Errorf("%s: nothing at %s", a.Path, step)
		}
	}
	object, ok := content.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: not in an object", a.Path)
	}
	object[steps[last]] = a.Value
	return nil
}
