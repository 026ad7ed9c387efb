// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/standin"
)

// InstallerImage is the image of the installer's Deployment. CoreKey is the key of the core manager's image in a release.
const (
	InstallerImage = "registry.example.com/poundlock:stage"
	CoreKey        = "cluster-capi-controllers"
)

// coreManifests are Cluster API's own manifests.
var coreManifests = conversiontest.Manifests{Module: "sigs.k8s.io/cluster-api", Dir: "config/default", Name: "cluster-api", Version: "v1.13.6"}

// installerSteps returns the steps that install Cluster API with `poundlock install`, from bundles that are made in the same run.
func (s *Stage) installerSteps() []task {
	return []task{
		{"building Poundlock", s.buildManager},
		{"bundling the providers of Cluster API, as their repositories would: poundlock bundle", s.bundle},
		{"building Cluster API's core manager", s.buildCore},
		{"applying what a release brings: the providers' ConfigMaps, and the Deployment of poundlock install with its account and roles", s.release},
		{"starting a stand-in kubelet, with a service CA", s.startPods},
		{"waiting until Cluster API is installed", s.waitForInstaller},
	}
}

func (s *Stage) bundlesDir() string { return filepath.Join(s.Plane.Dir(), "bundles") }

// bundle runs `poundlock bundle` for Cluster API's core and for the platform's provider.
func (s *Stage) bundle(ctx context.Context) error {
	own := s.kit.Manifests
	if own.Module == "" {
		return fmt.Errorf("no module with the manifests of %s is listed: use aws, azure, gcp, openstack or vsphere", s.kit.Platform.Name)
	}
	for _, p := range []struct {
		conversiontest.Manifests
		kind string
	}{{own, "infrastructure"}, {coreManifests, "core"}} {
		root, err := build.ModuleDir(ctx, p.Module)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, s.binary(), "bundle", "--kustomize", filepath.Join(root, p.Dir), "--name", p.Name, "--type", p.kind, "--version",
			p.Version, "--out", s.bundlesDir())
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("bundling %s: %w:\n%s", p.Name, err, output)
		}
	}
	return nil
}

// buildCore builds the programs that the kubelet runs. The core manager has the arguments, the Secret and the account of its Deployment. Additional arguments
// make it listen on this machine and elect no leader, because a process outside of a pod finds no namespace for the election.
func (s *Stage) buildCore(ctx context.Context) error {
	core, err := build.ClusterAPI(ctx, s.options.Out)
	if err != nil {
		return err
	}
	s.pods.kubelet.Programs[InstallerImage] = poundlock(s.binary())
	s.pods.kubelet.Programs[imageOf(CoreKey)] = standin.Program{
		Path: core, Args: []string{"--leader-elect=false", "--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs"},
		Argument: func(port, address string) string {
			_, number, _ := strings.Cut(address, ":")
			return map[string]string{
				"webhook-server": "--webhook-port=" + number, "healthz": "--health-addr=" + address, "metrics": "--diagnostics-address=" + address,
			}[port]
		},
	}
	return nil
}

// imageOf returns the image that the release has for a key.
func imageOf(key string) string {
	return "registry.example.com/" + key + "@sha256:" + strings.Repeat("0", 64)
}

// release applies what a release of the platform brings: the bundles, and the installer's manifests.
func (s *Stage) release(ctx context.Context) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.bundlesDir(), "*.yaml"))
	if err != nil {
		return err
	}
	if err := s.releaseValues(ctx, files); err != nil {
		return err
	}
	for _, file := range files {
		if err := s.applyFile(ctx, file); err != nil {
			return err
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "manifests", "components", "install"))
	if err != nil {
		return fmt.Errorf("making the manifests of the installer: %w", err)
	}
	text, err := made.AsYaml()
	if err != nil {
		return fmt.Errorf("making the manifests of the installer: %w", err)
	}
	all, err := objects(bytes.ReplaceAll(text, []byte("poundlock:unset"), []byte(InstallerImage)))
	if err != nil {
		return err
	}
	return apply(ctx, s.Admin, all...)
}

func (s *Stage) applyFile(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all, err := objects(text)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return apply(ctx, s.Admin, all...)
}

// releaseValues gives every image, and every variable without a default, some value. Only the core manager runs here.
func (s *Stage) releaseValues(ctx context.Context, files []string) error {
	images, variables := map[string]string{}, map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		all, err := objects(text)
		if err != nil {
			return err
		}
		cm := &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all[0].Object, cm); err != nil {
			return err
		}
		piece, err := bundle.Unpack(cm)
		if err != nil {
			return err
		}
		whole, err := bundle.Merge([]bundle.Piece{piece})
		if err != nil {
			return err
		}
		for _, image := range whole.Images {
			images[image.Key] = imageOf(image.Key)
			if image.Key != CoreKey {
				s.pods.kubelet.Programs[imageOf(image.Key)] = standin.Program{}
			}
		}
		for _, v := range whole.Variables {
			if v.Required {
				variables[v.Name] = "unset"
			}
		}
	}
	raw, err := json.Marshal(images)
	if err != nil {
		return err
	}
	configMap := func(name string, data map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": clusterAPI}, "data": data,
		}}
	}
	return apply(ctx, s.Admin, configMap(bundle.ImagesConfigMap, map[string]any{"images.json": string(raw)}), configMap(bundle.VariablesConfigMap, variables))
}

func (s *Stage) waitForInstaller(ctx context.Context) error {
	last := "there is no ClusterOperator " + installation.OperatorName
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterOperator"))
		if err := s.Admin.Get(ctx, client.ObjectKey{Name: installation.OperatorName}, o); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		last = without(o, "Available", "Upgradeable")
		if last == "" && conditionOf(o, "Progressing") != "False" {
			last = "it is progressing"
		}
		return last == "", nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for the installer: %s; the logs of its pods are in %s", last, filepath.Dir(s.Plane.Log(Poundlock)))
	}
	return err
}
