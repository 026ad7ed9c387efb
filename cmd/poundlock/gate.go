// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers"
)

// gateName names the feature gate (see converting › Graduation Criteria).
const gateName = "MachineAPIMigration"

// gateEnabled reports whether the feature gate is on. The settings turn it on or off, or name the cluster's FeatureGate as the source.
func gateEnabled(ctx context.Context, c client.Reader, s settings) (bool, error) {
	if s.gate != "cluster" {
		return s.gate == "on", nil
	}
	gates := &configv1.FeatureGate{}
	if err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, gates); err != nil {
		return false, fmt.Errorf("reading FeatureGate cluster: %w. If the cluster has no FeatureGate, set --feature-gate=on or --feature-gate=off", err)
	}
	return enabledIn(gates, s.release), nil
}

// enabledIn reports whether the gate is on in a release. If no release is named, the gate must be on in each listed release, because Poundlock may not read
// ClusterVersion, which has the cluster's release. A gate that a release does not list is off in that release.
func enabledIn(gates *configv1.FeatureGate, release string) bool {
	found := false
	for _, details := range gates.Status.FeatureGates {
		if release != "" && details.Version != release {
			continue
		}
		on := slices.ContainsFunc(details.Enabled, func(f configv1.FeatureGateAttributes) bool { return f.Name == gateName })
		if !on {
			return false
		}
		found = true
	}
	return found
}

// migration returns the state of the feature gate for the mirror: whether the gate is off, and otherwise a time when it was on already. What the Machine API's
// controllers did while the gate was off is no user's request.
func migration(ctx context.Context, c client.Reader, s settings) (authority.Migration, error) {
	if s.gate != "cluster" {
		return authority.Migration{Off: s.gate != "on"}, nil
	}
	gates := &configv1.FeatureGate{}
	if err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, gates); err != nil {
		return authority.Migration{}, fmt.Errorf("reading FeatureGate cluster: %w", err)
	}
	return authority.Migration{Off: !enabledIn(gates, s.release), Since: lastWritten(gates)}, nil
}

// firstWritten is how long after the object's creation the status of a new cluster's feature gates is first written, at most.
const firstWritten = time.Minute

// lastWritten returns when the status of the feature gates was last written. The gate was turned on no later than that. The result is zero if managed fields do
// not have the time. It is also zero if the status of a new cluster was never written again, because the gate was never off there.
func lastWritten(gates *configv1.FeatureGate) (last time.Time) {
	for _, m := range gates.ManagedFields {
		if m.Time != nil && m.Time.After(last) && managedfields.EntryHolds(m, managedfields.Path("status")) {
			last = m.Time.Time
		}
	}
	if last.Before(gates.CreationTimestamp.Add(firstWritten + 1)) {
		return time.Time{}
	}
	return last
}

// mode has the facts that decide which reconcilers run.
type mode struct {
	// gate reports that the feature gate is on.
	gate bool
	// rival names the running parts of OpenShift's own migration (authority.Rival); "" for none. It is also "" if the gate is off, because OpenShift's own
	// migration does nothing then either.
	rival string
}

func (m mode) moves() bool { return m.gate && m.rival == "" }

func (m mode) String() string {
	switch {
	case !m.gate:
		return "the feature gate " + gateName + " is off"
	case m.rival != "":
		return "the feature gate " + gateName + " is on, and OpenShift's own migration runs: " + m.rival
	}
	return "the feature gate " + gateName + " is on"
}

// readMode reads the mode from the API server. If Poundlock may not read whether OpenShift's own migration runs, it goes on as if that did not run, as it did
// before there was a Role for this right.
func readMode(ctx context.Context, c client.Reader, s settings) (mode, error) {
	gate, err := gateEnabled(ctx, c, s)
	if err != nil || !gate {
		return mode{}, err
	}
	rival, err := facts.Rival(ctx, c, s.pairs)
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return mode{gate: true, rival: rival}, err
}

// forReconcilers returns the reconcilers' options that come from the settings. The options that are read from the cluster are left out.
func (s settings) forReconcilers() reconcilers.Options {
	return reconcilers.Options{Pairs: s.pairs, NodeSync: s.nodeSync, ControlPlane: s.controlPlane, MayRecreate: s.mayRecreate,
		NotReadyGrace: s.notReadyGrace, Version: s.release}
}

// chosenReconcilers returns the function that sets up the reconcilers. Those that mirror and move are among them only if the feature gate is on and OpenShift's
// own migration does not run.
func chosenReconcilers(mgr manager.Manager, cfg *rest.Config, s settings, now mode) (func(ctrl.Manager) error, error) {
	o := s.forReconcilers()
	log := mgr.GetLogger().WithName("gate")
	if !now.moves() {
		log.Info("nothing is mirrored or moved", "gate", gateName, "because", now.String())
		return func(mgr ctrl.Manager) error { return reconcilers.ControlPlane(mgr, o) }, nil
	}
	with := &movable{read: func() ([]string, error) { return kindsIn(cfg) }, now: time.Now}
	if err := with.ask(); err != nil {
		return nil, err
	}
	for _, kind := range authority.Kinds() {
		if !with.has(kind) {
			log.Info("no CRD of this kind has authoritativeAPI in spec and status: Poundlock mirrors and moves no object of this kind", "kind", kind.Name)
		}
	}
	o.Enabled = with.has
	o.Gate = func(ctx context.Context) (authority.Migration, error) { return migration(ctx, mgr.GetAPIReader(), s) }
	return func(mgr ctrl.Manager) error { return reconcilers.All(mgr, o) }, nil
}

// modeWatch ends the process when the mode changes. The process that starts in its place runs the reconcilers that are wanted then.
type modeWatch struct {
	read  func(context.Context) (mode, error)
	began mode
	// period is how often the mode is read without an event, because OpenShift's own migration causes none, and a watch may break off. soon is when the mode is
	// read again after a read that failed.
	period, soon time.Duration
	// onChange calls a function whenever the feature gate may have changed; nil if the gate is not watched.
	onChange func(ctx context.Context, call func()) error
}

// Start reads the mode at each event, and from time to time, until ctx is done. If the mode has changed, it returns an error, which ends the process. A read
// that fails changes nothing.
func (w modeWatch) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	if w.onChange != nil {
		err := w.onChange(ctx, func() {
			select {
			case changed <- struct{}{}:
			default: // a read is due already
			}
		})
		if err != nil {
			return fmt.Errorf("watching FeatureGate cluster: %w", err)
		}
	}
	timer := time.NewTimer(w.period)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-timer.C:
		}
		now, err := w.read(ctx)
		if err == nil && now != w.began {
			return fmt.Errorf("stopping, to start again in the new mode: %s", now)
		}
		if err != nil {
			timer.Reset(w.soon)
		} else {
			timer.Reset(w.period)
		}
	}
}

// gateChanges returns a function that watches the FeatureGate and calls back on each write; nil if the settings name another source. A change of the gate stops
// the process. Until then, the process's reviews and mirrors use the old state.
func gateChanges(informers cache.Informers, s settings) func(ctx context.Context, call func()) error {
	if s.gate != "cluster" {
		return nil
	}
	return func(ctx context.Context, call func()) error {
		gates := &unstructured.Unstructured{}
		gates.SetGroupVersionKind(configv1.GroupVersion.WithKind("FeatureGate"))
		informer, err := informers.GetInformer(ctx, gates, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { call() }, UpdateFunc: func(any, any) { call() }, DeleteFunc: func(any) { call() },
		})
		return err
	}
}

// NeedLeaderElection is false, because every replica must stop, not only the leader.
func (modeWatch) NeedLeaderElection() bool { return false }

// movable has the kinds whose CRD has the fields of authority. A missing CRD may be created later, so the API server is asked again about a kind that is not
// among them.
type movable struct {
	read func() ([]string, error)
	now  func() time.Time

	mu    sync.Mutex
	kinds []string
	asked time.Time
}

// askAgain is how long the answer counts that a kind does not have the fields.
const askAgain = 30 * time.Second

func (m *movable) has(k authority.Kind) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.kinds, k.Name) && m.now().Sub(m.asked) > askAgain {
		_ = m.look() // an error leaves the known kinds as they are
	}
	return slices.Contains(m.kinds, k.Name)
}

func (m *movable) ask() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look()
}

func (m *movable) look() error {
	m.asked = m.now()
	kinds, err := m.read()
	if err == nil {
		m.kinds = kinds
	}
	return err
}

func kindsIn(cfg *rest.Config) ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	return kindsWithAuthority(client.OpenAPIV3())
}

// kindsWithAuthority lists the kinds whose published schema has the fields of authority. OpenShift ships CRDs with these fields and without them. With a CRD
// without them, the API server would silently drop whatever Poundlock stores in them.
func kindsWithAuthority(schemas openapi.Client) ([]string, error) {
	paths, err := schemas.Paths()
	if err != nil {
		return nil, fmt.Errorf("reading the API server's schemas: %w", err)
	}
	var out []string
	for _, kind := range authority.Kinds() {
		path, ok := paths["apis/"+kind.MachineAPI.String()]
		if !ok {
			continue
		}
		raw, err := path.Schema("application/json")
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", kind.MachineAPI, err)
		}
		if hasAuthority(raw, kind.Name) {
			out = append(out, kind.Name)
		}
	}
	return out, nil
}

func hasAuthority(raw []byte, kind string) bool {
	type fields map[string]struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				GVKs       []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				Properties fields                    `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return false
	}
	for _, schema := range document.Components.Schemas {
		if len(schema.GVKs) == 1 && schema.GVKs[0].Kind == kind {
			_, inSpec := schema.Properties["spec"].Properties["authoritativeAPI"]
			_, inStatus := schema.Properties["status"].Properties["authoritativeAPI"]
			return inSpec && inStatus
		}
	}
	return false
}
