// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

func testEnv() *conversion.Env {
	return &conversion.Env{
		Platform: Platform(), ClusterName: "ocean", Region: "us-east-1",
		InfraCluster: map[string]any{"spec": map[string]any{
			"controlPlaneLoadBalancer":          map[string]any{"name": "ocean-int", "loadBalancerType": "nlb"},
			"secondaryControlPlaneLoadBalancer": map[string]any{"name": "ocean-ext", "loadBalancerType": "classic"},
		}},
	}
}

// masters has an AWSCluster without load balancers, and other Machines of the control plane.
func masters(others ...string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		e.InfraCluster = map[string]any{"spec": map[string]any{"region": "us-east-1"}}
		for i, text := range others {
			var content map[string]any
			if err := json.Unmarshal([]byte(text), &content); err != nil {
				panic(err)
			}
			e.ControlPlane = append(e.ControlPlane, conversion.Master{Name: fmt.Sprint("master-", i), ProviderSpec: content})
		}
	}
}

// subnets lists them in the AWSCluster.
func subnets(list ...any) func(*conversion.Env) {
	return func(e *conversion.Env) {
		e.InfraCluster = map[string]any{"spec": map[string]any{"network": map[string]any{"subnets": list}}}
	}
}

// plain is a providerSpec that converts; each case is a merge patch of it.
const plain = `{
	"kind": "AWSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1beta1",
	"ami": {"id": "ami-1"}, "instanceType": "m6i.large", "deviceIndex": 0,
	"userDataSecret": {"name": "worker-user-data"},
	"subnet": {"id": "subnet-1"}, "placement": {"region": "us-east-1"}
}`

func TestWhatAProviderSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch    string
		control  bool
		template bool
		instance bool
		env      func(*conversion.Env)
		want     []string
	}{
		"nothing out of the way":            {patch: `{}`},
		"an interface at index 1":           {patch: `{"deviceIndex": 1}`, want: []string{"deviceIndex: FieldValueNotSupported"}},
		"a null creationTimestamp":          {patch: `{"metadata": {"creationTimestamp": null}}`},
		"metadata that says nothing":        {patch: `{"metadata": {"creationTimestamp": null, "name": "", "labels": {}, "annotations": {}, "finalizers": []}}`},
		"metadata of its own":               {patch: `{"metadata": {"name": "x"}}`, want: []string{"metadata: FieldValueNotSupported"}},
		"no instance type":                  {patch: `{"instanceType": null}`, want: []string{"instanceType: FieldValueRequired"}},
		"a reservation":                     {patch: `{"capacityReservationId": "cr-1", "marketType": "CapacityBlock"}`},
		"a reservation for a spot instance": {patch: `{"capacityReservationId": "cr-1", "spotMarketOptions": {}}`, want: []string{"capacityReservationId: FieldValueNotSupported"}},
		"a reservation on the spot market":  {patch: `{"capacityReservationId": "cr-1", "marketType": "Spot"}`, want: []string{"capacityReservationId: FieldValueNotSupported"}},
		"no image":                          {patch: `{"ami": {"id": null}}`, want: []string{"ami.id: FieldValueRequired"}},
		"an image by its ARN":               {patch: `{"ami": {"id": null, "arn": "arn:x"}}`, want: []string{"ami.arn: FieldValueNotSupported"}},
		"an image by filters":               {patch: `{"ami": {"id": null, "filters": [{"name": "x"}]}}`, want: []string{"ami.filters: FieldValueNotSupported"}},
		"two tags":                          {patch: `{"tags": [{"name": "a", "value": "1"}, {"name": "b"}]}`},
		"a tag given twice":                 {patch: `{"tags": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}`},
		"a tag of AWS's own":                {patch: `{"tags": [{"name": "aws:x", "value": "1"}]}`, want: []string{"tags[0]: FieldValueInvalid"}},
		"a profile by name":                 {patch: `{"iamInstanceProfile": {"id": "worker"}}`},
		"a profile by ARN":                  {patch: `{"iamInstanceProfile": {"arn": "arn:x"}}`, want: []string{"iamInstanceProfile.arn: FieldValueNotSupported"}},
		"a profile by filters":              {patch: `{"iamInstanceProfile": {"filters": [{"name": "x"}]}}`, want: []string{"iamInstanceProfile.filters: FieldValueNotSupported"}},
		"a profile that says nothing":       {patch: `{"iamInstanceProfile": {}}`},
		"a profile without a name":          {patch: `{"iamInstanceProfile": {"id": ""}}`, want: []string{"iamInstanceProfile.id: FieldValueRequired"}},
		"groups by id and by filters":       {patch: `{"securityGroups": [{"id": "sg-1"}, {"filters": [{"name": "x", "values": ["y"]}]}]}`},
		"a group by ARN":                    {patch: `{"securityGroups": [{"id": "sg-1"}, {"arn": "arn:x"}]}`, want: []string{"securityGroups[1].arn: FieldValueNotSupported"}},
		"a group by both":                   {patch: `{"securityGroups": [{"id": "sg-1", "filters": [{"name": "x"}]}]}`, want: []string{"securityGroups[0].filters: FieldValueInvalid"}},
		"an empty reference":                {patch: `{"securityGroups": [{}]}`, want: []string{"securityGroups[0].id: FieldValueRequired"}},
		"a subnet by filters":               {patch: `{"subnet": {"id": null, "filters": [{"name": "x"}]}}`},
		"no subnet, and none is listed":     {patch: `{"subnet": null}`, want: []string{"subnet: FieldValueRequired"}},
		"an empty subnet":                   {patch: `{"subnet": {"id": null}}`, want: []string{"subnet: FieldValueRequired"}},
		"no subnet, one is listed":          {patch: `{"subnet": {"id": null}}`, env: subnets(map[string]any{"id": "subnet-1", "availabilityZone": "us-east-1b"})},
		"one is listed in the zone": {patch: `{"subnet": {"id": null}, "placement": {"availabilityZone": "us-east-1b"}}`,
			env: subnets(map[string]any{"id": "subnet-1", "availabilityZone": "us-east-1b"})},
		"one is listed in another zone": {patch: `{"subnet": {"id": null}, "placement": {"availabilityZone": "us-east-1a"}}`,
			env: subnets(map[string]any{"id": "subnet-1", "availabilityZone": "us-east-1b"}), want: []string{"subnet: FieldValueRequired"}},
		"a public one is listed":            {patch: `{"subnet": {"id": null}}`, env: subnets(map[string]any{"id": "subnet-1", "isPublic": true}), want: []string{"subnet: FieldValueRequired"}},
		"a public one, for public machines": {patch: `{"subnet": {"id": null}, "publicIp": true}`, env: subnets(map[string]any{"id": "subnet-1", "isPublic": true})},
		"a private one, for public machines": {patch: `{"subnet": {"id": null}, "publicIp": true}`, env: subnets(map[string]any{"id": "subnet-1"}),
			want: []string{"subnet: FieldValueRequired"}},
		"no subnet, a control plane's template": {control: true, template: true, patch: `{"subnet": {"id": null}, "loadBalancers": [{"name": "ocean-ext", "type": "classic"}, {"name": "ocean-int", "type": "network"}]}`},
		"no subnet, the AWSCluster not known":   {patch: `{"subnet": {"id": null}}`, env: func(e *conversion.Env) { e.InfraCluster = nil }},
		"a subnet by ARN":                       {patch: `{"subnet": {"id": null, "arn": "arn:x"}}`, want: []string{"subnet.arn: FieldValueNotSupported"}},
		"no region":                             {patch: `{"placement": {"region": null}}`},
		"another region":                        {patch: `{"placement": {"region": "eu-west-1"}}`, want: []string{"placement.region: FieldValueNotSupported"}},
		"a region, the cluster's not known":     {patch: `{}`, env: func(e *conversion.Env) { e.Region = "" }, want: []string{"placement.region: FieldValueNotSupported"}},
		"the AWSCluster's region": {patch: `{}`, env: func(e *conversion.Env) {
			e.Region, e.InfraCluster = "", map[string]any{"spec": map[string]any{"region": "us-east-1"}}
		}},
		"the cluster's secret":              {patch: `{"credentialsSecret": {"name": "aws-cloud-credentials"}}`},
		"a secret that says nothing":        {patch: `{"credentialsSecret": {}}`},
		"a secret without a name":           {patch: `{"credentialsSecret": {"name": ""}}`},
		"another secret":                    {patch: `{"credentialsSecret": {"name": "mine"}}`, want: []string{"credentialsSecret.name: FieldValueNotSupported"}},
		"no user data":                      {patch: `{"userDataSecret": null}`, want: []string{"userDataSecret.name: FieldValueRequired"}},
		"a worker's load balancer":          {patch: `{"loadBalancers": [{"name": "x", "type": "network"}]}`, want: []string{"loadBalancers[0]: FieldValueNotSupported"}},
		"a master's load balancers":         {control: true, patch: `{"loadBalancers": [{"name": "ocean-ext", "type": "classic"}, {"name": "ocean-int", "type": "network"}]}`},
		"a master without them":             {control: true, patch: `{}`, want: []string{"loadBalancers: FieldValueNotSupported"}},
		"a master with one of another type": {control: true, patch: `{"loadBalancers": [{"name": "ocean-ext", "type": "network"}, {"name": "ocean-int", "type": "network"}]}`, want: []string{"loadBalancers: FieldValueNotSupported"}},
		"a master with half of what others have": {control: true, patch: `{"loadBalancers": [{"name": "lock-int", "type": "network"}]}`,
			env: masters(`{"loadBalancers": [{"name": "lock-int", "type": "network"}, {"name": "lock-ext", "type": "network"}]}`), want: []string{"AWSCluster.spec.controlPlaneLoadBalancer: FieldValueNotSupported", "loadBalancers: FieldValueNotSupported"}},
		"a master with all of what others have": {control: true, patch: `{"loadBalancers": [{"name": "lock-int", "type": "network"}, {"name": "lock-ext", "type": "network"}]}`,
			env: masters(`{"loadBalancers": [{"name": "lock-int", "type": "network"}]}`), want: []string{"AWSCluster.spec.controlPlaneLoadBalancer: FieldValueNotSupported"}},
		"masters with three": {control: true, patch: `{"loadBalancers": [{"name": "lock-int", "type": "network"}, {"name": "lock-ext", "type": "network"}]}`,
			env: masters(`{"loadBalancers": [{"name": "third", "type": "network"}]}`), want: []string{"loadBalancers: FieldValueNotSupported"}},
		"EFA":                           {patch: `{"networkInterfaceType": "EFA"}`},
		"an interface of no known type": {patch: `{"networkInterfaceType": "efa"}`, want: []string{"networkInterfaceType: FieldValueNotSupported"}},
		"a partition of 0":              {patch: `{"placementGroupPartition": 0}`, want: []string{"placementGroupPartition: FieldValueNotSupported"}},
		"a partition of 1":              {patch: `{"placementGroupPartition": 1}`},
		"no authentication of a kind":   {patch: `{"metadataServiceOptions": {"authentication": "required"}}`, want: []string{"metadataServiceOptions.authentication: FieldValueInvalid"}},

		"a root disk":                 {patch: `{"blockDevices": [{"ebs": {"volumeSize": 8, "iops": 0, "kmsKey": {"arn": ""}}}]}`},
		"a second root disk":          {patch: `{"blockDevices": [{"ebs": {"volumeSize": 8}}, {"ebs": {"volumeSize": 8}}]}`, want: []string{"blockDevices[1].deviceName: FieldValueInvalid"}},
		"a disk of no size":           {patch: `{"blockDevices": [{"ebs": {"encrypted": true}}]}`, want: []string{"blockDevices[0].ebs.volumeSize: FieldValueRequired"}},
		"a disk of 7 GiB":             {patch: `{"blockDevices": [{"ebs": {"volumeSize": 7}}]}`, want: []string{"blockDevices[0].ebs.volumeSize: FieldValueNotSupported"}},
		"a device with an empty name": {patch: `{"blockDevices": [{"deviceName": "", "ebs": {"volumeSize": 8}}]}`},
		"a suppressed device":         {patch: `{"blockDevices": [{"deviceName": "/dev/sdb", "noDevice": ""}]}`, want: []string{"blockDevices[0].noDevice: FieldValueNotSupported"}},
		"an instance store":           {patch: `{"blockDevices": [{"deviceName": "/dev/sdb", "virtualName": "ephemeral0"}]}`, want: []string{"blockDevices[0].virtualName: FieldValueNotSupported"}},
		"a disk that outlives":        {patch: `{"blockDevices": [{"deviceName": "/dev/sdb", "ebs": {"volumeSize": 8, "deleteOnTermination": false}}]}`, want: []string{"blockDevices[0].ebs.deleteOnTermination: FieldValueNotSupported"}},
		"a key by filters":            {patch: `{"blockDevices": [{"ebs": {"volumeSize": 8, "kmsKey": {"filters": [{"name": "x"}]}}}]}`, want: []string{"blockDevices[0].ebs.kmsKey.filters: FieldValueNotSupported"}},
		"a key by id and ARN":         {patch: `{"blockDevices": [{"ebs": {"volumeSize": 8, "kmsKey": {"id": "1", "arn": "arn:x"}}}]}`, want: []string{"blockDevices[0].ebs.kmsKey: FieldValueInvalid"}},
		"an ARN as a key's id":        {patch: `{"blockDevices": [{"ebs": {"volumeSize": 8, "kmsKey": {"id": "arn:x"}}}]}`, want: []string{"blockDevices[0].ebs.kmsKey.id: FieldValueInvalid"}},

		"a host that is named":        {patch: `{"placement": {"tenancy": "host", "host": {"affinity": "AnyAvailable", "dedicatedHost": {"id": "h-0123456789abcdef0"}}}}`},
		"a host of an old id":         {patch: `{"placement": {"tenancy": "host", "host": {"affinity": "AnyAvailable", "dedicatedHost": {"id": "h-01234567"}}}}`, want: []string{"placement.host.dedicatedHost.id: FieldValueNotSupported"}},
		"any host":                    {patch: `{"placement": {"tenancy": "host", "host": {"affinity": "AnyAvailable"}}}`, want: []string{"placement.host.affinity: FieldValueNotSupported"}},
		"tenancy host, and no host":   {patch: `{"placement": {"tenancy": "host"}}`},
		"a host on shared hardware":   {patch: `{"placement": {"host": {"affinity": "DedicatedHost", "dedicatedHost": {"id": "h-0123456789abcdef0"}}}}`, want: []string{"placement.host: FieldValueInvalid"}},
		"an allocated host":           {patch: `{"placement": {"tenancy": "host", "host": {"affinity": "DedicatedHost", "dedicatedHost": {"allocationStrategy": "Dynamic"}}}}`},
		"an allocated host, unpinned": {patch: `{"placement": {"tenancy": "host", "host": {"affinity": "AnyAvailable", "dedicatedHost": {"allocationStrategy": "Dynamic"}}}}`, want: []string{"placement.host.dedicatedHost.allocationStrategy: FieldValueNotSupported"}},

		"another kind":                               {patch: `{"kind": "GCPMachineProviderSpec"}`, want: []string{"kind: FieldValueInvalid"}},
		"a tag that Cluster API sets":                {patch: `{"tags": [{"name": "MachineName", "value": "x"}]}`, want: []string{"tags[MachineName]: FieldValueNotSupported"}},
		"Cluster API's role":                         {patch: `{"tags": [{"name": "sigs.k8s.io/cluster-api-provider-aws/role", "value": "x"}]}`, want: []string{"tags[sigs.k8s.io/cluster-api-provider-aws/role]: FieldValueNotSupported"}},
		"Cluster API's own role":                     {patch: `{"tags": [{"name": "sigs.k8s.io/cluster-api-provider-aws/role", "value": "node"}]}`},
		"that of workers, for the control plane":     {patch: `{"tags": [{"name": "sigs.k8s.io/cluster-api-provider-aws/role", "value": "node"}], "loadBalancers": [{"name": "ocean-ext", "type": "classic"}, {"name": "ocean-int", "type": "network"}]}`, control: true, want: []string{"tags[sigs.k8s.io/cluster-api-provider-aws/role]: FieldValueNotSupported"}},
		"that of the control plane":                  {patch: `{"tags": [{"name": "sigs.k8s.io/cluster-api-provider-aws/role", "value": "control-plane"}], "loadBalancers": [{"name": "ocean-ext", "type": "classic"}, {"name": "ocean-int", "type": "network"}]}`, control: true},
		"tags that Cluster API sets, of an instance": {patch: `{"tags": [{"name": "MachineName", "value": "x"}, {"name": "sigs.k8s.io/cluster-api-provider-aws/role", "value": "x"}]}`, instance: true},
		"the AWSCluster's, of a new machine":         {patch: `{}`, env: clusterTag("MachineName")},
		"the AWSCluster's, of an instance":           {patch: `{}`, env: clusterTag("MachineName"), instance: true, want: []string{"tags[MachineName]: FieldValueNotSupported"}},
		"as many tags as an instance can have":       {patch: manyTags(45)},
		"more, of an instance":                       {patch: manyTags(50), instance: true},
		"too many with those of the AWSCluster":      {patch: manyTags(45), env: clusterTag("MachineName", "kubernetes.io/cluster/ocean", "sigs.k8s.io/cluster-api-provider-aws/cluster/old"), want: []string{"tags[sigs.k8s.io/cluster-api-provider-aws/cluster/old]: FieldValueNotSupported", "tags: FieldValueNotSupported"}},
		"with those that Cluster API adds, too many": {patch: manyTags(46), want: []string{"tags: FieldValueNotSupported"}},
		"its former group":                           {patch: `{"apiVersion": "awsproviderconfig.openshift.io/v1beta1"}`},
		"another version":                            {patch: `{"apiVersion": "awsproviderconfig.openshift.io/v1alpha1"}`},
		"two misspelt fields":                        {patch: `{"instncetype": "x", "placement": {"zone": "x"}}`, want: []string{"instncetype: FieldValueNotSupported", "placement.zone: FieldValueNotSupported"}},
		"a field in two spellings":                   {patch: `{"instancetype": "x"}`, want: []string{"instancetype: FieldValueInvalid"}},
		"in two spellings, below":                    {patch: `{"blockDevices": [{"EBS": {"volumeSize": 1}, "ebs": {"volumeSize": 20, "volumesize": 30}}]}`, want: []string{"blockDevices[0].EBS: FieldValueInvalid", "blockDevices[0].ebs.volumesize: FieldValueInvalid"}},
		"a number that is a word":                    {patch: `{"deviceIndex": "0"}`, want: []string{"deviceIndex: FieldValueInvalid"}},
		"everything wrong at once": {patch: `{"deviceIndex": 1, "keyNane": "x", "subnet": {"arn": "x"}, "blockDevices": [{}]}`, want: []string{
			"blockDevices[0].ebs.volumeSize: FieldValueRequired", "deviceIndex: FieldValueNotSupported", "keyNane: FieldValueNotSupported",
			"subnet.arn: FieldValueNotSupported",
		}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := testEnv()
			if c.env != nil {
				c.env(env)
			}
			core := &conversion.Core{ControlPlane: c.control, Template: c.template}
			if c.instance {
				core.ProviderID = "aws:///us-east-1a/i-0123456789abcdef0"
			}
			p := conversion.NewPass(env, core, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

// clusterTag gives the AWSCluster tags with the value owned.
func clusterTag(names ...string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		tags := map[string]any{}
		for _, name := range names {
			tags[name] = "owned"
		}
		e.InfraCluster["spec"].(map[string]any)["additionalTags"] = tags
	}
}

// manyTags makes a patch of n tags. Cluster API adds five.
func manyTags(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"name": "t%d", "value": ""}`, i))
	}
	return `{"tags": [` + strings.Join(out, ", ") + `]}`
}

// plainInfra is the spec of an AWSMachine that converts.
const plainInfra = `{"ami": {"id": "ami-1"}, "instanceType": "m6i.large", "hostAffinity": "default", "subnet": {"id": "subnet-1"},
	"ignition": {"storageType": "UnencryptedUserData", "version": "3.4"}}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	cases := map[string]struct {
		patch    string
		template bool
		want     []string
	}{
		"nothing out of the way":               {patch: `{}`},
		"no image":                             {patch: `{"ami": null}`, want: []string{"ami.id: FieldValueRequired"}},
		"an instance without a subnet":         {patch: `{"subnet": null}`},
		"a template without a subnet":          {template: true, patch: `{"subnet": null, "providerID": null}`, want: []string{"subnet: FieldValueRequired"}},
		"an image to look up":                  {patch: `{"imageLookupOrg": "x"}`, want: []string{"imageLookupOrg: FieldValueNotSupported"}},
		"an EKS image":                         {patch: `{"ami": {"eksLookupType": "AmazonLinux"}}`, want: []string{"ami.eksLookupType: FieldValueNotSupported"}},
		"a name of one's own":                  {patch: `{"additionalTags": {"Name": "x"}}`, want: []string{"additionalTags[Name]: FieldValueInvalid"}},
		"the provider's own tag, a template":   {template: true, patch: `{"providerID": null, "additionalTags": {"MachineName": "x"}}`, want: []string{"additionalTags[MachineName]: FieldValueNotSupported"}},
		"another cluster's tag":                {patch: `{"additionalTags": {"kubernetes.io/cluster/other": "owned"}}`, want: []string{"additionalTags[kubernetes.io/cluster/other]: FieldValueInvalid"}},
		"the cluster's own tag":                {patch: `{"additionalTags": {"kubernetes.io/cluster/ocean": "owned"}}`},
		"the cluster's own tag, shared":        {patch: `{"additionalTags": {"kubernetes.io/cluster/ocean": "shared"}}`, want: []string{"additionalTags[kubernetes.io/cluster/ocean]: FieldValueInvalid"}},
		"cloud-init":                           {patch: `{"cloudInit": {"secureSecretsBackend": "secrets-manager"}}`, want: []string{"cloudInit.secureSecretsBackend: FieldValueNotSupported"}},
		"no Ignition":                          {patch: `{"ignition": null}`, want: []string{"ignition: FieldValueRequired"}},
		"Ignition in a bucket":                 {patch: `{"ignition": {"storageType": "ClusterObjectStore"}}`, want: []string{"ignition.storageType: FieldValueNotSupported"}},
		"an Ignition proxy":                    {patch: `{"ignition": {"proxy": {}}}`, want: []string{"ignition.proxy: FieldValueNotSupported"}},
		"user data, explicitly compressed":     {patch: `{"uncompressedUserData": false}`}, // which the provider ignores beside Ignition
		"user data that is not compressed":     {patch: `{"uncompressedUserData": true}`},
		"roles of security groups":             {patch: `{"securityGroupOverrides": {"node": "sg-1"}}`, want: []string{"securityGroupOverrides: FieldValueNotSupported"}},
		"interfaces":                           {patch: `{"networkInterfaces": ["eni-1"]}`, want: []string{"networkInterfaces: FieldValueNotSupported"}},
		"no interfaces":                        {patch: `{"networkInterfaces": []}`},
		"a root disk with a name":              {patch: `{"rootVolume": {"size": 8, "deviceName": "/dev/sda"}}`, want: []string{"rootVolume.deviceName: FieldValueNotSupported"}},
		"a disk without a name":                {patch: `{"nonRootVolumes": [{"size": 8}]}`, want: []string{"nonRootVolumes[0].deviceName: FieldValueRequired"}},
		"throughput beyond 32 bits":            {patch: `{"rootVolume": {"size": 8, "throughput": 4294967296}}`, want: []string{"rootVolume.throughput: FieldValueNotSupported"}},
		"the defaults of the metadata service": {patch: `{"instanceMetadataOptions": {"httpEndpoint": "enabled", "httpProtocolIpv6": "disabled", "httpPutResponseHopLimit": 1, "httpTokens": "optional", "instanceMetadataTags": "disabled"}}`},
		"two hops":                             {patch: `{"instanceMetadataOptions": {"httpPutResponseHopLimit": 2}}`, want: []string{"instanceMetadataOptions.httpPutResponseHopLimit: FieldValueNotSupported"}},
		"no metadata service":                  {patch: `{"instanceMetadataOptions": {"httpEndpoint": "disabled"}}`, want: []string{"instanceMetadataOptions.httpEndpoint: FieldValueNotSupported"}},
		"pinned to any host":                   {patch: `{"tenancy": "host", "hostAffinity": "host"}`, want: []string{"hostAffinity: FieldValueNotSupported"}},
		"pinned to a host":                     {patch: `{"tenancy": "host", "hostAffinity": "host", "hostID": "h-0123456789abcdef0"}`},
		"pinned on shared hardware":            {patch: `{"hostAffinity": "host"}`, want: []string{"hostAffinity: FieldValueInvalid"}},
		"its own instance":                     {patch: `{"providerID": "aws:///us-east-1a/i-1", "instanceID": "i-1"}`},
		"another instance":                     {patch: `{"providerID": "aws:///us-east-1a/i-2"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"an id that is not its last part":      {patch: `{"instanceID": "i-2"}`, want: []string{"instanceID: FieldValueNotSupported"}},
		"an instance in a template":            {template: true, patch: `{"instanceID": "i-1"}`, want: []string{"instanceID: FieldValueNotSupported"}},
		"a field of a later version":           {patch: `{"later": {"x": 1}}`, want: []string{"later: FieldValueNotSupported"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env, core := testEnv(), &conversion.Core{ProviderID: "aws:///us-east-1a/i-1", Template: c.template}
			p := conversion.NewPass(env, core, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, plainInfra, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

// TestWhatMachineAPITagsByItself: Machine API gives each instance the Infrastructure's resourceTags, unless the providerSpec has another value for the tag. If
// the providerSpec repeats a tag, the first one counts. Cluster API gives the instance the tags of the AWSCluster.
func TestWhatMachineAPITagsByItself(t *testing.T) {
	for sentence, c := range map[string]struct {
		tags, cluster, there, back string
	}{
		"the providerSpec has none":        {`[]`, `{}`, `{"team":"locks"}`, `null`},
		"it has others":                    {`[{"name": "a", "value": "1"}]`, `{}`, `{"a":"1","team":"locks"}`, `[{"name":"a","value":"1"}]`},
		"it has the tag with its value":    {`[{"name": "team", "value": "locks"}]`, `{}`, `{"team":"locks"}`, `null`},
		"it has the tag with another":      {`[{"name": "team", "value": "keys"}]`, `{}`, `{"team":"keys"}`, `[{"name":"team","value":"keys"}]`},
		"the AWSCluster has it":            {`[]`, `{"team": "locks"}`, `null`, `null`},
		"the AWSCluster has another value": {`[]`, `{"team": "keys"}`, `{"team":"locks"}`, `null`},
		"tags that Machine API ignores":    {`[{"name": "Name", "value": "x"}, {"name": "kubernetes.io/cluster/other", "value": "owned"}]`, `{"team": "locks"}`, `null`, `null`},
		"one of them that AWS refuses":     {`[{"name": "Name", "value": "Wörker*"}]`, `{"team": "locks"}`, `null`, `null`},
		"the cluster's own tag, shared":    {`[{"name": "kubernetes.io/cluster/ocean", "value": "shared"}, {"name": "a", "value": "1"}]`, `{"team": "locks"}`, `{"a":"1"}`, `[{"name":"a","value":"1"}]`},
		"the cluster's own tag":            {`[{"name": "kubernetes.io/cluster/ocean", "value": "owned"}]`, `{"team": "locks"}`, `{"kubernetes.io/cluster/ocean":"owned"}`, `[{"name":"kubernetes.io/cluster/ocean","value":"owned"}]`},
		"a tag is given twice":             {`[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]`, `{"team": "locks"}`, `{"a":"1"}`, `[{"name":"a","value":"1"}]`},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := testEnv()
			tag := map[string]any{"key": "team", "value": "locks"}
			// Machine API ignores these tags in the Infrastructure too.
			name, shared := map[string]any{"key": "Name", "value": "x"}, map[string]any{"key": "kubernetes.io/cluster/ocean", "value": "shared"}
			machine := map[string]any{"key": "MachineName", "value": "x"} // Cluster API replaces it
			env.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"aws": map[string]any{
				"resourceTags": []any{tag, "no tag", name, shared, machine}}}}}
			var tags map[string]any
			if err := json.Unmarshal([]byte(c.cluster), &tags); err != nil {
				t.Fatal(err)
			}
			env.InfraCluster["spec"].(map[string]any)["additionalTags"] = tags
			p := conversion.NewPass(env, &conversion.Core{}, "")
			there := conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, `{"tags": `+c.tags+`}`)).(*infraSpec)
			back := &providerSpec{}
			tagsFrom(p, there, back)
			conversiontest.Same(t, nil, p.Errors())
			for what, pair := range map[string][2]any{"there": {c.there, there.AdditionalTags}, "back": {c.back, back.Tags}} {
				if raw, err := json.Marshal(pair[1]); err != nil || string(raw) != pair[0] {
					t.Errorf("%s: %s, want %s (%v)", what, raw, pair[0], err)
				}
			}
		})
	}
}

// An AWSCluster's tag that Machine API ignores would reach each instance through Cluster API: the name of the instance would change, or an uninstall would not
// find it. It makes no difference that the Infrastructure has the tag too.
func TestTheAWSClusterMayNotReplaceMachineAPIsOwnTags(t *testing.T) {
	const own = "kubernetes.io/cluster/ocean"
	for sentence, c := range map[string]struct {
		name, value string
		want        []string
	}{
		"a name":                                {"Name", "x", []string{"tags[Name]: FieldValueNotSupported"}},
		"the cluster's tag with another value":  {own, "shared", []string{"tags[" + own + "]: FieldValueNotSupported"}},
		"the cluster's tag as Machine API's is": {own, "owned", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := testEnv()
			env.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"aws": map[string]any{
				"resourceTags": []any{map[string]any{"key": c.name, "value": c.value}}}}}}
			env.InfraCluster["spec"].(map[string]any)["additionalTags"] = map[string]any{c.name: c.value}
			p := conversion.NewPass(env, &conversion.Core{}, "")
			conversiontest.ToClusterAPI(p, []byte(plain))
			conversiontest.Same(t, c.want, p.Errors())
			for _, e := range p.Errors() {
				if strings.Contains(e.Detail, "set the same entry") {
					t.Errorf("Machine API would ignore the entry: %s", e.Detail)
				}
			}
		})
	}
}

// TestWhatTheInfrastructureTagsAndClusterAPIRefuses: the CRD of the Infrastructure accepts characters that Cluster API's webhook refuses.
func TestWhatTheInfrastructureTagsAndClusterAPIRefuses(t *testing.T) {
	for sentence, c := range map[string]struct {
		key, value, tags string
		want             []string
		remedy           string
	}{
		"a value":                   {"team", "locks;keys", `[]`, []string{"tags[team]: FieldValueNotSupported"}, ": give a tag of this name another value in tags"},
		"with another in this spec": {"team", "locks;keys", `[{"name": "team", "value": "locks"}]`, nil, ""},
		"a name":                    {"te,am", "locks", `[]`, []string{"tags[te,am]: FieldValueNotSupported"}, ": remove the tag from status.platformStatus.aws.resourceTags"},
	} {
		t.Run(sentence, func(t *testing.T) {
			env := testEnv()
			env.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"aws": map[string]any{
				"resourceTags": []any{map[string]any{"key": c.key, "value": c.value}}}}}}
			env.InfraCluster["spec"].(map[string]any)["additionalTags"] = map[string]any{}
			p := conversion.NewPass(env, &conversion.Core{}, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, `{"tags": `+c.tags+`}`))
			conversiontest.Same(t, c.want, p.Errors())
			for _, e := range p.Errors() {
				if !strings.Contains(e.Detail, c.remedy) {
					t.Errorf("%s, want %s", e.Detail, c.remedy)
				}
			}
		})
	}
}

// TestTheInfrastructuresTagsInOrder: the errors come in the order of the tags' names, and of two tags with one name Machine API uses the first.
func TestTheInfrastructuresTagsInOrder(t *testing.T) {
	tags, want := []any{}, []string{}
	for c := 'a'; c <= 'j'; c++ {
		tags = append(tags, map[string]any{"key": string(c), "value": "Wörker"}, map[string]any{"key": string(c), "value": "worker"})
		want = append(want, "tags["+string(c)+"]")
	}
	env := testEnv()
	env.Infrastructure = map[string]any{"status": map[string]any{"platformStatus": map[string]any{"aws": map[string]any{"resourceTags": tags}}}}
	p := conversion.NewPass(env, &conversion.Core{}, "")
	conversiontest.ToClusterAPI(p, []byte(plain))
	var got []string
	for _, e := range p.Errors() {
		got = append(got, e.Field)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTagsThatAreLeftOutAreNoted(t *testing.T) {
	p := conversion.NewPass(testEnv(), &conversion.Core{}, "spec")
	p.CollectNotes()
	conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, `{"tags": [{"name": "kubernetes.io/cluster/ocean", "value": "owned"}, {"name": "Name", "value": "x"},
		{"name": "kubernetes.io/cluster/other", "value": "owned"}, {"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}`))
	var got []string
	for _, n := range p.Notes() {
		got = append(got, n.Path)
	}
	if want := []string{"spec.tags[1]", "spec.tags[2]", "spec.tags[4]"}; !slices.Equal(got, want) || len(p.Errors()) > 0 {
		t.Errorf("noted: %q, want %q; %v", got, want, p.Errors())
	}
}
