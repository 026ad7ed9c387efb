// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azuresizes

import (
	"regexp"
	"strings"
)

var form = regexp.MustCompile(`^(?i)(standard|basic)_([a-z]+)([0-9][-0-9a-z]*)((?:_[0-9a-z]+)*?)(_v[0-9]+)?((?:_promo)?)$`)

// Listed is a size's name as Azure lists it: Standard_, the family in capitals, what the size adds in small letters, and the version: Standard_NV4ads_V710_v5.
// What stands before the version, such as the accelerator, is left as it is, and so is a name of another form.
func Listed(name string) string {
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return name
	}
	tier, promo := strings.ToLower(parts[1]), parts[6]
	if promo != "" {
		promo = "_Promo"
	}
	return strings.ToUpper(tier[:1]) + tier[1:] + "_" + strings.ToUpper(parts[2]) + strings.ToLower(parts[3]) + parts[4] + strings.ToLower(parts[5]) + promo
}
