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

// maxName and maxLabel are the API server's limits. A MachineSet's name may be longer than a label's value. digits is the length of a hash in a name.
const (
	maxName  = validation.DNS1123SubdomainMaxLength
	maxLabel = validation.LabelValueMaxLength
	digits   = 8
)

// TemplateName returns the name of an infrastructure machine template: <set>-<8 hexadecimal digits of a hash of the machine's spec>. Equal content always has
// the same name, so that an existing template is used again when a set's content returns to it (converting › MachineSet Synchronisation).
func TemplateName(set string, infraSpec map[string]any) string {
	// This cannot fail, because a conversion's result consists of JSON values. Maps are written in the order of their keys, so the hash is stable.
	content, _ := json.Marshal(infraSpec)
	return TemplatePrefix(set) + hash(content)
}

// TemplatePrefix returns the beginning, with the last dash, of the names of a MachineSet's templates.
func TemplatePrefix(set string) string { return shortened(set, maxName-digits-1) + "-" }

// IsTemplateName reports whether a name has the form that TemplateName gives the names of a MachineSet's templates. A template that a user has copied has
// another name.
func IsTemplateName(set, name string) bool {
	of, is := strings.CutPrefix(name, TemplatePrefix(set))
	return is && len(of) == digits && strings.Trim(of, "0123456789abcdef") == ""
}

// SetLabel returns the value of MachineSetLabel on a template: the MachineSet's name or, if that is too long for a label, its beginning and a hash of the whole
// name.
func SetLabel(set string) string { return shortened(set, maxLabel) }

// shortened returns a name of at most most bytes: the name itself, or its beginning and a hash, so that different names stay different.
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
