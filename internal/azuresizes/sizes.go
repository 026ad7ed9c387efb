// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azuresizes

import (
	"regexp"
	"strings"
)

var form = regexp.MustCompile(`^(?i)(standard|basic)_([a-z]+)([0-9][-0-9a-z]*)((?:_[0-9a-z]+)*?)(_v[0-9]+)?((?:_promo)?)$`)

// Listed returns the name of a size as Azure lists it: Standard_, the family in capitals, the size's features in small letters, and the version, such as
// Standard_NV4ads_V710_v5. The part between features and version, such as the accelerator (V710), stays as it is. A name of another form also stays as it is.
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
