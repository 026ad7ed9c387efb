// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azuresizes

import "testing"

func TestASizeIsSpeltAsAzureListsIt(t *testing.T) {
	for text, listed := range map[string]string{
		"Standard_D4s_V3": "Standard_D4s_v3", "standard_d4s_v3": "Standard_D4s_v3", "STANDARD_D4S_V3": "Standard_D4s_v3", "Standard_ds3_V2": "Standard_DS3_v2",
		"basic_a0": "Basic_A0", "standard_e4-2S_v3": "Standard_E4-2s_v3", "Standard_D2_V2_PROMO": "Standard_D2_v2_Promo", "Standard_NV4ads_V710_V5": "Standard_NV4ads_V710_v5",
		"": "", "mine": "mine", "Custom_D4_V3": "Custom_D4_V3",
	} {
		if got := Listed(text); got != listed {
			t.Errorf("%q becomes %q, and is listed as %q", text, got, listed)
		}
	}
	for _, listed := range []string{
		"Standard_D4s_v3", "Standard_D4as_v5", "Standard_D4ps_v5", "Standard_DS3_v2", "Standard_DS11-1_v2", "Standard_D2_v2_Promo", "Standard_E64i_v3", "Standard_E96ias_v4",
		"Standard_M208ms_v2", "Standard_NC4as_T4_v3", "Standard_NC24ads_A100_v4", "Standard_NV36ads_A10_v5", "Standard_NV4ads_V710_v5", "Standard_ND96isr_MI300X_v5",
		"Standard_HB120-16rs_v3", "Standard_HB120rs_v3", "Standard_L8s_v3", "Standard_B2ms", "Standard_B1ls", "Standard_DC4as_v5", "Standard_EC4as_cc_v5", "Standard_FX4mds",
		"Standard_GS5-16", "Standard_PB6s", "Standard_A8m_v2", "Basic_A4",
	} {
		if got := Listed(listed); got != listed {
			t.Errorf("%q becomes %q", listed, got)
		}
	}
}
