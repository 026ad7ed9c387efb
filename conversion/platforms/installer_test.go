// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/core"
)

// OpenShift's installer can write workers into Cluster API. They convert to Machine API as the API server and the provider's webhooks store them, and their
// mirror there converts to the same machine.
func TestWhatTheInstallerWritesIntoClusterAPIComesToMachineAPI(t *testing.T) {
	var c corpus
	load(t, "testdata/corpus/aws/cluster.yaml", &c)
	text, err := os.ReadFile("testdata/installer/aws.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for sentence, v := range map[string]struct{ cluster, template json.RawMessage }{
		"as it is":                               {},
		"of a version of Ignition that it names": {template: json.RawMessage(`{"spec": {"template": {"spec": {"ignition": {"version": "3.2"}}}}}`)},
		"with the metadata that needs a token":   {template: json.RawMessage(`{"spec": {"template": {"spec": {"instanceMetadataOptions": {"httpTokens": "required"}}}}}`)},
		"of two address families": {
			cluster:  json.RawMessage(`{"infrastructure": {"status": {"platformStatus": {"aws": {"ipFamily": "DualStackIPv4Primary"}}}}, "infraCluster": {"spec": {"network": {"vpc": {"ipv6": {}}}}}}`),
			template: json.RawMessage(`{"spec": {"template": {"spec": {"privateDnsName": {"hostnameType": "resource-name", "enableResourceNameDnsARecord": true, "enableResourceNameDnsAAAARecord": true}, "assignPrimaryIPv6": "enabled", "instanceMetadataOptions": {"httpProtocolIpv6": "enabled"}}}}}`),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var cluster corpus
			merge(t, c, v.cluster, &cluster)
			env := cluster.Env(t)
			twin := core.Twin{Core: &unstructured.Unstructured{}, Infra: &unstructured.Unstructured{}}
			set, template, _ := strings.Cut(string(text), "\n---\n")
			var written map[string]any
			if err := yaml.UnmarshalStrict([]byte(set), &twin.Core.Object); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(template), &written); err != nil {
				t.Fatal(err)
			}
			merge(t, written, v.template, &twin.Infra.Object)
			there, errs := core.ToMachineAPI("MachineSet", twin, env)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if _, errs = core.ToClusterAPI("MachineSet", there, env); len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
		})
	}
}
