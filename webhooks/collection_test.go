// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/policiestest"
	"github.com/poundlock/poundlock/test/stories"
)

// The API server sends the review of each object of a collection without request.name, and also the review of an object whose name it generates. The test sends
// each kind and operation of every route, and every case of the route's rules, both with the name and without. The two answers must be the same, byte for byte.
func TestEveryRouteAnswersWithoutRequestName(t *testing.T) {
	stories.Long(t)
	catalog, cases := All(platforms.List()...), casesOf(t)
	w := &world{}
	h := handlerOf(t, catalog, w) // one for all cases, because setting up the routes is most of the work
	for _, route := range Routes(catalog) {
		asked := map[admissionv1.Operation]int{}
		for _, c := range append(everyRequest(t, route), cases...) {
			subject, ok := route.subject(c.Change.Resource.Group, c.Change.Resource.Resource)
			if !ok || !route.overlaps(scopeOf(c.Change)) {
				continue
			}
			*w = *worldOf(c)
			with, without := reviewOf(t, c.Change, subject, c.Change.Name), reviewOf(t, c.Change, subject, "")
			if diff := cmp.Diff(ask(t, h, route.Path(), with), ask(t, h, route.Path(), without)); diff != "" {
				t.Errorf("%s, %s: %s (-with the name +without):\n%s", route.Name, c.Rule, c.Name, diff)
			}
			asked[c.Change.Operation]++
		}
		for _, op := range route.Operations {
			if asked[op] < len(route.Subjects) {
				t.Errorf("route %s was asked %d times about %s of its %d kinds", route.Name, asked[op], op, len(route.Subjects))
			}
		}
	}
}

// everyRequest returns requests for each kind and operation of a route: for an object whose twin is authoritative, and for an object that is authoritative.
func everyRequest(t *testing.T, route Route) []policiestest.Case {
	t.Helper()
	namespace, twin := policiestest.ClusterAPINamespace, policiestest.MachineAPINamespace
	if route.Side == policies.SideMachineAPI {
		namespace, twin = twin, namespace
	}
	object := func(kind schema.GroupVersionKind, namespace, spec, status string) *policies.Object {
		o, err := policies.ParseObject(fmt.Appendf(nil,
			`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"finalizers":["a/b"]},"spec":%s,"status":%s}`,
			kind.GroupVersion().String(), kind.Kind, policiestest.ObjectName, namespace, spec, status))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	var out []policiestest.Case
	for _, s := range route.Subjects {
		kind := s.GroupVersion.WithKind(s.ObjectKind)
		other := coreKind(policies.SideMachineAPI, map[string]string{authority.InfraMachine: "Machine", authority.InfraMachineTemplate: "MachineSet"}[s.Kind])
		switch route.Side {
		case policies.SideMachineAPI:
			other = coreKind(policies.SideClusterAPI, s.Kind)
		case policies.SideClusterAPI:
			other = coreKind(policies.SideMachineAPI, s.Kind)
		case policies.SideInfrastructure:
		}
		for _, op := range route.Operations {
			for _, api := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
				status := fmt.Sprintf(`{"authoritativeAPI":%q,"synchronizedAPI":%[1]q}`, api)
				c := policies.Change{
					Subject: policies.Subject{
						Side: route.Side, Kind: s.Kind, Resource: schema.GroupResource{Group: s.GroupVersion.Group, Resource: s.Resource},
						Subresource: route.Subresource, Namespace: namespace, Name: policiestest.ObjectName, TwinNamespace: twin,
					},
					Operation: op, Facts: policies.Facts{Twin: object(other, twin, `{"authoritativeAPI":"MachineAPI"}`, status)},
				}
				if op != create {
					c.Old = object(kind, namespace, `{"replicas":1}`, status)
					c.Facts.Stored = c.Old
				}
				if op != remove {
					c.New = object(kind, namespace, `{"replicas":2,"template":{"spec":{}}}`, `{}`)
				}
				out = append(out, policiestest.Case{Rule: "any", Name: fmt.Sprintf("%s of %s while %s is authoritative", op, s.ObjectKind, api.Text()), Change: c})
			}
		}
	}
	return out
}

func casesOf(t *testing.T) []policiestest.Case {
	t.Helper()
	var out []policiestest.Case
	for _, of := range []string{"authority", "controlplane"} {
		cases, err := policiestest.Load("../policies/" + of + "/testdata/cases")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, cases...)
	}
	return out
}

func scopeOf(c policies.Change) policies.Scope {
	return policies.Scope{Side: c.Side, Kinds: []string{c.Kind}, Operations: ops(c.Operation), Subresource: c.Subresource}
}

// worldOf returns a case's facts as objects. Each object has a name of its own, and the case's set refers to the case's template.
func worldOf(c policiestest.Case) *world {
	w := &world{cached: map[string]string{}, sets: map[string][]string{c.Change.Name: {policiestest.ObjectName}}}
	for _, o := range []*policies.Object{c.Change.Facts.Twin, c.Change.Facts.Stored} {
		if o != nil {
			gv := o.GroupVersionKind()
			w.cached[Ref{GroupVersionKind: gv, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}.String()] = string(o.Raw())
		}
	}
	w.live = w.cached
	return w
}

// handlerOf returns a handler that answers every route from a world, with the namespaces and actors of the cases.
func handlerOf(t *testing.T, catalog Catalog, w *world) http.Handler {
	t.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for path, h := range handlers(Options{
		Pairs:         authority.Pairs{{MachineAPI: policiestest.MachineAPINamespace, ClusterAPI: policiestest.ClusterAPINamespace}},
		LookupTimeout: time.Second, Catalog: catalog, Log: logr.Discard(), Identities: actors(),
	}, w.lookups(), m) {
		mux.Handle(path, h)
	}
	return mux
}

// actors returns identities that are named after their roles.
func actors() policies.Identities {
	out := policies.Identities{}
	for _, a := range []policies.Actor{
		policies.Poundlock, policies.MachineAPIController, policies.ClusterAPIController, policies.InfrastructureController,
		policies.Autoscaler, policies.GarbageCollector, policies.NamespaceController,
	} {
		out[a] = []string{string(a)}
	}
	return out
}

// reviewOf returns a case's request as an API server sends it, without the frame of the AdmissionReview.
func reviewOf(t *testing.T, c policies.Change, subject Subject, name string) string {
	t.Helper()
	request := map[string]any{
		"resource":    map[string]string{"group": subject.GroupVersion.Group, "version": subject.GroupVersion.Version, "resource": subject.Resource},
		"subResource": c.Subresource, "namespace": c.Namespace, "operation": c.Operation, "dryRun": c.DryRun,
		"userInfo": map[string]string{"username": string(c.Actor)}, "options": map[string]any{"propagationPolicy": c.Propagation},
	}
	for member, o := range map[string]*policies.Object{"object": c.New, "oldObject": c.Old} {
		if o != nil {
			request[member] = json.RawMessage(o.Raw())
		}
	}
	if name != "" {
		request["name"] = name
	}
	raw, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw[1 : len(raw)-1])
}
