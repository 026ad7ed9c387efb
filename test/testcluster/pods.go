// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/standin"
)

// pods has what runs pods, and the API server's way to them.
type pods struct {
	kubelet *standin.Kubelet
	network *standin.Network
	// dir is the folder of the egress selector's file and of the socket that the file names.
	dir string
}

// lay makes the control plane reach Services, and run the controllers of Deployments.
func (s *Stage) lay(o *embedded.Options) (err error) {
	s.pods.kubelet = &standin.Kubelet{Namespace: clusterAPI, Programs: map[string]standin.Program{}}
	for image, path := range s.options.Programs {
		s.pods.kubelet.Programs[image] = poundlock(path)
	}
	if s.pods.dir, err = os.MkdirTemp("", "poundlock-egress-"); err != nil { // not in the control plane's folder, because the name of a socket must be short
		return err
	}
	if s.pods.network, err = standin.NewNetwork(s.pods.kubelet, s.pods.dir); err != nil {
		return err
	}
	file := filepath.Join(s.pods.dir, "egress.yaml")
	o.APIServerArgs = append(o.APIServerArgs, "--egress-selector-config-file="+file)
	o.ControllerManagerArgs = append(o.ControllerManagerArgs, "--controllers=deployment-controller,replicaset-controller,endpointslice-controller")
	return s.pods.network.Configure(file)
}

// poundlock returns the program with which the kubelet runs a binary of Poundlock.
func poundlock(path string) standin.Program {
	return standin.Program{Path: path, Variable: func(port, address string) string {
		return "POUNDLOCK_" + strings.ToUpper(port) + "_BIND_ADDRESS=" + address
	}}
}

func (p pods) end() {
	if p.network != nil {
		_ = p.network.Close()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// startPods runs pods until the stage ends.
func (s *Stage) startPods(ctx context.Context) error {
	c, err := client.New(s.admin(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return err
	}
	s.pods.kubelet.Client, s.pods.kubelet.Plane = c, s.Plane
	if err := s.pods.kubelet.Join(ctx); err != nil {
		return err
	}
	ca := &standin.Standin{Client: c, Namespace: clusterAPI, CA: s.Plane.Admin().CAData, Issue: s.Plane.Issue, Controllers: true}
	playing, end := context.WithCancel(context.Background())
	s.endStandIn = end
	go s.pods.kubelet.Run(playing)
	go s.pods.network.Run(playing, c)
	go ca.Run(playing)
	return nil
}
