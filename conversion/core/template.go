// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxName and maxLabel are the API server's limits. A MachineSet's name may be longer than a label's value may be. digits is the length of a hash in a name.
const (
	maxName  = validation.DNS1123SubdomainMaxLength
	maxLabel = validation.LabelValueMaxLength
	digits   = 8
)

// TemplateName returns the name of an infrastructure machine template: <set>-<8 hexadecimal digits of a hash of the machine's spec>. Equal content always has
// the same name. So if a set's content changes back, the template that already exists is used again (converting › MachineSet Synchronisation).
func TemplateName(set string, infraSpec map[string]any) string {
	// This cannot fail, because a conversion's result consists of JSON values. Maps are written in the order of their keys, so the hash is stable.
	content, _ := json.Marshal(infraSpec)
	return TemplatePrefix(set) + hash(content)
}

// TemplatePrefix returns the beginning of the names of a MachineSet's templates, including the last dash.
func TemplatePrefix(set string) string { return shortened(set, maxName-digits-1) + "-" }

// IsTemplateName reports whether a name has the form of TemplateName for a MachineSet. It is false for a template that a user has copied, which has another
// name.
func IsTemplateName(set, name string) bool {
	of, is := strings.CutPrefix(name, TemplatePrefix(set))
	return is && len(of) == digits && strings.Trim(of, "0123456789abcdef") == ""
}

// SetLabel returns the value of MachineSetLabel on a template. That is the MachineSet's name or, if the name is too long for a label, its beginning and a
// hash of the whole name.
func SetLabel(set string) string { return shortened(set, maxLabel) }

// shortened returns a name of at most `most` bytes: the name itself, or its beginning and a hash, so that different names stay different.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	return strings.TrimRight(name[:most-digits-1], "-.") + "-" + hash([]byte(name))
}

func hash(of []byte) string {
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:digits/2])
}
