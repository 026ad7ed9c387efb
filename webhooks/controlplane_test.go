// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

const (
	sets     = `"resource":{"group":"machine.openshift.io","version":"v1","resource":"controlplanemachinesets"},"namespace":"m","name":"cluster"`
	smallSet = `{"metadata":{"name":"cluster","namespace":"m"},"spec":{"state":"Active","selector":{"matchLabels":{"role":"master"}},"replicas":3}}`
)

// A set's control plane is only looked up, by the set's selector, if a request changes the set's spec.
func TestControlPlaneIsLookedUp(t *testing.T) {
	for text, c := range map[string]struct {
		request string
		err     error
		asked   string
		allowed bool
		code    int32
	}{
		"a new set":                     {request: `"operation":"CREATE",` + sets + `,"object":` + smallSet, asked: "m role=master"},
		"a change":                      {request: `"operation":"UPDATE",` + sets + `,"object":` + strings.Replace(smallSet, "3", "5", 1) + `,"oldObject":` + smallSet, asked: "m role=master", allowed: true},
		"a selector that is none":       {request: `"operation":"CREATE",` + sets + `,"object":` + strings.Replace(smallSet, `"matchLabels":{"role":"master"}`, `"matchExpressions":[{"key":"a","operator":"Is"}]`, 1), asked: "m "},
		"metadata alone":                {request: `"operation":"UPDATE",` + sets + `,"object":` + smallSet + `,"oldObject":` + smallSet, allowed: true},
		"a deletion":                    {request: `"operation":"DELETE",` + sets + `,"oldObject":` + smallSet + `,"options":{"propagationPolicy":"Background"}`, allowed: true},
		"a cluster that cannot be read": {request: `"operation":"CREATE",` + sets + `,"object":` + smallSet, err: errors.New("etcd is away"), asked: "m role=master", code: http.StatusServiceUnavailable},
	} {
		t.Run(text, func(t *testing.T) {
			w, asked := &world{}, ""
			w.controlPlanes = func(_ context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
				if asked = namespace + " "; selector.String() != labels.Nothing().String() {
					asked += selector.String()
				}
				return &policies.ControlPlane{}, c.err
			}
			h, _ := serve(t, All(platforms.List()...), w)
			door := "/validate/control-plane"
			if strings.Contains(c.request, "DELETE") {
				door += "-delete"
			}
			r := ask(t, h, door, c.request)
			if asked != c.asked {
				t.Errorf("looked up %q, want %q", asked, c.asked)
			}
			if r.Allowed != c.allowed || c.code != 0 && r.Result.Code != c.code {
				t.Errorf("answered %+v", r)
			}
		})
	}
}

// A Machine that a user adds to a control plane is judged by the stored set. If that cannot be read, the Machine is created all the same.
func TestAMachineOfTheControlPlaneIsLookedUp(t *testing.T) {
	const machines = `"resource":{"group":"machine.openshift.io","version":"v1beta1","resource":"machines"},"namespace":"m","name":"mine-0"`
	named := func(name, role string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"m","labels":{"machine.openshift.io/cluster-api-machine-role":%[2]q,"machine.openshift.io/cluster-api-machine-type":%[2]q}},"spec":{"authoritativeAPI":"MachineAPI","providerSpec":{"value":{}}}}`,
			name, role)
	}
	const set = `{"metadata":{"name":"cluster","namespace":"m"},"spec":{"state":"Active","replicas":3,"selector":{"matchLabels":{"machine.openshift.io/cluster-api-machine-role":"master"}},"template":{"machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{}}}}}}}`
	for text, c := range map[string]struct {
		machine, set string
		err          error
		asked        bool
		warns        string
	}{
		"at an index that is taken": {machine: named("mine-0", "master"), set: set, asked: true, warns: "the ControlPlaneMachineSet will do nothing until this " +
			"problem is fixed"},
		"a cluster that cannot be read": {machine: named("mine-0", "master"), set: set, asked: true, err: errors.New("etcd is away"), warns: "the effect of the " +
			"Machine on the ControlPlaneMachineSet could not be checked"},
		"no set":   {machine: named("mine-0", "master")},
		"a worker": {machine: named("mine-0", "worker"), set: set},
	} {
		t.Run(text, func(t *testing.T) {
			asked := false
			w := &world{live: map[string]string{}}
			if c.set != "" {
				w.live["machine.openshift.io ControlPlaneMachineSet m/cluster"] = c.set
			}
			w.controlPlanes = func(context.Context, string, labels.Selector) (*policies.ControlPlane, error) {
				asked = true
				if c.err != nil {
					return nil, c.err
				}
				master := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "c-master-0", Labels: map[string]string{"machine.openshift.io/cluster-api-machine-role": "master"}}}
				return &policies.ControlPlane{Machines: []machinev1beta1.Machine{master}}, nil
			}
			h, _ := serve(t, All(platforms.List()...), w)
			r := ask(t, h, "/validate/machine-api", `"operation":"CREATE",`+machines+`,"object":`+c.machine)
			if !r.Allowed || asked != c.asked {
				t.Errorf("asked %v, answered %+v", asked, r)
			}
			if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, c.warns) || c.warns == "" && strings.Contains(all, "ControlPlaneMachineSet") {
				t.Errorf("warned %q", all)
			}
		})
	}
}

// resolving looks up a set's template for Cluster API, and returns which template that was.
type resolving struct {
	ControlPlanesFunc
	read func(*unstructured.Unstructured, error)
}

func (r resolving) Resolved(ctx context.Context, _ authority.Pair, set []byte, with Requested) (controlplane.Resolved, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachineTemplate"})
	if with.Name == "" {
		return controlplane.Resolved{Set: &machinev1.ControlPlaneMachineSet{}}, nil // the stored template
	}
	r.read(u, with.reader(shelf{}).Get(ctx, client.ObjectKey{Namespace: "c", Name: "larger"}, u))
	out := &machinev1.ControlPlaneMachineSet{}
	return controlplane.Resolved{Set: out}, json.Unmarshal(set, out)
}

// TestATemplateOfTheControlPlaneIsLookedUp: the set is judged with the requested template, and not with the stored one.
func TestATemplateOfTheControlPlaneIsLookedUp(t *testing.T) {
	const larger = `"resource":{"group":"infrastructure.cluster.x-k8s.io","version":"v1beta2","resource":"awsmachinetemplates"},"namespace":"c","name":"larger"`
	const object = `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachineTemplate","metadata":{"name":"larger","namespace":"c"},"spec":{"a":%d}}`
	set := func(template string) string {
		return fmt.Sprintf(`{"metadata":{"name":"cluster","namespace":"m"},"spec":{"state":"Active","replicas":3,"selector":{"matchLabels":{"role":"master"}},"template":{"machines_v1beta2_cluster_x_k8s_io":
			{"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachineTemplate","name":%q}}}}}}`, template)
	}
	for text, c := range map[string]struct {
		door, request, set string
		read               string
	}{
		"it is edited": {door: "infrastructure", set: set("larger"), read: "2",
			request: `,"operation":"UPDATE","oldObject":` + fmt.Sprintf(object, 1) + `,"object":` + fmt.Sprintf(object, 2)},
		"it is edited without an answer": {door: "infrastructure-open", set: set("larger"), read: "2",
			request: `,"operation":"UPDATE","oldObject":` + fmt.Sprintf(object, 1) + `,"object":` + fmt.Sprintf(object, 2)},
		"it is created":                  {door: "infrastructure-template-create", set: set("larger"), read: "2", request: `,"operation":"CREATE","object":` + fmt.Sprintf(object, 2)},
		"it is deleted, in a collection": {door: "infrastructure", set: set("larger"), read: "none", request: `,"operation":"DELETE","oldObject":` + fmt.Sprintf(object, 1)},
		"the set names another":          {door: "infrastructure-template-create", set: set("other"), request: `,"operation":"CREATE","object":` + fmt.Sprintf(object, 2)},
		"the set is Machine API's":       {door: "infrastructure-template-create", set: smallSet, request: `,"operation":"CREATE","object":` + fmt.Sprintf(object, 2)},
		"there is no set":                {door: "infrastructure-template-create", request: `,"operation":"CREATE","object":` + fmt.Sprintf(object, 2)},
	} {
		t.Run(text, func(t *testing.T) {
			w, read := &world{live: map[string]string{"machine.openshift.io ControlPlaneMachineSet m/cluster": c.set}}, ""
			l := w.lookups()
			l.ControlPlanes = resolving{l.ControlPlanes.(ControlPlanesFunc), func(u *unstructured.Unstructured, err error) {
				if read = "none"; err == nil {
					read = fmt.Sprint(u.Object["spec"].(map[string]any)["a"])
				}
			}}
			m, err := newMetrics(prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			hs := handlers(Options{Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}, LookupTimeout: time.Second, Catalog: All(platforms.List()...), Log: logr.Discard()}, l, m)
			got := ask(t, hs["/validate/"+c.door], "/validate/"+c.door, larger+c.request)
			if !got.Allowed || read != c.read {
				t.Errorf("read %q, want %q; answered %+v", read, c.read, got)
			}
			if all := strings.Join(got.Warnings, " "); (c.read != "") != strings.Contains(all, "ControlPlaneMachineSet cluster creates its Machines from this "+
				"template") {
				t.Errorf("warned %q", all)
			}
		})
	}
}

// slow is an API server that answers no creation.
type slow struct{}

func (slow) Create(ctx context.Context, _ client.Object, _ ...client.CreateOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestAReviewWaitsTwoSecondsForDryRuns: a dry run without an answer is reported as such, however many there are, and none counts as a refusal.
func TestAReviewWaitsTwoSecondsForDryRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		var trials []controlplane.Trial
		for range 20 {
			trials = append(trials, controlplane.Trial{Machine: &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}})
		}
		began := time.Now()
		got := liveControlPlane{creator: slow{}, metrics: m}.Try(t.Context(), trials)
		if took := time.Since(began); took != 2*time.Second || len(got) != len(trials) {
			t.Errorf("%d answers after %s", len(got), took)
		}
		for _, a := range got {
			if a.Unanswered == "" || a.Refused != "" || a.Machine != nil {
				t.Errorf("%+v", a)
			}
		}
	})
}

// TestAReviewKnowsTheOperatorsSettings: what a forecast depends on reaches the facts of a review.
func TestAReviewKnowsTheOperatorsSettings(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	r := liveControlPlane{Reader: fake.NewClientBuilder().Build(), metrics: m, mayRecreate: true, notReadyGrace: 7 * time.Minute}
	got, err := r.ControlPlane(t.Context(), "m", labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	if v := controlplane.ViewOf(&machinev1.ControlPlaneMachineSet{}, *got); !v.MayRecreate || v.NotReadyGrace != 7*time.Minute {
		t.Errorf("the view has %v and a grace of %s", v.MayRecreate, v.NotReadyGrace)
	}
}

// masters creates a control plane of three Machines in three zones.
func (p *place) masters(t *testing.T) {
	t.Helper()
	for i, zone := range []string{"a", "b", "c"} {
		name := fmt.Sprintf("x-master-%d", i)
		p.create(t, p.poundlock, fmt.Sprintf(`
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {namespace: m, name: %s, labels: {machine.openshift.io/cluster-api-cluster: x, machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}}
spec: {providerSpec: {value: %s}}`, name, masterSpec(zone)))
		p.patchStatus(t, mapiMachine, "m", name, fmt.Sprintf(`{"status":{"phase":"Running","nodeRef":{"kind":"Node","name":%q}}}`, name))
		p.must(t, p.admin.Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}))
	}
}

func masterSpec(zone string) string {
	place := ""
	if zone != "" {
		place = fmt.Sprintf(", availabilityZone: eu-west-1%s}, subnet: {id: subnet-%s", zone, zone)
	}
	return fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: AWSMachineProviderConfig, ami: {id: ami-1}, instanceType: m6i.xlarge, userDataSecret: {name: master-user-data}, loadBalancers: [{name: int, type: network}], placement: {region: eu-west-1%s}}`, place)
}

func setManifest(name, state string, zones ...string) string {
	var domains []string
	for _, z := range zones {
		domains = append(domains, fmt.Sprintf("{placement: {availabilityZone: eu-west-1%s}, subnet: {type: ID, id: subnet-%s}}", z, z))
	}
	return fmt.Sprintf(`
apiVersion: machine.openshift.io/v1
kind: ControlPlaneMachineSet
metadata: {namespace: m, name: %s}
spec:
  state: %s
  replicas: 3
  selector: {matchLabels: {machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}}
  template:
    machineType: machines_v1beta1_machine_openshift_io
    machines_v1beta1_machine_openshift_io:
      failureDomains: {platform: AWS, aws: [%s]}
      metadata: {labels: {machine.openshift.io/cluster-api-cluster: x, machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}}
      spec: {providerSpec: {value: %s}}`, name, state, strings.Join(domains, ", "), masterSpec(""))
}

// kubectl runs kubectl and returns its output.
func (p *place) kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), p.plane.Kubectl(), append([]string{"-n", "m"}, args...)...)
	c.Env = append(os.Environ(), "KUBECONFIG="+p.plane.KubeconfigPath(), "HOME="+filepath.Dir(p.plane.KubeconfigPath()))
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	text := strings.TrimSpace(string(out))
	t.Logf("$ kubectl %s\n%s", strings.Join(args, " "), text)
	return text, err
}

// prints runs kubectl and looks for words in its output. If refused is true, the command must fail.
func (p *place) prints(t *testing.T, refused bool, stdin string, words []string, args ...string) {
	t.Helper()
	out, err := p.kubectl(t, stdin, args...)
	if (err != nil) != refused {
		t.Errorf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	// One sentence may fill several warnings.
	reported := parted.ReplaceAllString(strings.ReplaceAll(out, ". [controlplane/forecast]\nWarning: ", ". "), " ")
	for _, w := range words {
		if !strings.Contains(reported, w) && !strings.Contains(out, w) {
			t.Errorf("kubectl %s: no word of %q in\n%s", strings.Join(args, " "), w, out)
		}
	}
}

const cpms = "controlplanemachineset.machine.openshift.io"

// parted matches where one warning continues in the next warning of the same rule.
var parted = regexp.MustCompile(`… \[[a-z/-]+\]\nWarning: …`)

func (p *place) patches(t *testing.T, refused bool, patch string, words []string, more ...string) {
	t.Helper()
	p.prints(t, refused, "", words, append([]string{"patch", cpms, "cluster", "--type=merge", "-p", patch}, more...)...)
}

func inMachineTemplate(member string) string {
	return `{"spec":{"template":{"machines_v1beta1_machine_openshift_io":` + member + `}}}`
}

// controlPlaneSet is the life of a set as a user sees it.
func controlPlaneSet(t *testing.T, p *place) {
	p.masters(t)
	check := func(words ...string) []string { return words }
	instance := inMachineTemplate(`{"spec":{"providerSpec":{"value":{"instanceType":"m6i.2xlarge"}}}}`)
	replaced := "x-master-0 (instanceType m6i.xlarge → m6i.2xlarge), x-master-1 (instanceType m6i.xlarge → m6i.2xlarge), x-master-2 (instanceType m6i.xlarge → m6i.2xlarge) [controlplane/forecast]"

	p.prints(t, true, setManifest("mine", "Inactive", "a", "b", "c"), check("[controlplane/name]", "metadata.name"), "create", "-f", "-")
	p.prints(t, true, setManifest("cluster", "Inactive", "a", "b"), check("Machine x-master-2 is in eu-west-1c", "eu-west-1a, eu-west-1b",
		"[controlplane/failure-domains]"), "create", "-f", "-")
	p.prints(t, false, setManifest("cluster", "Inactive", "c", "a", "b"),
		check("the set is Inactive. If it were Active, it would do nothing: all 3 control plane Machines match the template [controlplane/forecast]"), "create", "-f", "-")

	p.patches(t, false, instance, check("If it were Active, it would replace 3 of 3 control plane Machines, one at a time: "+replaced), "--dry-run=server")
	p.patches(t, true, inMachineTemplate(`{"failureDomains":{"aws":[{"placement":{"availabilityZone":"eu-west-1a"}}]}}`),
		check("Machine x-master-1 is in eu-west-1b", "Machine x-master-2 is in eu-west-1c", "[controlplane/failure-domains]"))
	p.patches(t, false, `{"spec":{"state":"Active"}}`, check("this will do nothing: all 3 control plane Machines match the template"), "--dry-run=server")
	p.patches(t, false, `{"spec":{"state":"Active"}}`, check("this will do nothing: all 3 control plane Machines match the template"))
	p.patches(t, false, instance, check("this will replace 3 of 3 control plane Machines, one at a time: "+replaced), "--dry-run=server")
	p.patches(t, false, strings.Replace(instance, `{"spec":{`, `{"spec":{"strategy":{"type":"OnDelete"},`,
		1), check("this will replace no Machine by itself (strategy OnDelete): 3 of 3 control plane Machines are outdated"), "--dry-run=server")
	p.patches(t, false, inMachineTemplate(`{"spec":{"providerSpec":{"value":{"instanceTyp":"x"}}}}`),
		check("value.instanceTyp: Machine API has no such field and ignores it; did you mean instanceType? [controlplane/provider-spec]"), "--dry-run=server")
	p.patches(t, true, inMachineTemplate(`{"spec":{"providerSpec":{"value":{"instanceType":3}}}}`),
		check("providerSpec.value.instanceType", "[controlplane/provider-spec]"))
	p.patches(t, true, `{"metadata":{"finalizers":["foregroundDeletion"]}}`, check("[controlplane/foreground]"))
	p.patches(t, false, `{"metadata":{"finalizers":["controlplanemachineset.machine.openshift.io"]}}`, nil)

	p.refusesMachines(t, "m6i.24xlarge", "no m6i.24xlarge here")
	p.patches(t, true, strings.Replace(instance, "m6i.2xlarge", "m6i.24xlarge", 1),
		check("the API server refuses a Machine that the set would create from this template in the failure domain eu-west-1a",
			"no m6i.24xlarge here", "[controlplane/machine-refused]"), "--dry-run=server")

	p.patches(t, true, `{"spec":{"state":"Inactive"}}`, check("state cannot be changed once Active"))
	p.patches(t, true, `{"spec":{"state":null}}`, check("state cannot be changed once Active"))
	p.prints(t, true, "", check("replicas is immutable"), "scale", cpms, "cluster", "--replicas=5")
	p.prints(t, true, "", check("kubectl -n m delete controlplanemachinesets.machine.openshift.io cluster --cascade=background", "[controlplane/foreground]"),
		"delete", cpms, "cluster", "--cascade=foreground")
	p.prints(t, true, "", check("[controlplane/foreground]"), "delete", cpms, "--all", "--cascade=foreground")
	if err := p.admin.DeleteAllOf(t.Context(), toward(machinev1.GroupVersion.WithKind(controlplane.Kind), "m", ""), client.InNamespace("m"),
		client.PropagationPolicy("Foreground")); err == nil {
		t.Error("a collection was deleted in the foreground")
	}
	p.prints(t, false, "", check("keep running", "[controlplane/delete]"), "delete", cpms, "cluster", "--dry-run=server")
}

// editsMasterInClusterAPI: the active set replaces a Machine that Cluster API runs if its mirror in Machine API differs from the template.
func editsMasterInClusterAPI(t *testing.T, p *place) {
	const name = "x-master-2"
	owner := toward(mapiMachine, "m", name)
	p.must(t, p.admin.Patch(t.Context(), owner, merge(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`)))
	p.patchStatus(t, mapiMachine, "m", name, `{"status":{"authoritativeAPI":"Migrating"}}`)
	p.patchStatus(t, mapiMachine, "m", name, `{"status":{"authoritativeAPI":"ClusterAPI","conditions":[{"type":"Paused","status":"True","lastTransitionTime":"2026-11-23T00:00:00Z"}]}}`)
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {namespace: c, name: x}
spec: {region: eu-west-1}`)
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachine
metadata: {namespace: c, name: `+name+`}
spec: {instanceType: m6i.xlarge, ami: {id: ami-1}, subnet: {id: subnet-c}, ignition: {version: "3.4", storageType: UnencryptedUserData}}`)
	p.create(t, p.admin, strings.Replace(twinManifest(name), "labels: {", "labels: {machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master, ", 1))
	t.Cleanup(func() {
		for _, o := range []client.Object{toward(capiMachine, "c", name), toward(platforms.List()[0].InfraMachine.GroupVersionKind, "c", name),
			toward(platforms.List()[0].InfraCluster.GroupVersionKind, "c", "x")} {
			p.must(t, p.admin.Delete(context.Background(), o))
		}
		p.must(t, p.poundlock.Patch(context.Background(), owner, merge(`{"spec":{"authoritativeAPI":"MachineAPI"}}`)))
		for _, api := range []authority.API{authority.Migrating, authority.MachineAPI} {
			p.must(t, p.poundlock.Status().Patch(context.Background(), owner, merge(fmt.Sprintf(`{"status":{"authoritativeAPI":%q}}`, api))))
		}
	})
	const deletes = "the ControlPlaneMachineSet will delete " + name + " (it differs from the template: instanceType m6i.4xlarge → m6i.xlarge"
	eventually(t, "the caches have the Machine", func() bool {
		out, err := p.kubectl(t, "", "-n", "c", "patch", "awsmachines.infrastructure.cluster.x-k8s.io", name, "--type=merge", "-p", `{"spec":{"instanceType":"m6i.4xlarge"}}`, "--dry-run=server")
		return err == nil && strings.Contains(out, deletes) && strings.Contains(out, "[controlplane/machine-edit]")
	})
}

// finalizerOfASet: a user who removes a set's finalizer by hand is warned of the Machines that the garbage collector then deletes.
func finalizerOfASet(t *testing.T, p *place) {
	check := func(words ...string) []string { return words }
	uid, _ := p.kubectl(t, "", "get", cpms, "cluster", "-o", "jsonpath={.metadata.uid}")
	p.prints(t, false, "", nil, "patch", "machines.machine.openshift.io", "x-master-1", "--type=merge", "-p",
		fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","name":"cluster","uid":%q,"controller":true}]}}`, uid))
	p.prints(t, false, "", nil, "delete", cpms, "cluster", "--wait=false")
	p.patches(t, false, `{"metadata":{"finalizers":null}}`, check("the garbage collector deletes x-master-1", "[controlplane/finalizer]"), "--dry-run=server")
}

// refusesMachines installs a policy of somebody else that refuses Machines of a size, and waits until it applies.
func (p *place) refusesMachines(t *testing.T, size, words string) {
	t.Helper()
	p.create(t, p.admin, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: sizes}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [machine.openshift.io], apiVersions: [v1beta1], resources: [machines], operations: [CREATE]}]}
  validations: [{expression: "object.spec.providerSpec.value.?instanceType.orValue('') != '%s'", message: %s}]`, size, words))
	p.create(t, p.admin, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: sizes}
spec: {policyName: sizes, validationActions: [Deny]}`)
	eventually(t, "the policy refuses", func() bool {
		_, err := p.kubectl(t, fmt.Sprintf(`
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {namespace: m, name: try}
spec: {providerSpec: {value: {instanceType: %s}}}`, size), "create", "--dry-run=server", "-f", "-")
		return err != nil
	})
}

// nobodyAnswers points the API server to an address without webhooks.
func nobodyAnswers(t *testing.T, p *place) {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	p.must(t, p.admin.Get(t.Context(), client.ObjectKey{Name: "poundlock"}, config))
	for i, nowhere := range config.Webhooks {
		url := fmt.Sprintf("https://127.0.0.1:%d%s", freePort(t), strings.SplitAfterN(*nowhere.ClientConfig.URL, "/validate", 2)[1])
		config.Webhooks[i].ClientConfig.URL = &url
	}
	p.must(t, p.admin.Update(t.Context(), config))
	eventually(t, "a deletion in the foreground waits for an answer", func() bool {
		out, err := p.kubectl(t, "", "delete", cpms, "cluster", "--cascade=foreground", "--dry-run=server")
		return err != nil && strings.Contains(out, "failed calling webhook")
	})
	p.patches(t, true, `{"spec":{"machineNamePrefix":"y"}}`, []string{"failed calling webhook"})
	p.patches(t, false, `{"metadata":{"labels":{"a":"b"},"finalizers":["controlplanemachineset.machine.openshift.io"]}}`, nil)
	p.prints(t, false, "", nil, "delete", cpms, "cluster", "--cascade=background", "--wait=false")
	p.patches(t, false, `{"metadata":{"finalizers":null}}`, nil)
}
