// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
)

// Message is what one or more objects wait for in the same words.
type Message struct {
	Reason, Text string
	// Objects are named as a person would: machineset/worker-a.
	Objects []string
}

// placeholder replaces the name of each object in words that several share.
const placeholder = "NAME"

// Messages groups the objects by the words of what they wait for, in the order of the objects. Words that differ only by the object's own name are the same.
func Messages(all []standing.Standing) []Message {
	type key struct{ reason, text string }
	at := map[key]int{}
	var out []Message
	for _, s := range all {
		shared := withoutName(s.Message, s.Name)
		i, there := at[key{s.Reason, shared}]
		if !there {
			i, at[key{s.Reason, shared}] = len(out), len(out)
			out = append(out, Message{Reason: s.Reason, Text: s.Message})
		}
		if out[i].Text != s.Message {
			out[i].Text = shared
		}
		out[i].Objects = append(out[i].Objects, s.Ref())
	}
	return out
}

// withoutName returns the text with the placeholder instead of each whole word that is the name.
func withoutName(text, name string) string {
	return names.ReplaceAllStringFunc(text, func(word string) string {
		if word == name {
			return placeholder
		}
		return word
	})
}

// names matches words that have the form of a Kubernetes name, without a full stop at their end.
var names = regexp.MustCompile(`[a-z0-9]([-a-z0-9.]*[a-z0-9])?`)
