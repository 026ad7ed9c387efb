// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
)

// A refusal of providers names the right that is missing, and the role that has it.
func TestARefusalToViewNamesTheRight(t *testing.T) {
	refused := func(verb, resource, group, namespace string) error {
		reason := fmt.Sprintf(`User "x" cannot %s resource %q in API group %q`, verb, resource, group)
		if namespace == "" {
			reason += " at the cluster scope"
		} else {
			reason += fmt.Sprintf(" in the namespace %q", namespace)
		}
		return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", errors.New(reason))
	}
	const file, all = "manifests/base/access/users.yaml", "Bind ClusterRole view cluster-wide"
	for want, err := range map[string]error{
		"the right to list configmaps in namespace openshift-cluster-api is in ClusterRole view. " + all:                                      refused("list", "configmaps", "", "openshift-cluster-api"),
		"the right to get deployments.apps in namespace openshift-cluster-api is in ClusterRole view. " + all:                                 refused("get", "deployments", "apps", "openshift-cluster-api"),
		"the right to get infrastructures.config.openshift.io of the whole cluster is in ClusterRole poundlock-viewer (" + file + "). " + all: refused("get", "infrastructures", "config.openshift.io", ""),
		"reading it: forbidden: x: " + all: fmt.Errorf("reading it: %w", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("x"))),
		"no answer":                        errors.New("no answer"),
	} {
		if got := inventory.AllowedToView(fmt.Errorf("reading the release: %w", err)); !strings.Contains(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("%v, want %q", got, want)
		}
	}
	if _, err := os.Stat(filepath.Join("..", "..", "..", file)); err != nil {
		t.Error(err)
	}
}

// A refused write names the role that has the right. What admission refuses is no question of rights.
func TestARefusalToMigrateNamesTheRole(t *testing.T) {
	refusal := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "machine.openshift.io", Resource: "machinesets"}, "a", errors.New(text))
	}
	const role = ": ClusterRole poundlock-migrator has the rights that this command needs; bind the role in the namespaces of both APIs"
	for text, want := range map[string]string{
		`User "x" cannot patch resource "machinesets" in API group "machine.openshift.io" in the namespace "openshift-machine-api"`: role,
		`admission webhook "poundlock" denied the request: no`:                                                                      "",
	} {
		err := refusal(text)
		if got := inventory.AllowedToMigrate(err); got.Error() != err.Error()+want || !apierrors.IsForbidden(got) {
			t.Errorf("%v", got)
		}
	}
	if err := inventory.AllowedToMigrate(nil); err != nil {
		t.Error(err)
	}
}
