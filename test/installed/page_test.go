// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/poundlock/poundlock/test/stories"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/build"
)

// overlays are the ways to a certificate, and what a cluster of that way has.
var overlays = []struct {
	name   string
	before func(*testing.T, *place)
}{
	{"self-managed", func(*testing.T, *place) {}},
	{"cert-manager", certManager},
	{"openshift", prometheus},
}

// TestThePage types docs/install.md from top to bottom, for each overlay, in one cluster: what an installation leaves behind would meet the next.
func TestThePage(t *testing.T) {
	p, page := newPlace(t), read(t)
	there := p.left(t)
	for i, o := range overlays {
		t.Run(o.name, func(t *testing.T) {
			if i > 0 {
				stories.Long(t)
			}
			o.before(t, p)
			for _, s := range page {
				if s.title == "Upgrade" {
					p.underLoad(t, func() { p.typesAll(t, s, o.name) })
					continue
				}
				p.typesAll(t, s, o.name)
			}
			if left := p.left(t); !slices.Equal(left, there) {
				t.Errorf("Poundlock has left:\n%s\nbefore there was:\n%s", strings.Join(left, "\n"), strings.Join(there, "\n"))
			}
		})
		if t.Failed() {
			return // the next would meet what is left of this one
		}
	}
}

// section is a part of the page, with its commands.
type section struct {
	title  string
	blocks []string
}

var block = regexp.MustCompile("(?s)```sh\n(.*?)```")

func read(t *testing.T) []section {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []section
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		s := section{title: title}
		for _, found := range block.FindAllStringSubmatch(body, -1) {
			s.blocks = append(s.blocks, found[1])
		}
		out = append(out, s)
	}
	var titles []string
	for _, s := range out {
		titles = append(titles, s.title)
	}
	if want := []string{"Before", "The image", "Install", "Upgrade", "Leave"}; !slices.Equal(titles, want) {
		t.Fatalf("docs/install.md is about %v, want %v", titles, want)
	}
	return out
}

func (p *place) typesAll(t *testing.T, s section, overlay string) {
	t.Helper()
	for _, b := range s.blocks {
		p.types(t, strings.ReplaceAll(b, "overlays/openshift", "overlays/"+overlay))
	}
}

// underLoad does something, and restarts the Deployment, while several clients ask for a move, which fails closed. None is refused.
func (p *place) underLoad(t *testing.T, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asked, refused atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			next := time.NewTicker(pace())
			defer next.Stop()
			for ctx.Err() == nil {
				<-next.C
				set := &machinev1beta1.MachineSet{}
				set.Namespace, set.Name = "openshift-machine-api", "worker-a"
				move := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`))
				err := p.stage.Admin.Patch(ctx, set, move, client.DryRunAll)
				if ctx.Err() != nil {
					return
				}
				asked.Add(1)
				if err != nil && !slow(err) && refused.Add(1) <= 10 {
					t.Errorf("request %d: %v", asked.Load(), err)
				}
			}
		})
	}
	const gone = "until [ $(kubectl -n openshift-cluster-api get pods -o name | wc -l) = 2 ]; do sleep 1; done"
	do()
	p.types(t, gone)
	for range restarts() {
		p.types(t, "kubectl -n openshift-cluster-api rollout restart deployment/poundlock")
		p.types(t, "kubectl -n openshift-cluster-api rollout status deployment/poundlock --timeout=3m")
		p.types(t, gone)
	}
	stop()
	clients.Wait()
	t.Logf("%d rollouts, %d requests, %d refused", 1+restarts(), asked.Load(), refused.Load())
	if asked.Load() < 20 {
		t.Errorf("%d requests are no proof", asked.Load())
	}
}

// slow is a replica's own answer, that the API server took longer than a second for a read: a machine is busy, and nobody was restarted.
func slow(err error) bool {
	return strings.Contains(err.Error(), "denied the request") && strings.Contains(err.Error(), "did not answer in time")
}

// pace is the time from one request of a client to the next: ten a second are a load, and leave a processor to those who restart.
func pace() time.Duration {
	if *complete {
		return time.Millisecond
	}
	return 100 * time.Millisecond
}

func restarts() int {
	if *complete {
		return 10
	}
	return 0
}

// left lists what of Poundlock's is in the cluster: objects by label and by name, and its label, finalizers and annotations on others' objects.
func (p *place) left(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, kind := range []string{
		"deployments.apps", "pods", "services", "serviceaccounts", "secrets", "configmaps", "poddisruptionbudgets.policy", "leases.coordination.k8s.io",
		"roles.rbac.authorization.k8s.io",
		"rolebindings.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
		"validatingwebhookconfigurations.admissionregistration.k8s.io", "mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
	} {
		for name := range strings.Lines(p.quietly(t, fmt.Sprintf("kubectl get %s -A -o name | grep poundlock || true", kind))) {
			out = append(out, strings.TrimSpace(name))
		}
	}
	const marked = `kubectl get namespaces,crds,machines.machine.openshift.io,machinesets.machine.openshift.io,machines.cluster.x-k8s.io,machinesets.cluster.x-k8s.io,clusters.cluster.x-k8s.io,` +
		`awsmachines.infrastructure.cluster.x-k8s.io,awsmachinetemplates.infrastructure.cluster.x-k8s.io,awsclusters.infrastructure.cluster.x-k8s.io -A ` +
		`-o jsonpath='{range .items[*]}{.kind} {.metadata.name} {.metadata.labels} {.metadata.annotations} {.metadata.finalizers}{"\n"}{end}' | ` +
		`grep -E 'poundlock.openshift.io|sync.machine.openshift.io' || true`
	for line := range strings.Lines(p.quietly(t, marked)) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func (p *place) quietly(t *testing.T, command string) string {
	t.Helper()
	out, err := p.shell(t.Context(), command)
	if err != nil {
		t.Fatalf("$ %s: %v\n%s", command, err, out)
	}
	return out
}
