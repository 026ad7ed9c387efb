// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
)

func TestWhichConfigMapsAreNews(t *testing.T) {
	named := func(name, version string, labels map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Labels: labels}}
	}
	provider, record := map[string]string{bundle.ProviderLabel: "cluster-api"}, map[string]string{installation.RecordLabel: installation.InventoryRecord}
	for name, c := range map[string]struct {
		before, after *corev1.ConfigMap
		want          bool
	}{
		"a provider changes":           {named("a", "1", provider), named("a", "2", provider), true},
		"nothing changes":              {named("a", "1", provider), named("a", "1", provider), false},
		"a provider loses its label":   {named("a", "1", provider), named("a", "2", nil), true},
		"one gets it":                  {named("a", "1", nil), named("a", "2", provider), true},
		"images":                       {named(bundle.ImagesConfigMap, "1", nil), named(bundle.ImagesConfigMap, "2", nil), true},
		"somebody else's":              {named("a", "1", nil), named("a", "2", nil), false},
		"a record of the installer's":  {named("a", "1", record), named("a", "2", record), false},
		"an object of the installer's": {named("a", "1", map[string]string{installation.InstalledByLabel: "x", bundle.ProviderLabel: "y"}), named("a", "2", map[string]string{installation.InstalledByLabel: "x", bundle.ProviderLabel: "y"}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inputChanges().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
				t.Error(got)
			}
		})
	}
	if !inputChanges().Delete(event.DeleteEvent{Object: named("a", "1", provider)}) || inputChanges().Create(event.CreateEvent{Object: named("a", "1", record)}) {
		t.Error("a ConfigMap that comes or goes")
	}
}
