// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// The index finds Machines whose IDs have the same end. A Machine of another provider has another instance, and is not returned.
func TestMachinesOfAnotherInstanceAreNotHolders(t *testing.T) {
	const aws, gcp = "AWSMachineProviderConfig", "GCPMachineProviderSpec"
	for _, c := range []struct {
		id, key string
		has     bool
	}{
		{"aws:///us-east-1a/i-0a", instanceid.Key("aws:///us-east-1b/i-0a"), true},
		{"aws:///us-east-1a/i-0a", instanceid.Tail("i-0a"), true},
		{"aws:///us-east-1a/i-0a", instanceid.Key("gce://project/zone/i-0a"), false},
		{"openstack:///7d8a1f5e", instanceid.Key("openstack://regionOne/7d8a1f5e"), true}, // Cluster API's provider writes the region, Machine API's does not
		{"openstack:///7d8a1f5e", instanceid.Key("openstack://regionOne/0b1c2d3e"), false},
		{"ibmpowervs://dal/dal10/w/7d8a1f5e", instanceid.Key("ibmpowervs://dal/dal12/w/7d8a1f5e"), true}, // the controllers of PowerVS only use the end
		{"ibmpowervs://dal/dal10/w/7d8a1f5e", instanceid.Key("ibmpowervs://wdc/wdc06/x/7d8a1f5e"), true},
		{"ibmpowervs://dal/dal10/w/7d8a1f5e", instanceid.Key("ibmpowervs://dal/dal10/w/0b1c2d3e"), false},
		{"gce://project/a/name", instanceid.Key("gce://project/a/name"), true},
		{"gce://project/a/name", instanceid.Key("gce://project/b/name"), false},
		{"gce://project/a/name", instanceid.Tail("name"), true},
		{"aws:///us-east-1a/i-0a", instanceid.Key("aws:///us-east-1a/i-0a/"), true},
		{"aws:///us-east-1a/i-0a", instanceid.Key(" AWS:///us-east-1a//I-0a\n"), true},
		{"aws:///us-east-1a/i-0a/", instanceid.Tail("i-0a"), true},
		{"gce://project/a/name/", instanceid.Key("gce:///Project/a//name"), true},
	} {
		m, err := policies.ParseObject(fmt.Appendf(nil, `{"spec":{"providerID":%q}}`, c.id))
		if err != nil {
			t.Fatal(err)
		}
		if has := hasInstance(m, c.key); has != c.has {
			t.Errorf("%s by %s: %v", c.id, c.key, has)
		}
	}
	for _, c := range []struct {
		id, platform, key string
		has               bool
	}{ // an ID of another cloud may have been stored before such IDs were refused, and AWS's controllers read its end
		{"gce://project/zone/i-0a", aws, instanceid.Key("aws:///us-east-1b/i-0a"), true},
		{"gce://project/zone/i-0b", aws, instanceid.Key("aws:///us-east-1b/i-0a"), false},
		{"aws://project/zone/name", gcp, instanceid.Key("gce://project/zone/name"), true},
		{"aws:///zone/name", gcp, instanceid.Key("gce://project/zone/name"), false},
	} {
		m, err := policies.ParseObject(fmt.Appendf(nil, `{"spec":{"providerID":%q,"providerSpec":{"value":{"kind":%q}}}}`, c.id, c.platform))
		if err != nil {
			t.Fatal(err)
		}
		if has := hasInstance(m, c.key); has != c.has {
			t.Errorf("%s of %s by %s: %v", c.id, c.platform, c.key, has)
		}
	}
}

// TestWhatElseIsKeptForAnInstanceIsAFact: if a Machine is to move on a platform whose provider keeps objects for instances, the other objects with the
// Machine's instance are a fact of the review.
func TestWhatElseIsKeptForAnInstanceIsAFact(t *testing.T) {
	parse := func(text string) *policies.Object {
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	asked := ""
	l := Lookups{Platforms: platforms.List(), Holding: HoldingFunc(func(_ context.Context, gvk schema.GroupVersionKind, namespace, key string) ([]*policies.Object, error) {
		if gvk.Kind == "Machine" {
			return nil, nil
		}
		asked = gvk.Kind + " " + namespace + " " + key
		return []*policies.Object{parse(`{"kind":"VSphereVM","metadata":{"name":"f2"},"spec":{"biosUUID":"4210-A"}}`), parse(`{"kind":"VSphereVM","metadata":{"name":"i"},"spec":{"biosUUID":"4210-A"}}`)}, nil
	})}
	twin := parse(`{"metadata":{"name":"m"},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"VSphereMachine","name":"i"}}}`)
	for _, c := range []struct {
		kind, id, asked string
		want            []string
	}{
		{"VSphereMachineProviderSpec", "vsphere://4210-A", "VSphereVM c 4210-a", []string{"VSphereVM f2"}},
		{"VSphereMachineProviderSpec", "", "", nil},
		{"AWSMachineProviderConfig", "aws:///a/i-1", "", nil},
	} {
		asked = ""
		m := parse(fmt.Sprintf(`{"metadata":{"name":"m"},"spec":{"providerID":%q,"providerSpec":{"value":{"kind":%q}}}}`, c.id, c.kind))
		change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Name: "m", Namespace: "m", TwinNamespace: "c"},
			Operation: admissionv1.Update, Old: m, New: m, Facts: policies.Facts{Twin: twin}}
		if err := l.belongings(t.Context(), &change, policies.NeedHolders); err != nil || asked != c.asked || !slices.Equal(change.Facts.AlsoKept, c.want) {
			t.Errorf("%s %q: asked about %q, %v, %v", c.kind, c.id, asked, change.Facts.AlsoKept, err)
		}
	}
	for _, key := range []string{"4210-a", "/4210-a"} {
		if !hasInstance(parse(`{"kind":"VSphereVM","metadata":{"name":"f2"},"spec":{"biosUUID":"4210-A"}}`), key) {
			t.Errorf("a VSphereVM has not the instance %s", key)
		}
	}
}

// TestTheOwnersThatAreRead: three kinds of owners are read. They are the MachineSet of a Machine, in the Machine's own API and namespace; the Machine of a
// provider's machine; and the provider's machine of an object that is kept for an instance.
func TestTheOwnersThatAreRead(t *testing.T) {
	for _, c := range []struct {
		side               policies.Side
		kind, owners, want string
	}{
		{policies.SideMachineAPI, "Machine", `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"s","uid":"u","controller":true}`, "machine.openshift.io MachineSet s"},
		{policies.SideMachineAPI, "Machine", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"s","uid":"u","controller":true}`, ""},
		{policies.SideClusterAPI, "Machine", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"s","uid":"u","controller":true}`, "cluster.x-k8s.io MachineSet s"},
		{policies.SideClusterAPI, "Machine", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"c","uid":"u"}`, "cluster.x-k8s.io Cluster c"},
		{policies.SideClusterAPI, "MachineSet", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDeployment","name":"d","uid":"u","controller":true}`,
			"cluster.x-k8s.io MachineDeployment d"},
		{policies.SideMachineAPI, "Machine", `{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","name":"c","uid":"u","controller":true}`,
			"machine.openshift.io ControlPlaneMachineSet c"},
		{policies.SideMachineAPI, "Machine", `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"s","uid":"u"}`, "machine.openshift.io MachineSet s"},
		{policies.SideMachineAPI, "Machine", `{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"u"}`, ""},
		{policies.SideInfrastructure, "InfraMachine", `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster","name":"c","uid":"u"}`, "cluster.x-k8s.io Cluster c"},
		{policies.SideInfrastructure, "InfraMachine", `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"m","uid":"u"}`, "cluster.x-k8s.io Machine m"},
		{policies.SideInfrastructure, "InfraInstance", `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"VSphereMachine","name":"m","uid":"u"}`,
			"infrastructure.cluster.x-k8s.io VSphereMachine m"},
	} {
		read := ""
		l := Lookups{Live: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			if ref.Name != "" {
				read = ref.Group + " " + ref.Kind + " " + ref.Name
			}
			return nil, nil
		})}
		o, err := policies.ParseObject([]byte(`{"kind":"VSphereVM","metadata":{"name":"m","ownerReferences":[` + c.owners + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		subject := policies.Subject{Side: c.side, Kind: c.kind, Resource: schema.GroupResource{Group: "infrastructure.cluster.x-k8s.io"}}
		if _, err := l.owners(t.Context(), policies.Change{Subject: subject, New: o}); err != nil || read != c.want {
			t.Errorf("%s: %s: %q is read (%v), want %q", c.side, c.owners, read, err, c.want)
		}
	}
}

// The object that a provider keeps for an instance is a fact of a request to move if it has the name of the provider's machine.
func TestWhatIsKeptForAnInstanceIsAFact(t *testing.T) {
	for _, c := range []struct {
		about, infra string
		fresh        bool
		want         string
	}{
		{"of a machine that has gone, to which the Cluster API Machine refers", ``, true, "live infrastructure.cluster.x-k8s.io VSphereVM capi/gone"},
		{"vSphere's", `{"kind":"VSphereMachine","metadata":{"name":"m","namespace":"capi"}}`, true, "live infrastructure.cluster.x-k8s.io VSphereVM capi/m"},
		{"from the cache", `{"kind":"VSphereMachine","metadata":{"name":"m","namespace":"capi"}}`, false, "cached infrastructure.cluster.x-k8s.io VSphereVM capi/m"},
		{"OpenStack's", `{"kind":"OpenStackMachine","metadata":{"name":"m","namespace":"capi"}}`, true, "live infrastructure.cluster.x-k8s.io OpenStackServer capi/m"},
		{"of another name", `{"kind":"VSphereMachine","metadata":{"name":"m","namespace":"capi"},"spec":{"namingStrategy":{"template":"x"}}}`, true, ""},
		{"a provider that keeps none", `{"kind":"AWSMachine","metadata":{"name":"m","namespace":"capi"}}`, true, ""},
		{"no machine", `null`, true, ""},
	} {
		reader := func(source string) Reader {
			return ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
				return policies.ParseObject(fmt.Appendf(nil, `{"metadata":{"name":%q}}`, source+" "+ref.String()))
			})
		}
		var err error
		change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine"}}
		switch c.infra {
		case "null":
		case "":
			if change.Facts.Twin, err = policies.ParseObject([]byte(`{"metadata":{"name":"m","namespace":"capi"},
				"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"VSphereMachine","name":"gone"}}}`)); err != nil {
				t.Fatal(err)
			}
		default:
			if change.Facts.Infra, err = policies.ParseObject([]byte(c.infra)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Lookups{Cached: reader("cached"), Live: reader("live"), Platforms: platforms.List()}.infraInstance(t.Context(), change, c.fresh)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		if got != nil {
			name = got.Metadata.Name
		}
		if name != c.want {
			t.Errorf("%s: %q, want %q", c.about, name, c.want)
		}
	}
}

// TestTheMachineBehindWhatIsDeleted: Cluster API's Machine records whether the provider has the instance's ID. Only a warning depends on that.
func TestTheMachineBehindWhatIsDeleted(t *testing.T) {
	o, err := policies.ParseObject([]byte(`{"metadata":{"name":"m"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{authority.InfraMachine, authority.InfraInstance, authority.InfraMachineTemplate} {
		read := ""
		l := Lookups{Cached: ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			read = ref.Group + " " + ref.Kind + " " + ref.Namespace + "/" + ref.Name
			return nil, errors.New("no answer")
		})}
		c := policies.Change{Subject: policies.Subject{Side: policies.SideInfrastructure, Kind: kind, Namespace: "capi", Name: "i"},
			Operation: admissionv1.Delete, Old: o, Facts: policies.Facts{Twin: o}}
		if err := l.belongings(t.Context(), &c, policies.NeedOwners); err != nil {
			t.Error(err)
		}
		want := "cluster.x-k8s.io Machine capi/m"
		if kind == authority.InfraMachineTemplate {
			want = ""
		}
		if doubts := l.advisory(t.Context(), &c, policies.NeedOwners); read != want || (len(doubts) > 0) != (want != "") {
			t.Errorf("%s: read %q, want %q; doubts %v", kind, read, want, doubts)
		}
	}
}

// TestTheInfrastructureMachineOfAName: one live read of one object finds out whether an infrastructure machine of the Machine's name exists. It is only made if
// there is no twin.
func TestTheInfrastructureMachineOfAName(t *testing.T) {
	object := func(text string) *policies.Object {
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for about, c := range map[string]struct {
		infrastructure string
		twin           *policies.Object
		cached, live   []string
		found          bool
	}{
		"on AWS":                     {`{"status":{"platformStatus":{"type":"AWS"}}}`, nil, []string{"Infrastructure /cluster"}, []string{"AWSMachine capi/m"}, true},
		"beside a twin":              {`{"status":{"platformStatus":{"type":"AWS"}}}`, object(`{"metadata":{"name":"m"}}`), nil, nil, false},
		"on a platform of no mirror": {`{"status":{"platformStatus":{"type":"None"}}}`, nil, []string{"Infrastructure /cluster"}, nil, false},
		"without a status":           {`{}`, nil, []string{"Infrastructure /cluster"}, nil, false},
	} {
		var cached, live []string
		reader := func(into *[]string, answer string) Reader {
			return ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
				*into = append(*into, ref.Kind+" "+ref.Namespace+"/"+ref.Name)
				return object(answer), nil
			})
		}
		l := Lookups{Platforms: platforms.List(), Cached: reader(&cached, c.infrastructure), Live: reader(&live, `{"metadata":{"name":"m"}}`)}
		change := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "mapi", Name: "m", TwinNamespace: "capi"},
			Operation: admissionv1.Create, New: object(`{"metadata":{"name":"m"}}`), Facts: policies.Facts{Twin: c.twin}}
		if err := l.belongings(t.Context(), &change, policies.NeedNamesake); err != nil {
			t.Error(err)
		}
		if !slices.Equal(cached, c.cached) || !slices.Equal(live, c.live) || (change.Facts.InfraNamesake != nil) != c.found {
			t.Errorf("%s: read %q from the cache and %q live, found %v", about, cached, live, change.Facts.InfraNamesake)
		}
	}
}

// TestTheMachineThatAnInstanceIsKeptFor: a VSphereVM's Machine is found through its VSphereMachine. If that cannot be looked up, the VSphereVM stays locked.
func TestTheMachineThatAnInstanceIsKeptFor(t *testing.T) {
	object := func(text string) *policies.Object {
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for found, want := range map[string]string{"infra": "infra", "nothing": ""} {
		read := ReaderFunc(func(_ context.Context, ref Ref) (*policies.Object, error) {
			switch {
			case ref.Kind == "VSphereMachine" && ref.Name == "infra" && found == "infra":
				return object(`{"metadata":{"name":"infra"}}`), nil
			case ref.Kind == "VSphereMachine":
				return nil, errors.New("no answer")
			case ref.Group == "machine.openshift.io":
				return object(`{"metadata":{"name":"` + ref.Name + `"}}`), nil
			}
			return nil, nil
		})
		l := Lookups{Cached: read, Live: read, Platforms: platforms.List()}
		c := policies.Change{Subject: policies.Subject{Side: policies.SideInfrastructure, Kind: authority.InfraInstance, Namespace: "capi", Name: "vm", TwinNamespace: "mapi",
			Resource: schema.GroupResource{Group: "infrastructure.cluster.x-k8s.io", Resource: "vspherevms"}}, Operation: admissionv1.Update,
			Old: object(`{"metadata":{"name":"vm","ownerReferences":[{"kind":"VSphereMachine","name":"infra"}]}}`)}
		c, doubts, err := l.gather(t.Context(), c, policies.NeedTwin|policies.NeedInfra)
		if err != nil || len(doubts) > 0 {
			t.Fatal(err, doubts)
		}
		got := ""
		if c.Facts.Infra != nil {
			got = c.Facts.Infra.Metadata.Name
		}
		if got != want || c.Facts.Twin == nil || c.Facts.Twin.Metadata.Name != "infra" {
			t.Errorf("%s: its machine is %q, of %v", found, got, c.Facts.Twin)
		}
	}
}
