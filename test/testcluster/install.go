// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/manifests"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/simulation"
)

var dryRun = client.DryRunAll

// furnish gives the cluster what it has before Poundlock is installed.
func (s *Stage) furnish(ctx context.Context) error {
	all, err := before(s.kit)
	if err != nil {
		return err
	}
	if s.options.Install { // the providers bring their own accounts
		all = slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "ServiceAccount" && o.GetNamespace() == clusterAPI
		})
	}
	return apply(ctx, s.Admin, all...)
}

// before returns what a cluster on the kit's platform has before Poundlock is installed.
func before(kit conversiontest.Kit) ([]*unstructured.Unstructured, error) {
	account, err := simulation.Account(kit.Platform.Name)
	if err != nil {
		return nil, err
	}
	all, err := objects(bytes.ReplaceAll(clusterYAML, []byte("PROVIDER"), []byte(account)))
	if err != nil {
		return nil, err
	}
	infrastructure := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": map[string]any{"name": "cluster"},
		"spec": kit.Infrastructure["spec"], "status": kit.Infrastructure["status"],
	}}
	credentials := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": kit.Platform.CredentialsSecret, "namespace": machineAPI},
	}}
	return append(all, infrastructure, credentials), nil
}

// install does what `kubectl apply` of the manifests does in a cluster. The only difference is that the webhooks are at an address of this machine, which is
// another one at each start.
func (s *Stage) install(ctx context.Context) error {
	if err := s.choosePorts(); err != nil {
		return err
	}
	identity, err := s.Plane.As(manifests.User())
	if err != nil {
		return err
	}
	if err := s.Plane.Kubeconfig(identity, s.identityFile()); err != nil {
		return err
	}
	return s.applyManifests(ctx)
}

func (s *Stage) choosePorts() error {
	ports, err := embedded.FreePorts(3)
	if err != nil {
		return err
	}
	s.manager = managerPorts{webhooks: ports[0], health: ports[1], metrics: ports[2]}
	return nil
}

func (s *Stage) applyManifests(ctx context.Context) error {
	all, err := s.manifests()
	if err != nil {
		return err
	}
	return apply(ctx, s.Admin, all...)
}

// InstallMissing applies those of Poundlock's manifests that somebody has removed, and returns which. It leaves the others as they are, with what somebody has
// changed in them.
func (s *Stage) InstallMissing(ctx context.Context) ([]string, error) {
	all, err := s.manifests()
	if err != nil {
		return nil, err
	}
	var applied []string
	for _, o := range all {
		what := fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
		err := s.Admin.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy())
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return applied, fmt.Errorf("reading %s: %w", what, err)
		}
		if err := apply(ctx, s.Admin, o); err != nil {
			return applied, err
		}
		applied = append(applied, what)
	}
	return applied, nil
}

// manifests returns what overlays/dev makes, with this start's address.
func (s *Stage) manifests() ([]*unstructured.Unstructured, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "manifests", "overlays", "dev"))
	if err != nil {
		return nil, fmt.Errorf("making the manifests: %w", err)
	}
	text, err := made.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("making the manifests: %w", err)
	}
	return objects(bytes.ReplaceAll(text, []byte(manifests.DevURL), []byte("https://"+local(s.manager.webhooks))))
}

// createFleet creates the fleet in a new cluster. In a cluster that has had one, it changes nothing.
func (s *Stage) createFleet(ctx context.Context) error {
	fleet, err := fleet(s.kit)
	if err != nil {
		return err
	}
	return s.createOnce(ctx, "fleet-was-created", nil, fleet)
}

// createOnce creates objects, and at last a ConfigMap with the given name. A later start knows by the ConfigMap that the objects existed, and leaves them as
// they are by then.
func (s *Stage) createOnce(ctx context.Context, name string, data map[string]any, all []*unstructured.Unstructured) error {
	mark := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": name, "namespace": s.Pairs[0].MachineAPI},
	}}
	err := s.Admin.Get(ctx, client.ObjectKeyFromObject(mark), mark.DeepCopy())
	if !apierrors.IsNotFound(err) {
		s.played = err == nil
		return err
	}
	return create(ctx, s.Admin, append(all, mark)...)
}

// create creates the objects that do not exist, and leaves the others as they are, because people may have changed them. It looks first, because admission may
// refuse to create an object again.
func create(ctx context.Context, c client.Client, all ...*unstructured.Unstructured) error {
	for _, o := range all {
		err := c.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy())
		if apierrors.IsNotFound(err) {
			err = c.Create(ctx, o)
		}
		if err != nil {
			return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
