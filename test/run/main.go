// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/testcluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for an orderly end
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "run:", sentence(err))
		os.Exit(1)
	}
}

// endings returns the signals that end the program. Under nohup the program stays when the terminal is closed.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// run starts everything, prints what to try, and waits until ctx ends or something breaks.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := options(args, out)
	if err != nil {
		return err
	}
	if o.private {
		return runPrivate(ctx, o.Options, out)
	}
	began := time.Now()
	stage, err := testcluster.Set(ctx, o.Options)
	if stage == nil && ctx.Err() != nil {
		fmt.Fprintln(out, "stopped before it was up")
		return nil //nolint:nilerr // the start did not finish, because it was interrupted
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "up after %.0f s\n", time.Since(began).Seconds())
	err = errors.Join(hint(out, stage, o.Options), wait(ctx, out, stage, o.Options, lines(os.Stdin)))
	fmt.Fprintln(out, "\nstopping")
	if err := errors.Join(err, stage.Strike()); err != nil {
		return err
	}
	fmt.Fprintf(out, "stopped; what was there is kept in %s for the next start, and `rm -r` of it starts anew\n", short(o.Dir))
	return nil
}

// settings has the values of the flags.
type settings struct {
	testcluster.Options
	private bool // show private types, and no fleet
}

func options(args []string, out io.Writer) (settings, error) {
	root, err := build.Root()
	if err != nil {
		return settings{}, err
	}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	platform := flags.String("platform", "aws", "what the cluster runs on")
	dir := flags.String("dir", "",
		"where everything is kept; .run of the checkout if empty, and for another platform than AWS, or with a control plane, a folder in it")
	port := flags.Int("port", 0, "the API server's port on 127.0.0.1; 0 is the last one, or a free one")
	manager := flags.Bool("manager", true, "run Poundlock's manager; without it, roles, policies and webhook configurations are there, and nothing answers")
	bare := flags.Bool("bare", false, "leave Poundlock out: a cluster as it was before")
	controlPlane := flags.Int("control-plane", 0, "how many Machines a control plane has that is whole and managed, 3 or 5; 0 for the one Machine of the fleet")
	others := flags.Bool("neighbours", false, "have stand-ins for OpenShift's other components write to the Machine API's objects, too")
	install := flags.Bool("install", false,
		"install Cluster API and the platform's provider by poundlock install, and nothing else: no fleet, and no process behind the provider's Deployment")
	private := flags.Bool("private", false,
		"show private types of Cluster API instead: its core manager behind the proxy, beside the platform's definitions, and no fleet")
	boot := flags.Duration("boot-time", 2*time.Second, "how long a simulated instance takes to boot")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if !*manager && *controlPlane > 0 {
		return settings{}, errors.New("--manager=false: a control plane is raised by Poundlock; start it with the manager, and stop that once it is up")
	}
	if *private && (*platform != "aws" || *install || *bare || *others || !*manager || *controlPlane > 0) {
		return settings{}, errors.New("--private shows private types alone: give it no other flag than --dir and --port")
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("%q is no flag: see --help", flags.Arg(0))
	}
	if *dir == "" {
		*dir = filepath.Join(root, ".run")
		if name := strings.ToLower(*platform); name != "aws" {
			*dir = filepath.Join(*dir, "on", name)
		}
		if *private {
			*dir = filepath.Join(*dir, "private")
		}
		if *install {
			*dir = filepath.Join(*dir, "installed")
		}
		if *controlPlane > 0 {
			*dir = filepath.Join(*dir, "with-control-plane")
		}
	}
	if _, err := platformstest.Named(*platform); err != nil { // before a folder of that name exists
		return settings{}, err
	}
	if n := *controlPlane; n != 0 && n != 3 && n != 5 {
		return settings{}, fmt.Errorf("--control-plane=%d: a ControlPlaneMachineSet manages 3 Machines or 5", n)
	}
	return settings{private: *private, Options: testcluster.Options{Platform: *platform, Dir: *dir, Port: *port, BootTime: *boot, Bare: *bare,
		WithoutManager: !*manager, ControlPlane: *controlPlane, Neighbours: *others, Install: *install, Out: out}}, nil
}

// lines delivers the lines that are typed. Without a terminal it delivers nothing.
func lines(in io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			out <- strings.ToLower(strings.TrimSpace(scanner.Text()))
		}
	}()
	return out
}

// hint prints what runs and what to type.
func hint(out io.Writer, stage *testcluster.Stage, o testcluster.Options) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	kubectl := ""
	if _, err := exec.LookPath("kubectl"); err != nil {
		kubectl = filepath.Dir(stage.Plane.Kubectl())
	}
	if o.Install {
		return installed.Execute(out, greeting{Kubeconfig: stage.Plane.KubeconfigPath(), KubectlDir: kubectl, Plugin: filepath.Join(root, "bin"),
			Logs: short(filepath.Dir(stage.Plane.Log(testcluster.Poundlock))), Dir: short(o.Dir)})
	}
	return welcome.Execute(out, greeting{
		Kubeconfig: stage.Plane.KubeconfigPath(), KubectlDir: kubectl, Plugin: filepath.Join(root, "bin"),
		Logs: short(filepath.Dir(stage.Plane.Log(testcluster.Poundlock))),
		Dir:  short(o.Dir), Cloud: stage.Cloud.URL(), Metrics: stage.MetricsURL(), Alone: stage.Alone(), Why: stage.WhyNot(),
		ControlPlane: stage.ManagesControlPlane(), Stopped: o.WithoutManager, Bare: o.Bare,
	})
}

// greeting is the text that a person reads once everything is up.
type greeting struct {
	Kubeconfig, KubectlDir, Plugin, Logs, Dir, Cloud, Metrics, Alone, Why string
	ControlPlane, Stopped, Bare                                           bool
}

var welcome = template.Must(template.New("welcome").Parse(`
{{if .Bare}}A cluster without Poundlock is up.
{{- else if .Stopped}}The cluster is up, and Poundlock is installed and stopped. Type start here, and Enter, to start it.
{{- else}}Poundlock is up.
{{- end}} In another terminal:

  export KUBECONFIG="{{.Kubeconfig}}"
{{- with .KubectlDir}}
  export PATH="{{.}}:$PATH"    # there is no kubectl in your PATH: this one came with the control plane
{{- end}}

The plugin, kubectl poundlock, answers most questions. In the checkout, once:

  make build && export PATH="{{.Plugin}}:$PATH"
  kubectl poundlock status
  kubectl poundlock check

A bare "machineset" means Cluster API's, which comes first in the alphabet: say which one.

1  See the fleet, as the Machine API tells it:
     kubectl -n openshift-machine-api get machinesets.machine.openshift.io,machines.machine.openshift.io
2  Scale a set on the side that is not authoritative:
     kubectl -n openshift-cluster-api scale machinesets.cluster.x-k8s.io worker-a --replicas 3
3  Delete on that side, to see what would come of it:
     kubectl -n openshift-cluster-api delete machines.cluster.x-k8s.io {{.Alone}} --dry-run=server
4  Hand the set over to Cluster API (and back, with MachineAPI in its place):
     kubectl -n openshift-machine-api patch machinesets.machine.openshift.io worker-a --type merge -p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'
5  Ask for what cannot be: {{.Why}}:
     kubectl -n openshift-machine-api patch machinesets.machine.openshift.io worker-b --type merge -p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'
6  See who asked the cloud for what, and have it go wrong: the first page tells how:
     curl {{.Cloud}}  {{.Cloud}}/instances  '{{.Cloud}}/ledger?machine={{.Alone}}'  {{.Cloud}}/audit
{{- if not .Bare}}
   And read Poundlock's own metrics, which the runbooks name:
     curl -s {{.Metrics}} | grep ^poundlock_
{{- end}}
{{- if .ControlPlane}}
7  Read what to make the control plane's set Active would do, do so, and ask for larger machines; then see how they come and go, and etcd's members with them:
     kubectl -n openshift-machine-api patch controlplanemachinesets.machine.openshift.io cluster --type merge -p '{"spec":{"state":"Active"}}' --dry-run=server
     kubectl -n openshift-machine-api patch controlplanemachinesets.machine.openshift.io cluster --type merge -p '{"spec":{"state":"Active"}}'
     kubectl -n openshift-machine-api edit controlplanemachinesets.machine.openshift.io cluster
     kubectl get clusteroperators.config.openshift.io control-plane-machine-set -o yaml
     kubectl -n openshift-etcd get configmap etcd-members -o yaml
{{- end}}

{{if not .Bare}}See what still works while Poundlock is down: type stop here, and Enter; start starts it again. Or begin so: make run MANAGER=off
What you delete of Poundlock's own, such as a webhook configuration, comes back so too: where a message names kubectl apply -k deploy, type stop and start here.
{{end -}}
Logs are in {{.Logs}}. Ctrl-C stops everything. What is there stays in {{.Dir}}: the same command goes on from it, and after rm -r {{.Dir}} it starts anew.
`))

var installed = template.Must(template.New("installed").Parse(`
Cluster API is installed. The installer and Cluster API's real core manager run as pods; no process runs behind the infrastructure provider's Deployment.
In another terminal:

  export KUBECONFIG="{{.Kubeconfig}}"
{{- with .KubectlDir}}
  export PATH="{{.}}:$PATH"    # there is no kubectl in your PATH: this one came with the control plane
{{- end}}
  make build && export PATH="{{.Plugin}}:$PATH"    # in the checkout, once

1  See the providers, their versions and stages:
     kubectl poundlock providers
     kubectl get clusteroperators.config.openshift.io cluster-api -o yaml
     kubectl -n openshift-cluster-api get pods,deployments.apps
2  Ask Cluster API's webhooks for a rule in the older version, and read it in the newer one:
     echo '{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"MachineDrainRule","metadata":{"name":"skip"},"spec":{"drain":{"behavior":"Skip"}}}' | kubectl -n openshift-cluster-api apply -f -
     kubectl -n openshift-cluster-api get machinedrainrules.v1beta2.cluster.x-k8s.io skip -o yaml
3  Kill the manager, and see its pod come back:
     kill -9 $(pgrep -f pods/capi-controller-manager)
     kubectl -n openshift-cluster-api get pods
4  Add a container, and see it go:
     kubectl -n openshift-cluster-api patch deployments.apps capi-controller-manager -p '{"spec":{"template":{"spec":{"containers":[{"name":"spy","image":"spy"}]}}}}'
     kubectl -n openshift-cluster-api get deployments.apps capi-controller-manager -o jsonpath='{.spec.template.spec.containers[*].name}{"\n"}'
     kubectl -n openshift-cluster-api get events --field-selector reason=DriftRemoved
5  Delete what is installed, and see it come back:
     kubectl -n openshift-cluster-api delete deployments.apps capi-controller-manager
     kubectl -n openshift-cluster-api wait --for=create deployments.apps/capi-controller-manager
     kubectl -n openshift-cluster-api rollout status deployments.apps/capi-controller-manager
6  Delete a provider's ConfigMap: what was installed stays, and the ClusterOperator is degraded. Apply it again to end that:
     kubectl -n openshift-cluster-api delete configmaps cluster-api
     kubectl poundlock providers
     kubectl apply -f {{.Dir}}/bundles/0000_30_cluster-api_04_cm.cluster-api.yaml

Logs are in {{.Logs}}. Ctrl-C stops everything. What is there stays in {{.Dir}}: the same command goes on from it, and after rm -r {{.Dir}} it starts anew.
`))

// short returns a path as a person would type it in this folder.
func short(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(wd, path)
	if err != nil || !filepath.IsLocal(relative) {
		return path
	}
	return relative
}

// sentence adds to an error of the operating system what a person can do about it.
func sentence(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return "the disk is full: free some space and start again: " + err.Error()
	}
	return err.Error()
}
