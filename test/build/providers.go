// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"io"
	"path/filepath"
)

// Provider is a real provider of Cluster API.
type Provider struct {
	program program
	bases   string // the folder of its definitions, in the module
}

const (
	inMemoryModule = clusterAPIModule + "/test"
	awsModule      = "sigs.k8s.io/cluster-api-provider-aws/v2"
)

// KubeadmBootstrap is the bootstrap provider of kubeadm. With KubeadmControlPlane and InMemory it makes whole clusters, which exist only in the memory of
// InMemory.
func KubeadmBootstrap() Provider {
	return kubeadm("bootstrap")
}

// KubeadmControlPlane is the control plane provider of kubeadm.
func KubeadmControlPlane() Provider {
	return kubeadm("controlplane")
}

func kubeadm(name string) Provider {
	p := clusterAPIProgram()
	p.what, p.folder, p.main = "Cluster API's "+name+" provider of kubeadm", "kubeadm", clusterAPIModule+"/"+name+"/kubeadm"
	return Provider{program: p, bases: name + "/kubeadm/config/crd/bases"}
}

// InMemory is Cluster API's infrastructure provider for development.
func InMemory() Provider {
	p := clusterAPIProgram()
	p.what, p.folder, p.pinned, p.main = "Cluster API's development provider", "inmemory", inMemoryModule, inMemoryModule+"/infrastructure/docker"
	return Provider{program: p, bases: "infrastructure/docker/config/crd/bases"}
}

// AWS is Cluster API's provider of AWS.
func AWS() Provider {
	p := clusterAPIProgram()
	p.what, p.product, p.folder, p.pinned, p.main = "Cluster API's provider of AWS", "Cluster API Provider AWS", "capa", awsModule, awsModule
	p.ldflags = func(v string) string { return version(awsModule+"/version", v) }
	return Provider{program: p, bases: "config/crd/bases"}
}

// Manager returns the path of the provider's manager. It builds the manager if the cache has no verified build.
func (p Provider) Manager(ctx context.Context, progress io.Writer) (path string, err error) {
	dir, err := p.program.get(ctx, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, p.program.binary), nil
}

// Definitions returns the folder with the provider's CustomResourceDefinitions.
func (p Provider) Definitions(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := moduleDir(ctx, filepath.Join(root, "test", p.program.folder), p.program.pinned)
	return filepath.Join(dir, p.bases), err
}
