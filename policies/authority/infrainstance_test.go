// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies"
)

// A provider's machine and the object that is kept for the instance count as one party, wherever a pass of Poundlock's ended. If they have to stand still, the
// party is paused when both objects are. If they have to act, it is paused until neither is.
func TestAMachineAndItsInstanceAreOneParty(t *testing.T) {
	const (
		acts, told, stands, freed = "acts", "told", "stands", "freed" // in the second and the last state, the controller has not acknowledged yet
	)
	object := func(kind, state string) *policies.Object {
		paused := map[string]string{acts: "False", told: "False", stands: "True", freed: "True"}[state]
		annotations := ""
		if state == told || state == stands {
			annotations = `"cluster.x-k8s.io/paused": "true"`
		}
		o, err := policies.ParseObject(fmt.Appendf(nil,
			`{"kind": %q, "metadata": {"annotations": {%s}}, "status": {"conditions": [{"type": "Paused", "status": %q}]}}`, kind, annotations, paused))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	type party struct {
		requested    bool
		acknowledged AcknowledgedState
	}
	for _, c := range []struct {
		machine, instance string
		still, acting     party
	}{
		{acts, acts, party{false, AcknowledgedUnpaused}, party{false, AcknowledgedUnpaused}},
		{stands, stands, party{true, AcknowledgedPaused}, party{true, AcknowledgedPaused}},
		{told, told, party{true, AcknowledgedUnpaused}, party{true, AcknowledgedUnpaused}},
		{stands, told, party{true, NotAcknowledged}, party{true, NotAcknowledged}},
		{told, stands, party{true, NotAcknowledged}, party{true, NotAcknowledged}},
		// The machine's last pass created the object for the instance, or Poundlock ended between its two pauses.
		{stands, acts, party{false, NotAcknowledged}, party{true, AcknowledgedPaused}},
		{told, acts, party{false, AcknowledgedUnpaused}, party{true, AcknowledgedUnpaused}},
		// Poundlock ended between its two releases, or somebody paused one of the two objects.
		{acts, stands, party{false, NotAcknowledged}, party{true, AcknowledgedPaused}},
		{freed, stands, party{false, AcknowledgedPaused}, party{true, AcknowledgedPaused}},
		{acts, told, party{false, AcknowledgedUnpaused}, party{true, AcknowledgedUnpaused}},
	} {
		for current, want := range map[API]party{MachineAPI: c.still, Migrating: c.still, ClusterAPI: c.acting} {
			o := Objects{Infra: object("VSphereMachine", c.machine), InfraInstance: object("VSphereVM", c.instance)}
			machine := Party{Exists: true, PauseRequested: o.Infra.HasAnnotation(PausedAnnotation), Acknowledged: infraAcknowledged(o.Infra, false)}
			got := o.withInfraInstance(machine, current)
			if (party{got.PauseRequested, got.Acknowledged}) != want {
				t.Errorf("machine %s, instance %s, authority %s: %+v, want %+v", c.machine, c.instance, current, got, want)
			}
		}
	}
	if got := (Objects{InfraInstance: object("VSphereVM", acts)}).withInfraInstance(Party{}, MachineAPI); got != (Party{}) {
		t.Errorf("without its machine: %+v", got)
	}
}

// A deletion of a mirror in the foreground, for example, also deletes the object that is kept for the instance, and Synchronized stays True until the mirror
// has recreated it. If the Machine moved meanwhile and was then deleted, its instance would be left behind.
func TestAMachineMovesOnceItsProviderSeesToTheInstance(t *testing.T) {
	const (
		hooked   = `, "` + InstanceHookAnnotation + `": "poundlock"`
		machine  = `{"spec": {"providerID": "vsphere://1"}, "status": {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 0}}`
		server   = `"finalizers": ["openstackserver.infrastructure.cluster.x-k8s.io"]`
		vm       = `"finalizers": ["vspherevm.infrastructure.cluster.x-k8s.io"]`
		owned    = `"ownerReferences": [{"kind": "VSphereMachine", "name": "m", "uid": "here"}]`
		orphaned = `"ownerReferences": [{"kind": "VSphereMachine", "name": "m", "uid": "gone"}]`
		stranger = `"finalizers": ["example.com/mine"]`
	)
	for _, c := range []struct {
		about, infra, machineAPI, core string
		instance                       any
		unserved, want                 bool
	}{
		{"another provider", "AWSMachine", machine, ``, nil, false, true},
		{"nothing is kept yet", "VSphereMachine", machine, ``, nil, false, false},
		{"nor by OpenStack's", "OpenStackMachine", machine, ``, nil, false, false},
		{"it is kept, and the provider holds it before it answers", "VSphereMachine", machine, ``, ``, false, true},
		{"OpenStack's holds it", "OpenStackMachine", machine, ``, server, false, true},
		{"OpenStack's does not hold it", "OpenStackMachine", machine, ``, ``, false, false},
		{"its machine owns it", "VSphereMachine", machine, ``, owned, false, true},
		{"its machine was recreated, and the collector is about to delete it", "VSphereMachine", machine, ``, orphaned, false, false},
		{"the same, and the hook keeps the Machine", "VSphereMachine", machine, hooked, orphaned, false, false},
		{"the provider has made the new machine an owner, too", "VSphereMachine", machine, ``, strings.TrimSuffix(orphaned, "]") + ", " + strings.TrimPrefix(owned, `"ownerReferences": [`), false, true},
		{"somebody else does", "OpenStackMachine", machine, ``, stranger, false, false},
		{"Poundlock's hook keeps the Machine until it does", "OpenStackMachine", machine, hooked, ``, false, true},
		{"the hook alone", "OpenStackMachine", machine, hooked, nil, false, true},
		{"on vSphere too", "VSphereMachine", machine, hooked, nil, false, true},
		{"the provider keeps no such objects", "OpenStackMachine", machine, ``, nil, true, true},
		{"there is no instance yet", "OpenStackMachine", `{"status": {"authoritativeAPI": "MachineAPI"}}`, ``, nil, false, true},
		{"Cluster API is authoritative: its provider sees to it", "OpenStackMachine", `{"spec": {"providerID": "vsphere://1"}, "status": {"authoritativeAPI": "ClusterAPI"}}`, ``, nil, false, true},
		{"on its way to Cluster API", "VSphereMachine", `{"spec": {"providerID": "vsphere://1"}, "status": {"authoritativeAPI": "Migrating", "synchronizedAPI": "MachineAPI"}}`, ``, nil, false, false},
		{"and kept", "VSphereMachine", `{"spec": {"providerID": "vsphere://1"}, "status": {"authoritativeAPI": "Migrating", "synchronizedAPI": "MachineAPI"}}`, ``, vm, false, true},
	} {
		read := func(text string) *policies.Object {
			o, err := policies.ParseObject([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		kind, _ := KindNamed("Machine")
		o := Objects{
			Kind: kind, Enabled: true, MachineAPI: read(c.machineAPI), ClusterAPI: read(`{"metadata": {"annotations": {"` + MirrorAnnotation + `": "Machine/"` + c.core +
				`}}}`), InstancesUnserved: c.unserved,
			Infra: read(`{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "` + c.infra +
				`", "metadata": {"name": "m", "uid": "here"}, "spec": {"providerID": "vsphere://1"}}`),
		}
		if metadata, kept := c.instance.(string); kept {
			o.InfraInstance = read(`{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "` + InfraInstanceKind(c.infra) +
				`", "metadata": {` + metadata + `}}`)
		}
		if got := o.State().CaughtUp; got != c.want {
			t.Errorf("%s: caught up: %t", c.about, got)
		}
	}
}

// A move to Machine API may begin after somebody has deleted the provider's machine. The object that was kept for the instance may be left, and acts on.
// Poundlock first pauses it, even if the object is being deleted, as it is by the garbage collector.
func TestWhatIsLeftForAnInstanceIsPausedWithoutItsMachine(t *testing.T) {
	read := func(text string) *policies.Object {
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	machine, _ := KindNamed("Machine")
	const told, stands = `"annotations": {"cluster.x-k8s.io/paused": "true"}`, `"status": {"conditions": [{"type": "Paused", "status": "True"}]}`
	for _, c := range []struct {
		about, metadata, status string
		want                    Action
		on                      Who
		reason                  string
	}{
		{"there is none", "none", ``, AddFinalizer, WhoMachineAPI, ReasonHandingOver},
		{"it acts", `"labels": {}`, `"status": {}`, Pause, WhoInfra, ReasonPausing},
		{"it acts, and is being deleted", `"deletionTimestamp": "2026-11-26T00:00:00Z"`, `"status": {}`, Pause, WhoInfra, ReasonPausing},
		{"it has not acknowledged its pause", told, `"status": {}`, Wait, WhoInfra, ReasonNotPaused},
		{"it stands still", told, stands, AddFinalizer, WhoMachineAPI, ReasonHandingOver},
		{"the same, while it is being deleted", told + `, "deletionTimestamp": "2026-11-26T00:00:00Z"`, stands, AddFinalizer, WhoMachineAPI, ReasonHandingOver},
	} {
		o := Objects{Kind: machine, Enabled: true,
			MachineAPI: read(`{"metadata": {"name": "m", "generation": 1}, "spec": {"authoritativeAPI": "MachineAPI", "providerID": "vsphere://1"}, "status": {"authoritativeAPI": "Migrating",
				"synchronizedAPI": "ClusterAPI", "synchronizedGeneration": 1, "conditions": [{"type": "Synchronized", "status": "True"}]}}`),
			ClusterAPI: read(`{"metadata": {"name": "m", "generation": 1, "finalizers": ["machine.cluster.x-k8s.io"], ` + told +
				`}, "spec": {"providerID": "vsphere://1"}, ` + stands + `}`)}
		if c.metadata != "none" {
			o.InfraInstance = read(`{"kind": "VSphereVM", "metadata": {"name": "m", ` + c.metadata + `}, ` + c.status + `}`)
		}
		if got := Next(o.State()); got.Action != c.want || got.On != c.on || got.Reason != c.reason {
			t.Errorf("%s: %s on %b (%s), want %s on %b (%s): %s", c.about, got.Action, got.On, got.Reason, c.want, c.on, c.reason, got.Message)
		}
	}
}

// vSphere's provider acts on the virtual machine that a VSphereVM names. If a person created the VSphereVM, or restored it from a backup of an earlier Machine
// of the name, it may name another virtual machine than the Machine's.
func TestAnInstancesObjectThatNamesAnotherInstance(t *testing.T) {
	machine, _ := KindNamed("Machine")
	object := func(spec, status string) *policies.Object {
		return &policies.Object{Spec: []byte(spec), Status: []byte(status)}
	}
	for _, c := range []struct {
		kept string
		want Instance
	}{
		{``, InstanceKnown}, {`{}`, InstanceKnown}, {`{"biosUUID": "4210-A"}`, InstanceKnown}, {`{"biosUUID": "4210-b"}`, InstanceUnknown},
	} {
		o := Objects{Kind: machine, MachineAPI: object(`{"providerID": "vsphere://4210-a"}`, `{}`), ClusterAPI: object(`{"providerID": "vsphere://4210-a"}`, `{}`),
			Infra: object(`{"providerID": "vsphere://4210-a"}`, `{"ready": true}`)}
		if c.kept != "" {
			o.InfraInstance = object(c.kept, `{}`)
		}
		for _, source := range []API{MachineAPI, ClusterAPI} {
			if got := o.instance(source, Shape{Phase: "Running"}); got != c.want {
				t.Errorf("%s, from %s: %d, want %d", c.kept, source, got, c.want)
			}
		}
	}
}

// vSphere's provider gives a VSphereVM the name of the Machine. Somebody may have created that Machine with a VSphereMachine of another name. OpenStack's
// provider gives an OpenStackServer the name of the OpenStackMachine.
func TestAMoveIsWarnedOfAnotherInstance(t *testing.T) {
	read := func(format string, args ...any) *policies.Object {
		o, err := policies.ParseObject(fmt.Appendf(nil, format, args...))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	const (
		machine = `{"metadata": {"name": "m"}, "spec": {"authoritativeAPI": %q, "providerID": "vsphere://42-a"}, "status": {"authoritativeAPI": %q, "phase": "Running"}}`
		core    = `{"metadata": {"name": "m", "annotations": {"cluster.x-k8s.io/paused": ""}}, "spec": {"providerID": "vsphere://42-a"}}`
		infra   = `{"kind": "VSphereMachine", "metadata": {"name": "m"}, "spec": {"providerID": "vsphere://42-a"}, "status": {"ready": true}}`
		vm      = `{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "VSphereVM", "metadata": {"name": "m-vm", "namespace": "capi"}, "spec": {"biosUUID": %q}}`
	)
	for _, c := range []struct {
		about, uuid string
		from        API
		want        string
	}{
		{"none is kept", "", MachineAPI, ""},
		{"the Machine's", "42-A", MachineAPI, ""},
		{"another's", "42-b", MachineAPI, "VSphereVM m-vm names another instance (spec.biosUUID) than spec.providerID of this Machine, and Cluster API would act " +
			"on that other instance, vsphere://42-b. It keeps running: if nothing needs it, terminate it in the cloud. Delete the object, and Poundlock recreates it: kubectl -n capi delete vspherevm.infrastructure.cluster.x-k8s.io m-vm"},
		{"another's, which Cluster API acts on", "42-b", ClusterAPI, "VSphereVM m-vm names another instance (spec.biosUUID) than spec.providerID of this " +
			"Machine. Correct spec.providerID of the Machine, or restore the other object"},
	} {
		change := policies.Change{
			Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Name: "m", Namespace: "mapi", TwinNamespace: "capi"},
			Operation: "UPDATE", Old: read(machine, c.from, c.from), New: read(machine, c.from.Other(), c.from),
			Facts: policies.Facts{Twin: read(core), Infra: read(infra)},
		}
		if c.uuid != "" {
			change.Facts.InfraInstance = read(vm, c.uuid)
		}
		got := strings.Join(RequestWarning(change).Warnings, "\n")
		if c.want == "" && strings.Contains(got, "names another") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.about, got)
		}
		// The condition says the same as the warning, and not that an ID is missing.
		o := Objects{MachineAPI: change.Old, ClusterAPI: change.Facts.Twin, Infra: change.Facts.Infra, InfraInstance: change.Facts.InfraInstance}
		if got := o.KeptForOtherInstance(); got != c.want {
			t.Errorf("%s, in the condition: %q, want %q", c.about, got, c.want)
		}
		o.Infra = read(`{"kind": "VSphereMachine", "metadata": {"name": "m"}, "spec": {"providerID": "vsphere://42-c"}}`)
		if got := o.KeptForOtherInstance(); got != "" {
			t.Errorf("%s, beside another ID that waits: %q", c.about, got)
		}
	}
}

func TestInstancesAreNamedAfterTheMachineOnVSphere(t *testing.T) {
	for _, c := range []struct {
		kind, group, owner string
		want               bool
	}{
		{"VSphereMachine", "cluster.x-k8s.io/v1beta2", "m", true},
		{"VSphereMachine", "cluster.x-k8s.io/v1beta2", "other", false},
		{"VSphereMachine", "example.com/v1", "other", true},
		{"OpenStackMachine", "cluster.x-k8s.io/v1beta2", "other", true},
	} {
		o := &policies.Object{TypeMeta: metav1.TypeMeta{Kind: c.kind}, Spec: []byte(`{}`)}
		o.Metadata.Name = "m"
		o.Metadata.OwnerReferences = []metav1.OwnerReference{{APIVersion: c.group, Kind: "Machine", Name: c.owner}}
		if got := InfraInstanceNamedAlike(o); got != c.want {
			t.Errorf("%s of %s: %t", c.kind, c.owner, got)
		}
	}
}

// If there are two objects for instances, the one with the machine's name may belong to another machine.
func TestAnInstancesObjectMayBeAnotherMachines(t *testing.T) {
	vsphere := func(names ...string) (out []metav1.OwnerReference) {
		for _, name := range names {
			out = append(out, metav1.OwnerReference{Kind: "VSphereMachine", Name: name})
		}
		return out
	}
	for about, c := range map[string]struct {
		owners []metav1.OwnerReference
		want   bool
	}{
		"no owner yet": {nil, false}, "its machine's": {vsphere("m"), false}, "another machine's": {vsphere("other"), true}, "both machines'": {vsphere("other", "m"), false},
		"an owner of another kind": {[]metav1.OwnerReference{{Kind: "ConfigMap", Name: "other"}}, false},
	} {
		if got := KeptForAnother("VSphereVM", c.owners, "m"); got != c.want {
			t.Errorf("%s: %t", about, got)
		}
	}
}

func TestInstancesThatNeedNotHaveTheMachinesName(t *testing.T) {
	for spec, want := range map[string]bool{
		`{}`: true, `null`: true, `{"os": "Linux"}`: true, `[]`: true,
		`{"os": "Windows"}`: false, `{"namingStrategy": {"template": "{{ .machine.name }}-vm"}}`: false,
	} {
		if got := InfraInstanceNamedAlike(&policies.Object{Spec: []byte(spec)}); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
}

// What the mirror recreates during a move is awaited, as is what existed when the move began: its controllers add their finalizer before they acknowledge.
func TestAMoveWaitsForWhatIsRecreatedOnItsWay(t *testing.T) {
	stands := Party{Exists: true, PauseRequested: true, Acknowledged: AcknowledgedPaused, Finalizer: FinalizerPresent}
	silent := stands
	silent.Acknowledged = NotAcknowledged
	for _, c := range []struct {
		about       string
		core, infra Party
		want        Action
		on          Who
	}{
		{"all stand still", stands, stands, Switch, WhoMachineAPI},
		{"the provider's objects have not answered", stands, silent, Wait, WhoInfra},
		{"nor has Cluster API's Machine", silent, silent, Wait, WhoClusterAPI | WhoInfra},
	} {
		s := State{
			Enabled: true, Requested: ClusterAPI, Current: Migrating, Origin: MachineAPI, InfraActs: true, Synchronized: "True", CaughtUp: true, Instance: InstanceKnown,
			MachineAPI: Party{Exists: true, Acknowledged: AcknowledgedPaused, Finalizer: FinalizerPresent}, ClusterAPI: c.core, Infra: c.infra,
		}
		if step := Next(s); step.Action != c.want || step.On != c.on {
			t.Errorf("%s: %s on %d (%s), want %s on %d", c.about, step.Action, step.On, step.Reason, c.want, c.on)
		}
	}
	s := State{
		Enabled: true, Requested: MachineAPI, Current: Migrating, Origin: ClusterAPI, InfraActs: true, Synchronized: "True", CaughtUp: true, Instance: InstanceKnown,
		MachineAPI: Party{Exists: true, Finalizer: FinalizerPresent}, ClusterAPI: stands, Infra: stands,
	}
	if step := Next(s); step.Action != Switch {
		t.Errorf("to Machine API: %s (%s)", step.Action, step.Reason)
	}
}

// This tests what a review says of an instance whose provider's object is being deleted. If the provider keeps an object for the instance, that object counts.
func TestARequestBesideAnInstanceThatEnds(t *testing.T) {
	const (
		runs  = " and its instance keeps running"
		going = `, "deletionTimestamp": "2026-01-01T00:00:00Z"`
		ends  = "its controller terminates the instance, so authority cannot move"
	)
	for _, c := range []struct{ about, from, infra, spec, infraGoing, keptGoing, denied, warned string }{
		{"nothing is being deleted", "ClusterAPI", "VSphereMachine", ``, ``, ``, ``, runs},
		{"the provider's machine is", "ClusterAPI", "VSphereMachine", ``, going, ``, "VSphereMachine capi/m is being deleted, and " + ends, ``},
		{"what is kept is", "ClusterAPI", "VSphereMachine", ``, ``, going, "VSphereVM capi/m is being deleted, and " + ends, ``},
		{"OpenStack's is", "ClusterAPI", "OpenStackMachine", ``, ``, going, "OpenStackServer capi/m is being deleted, and " + ends, ``},
		{"the mirror's is, which Poundlock recreates", "MachineAPI", "VSphereMachine", ``, ``, going, "so authority cannot move. Try again when Poundlock has " +
			"recreated that object", ``},
		{"it may have any name, and is not looked at", "ClusterAPI", "VSphereMachine", `, "namingStrategy": {}`, ``, "-", ``, ""},
	} {
		read := func(text string) *policies.Object {
			o, err := policies.ParseObject([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		machine := func(asked API) *policies.Object {
			return read(fmt.Sprintf(`{"kind": "Machine", "metadata": {"name": "m", "namespace": "mapi"}, "spec": {"authoritativeAPI": %q, "providerID": "vsphere://1"},
				"status": {"authoritativeAPI": %q, "phase": "Running", "conditions": [{"type": "Synchronized", "status": "True"}]}}`, asked, c.from))
		}
		mark := `"annotations": {"` + MirrorAnnotation + `": "Machine/m"}`
		change := policies.Change{
			Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "mapi", Name: "m", TwinNamespace: "capi"},
			Old:     machine(API(c.from)), New: machine(API(c.from).Other()), Operation: "UPDATE",
			Facts: policies.Facts{
				Twin: read(`{"kind": "Machine", "metadata": {"name": "m", "namespace": "capi", ` + mark + `}, "spec": {"providerID": "vsphere://1"}}`),
				Infra: read(`{"kind": "` + c.infra + `", "metadata": {"name": "m", "namespace": "capi", ` + mark + c.infraGoing +
					`}, "spec": {"providerID": "vsphere://1"` + c.spec + `}, "status": {"ready": true}}`),
			},
		}
		if c.keptGoing != "-" {
			change.Facts.InfraInstance = read(`{"kind": "` + InfraInstanceKind(c.infra) + `", "metadata": {"name": "m", "namespace": "capi"` + c.keptGoing + `}}`)
		}
		denials, warnings := RequestBlocked(change).Denials, strings.Join(RequestWarning(change).Warnings, "\n")
		if len(denials) == 0 != (c.denied == "") || len(denials) > 0 && !strings.Contains(denials[0].Detail, c.denied) {
			t.Errorf("%s: denied %v, want %q", c.about, denials, c.denied)
		}
		if strings.Contains(warnings, runs) != (c.warned != "") {
			t.Errorf("%s: warned %q, want %q in it", c.about, warnings, c.warned)
		}
	}
}

// TestAnInstanceThatIsKeptTwice: an object that is neither the Machine's nor its provider's machine's may name the instance. Whatever that object is called,
// its controller acts on the instance.
func TestAnInstanceThatIsKeptTwice(t *testing.T) {
	parse := func(text string) *policies.Object {
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	kept := func(name, owner string) *policies.Object {
		return parse(fmt.Sprintf(`{"kind":"VSphereVM","metadata":{"name":%q,"ownerReferences":[{"kind":"VSphereMachine","name":%q}]},"spec":{"biosUUID":"4210-1"}}`, name, owner))
	}
	for _, c := range []struct {
		about       string
		name, owner string
		want        int
	}{
		{"its own, by its name", "m", "i", 0},
		{"its own, by its provider's machine's name", "i", "i", 0},
		{"its own, under a name that the provider made up", "x", "i", 0},
		{"another's", "f2", "f2", 1},
	} {
		got := AlsoKept([]*policies.Object{kept(c.name, c.owner)}, "m", "i")
		if len(got) != c.want || c.want > 0 && got[0] != "VSphereVM "+c.name {
			t.Errorf("%s: %v", c.about, got)
		}
	}
	kind, _ := KindNamed("Machine")
	o := Objects{Kind: kind, Enabled: true, AlsoKept: []string{"VSphereVM f2"},
		MachineAPI: parse(`{"metadata":{"generation":1},"spec":{"authoritativeAPI":"ClusterAPI","providerID":"vsphere://4210-1"},"status":{"authoritativeAPI":"MachineAPI","synchronizedGeneration":1,"conditions":[{"type":"Synchronized","status":"True"}]}}`)}
	if s := o.State(); s.Instance != InstanceAlsoKept {
		t.Errorf("instance %v", s.Instance)
	}
}

// TestBesideWhatAnotherMachineKeeps: a person is not advised to delete the object that runs another Machine's instance.
func TestBesideWhatAnotherMachineKeeps(t *testing.T) {
	for owners, advised := range map[string]bool{
		``: true,
		`,"ownerReferences":[{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"VSphereMachine","name":"m","uid":"u"}]`: false,
	} {
		kept, err := policies.ParseObject([]byte(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"VSphereVM","metadata":{"name":"m"` + owners + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		c := policies.Change{
			Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Name: "m", TwinNamespace: "capi"},
			Operation: admissionv1.Create, New: &policies.Object{}, Facts: policies.Facts{KeptNamesake: kept},
		}
		v := BesideKept(c)
		if len(v.Denials) != 1 || strings.Contains(v.Denials[0].Error(), "kubectl") != advised || !strings.Contains(v.Denials[0].Error(), "under another name") {
			t.Errorf("%q: %v", owners, v)
		}
	}
}
