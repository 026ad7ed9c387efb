// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	awswebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/webhooks"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	gcpwebhooks "sigs.k8s.io/cluster-api-provider-gcp/webhooks"

	"github.com/poundlock/poundlock/conversion/core"
)

// A message that asks for a patch of the infrastructure cluster object asks for one that the provider's webhook lets pass; what that takes at the object's
// creation only, the message has replaced. AWS's and GCP's webhooks can be asked.
func TestWebhooksLetThePatchesOfMessagesPass(t *testing.T) {
	update := map[string]func(old, patched []byte) error{
		"aws": func(old, patched []byte) error {
			var o, n awsv1.AWSCluster
			if err := json.Unmarshal(old, &o); err != nil {
				return err
			}
			if err := json.Unmarshal(patched, &n); err != nil {
				return err
			}
			_, err := (&awswebhooks.AWSCluster{}).ValidateUpdate(t.Context(), &o, &n)
			return err
		},
		"gcp": func(old, patched []byte) error {
			var o, n gcpv1.GCPCluster
			if err := json.Unmarshal(old, &o); err != nil {
				return err
			}
			if err := json.Unmarshal(patched, &n); err != nil {
				return err
			}
			o.Spec.Network.Mtu, n.Spec.Network.Mtu = 1460, 1460 // the CRD's default
			_, err := (&gcpwebhooks.GCPCluster{}).ValidateUpdate(t.Context(), &o, &n)
			return err
		},
	}
	command := regexp.MustCompile(`: kubectl patch [a-z]+cluster\.\S+ \S+ -n \S+ --type=merge -p '([^']*)'`)
	patches := 0
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		webhook, callable := update[filepath.Base(folder)]
		if !callable {
			return
		}
		for says, v := range v.Refused {
			c, o := v.apply(t, c, read(t, filepath.Join(folder, v.Of)))
			_, errs := core.ToClusterAPI(o.GetKind(), o, c.env(t))
			for _, e := range errs {
				found := command.FindStringSubmatch(e.Detail)
				if found == nil {
					continue
				}
				patches++
				old := rawOf(t, c.InfraCluster)
				var patched map[string]any
				merge(t, c.InfraCluster, json.RawMessage(found[1]), &patched)
				if err := webhook(old, rawOf(t, patched)); err != nil && !strings.Contains(err.Error(), "Warning") {
					t.Errorf("%s: %s: %v", says, found[1], err)
				}
			}
		}
	})
	if patches < 2 {
		t.Errorf("%d patches: that is no test", patches)
	}
}
