// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
)

var three = []string{"cluster-api", "bootstrap-kubeadm", "infrastructure-aws"}

// keeping is an installer after three providers became ready, and what a pass reads of them.
func keeping(t *testing.T) (*reconciler, func() *inputs) {
	t.Helper()
	stored := map[string]*corev1.ConfigMap{}
	writes := interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
		raw, err := p.Data(o)
		cm := &corev1.ConfigMap{}
		if err == nil {
			err = json.Unmarshal(raw, cm)
		}
		cm.ResourceVersion = "1"
		stored[cm.Name] = cm
		return err
	}}
	r := &reconciler{Options: Options{Now: time.Now}, client: fake.NewClientBuilder().WithScheme(scheme()).
		WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme())).WithInterceptorFuncs(writes).Build()}
	read := func() *inputs {
		in := &inputs{
			platform: installation.Platform{Name: "AWS"}, lastGood: map[string][]corev1.ConfigMap{}, damaged: map[string]error{},
			records: map[string]*record{}, needsThen: map[string]bundle.Needs{},
			needs: bundle.Needs{References: bundle.References{"clusterapi": imageOf("1"), "kubeadm": imageOf("2"), "aws": imageOf("3")}},
		}
		for _, cm := range stored {
			in.read(cm.DeepCopy())
		}
		return in
	}
	in := read()
	for _, label := range three {
		c, err := in.make(alone(provider(t, label, "v1.0.0", small)), func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		if err := r.keep(t.Context(), c[0]); err != nil {
			t.Fatal(err)
		}
	}
	r.rendered.from = ""
	t.Cleanup(func() { clear(stored) })
	kept = stored
	return r, read
}

// kept is what keeping has stored.
var kept map[string]*corev1.ConfigMap

// small leaves out what a server without definitions does not serve.
func small(all string) string {
	for _, kind := range []string{"kind: CustomResourceDefinition", "default, namespace", "ValidatingAdmission", "ValidatingWebhook"} {
		all = without(kind)(all)
	}
	return all
}

func alone(cm *corev1.ConfigMap) installation.Selection {
	s := installation.Select([]corev1.ConfigMap{*cm}, "AWS")
	delete(s.Problems, "")
	return s
}

// damages are what a person may do to the copy of a provider.
var damages = map[string]func(*corev1.ConfigMap){
	"content": func(cm *corev1.ConfigMap) { cm.BinaryData["components"] = []byte("x") },
	"needs":   func(cm *corev1.ConfigMap) { cm.Data[needsKey] = "{" },
	"version": func(cm *corev1.ConfigMap) { cm.Labels[bundle.VersionLabel] = "v9.0.0" },
	"type":    func(cm *corev1.ConfigMap) { cm.Labels[bundle.TypeLabel] = "none" },
	"image":   func(cm *corev1.ConfigMap) { delete(cm.Data, "images.json"); cm.Data["images"] = "{" },
}

// The ConfigMap of one provider is deleted, and its copy damaged: the others are kept in order.
func TestADamagedCopyStopsItsProviderAlone(t *testing.T) {
	for name, damage := range damages {
		for _, label := range three {
			r, read := keeping(t)
			damage(kept[lastGoodPrefix+label])
			kept[lastGoodPrefix+label].ResourceVersion = "2"
			in := read()
			for _, other := range three {
				if other != label {
					in.transports = append(in.transports, *provider(t, other, "v1.0.0", small))
				}
			}
			out := &done{}
			contents, err := r.choose(t.Context(), r.look(), in, out)
			if err != nil {
				t.Fatal(name, label, err)
			}
			var got []string
			for _, c := range contents {
				got = append(got, c.Label())
			}
			if diff := cmp.Diff(slices.DeleteFunc(slices.Clone(three), func(one string) bool { return one == label }), got); diff != "" {
				t.Errorf("%s of %s: %s%v", name, label, diff, out.Err)
			}
			if out.Err == nil || !strings.Contains(out.Err.Error(), label) {
				t.Errorf("%s of %s: the error is %v", name, label, out.Err)
			}
			if all := in.unapplied(contents); len(all) != 1 || in.damaged[label] == nil {
				t.Errorf("%s of %s: %v, %v", name, label, all, in.damaged)
			}
		}
	}
}

// A copy is looked at while the release's ConfigMap is there, to be written again: later nobody could.
func TestADamagedCopyIsWrittenAgain(t *testing.T) {
	const label = "infrastructure-aws"
	for name, damage := range damages {
		r, read := keeping(t)
		c, err := read().make(alone(provider(t, label, "v1.0.0", small)), func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		if !r.isKept(read().lastGood[label], c[0]) {
			t.Error(name, "what was just written would be written again")
		}
		damage(kept[lastGoodPrefix+label])
		kept[lastGoodPrefix+label].ResourceVersion = "2"
		if r.isKept(read().lastGood[label], c[0]) {
			t.Error(name, "nobody notices")
		}
		if err := r.keep(t.Context(), c[0]); err != nil {
			t.Fatal(err)
		}
		if !r.isKept(read().lastGood[label], c[0]) {
			t.Error(name, "it is not sound again")
		}
	}
}

// The inventory of a provider is edited so that it cannot be read: the others go on, and what it runs may serve.
func TestAnInventoryThatCannotBeReadStopsItsProviderAlone(t *testing.T) {
	for _, key := range []string{inventoryKey, progressKey, rewritesKey} {
		_, read := keeping(t)
		kept["inventory"] = &corev1.ConfigMap{Data: map[string]string{key: "{"}}
		kept["inventory"].Labels = map[string]string{installation.RecordLabel: installation.InventoryRecord, installation.ForLabel: "infrastructure-aws"}
		in := read()
		var final *installation.Final
		if err := in.record("infrastructure-aws").err; !errors.As(err, &final) || in.record("cluster-api").err != nil {
			t.Error(key, err)
		}
		if got := in.installed("infrastructure-aws"); got.Version != "v1.0.0" || got.Hash == "" {
			t.Error(key, got)
		}
	}
}

// Others wait for a core provider that cannot be looked after only while it would be upgraded.
func TestOthersWaitForACoreProviderWithoutInventoryOnlyInAnUpgrade(t *testing.T) {
	for ready, waits := range map[string]bool{"h": false, "older": true} {
		r, read := keeping(t)
		var err error
		if r.meters, err = newMeters(); err != nil {
			t.Fatal(err)
		}
		r.recorder = events.NewFakeRecorder(10)
		r.client = fake.NewClientBuilder().WithScheme(scheme()).WithIndex(&corev1.Secret{}, "type", func(client.Object) []string { return nil }).Build()
		in := read()
		in.records["cluster-api"] = &record{label: "cluster-api", err: errors.New("unreadable"), progress: installation.Progress{Ready: ready, ReadyVersion: "v1.0.0"}}
		core := content{Provider: installation.Provider{Provider: bundle.Provider{Name: "cluster-api", Type: bundle.Core, Version: "v1.0.0"}, Hash: "h"}}
		aws := content{Provider: installation.Provider{Provider: bundle.Provider{Name: "aws", Type: bundle.Infrastructure, Version: "v1.0.0"}, Hash: "h"}}
		out := &done{Pass: installation.Pass{Waits: "the release"}} // what became ready last is applied, and nothing is kept anew
		if err := r.walkAll(t.Context(), r.look(), in, []content{core, aws}, out); err != nil {
			t.Fatal(err)
		}
		if len(out.Outcomes) != 2 || out.Outcomes[0].Err == nil || out.Outcomes[1].Err != nil || (out.Outcomes[1].Waits != "") != waits {
			t.Errorf("%s: %+v", ready, out.Outcomes)
		}
		if got := out.Outcomes[0].Installed; got.Hash != ready || !out.Outcomes[0].Unseen {
			t.Errorf("%+v", got)
		}
	}
}
