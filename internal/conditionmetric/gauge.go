// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conditionmetric

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/internal/metricsregistry"
)

// Gauge has one series for each object whose condition is False. The condition's reason is a label, and the value is the time of the condition's last
// transition in Unix seconds. Other objects have no series, so the number of series is the number of problems.
type Gauge struct {
	since     *prometheus.GaugeVec
	condition string

	mu    sync.Mutex
	shown map[object]string
}

type object struct {
	kind string
	types.NamespacedName
}

// New registers the gauge of a condition, or returns what another manager in this process has registered.
func New(r prometheus.Registerer, name, help, condition string) (*Gauge, error) {
	since, err := metricsregistry.Add(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"kind", "namespace", "name", "reason"}))
	return &Gauge{since: since, condition: condition, shown: map[object]string{}}, err
}

// Show sets the series for an object to the object's condition. If o is nil, because the object is gone or its status is outdated, Show deletes the series.
func (g *Gauge) Show(kind string, key types.NamespacedName, o *unstructured.Unstructured) {
	reason, since := g.read(o)
	at := object{kind, key}
	g.mu.Lock()
	defer g.mu.Unlock()
	if was, shown := g.shown[at]; shown && (was != reason || since.IsZero()) {
		g.since.DeleteLabelValues(kind, key.Namespace, key.Name, was)
		delete(g.shown, at)
	}
	if since.IsZero() {
		return
	}
	g.shown[at] = reason
	g.since.WithLabelValues(kind, key.Namespace, key.Name, reason).Set(float64(since.Unix()))
}

// read returns the condition's reason, and the time of its last transition if it is False. Otherwise the time is zero.
func (g *Gauge) read(o *unstructured.Unstructured) (reason string, since time.Time) {
	if o == nil {
		return "", time.Time{}
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	list, _ := conditions.([]any)
	for _, c := range list {
		value, _ := c.(map[string]any)
		if value["type"] != g.condition || value["status"] != "False" {
			continue
		}
		reason, _ = value["reason"].(string)
		text, _ := value["lastTransitionTime"].(string)
		since, _ = time.Parse(time.RFC3339, text)
	}
	return reason, since
}
