// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
)

const (
	one   = "11111111-1111-4111-8111-111111111111"
	two   = "22222222-2222-4222-8222-222222222222"
	three = "33333333-3333-4333-8333-333333333333"
)

// plain is a providerSpec that converts; each case is a merge patch of it.
const plain = `{
	"kind": "OpenstackProviderSpec", "apiVersion": "machine.openshift.io/v1alpha1",
	"cloudName": "openstack", "cloudsSecret": {"name": "openstack-cloud-credentials"}, "userDataSecret": {"name": "worker-user-data"},
	"flavor": "m1.xlarge", "image": "rhcos", "networks": [{"uuid": "` + one + `"}], "tags": ["openshiftClusterID=lock-7x2k9"]
}`

func notSupported(path string) string { return path + ": FieldValueNotSupported" }
func invalid(path string) string      { return path + ": FieldValueInvalid" }
func required(path string) string     { return path + ": FieldValueRequired" }

func TestWhatAProviderSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch   string
		control bool
		env     func(*conversion.Env)
		want    []string
	}{
		"nothing out of the way":      {patch: `{}`},
		"a null creationTimestamp":    {patch: `{"metadata": {"creationTimestamp": null}}`},
		"metadata of its own":         {patch: `{"metadata": {"name": "x"}}`, want: []string{notSupported("metadata")}},
		"no credentials":              {patch: `{"cloudsSecret": null}`, want: []string{required("cloudsSecret.name")}},
		"credentials, and no cloud":   {patch: `{"cloudName": ""}`, want: []string{required("cloudName")}},
		"credentials of its own":      {patch: `{"cloudsSecret": {"name": "mine"}, "cloudName": "theirs"}`},
		"credentials from elsewhere":  {patch: `{"cloudsSecret": {"namespace": "kube-system"}}`, want: []string{notSupported("cloudsSecret.namespace")}},
		"credentials from here":       {patch: `{"cloudsSecret": {"namespace": "openshift-machine-api"}}`},
		"user data from elsewhere":    {patch: `{"userDataSecret": {"namespace": "kube-system"}}`, want: []string{notSupported("userDataSecret.namespace")}},
		"no user data":                {patch: `{"userDataSecret": null}`, want: []string{required("userDataSecret.name")}},
		"no flavor":                   {patch: `{"flavor": null}`, want: []string{required("flavor")}},
		"no image":                    {patch: `{"image": null}`, want: []string{required("image")}},
		"a root volume":               {patch: `{"rootVolume": {"diskSize": 100, "volumeType": "fast", "availabilityZone": "cinder-1"}}`},
		"an image for a root volume":  {patch: `{"image": null, "rootVolume": {"diskSize": 100, "sourceUUID": "` + one + `", "sourceType": "image"}}`},
		"the same image in two ways":  {patch: `{"rootVolume": {"diskSize": 100, "sourceUUID": "rhcos"}}`},
		"two images":                  {patch: `{"rootVolume": {"diskSize": 100, "sourceUUID": "` + one + `"}}`},
		"a root volume of no size":    {patch: `{"rootVolume": {"volumeType": "fast"}}`, want: []string{invalid("rootVolume.diskSize")}},
		"a root volume of a snapshot": {patch: `{"rootVolume": {"diskSize": 1, "sourceType": "snapshot"}}`},
		"a root volume of a device":   {patch: `{"rootVolume": {"diskSize": 1, "deviceType": "disk"}}`},
		"a root volume in two words":  {patch: `{"rootVolume": {"diskSize": 1, "availabilityZone": "zone 1"}}`, want: []string{invalid("rootVolume.availabilityZone")}},

		"two disks":                   {patch: `{"additionalBlockDevices": [{"name": "etcd", "sizeGiB": 10, "storage": {"type": "Local"}}, {"name": "data", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {"type": "fast"}}}]}`},
		"a disk given twice":          {patch: `{"additionalBlockDevices": [{"name": "etcd", "sizeGiB": 10, "storage": {"type": "Local"}}, {"name": "etcd", "sizeGiB": 1, "storage": {"type": "Volume"}}]}`, want: []string{invalid("additionalBlockDevices[1].name")}},
		"a disk called root":          {patch: `{"additionalBlockDevices": [{"name": "root", "sizeGiB": 10, "storage": {"type": "Local"}}]}`, want: []string{invalid("additionalBlockDevices[0].name")}},
		"a disk that says nothing":    {patch: `{"additionalBlockDevices": [{}]}`, want: []string{required("additionalBlockDevices[0].name"), invalid("additionalBlockDevices[0].sizeGiB"), required("additionalBlockDevices[0].storage.type")}},
		"a local disk of a type":      {patch: `{"additionalBlockDevices": [{"name": "etcd", "sizeGiB": 10, "storage": {"type": "Local", "volume": {"type": "fast"}}}]}`, want: []string{invalid("additionalBlockDevices[0].storage.volume")}},
		"a disk of another kind":      {patch: `{"additionalBlockDevices": [{"name": "etcd", "sizeGiB": 10, "storage": {"type": "local"}}]}`, want: []string{notSupported("additionalBlockDevices[0].storage.type")}},
		"a group by id":               {patch: `{"serverGroupID": "` + one + `"}`},
		"a group by an id that is no": {patch: `{"serverGroupID": "workers"}`, want: []string{invalid("serverGroupID")}},
		"a group by id and by name":   {patch: `{"serverGroupID": "` + one + `", "serverGroupName": "x"}`},
		"a tag given twice":           {patch: `{"tags": ["a", "b", "a"]}`, want: []string{invalid("tags[2]")}},
		"much metadata":               {patch: `{"serverMetadata": {"a": "` + strings.Repeat("é", 255) + `"}}`},
		"too much metadata":           {patch: `{"serverMetadata": {"a": "` + strings.Repeat("é", 256) + `"}}`, want: []string{notSupported("serverMetadata[a]")}},
		"a floating IP":               {patch: `{"floatingIP": "192.0.2.1"}`, want: []string{notSupported("floatingIP")}},
		"a user for SSH":              {patch: `{"sshUserName": "core"}`},
		"a primary subnet":            {patch: `{"primarySubnet": "` + one + `"}`},

		"no network":                    {patch: `{"networks": null}`, want: []string{required("networks")}},
		"an empty network":              {patch: `{"networks": [{"filter": {}}]}`, want: []string{required("networks[0].uuid")}},
		"a network by filter":           {patch: `{"networks": [{"filter": {"name": "x", "tags": "a,b", "tenantId": "t"}}]}`},
		"a network by a deprecated id":  {patch: `{"networks": [{"filter": {"id": "` + one + `"}}]}`},
		"a network by id and filter":    {patch: `{"networks": [{"uuid": "` + one + `", "filter": {"name": "x"}}]}`},
		"a network by two ids":          {patch: `{"networks": [{"uuid": "` + one + `", "filter": {"id": "` + two + `"}}]}`},
		"a network by its name as id":   {patch: `{"networks": [{"uuid": "nodes"}]}`, want: []string{invalid("networks[0].uuid")}},
		"an empty tag to look for":      {patch: `{"networks": [{"filter": {"tags": "a,,b"}}]}`, want: []string{invalid("networks[0].filter.tags")}},
		"a tag to look for twice":       {patch: `{"networks": [{"filter": {"notTagsAny": "a,a"}}]}`, want: []string{invalid("networks[0].filter.notTagsAny")}},
		"two projects to look in":       {patch: `{"networks": [{"filter": {"projectId": "a", "tenantId": "b"}}]}`, want: []string{invalid("networks[0].filter.tenantId")}},
		"a fixed IP that is ignored":    {patch: `{"networks": [{"uuid": "` + one + `", "fixedIp": "10.0.0.9"}]}`},
		"a false that is ignored":       {patch: `{"networks": [{"filter": {"name": "x", "shared": false}}]}`},
		"a subnet of a network":         {patch: `{"networks": [{"uuid": "` + one + `", "subnets": [{"filter": {"cidr": "10.0.0.0/16", "ipVersion": 4}}, {"uuid": "` + two + `"}]}]}`},
		"a subnet that says nothing":    {patch: `{"networks": [{"uuid": "` + one + `", "subnets": [{}]}]}`, want: []string{required("networks[0].subnets[0].uuid")}},
		"a subnet by a network's id":    {patch: `{"networks": [{"uuid": "` + one + `", "subnets": [{"uuid": "` + two + `", "filter": {"networkId": "` + one + `"}}]}]}`},
		"the cluster's subnet":          {patch: `{"networks": [{"subnets": [{"filter": {"name": "lock-7x2k9-nodes", "tags": "openshiftClusterID=lock-7x2k9"}}]}]}`},
		"another subnet":                {patch: `{"networks": [{"subnets": [{"uuid": "` + two + `"}]}]}`},
		"a subnet, nobody knows whose":  {patch: `{"networks": [{"subnets": [{"uuid": "` + two + `"}]}]}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{required("networks[0].uuid")}},
		"a tag of a network and subnet": {patch: `{"networks": [{"uuid": "` + one + `", "portTags": ["a"], "subnets": [{"uuid": "` + two + `", "portTags": ["b", "a"]}]}]}`, want: []string{invalid("networks[0].subnets[0].portTags[1]")}},
		"hardware offload":              {patch: `{"networks": [{"uuid": "` + one + `", "vnicType": "direct", "profile": {"capabilities": "[\"switchdev\"]", "trusted": "true"}}]}`},
		"another profile":               {patch: `{"networks": [{"uuid": "` + one + `", "profile": {"pci": "x", "capabilities": "x", "trusted": "1"}}]}`, want: []string{notSupported("networks[0].profile[capabilities]"), notSupported("networks[0].profile[pci]"), notSupported("networks[0].profile[trusted]")}},

		"a port":                       {patch: `{"ports": [{"networkID": "` + two + `", "nameSuffix": "radio", "fixedIPs": [{"subnetID": "` + three + `", "ipAddress": "10.0.0.9"}], "portSecurity": false, "trunk": false}]}`},
		"a port on no network":         {patch: `{"ports": [{}]}`, want: []string{required("ports[0].networkID")}},
		"a port on a named network":    {patch: `{"ports": [{"networkID": "radio"}]}`, want: []string{invalid("ports[0].networkID")}},
		"an address of no subnet":      {patch: `{"ports": [{"networkID": "` + two + `", "fixedIPs": [{"ipAddress": "10.0.0.9"}]}]}`, want: []string{required("ports[0].fixedIPs[0].subnetID")}},
		"a pair of no address":         {patch: `{"ports": [{"networkID": "` + two + `", "allowedAddressPairs": [{"macAddress": "fa:16:3e:00:00:01"}]}]}`, want: []string{required("ports[0].allowedAddressPairs[0].ipAddress")}},
		"a port of another project":    {patch: `{"ports": [{"networkID": "` + two + `", "projectID": "x", "tenantID": "x", "hostID": "x"}]}`},
		"a port's groups":              {patch: `{"ports": [{"networkID": "` + two + `", "securityGroups": ["` + three + `"]}]}`},
		"a port's groups by name":      {patch: `{"ports": [{"networkID": "` + two + `", "securityGroups": ["radio"]}]}`, want: []string{invalid("ports[0].securityGroups[0]")}},
		"groups without port security": {patch: `{"ports": [{"networkID": "` + two + `", "portSecurity": false, "securityGroups": ["` + three + `"]}]}`, want: []string{invalid("ports[0].securityGroups")}},
		"groups that no interface has": {patch: `{"securityGroups": [{"name": "worker"}], "networks": [{"uuid": "` + one + `", "portSecurity": false}]}`, want: []string{invalid("securityGroups")}},
		"a group by two names":         {patch: `{"securityGroups": [{"name": "worker", "filter": {"name": "master"}}]}`, want: []string{invalid("securityGroups[0].filter.name")}},
		"a group by name, twice":       {patch: `{"securityGroups": [{"name": "worker", "filter": {"name": "worker"}}]}`},
		"a group by uuid and by name":  {patch: `{"securityGroups": [{"uuid": "` + one + `", "name": "worker"}]}`},
		"a group that says nothing":    {patch: `{"securityGroups": [{"filter": {}}]}`, want: []string{required("securityGroups[0].uuid")}},
		"a group, limited":             {patch: `{"securityGroups": [{"name": "worker", "filter": {"limit": 5}}]}`},
		"groups of the cluster":        {patch: `{}`, env: cluster("managedSecurityGroups", map[string]any{}), want: []string{notSupported("securityGroups")}},
		"a master":                     {patch: `{}`, control: true},
		"a master behind a balancer":   {patch: `{}`, control: true, env: cluster("apiServerLoadBalancer", map[string]any{"enabled": true}), want: []string{notSupported("")}},
		"a worker beside a balancer":   {patch: `{}`, env: cluster("apiServerLoadBalancer", map[string]any{"enabled": true})},
		"a master with no balancer":    {patch: `{}`, control: true, env: cluster("apiServerLoadBalancer", map[string]any{"enabled": false})},
		"a master with a floating IP":  {patch: `{}`, control: true, env: cluster("disableAPIServerFloatingIP", false), want: []string{notSupported("")}},
		"a master on no outer network": {patch: `{}`, control: true, env: func(e *conversion.Env) {
			cluster("disableAPIServerFloatingIP", false)(e)
			cluster("disableExternalNetwork", true)(e)
		}},
		"a cluster that cannot be read": {patch: `{}`, control: true, env: func(e *conversion.Env) { e.InfraCluster = map[string]any{"spec": "?"} }, want: []string{notSupported("")}},

		"another kind":             {patch: `{"kind": "AWSMachineProviderConfig"}`, want: []string{invalid("kind")}},
		"its former group":         {patch: `{"apiVersion": "openstackproviderconfig.openshift.io/v1alpha1"}`},
		"another version":          {patch: `{"apiVersion": "machine.openshift.io/v1beta1"}`},
		"the documentation's UUID": {patch: `{"networks": [{"UUID": "` + one + `"}]}`},
		"a misspelt field":         {patch: `{"networks": [{"UUID": "` + one + `"}], "falvor": "x"}`, want: []string{notSupported("falvor")}},
		"a number that is a word":  {patch: `{"rootVolume": {"diskSize": "100"}}`, want: []string{invalid("rootVolume.diskSize")}},
		"everything at once": {patch: `{"flavor": "", "floatingIP": "x", "ports": [{}], "tags": ["a", "a"]}`,
			want: []string{required("flavor"), notSupported("floatingIP"), required("ports[0].networkID"), invalid("tags[1]")}},
		"a thousand wrong ports": {patch: `{"ports": [` + strings.Repeat(`{},`, 999) + `{}]}`, want: each(1000, func(i int) string { return required(fmt.Sprintf("ports[%d].networkID", i)) })},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := openstacktest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, &conversion.Core{ControlPlane: c.control}, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

// cluster changes a field of the OpenStackCluster.
func cluster(name string, value any) func(*conversion.Env) {
	return func(e *conversion.Env) {
		spec := maps.Clone(e.InfraCluster["spec"].(map[string]any))
		spec[name] = value
		e.InfraCluster = map[string]any{"spec": spec}
	}
}

func each(n int, f func(int) string) []string {
	var out []string
	for i := range n {
		out = append(out, f(i))
	}
	slices.Sort(out)
	return out
}

// plainInfra is the spec of an OpenStackMachine that converts.
const plainInfra = `{"flavor": "m1.xlarge", "image": {"filter": {"name": "rhcos"}}, "ports": [{"network": {"id": "` + one + `"}}]}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch    string
		template bool
		zone     string
		env      func(*conversion.Env)
		want     []string
	}{
		"nothing out of the way":         {patch: `{}`},
		"a flavor by id":                 {patch: `{"flavor": null, "flavorID": "1"}`, want: []string{notSupported("flavorID")}},
		"no flavor":                      {patch: `{"flavor": null}`, want: []string{required("flavor")}},
		"an image by id":                 {patch: `{"image": {"id": "` + one + `", "filter": null}}`, want: []string{notSupported("image.id")}},
		"an image by id on a volume":     {patch: `{"image": {"id": "` + one + `", "filter": null}, "rootVolume": {"sizeGiB": 1}}`},
		"an image by id and filter":      {patch: `{"image": {"id": "` + one + `"}}`, want: []string{invalid("image")}},
		"an image by tags":               {patch: `{"image": {"filter": {"name": null, "tags": ["a"]}}}`, want: []string{notSupported("image.filter.tags")}},
		"an image by reference":          {patch: `{"image": {"filter": null, "imageRef": {"name": "x"}}}`, want: []string{notSupported("image.imageRef")}},
		"no image":                       {patch: `{"image": {"filter": null}}`, want: []string{required("image.filter.name")}},
		"a region":                       {patch: `{"identityRef": {"name": "x", "cloudName": "y", "region": "z"}}`, want: []string{notSupported("identityRef.region")}},
		"an identity of the cluster":     {patch: `{"identityRef": {"name": "x", "cloudName": "y", "type": "ClusterIdentity"}}`, want: []string{notSupported("identityRef.type")}},
		"an identity that is no secret":  {patch: `{}`, env: cluster("identityRef", map[string]any{"type": "ClusterIdentity", "name": "x"}), want: []string{required("identityRef")}},
		"an identity without a name":     {patch: `{"identityRef": {"type": "Secret"}}`, want: []string{required("identityRef")}},
		"a pool of floating IPs":         {patch: `{"floatingIPPoolRef": {"kind": "x", "name": "y"}}`, want: []string{notSupported("floatingIPPoolRef")}},
		"hints":                          {patch: `{"schedulerHintAdditionalProperties": [{"name": "x", "value": {"type": "Bool", "bool": true}}]}`, want: []string{notSupported("schedulerHintAdditionalProperties")}},
		"metadata given twice":           {patch: `{"serverMetadata": [{"key": "a", "value": "1"}, {"key": "a", "value": "1"}]}`, want: []string{invalid("serverMetadata[1].key")}},
		"a server group of two kinds":    {patch: `{"serverGroup": {"id": "` + one + `", "filter": {"name": "x"}}}`, want: []string{invalid("serverGroup")}},
		"a server group that is empty":   {patch: `{"serverGroup": {}}`, want: []string{invalid("serverGroup")}},
		"a volume where Cinder likes":    {patch: `{"rootVolume": {"sizeGiB": 1}}`, zone: "nova"},
		"a volume in the Machine's zone": {patch: `{"rootVolume": {"sizeGiB": 1, "availabilityZone": {"from": "Machine"}}}`, zone: "nova"},
		"a volume in no named zone":      {patch: `{"rootVolume": {"sizeGiB": 1, "availabilityZone": {"from": "Name"}}}`, want: []string{required("rootVolume.availabilityZone.name")}},
		"a disk where Cinder likes":      {patch: `{"additionalBlockDevices": [{"name": "a", "sizeGiB": 1, "storage": {"type": "Volume"}}]}`, zone: "nova", want: []string{notSupported("additionalBlockDevices[0].storage.volume.availabilityZone")}},
		"that disk, and no zone":         {patch: `{"additionalBlockDevices": [{"name": "a", "sizeGiB": 1, "storage": {"type": "Volume"}}]}`},
		"its own instance":               {patch: `{"providerID": "openstack:///` + three + `"}`},
		"another instance":               {patch: `{"providerID": "openstack:///` + two + `"}`, want: []string{notSupported("providerID")}},
		"an instance in a template":      {template: true, patch: `{"providerID": "openstack:///` + three + `"}`, want: []string{notSupported("providerID")}},

		"no ports":                           {patch: `{"ports": null}`},
		"no ports, nobody knows where":       {patch: `{"ports": null}`, env: func(e *conversion.Env) { e.InfraCluster = nil }, want: []string{required("ports")}},
		"subnets of no network":              {patch: `{"ports": [{"fixedIPs": [{"subnet": {"id": "` + two + `"}}]}]}`, want: []string{notSupported("ports[0].fixedIPs")}},
		"the cluster's subnets":              {patch: `{"ports": [{"fixedIPs": [{"subnet": {"filter": {"name": "lock-7x2k9-nodes", "tags": ["openshiftClusterID=lock-7x2k9"]}}}]}]}`},
		"a network by id and filter":         {patch: `{"ports": [{"network": {"id": "` + one + `", "filter": {"name": "x"}}}]}`, want: []string{"ports[0].network.filter: FieldValueInvalid"}},
		"a network that says nothing":        {patch: `{"ports": [{"network": {}}]}`, want: []string{required("ports[0].network")}},
		"a suffix on a network by filter":    {patch: `{"ports": [{"network": {"filter": {"name": "x"}}, "nameSuffix": "a"}]}`, want: []string{notSupported("ports[0].network")}},
		"a suffix on a network by id":        {patch: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": "a"}]}`},
		"an empty suffix":                    {patch: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": ""}]}`, want: []string{notSupported("ports[0].nameSuffix")}},
		"an address of any subnet":           {patch: `{"ports": [{"network": {"id": "` + one + `"}, "fixedIPs": [{"ipAddress": "10.0.0.9"}]}]}`, want: []string{notSupported("ports[0].fixedIPs[0].subnet")}},
		"a filter behind a suffix":           {patch: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": "a"}, {"network": {"filter": {"name": "x"}}}]}`, want: []string{notSupported("ports[1].network")}},
		"a filter before a suffix":           {patch: `{"ports": [{"network": {"filter": {"name": "x"}}}, {"network": {"id": "` + one + `"}, "nameSuffix": "a"}]}`},
		"pairs of its own":                   {patch: `{"ports": [{"network": {"id": "` + one + `"}, "allowedAddressPairs": [{"ipAddress": "10.0.0.9"}]}]}`},
		"pairs on a network by filter":       {patch: `{"ports": [{"network": {"filter": {"name": "x"}}, "allowedAddressPairs": [{"ipAddress": "10.0.0.9"}]}]}`, want: []string{notSupported("ports[0].network")}},
		"the cluster's pairs, by filter":     {patch: `{"ports": [{"network": {"filter": {"name": "x"}}, "allowedAddressPairs": [{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.7"}]}]}`},
		"groups in two places":               {patch: `{"securityGroups": [{"id": "` + two + `"}], "ports": [{"network": {"id": "` + one + `"}, "securityGroups": [{"id": "` + three + `"}]}]}`, want: []string{notSupported("ports[0].securityGroups")}},
		"groups, and a port without":         {patch: `{"securityGroups": [{"id": "` + two + `"}], "ports": [{"network": {"id": "` + one + `"}, "disablePortSecurity": true}]}`, want: []string{invalid("ports[0].disablePortSecurity")}},
		"a port's groups by filter":          {patch: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": "a", "securityGroups": [{"filter": {"name": "x"}}]}]}`},
		"two ports' groups by filter":        {patch: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": "a", "securityGroups": [{"filter": {"name": "x"}}]}, {"network": {"id": "` + one + `"}, "nameSuffix": "b", "securityGroups": [{"filter": {"name": "y"}}]}]}`, want: []string{notSupported("ports[1].securityGroups[0]")}},
		"groups by filter of one of two":     {patch: `{"ports": [{"network": {"id": "` + one + `"}, "nameSuffix": "a", "securityGroups": [{"filter": {"name": "x"}}]}, {"network": {"id": "` + one + `"}, "nameSuffix": "b"}]}`, want: []string{notSupported("ports[0].securityGroups[0]")}},
		"groups where there can be none":     {patch: `{"ports": [{"network": {"id": "` + one + `"}, "disablePortSecurity": true, "securityGroups": [{"id": "` + two + `"}]}]}`, want: []string{invalid("ports[0].securityGroups")}},
		"a profile that says no":             {patch: `{"ports": [{"network": {"id": "` + one + `"}, "profile": {"ovsHWOffload": false, "trustedVF": false}}]}`},
		"options of a port":                  {patch: `{"ports": [{"network": {"id": "` + one + `"}, "hostID": "x", "propagateUplinkStatus": false, "valueSpecs": [{"name": "a", "key": "b", "value": "c"}]}]}`, want: []string{notSupported("ports[0].hostID"), notSupported("ports[0].propagateUplinkStatus"), notSupported("ports[0].valueSpecs")}},
		"a tag to look for with a comma":     {patch: `{"ports": [{"network": {"filter": {"tags": ["a,b"]}, "id": null}}]}`, want: []string{invalid("ports[0].network.filter.tags")}},
		"a field of a later version":         {patch: `{"later": {"x": 1}}`, want: []string{notSupported("later")}},
		"groups that the cluster manages":    {patch: `{}`, env: cluster("managedSecurityGroups", map[string]any{}), want: []string{notSupported("securityGroups")}},
		"a device that is no volume, nor is": {patch: `{"additionalBlockDevices": [{"name": "a", "sizeGiB": 1, "storage": {"type": "Ramdisk"}}]}`, want: []string{notSupported("additionalBlockDevices[0].storage.type")}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := openstacktest.Kit().Env()
			if c.env != nil {
				c.env(&env)
			}
			p := conversion.NewPass(&env, &conversion.Core{ProviderID: "openstack:///" + three, Template: c.template, FailureDomain: c.zone}, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
