// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/azure"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// OpenShift's operator writes AzureClusters without a subscription, which the IDs of images and identities contain.
func TestASubscriptionThatTheAzureClusterDoesNotName(t *testing.T) {
	own := strings.TrimPrefix(subscription, "/subscriptions/")
	for sentence, c := range map[string]struct {
		account, instance string
		errors            int
	}{
		"nobody knows it":                       {"", "", 2},
		"the cloud provider's configuration":    {own, "", 0},
		"the Machine's instance":                {"", "azure://" + subscription + "/resourceGroups/lock-7x2k9-rg/providers/Microsoft.Compute/virtualMachines/a", 0},
		"an instance's ID that is another form": {"", "azure:///x", 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := envOf(cluster(nil, "subscriptionID"))
			env.Account = c.account
			there := conversion.NewPass(env, &conversion.Core{ProviderID: c.instance}, "")
			infra := conversiontest.ToClusterAPI(there, plain(t))
			if len(there.Errors()) != c.errors {
				t.Fatalf("errors: %v, want %d", there.Errors(), c.errors)
			}
			if c.errors > 0 {
				return
			}
			with := conversion.NewPass(envOf(), &conversion.Core{ProviderID: c.instance}, "")
			if diff := jsonDiff(t, conversiontest.ToClusterAPI(with, plain(t)), infra); diff != "" {
				t.Errorf("not what it is with the AzureCluster's own (-with +without):\n%s", diff)
			}
		})
	}
}

func TestAccount(t *testing.T) {
	for text, want := range map[string]string{
		``:  "",
		`{`: "",
		`{"cloud":"AzurePublicCloud","tenantId":"t","aadClientId":"","subscriptionId":"s-1","resourceGroup":"r"}`: "s-1",
		"cloud: AzurePublicCloud\nsubscriptionId: s-2\n":                                                          "s-2",
		`azure:///subscriptions/s-3/resourceGroups/r/providers/p/virtualMachines/v`:                               "s-3",
		`azure:///subscriptions/s-4`:     "",
		`aws:///us-east-1a/i-1`:          "",
		`{"subscriptionId": {"a": "b"}}`: "",
	} {
		if got := azure.Platform().Account(text); got != want {
			t.Errorf("%q is of %q, want %q", text, got, want)
		}
	}
}

func jsonDiff(t *testing.T, a, b any) string {
	t.Helper()
	var texts [2]map[string]any
	for i, v := range []any{a, b} {
		raw, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(raw, &texts[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cmp.Diff(texts[0], texts[1])
}
