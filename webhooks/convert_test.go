// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// shelf is a cache of objects by kind and name.
type shelf map[string]map[string]any

func (s shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind().Kind
	content, ok := s[kind+" "+key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	into.(*unstructured.Unstructured).Object = content
	return nil
}

func (shelf) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func awsShelf(t testing.TB) shelf {
	return shelf{
		"Infrastructure cluster": decoded(t, `{"status":{"infrastructureName":"x","platformStatus":{"type":"AWS","aws":{"region":"eu-west-1"}}}}`),
		"AWSCluster x":           decoded(t, `{"metadata":{"name":"x"},"spec":{"region":"eu-west-1"}}`),
	}
}

// converting returns conversions that read the cluster from the shelf.
func converting(s shelf, w *world) conversions {
	all := platforms.List()
	return conversions{cached: w.lookups().Cached, envs: envs{cache: s, timeout: time.Second}, platforms: all}
}

const awsMachineSpec = `"ami":{"id":"ami-1"},"instanceType":"m6i.large","placement":{"region":"eu-west-1","availabilityZone":"eu-west-1a"},
	"userDataSecret":{"name":"worker-user-data"},"iamInstanceProfile":{"id":"worker"},"credentialsSecret":{"name":"aws-cloud-credentials"},
	"securityGroups":[{"filters":[{"name":"tag:Name","values":["x-node"]}]},{"id":"sg-2"}],"subnet":{"filters":[{"name":"tag:Name","values":["x-private"]}]},
	"tags":[{"name":"kubernetes.io/cluster/x","value":"owned"},{"name":"team","value":"blue"}],
	"blockDevices":[{"ebs":{"encrypted":true,"volumeSize":120,"volumeType":"gp3","iops":3000}}],"metadataServiceOptions":{"authentication":"Required"}`

func awsMachine(api, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"m","labels":{"machine.openshift.io/cluster-api-cluster":"x"}},
		"spec":{"authoritativeAPI":%q,"metadata":{"labels":{"node-role.kubernetes.io/infra":""}},"providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig",%s}}},
		"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","conditions":[{"type":"Synchronized","status":"True"}]}}`, api, spec)
}

func TestConversions(t *testing.T) {
	capi := `{"metadata":{"name":"a","namespace":"c"},"spec":{"clusterName":"x","version":"v1.36.0","bootstrap":{"dataSecretName":"d"},
		"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"i"}}}`
	settledOn := func(api string) string {
		return fmt.Sprintf(`{"metadata":{"name":"a","namespace":"m"},"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q}}`, api, api)
	}
	for name, tt := range map[string]struct {
		side           policies.Side
		old, new, twin string
		infra          string
		scale          string // the stored object, if the review is of its /scale
		shelf          shelf
		want           []string // fields
		wantErr        string
	}{
		"all of it converts": {side: policies.SideMachineAPI, old: awsMachine("MachineAPI", awsMachineSpec), new: awsMachine("ClusterAPI", awsMachineSpec), shelf: awsShelf(t)},
		"a field of the Machine API that does not": {
			side: policies.SideMachineAPI, old: awsMachine("MachineAPI", awsMachineSpec), new: awsMachine("ClusterAPI", awsMachineSpec+`,"deviceIndex":2`),
			shelf: awsShelf(t), want: []string{"spec.providerSpec.value.deviceIndex"},
		},
		"going back, the twin is converted": {
			side: policies.SideMachineAPI, old: settledOn("ClusterAPI"), new: strings.Replace(settledOn("ClusterAPI"), "ClusterAPI", "MachineAPI", 1),
			twin: capi, infra: `{"metadata":{"name":"i"},"spec":{"instanceType":"m6i.large","ami":{"id":"ami-1"},"instanceMetadataOptions":{"httpTokens":"optional"}}}`,
			shelf: awsShelf(t), want: []string{"spec.version"},
		},
		"an edit on the Cluster API side is converted": {
			side: policies.SideClusterAPI, old: capi, new: capi, twin: settledOn("ClusterAPI"),
			infra: `{"metadata":{"name":"i"},"spec":{"instanceType":"m6i.large","ami":{"id":"ami-1"},"imageLookupOrg":"1"}}`,
			shelf: awsShelf(t), want: []string{"spec.version", "AWSMachine.spec.imageLookupOrg"},
		},
		"a scale of the mirror": {
			side: policies.SideMachineAPI, old: `{"spec":{"replicas":1}}`, new: `{"spec":{"replicas":2}}`, scale: settledOn("ClusterAPI"), twin: capi,
			infra: `{"metadata":{"name":"i"},"spec":{"instanceType":"m6i.large","ami":{"id":"ami-1"},"imageLookupOrg":"1"}}`,
			shelf: awsShelf(t), want: []string{"spec.version", "AWSMachine.spec.imageLookupOrg"},
		},
		"a scale of Cluster API's": {
			side: policies.SideClusterAPI, old: `{"spec":{"replicas":1}}`, new: `{"spec":{"replicas":2}}`, scale: capi, twin: settledOn("ClusterAPI"),
			infra: `{"metadata":{"name":"i"},"spec":{"instanceType":"m6i.large","ami":{"id":"ami-1"},"imageLookupOrg":"1"}}`,
			shelf: awsShelf(t), want: []string{"spec.version", "AWSMachine.spec.imageLookupOrg"},
		},
		"what Cluster API has on its own is converted into nothing": {
			side: policies.SideClusterAPI, old: capi, new: strings.Replace(capi, `"clusterName"`, `"providerID":"aws:///a/i-1","clusterName"`, 1), shelf: awsShelf(t),
		},
		"a Machine that Cluster API is to make": {
			side: policies.SideMachineAPI, new: settledOn("ClusterAPI"), shelf: awsShelf(t), want: []string{"spec.providerSpec.value"},
		},
		"no twin to go back to": {
			side: policies.SideMachineAPI, old: settledOn("ClusterAPI"), new: settledOn("ClusterAPI"), shelf: awsShelf(t), wantErr: "no Cluster API Machine",
		},
		"no Infrastructure": {
			side: policies.SideMachineAPI, old: settledOn("MachineAPI"), new: settledOn("MachineAPI"), shelf: shelf{}, wantErr: "Infrastructure",
		},
		"a platform nobody converts": {
			side: policies.SideMachineAPI, old: settledOn("MachineAPI"), new: settledOn("MachineAPI"), want: []string{""}, // the whole object, not a field
			shelf: shelf{"Infrastructure cluster": decoded(t, `{"status":{"infrastructureName":"x","platformStatus":{"type":"Abacus"}}}`)},
		},
		"a platform that is not said yet": {
			side: policies.SideMachineAPI, old: settledOn("MachineAPI"), new: settledOn("MachineAPI"), wantErr: "platformStatus.type",
			shelf: shelf{"Infrastructure cluster": decoded(t, `{"status":{}}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]string{"infrastructure.cluster.x-k8s.io AWSMachine c/i": tt.infra}}
			c := policies.Change{Subject: policies.Subject{Side: tt.side, Kind: "Machine", Namespace: "m", TwinNamespace: "c"}, Operation: update}
			if tt.side == policies.SideClusterAPI {
				c.Namespace, c.TwinNamespace = "c", "m"
			}
			if tt.old == "" {
				c.Operation = create
			}
			c.Old, c.New, c.Facts.Twin = parsed(t, tt.old), parsed(t, tt.new), parsed(t, tt.twin)
			if tt.scale != "" {
				c.Subresource, c.Facts.Stored = "scale", parsed(t, tt.scale)
			}
			errs, err := converting(tt.shelf, w).Unconvertible(t.Context(), c)
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Fatalf("error %v, want %q", err, tt.wantErr)
			}
			fields := map[string]bool{}
			for _, e := range errs {
				fields[e.Field] = true
			}
			for _, want := range tt.want {
				if !fields[want] {
					t.Errorf("%s is not named among %v", want, errs)
				}
			}
			if len(tt.want) == 0 && len(errs) > 0 {
				t.Errorf("named for nothing: %v", errs)
			}
		})
	}
}

// A user who requests a move back without the infrastructure machine reads what the mirror reports. The review does not advise to create an infrastructure
// machine, because that could create a second instance.
func TestAMissingInfrastructureMachineIsReportedInTheMirrorsWords(t *testing.T) {
	const capi = `{"metadata":{"name":"a","namespace":"c"},"spec":{"clusterName":"x",%s"bootstrap":{"dataSecretName":"d"},
		"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"i"}}}`
	const mapi = `{"metadata":{"name":"a","namespace":"m"},"spec":{%s"authoritativeAPI":%q},"status":{"authoritativeAPI":"ClusterAPI"}}`
	const id, other = `"providerID":"aws:///a/i-1",`, `"providerID":"aws:///a/i-2",`
	machine := authority.Kinds()[0]
	for name, tt := range map[string]struct {
		side       policies.Side
		mapi, capi string
		known      bool
	}{
		"before the instance has an ID":     {policies.SideMachineAPI, "", "", false},
		"where both have other IDs":         {policies.SideMachineAPI, id, other, false},
		"in an edit of Cluster API's":       {policies.SideClusterAPI, "", "", false},
		"in an edit, and both have the ID":  {policies.SideClusterAPI, id, id, true},
		"in an edit, and only one has it":   {policies.SideClusterAPI, "", id, false},
		"in a request, and only one has it": {policies.SideMachineAPI, "", id, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := policies.Change{Subject: policies.Subject{Side: tt.side, Kind: machine.Name, Namespace: "m", TwinNamespace: "c"}, Operation: update}
			c.Old, c.New = parsed(t, fmt.Sprintf(mapi, tt.mapi, "ClusterAPI")), parsed(t, fmt.Sprintf(mapi, tt.mapi, "MachineAPI"))
			c.Facts.Twin = parsed(t, fmt.Sprintf(capi, tt.capi))
			if tt.side == policies.SideClusterAPI {
				c.Namespace, c.TwinNamespace = "c", "m"
				c.Old, c.New, c.Facts.Twin = c.Facts.Twin, c.Facts.Twin, c.Old
			}
			errs, err := converting(awsShelf(t), &world{}).Unconvertible(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			c.Facts.Unconvertible = errs
			warned := strings.Join(authority.Refusals(c, authority.MachineAPI, "so"), "\n")
			if want := machine.NoInfra("AWSMachine c/i", tt.known); !strings.Contains(warned, want) || strings.Contains(warned, "create it, or") {
				t.Errorf("warned\n%s\nwant\n%s", warned, want)
			}
		})
	}
}

// Without the infrastructure cluster, no object of Cluster API converts. The review names the missing infrastructure cluster, as the mirror does, and no field.
func TestAMissingInfrastructureClusterIsNoFieldsFault(t *testing.T) {
	c := policies.Change{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Namespace: "c", TwinNamespace: "m"}, Operation: update}
	c.Facts.Twin = parsed(t, `{"metadata":{"name":"a","namespace":"m"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI"}}`)
	c.Old = parsed(t, `{"metadata":{"name":"a","namespace":"c"},"spec":{"clusterName":"x","bootstrap":{"dataSecretName":"d"},
		"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"i"}}}`)
	c.New = c.Old
	s := awsShelf(t)
	delete(s, "AWSCluster x")
	errs, err := converting(s, &world{}).Unconvertible(t.Context(), c)
	if err != nil || len(errs) != 1 || errs[0].Field != "" || errs[0].Detail != "AWSCluster c/x does not exist: Cluster API needs this object before a Machine can be mirrored" {
		t.Errorf("%v, %v", errs, err)
	}
}

// masters is a cache that only lists the control plane's Machines.
type masters struct {
	shelf
	t     *testing.T
	items []string
	err   error
}

func (m masters) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	if asked.FieldSelector == nil || asked.FieldSelector.String() != "poundlock.role=control-plane" || asked.Namespace != "m" || asked.UnsafeDisableDeepCopy == nil {
		m.t.Errorf("a list of %v in %q: want the control plane's Machines alone, by the index, without copies", asked.FieldSelector, asked.Namespace)
	}
	for _, text := range m.items {
		into.(*unstructured.UnstructuredList).Items = append(into.(*unstructured.UnstructuredList).Items, unstructured.Unstructured{Object: decoded(m.t, text)})
	}
	return m.err
}

// TestMastersWithDifferentLoadBalancers: each of them gets the same command for the AWSCluster, which names all of their load balancers.
func TestMastersWithDifferentLoadBalancers(t *testing.T) {
	master := func(name string, balancers ...string) string {
		var list []string
		for _, b := range balancers {
			list = append(list, fmt.Sprintf(`{"name":%q,"type":"network"}`, b))
		}
		text := awsMachine("MachineAPI", awsMachineSpec+`,"loadBalancers":[`+strings.Join(list, ",")+`]`)
		text = strings.Replace(text, `"labels":{`, `"labels":{"machine.openshift.io/cluster-api-machine-role":"master",`, 1)
		return strings.Replace(text, `"name":"a"`, fmt.Sprintf(`"name":%q`, name), 1)
	}
	cache := masters{shelf: awsShelf(t), t: t, items: []string{master("m-0", "x-int"), master("m-1", "x-ext"), master("m-2", "x-int", "x-ext")}}
	for sentence, c := range map[string]struct {
		machine string
		err     error
		want    string
	}{
		"the first":                  {machine: master("m-0", "x-int"), want: "x-int and x-ext"},
		"the second":                 {machine: master("m-1", "x-ext"), want: "x-int and x-ext"},
		"one that is to have less":   {machine: master("m-2", "x-ext"), want: "x-int and x-ext"},
		"one that is to be created":  {machine: master("m-3", "x-ext"), want: "x-int and x-ext"},
		"the others cannot be read":  {machine: master("m-0", "x-int"), err: context.DeadlineExceeded},
		"their kind is not served":   {machine: master("m-0", "x-int"), err: &meta.NoKindMatchError{}, want: "x-int"},
		"a Machine that has another": {machine: master("m-0", "x-int", "mine"), want: ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			cache := cache
			if cache.err = c.err; c.err != nil {
				cache.items = nil
			}
			v := converting(cache.shelf, &world{})
			v.envs.environment.Masters = cache
			change := policies.Change{
				Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "m", TwinNamespace: "c"}, Operation: update,
				Old: parsed(t, c.machine), New: parsed(t, c.machine),
			}
			errs, err := v.Unconvertible(t.Context(), change)
			if unread := errors.Is(c.err, context.DeadlineExceeded); (err != nil) != unread {
				t.Fatalf("error %v", err)
			}
			var named []string
			for _, e := range errs {
				for _, name := range []string{"x-int", "x-ext"} {
					if e.Field == "AWSCluster.spec.controlPlaneLoadBalancer" && strings.Contains(e.Detail, `"name":"`+name+`"`) {
						named = append(named, name)
					}
				}
			}
			if got := strings.Join(named, " and "); got != c.want {
				t.Errorf("the command names %q, want %q: %v", got, c.want, errs)
			}
		})
	}
}

// TestAPlatformThatCannotBeMigrated: for every kind of object, the answer reports once that the platform cannot be migrated, and nothing that a move would wait
// for.
func TestAPlatformThatCannotBeMigrated(t *testing.T) {
	s := shelf{"Infrastructure cluster": decoded(t, `{"status":{"infrastructureName":"x","platformStatus":{"type":"Abacus"}}}`)}
	stays := `{"metadata":{"name":"a","namespace":"m"},"spec":{"authoritativeAPI":"MachineAPI"},"status":{"authoritativeAPI":"MachineAPI",` +
		`"conditions":[{"type":"Synchronized","status":"False","reason":"PlatformNotSupported","message":"x"}]}}`
	moves := strings.Replace(stays, `"spec":{"authoritativeAPI":"MachineAPI"`, `"spec":{"authoritativeAPI":"ClusterAPI"`, 1)
	mapiSets := strings.NewReplacer(`"machines"`, `"machinesets"`, `"Machine"`, `"MachineSet"`).Replace(mapiMachines)
	for sentence, c := range map[string]struct {
		request string
		more    string // a warning of another kind
	}{
		"a move of a Machine is asked for":       {request: mapiMachines + `,"operation":"UPDATE","oldObject":` + stays + `,"object":` + moves},
		"a move of a MachineSet is asked for":    {request: mapiSets + `,"operation":"UPDATE","oldObject":` + stays + `,"object":` + moves},
		"a Machine is created":                   {request: mapiMachines + `,"operation":"CREATE","object":` + stays},
		"a MachineSet is created":                {request: mapiSets + `,"operation":"CREATE","object":` + stays},
		"a Machine is created for Cluster API":   {request: mapiMachines + `,"operation":"CREATE","object":` + moves, more: "create it again with spec.authoritativeAPI: MachineAPI"},
		"a move is asked for, and that is tried": {request: mapiMachines + `,"dryRun":true,"operation":"UPDATE","oldObject":` + stays + `,"object":` + moves},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := &world{}
			w.convert = converting(s, w).Unconvertible
			h, m := serve(t, All(platforms.List()...), w)
			got := ask(t, h, "/validate/machine-api", c.request)
			value := slices.DeleteFunc(slices.Clone(got.Warnings), func(s string) bool { return c.more != "" && strings.Contains(s, c.more) })
			if !got.Allowed || len(value) != 1 || !strings.HasPrefix(value[0], platforms.Unsupported("Abacus")) {
				t.Errorf("want it allowed, with one warning of it, got %+v", got)
			}
			if c.more != "" && len(got.Warnings) != 2 {
				t.Errorf("want a warning of what becomes of it too, got %+v", got)
			}
			if n := testutil.ToFloat64(m.doubts.WithLabelValues("machine-api")); n != 0 {
				t.Errorf("%v doubts counted, want none: it is known", n)
			}
		})
	}
}

// TestChecksConvertOnEveryPlatform: a check has no fields of the platform, so the platform may be unknown.
func TestChecksConvertOnEveryPlatform(t *testing.T) {
	s := shelf{"Infrastructure cluster": decoded(t, `{"status":{"infrastructureName":"x","platformStatus":{"type":"Abacus"}}}`)}
	c := policies.Change{
		Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineHealthCheck", Namespace: "m", TwinNamespace: "c"}, Operation: create,
		New: parsed(t, `{"metadata":{"name":"a","namespace":"m"},"spec":{"selector":{},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"5m"}]}}`),
	}
	errs, err := converting(s, &world{}).Unconvertible(t.Context(), c)
	if err != nil || len(errs) != 1 || errs[0].Field != "spec.selector" {
		t.Errorf("%v and %v, want the empty selector alone", errs, err)
	}
}

func parsed(t testing.TB, text string) *policies.Object {
	t.Helper()
	o, err := policies.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// BenchmarkReviewOfAMove measures a review with a full AWS conversion, from body to answer. A lookup in it only costs as much as one in a map.
func BenchmarkReviewOfAMove(b *testing.B) {
	w := &world{live: map[string]string{capiA: `{"metadata":{"name":"a","namespace":"c"}}`}}
	w.convert = converting(awsShelf(b), w).Unconvertible
	h, _ := serve(b, All(platforms.List()...), w)
	body := []byte(review(mapiMachines + `,"operation":"UPDATE","userInfo":{"username":"someone"},"oldObject":` +
		awsMachine("MachineAPI", awsMachineSpec) + `,"object":` + awsMachine("ClusterAPI", awsMachineSpec)))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/validate/machine-api", bytes.NewReader(body)))
	}
}
