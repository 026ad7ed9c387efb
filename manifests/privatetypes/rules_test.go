// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/proxy"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/translation"
	"github.com/poundlock/poundlock/webhooks/shim"
)

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type groups struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

func rules(t *testing.T) groups {
	t.Helper()
	var out struct {
		Spec groups `json:"spec"`
	}
	text, err := os.ReadFile("prometheusrule.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Spec
}

// series is one that was scraped: it grows by as much each minute.
type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// recorded are series that kubelets have.
var recorded = []series{
	{`container_memory_working_set_bytes{container="kube-apiserver-proxy",namespace="ns",pod="p"}`, "20000000x40"},
	{`container_cpu_usage_seconds_total{container="kube-apiserver-proxy",namespace="ns",pod="p"}`, "0+1x40"},
}

// scraped are the series of a registry, with the labels that a scrape adds.
func scraped(t *testing.T, registry *prometheus.Registry) []series {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []series
	add := func(name string, labels []*dto.LabelPair, value float64, more ...string) {
		all := slices.Concat([]string{`namespace="ns"`, `pod="p"`}, more)
		for _, l := range labels {
			all = append(all, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		out = append(out, series{name + "{" + strings.Join(all, ",") + "}", fmt.Sprintf("0+%gx40", value)})
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				for _, b := range h.GetBucket() {
					add(f.GetName()+"_bucket", m.GetLabel(), float64(b.GetCumulativeCount()), fmt.Sprintf("le=%q", fmt.Sprint(b.GetUpperBound())))
				}
				add(f.GetName()+"_bucket", m.GetLabel(), float64(h.GetSampleCount()), `le="+Inf"`)
				add(f.GetName()+"_count", m.GetLabel(), float64(h.GetSampleCount()))
				continue
			}
			add(f.GetName(), m.GetLabel(), m.GetCounter().GetValue())
		}
	}
	return out
}

// proxied has a proxy answer requests, and returns its series.
func proxied(t *testing.T, upstream http.HandlerFunc) []series {
	t.Helper()
	server := httptest.NewServer(upstream)
	defer server.Close()
	registry := prometheus.NewPedanticRegistry()
	p, err := proxy.New(proxy.Options{Upstream: &rest.Config{Host: server.URL}, Registerer: registry, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/apis/cluster.x-k8s.io/v1beta2/machines", http.NoBody)
			p.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	all.Wait()
	return scraped(t, registry)
}

// converted has a shim answer reviews, and returns its series.
func converted(t *testing.T, upstream http.HandlerFunc) []series {
	t.Helper()
	server := httptest.NewTLSServer(upstream)
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	s, err := shim.New(shim.Options{Upstreams: []string{"cluster.x-k8s.io=" + server.URL + "/convert"}, Trust: rest.TLSClientConfig{CAFile: ca},
		Registerer: registry, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", strings.NewReader(fmt.Sprintf(
		`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"%[1]s/v1beta2","objects":[{"apiVersion":"%[1]s/v1beta1","kind":"Machine","metadata":{"name":"m"}}]}}`,
		translation.Private)))
	r.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(httptest.NewRecorder(), r)
	return scraped(t, registry)
}

type alertTest struct {
	At       string     `json:"eval_time"`
	Alert    string     `json:"alertname"`
	Expected []expected `json:"exp_alerts"`
}

type expected struct {
	Labels      map[string]string `json:"exp_labels"`
	Annotations map[string]string `json:"exp_annotations"`
}

type queryTest struct {
	Query   string   `json:"expr"`
	At      string   `json:"eval_time"`
	Samples []sample `json:"exp_samples"`
}

type sample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

type ruleTest struct {
	Name     string      `json:"name"`
	Interval string      `json:"interval"`
	Input    []series    `json:"input_series"`
	Alerts   []alertTest `json:"alert_rule_test,omitempty"`
	Queries  []queryTest `json:"promql_expr_test,omitempty"`
}

var promtool = flag.String("promtool", "",
	"have this program of Prometheus' evaluate the expressions; `build` builds the pinned one at the first time, which takes minutes")

// The expressions of alerts and dashboard are about series and labels that proxy and shim really have. With -promtool: the alerts fire on those, and only where
// something is wrong, and each query of the dashboard has an answer.
func TestRules(t *testing.T) {
	fine := slices.Concat(
		proxied(t, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, `{"kind":"MachineList","apiVersion":"`+translation.Private+`/v1beta2","items":[]}`)
		}),
		converted(t, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u","convertedObjects":[{"apiVersion":"`+translation.Standard+
				`/v1beta2","kind":"Machine","metadata":{"name":"m"}}],"result":{"status":"Success"}}}`)
		}))
	wrong := slices.Concat(
		proxied(t, func(w http.ResponseWriter, r *http.Request) {
			select { // slower than what the alert lets pass
			case <-time.After(300 * time.Millisecond):
			case <-r.Context().Done():
			}
			http.Error(w, "{}", http.StatusInternalServerError)
		}),
		converted(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) }), recorded)
	checkNames(t, wrong)
	binary := *promtool
	switch binary {
	case "":
		return
	case "build":
		var err error
		if binary, err = build.Promtool(t.Context(), os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	tests := []ruleTest{
		{Name: "fine", Interval: "1m", Input: fine, Alerts: firing(t, "30m", false)},
		{Name: "wrong", Interval: "1m", Input: wrong, Alerts: slices.Concat(firing(t, "4m", false), firing(t, "30m", true)), Queries: queries(t)},
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), rules(t))
	write(t, filepath.Join(dir, "tests.yaml"), map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m", "tests": tests})
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"}, {"test", "rules", "tests.yaml"}} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = dir
		if value, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %s\n%s", strings.Join(args, " "), err, value)
		}
	}
}

// checkNames looks for each metric and label of each expression among the series.
func checkNames(t *testing.T, all []series) {
	t.Helper()
	labels := map[string]map[string]bool{}
	for _, s := range all {
		name, rest, _ := strings.Cut(s.Series, "{")
		if labels[name] == nil {
			labels[name] = map[string]bool{}
		}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(rest, -1) {
			labels[name][label[1]] = true
		}
	}
	var exprs []string
	for _, r := range rules(t).Groups[0].Rules {
		exprs = append(exprs, r.Expr)
	}
	for _, q := range queries(t) {
		exprs = append(exprs, q.Query)
	}
	for _, expr := range exprs {
		metrics := regexp.MustCompile(`\b(?:hypershift|container)_\w+`).FindAllString(expr, -1)
		if len(metrics) == 0 {
			t.Errorf("%s is about nothing", expr)
		}
		used := regexp.MustCompile(`by \(([^)]*)\)|\{(\w+)=`).FindAllStringSubmatch(expr, -1)
		for _, metric := range metrics {
			for _, of := range used {
				for label := range strings.SplitSeq(of[1]+of[2], ",") {
					if !labels[metric][strings.TrimSpace(label)] {
						t.Errorf("%s: %s has the labels %v", expr, metric, slices.Sorted(maps.Keys(labels[metric])))
					}
				}
			}
			if labels[metric] == nil {
				t.Errorf("%s: there is no %s", expr, metric)
			}
		}
	}
}

func answer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// firing are the alerts as they are after a time, all of them or none.
func firing(t *testing.T, at string, all bool) []alertTest {
	t.Helper()
	of := map[string]map[string]string{"HyperShiftAPIProxyHighLatency": {"namespace": "ns", "pod": "p"}, "HyperShiftConversionWebhookUnavailable": {}}
	var out []alertTest
	for _, r := range rules(t).Groups[0].Rules {
		a := alertTest{At: at, Alert: r.Alert, Expected: []expected{}}
		if all {
			e := expected{Labels: maps.Clone(of[r.Alert]), Annotations: map[string]string{}}
			maps.Copy(e.Labels, r.Labels)
			for k, v := range r.Annotations {
				e.Annotations[k] = strings.NewReplacer("{{ $labels.namespace }}", "ns", "{{ $labels.pod }}", "p", "{{ $value | humanizePercentage }}", "100%").Replace(v)
			}
			a.Expected = append(a.Expected, e)
		}
		out = append(out, a)
	}
	if len(out) != len(of) {
		t.Errorf("there are %d alerts", len(out))
	}
	return out
}

// queries ask for each query of the dashboard whether it has an answer that is a number.
func queries(t *testing.T) []queryTest {
	t.Helper()
	var config struct {
		Data map[string]string `json:"data"`
	}
	text, err := os.ReadFile("dashboard.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(config.Data["private-types.json"]), &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []queryTest
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			q := "(" + target.Expr + ")"
			out = append(out, queryTest{"count(" + q + " == " + q + ") > bool 0", "30m", []sample{{"{}", 1}}})
		}
	}
	if len(out) < 10 {
		t.Errorf("the dashboard has %d queries", len(out))
	}
	return out
}

func write(t *testing.T, file string, value any) {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Each alert has a section in the runbooks that names it.
func TestRunbooks(t *testing.T) {
	page, err := os.ReadFile("../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t).Groups[0].Rules {
		_, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "docs/runbooks.md#")
		title := "\n## " + strings.ReplaceAll(anchor, "-", " ") + "\n"
		if anchor == "" || !strings.Contains(strings.ToLower(string(page)), title) || !strings.Contains(string(page), "`"+r.Alert+"`") {
			t.Errorf("%s has no section %q in the runbooks", r.Alert, anchor)
		}
	}
}
