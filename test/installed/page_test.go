// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"errors"
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
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
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
	stories.Long(t)
	p, page := newPlace(t), read(t)
	p.elsewhere = page[0].patches[0]
	for _, commands := range page[0].once {
		if strings.Contains(commands, "featuregates") {
			p.types(t, strings.TrimSpace(commands)+" --dry-run=server")
		}
	}
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
	blocks []typed
	// patches are for the kustomization of some clusters, in YAML.
	patches []string
	// once are commands of other clusters, or such as cannot be taken back.
	once []string
}

// typed are commands, and lines of what they print.
type typed struct{ commands, prints string }

var block = regexp.MustCompile("(?sm)^ *```(sh|text|yaml|shell)\n(.*?)^ *```")

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
			switch kind, text := found[1], found[2]; kind {
			case "sh":
				s.blocks = append(s.blocks, typed{commands: text})
			case "text":
				s.blocks[len(s.blocks)-1].prints = text
			case "yaml":
				s.patches = append(s.patches, text)
			case "shell":
				s.once = append(s.once, text)
			}
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
		commands := strings.ReplaceAll(b.commands, "overlays/openshift", "overlays/"+overlay)
		if overlay == "self-managed" && strings.Contains(commands, "mkdir -p deploy") {
			commands = strings.Replace(commands, "kubectl apply -k deploy", "cat >> deploy/kustomization.yaml <<'PATCHES'\n"+p.elsewhere+"PATCHES\nkubectl apply -k deploy", 1)
		}
		out := p.types(t, commands)
		for line := range strings.Lines(b.prints) {
			if !printed(out, line) {
				t.Errorf("the page has %q of what this prints:\n%s", line, out)
			}
		}
	}
}

// printed reports whether a line is in what was printed, whatever the spaces between its words are. Any word stands for ….
func printed(out, line string) bool {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.ReplaceAll(regexp.QuoteMeta(word), "…", `\S+`)
	}
	return regexp.MustCompile(`(?m)^` + strings.Join(words, `\s+`) + `\s*$`).MatchString(out)
}

// TestThePagesPatches renders the page's patches with its own kustomization.
func TestThePagesPatches(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range read(t) {
		all = append(all, s.patches...)
	}
	if len(all) != 3 {
		t.Fatalf("%d patches", len(all))
	}
	for i, c := range []struct{ overlay, has, lacks string }{
		{"self-managed", "--feature-gate=on", "nodeSelector:"}, {"self-managed", "--feature-gate=on", ""}, {"cert-manager", "kind: ClusterIssuer", "kind: Issuer\n"},
	} {
		disk := filesys.MakeFsOnDisk()
		dir := filepath.Join(t.TempDir(), "checkout")
		if err := os.CopyFS(filepath.Join(dir, "manifests"), os.DirFS(filepath.Join(root, "manifests"))); err != nil {
			t.Fatal(err)
		}
		text := "resources: [../manifests/overlays/" + c.overlay + "]\n" + all[i]
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "deploy"), 0o750), os.WriteFile(filepath.Join(dir, "deploy", "kustomization.yaml"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, filepath.Join(dir, "deploy"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		out, err := found.AsYaml()
		if err != nil || !strings.Contains(string(out), c.has) || c.lacks != "" && strings.Contains(string(out), c.lacks) {
			t.Errorf("%s\nmakes no %q, or %q, %v:\n%s", text, c.has, c.lacks, err, out)
		}
	}
}

// TestAClusterThatIsNotOpenShift types what the page has for a cluster without the CRDs of the Machine API.
func TestAClusterThatIsNotOpenShift(t *testing.T) {
	embedded.LeaveOut(t)
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	plane := embedded.ForTest(t, embedded.Options{})
	p := &place{dir: root, kubectl: plane.Kubectl(), kubeconfig: plane.KubeconfigPath()}
	typed := 0
	for _, s := range read(t) {
		for _, commands := range s.once {
			if strings.Contains(commands, "featuregates") {
				continue // OpenShift's: TestThePage has it
			}
			p.types(t, commands)
			typed++
		}
	}
	if typed != 2 {
		t.Errorf("%d blocks of commands", typed)
	}
	for _, kind := range []string{"machines", "machinesets", "machinehealthchecks", "controlplanemachinesets"} {
		if out := p.types(t, "kubectl get crd "+kind+".machine.openshift.io -o yaml"); !strings.Contains(out, "authoritativeAPI") {
			t.Errorf("the CRD of %s has no authoritativeAPI", kind)
		}
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
