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

// The API server's limits: a MachineSet's name may be longer than a label's value.
const (
	maxName  = validation.DNS1123SubdomainMaxLength
	maxLabel = validation.LabelValueMaxLength
	digits   = 8
)

// TemplateName is <set>-<8 hexadecimal digits of a hash of the machine's spec>: the same content always has the same name, so that a template is used again
// when its content returns (converting › MachineSet Synchronisation).
func TemplateName(set string, infraSpec map[string]any) string {
	// The result of a conversion is JSON already: this cannot fail. Maps are written in the order of their keys.
	content, _ := json.Marshal(infraSpec)
	return TemplatePrefix(set) + hash(content)
}

// TemplatePrefix is the beginning of the names of a MachineSet's templates.
func TemplatePrefix(set string) string { return shortened(set, maxName-digits-1) + "-" }

// IsTemplateName reports whether TemplateName gives a name to templates of a MachineSet. A user's copy has another name.
func IsTemplateName(set, name string) bool {
	of, is := strings.CutPrefix(name, TemplatePrefix(set))
	return is && len(of) == digits && strings.Trim(of, "0123456789abcdef") == ""
}

// SetLabel is the value of MachineSetLabel on a template: the MachineSet's name, or as much of it as a label accepts, and a hash of the whole.
func SetLabel(set string) string { return shortened(set, maxLabel) }

// shortened is a name that fits, and a different one for each name.
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
