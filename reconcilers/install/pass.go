// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/eventnote"
)

// content is the release's content of one provider, as it is applied: the rendered objects, the bundle that they came from, and what the bundle needs.
type content struct {
	installation.Provider
	bundle bundle.Bundle
	needs  bundle.Needs
}

// pass does what can be done now, and returns the outcome of each provider. An error of reading something that every provider depends on becomes the error of
// the pass, and not that of one provider.
func (r *reconciler) pass(ctx context.Context) *done {
	in, err := r.inputs(ctx)
	out := &done{Pass: installation.Pass{Platform: in.platform, Version: r.Version}, operator: in.operator, transports: in.transports, records: in.records}
	if err != nil {
		return out.unread(err)
	}
	if in.platform.Name == "" && len(in.lastGood) == 0 {
		return out
	}
	w := r.look()
	contents, err := r.choose(ctx, w, in, out)
	if err != nil {
		return out.unread(err)
	}
	out.Lacks = installation.Lacks(in.platform.Name, append(providersOf(contents), in.unapplied(contents)...))
	out.Served = in.served(contents)
	out.all = providersOf(contents)
	r.watched.follow(ctx, installation.Kinds(out.all))
	if err := r.walkAll(ctx, w, in, contents, out); err != nil {
		return out.unread(err)
	}
	return out
}

// unread returns d with an error of reading something that every provider depends on. It marks the pass as Unread, because nothing else was judged.
func (d *done) unread(err error) *done {
	d.Err, d.Unread = err, true
	return d
}

// served reports whether two things hold: a whole set of providers was installed before, which the versions in the ClusterOperator's status show, and the
// providers that are installed can create machines.
func (in *inputs) served(contents []content) bool {
	if in.operator == nil || len(in.operator.Status.Versions) == 0 {
		return false
	}
	var installed []installation.Provider
	for _, c := range contents {
		if in.installed(c.Label()).Hash != "" {
			installed = append(installed, c.Provider)
		}
	}
	installed = append(installed, in.unapplied(contents)...)
	core := slices.ContainsFunc(installed, func(p installation.Provider) bool { return p.Type == bundle.Core })
	return core && installation.Lacks(in.platform.Name, installed) == ""
}

// choose returns the content to apply. This is the release's content if all of it is sound. Otherwise it is the content that became ready last, which stays
// applied until the release is sound again and the platform is known.
func (r *reconciler) choose(ctx context.Context, w *world, in *inputs, out *done) ([]content, error) {
	remnants := installation.Remnants(in.transports, in.lastGood)
	var wanted []corev1.ConfigMap
	there := map[string]bool{}
	for i := range in.transports {
		if label := in.transports[i].Labels[bundle.ProviderLabel]; remnants[label] == nil {
			wanted = append(wanted, in.transports[i])
			there[label] = true
		}
	}
	var kept []corev1.ConfigMap
	for _, label := range slices.Sorted(maps.Keys(in.lastGood)) {
		kept = append(kept, in.lastGood[label]...)
		if !there[label] {
			wanted = append(wanted, in.lastGood[label]...)
		}
	}
	if err := installation.Placed(in.platform, kept); err != nil {
		r.blocked(in, out, err)
		in.platform = installation.InstalledOn(in.platform, kept)
		out.Platform = in.platform
		return r.lastGood(in, kept)
	}
	contents, err := r.prepare(in, wanted, func(label string) bool { return !there[label] })
	if err == nil {
		err = w.keepsStoredVersions(ctx, contents)
	}
	if err == nil {
		r.waitsSince = time.Time{}
		for _, c := range contents {
			if !there[c.Label()] {
				out.Missing = append(out.Missing, missing(c.Label(), remnants[c.Label()]))
			}
		}
		return contents, nil
	}
	if passes(err) {
		return nil, err
	}
	if errors.Is(err, bundle.ErrNoCore) {
		err = r.emptied(ctx, err)
	}
	r.blocked(in, out, err)
	return r.lastGood(in, kept)
}

// lastGood returns the content that became ready last, for use while something prevents the release's content. If the copy of one provider is damaged, the
// other providers are still applied. This also holds if the core provider's copy is damaged, because the core provider served when the others became ready.
func (r *reconciler) lastGood(in *inputs, kept []corev1.ConfigMap) ([]content, error) {
	all := func(string) bool { return true }
	contents, err := r.prepare(in, kept, all)
	if passes(err) {
		return nil, err
	}
	if err == nil {
		return contents, nil
	}
	contents = nil
	for _, label := range slices.Sorted(maps.Keys(in.lastGood)) {
		selected := installation.Select(in.lastGood[label], in.platform.Name)
		delete(selected.Problems, "") // problems of the set as a whole: each provider is made by itself here
		one, err := in.make(selected, all)
		if err == nil {
			err = r.checkScopes(one)
		}
		switch {
		case passes(err):
			return nil, err
		case err != nil:
			in.damaged[label] = &installation.Final{Err: err}
		default:
			contents = append(contents, one...)
		}
	}
	slices.SortStableFunc(contents, func(a, b content) int {
		return cmp.Compare(slices.Index(bundle.Types, a.Type), slices.Index(bundle.Types, b.Type))
	})
	var together []bundle.Bundle
	for _, c := range contents {
		together = append(together, c.bundle)
	}
	if slices.ContainsFunc(bundle.Preflight(together), func(err error) bool { return !errors.Is(err, bundle.ErrNoCore) }) {
		return nil, nil // two providers would overwrite the same object in turn
	}
	return contents, nil
}

// missing returns the label of a provider whose ConfigMaps are missing, with the number of missing ConfigMaps (shards) if only some of them are.
func missing(label string, shards *bundle.Incomplete) string {
	if shards == nil {
		return label
	}
	return fmt.Sprintf("%s (%d of %d)", label, len(shards.Missing), shards.Shards)
}

// unanswered is the error of a request that the API server did not answer. Such an error says nothing about the content, so the content is not refused because
// of it.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

func passes(err error) bool {
	var u unanswered
	return errors.As(err, &u)
}

func providersOf(contents []content) []installation.Provider {
	var all []installation.Provider
	for _, c := range contents {
		all = append(all, c.Provider)
	}
	return all
}

// blocked stores in out why the content of the release is not applied: as an error that a person must resolve, or as something that the pass waits for.
func (r *reconciler) blocked(in *inputs, out *done, err error) {
	if !installation.Waiting(err) {
		r.waitsSince = time.Time{}
		out.Err = &installation.Final{Err: err}
		return
	}
	if r.waitsSince.IsZero() {
		r.waitsSince = in.waitingSince(err.Error(), r.Now())
	}
	out.Waits, out.WaitsSince = err.Error(), r.waitsSince
}

// waitingSince returns since when the pass has waited for the reason why. If the ClusterOperator already reports this wait, it returns when the condition
// Progressing became true, so that a new process continues to count from there. Otherwise it returns now.
func (in *inputs) waitingSince(why string, now time.Time) time.Time {
	if in.operator != nil {
		for _, c := range in.operator.Status.Conditions {
			if c.Type == configv1.OperatorProgressing && c.Status == configv1.ConditionTrue && strings.Contains(c.Message, why) {
				return c.LastTransitionTime.Time
			}
		}
	}
	return now
}

// keepsStoredVersions returns an error if a CRD in contents lacks the version in which the API server stores objects of that CRD.
func (w *world) keepsStoredVersions(ctx context.Context, contents []content) error {
	var problems []error
	for _, c := range contents {
		for _, o := range c.In(bundle.Definitions) {
			live, err := w.get(ctx, o.GroupVersionKind(), o.Key())
			if err != nil {
				return unanswered{err}
			}
			if live != nil {
				_, err = installation.Lost(o.Unstructured, live)
				problems = append(problems, err)
			}
		}
	}
	return errors.Join(problems...)
}

// prepare renders the content and does the preflight checks: nothing is written unless everything in the set is sound. kept reports whether a provider's
// content is the content that became ready last. Such content keeps the images and values that it had when it became ready.
func (r *reconciler) prepare(in *inputs, maps []corev1.ConfigMap, kept func(label string) bool) ([]content, error) {
	contents, err := r.render(in, maps, kept)
	if err != nil {
		return nil, err
	}
	return contents, r.checkScopes(contents)
}

func (r *reconciler) checkScopes(contents []content) error {
	var asked error
	problems := installation.CheckScopes(providersOf(contents), func(kind schema.GroupVersionKind) (is, known bool) {
		is, known, err := r.scope(kind)
		asked = errors.Join(asked, err)
		return is, known
	})
	if asked != nil {
		return unanswered{asked}
	}
	return errors.Join(problems...)
}

// rendered caches the content that was rendered last, with the fingerprint of its inputs. Reading megabytes of YAML takes longer than the rest of a pass.
type rendered struct {
	from     string
	contents []content
}

// render renders content, and returns the cached result if the inputs are equal to those of the last call. Callers must not change the result.
func (r *reconciler) render(in *inputs, maps []corev1.ConfigMap, kept func(label string) bool) ([]content, error) {
	from := in.fingerprint(maps)
	if r.rendered.from == from {
		return r.rendered.contents, nil
	}
	contents, err := in.render(maps, kept)
	if err == nil {
		r.rendered = rendered{from, contents}
	}
	return contents, err
}

// fingerprint returns a string that changes whenever something changes that content is made from.
func (in *inputs) fingerprint(maps []corev1.ConfigMap) string {
	parts := []string{in.platform.Name, fmt.Sprint(in.needs), fmt.Sprint(in.needsErr)} // the content that became ready last is stored with its own needs
	for i := range in.needsFrom {
		parts = append(parts, in.needsFrom[i].Name, in.needsFrom[i].Annotations[bundle.ReleaseAnnotation])
	}
	for i := range maps {
		parts = append(parts, fmt.Sprint(maps[i].Name, maps[i].UID, maps[i].ResourceVersion))
	}
	return strings.Join(parts, " ")
}

func (in *inputs) render(maps []corev1.ConfigMap, kept func(label string) bool) ([]content, error) {
	if err := installation.SameRelease(maps, in.platform.Name, in.needsFrom); err != nil {
		return nil, err
	}
	return in.make(installation.Select(maps, in.platform.Name), kept)
}

// make renders the selected bundles. It returns an error instead if the selection has problems.
func (in *inputs) make(selected installation.Selection, kept func(label string) bool) ([]content, error) {
	if len(selected.Problems) > 0 {
		return nil, problem(selected.Problems)
	}
	var out []content
	var problems []error
	unknown := false
	for _, b := range selected.Bundles {
		label := b.Provider.Label()
		if kept(label) && in.damaged[label] != nil {
			problems = append(problems, in.damaged[label])
			continue
		}
		needs, then := in.needsThen[label]
		if !kept(label) || !then {
			needs, unknown = in.needs, in.needsErr != nil
		}
		p, err := installation.Prepare(b, needs)
		problems = append(problems, err)
		out = append(out, content{p, b, needs.Of(b)})
	}
	if unknown {
		return nil, in.needsErr // without the list of images the other errors would name every image as missing
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return out, nil
}

// problem joins the errors of all providers in a fixed order. If some of the errors do not pass by themselves, it leaves out the errors that only wait.
func problem(all map[string]error) error {
	var final, waiting []error
	for _, label := range slices.Sorted(maps.Keys(all)) {
		if err := all[label]; installation.Waiting(err) {
			waiting = append(waiting, err)
		} else {
			final = append(final, err)
		}
	}
	if len(final) > 0 {
		return errors.Join(final...)
	}
	return errors.Join(waiting...)
}

// walkAll takes each provider through the stages, as far as each one gets. An error of one provider does not stop the others. An API server that asks for
// patience (429) stops all of them.
func (r *reconciler) walkAll(ctx context.Context, w *world, in *inputs, contents []content, out *done) error {
	passed := bundle.Rest
	for _, p := range in.unapplied(contents) {
		k := &walk{world: w, record: in.record(p.Label())}
		out.Outcomes = append(out.Outcomes, r.standing(ctx, k, in.installed(p.Label()), in.damaged[p.Label()]))
	}
	for _, c := range contents {
		k := &walk{
			world: w, content: c, record: in.record(c.Label()), all: out.all, kept: in.lastGood[c.Label()], blocked: out.Err != nil || out.Waits != "",
			core: c.Type == bundle.Core, corePassed: passed,
		}
		if k.record.err != nil {
			o := r.standing(ctx, k, in.installed(c.Label()), k.record.err)
			if c.Type == bundle.Core && o.Wanted != o.Installed {
				passed = bundle.Prerequisites
			}
			out.Outcomes = append(out.Outcomes, o)
			continue
		}
		o := k.run(ctx)
		if r.stops(o.Err) {
			return o.Err
		}
		if c.Type == bundle.Core && !k.finished {
			passed = k.stage - 1
		}
		r.outcome(ctx, k, &o)
		out.Outcomes = append(out.Outcomes, o)
	}
	return nil
}

// standing returns the outcome of a provider that this pass cannot apply, because its record or its content is damaged. The workloads of the provider may still
// serve, so the outcome reports whether they do.
func (r *reconciler) standing(ctx context.Context, k *walk, installed installation.Content, err error) installation.Outcome {
	o := installation.Outcome{
		Provider: k.record.label, Wanted: installation.Content{Version: k.Version, Hash: k.Hash}, Installed: installed, StoredUnseen: true, Err: err,
	}
	if o.Down, o.Unseen = k.down(ctx); k.record.err != nil {
		o.Unseen = true
	}
	r.meters.show(o)
	return o
}

// installed returns the content of a provider that became ready last: from its record, or from the kept ConfigMaps if somebody damaged the record.
func (in *inputs) installed(label string) installation.Content {
	if p := in.record(label).progress; in.records[label].err == nil || p.Ready != "" {
		return installation.Content{Version: p.ReadyVersion, Hash: p.Ready}
	}
	for _, cm := range in.lastGood[label] {
		hash, _, _ := strings.Cut(cm.Annotations[readyAnnotation], " ")
		return installation.Content{Version: cm.Labels[bundle.VersionLabel], Hash: hash}
	}
	return installation.Content{}
}

// unapplied returns the installed providers whose content cannot be applied, because the release lacks it and the stored copy is damaged.
func (in *inputs) unapplied(contents []content) []installation.Provider {
	var out []installation.Provider
	for _, label := range slices.Sorted(maps.Keys(in.damaged)) {
		if slices.ContainsFunc(contents, func(c content) bool { return c.Label() == label }) {
			continue
		}
		of := in.lastGood[label][0].Labels
		out = append(out, installation.Provider{Provider: bundle.Provider{
			Name: of[bundle.NameLabel], Type: bundle.Type(of[bundle.TypeLabel]), Version: of[bundle.VersionLabel],
		}})
	}
	return out
}

// outcome stores in the provider's record which stage the provider has reached, and shows the outcome in events and metrics.
func (r *reconciler) outcome(ctx context.Context, k *walk, o *installation.Outcome) {
	before := k.record.progress
	k.record.progress = before.After(*o, r.memory.Failures > 0, r.Now())
	o.Since = k.record.progress.Since
	r.meters.show(*o)
	if err := r.save(ctx, k.record); err != nil {
		o.Err = errors.Join(o.Err, err)
		return
	}
	r.recordProgress(k, before)
}

// walk is the way of one provider through the stages in one pass.
type walk struct {
	*world
	content
	record *record
	all    []installation.Provider
	// kept are the ConfigMaps with the content that became ready last.
	kept []corev1.ConfigMap
	// blocked reports that this content is the content that became ready last, and that the release's content cannot be applied. Then nothing is pruned.
	blocked bool
	// core reports that this is the core provider. corePassed is the last stage that the core provider has passed in this pass.
	core       bool
	corePassed bundle.Stage

	stage    bundle.Stage
	finished bool
	// notes are the changes of this pass to objects that recordNotes turns into events.
	notes []noted
}

func (k *walk) run(ctx context.Context) installation.Outcome {
	defer k.recordNotes()
	before := k.record.progress
	o := installation.Outcome{
		Provider: k.Label(), Wanted: installation.Content{Version: k.Version, Hash: k.Hash},
		Installed: installation.Content{Version: before.ReadyVersion, Hash: before.Ready},
	}
	o.Waits, o.Err = k.stages(ctx)
	if k.r.stops(o.Err) {
		return o
	}
	if o.Waits != "" || o.Err != nil {
		o.Stage = k.stage
	} else {
		k.finished = true
		o.Waits, o.Err = k.complete(ctx, &o)
	}
	o.Stored, o.StoredUnseen = installation.Stored(k.Provider, k.seen)
	o.Released = k.record.inventory.Released()
	o.Down, o.Unseen = k.down(ctx)
	return o
}

// recordNotes records one event for each reason. The related object of the event is the first object that was changed for that reason. It makes the events of
// two passes differ, so that they are not merged.
func (k *walk) recordNotes() {
	for _, e := range []struct{ kind, reason, action, words, separator string }{
		{corev1.EventTypeWarning, "DriftRemoved", "Apply", "removed what others had added: ", "; "},
		{corev1.EventTypeNormal, "Pruned", "Delete", fmt.Sprintf("deleted objects that %s %s no longer has: ", k.Label(), k.Version), ", "},
		{corev1.EventTypeNormal, "Released", "Release",
			fmt.Sprintf("%s %s no longer has these definitions, which the installer keeps with all objects of their kinds: ", k.Label(), k.Version), ", "},
	} {
		var texts []string
		var first *unstructured.Unstructured
		for _, n := range k.notes {
			if n.reason == e.reason {
				if first == nil {
					first = n.object
				}
				texts = append(texts, n.text)
			}
		}
		if len(texts) > 0 && k.record.stored != nil {
			k.r.recorder.Eventf(k.record.stored, first, e.kind, e.reason, e.action, "%s", eventnote.Join(e.words, texts, e.separator, eventnote.Longest))
		}
	}
	k.notes = nil
}

// seen returns an object of the inventory as this pass has read it, and whether this pass has read it at all.
func (k *walk) seen(key installation.Key) (live *unstructured.Unstructured, known bool) {
	return k.live[key], k.knows(key)
}

// stages saves the inventory before it writes the first object, and then passes one stage after the other. It returns what the current stage waits for, "" if
// all stages are passed.
func (k *walk) stages(ctx context.Context) (waits string, err error) {
	k.stage = bundle.Prerequisites
	if err := k.readAll(ctx); err != nil {
		return "", err
	}
	if waits, err := k.migrateFirst(ctx); waits != "" || err != nil {
		k.stage = bundle.Definitions
		return waits, err
	}
	live := k.liveOf
	k.record.inventory = k.record.inventory.With(k.Provider).Noted(live)
	if k.record.progress.Hash == "" {
		k.record.progress.Version, k.record.progress.Hash = k.Version, k.Hash
	}
	if err := k.r.save(ctx, k.record); err != nil {
		return "", err
	}
	defer func() { k.record.inventory = k.record.inventory.Noted(live) }()
	for _, k.stage = range installation.Stages() {
		if waits, err = k.pass(ctx); waits != "" || err != nil {
			return waits, err
		}
	}
	return "", nil
}

// readAll reads all objects of the provider and checks who owns each of them, so that a collision is found before the first write. Objects of the last stage
// (Rest) may depend on what earlier stages restore, such as the server of a conversion. If such an object cannot be read now, it is read when its stage comes.
func (k *walk) readAll(ctx context.Context) error {
	var problems []error
	for _, o := range k.Objects {
		live, err := k.get(ctx, o.GroupVersionKind(), o.Key())
		if err != nil && o.Stage == bundle.Rest && !k.r.stops(err) {
			break
		}
		if err != nil {
			return err
		}
		if installation.ClaimOf(live, k.record.inventory.UID(o.Key())) == installation.Foreign {
			problems = append(problems, &installation.Collision{Object: o.Key(), Owner: installation.OwnerOf(live)})
		}
	}
	return errors.Join(problems...)
}

// pass applies all objects of the current stage and checks the stage's gate. It returns what the stage waits for, "" if the stage is passed.
func (k *walk) pass(ctx context.Context) (waits string, err error) {
	if !k.core && installation.WaitsForCore(k.stage) && k.corePassed < k.stage {
		return fmt.Sprintf("the core provider has not passed stage %d (%s)", k.stage, installation.NameOf(k.stage)), nil
	}
	if k.stage == bundle.Workloads {
		if err := k.shrink(ctx); err != nil {
			return "", err
		}
	}
	if err := k.applyAll(ctx, k.In(k.stage), k.bridging()); err != nil {
		return "", err
	}
	if k.stage == bundle.Serving {
		if waits, err := k.reroute(ctx); waits != "" || err != nil {
			return waits, err
		}
	}
	if waits, err := k.gate(ctx, k.stage); waits != "" || err != nil {
		return waits, err
	}
	if k.stage == bundle.Serving {
		return k.crossBridge(ctx)
	}
	return "", nil
}

func (k *walk) gate(ctx context.Context, stage bundle.Stage) (string, error) {
	facts, err := k.facts(ctx, stage)
	if err != nil {
		return "", err
	}
	return installation.Waits(k.Provider, stage, facts), nil
}

// facts returns what the gate of a stage checks. If it cannot be read, the error becomes the error of the stage.
func (w *world) facts(ctx context.Context, stage bundle.Stage) (installation.Facts, error) {
	f := installation.Facts{
		Live:   func(k installation.Key) *unstructured.Unstructured { return w.live[k] },
		Serves: func(r schema.GroupVersionResource) bool { return w.serves(r) },
	}
	var err error
	switch {
	case stage == bundle.Services && w.certificates == nil:
		err = w.readCertificates(ctx)
	case stage == bundle.Serving && w.endpoints == nil:
		err = w.readEndpoints(ctx)
	}
	f.Certificates, f.Endpoints = w.certificates, w.endpoints
	return f, err
}

// crossBridge applies the CRDs in their final form. This happens once only the new servers convert objects.
func (k *walk) crossBridge(ctx context.Context) (string, error) {
	if err := k.applyAll(ctx, k.In(bundle.Definitions), final); err != nil {
		return "", err
	}
	return k.gate(ctx, bundle.Definitions)
}

// applyAll applies objects. If one object is refused, the others of the stage are still applied, except objects of a later turn, which may refer to the refused
// object. For example, no binding is applied before its role.
func (k *walk) applyAll(ctx context.Context, objects []installation.Object, b bridging) error {
	var problems []error
	for i, o := range objects {
		turn := bundle.TurnOf(o.GroupVersionKind().GroupKind())
		if i > 0 && turn != bundle.TurnOf(objects[i-1].GroupVersionKind().GroupKind()) && errors.Join(problems...) != nil {
			break
		}
		err := k.apply(ctx, o, b)
		if k.r.stops(err) || ctx.Err() != nil {
			return err
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// complete does what follows the last gate: it migrates stored objects, stores the content as the one that became ready last, and prunes. No workload waits for
// this, and it may take several passes.
func (k *walk) complete(ctx context.Context, o *installation.Outcome) (waits string, err error) {
	if waits, err = k.migrate(ctx); err != nil {
		return "", err
	}
	if !k.blocked && !k.r.isKept(k.kept, k.content) {
		if err := k.r.keep(ctx, k.content); err != nil {
			return "", err
		}
	}
	o.Installed = o.Wanted
	k.record.inventory = k.record.inventory.Serving(k.Provider)
	if waits == "" && !k.blocked {
		err = k.prune(ctx)
	}
	return waits, err
}

// down names a workload that served before and no longer serves, with the reason; "" for none. unseen reports that a workload cannot be read, so that nobody
// knows whether it serves.
func (k *walk) down(ctx context.Context) (why string, unseen bool) {
	for _, item := range k.record.inventory.Served() {
		live, err := k.get(ctx, item.GroupVersionKind(), item.Key())
		switch {
		case err != nil:
			unseen = true
		case live == nil:
			return item.Key().String() + " does not exist", false
		default:
			if why := installation.Unavailable(live); why != "" {
				return item.Key().String() + ": " + why, false
			}
		}
	}
	return "", unseen
}
