// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/build"
)

// source is a module, the files of its CRDs, and the labels that the module's own kustomization would add.
type source struct {
	module string
	files  []string // patterns below the module's folder; each must match a file
	labels map[string]string
}

// sources returns where the CRDs are that Poundlock works with on every platform. Only the CustomNoUpgrade variants of openshift/api have the authority fields.
// CRDs that are published without these fields get them by overlay.
func sources() []source {
	return []source{
		{module: "github.com/openshift/api", files: []string{
			"machine/v1beta1/zz_generated.crd-manifests/*_machines-CustomNoUpgrade.crd.yaml",
			"machine/v1beta1/zz_generated.crd-manifests/*_machinesets-CustomNoUpgrade.crd.yaml",
			"machine/v1beta1/zz_generated.crd-manifests/*_machinehealthchecks.crd.yaml",
			"machine/v1/zz_generated.crd-manifests/*_controlplanemachinesets-CustomNoUpgrade.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_infrastructures-SelfManagedHA-CustomNoUpgrade.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_dnses-CustomNoUpgrade.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_featuregates.crd.yaml",
			"config/v1/zz_generated.crd-manifests/*_clusteroperators.crd.yaml",
		}},
		{module: "sigs.k8s.io/cluster-api", files: []string{
			"config/crd/bases/*.yaml",
		}, labels: map[string]string{
			clusterv1.ProviderNameLabel: "cluster-api",
		}},
	}
}

// CRDs reads the CRDs of the Machine API, the configuration API and Cluster API from their modules. It adds those of Cluster API's providers for the platforms,
// which are named as the Infrastructure names them (AWS if none is named, since a cluster has a platform). The result is sorted by name, and has Poundlock's
// overlay (manifests/crds) applied.
func CRDs(ctx context.Context, platforms ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	providers, err := providersOf(platforms)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []*apiextensionsv1.CustomResourceDefinition
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range append(sources(), providers...) {
		group.Go(func() error {
			crds, err := s.read(ctx)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, crds...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int {
		return strings.Compare(a.Name, b.Name)
	})
	return all, overlay(all)
}

func (s source) read(ctx context.Context) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	dir, err := build.ModuleDir(ctx, s.module)
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, pattern := range s.files {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("reading the CRDs of %s: no file %s in %s: has the module moved it?", s.module, pattern, dir)
		}
		for _, file := range files {
			crd, err := s.parse(file)
			if err != nil {
				return nil, fmt.Errorf("reading the CRD %s: %w", file, err)
			}
			crds = append(crds, crd)
		}
	}
	return crds, nil
}

func (s source) parse(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return nil, err
	}
	if crd.Labels == nil {
		crd.Labels = map[string]string{}
	}
	maps.Copy(crd.Labels, s.labels)
	// The managers of the providers serve the conversion webhooks, and they need not run here. With the webhooks, every read of a version that is not the stored
	// one would then fail, also the garbage collector's. Without them, such a read only changes the apiVersion and prunes. A test that starts a manager installs
	// its CRDs again, with its webhook.
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	return crd, nil
}

// InstallCRDs applies CRDs and returns when each is established and the API server's discovery lists it. Applying the same CRDs again changes nothing. Applying
// others with the same names replaces what an earlier call set.
func (p *Plane) InstallCRDs(ctx context.Context, crds ...*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	cfg := p.Admin()
	cfg.WarningHandler = rest.NoWarnings{} // about formats in CRDs that are not ours to change
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	lister, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not established after %s", startTimeout))
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, crd := range crds {
		group.Go(func() error {
			if err := install(ctx, client, lister, crd); err != nil {
				return fmt.Errorf("installing the CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// fieldManager owns the fields that InstallCRDs sets, but none that somebody else adds to a CRD (a caBundle, a status).
const fieldManager = "poundlock-plane"

func install(ctx context.Context, client dynamic.Interface, lister discovery.DiscoveryInterface, crd *apiextensionsv1.CustomResourceDefinition) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return err
	}
	delete(content, "status")
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crds := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if _, err := crds.Apply(ctx, crd.Name, object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return err
	}
	var why error
	asked, touched := time.Now(), false
	return poll(ctx, 50*time.Millisecond, func() (bool, error) {
		err := listed(lister, crd)
		// Discovery is small, and lists the CRDs that are established. A CRD may have half a megabyte, so it is read only once at the end, and earlier only if that
		// takes long.
		if err != nil && time.Since(asked) < patience {
			why = err
			return false, nil
		}
		asked = time.Now()
		current, failed := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if failed == nil {
			failed = established(current)
		}
		if errors.Is(failed, errAccepted) && !touched {
			touched = true
			_, refused := crds.Patch(ctx, crd.Name, types.MergePatchType, fmt.Appendf(nil, touch, time.Now().UTC().Format(time.RFC3339)), metav1.PatchOptions{})
			failed = errors.Join(failed, refused)
		}
		why = errors.Join(err, failed)
		return why == nil, nil
	}, func() error { return fmt.Errorf("%w: %w", context.Cause(ctx), why) })
}

// errAccepted describes a new CRD after an API server was killed between its two writes to the CRD's status. The next API server does not establish such a CRD
// until somebody changes it.
var errAccepted = errors.New("its names are accepted, and it is not established")

// patience is longer than an API server takes from the first of these writes to the second.
const patience = 3 * time.Second

// touch is a patch that changes a CRD, but nothing of what the CRD defines.
const touch = `{"metadata":{"annotations":{"test.poundlock.openshift.io/touched":%q}}}`

func established(object *unstructured.Unstructured) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
		return err
	}
	message, accepted := "no condition yet", false
	for _, condition := range crd.Status.Conditions {
		switch {
		case condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue:
			return nil
		case condition.Type == apiextensionsv1.NamesAccepted && condition.Status == apiextensionsv1.ConditionFalse:
			message = condition.Message
		case condition.Type == apiextensionsv1.NamesAccepted:
			accepted = true
		}
	}
	if accepted {
		return errAccepted
	}
	return fmt.Errorf("not established: %s", message)
}

// listed returns an error unless the discovery lists every served version. A RESTMapper that comes too early would remember that there was none.
func listed(lister discovery.DiscoveryInterface, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		groupVersion := crd.Spec.Group + "/" + version.Name
		resources, err := lister.ServerResourcesForGroupVersion(groupVersion)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == crd.Spec.Names.Plural }) {
			return fmt.Errorf("%s does not list %s", groupVersion, crd.Spec.Names.Plural)
		}
	}
	return nil
}
