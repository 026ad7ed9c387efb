// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scene

import (
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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/standin"
)

// Installer is the name of the installer's process and of its log.
const Installer = installation.Manager

// shipped are providers as their modules ship them, by the Infrastructure's name of the platform; "" is for all.
var shipped = map[string][]struct{ module, dir, name, kind, version string }{
	"":          {{"sigs.k8s.io/cluster-api", "config/default", "cluster-api", "core", "v1.13.6"}},
	"AWS":       {{"sigs.k8s.io/cluster-api-provider-aws/v2", "config/default", "aws", "infrastructure", "v2.13.0"}},
	"Azure":     {{"sigs.k8s.io/cluster-api-provider-azure", "config/capz", "azure", "infrastructure", "v1.26.0"}},
	"GCP":       {{"sigs.k8s.io/cluster-api-provider-gcp", "config/default", "gcp", "infrastructure", "v1.13.1"}},
	"OpenStack": {{"sigs.k8s.io/cluster-api-provider-openstack", "config/default", "openstack", "infrastructure", "v0.14.6"}},
	"VSphere":   {{"sigs.k8s.io/cluster-api-provider-vsphere", "config/default", "vsphere", "infrastructure", "v1.15.2"}},
}

// installerSteps bring Cluster API through `poundlock install`, from bundles that are made in the same run.
func (s *Stage) installerSteps() []step {
	return []step{
		{"building Poundlock", s.buildManager},
		{"bundling the providers of Cluster API, as their repositories would: poundlock bundle", s.bundle},
		{"starting poundlock install, with its own account and role, and stand-ins for rollouts and the service CA", s.startInstaller},
		{"waiting until Cluster API is installed", s.waitForInstaller},
	}
}

func (s *Stage) bundlesDir() string { return filepath.Join(s.Plane.Dir(), "bundles") }

// bundle runs poundlock bundle for core and for the platform's provider.
func (s *Stage) bundle(ctx context.Context) error {
	own, known := shipped[s.kit.Platform.Name]
	if !known {
		return fmt.Errorf("no module with the manifests of %s is listed: use aws, azure, gcp, openstack or vsphere", s.kit.Platform.Name)
	}
	for _, p := range append(own, shipped[""]...) {
		root, err := build.ModuleDir(ctx, p.module)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, s.binary(), "bundle", "--kustomize", filepath.Join(root, p.dir), "--name", p.name, "--type", p.kind, "--version", p.version, "--out", s.bundlesDir())
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("bundling %s: %w:\n%s", p.name, err, said)
		}
	}
	return nil
}

// startInstaller applies what a release brings, and starts the installer and the stand-ins.
func (s *Stage) startInstaller(ctx context.Context) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	component := filepath.Join(root, "manifests", "components", "install")
	for _, file := range []string{filepath.Join(component, "serviceaccount.yaml"), filepath.Join(component, "roles.yaml")} {
		if err := s.applyFile(ctx, file); err != nil {
			return err
		}
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
	if err := s.standIn(); err != nil {
		return err
	}
	identity, err := s.Plane.As("system:serviceaccount:" + clusterAPI + ":" + Installer)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(s.Plane.Dir(), Installer+".kubeconfig")
	if err := s.Plane.Kubeconfig(identity, kubeconfig); err != nil {
		return err
	}
	return s.Plane.Attach(Installer, s.binary(), "install", "--kubeconfig="+kubeconfig, "--metrics-bind-address=0", "--health-bind-address=0")
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

// releaseValues gives each image and each variable without a default some value: nothing runs them here.
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
			images[image.Key] = "registry.example.com/" + image.Key + "@sha256:" + strings.Repeat("0", 64)
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

// standIn plays rollouts and the service CA for as long as the stage stands.
func (s *Stage) standIn() error {
	c, err := client.New(s.admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.endStandIn = cancel
	play := &standin.Standin{Client: c, Namespace: clusterAPI, CA: s.Plane.Admin().CAData}
	go play.Run(ctx)
	return nil
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
		return fmt.Errorf("waiting for the installer: %s; its log is %s", last, s.Plane.Log(Installer))
	}
	return err
}
