// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/build"
	"github.com/poundlock/poundlock/policies"
)

// TestWire: the manager shows its build, and reads the cluster's TLS profile unless the settings name all that it could say.
func TestWire(t *testing.T) {
	const kinds = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[%s]}`
	served := map[string][]string{
		"config.openshift.io/v1": {"APIServer", "ClusterOperator"}, "authentication.k8s.io/v1": {"SelfSubjectReview"},
		"machine.openshift.io/v1": {"ControlPlaneMachineSet"}, "machine.openshift.io/v1beta1": {"Machine", "MachineSet", "MachineHealthCheck"},
	}
	resources := func(of ...string) string {
		var out []string
		for _, kind := range of {
			out = append(out, fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%t}`, strings.ToLower(kind)+"s", kind, strings.Contains(kind, "Machine")))
		}
		return strings.Join(out, ",")
	}
	var groups []string
	for version := range served {
		group, v, _ := strings.Cut(version, "/")
		groups = append(groups, fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":%q,"version":%q}]}`, group, version, v))
	}
	var mu sync.Mutex
	var read []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		read = append(read, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answers := map[string]string{
			"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
			"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(groups, ",") + `]}`,
			"/api/v1": fmt.Sprintf(kinds, "v1", resources("Node")),
			"/apis/authentication.k8s.io/v1/selfsubjectreviews": `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1",` +
				`"status":{"userInfo":{"username":"poundlock"}}}`,
			profilePath: `{"kind":"APIServer","apiVersion":"config.openshift.io/v1","metadata":{"name":"cluster"}}`,
		}
		for version, of := range served {
			answers["/apis/"+version] = fmt.Sprintf(kinds, version, resources(of...))
		}
		answer, has := answers[r.URL.Path]
		if !has {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer api.Close()
	s := settings{options: options{gate: "off", metricsAddress: "0", healthAddress: "0"}}
	s.identities = policies.Identities{policies.Poundlock: {"poundlock"}}
	metrics.Registry.Unregister(build.Read().Metric())
	if _, err := wire(t.Context(), &rest.Config{Host: api.URL}, s); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(metrics.Registry, "poundlock_build_info"); n != 1 || err != nil {
		t.Errorf("%d series of poundlock_build_info, %v", n, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(read, profilePath) {
		t.Errorf("the cluster's TLS profile is not read: %v", read)
	}
}

const profilePath = "/apis/config.openshift.io/v1/apiservers/cluster"
