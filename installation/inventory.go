// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/bundle"
)

// Item is an object that the installer wrote, or is about to write.
type Item struct {
	Group     string    `json:"group,omitempty"`
	Version   string    `json:"version"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	// Served marks a workload of content that became ready. It is expected to serve until newer content is ready, even if the newer content does not have it.
	Served bool `json:"served,omitempty"`
	// Released marks a CRD that the content no longer has. It stays in the cluster, and in the inventory in case a later content has it again.
	Released bool `json:"released,omitempty"`
}

// Key returns the key of the object.
func (i Item) Key() Key {
	return Key{schema.GroupKind{Group: i.Group, Kind: i.Kind}, i.Namespace, i.Name}
}

// GroupVersionKind returns the kind of the object.
func (i Item) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: i.Group, Version: i.Version, Kind: i.Kind}
}

// Inventory lists the objects that the installer wrote for a provider. It is stored before the first apply, so that a crash leaves no object that is in no
// inventory.
type Inventory struct {
	Items []Item `json:"items"`
}

// ParseInventory reads the result of Text; "" means an empty inventory.
func ParseInventory(text string) (Inventory, error) {
	var out Inventory
	if text == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("reading the inventory: %w", err)
	}
	return out, nil
}

// Text returns the inventory as text. Equal inventories have equal text.
func (i Inventory) Text() string {
	raw, err := json.Marshal(i)
	if err != nil {
		return ""
	}
	return string(raw)
}

// UID returns the stored UID of an object, "" if none is stored.
func (i Inventory) UID(k Key) types.UID {
	for _, item := range i.Items {
		if item.Key() == k {
			return item.UID
		}
	}
	return ""
}

// With returns the inventory with the objects of a provider added that it does not have yet.
func (i Inventory) With(p Provider) Inventory {
	out := Inventory{Items: slices.Clone(i.Items)}
	for _, o := range p.Objects {
		kind := o.GroupVersionKind()
		at := slices.IndexFunc(out.Items, func(item Item) bool { return item.Key() == o.Key() })
		if at < 0 {
			out.Items = append(out.Items, Item{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
		} else {
			out.Items[at].Version, out.Items[at].Released = kind.Version, false
		}
	}
	return out
}

// Noted returns the inventory with the UIDs of those live objects that belong to the installer by label and field manager.
func (i Inventory) Noted(live func(Key) *unstructured.Unstructured) Inventory {
	out := Inventory{Items: slices.Clone(i.Items)}
	for n, item := range out.Items {
		if o := live(item.Key()); o != nil && item.UID != o.GetUID() && ClaimOf(o, "") == Ours {
			out.Items[n].UID = o.GetUID()
		}
	}
	return out
}

// Serving returns the inventory with the workloads of a provider whose content became ready marked as Served.
func (i Inventory) Serving(p Provider) Inventory {
	out := Inventory{Items: slices.Clone(i.Items)}
	for _, o := range p.In(bundle.Workloads) {
		if n := slices.IndexFunc(out.Items, func(item Item) bool { return item.Key() == o.Key() }); n >= 0 {
			out.Items[n].Served = true
		}
	}
	return out
}

// Served returns the workloads of the content that became ready last. If that content had no workloads, it returns none, even if newer content adds some.
func (i Inventory) Served() []Item {
	var out []Item
	for _, item := range i.Items {
		if item.Served {
			out = append(out, item)
		}
	}
	return out
}

// Without returns the inventory without an object.
func (i Inventory) Without(k Key) Inventory {
	return Inventory{Items: slices.DeleteFunc(slices.Clone(i.Items), func(item Item) bool { return item.Key() == k })}
}

// Letting returns the inventory with a CRD marked as released.
func (i Inventory) Letting(k Key) Inventory {
	out := Inventory{Items: slices.Clone(i.Items)}
	for n := range out.Items {
		out.Items[n].Released = out.Items[n].Released || out.Items[n].Key() == k
	}
	return out
}

// Released returns the names of the CRDs that stay in the cluster although no content has them.
func (i Inventory) Released() []string {
	var out []string
	for _, item := range i.Items {
		if item.Released {
			out = append(out, item.Name)
		}
	}
	return out
}

// Obsolete returns the objects that no provider has any more, in the reverse order of stages: webhooks before their servers, bindings before roles.
func (i Inventory) Obsolete(all []Provider) []Item {
	wanted := map[Key]bool{}
	for _, p := range all {
		for _, o := range p.Objects {
			wanted[o.Key()] = true
		}
	}
	var documents []bundle.Document
	byName := map[Key]Item{}
	for _, item := range i.Items {
		if !wanted[item.Key()] && !item.Released {
			byName[item.Key()] = item
			documents = append(documents, bundle.Document{Object: map[string]any{
				"apiVersion": item.GroupVersionKind().GroupVersion().String(), "kind": item.Kind,
				"metadata": map[string]any{"name": item.Name, "namespace": item.Namespace},
			}})
		}
	}
	bundle.Sort(documents)
	slices.Reverse(documents)
	var out []Item
	for _, d := range documents {
		out = append(out, byName[Key{d.GroupKind(), d.Namespace(), d.Name()}])
	}
	return out
}

// Fate says what happens to an obsolete object.
type Fate int

// The fates.
const (
	Gone     Fate = iota // the object does not exist: remove it from the inventory
	Prune                // delete the object
	Release              // keep the object, and remove the installer's label
	LeftOver             // the object belongs to somebody else by now: remove it from the inventory
)

// FateOf returns what happens to an obsolete object. A CustomResourceDefinition is never deleted, because all objects of its kind would be deleted with it.
func FateOf(item Item, live *unstructured.Unstructured) Fate {
	switch {
	case live == nil:
		return Gone
	case live.GetLabels()[InstalledByLabel] != Manager || !managed(live) || item.UID == "" || item.UID != live.GetUID():
		return LeftOver
	case isDefinition(live):
		return Release
	}
	return Prune
}
