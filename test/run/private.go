// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"text/template"
	"time"

	"github.com/poundlock/poundlock/test/private"
	"github.com/poundlock/poundlock/test/testcluster"
)

// runPrivate does what run does, for private types.
func runPrivate(ctx context.Context, o testcluster.Options, out io.Writer) error {
	began := time.Now()
	stage, err := private.Set(ctx, private.Options{Dir: o.Dir, Port: o.Port, Out: out})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(out, "stopped before it was up")
		return nil //nolint:nilerr // the start did not finish, because it was interrupted
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "up after %.0f s\n", time.Since(began).Seconds())
	kubectl := ""
	if _, err := exec.LookPath("kubectl"); err != nil {
		kubectl = filepath.Dir(stage.Plane.Kubectl())
	}
	metrics := stage.MetricsURLs()
	err = faces.Execute(out, twoFaces{
		Kubeconfig: stage.Plane.KubeconfigPath(), Proxied: stage.ProxiedKubeconfig(), KubectlDir: kubectl, Plugin: filepath.Join(stage.Plane.Dir(), "bin"),
		Namespace:    private.Namespace,
		ProxyMetrics: metrics[0], ShimMetrics: metrics[1], Logs: short(filepath.Dir(stage.Plane.Log(private.Proxy))), Dir: short(o.Dir),
	})
	if err == nil {
		select {
		case <-ctx.Done():
		case <-stage.Broken:
			err = stage.Cause()
		}
	}
	fmt.Fprintln(out, "\nstopping")
	return errors.Join(err, stage.Strike())
}

// twoFaces is the text that a person reads about private types.
type twoFaces struct {
	Kubeconfig, Proxied, KubectlDir, Plugin, Namespace, ProxyMetrics, ShimMetrics, Logs, Dir string
}

var faces = template.Must(template.New("faces").Parse(`
The API server has the platform's types of Cluster API, and private ones beside them. Cluster API's real manager works on the private ones, through the proxy.
In another terminal:

  export KUBECONFIG="{{.Kubeconfig}}" PROXIED="{{.Proxied}}"
  export PATH="{{.Plugin}}:{{with .KubectlDir}}{{.}}:{{end}}$PATH"

1  Create a Cluster through the proxy, by its standard name:
     kubectl --kubeconfig "$PROXIED" -n {{.Namespace}} apply -f test/private/cluster.yaml
2  See its Machines as the manager does, and as the API server stores them:
     kubectl --kubeconfig "$PROXIED" -n {{.Namespace}} get machines.cluster.x-k8s.io
     kubectl -n {{.Namespace}} get machines.cluster.hypershift.openshift.io
3  Compare one object's two faces; the platform's own kind of that name has none:
     diff <(kubectl --kubeconfig "$PROXIED" -n {{.Namespace}} get machinedeployments.cluster.x-k8s.io workers -o yaml) \
       <(kubectl -n {{.Namespace}} get machinedeployments.cluster.hypershift.openshift.io workers -o yaml)
     kubectl -n {{.Namespace}} get machinedeployments.cluster.x-k8s.io
4  Scale it, and read it in the older version, for which the shim asks Cluster API's converter:
     kubectl --kubeconfig "$PROXIED" -n {{.Namespace}} scale machinedeployments.cluster.x-k8s.io workers --replicas 3
     kubectl --kubeconfig "$PROXIED" -n {{.Namespace}} get machinedeployments.v1beta1.cluster.x-k8s.io workers -o yaml
5  See what is installed, what discovery shows behind the proxy, and what proxy and shim count:
     kubectl poundlock private-types status
     kubectl --kubeconfig "$PROXIED" api-resources --api-group=cluster.x-k8s.io
     curl -s {{.ProxyMetrics}} {{.ShimMetrics}} | grep ^hypershift_
6  Delete the Cluster, and see the collector follow the owners:
     kubectl --kubeconfig "$PROXIED" -n {{.Namespace}} delete clusters.cluster.x-k8s.io c

Logs are in {{.Logs}}. Ctrl-C stops everything. What is there stays in {{.Dir}}; after rm -r {{.Dir}} it starts anew.
`))
