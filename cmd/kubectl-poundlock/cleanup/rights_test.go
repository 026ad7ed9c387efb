// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// want is a request as RBAC sees it.
type want struct{ verb, group, resource, name string }

func (w want) String() string { return fmt.Sprintf("%s %s.%s %s", w.verb, w.resource, w.group, w.name) }

// requested reads a request's path.
func requested(r *http.Request) want {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	w := want{}
	if parts[0] == "apis" {
		w.group, parts = parts[1], parts[3:]
	} else {
		parts = parts[2:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	w.resource = parts[0]
	if len(parts) > 1 {
		w.name = parts[1]
	}
	if len(parts) > 2 {
		w.resource += "/" + parts[2]
	}
	w.verb = map[string]string{http.MethodGet: "get", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodPost: "create", http.MethodPut: "update"}[r.Method]
	if w.verb == "get" && w.name == "" {
		w.verb = "list"
	}
	return w
}

func allows(rules []rbacv1.PolicyRule, w want) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, w.verb) && slices.Contains(r.APIGroups, w.group) && slices.Contains(r.Resources, w.resource) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, w.name))
	})
}

// administrator are the rights of the ClusterRole that ships.
func administrator(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	raw, err := os.ReadFile("../../../manifests/base/access/users.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		role := rbacv1.ClusterRole{}
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			t.Fatal("there is no role poundlock-administrator")
		}
		if err != nil {
			t.Fatal(err)
		}
		if role.Name == "poundlock-administrator" {
			return role.Rules
		}
	}
}

// The ClusterRole that ships for cleanup has the right to each of its requests: to what it reads, and to each kind of write, on everything that it may write to.
func TestTheRoleOfCleanup(t *testing.T) {
	var mu sync.Mutex
	asked := map[want]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		it := requested(r)
		mu.Lock()
		asked[it] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if it.resource == "deployments" {
			_, _ = io.WriteString(w, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"poundlock"},"spec":{"replicas":0}}`)
			return
		}
		if it.verb == "list" {
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"x/v1","kind":"X","metadata":{"name":%q,"resourceVersion":"1","annotations":{%q:"1"}}}`, it.name, authority.HoldsMirrorsAnnotation)
	}))
	defer s.Close()
	client, err := dynamic.NewForConfig(&rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, pairs := t.Context(), authority.Pairs{inventory.DefaultPair}
	c := &cleaner{options: &options{Plugin: plugin(s.URL), dryRun: "none", name: presence.Name}, Output: printers.Output{Writer: io.Discard}, client: client, leaving: Leaving{}, lingers: linger}
	if _, err := inventory.FromCluster(ctx, client, inventory.Query{Pairs: pairs, Sets: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.admission(ctx); err != nil {
		t.Fatal(err)
	}
	if c.marked, err = c.surroundings(ctx, pairs); err != nil {
		t.Fatal(err)
	}
	for _, r := range []schema.GroupVersionResource{presence.Deployments, presence.Leases} {
		if _, err := c.get(ctx, r, pairs[0].ClusterAPI, presence.Name); err != nil {
			t.Fatal(err)
		}
	}
	change := func(of schema.GroupVersionResource, namespace string, back bool) Change {
		o := &policies.Object{}
		o.Metadata.Name, o.Metadata.Namespace, o.Metadata.ResourceVersion = "x", namespace, "1"
		return Change{Item: inventory.Item{Resource: of, Object: o}, Finalizer: true, Back: back}
	}
	changes := []Change{change(machinev1.GroupVersion.WithResource(controlplane.Resource), pairs[0].MachineAPI, true)}
	for _, k := range authority.Kinds() {
		changes = append(changes, change(k.MachineAPI.WithResource(k.Resource), pairs[0].MachineAPI, true), change(k.ClusterAPI.WithResource(k.Resource), pairs[0].ClusterAPI, false))
	}
	for _, p := range platforms.List() {
		for _, r := range p.Resources() {
			changes = append(changes, change(r.GroupVersion().WithResource(r.Plural), pairs[0].ClusterAPI, false))
		}
	}
	for _, r := range admission {
		c.own = append(c.own, owned{GroupVersionResource: r, name: presence.Name})
	}
	c.own = slices.DeleteFunc(c.own, func(o owned) bool { return strings.HasPrefix(o.Resource, "validatingadmission") }) // their names have more parts
	if err := c.carryOut(ctx, pairs[0].ClusterAPI, changes); err != nil {
		t.Fatal(err)
	}
	rules := administrator(t)
	for it := range asked {
		if !allows(rules, it) {
			t.Errorf("poundlock-administrator may not %s", it)
		}
	}
	if !asked[want{"patch", "machine.openshift.io", "machines/status", "x"}] {
		t.Errorf("no status is written: %d requests", len(asked))
	}
}

func plugin(server string) *cli.Plugin {
	p := &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now}}
	p.AddFlags(&cobra.Command{})
	*p.Config.APIServer = server
	return p
}
