// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
)

// Keys and names of the installer's own ConfigMaps.
const (
	inventoryKey = "inventory"
	progressKey  = "progress"
	rewritesKey  = "rewrites"
	needsKey     = "needs"

	inventoryPrefix = "poundlock-inventory-"
	lastGoodPrefix  = "poundlock-last-good-"

	// readyAnnotation has the hash of the content that became ready, and the number of ConfigMaps that it is stored in.
	readyAnnotation = "poundlock.openshift.io/ready"
)

// record is what the installer stores about a provider, in a ConfigMap.
type record struct {
	label     string
	stored    *corev1.ConfigMap // nil: not stored yet
	inventory installation.Inventory
	progress  installation.Progress
	rewrites  installation.Rewrites
	// err is why the record cannot be read. Then nothing is written for the provider, because a new inventory would lose what the stored one has.
	err error
}

// read adds one of the installer's ConfigMaps to the inputs. If the ConfigMap cannot be read, that is an error of only its provider.
func (in *inputs) read(cm *corev1.ConfigMap) {
	label := cm.Labels[installation.ForLabel]
	switch cm.Labels[installation.RecordLabel] {
	case installation.LastGoodRecord:
		in.lastGood[label] = append(in.lastGood[label], transportOf(cm, label))
		if text, has := cm.Data[needsKey]; has {
			var needs bundle.Needs
			if err := json.Unmarshal([]byte(text), &needs); err != nil {
				in.damaged[label] = fmt.Errorf("reading data.%s of ConfigMap %s: %w. Apply the release's ConfigMaps of the provider again", needsKey, cm.Name, err)
			}
			in.needsThen[label] = needs
		}
	case installation.InventoryRecord:
		out := &record{label: label, stored: cm}
		var errs [3]error
		out.inventory, errs[0] = installation.ParseInventory(cm.Data[inventoryKey])
		out.progress, errs[1] = installation.ParseProgress(cm.Data[progressKey])
		out.rewrites, errs[2] = installation.ParseRewrites(cm.Data[rewritesKey])
		if err := errors.Join(errs[:]...); err != nil {
			out.err = unreadable(cm, err)
		}
		in.records[label] = out
	}
}

// unreadable is the error of a record that somebody edited.
func unreadable(cm *corev1.ConfigMap, err error) error {
	return &installation.Final{Err: fmt.Errorf("reading the installer's own ConfigMap %s: %w. Delete the ConfigMap: the installer recreates it", cm.Name, err)}
}

// transportOf returns a ConfigMap of the content that became ready last with the labels that it had as a part of the release.
func transportOf(cm *corev1.ConfigMap, label string) corev1.ConfigMap {
	out := cm.DeepCopy()
	delete(out.Labels, installation.RecordLabel)
	out.Labels[bundle.ProviderLabel] = label
	return *out
}

func (in *inputs) record(label string) *record {
	if in.records[label] == nil {
		in.records[label] = &record{label: label}
	}
	return in.records[label]
}

// save writes a record to its ConfigMap if it differs from what is stored.
func (r *reconciler) save(ctx context.Context, rec *record) error {
	data := map[string]string{inventoryKey: rec.inventory.Text(), progressKey: rec.progress.Text()}
	if len(rec.rewrites) > 0 {
		data[rewritesKey] = rec.rewrites.Text()
	}
	if rec.stored != nil && maps.Equal(rec.stored.Data, data) {
		return nil
	}
	if rec.stored == nil {
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: bundle.Namespace, Name: inventoryPrefix + rec.label,
				Labels: map[string]string{installation.RecordLabel: installation.InventoryRecord, installation.ForLabel: rec.label},
			},
			Data: data,
		}
		if err := r.client.Create(ctx, cm); err != nil {
			return fmt.Errorf("creating the inventory of %s: %w", rec.label, err)
		}
		rec.stored = cm
		return nil
	}
	cm := rec.stored.DeepCopy()
	cm.Data = data
	if err := r.client.Update(ctx, cm); err != nil {
		return fmt.Errorf("writing the inventory of %s: %w", rec.label, err)
	}
	rec.stored = cm
	return nil
}

// isKept reports whether all ConfigMaps of the content that became ready last exist and have the content c. Somebody may have deleted or edited one. This must
// be found now: these ConfigMaps are needed only once the release's ConfigMaps are gone, and then it is too late to write them again.
func (r *reconciler) isKept(kept []corev1.ConfigMap, c content) bool {
	seen := []string{c.Hash}
	for i := range kept {
		if kept[i].Annotations[readyAnnotation] != fmt.Sprintf("%s of %d", c.Hash, len(kept)) {
			return false
		}
		seen = append(seen, string(kept[i].UID), kept[i].ResourceVersion)
	}
	from := strings.Join(seen, " ")
	if len(kept) > 0 && r.intact[c.Label()] != from && intact(kept, c) {
		if r.intact == nil {
			r.intact = map[string]string{}
		}
		r.intact[c.Label()] = from
	}
	return len(kept) > 0 && r.intact[c.Label()] == from
}

// intact reports whether the ConfigMaps are those that keep writes for this content. To find out, it decompresses them.
func intact(kept []corev1.ConfigMap, c content) bool {
	needs, err := json.Marshal(c.needs)
	if err != nil {
		return false
	}
	var pieces []bundle.Piece
	hasNeeds := false
	for i := range kept {
		piece, err := bundle.Unpack(&kept[i])
		if err != nil || piece.Hash == "" {
			return false
		}
		pieces = append(pieces, piece)
		hasNeeds = hasNeeds || kept[i].Data[needsKey] == string(needs)
	}
	_, err = bundle.Merge(pieces)
	return err == nil && hasNeeds
}

// keep stores content that became ready, compressed, with the images and values that it was made with. If the release's ConfigMaps are deleted or become
// invalid, this content stays applied. It keeps its own images, so that older manifests do not get newer images.
func (r *reconciler) keep(ctx context.Context, c content) error {
	b := c.bundle
	needs, err := json.Marshal(c.needs)
	if err != nil {
		return fmt.Errorf("writing the needs of %s: %w", b.Provider.Label(), err)
	}
	packed, err := b.Pack(bundle.Packing{Format: bundle.Gzip, Reserved: len(needs)})
	if err != nil {
		return fmt.Errorf("packing the content of %s: %w", b.Provider.Label(), err)
	}
	packed[0].Data[needsKey] = string(needs)
	names := map[string]bool{}
	for i, cm := range packed {
		cm.Annotations[readyAnnotation] = fmt.Sprintf("%s of %d", c.Hash, len(packed))
		cm.Name = lastGoodPrefix + b.Provider.Label()
		if i > 0 {
			cm.Name = fmt.Sprintf("%s.%d", cm.Name, i+1)
		}
		names[cm.Name] = true
		delete(cm.Labels, bundle.ProviderLabel)
		cm.Labels[installation.RecordLabel] = installation.LastGoodRecord
		cm.Labels[installation.ForLabel] = b.Provider.Label()
		if err := r.put(ctx, cm); err != nil {
			return err
		}
	}
	return r.dropOtherShards(ctx, b.Provider.Label(), names)
}

func (r *reconciler) put(ctx context.Context, cm *corev1.ConfigMap) error {
	raw, err := json.Marshal(cm)
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", cm.Name, err)
	}
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
	if err := r.client.Patch(ctx, o, client.RawPatch(types.ApplyPatchType, raw), client.FieldOwner(installation.Manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("keeping the content of %s: %w", cm.Labels[installation.ForLabel], err)
	}
	return nil
}

func (r *reconciler) dropOtherShards(ctx context.Context, label string, keep map[string]bool) error {
	list := &corev1.ConfigMapList{}
	if err := r.client.List(ctx, list, client.InNamespace(bundle.Namespace), client.MatchingLabels{
		installation.RecordLabel: installation.LastGoodRecord, installation.ForLabel: label,
	}); err != nil {
		return fmt.Errorf("listing kept content: %w", err)
	}
	for i := range list.Items {
		if !keep[list.Items[i].Name] {
			if err := r.client.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("removing kept content: %w", err)
			}
		}
	}
	return nil
}
