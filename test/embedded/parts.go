// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/poundlock/poundlock/test/build"
)

// controllers are the controllers of kube-controller-manager that matter to Poundlock. None of them makes a pod or a node.
var controllers = []string{
	"garbage-collector-controller",
	"namespace-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller",
	"clusterrole-aggregation-controller", // Cluster API's role is an aggregate
	"disruption-controller",              // evictions obey a PodDisruptionBudget by its status
}

func (p *Plane) run(part string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return fmt.Errorf("starting %s: the control plane was stopped", part)
	}
	if p.running[part] != nil {
		return fmt.Errorf("starting %s: it runs already, pid %d", part, p.running[part].cmd.Process.Pid)
	}
	child, err := launch(p.spawner, part, filepath.Join(p.bin, part), p.Log(part), p.args(part), []string{Collecting}, p.died)
	if err != nil {
		return err
	}
	p.running[part] = child
	delete(p.last, part)
	return nil
}

func (p *Plane) args(part string) []string {
	switch part {
	case build.Etcd:
		return p.etcdArgs()
	case build.APIServer:
		return append(p.apiServerArgs(), p.options.APIServerArgs...)
	default:
		return append(p.controllerManagerArgs(), p.options.ControllerManagerArgs...)
	}
}

func (p *Plane) etcdArgs() []string {
	return []string{
		"--data-dir=" + filepath.Join(p.dir, "etcd"),
		"--listen-client-urls=" + p.etcdURL(),
		"--advertise-client-urls=" + p.etcdURL(),
		"--cert-file=" + p.keys.etcdServing.certFile,
		"--key-file=" + p.keys.etcdServing.keyFile,
		"--client-cert-auth",
		"--trusted-ca-file=" + p.keys.etcd.certFile,
		// etcd has no peers. The peer port is any free one, and a client without a certificate cannot use it.
		"--listen-peer-urls=https://127.0.0.1:0",
		"--initial-advertise-peer-urls=https://127.0.0.1:2380",
		"--initial-cluster=default=https://127.0.0.1:2380",
		"--peer-cert-file=" + p.keys.etcdServing.certFile,
		"--peer-key-file=" + p.keys.etcdServing.keyFile,
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + p.keys.etcd.certFile,
		// Without fsync everything is several times faster. A crash of the machine may cost the data, but a crash of etcd does not.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (p *Plane) apiServerArgs() []string {
	return []string{
		"--etcd-servers=" + p.etcdURL(),
		"--etcd-cafile=" + p.keys.etcd.certFile,
		"--etcd-certfile=" + p.keys.etcdClient.certFile,
		"--etcd-keyfile=" + p.keys.etcdClient.keyFile,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.ports.API),
		// Nobody looks for this server through the Service "kubernetes", and a loopback address is not allowed in its endpoints.
		"--endpoint-reconciler-type=none",
		"--advertise-address=127.0.0.1",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file=" + p.keys.apiServing.certFile,
		"--tls-private-key-file=" + p.keys.apiServing.keyFile,
		"--client-ca-file=" + p.keys.api.certFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.keys.serviceAccount.certFile,
		"--service-account-signing-key-file=" + p.keys.serviceAccount.keyFile,
		"--allow-privileged=true",
		"--profiling=false",
	}
}

func (p *Plane) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + p.path("controller-manager.kubeconfig"),
		"--controllers=" + strings.Join(controllers, ","),
		"--service-account-private-key-file=" + p.keys.serviceAccount.keyFile,
		"--root-ca-file=" + p.keys.api.certFile,
		fmt.Sprintf("--listen=127.0.0.1:%d", p.ports.Manager),
		"--tls-cert-file=" + p.keys.apiServing.certFile,
		"--tls-private-key-file=" + p.keys.apiServing.keyFile,
	}
}

func (p *Plane) etcdURL() string { return fmt.Sprintf("https://127.0.0.1:%d", p.ports.Etcd) }
