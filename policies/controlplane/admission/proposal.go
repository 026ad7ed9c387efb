// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
)

// proposal is the set as it would be after a request, in the present cluster.
type proposal struct {
	policies.ControlPlane
	// Resolved is the set with its template in Machine API's form.
	controlplane.Resolved
	set *machinev1.ControlPlaneMachineSet
	// authority is the API that is authoritative for the set when the set acts. While the set moves it does nothing, so for a set that moves this is the requested
	// API. moves reports such a move.
	authority authority.API
	moves     bool
	// ofClusterAPI reports that the template was written in Cluster API's form.
	ofClusterAPI bool
	// plan returns the set's plan in the present cluster.
	plan func() controlplane.Plan
}

// propose returns the proposal of a set in a review. It returns nil if there is no set, if the set cannot be read, or if the control plane was not looked up.
func propose(c policies.Change, o *policies.Object) *proposal {
	if o == nil || c.Facts.ControlPlane == nil {
		return nil
	}
	kept := policies.Reading(o, func(o *policies.Object) proposed {
		return proposed{c.Facts.ControlPlane, madeOf(c, o, c.Facts.ControlPlane)}
	})
	if kept.in != c.Facts.ControlPlane {
		return madeOf(c, o, c.Facts.ControlPlane)
	}
	return kept.proposal
}

// madeOf returns a proposal with the authority that a request asks for, because a set that moves does nothing until it has moved, and a new set begins with the
// requested authority.
func madeOf(c policies.Change, o *policies.Object, in *policies.ControlPlane) *proposal {
	p := made(o, in)
	if p == nil || o != c.New {
		return p
	}
	if p.moves = requests(c); p.moves || p.authority == authority.Unset {
		p.authority = asks(o)
	}
	return p
}

// proposed is a proposal that is kept for the other rules, with the facts that it was made from. Every rule asks for the proposal, and a plan takes more time
// than everything else in a review.
type proposed struct {
	in *policies.ControlPlane
	*proposal
}

func made(o *policies.Object, in *policies.ControlPlane) *proposal {
	set, err := Read(o)
	if err != nil {
		return nil
	}
	t, err := controlplane.Template(o.Raw())
	if err != nil {
		return nil
	}
	r := controlplane.ResolvedIn(in, set, t)
	p := &proposal{ControlPlane: *in, Resolved: r, set: r.Set, authority: authority.Read(o).Current, ofClusterAPI: t != nil}
	p.plan = sync.OnceValue(func() controlplane.Plan { return controlplane.Make(p.view()) })
	return p
}

// Read reads a set from a review.
func Read(o *policies.Object) (*machinev1.ControlPlaneMachineSet, error) {
	set := &machinev1.ControlPlaneMachineSet{}
	return set, json.Unmarshal(o.Raw(), set)
}

// view returns the view of the requested set. It has neither Unreflected nor Behind: whether Cluster API's side can follow the requested set is known only
// after the mirror has tried.
func (p *proposal) view() controlplane.View {
	v := controlplane.ViewOf(p.set, p.ControlPlane)
	v.Unresolved, v.Authority = p.Unresolved, p.authority
	return v
}

func (p *proposal) platform() platform.Row { return platform.Named(platform.Of(p.Infrastructure)) }

// providerSpec returns the template's providerSpec.
func (p *proposal) providerSpec() map[string]any {
	return platform.ProviderSpec(controlplane.TemplateOf(p.set).Spec)
}

func (p *proposal) failureDomains() machinev1.FailureDomains {
	if f := controlplane.TemplateOf(p.set).FailureDomains; f != nil {
		return *f
	}
	return machinev1.FailureDomains{}
}

// changesSpec reports whether the rules about a set's content apply: the request creates a set, or changes the spec of a stored one. They do not apply to a set
// that is being deleted, because such a set does nothing any more.
func changesSpec(c policies.Change) bool {
	if c.New == nil || c.Old.Deleting() {
		return false
	}
	if c.Operation == admissionv1.Create {
		return true
	}
	return !same(c.Old.Spec, c.New.Spec)
}

// same reports whether two specs are equal as JSON. It is stricter than a lock's comparison: an empty spotMarketOptions differs from an absent one.
func same(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var before, after any
	return json.Unmarshal(a, &before) == nil && json.Unmarshal(b, &after) == nil && reflect.DeepEqual(before, after)
}

// begins reports whether a request creates or activates a set. The rules then judge the set's whole content as new.
func begins(c policies.Change) bool {
	return c.Operation == admissionv1.Create || state(c.New) == string(machinev1.ControlPlaneMachineSetStateActive) && state(c.Old) != state(c.New)
}

func state(o *policies.Object) string {
	var spec struct {
		State string `json:"state"`
	}
	if o == nil || json.Unmarshal(o.Spec, &spec) != nil {
		return ""
	}
	return spec.State
}

// ratchet turns a check of a set's content into a rule's check. That check refuses an update only for what the stored set does not have already, unless the
// update activates the set.
func ratchet(check func(*proposal) policies.Verdict) func(policies.Change) policies.Verdict {
	return func(c policies.Change) policies.Verdict {
		if !changesSpec(c) {
			return policies.Verdict{}
		}
		now := propose(c, c.New)
		if now == nil {
			return policies.Verdict{}
		}
		v := now.written(check(now))
		if before := propose(c, c.Old); !begins(c) && before != nil {
			return beyond(v, before.written(check(before)))
		}
		return v
	}
}

// beyond returns the errors and warnings of the verdict v that the verdict known does not have. It ignores the positions of items in lists.
func beyond(v, known policies.Verdict) policies.Verdict {
	before := map[string]bool{}
	for _, e := range known.Denials {
		before[unplaced(e.Error())] = true
	}
	for _, w := range known.Warnings {
		before[unplaced(w)] = true
	}
	v.Denials = slices.DeleteFunc(v.Denials, func(e *field.Error) bool { return before[unplaced(e.Error())] })
	v.Warnings = slices.DeleteFunc(v.Warnings, func(w string) bool { return before[unplaced(w)] })
	return v
}

var itemNumber = regexp.MustCompile(`\[[0-9]+\]`)

func unplaced(text string) string { return itemNumber.ReplaceAllString(text, "[]") }

// written returns a verdict whose paths name the fields that a person has written. If the set uses the member for Cluster API, failure domains and metadata are
// in that member. Errors about the providerSpec are then about the infrastructure machine template to which the member refers.
func (p *proposal) written(v policies.Verdict) policies.Verdict {
	if !p.ofClusterAPI {
		return v
	}
	from, member := controlplane.ClusterAPITemplatePath().Child("spec", "infrastructureRef").String(), controlplane.ClusterAPITemplatePath().String()
	places := strings.NewReplacer(platform.ProviderSpecPath().String(), from, platform.TemplatePath().String(), member)
	out := policies.Verdict{}
	for _, e := range v.Denials {
		moved := *e
		if rest, ok := strings.CutPrefix(e.Field, platform.ProviderSpecPath().String()+"."); ok {
			moved.Field, moved.Detail = from, rest+": "+e.Detail
		} else {
			moved.Field = places.Replace(e.Field)
		}
		out.Denials = append(out.Denials, &moved)
	}
	for _, w := range v.Warnings {
		if rest, ok := strings.CutPrefix(w, platform.ProviderSpecPath().String()+"."); ok {
			w = from + ": its " + rest
		}
		out.Warnings = append(out.Warnings, places.Replace(w))
	}
	return out
}
