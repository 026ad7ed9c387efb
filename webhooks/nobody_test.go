// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// TestNobodyAnswers installs the configurations and the policies, and never starts a replica.
func TestNobodyAnswers(t *testing.T) {
	stories.Long(t)
	embedded.LeaveOut(t)
	p := newOutage(t)
	actsSet, _ := setManifests("acts")
	for what, do := range map[string]func() error{
		"a request to move":            p.patch(mapiMachine, "unmoved", `{"spec":{"authoritativeAPI":"ClusterAPI"}}`),
		"an edit of a mirror":          p.patch(capiMachine, "mirror", `{"metadata":{"labels":{"a":"b"}}}`),
		"a deletion of a mirror":       p.deletes(mirroredMachine, "mirror"),
		"the status of what moved":     p.patchState(mapiMachine, "moved", `{"status":{"phase":"Running"}}`),
		"a Cluster API object's birth": p.creates(strings.Replace(twinManifest("new"), pausedText, "", 1)),
	} {
		if err := do(); err != nil {
			t.Errorf("before any replica has answered: %s: %v", what, err)
		}
	}
	p.answered(t)
	const unanswered = "failed calling webhook"
	for _, c := range []struct {
		what    string
		refused string
		do      func() error
	}{
		{"a Machine that moved is edited", unanswered, p.patch(mapiMachine, "moved", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"its status is written", unanswered, p.patchState(mapiMachine, "moved", `{"status":{"phase":"Running"}}`)},
		{"a Machine is asked to move", unanswered, p.patch(mapiMachine, "unmoved", `{"spec":{"authoritativeAPI":"ClusterAPI"}}`)},
		{"a Machine is created for Cluster API", unanswered, p.creates(strings.Replace(machineManifest("new", ""), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1))},
		{"a Machine for Cluster API gets its first status", unanswered, p.patchState(mapiMachine, "asking", `{"status":{"phase":"Provisioning"}}`)},
		{"the sync finalizer is added", unanswered, p.patch(mapiMachine, "unmoved", `{"metadata":{"finalizers":["sync.machine.openshift.io/finalizer"]}}`)},
		{"a mirror is edited", unanswered, p.patch(capiMachine, "mirror", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"a mark is removed", unanswered, p.patch(capiMachine, "mirror", `{"metadata":{"annotations":null}}`)},
		{"a mark is added", unanswered, p.patch(capiMachine, "own", `{"metadata":{"annotations":{"poundlock.openshift.io/mirror-of":"Machine/own"}}}`)},
		{"a provider's mirror is edited", unanswered, p.patch(mirroredMachine, "mirror", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"a provider's mirror is deleted", unanswered, p.deletes(mirroredMachine, "mirror")},
		{"a Machine that acts is created", unanswered, p.creates(strings.Replace(twinManifest("new"), pausedText, "", 1))},
		{"a person's Machine names a set as its owner", unanswered, p.creates(madeForASet())},
		{"a Machine API set that moved is scaled", "poundlock-scale-machine-api", p.scales("machinesets.machine.openshift.io", "m", "moved")},
		{"a set that is a mirror is scaled", "poundlock-scale-cluster-api", p.scales("machinesets.cluster.x-k8s.io", "c", "mirror")},
		{"a namespace that holds mirrors is deleted", "poundlock-surroundings", func() error {
			return p.admin.Delete(t.Context(), &corev1.Namespace{ObjectMeta: ctrl.ObjectMeta{Name: "c"}}, client.DryRunAll)
		}},
		{"a Machine that Cluster API runs is deleted in the foreground past its hook", "poundlock-delete-hooked", p.deletesInForeground(capiMachine, "hooked")},
		{"what its provider keeps for its instance is deleted", "metadata.name: Forbidden: the provider would terminate the instance of Machine hooked without " +
			"waiting for the hook pre-drain.delete.hook.machine.cluster.x-k8s.io/backup, and before its Node is drained. Delete the Machine, which waits: " +
			"kubectl -n c delete machines.cluster.x-k8s.io hooked [authority/delete-hooked]", p.deletes(keptMachine, "of-hooked")},
		{"the set of one is deleted in the foreground", "metadata.name: Forbidden: in the foreground the garbage collector deletes the infrastructure machines, " +
			"and with them the instances, without waiting for the hooks of Machine hooked. Delete the MachineSet in the background, which waits: " +
			"kubectl -n c delete machinesets.cluster.x-k8s.io of-hooked --cascade=background [authority/delete-hooked]", p.deletesInForeground(capiSet, "of-hooked")},
		{"a Machine is created beside one that acts", "poundlock-create-machines", p.creates(machineManifest("acts", ""))},
		{"a Machine without a spec is created beside one that acts", "poundlock-create-machines", p.creates(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {namespace: m, name: acts}}`)},
		{"a Machine is created beside one that is paused and acts on", "poundlock-create-machines", p.creates(machineManifest("stopping", ""))},
		{"a Machine is created beside one that a person paused, which has an instance", "poundlock-create-machines", p.creates(machineManifest("halted", ""))},
		{"a Machine of another instance is created beside it", "poundlock-create-machines", p.creates(withInstance(machineManifest("halted", ""), "aws:///a/i-2"))},
		{"a MachineSet is created beside one that acts", "poundlock-create-machinesets", p.creates(actsSet)},
		{"Machine API's controller makes a Machine for a set that moved", "poundlock-create-for-set", p.makes("moved")},
		{"Machine API's controller makes the first Machine for a set that was created twice", "authority/created-twice", p.makes("twice")},
		{"Cluster API's controller makes one for a set that was created twice, where Machine API's has some", "authority/created-twice", p.makesThere("twice-begun")},
		{"and for one that moves, whose pause it has acknowledged", "poundlock-create-for-set", p.makes("left")},

		{"a VSphereVM is created with the UUID of a Machine's instance", unanswered, p.creates(keptManifest("new", "4210-1"))},
		{"a person acknowledges a pause in the status of a VSphereVM", unanswered, p.patchState(keptMachine, "of-another", pausedCondition)},
		{"and in that of a Cluster API Machine", unanswered, p.patchState(capiMachine, "acts", pausedCondition)},
		{"a person writes another condition", "", p.patchState(capiMachine, "acts", strings.Replace(pausedCondition, `"Paused"`, `"Ready"`, 1))},
		{"a person creates a VSphereVM of no instance", unanswered, p.creates(keptManifest("new", ""))},
		{"it is created paused", unanswered, p.creates(strings.Replace(keptManifest("new", "4210-1"), "name: new", "name: new"+pausedText, 1))},
		{"a VSphereVM gets it", unanswered, p.patch(keptMachine, "of-nobody", `{"spec":{"biosUUID":"4210-1"}}`)},
		{"a VSphereVM that has it from before is deleted", "poundlock-delete-kept", p.deletes(keptMachine, "of-another")},

		{"a person creates a VSphereVM of no instance, paused", "", p.creates(strings.Replace(keptManifest("new", ""), "name: new", "name: new"+pausedText, 1))},
		{"a VSphereVM is edited", "", p.patch(keptMachine, "of-another", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"a VSphereVM is paused", "", p.patch(keptMachine, "of-another", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)},
		{"a VSphereVM that has an instance of no Machine is deleted", "", p.deletes(keptMachine, "of-its-own")},
		{"a VSphereVM without an instance is deleted", "", p.deletes(keptMachine, "of-nobody")},
		{"a VSphereVM of an instance that Cluster API runs is deleted", "", p.deletes(keptMachine, "of-cluster-api")},
		{"the same Machine is restored beside it, with its instance's ID", "", p.creates(withInstance(machineManifest("halted", ""), "aws:///a/i-1"))},
		{"a Machine is restored beside its paused mirror", "", p.creates(machineManifest("mirror", ""))},
		{"a Machine is created", "", p.creates(machineManifest("new", ""))},
		{"a Machine that says nothing of what is optional is created", "", p.creates(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {namespace: m, name: new, annotations: null, finalizers: null}, spec: null, status: null}`)},
		{"a Machine with the sync finalizer is restored", "", p.creates(strings.Replace(machineManifest("new", ""), "name: new", "name: new, finalizers: [sync.machine.openshift.io/finalizer]", 1))},
		{"a Machine is edited", "", p.patch(mapiMachine, "unmoved", `{"metadata":{"labels":{"a":"b"}},"spec":{"providerSpec":{"value":{"instanceType":"m6i.xlarge"}}}}`)},
		{"its status is written", "", p.patchState(mapiMachine, "unmoved", `{"status":{"phase":"Running"}}`)},
		{"a Machine gets its first status", "", p.patchState(mapiMachine, "fresh", `{"status":{"phase":"Provisioning","authoritativeAPI":"MachineAPI"}}`)},
		{"a Machine is deleted", "", p.deletes(mapiMachine, "unmoved")},
		{"a Machine API set is scaled", "", p.scales("machinesets.machine.openshift.io", "m", "set")},
		{"a Cluster API set is scaled", "", p.scales("machinesets.cluster.x-k8s.io", "c", "set")},
		{"a person's copy of a mirror is scaled", "", p.scales("machinesets.cluster.x-k8s.io", "c", "copied")},
		{"a check is created", "", p.creates(check("new"))},
		{"a Cluster API Machine of a person's own is edited", "", p.patch(capiMachine, "own", `{"spec":{"version":"v1.36.0"}}`)},
		{"a paused Machine is created", "", p.creates(twinManifest("new"))},
		{"Cluster API's set makes a Machine", "", func() error {
			return p.capi.Create(t.Context(), p.object(t, madeForASet()), client.DryRunAll)
		}},
		{"Machine API's set makes a Machine", "", p.makes("set")},
		{"so does one that was created twice, and has Machines", "", p.makes("twice-begun")},
		{"Cluster API's set that was created twice makes one, where Machine API's has none", "", p.makesThere("twice")},
		{"so does one that is yet to pause", "", p.makes("leaving")},
		{"a provider's own Machine is edited", "", p.patch(mirroredMachine, "own", `{"metadata":{"labels":{"a":"b"}}}`)},
		{"a provider's own Machine is deleted", "", p.deletes(mirroredMachine, "own")},
		{"a mirror is deleted", "", p.deletes(capiMachine, "mirror")},
		{"what a provider keeps for a mirror with a hook is deleted", "", p.deletes(keptMachine, "of-held")},
		{"what is kept for a Machine is deleted after Cluster API has passed its hook", "", p.deletes(keptMachine, "of-passed")},
		{"the set of a Machine with a hook is deleted in the background", "", p.deletes(capiSet, "of-hooked")},
		{"the set of a mirror with a hook is deleted in the foreground", "", p.deletesInForeground(capiSet, "of-held")},
		{"a Machine with a hook is deleted in the background", "", p.deletes(capiMachine, "hooked")},
		{"a mirror with a hook is deleted in the foreground", "", p.deletesInForeground(capiMachine, "held")},
		{"a Machine with a hook that nothing mirrors is deleted in the foreground", "", p.deletesInForeground(capiMachine, "alone")},
		{"a control plane's set is created", "", p.creates(setManifest("cluster", "Inactive", "a"))},
	} {
		t.Run(c.what, func(t *testing.T) {
			err := c.do()
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("refused by %q is wanted, got %v", c.refused, err)
			}
		})
	}
	p.cancelled(t)
}

// cancelled takes a request back without a running manager, as `kubectl poundlock cleanup` advises: it removes the label first.
func (p outage) cancelled(t *testing.T) {
	t.Helper()
	p.must(t, p.admin.Patch(t.Context(), toward(corev1.SchemeGroupVersion.WithKind("Namespace"), "", "m"),
		merge(`{"metadata":{"labels":{"poundlock.openshift.io/admission":null}}}`)))
	for _, to := range []string{"ClusterAPI", "MachineAPI"} {
		eventually(t, "authority is asked to go to "+to, func() bool {
			return p.admin.Patch(t.Context(), toward(mapiMachine, "m", "unmoved"), merge(`{"spec":{"authoritativeAPI":"`+to+`"}}`)) == nil
		})
	}
}

const pausedText = `, annotations: {cluster.x-k8s.io/paused: ""}`

var (
	mirroredMachine = platforms.List()[0].InfraMachine.GroupVersionKind
	// keptMachine is the kind of the object that vSphere's provider keeps for an instance.
	keptMachine = mirroredMachine.GroupKind().WithVersion("v1beta1").GroupVersion().WithKind("VSphereVM")
)

// outage is a control plane with objects in every state. They were created before Poundlock was lost.
type outage struct {
	*place
	t *testing.T
	// capi are Cluster API's core controllers, mapi those of the Machine API.
	capi, mapi client.Client
}

func newOutage(t *testing.T) outage {
	t.Helper()
	crds, err := embedded.CRDs(t.Context(), "AWS", "VSphere")
	if err != nil {
		t.Fatal(err)
	}
	crds = slices.DeleteFunc(crds, func(c *apiextensionsv1.CustomResourceDefinition) bool {
		return !slices.Contains(append(needed, "vspherevms.infrastructure.cluster.x-k8s.io"), c.Name)
	})
	plane := embedded.ForTest(t, embedded.Options{CRDs: crds})
	as := func(name string) client.Client {
		cfg, err := plane.As(name, "system:masters")
		if err != nil {
			t.Fatal(err)
		}
		return quiet(t, cfg)
	}
	p := outage{&place{plane: plane, admin: quiet(t, plane.Admin()), poundlock: as(poundlockUser), warned: &warnedOf{}}, t, as(capiManager), as(controllerUser)}
	p.furnish(t)
	options := ConfigOptions{
		Platforms: platforms.List(), Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}, Own: []string{poundlockUser},
		URL:        fmt.Sprintf("https://127.0.0.1:%d", freePort(t)),
		Identities: policies.Identities{policies.Poundlock: {poundlockUser}, policies.ClusterAPIController: {capiManager}, policies.MachineAPIController: {controllerUser}},
	}
	validating, mutating := Configurations(options)
	p.must(t, p.admin.Create(t.Context(), validating))
	p.must(t, p.admin.Create(t.Context(), mutating))
	policyOptions := cel.Options{Identities: options.Identities, Pairs: options.Pairs,
		InfraInstances: []schema.GroupResource{{Group: keptMachine.Group, Resource: "vspherevms"}}}
	twins, err := cel.Policies(policyOptions)
	p.must(t, err)
	for _, twin := range slices.Concat(twins, cel.ScalePolicies(policyOptions), cel.BesidePolicies(policyOptions), cel.ForSetPolicies(policyOptions),
		cel.HookedPolicies(policyOptions), cel.PastHooksPolicies(policyOptions), cel.KeptPolicies(policyOptions)) {
		p.must(t, p.admin.Create(t.Context(), twin.Policy))
		p.must(t, p.admin.Create(t.Context(), twin.Binding))
	}
	actsSet, _ := setManifests("acts")
	p.refusedBy(t, map[string]func() error{
		"poundlock-scale-machine-api":  p.scales("machinesets.machine.openshift.io", "m", "moved"),
		"poundlock-scale-cluster-api":  p.scales("machinesets.cluster.x-k8s.io", "c", "mirror"),
		"poundlock-create-machines":    p.creates(machineManifest("acts", "")),
		"poundlock-create-machinesets": p.creates(actsSet),
		"poundlock-create-for-set":     p.makes("moved"),
		"poundlock-delete-hooked":      p.deletesInForeground(capiMachine, "hooked"),
		"poundlock-delete-kept":        p.deletes(keptMachine, "of-another"),
		"poundlock-delete-past-hooks":  p.deletes(keptMachine, "of-hooked"),

		"poundlock-create-for-cluster-api-set": p.makesThere("twice-begun"),
		"poundlock-surroundings": func() error {
			return p.admin.Delete(t.Context(), toward(corev1.SchemeGroupVersion.WithKind("Namespace"), "", "c"), client.DryRunAll)
		},
	})
	return p
}

// answered labels the namespaces. A replica does that when the API server reaches it; here the replica is lost afterwards.
func (p outage) answered(t *testing.T) {
	t.Helper()
	for _, name := range []string{"m", "c"} {
		ns := &corev1.Namespace{ObjectMeta: ctrl.ObjectMeta{Name: name}}
		p.must(t, p.poundlock.Patch(t.Context(), ns, merge(`{"metadata":{"labels":{"poundlock.openshift.io/admission":"enforced"}}}`)))
	}
	p.refusedBy(t, map[string]func() error{"failed calling webhook": p.deletes(mirroredMachine, "mirror")})
}

// refusedBy waits until the API server has the configuration that refuses the requests.
func (p outage) refusedBy(t *testing.T, all map[string]func() error) {
	t.Helper()
	for by, do := range all {
		eventually(t, "the API server knows "+by, func() bool {
			err := do()
			return err != nil && strings.Contains(err.Error(), by)
		})
	}
}

func quiet(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	cfg.WarningHandler = rest.NoWarnings{}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// furnish creates the objects from before the loss.
func (p outage) furnish(t *testing.T) {
	t.Helper()
	for name, annotations := range map[string]map[string]string{"m": nil, "c": {authority.HoldsMirrorsAnnotation: "1 Machine"}} {
		p.must(t, p.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: ctrl.ObjectMeta{Name: name, Annotations: annotations}}))
	}
	markOf := func(kind, text string) string {
		return strings.Replace(text, "annotations: {", "annotations: {poundlock.openshift.io/mirror-of: "+kind+"/mirror, ", 1)
	}
	mark := func(text string) string { return markOf("Machine", text) }
	infra := func(name string) string {
		return fmt.Sprintf(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {namespace: c, name: %s, annotations: {cluster.x-k8s.io/paused: ""}}, spec: {instanceType: m6i.large}}`, name)
	}
	const hook, pausedAlone = `pre-drain.delete.hook.machine.cluster.x-k8s.io/backup: mine`, `cluster.x-k8s.io/paused: ""`
	here, there := setManifests("set")
	_, acts := setManifests("acts")
	movedSet, _ := setManifests("moved")
	leavingSet, _ := setManifests("leaving")
	leftSet, _ := setManifests("left")
	_, mirrorSet := setManifests("mirror")
	_, copied := setManifests("copied")
	for _, text := range []string{
		machineManifest("unmoved", ""), machineManifest("fresh", ""), here, there, movedSet, leavingSet, leftSet, markOf("MachineSet", mirrorSet), markOf("MachineSet", copied),
		withInstance(machineManifest("on-vsphere", ""), "vsphere://4210-1"), keptManifest("of-another", "4210-1"), keptManifest("of-its-own", "4210-2"),
		keptManifest("of-nobody", ""), keptManifest("of-cluster-api", "4210-3"),
		strings.Replace(withInstance(machineManifest("on-cluster-api", ""), "vsphere://4210-3"), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1),
		strings.Replace(acts, pausedText, "", 1), twinManifest("own"), twinManifest("stopping"), withInstance(twinManifest("halted"), "aws:///a/i-1"),
		strings.Replace(twinManifest("hooked"), "annotations: {"+pausedAlone, "finalizers: [sync.machine.openshift.io/finalizer], annotations: {"+hook, 1),
		strings.Replace(twinManifest("passed"), "annotations: {"+pausedAlone, "finalizers: [sync.machine.openshift.io/finalizer], annotations: {"+hook, 1),
		strings.Replace(twinManifest("held"), "annotations: {", "finalizers: [sync.machine.openshift.io/finalizer], annotations: {"+hook+", ", 1),
		strings.Replace(twinManifest("alone"), "annotations: {"+pausedAlone, "annotations: {"+hook, 1),
		strings.Replace(twinManifest("acts"), pausedText, "", 1), infra("own"), mark(twinManifest("mirror")), mark(infra("mirror")),
		strings.Replace(machineManifest("moved", ""), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1),
		strings.Replace(machineManifest("asking", ""), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1),
	} {
		p.create(t, p.admin, text)
	}
	for _, name := range []string{"hooked", "held", "passed"} {
		p.belongs(t, name)
	}
	p.must(t, p.admin.Delete(t.Context(), toward(capiMachine, "c", "passed")))
	p.patchStatus(t, capiMachine, "c", "passed",
		`{"status":{"conditions":[{"type":"Deleting","status":"True","reason":"WaitingForInfrastructureDeletion","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	p.patchStatus(t, mapiMachine, "m", "unmoved", settledState)
	p.patchStatus(t, capiMachine, "c", "stopping",
		`{"status":{"conditions":[{"type":"Paused","status":"False","reason":"NotPaused","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	p.patchStatus(t, mapiSet, "m", "set", settledState)
	p.patchStatus(t, mapiSet, "m", "moved", `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
	for name, replicas := range map[string]int{"twice": 0, "twice-begun": 2} {
		twice, _ := setManifests(name)
		p.create(t, p.admin, strings.Replace(twice, "name: "+name, "name: "+name+`, annotations: {poundlock.openshift.io/beside-foreign: ""}`, 1))
		p.patchStatus(t, mapiSet, "m", name, fmt.Sprintf(`{"status":{"authoritativeAPI":"MachineAPI","replicas":%d}}`, replicas))
	}
	const leaving = `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI","conditions":[{"type":"Paused","status":"%s","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	p.patchStatus(t, mapiSet, "m", "leaving", fmt.Sprintf(leaving, "False"))
	p.patchStatus(t, mapiSet, "m", "left", fmt.Sprintf(leaving, "True"))
	p.patchStatus(t, mapiMachine, "m", "moved", `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
}

// belongs gives a Cluster API Machine to a set, and creates the object that the provider keeps for the Machine's instance.
func (p outage) belongs(t *testing.T, machine string) {
	t.Helper()
	_, set := setManifests("of-" + machine)
	p.create(t, p.admin, strings.Replace(set, pausedText, "", 1))
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(capiSet)
	p.must(t, p.admin.Get(t.Context(), client.ObjectKey{Namespace: "c", Name: "of-" + machine}, stored))
	p.must(t, p.admin.Patch(t.Context(), toward(capiMachine, "c", machine), merge(fmt.Sprintf(
		`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"MachineSet","name":%q,"uid":%q,"controller":true}]}}`,
		capiSet.GroupVersion(), stored.GetName(), stored.GetUID()))))
	p.create(t, p.admin, strings.Replace(keptManifest("of-"+machine, ""), "namespace: c", fmt.Sprintf(
		"namespace: c, ownerReferences: [{apiVersion: %s, kind: AWSMachine, name: %s, uid: u}]", keptMachine.GroupVersion(), machine), 1))
}

// deletesInForeground deletes a Cluster API object in the foreground, so that the garbage collector first deletes what the object owns.
func (p outage) deletesInForeground(kind schema.GroupVersionKind, name string) func() error {
	return func() error {
		return p.admin.Delete(p.t.Context(), toward(kind, "c", name), client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationForeground))
	}
}

const pausedCondition = `{"status":{"conditions":[{"type":"Paused","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-11-30T00:00:00Z"}]}}`

// keptManifest is a VSphereVM that belongs to nobody, and has its controller's finalizer.
func keptManifest(name, uuid string) string {
	spec := "template: t, network: {devices: [{networkName: net}]}"
	if uuid != "" {
		spec += ", biosUUID: " + uuid
	}
	return fmt.Sprintf("{apiVersion: %s, kind: VSphereVM, metadata: {namespace: c, name: %s, finalizers: [vspherevm.%s]}, spec: {%s}}",
		keptMachine.GroupVersion(), name, keptMachine.Group, spec)
}

func withInstance(manifest, id string) string {
	return strings.Replace(manifest, "spec:", "spec:\n  providerID: "+id, 1)
}

func (p outage) creates(text string) func() error {
	return func() error { return p.admin.Create(p.t.Context(), p.object(p.t, text), client.DryRunAll) }
}

// makes creates a Machine for a set as Machine API's MachineSet controller does.
func (p outage) makes(set string) func() error {
	return func() error {
		return p.mapi.Create(p.t.Context(), p.object(p.t, strings.Replace(machineManifest("new", ""), "name: new",
			"name: new, ownerReferences: [{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: "+set+", uid: u, controller: true}]", 1)), client.DryRunAll)
	}
}

// makesThere creates a Machine for a set as Cluster API's MachineSet controller does.
func (p outage) makesThere(set string) func() error {
	return func() error {
		return p.capi.Create(p.t.Context(), p.object(p.t, strings.Replace(madeForASet(), "name: set,", "name: "+set+",", 1)), client.DryRunAll)
	}
}

func (p outage) patch(gvk schema.GroupVersionKind, name, patch string) func() error {
	return func() error { return p.admin.Patch(p.t.Context(), in(gvk, name), merge(patch), client.DryRunAll) }
}

func (p outage) patchState(gvk schema.GroupVersionKind, name, patch string) func() error {
	return func() error {
		return p.admin.Status().Patch(p.t.Context(), in(gvk, name), merge(patch), client.DryRunAll)
	}
}

func (p outage) deletes(gvk schema.GroupVersionKind, name string) func() error {
	return func() error { return p.admin.Delete(p.t.Context(), in(gvk, name), client.DryRunAll) }
}

// scales returns a request like that of kubectl scale.
func (p outage) scales(resource, namespace, name string) func() error {
	return func() error {
		out, err := p.kubectl(p.t, "", "scale", "-n", namespace, resource, name, "--replicas=3", "--dry-run=server")
		if err != nil {
			return errors.New(out)
		}
		return nil
	}
}

// in returns an empty object in the namespace of its API.
func in(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	if strings.HasSuffix(gvk.Group, "cluster.x-k8s.io") {
		return toward(gvk, "c", name)
	}
	return toward(gvk, "m", name)
}

// madeForASet is a Machine as Cluster API's MachineSet controller creates it.
func madeForASet() string {
	return strings.Replace(twinManifest("new"), pausedText,
		", ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: set, uid: u, controller: true}]", 1)
}
