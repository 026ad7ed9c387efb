// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/translation"
)

// Provider is a real provider, run as its own manifests run it.
type Provider struct {
	// Name is the name of its process and of its log.
	Name string
	// Groups is the prefix of the groups that its converter converts: "infrastructure.".
	Groups string
	// Contract are the labels that the provider's kustomization adds to its definitions. The core manager ignores definitions without them.
	Contract map[string]string
	Flags    []string
	// Env are additional variables, NAME=VALUE.
	Env []string

	build build.Provider
}

// InMemory returns the providers that make whole clusters in memory: kubeadm's for bootstrap and control plane, and the infrastructure provider for
// development. The API servers of their clusters have ports from 20000, so only one such stage can run at a time.
func InMemory() []Provider {
	contract := map[string]string{translation.Standard + "/v1beta1": "v1beta1", translation.Standard + "/v1beta2": "v1beta2"}
	flags := []string{"--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--feature-gates=MachinePool=false", "--namespace=" + Namespace, "--v=2"}
	return []Provider{
		{Name: "kubeadm-bootstrap", Groups: "bootstrap.", Contract: contract, Flags: flags, build: build.KubeadmBootstrap()},
		{Name: "kubeadm-control-plane", Groups: "controlplane.", Contract: contract, Flags: flags, build: build.KubeadmControlPlane()},
		{Name: "in-memory", Groups: "infrastructure.", Contract: contract, Flags: flags, Env: []string{"POD_IP=127.0.0.1"}, build: build.InMemory()},
	}
}

// AWS returns the provider of AWS, with made-up credentials, for the cloud at an address.
func AWS(cloud string) []Provider {
	return []Provider{{
		Name: "aws", Groups: "infrastructure.", Contract: map[string]string{translation.Standard + "/v1beta1": "v1beta1_v1beta2"}, build: build.AWS(),
		Flags: []string{
			"--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--feature-gates=MachinePool=false,EKS=false", "--namespace=" + Namespace, "--v=2",
			"--leader-elect", "--leader-elect-namespace=" + Namespace,
		},
		Env: []string{
			"AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_MAX_ATTEMPTS=1",
			"AWS_ENDPOINT_URL=" + cloud,
		},
	}}
}

// manager is a provider on a stage.
type manager struct {
	Provider
	binary           string
	webhooks, health int // ports
}

func (s *Stage) buildProviders(ctx context.Context) error {
	for _, p := range s.options.Providers {
		binary, err := p.build.Manager(ctx, s.options.Out)
		if err != nil {
			return err
		}
		s.managers = append(s.managers, &manager{Provider: p, binary: binary})
	}
	return nil
}

// define writes the definitions of the providers as their releases have them: with the labels of the contract.
func (s *Stage) define(ctx context.Context) error {
	if err := os.MkdirAll(s.path("provider"), 0o755); err != nil {
		return err
	}
	if len(s.managers) == 0 {
		all, err := platforms(ctx)
		if err != nil {
			return err
		}
		for _, crd := range all {
			if strings.HasPrefix(crd.Spec.Group, "infrastructure.") {
				if err := s.write(crd); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, m := range s.managers {
		folder, err := m.build.Definitions(ctx)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no definitions of %s in %s: %w", m.Name, folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(text, crd); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			crd.Labels = maps.Clone(m.Contract)
			if err := s.write(crd); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Stage) write(crd *apiextensionsv1.CustomResourceDefinition) error {
	text, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("provider", crd.Name+".yaml"), text, 0o600)
}

func (s *Stage) startProviders(ctx context.Context) error {
	for _, m := range s.managers {
		flags := append([]string{
			"--kubeconfig=" + s.ProxiedKubeconfig(), fmt.Sprintf("--webhook-port=%d", m.webhooks), "--webhook-cert-dir=" + s.path("serving"),
			"--health-addr=" + local(m.health),
		}, m.Flags...)
		if err := s.Plane.AttachWith(m.Env, m.Name, m.binary, flags...); err != nil {
			return err
		}
	}
	for _, m := range s.managers {
		if err := s.ready(ctx, m.Name, m.health); err != nil {
			return err
		}
	}
	return nil
}
