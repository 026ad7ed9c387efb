// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// Limits of an answer. People read it, so it does not repeat an object's long values.
const (
	// maxFieldsNamed is how many fields one sentence of a message names. The causes of a lock name more fields (ten), because programs read causes.
	maxFieldsNamed = 6
	// maxCauses is how many fields of one sentence get a cause of their own: all ten that a lock names, and a few more.
	maxCauses = 12
	// maxField and maxSentence are the maximum lengths of a path and of a sentence, in runes. maxPart is the maximum length of a message, and also of all causes
	// together.
	maxField    = 160
	maxSentence = 1000
	maxPart     = 4000
)

// judged returns the answer with the findings of the rules. doubts are sentences about facts that could not be looked up.
func judged(c policies.Change, j policies.Judgement, doubts []string) *admissionv1.AdmissionResponse {
	r := &admissionv1.AdmissionResponse{Allowed: j.Allowed(), Warnings: fit(warnings(j, doubts))}
	if !r.Allowed {
		r.Result = invalid(c, j)
	}
	return r
}

func warnings(j policies.Judgement, doubts []string) []sentence {
	var out []sentence
	for _, f := range j {
		for _, w := range f.Warnings {
			out = append(out, sentence{text: w, rule: f.Rule})
		}
	}
	for _, d := range doubts {
		out = append(out, sentence{text: d})
	}
	return out
}

// invalid returns the status of a denial. kubectl prints its causes, and other clients print its message.
func invalid(c policies.Change, j policies.Judgement) *metav1.Status {
	groups := group(j)
	s := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{Name: c.Name, Group: c.Resource.Group, Kind: kindOf(c)},
	}
	s.Message = message(groups)
	s.Details.Causes = causes(groups)
	return s
}

// message returns the sentences of the groups, joined, as long as they fit into maxPart, and then the number of the others.
func message(groups []denial) string {
	var parts []string
	left := maxPart
	for i, g := range groups {
		text := g.text()
		if left -= runes(text); left < 0 && i > 0 {
			return strings.Join(append(parts, moreText(len(groups)-i)), "; ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// causes returns the causes of the groups as long as they fit into maxPart. If some do not fit, the last cause says that there are others.
func causes(groups []denial) []metav1.StatusCause {
	var out []metav1.StatusCause
	left := maxPart
	for _, g := range groups {
		for _, c := range g.causes() {
			if left -= runes(c.Field, c.Message); left < 0 && len(out) > 0 {
				c.Message = sentence{text: "and others", rule: g.rule}.whole()
				return append(out, c)
			}
			out = append(out, c)
		}
	}
	return out
}

// kindOf returns the object's kind as users know it: for a provider's object the provider's own kind, such as AWSMachine.
func kindOf(c policies.Change) string {
	for _, o := range []*policies.Object{c.New, c.Old} {
		if o != nil && o.Kind != "" && c.Subresource != "scale" {
			return o.Kind
		}
	}
	return c.Kind
}

// denial has the fields that one rule refuses for one reason: the errors for the first few fields (errs), and the number of all fields (count).
type denial struct {
	rule  string
	errs  field.ErrorList
	count int
}

// group returns the denials of the rules: it joins those findings of one rule that have the same text and concern different fields. It keeps the order of the
// rules.
func group(j policies.Judgement) []denial {
	type key struct {
		rule, detail string
		kind         field.ErrorType
	}
	at := map[key]int{}
	var out []denial
	for _, f := range j {
		for _, e := range f.Denials {
			k := key{f.Rule, e.Detail, e.Type}
			i, ok := at[k]
			if !ok {
				i = len(out)
				at[k] = i
				out = append(out, denial{rule: f.Rule})
			}
			if out[i].count++; out[i].count <= maxCauses {
				out[i].errs = append(out[i].errs, short(e))
			}
		}
	}
	return out
}

// short returns a copy of an error in which a long path, sentence or value is shortened.
func short(e *field.Error) *field.Error {
	out := *e
	out.Field, out.Detail = shortened(e.Field, maxField), shortened(e.Detail, maxSentence)
	if text, ok := e.BadValue.(string); ok {
		out.BadValue = shortened(text, maxField)
	} else if _, omitted := e.BadValue.(field.OmitValueType); !omitted && runes(e.ErrorBody()) > 2*maxSentence {
		out.BadValue = field.OmitValueType{}
	}
	return &out
}

// shortened returns a text of at most n runes. It keeps the beginning and the end of a longer text, because the end has the command.
func shortened(text string, n int) string {
	if runes(text) <= n {
		return text
	}
	all := []rune(text)
	return string(all[:n/2]) + "…" + string(all[len(all)-(n-n/2-1):])
}

// text returns one sentence with all the fields and the reason.
func (d denial) text() string {
	body := d.body(d.errs[0])
	if d.count > 1 {
		body = d.shared()
	}
	return fmt.Sprintf("%s: %s", d.fields(), body)
}

func (d denial) fields() string {
	var names []string
	for _, e := range d.errs {
		names = append(names, e.Field)
	}
	if more := d.count - maxFieldsNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFieldsNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

func (d denial) body(e *field.Error) string {
	return sentence{text: e.ErrorBody(), rule: d.rule}.whole()
}

// shared returns the reason without a value, for several fields.
func (d denial) shared() string {
	first := d.errs[0]
	return sentence{text: fmt.Sprintf("%s: %s", first.Type, first.Detail), rule: d.rule}.whole()
}

// causes returns one cause for each field. Only the first cause has the whole sentence, because kubectl prints the causes one below the other.
func (d denial) causes() []metav1.StatusCause {
	var out []metav1.StatusCause
	for i, e := range d.errs {
		text := d.body(e)
		if i > 0 {
			text = sentence{text: fmt.Sprintf("%s: for the same reason", e.Type), rule: d.rule}.whole()
		}
		if i == len(d.errs)-1 && d.count > len(d.errs) {
			text = sentence{text: fmt.Sprintf("%s: for the same reason, %s", e.Type, moreText(d.count-len(d.errs))), rule: d.rule}.whole()
		}
		out = append(out, metav1.StatusCause{Type: metav1.CauseType(e.Type), Message: text, Field: e.Field})
	}
	return out
}

// whole returns the sentence with its rule's id, in one line of any length.
func (s sentence) whole() string { return fmt.Sprintf("%s [%s]", oneLine(s.text), s.rule) }
