// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/azure"
	"github.com/poundlock/poundlock/conversion/azure/azuretest"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// plain is the kit's providerSpec; each case is a merge patch of it.
func plain(t testing.TB) []byte {
	t.Helper()
	raw, err := json.Marshal(azuretest.Kit().ProviderSpec)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const subscription = "/subscriptions/5f3d1c2e-9b0a-4a7e-8c55-0d2f6a1b7e44"

// cluster changes a field of the AzureCluster's spec; nil removes it.
func cluster(value any, fields ...string) func(*conversion.Env) {
	return func(e *conversion.Env) { change(e.InfraCluster, value, append([]string{"spec"}, fields...)...) }
}

// platform changes a field of the Infrastructure's status.platformStatus.azure.
func platform(value any, fields ...string) func(*conversion.Env) {
	return func(e *conversion.Env) {
		change(e.Infrastructure, value, append([]string{"status", "platformStatus", "azure"}, fields...)...)
	}
}

func change(in map[string]any, value any, fields ...string) {
	if value == nil {
		unstructured.RemoveNestedField(in, fields...)
		return
	}
	if err := unstructured.SetNestedField(in, value, fields...); err != nil {
		panic(err)
	}
}

func envOf(changes ...func(*conversion.Env)) *conversion.Env {
	env := azuretest.Kit().Env()
	env.Infrastructure, env.InfraCluster = runtime.DeepCopyJSON(env.Infrastructure), runtime.DeepCopyJSON(env.InfraCluster)
	for _, c := range changes {
		if c != nil {
			c(&env)
		}
	}
	return &env
}

func TestWhatAProviderSpecMayHave(t *testing.T) {
	const offered = `"image": {"resourceID": "", "publisher": "redhat", "offer": "rh-ocp-worker", "sku": "rh-ocp-worker", "version": "latest"`
	const master = `"subnet": "lock-7x2k9-master-subnet", "publicLoadBalancer": "lock-7x2k9"`
	const trusted = `"securityProfile": {"settings": {"securityType": "TrustedLaunch", "trustedLaunch": {"uefiSettings": `
	const confidential = `"settings": {"securityType": "ConfidentialVM", "confidentialVM": {"uefiSettings": {"secureBoot": "Enabled", "virtualizedTrustedPlatformModule": "Enabled"}}}`
	const guest, whole = `{"securityEncryptionType": "VMGuestStateOnly"}`, `{"securityEncryptionType": "DiskWithVMGuestState"}`
	disk := func(patch string) string {
		return `{"dataDisks": [` +
			string(conversiontest.Patched(t, []byte(`{"nameSuffix": "a", "diskSizeGB": 64, "lun": 0, "deletionPolicy": "Delete"}`), patch)) + `]}`
	}
	cases := map[string]struct {
		patch             string
		control, instance bool
		env               func(*conversion.Env)
		want              []string
	}{
		"nothing out of the way": {patch: `{}`},
		"metadata of its own":    {patch: `{"metadata": {"name": "x"}}`, want: []string{"metadata: FieldValueNotSupported"}},

		// Where it runs.
		"no location":                               {patch: `{"location": ""}`},
		"a location as people write it":             {patch: `{"location": "West Europe"}`},
		"another location":                          {patch: `{"location": "northeurope"}`, want: []string{"location: FieldValueNotSupported"}},
		"a location, the cluster's not known":       {patch: `{}`, env: cluster(nil, "location"), want: []string{"location: FieldValueNotSupported"}},
		"another cloud":                             {patch: `{}`, env: platform("AzureUSGovernmentCloud", "cloudName"), want: []string{"AzureCluster.spec.azureEnvironment: FieldValueNotSupported"}},
		"the public cloud, named on one side":       {patch: `{}`, env: cluster(nil, "azureEnvironment")},
		"an extended location":                      {patch: `{}`, env: cluster(map[string]any{"name": "microsoftlosangeles1", "type": "EdgeZone"}, "extendedLocation"), want: []string{"AzureCluster.spec.extendedLocation: FieldValueNotSupported"}},
		"no resource group":                         {patch: `{"resourceGroup": null}`},
		"the resource group in capitals":            {patch: `{"resourceGroup": "LOCK-7X2K9-RG"}`},
		"another resource group":                    {patch: `{"resourceGroup": "mine"}`, want: []string{"resourceGroup: FieldValueNotSupported"}},
		"no resource group, and two for clusters":   {patch: `{"resourceGroup": null}`, env: platform("theirs", "resourceGroupName"), want: []string{"resourceGroup: FieldValueNotSupported"}},
		"the Infrastructure's resource group":       {patch: `{}`, env: cluster(nil, "resourceGroup")},
		"a network's own resource group":            {patch: `{"networkResourceGroup": "net"}`, env: cluster("net", "networkSpec", "vnet", "resourceGroup")},
		"no network resource group":                 {patch: `{"networkResourceGroup": null}`},
		"none, and the network is in another":       {patch: `{"networkResourceGroup": null}`, env: cluster("net", "networkSpec", "vnet", "resourceGroup"), want: []string{"networkResourceGroup: FieldValueNotSupported"}},
		"another network resource group":            {patch: `{"networkResourceGroup": "net"}`, want: []string{"networkResourceGroup: FieldValueNotSupported"}},
		"a resource group where nothing is known":   {patch: `{"vnet": "x", "location": ""}`, env: func(e *conversion.Env) { e.InfraCluster, e.Infrastructure = nil, nil }, want: []string{"image.resourceID: FieldValueNotSupported", "managedIdentity: FieldValueNotSupported", "networkResourceGroup: FieldValueNotSupported", "publicLoadBalancer: FieldValueNotSupported", "resourceGroup: FieldValueNotSupported", "vnet: FieldValueNotSupported"}},
		"an availability set":                       {patch: `{"availabilitySet": "mine"}`, want: []string{"availabilitySet: FieldValueNotSupported"}},
		"a capacity reservation":                    {patch: `{"capacityReservationGroupID": "` + subscription + `/resourceGroups/x/providers/Microsoft.Compute/capacityReservationGroups/y"}`},
		"a capacity reservation by name":            {patch: `{"capacityReservationGroupID": "y"}`, want: []string{"capacityReservationGroupID: FieldValueInvalid"}},
		"a capacity reservation that is a disk set": {patch: `{"capacityReservationGroupID": "` + subscription + `/resourceGroups/x/providers/Microsoft.Compute/diskEncryptionSets/y"}`, want: []string{"capacityReservationGroupID: FieldValueInvalid"}},

		// The instance.
		"no size":                               {patch: `{"vmSize": ""}`, want: []string{"vmSize: FieldValueRequired"}},
		"no image":                              {patch: `{"image": {"resourceID": ""}}`, want: []string{"image.resourceID: FieldValueRequired"}},
		"an image with its own subscription":    {patch: `{"image": {"resourceID": "` + subscription + `/resourceGroups/x/providers/Microsoft.Compute/images/y"}}`},
		"an image of another subscription":      {patch: `{"image": {"resourceID": "/subscriptions/x/resourceGroups/x/providers/Microsoft.Compute/images/y"}}`, want: []string{"image.resourceID: FieldValueNotSupported"}},
		"an image of a community gallery":       {patch: `{"image": {"resourceID": "/communityGalleries/x/images/y/versions/z"}}`, want: []string{"image.resourceID: FieldValueInvalid"}},
		"an image, the subscription not known":  {patch: `{"managedIdentity": ""}`, env: cluster(nil, "subscriptionID"), want: []string{"image.resourceID: FieldValueNotSupported"}},
		"an image that says it is an id":        {patch: `{"image": {"type": "ID"}}`},
		"an image of the marketplace":           {patch: `{` + offered + `}}`},
		"one with a plan":                       {patch: `{` + offered + `, "type": "MarketplaceWithPlan"}}`},
		"one that says it is an id":             {patch: `{` + offered + `, "type": "ID"}}`, want: []string{"image.type: FieldValueInvalid"}},
		"an id that says it is offered":         {patch: `{"image": {"type": "MarketplaceNoPlan"}}`, want: []string{"image.type: FieldValueInvalid"}},
		"an image of both kinds":                {patch: `{"image": {"publisher": "redhat"}}`, want: []string{"image.resourceID: FieldValueInvalid"}},
		"half an offer":                         {patch: `{"image": {"resourceID": "", "publisher": "redhat", "sku": "x"}}`, want: []string{"image.offer: FieldValueRequired", "image.version: FieldValueRequired"}},
		"no identity":                           {patch: `{"managedIdentity": ""}`},
		"an identity of another group":          {patch: `{"managedIdentity": "` + subscription + `/resourceGroups/x/providers/Microsoft.ManagedIdentity/userAssignedIdentities/y"}`},
		"an identity by half an id":             {patch: `{"managedIdentity": "/resourceGroups/x/userAssignedIdentities/y"}`, want: []string{"managedIdentity: FieldValueInvalid"}},
		"an identity behind azure://":           {patch: `{"managedIdentity": "azure://` + subscription + `/resourceGroups/x/providers/Microsoft.ManagedIdentity/userAssignedIdentities/y"}`, want: []string{"managedIdentity: FieldValueInvalid"}},
		"an identity, the subscription unknown": {patch: `{` + offered + `}}`, env: cluster(nil, "subscriptionID"), want: []string{"managedIdentity: FieldValueNotSupported"}},
		"a key":                                 {patch: `{"sshPublicKey": "` + azuretest.Key + `"}`},
		"a key that is not in base64":           {patch: `{"sshPublicKey": "ssh-rsa AAAA"}`, want: []string{"sshPublicKey: FieldValueInvalid"}},
		"base64 that is no key":                 {patch: `{"sshPublicKey": "aGVsbG8="}`, want: []string{"sshPublicKey: FieldValueInvalid"}},
		"UltraSSDs switched off":                {patch: `{"ultraSSDCapability": "Disabled"}`},
		"a capability of no known kind":         {patch: `{"ultraSSDCapability": "enabled"}`, want: []string{"ultraSSDCapability: FieldValueInvalid"}},
		"a spot machine at any price":           {patch: `{"spotVMOptions": {}}`},
		"a price that is a number":              {patch: `{"spotVMOptions": {"maxPrice": 0.25}}`},
		"a price that is a word":                {patch: `{"spotVMOptions": {"maxPrice": "cheap"}}`, want: []string{"spotVMOptions.maxPrice: FieldValueInvalid"}},
		"a price that takes minutes to read":    {patch: `{"spotVMOptions": {"maxPrice": "1E-999999999"}}`, want: []string{"spotVMOptions.maxPrice: FieldValueInvalid"}},
		"boot diagnostics of Azure's":           {patch: `{"diagnostics": {"boot": {"storageAccountType": "AzureManaged"}}}`},
		"boot diagnostics of one's own":         {patch: `{"diagnostics": {"boot": {"storageAccountType": "CustomerManaged", "customerManaged": {"storageAccountURI": "https://x"}}}}`},
		"one's own, and no account":             {patch: `{"diagnostics": {"boot": {"storageAccountType": "CustomerManaged"}}}`, want: []string{"diagnostics.boot.customerManaged: FieldValueRequired"}},
		"an account without TLS":                {patch: `{"diagnostics": {"boot": {"storageAccountType": "CustomerManaged", "customerManaged": {"storageAccountURI": "http://x"}}}}`, want: []string{"diagnostics.boot.customerManaged.storageAccountURI: FieldValueInvalid"}},
		"Azure's, and an account":               {patch: `{"diagnostics": {"boot": {"storageAccountType": "AzureManaged", "customerManaged": {"storageAccountURI": "https://x"}}}}`, want: []string{"diagnostics.boot.customerManaged: FieldValueInvalid"}},
		"diagnostics of no known kind":          {patch: `{"diagnostics": {"boot": {}}}`, want: []string{"diagnostics.boot.storageAccountType: FieldValueInvalid"}},

		// Tags.
		"tags":                               {patch: `{"tags": {"a": "1", "b": ""}}`},
		"two tags that are one":              {patch: `{"tags": {"Owner": "1", "owner": "2"}}`, want: []string{"tags[owner]: FieldValueInvalid"}},
		"a tag with a slash":                 {patch: `{"tags": {"a/b": "1"}}`, want: []string{"tags[a/b]: FieldValueInvalid"}},
		"a tag of Cluster API's own":         {patch: `{"tags": {"sigs.k8s.io_cluster-api-provider-azure_role": "x"}}`, want: []string{"tags[sigs.k8s.io_cluster-api-provider-azure_role]: FieldValueInvalid"}},
		"the cloud provider's tag":           {patch: `{"tags": {"kubernetes.io_cluster_lock-7x2k9": "owned"}}`},
		"the cloud provider's, shared":       {patch: `{"tags": {"kubernetes.io_cluster_lock-7x2k9": "shared"}}`, want: []string{"tags[kubernetes.io_cluster_lock-7x2k9]: FieldValueInvalid"}},
		"44 tags":                            {patch: tags(44)},
		"45 tags":                            {patch: tags(45), want: []string{"tags: FieldValueNotSupported"}},
		"49 tags of an instance":             {patch: tags(49), instance: true},
		"50 tags of an instance":             {patch: tags(50), instance: true, want: []string{"tags: FieldValueNotSupported"}},
		"a tag that only machines there get": {patch: `{}`, env: platform([]any{}, "resourceTags"), want: []string{"tags[team]: FieldValueNotSupported"}},
		"a tag that only machines here get":  {patch: `{}`, env: cluster(nil, "additionalTags")},
		"another value of it there":          {patch: `{}`, env: cluster("keys", "additionalTags", "team")},
		"the same, named":                    {patch: `{"tags": {"team": "locks"}}`, env: cluster(nil, "additionalTags")},
		"a tag there, in another case":       {patch: `{"tags": {"Stage": "1"}}`, env: cluster("1", "additionalTags", "stage"), want: []string{"tags[Stage]: FieldValueNotSupported"}},
		"the Infrastructure's, in another":   {patch: `{}`, env: platform([]any{map[string]any{"key": "Team", "value": "locks"}}, "resourceTags"), want: []string{"tags[Team]: FieldValueNotSupported"}},
		"a long mark of ownership":           {patch: `{"tags": {"kubernetes.io_cluster.lock-7x2k9": "` + strings.Repeat("x", 300) + `"}}`},
		"a name":                             {patch: `{"tags": {"Name": "x"}}`, want: []string{"tags[Name]: FieldValueNotSupported"}},
		"a name in small letters":            {patch: `{"tags": {"name": "x"}}`, want: []string{"tags[name]: FieldValueNotSupported"}},
		"the AzureCluster's name":            {patch: `{}`, env: cluster("x", "additionalTags", "Name")},
		"the AzureCluster's, small":          {patch: `{}`, env: cluster("x", "additionalTags", "name"), want: []string{"tags[name]: FieldValueNotSupported"}},
		"a mark of ownership":                {patch: `{}`, env: cluster("owned", "additionalTags", "kubernetes.io_cluster.lock-7x2k9")},

		// Secrets.
		"the secret without its namespace": {patch: `{"credentialsSecret": {"namespace": null}}`},
		"no secret":                        {patch: `{"credentialsSecret": null}`},
		"another secret":                   {patch: `{"credentialsSecret": {"name": "mine"}}`, want: []string{"credentialsSecret.name: FieldValueNotSupported"}},
		"a secret elsewhere":               {patch: `{"credentialsSecret": {"namespace": "mine"}}`, want: []string{"credentialsSecret.namespace: FieldValueNotSupported"}},
		"no user data":                     {patch: `{"userDataSecret": null}`, want: []string{"userDataSecret.name: FieldValueRequired"}},
		"user data elsewhere":              {patch: `{"userDataSecret": {"namespace": "mine"}}`, want: []string{"userDataSecret.namespace: FieldValueNotSupported"}},

		// The network.
		"no network":                        {patch: `{"vnet": ""}`, want: []string{"vnet: FieldValueRequired"}},
		"another network":                   {patch: `{"vnet": "mine"}`, want: []string{"vnet: FieldValueNotSupported"}},
		"no subnet":                         {patch: `{"subnet": ""}`, want: []string{"subnet: FieldValueRequired"}},
		"the subnet's security group":       {patch: `{"securityGroup": "lock-7x2k9-nsg"}`},
		"another security group":            {patch: `{"securityGroup": "mine"}`, want: []string{"securityGroup: FieldValueNotSupported"}},
		"application security groups":       {patch: `{"applicationSecurityGroups": ["a"]}`, want: []string{"applicationSecurityGroups: FieldValueNotSupported"}},
		"none of them":                      {patch: `{"applicationSecurityGroups": []}`},
		"a NAT rule":                        {patch: `{"natRule": 0}`, want: []string{"natRule: FieldValueNotSupported"}},
		"another load balancer":             {patch: `{"publicLoadBalancer": "mine"}`, want: []string{"publicLoadBalancer: FieldValueNotSupported"}},
		"a worker outside of it":            {patch: `{"publicLoadBalancer": ""}`, want: []string{"AzureCluster.spec.networkSpec.nodeOutboundLB: FieldValueNotSupported"}},
		"user-defined routing":              {patch: `{"publicLoadBalancer": ""}`, env: cluster(nil, "networkSpec", "nodeOutboundLB")},
		"a NAT gateway":                     {patch: `{"publicLoadBalancer": ""}`, env: natGateway},
		"a NAT gateway and a load balancer": {patch: `{}`, env: natGateway, want: []string{"publicLoadBalancer: FieldValueNotSupported"}},
		"a public address":                  {patch: `{"publicIP": true, "publicLoadBalancer": ""}`},
		"a public address and a balancer":   {patch: `{"publicIP": true}`, want: []string{"publicLoadBalancer: FieldValueNotSupported"}},
		"a worker's internal load balancer": {patch: `{"internalLoadBalancer": "lock-7x2k9-internal"}`, want: []string{"internalLoadBalancer: FieldValueNotSupported"}},
		"a master":                          {control: true, patch: `{` + master + `, "internalLoadBalancer": "lock-7x2k9-internal"}`},
		"a master without an internal one":  {control: true, patch: `{` + master + `}`, want: []string{"internalLoadBalancer: FieldValueNotSupported"}},
		"a master, of an AzureCluster that names another": {control: true, patch: `{` + master + `, "internalLoadBalancer": "theirs"}`,
			want: []string{"internalLoadBalancer: FieldValueNotSupported"}},
		"a master, of one that names none": {control: true, patch: `{` + master + `, "internalLoadBalancer": "theirs"}`, env: cluster("Public", "networkSpec", "apiServerLB", "type"),
			want: []string{"AzureCluster.spec.networkSpec.apiServerLB: FieldValueNotSupported"}},
		"beside one that has another": {control: true, patch: `{` + master + `, "internalLoadBalancer": "theirs"}`, env: func(e *conversion.Env) {
			cluster("Public", "networkSpec", "apiServerLB", "type")(e)
			e.ControlPlane = []conversion.Master{
				{Name: "master-0", ProviderSpec: map[string]any{"internalLoadBalancer": "theirs", "publicLoadBalancer": "lock-7x2k9"}},
				{Name: "master-1", ProviderSpec: map[string]any{"internalLoadBalancer": "mine", "publicLoadBalancer": "lock-7x2k9"}},
			}
		}, want: []string{"internalLoadBalancer: FieldValueNotSupported"}},
		"a master of a public API server":    {control: true, patch: `{` + master + `, "publicLoadBalancer": "lock-7x2k9-internal"}`, env: cluster("Public", "networkSpec", "apiServerLB", "type")},
		"a master with a public address":     {control: true, patch: `{` + master + `, "internalLoadBalancer": "lock-7x2k9-internal", "publicIP": true}`, want: []string{"publicIP: FieldValueNotSupported"}},
		"a master with routing of one's own": {control: true, patch: `{"subnet": "x", "publicLoadBalancer": "", "internalLoadBalancer": "lock-7x2k9-internal"}`, env: cluster(nil, "networkSpec", "controlPlaneOutboundLB")},

		// The OS disk.
		"Windows":                               {patch: `{"osDisk": {"osType": "Windows"}}`, want: []string{"osDisk.osType: FieldValueNotSupported"}},
		"an operating system in small letters":  {patch: `{"osDisk": {"osType": "linux"}}`, want: []string{"osDisk.osType: FieldValueInvalid"}},
		"a disk of no size":                     {patch: `{"osDisk": {"diskSizeGB": 0}}`, want: []string{"osDisk.diskSizeGB: FieldValueRequired"}},
		"a disk of 4 TB":                        {patch: `{"osDisk": {"diskSizeGB": 4096}}`, want: []string{"osDisk.diskSizeGB: FieldValueNotSupported"}},
		"a disk of less than nothing":           {patch: `{"osDisk": {"diskSizeGB": -1}}`, want: []string{"osDisk.diskSizeGB: FieldValueInvalid"}},
		"caching of no known kind":              {patch: `{"osDisk": {"cachingType": "readonly"}}`, want: []string{"osDisk.cachingType: FieldValueInvalid"}},
		"an ephemeral disk":                     {patch: `{"osDisk": {"diskSettings": {"ephemeralStorageLocation": "Local"}, "cachingType": "ReadOnly"}}`},
		"an ephemeral disk that caches writes":  {patch: `{"osDisk": {"diskSettings": {"ephemeralStorageLocation": "Local"}, "cachingType": "ReadWrite"}}`, want: []string{"osDisk.cachingType: FieldValueInvalid"}},
		"an ephemeral disk that is encrypted":   {patch: `{"osDisk": {"diskSettings": {"ephemeralStorageLocation": "Local"}, "cachingType": "ReadOnly", "managedDisk": {"diskEncryptionSet": {"id": "x"}}}}`, want: []string{"osDisk.managedDisk.diskEncryptionSet: FieldValueNotSupported"}},
		"an ephemeral disk elsewhere":           {patch: `{"osDisk": {"diskSettings": {"ephemeralStorageLocation": "local"}, "cachingType": "ReadOnly"}}`, want: []string{"osDisk.diskSettings.ephemeralStorageLocation: FieldValueInvalid"}},
		"whatever disk Azure takes":             {patch: `{"osDisk": {"managedDisk": null}}`},
		"an encrypted disk":                     {patch: `{"osDisk": {"managedDisk": {"diskEncryptionSet": {"id": "x"}}}}`},
		"an encrypted disk of no kind":          {patch: `{"osDisk": {"managedDisk": {"storageAccountType": "", "diskEncryptionSet": {"id": "x"}}}}`, want: []string{"osDisk.managedDisk.storageAccountType: FieldValueRequired"}},
		"an UltraSSD":                           {patch: `{"osDisk": {"managedDisk": {"storageAccountType": "UltraSSD_LRS"}}}`, want: []string{"osDisk.managedDisk.storageAccountType: FieldValueInvalid"}},
		"a disk of a kind that Azure has not":   {patch: `{"osDisk": {"managedDisk": {"storageAccountType": "premium_lrs"}}}`, want: []string{"osDisk.managedDisk.storageAccountType: FieldValueNotSupported"}},
		"a guest state of no known kind":        {patch: `{"osDisk": {"managedDisk": {"securityProfile": {"securityEncryptionType": "x"}}}, "securityProfile": {` + confidential + `}}`, want: []string{"osDisk.managedDisk.securityProfile.securityEncryptionType: FieldValueInvalid"}},
		"a guest state of one's own encryption": {patch: `{"osDisk": {"managedDisk": {"securityProfile": {"securityEncryptionType": "VMGuestStateOnly", "diskEncryptionSet": {"id": "x"}}}}, "securityProfile": {` + confidential + `}}`, want: []string{"osDisk.managedDisk.securityProfile.diskEncryptionSet.id: FieldValueInvalid"}},

		// Security.
		"an empty profile":                                     {patch: `{"securityProfile": {}}`},
		"encryption at the host":                               {patch: `{"securityProfile": {"encryptionAtHost": true}}`},
		"trusted launch":                                       {patch: `{` + trusted + `{"secureBoot": "Enabled"}}}}}`},
		"trusted launch with nothing to trust":                 {patch: `{` + trusted + `{"secureBoot": "Disabled"}}}}}`, want: []string{"securityProfile.settings.securityType: FieldValueNotSupported"}},
		"trusted launch of an instance, with nothing to trust": {instance: true, patch: `{` + trusted + `{"secureBoot": "Disabled", "virtualizedTrustedPlatformModule": "Disabled"}}}}}`},
		"trusted launch of an instance, with nothing said":     {instance: true, patch: `{` + trusted + `{}}}}}`},
		"trusted launch, misspelt":                             {patch: `{` + trusted + `{"secureBoot": "on"}}}}}`, want: []string{"securityProfile.settings.trustedLaunch.uefiSettings.secureBoot: FieldValueInvalid"}},
		"trusted launch without settings":                      {patch: `{"securityProfile": {"settings": {"securityType": "TrustedLaunch"}}}`, want: []string{"securityProfile.settings.trustedLaunch: FieldValueRequired"}},
		"settings without a type":                              {patch: `{"securityProfile": {"settings": {"trustedLaunch": {"uefiSettings": {}}}}}`, want: []string{"securityProfile.settings.trustedLaunch: FieldValueInvalid"}},
		"a type of no known kind":                              {patch: `{"securityProfile": {"settings": {"securityType": "x"}}}`, want: []string{"securityProfile.settings.securityType: FieldValueInvalid"}},
		"the settings of the other type too":                   {patch: `{"securityProfile": {"settings": {"securityType": "TrustedLaunch", "trustedLaunch": {"uefiSettings": {"secureBoot": "Enabled"}}, "confidentialVM": {"uefiSettings": {}}}}}`, want: []string{"securityProfile.settings.confidentialVM: FieldValueInvalid"}},
		"a confidential machine":                               {patch: `{"securityProfile": {` + confidential + `}, "osDisk": {"managedDisk": {"securityProfile": ` + guest + `}}}`},
		"a confidential machine, all of its disk":              {patch: `{"securityProfile": {"encryptionAtHost": false, ` + confidential + `}, "osDisk": {"managedDisk": {"securityProfile": ` + whole + `}}}`},
		"a confidential machine without encryption":            {patch: `{"securityProfile": {` + confidential + `}}`, want: []string{"osDisk.managedDisk.securityProfile.securityEncryptionType: FieldValueRequired"}},
		"a confidential machine, encrypted at host":            {patch: `{"securityProfile": {"encryptionAtHost": true, ` + confidential + `}, "osDisk": {"managedDisk": {"securityProfile": ` + guest + `}}}`, want: []string{"securityProfile.encryptionAtHost: FieldValueNotSupported"}},
		"a confidential instance, encrypted at host":           {instance: true, patch: `{"securityProfile": {"encryptionAtHost": true, ` + confidential + `}, "osDisk": {"managedDisk": {"securityProfile": ` + guest + `}}}`},
		"a confidential machine without vTPM and boot":         {patch: `{"securityProfile": {"settings": {"securityType": "ConfidentialVM", "confidentialVM": {"uefiSettings": {}}}}, "osDisk": {"managedDisk": {"securityProfile": ` + whole + `}}}`, want: []string{"securityProfile.settings.confidentialVM.uefiSettings.secureBoot: FieldValueInvalid", "securityProfile.settings.confidentialVM.uefiSettings.virtualizedTrustedPlatformModule: FieldValueInvalid"}},
		"a guest state, and no profile":                        {patch: `{"osDisk": {"managedDisk": {"securityProfile": ` + guest + `}}}`, want: []string{"securityProfile.settings.securityType: FieldValueInvalid"}},

		// The data disks.
		"a data disk":                     {patch: disk(`{}`)},
		"a data disk that outlives":       {patch: disk(`{"deletionPolicy": "Detach"}`), want: []string{"dataDisks[0].deletionPolicy: FieldValueNotSupported"}},
		"a data disk without a policy":    {patch: disk(`{"deletionPolicy": ""}`), want: []string{"dataDisks[0].deletionPolicy: FieldValueInvalid"}},
		"an UltraSSD for data":            {patch: disk(`{"managedDisk": {"storageAccountType": "UltraSSD_LRS"}}`)},
		"an UltraSSD that caches":         {patch: disk(`{"managedDisk": {"storageAccountType": "UltraSSD_LRS"}, "cachingType": "ReadOnly"}`), want: []string{"dataDisks[0].cachingType: FieldValueInvalid"}},
		"a data disk of another kind":     {patch: disk(`{"managedDisk": {"storageAccountType": "StandardSSD_LRS"}}`), want: []string{"dataDisks[0].managedDisk.storageAccountType: FieldValueNotSupported"}},
		"a data disk of 3 GB":             {patch: disk(`{"diskSizeGB": 3}`), want: []string{"dataDisks[0].diskSizeGB: FieldValueInvalid"}},
		"a data disk of 32768 GB":         {patch: disk(`{"diskSizeGB": 32768}`), want: []string{"dataDisks[0].diskSizeGB: FieldValueNotSupported"}},
		"a lun of 64":                     {patch: disk(`{"lun": 64}`), want: []string{"dataDisks[0].lun: FieldValueInvalid"}},
		"a suffix with a dash at its end": {patch: disk(`{"nameSuffix": "a-"}`), want: []string{"dataDisks[0].nameSuffix: FieldValueInvalid"}},
		"a suffix with a line's end":      {patch: disk(`{"nameSuffix": "a\n"}`), want: []string{"dataDisks[0].nameSuffix: FieldValueInvalid"}},
		"two data disks that are one":     {patch: `{"dataDisks": [{"nameSuffix": "a", "diskSizeGB": 4, "lun": 1, "deletionPolicy": "Delete"}, {"nameSuffix": "a", "diskSizeGB": 4, "lun": 1, "deletionPolicy": "Delete"}]}`, want: []string{"dataDisks[1].lun: FieldValueInvalid", "dataDisks[1].nameSuffix: FieldValueInvalid"}},

		// No providerSpec of Azure's.
		"another kind":            {patch: `{"kind": "GCPMachineProviderSpec"}`, want: []string{"kind: FieldValueInvalid"}},
		"its former group":        {patch: `{"apiVersion": "azureproviderconfig.openshift.io/v1beta1"}`},
		"another version":         {patch: `{"apiVersion": "machine.openshift.io/v1"}`},
		"two unknown fields":      {patch: `{"sshPrivateKey": "x", "osDisk": {"managedDisk": {"type": "x"}}}`, want: []string{"osDisk.managedDisk.type: FieldValueNotSupported", "sshPrivateKey: FieldValueNotSupported"}},
		"a former field, empty":   {patch: `{"sshPrivateKey": ""}`},
		"a number that is a word": {patch: `{"osDisk": {"diskSizeGB": "128"}}`, want: []string{"osDisk.diskSizeGB: FieldValueInvalid"}},
		"everything wrong at once": {patch: `{"zones": 1, "vnet": "x", "subnet": "", "osDisk": {"osType": "Windows"}, "dataDisks": [{}]}`, want: []string{
			"dataDisks[0].deletionPolicy: FieldValueInvalid", "dataDisks[0].diskSizeGB: FieldValueInvalid", "dataDisks[0].nameSuffix: FieldValueInvalid",
			"osDisk.osType: FieldValueNotSupported", "subnet: FieldValueRequired", "vnet: FieldValueNotSupported", "zones: FieldValueNotSupported",
		}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			core := &conversion.Core{ControlPlane: c.control}
			if c.instance {
				core.ProviderID = azuretest.Instance
			}
			p := conversion.NewPass(envOf(c.env), core, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			conversiontest.Advised(t, p.Errors())
		})
	}
}

// tags makes a patch of n tags. With the cluster's one, the four that Cluster API adds and Machine API's mark of ownership, 44 are 50.
func tags(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"t%d": ""`, i))
	}
	return `{"tags": {` + strings.Join(out, ", ") + `}}`
}

func natGateway(e *conversion.Env) {
	list, _, _ := unstructured.NestedSlice(e.InfraCluster, "spec", "networkSpec", "subnets")
	list[1].(map[string]any)["natGateway"] = map[string]any{"name": "gate"}
	change(e.InfraCluster, list, "spec", "networkSpec", "subnets")
}

// plainInfra is the spec of an AzureMachine that converts, as its webhook stores it.
const plainInfra = `{"vmSize": "Standard_D4s_v3", "image": {"id": "` + subscription + `/resourceGroups/x/providers/Microsoft.Compute/images/y"},
	"identity": "None", "osDisk": {"osType": "Linux", "diskSizeGB": 128, "cachingType": "None", "managedDisk": {"storageAccountType": "Premium_LRS"}},
	"sshPublicKey": "` + azuretest.Key + `", "diagnostics": {"boot": {"storageAccountType": "Managed"}}, "disableExtensionOperations": true,
	"networkInterfaces": [{"subnetName": "lock-7x2k9-worker-subnet", "privateIPConfigs": 1, "acceleratedNetworking": true}]}`

func TestWhatAnInfraSpecMayHave(t *testing.T) {
	const own = `"userAssignedIdentities": [{"providerID": "azure://` + subscription +
		`/resourceGroups/x/providers/Microsoft.ManagedIdentity/userAssignedIdentities/y"}`
	const guest = `"osDisk": {"managedDisk": {"securityProfile": {"securityEncryptionType": "VMGuestStateOnly"}}}`
	disk := func(patch string) string {
		return `{"dataDisks": [` +
			string(conversiontest.Patched(t, []byte(`{"nameSuffix": "a", "diskSizeGB": 64, "managedDisk": {"storageAccountType": "Premium_LRS"}}`), patch)) + `]}`
	}
	cases := map[string]struct {
		patch    string
		template bool
		control  bool
		env      func(*conversion.Env)
		want     []string
	}{
		"nothing out of the way": {patch: `{}`},

		// Where it runs.
		"its own failure domain":         {patch: `{"failureDomain": "1"}`},
		"another than the Machine's":     {patch: `{"failureDomain": "2"}`, want: []string{"failureDomain: FieldValueNotSupported"}},
		"a failure domain with no name":  {patch: `{"failureDomain": ""}`, want: []string{"failureDomain: FieldValueInvalid"}},
		"another cloud":                  {patch: `{}`, env: cluster("AzureChinaCloud", "azureEnvironment"), want: []string{"AzureCluster.spec.azureEnvironment: FieldValueNotSupported"}},
		"a reservation by name":          {patch: `{"capacityReservationGroupID": "x"}`, want: []string{"capacityReservationGroupID: FieldValueInvalid"}},
		"a reservation with an empty id": {patch: `{"capacityReservationGroupID": ""}`, want: []string{"capacityReservationGroupID: FieldValueInvalid"}},

		// The instance.
		"no size":                              {patch: `{"vmSize": ""}`, want: []string{"vmSize: FieldValueRequired"}},
		"no image":                             {patch: `{"image": null}`, want: []string{"image: FieldValueRequired"}},
		"an empty image":                       {patch: `{"image": {"id": null}}`, want: []string{"image.id: FieldValueRequired"}},
		"an image of another subscription":     {patch: `{"image": {"id": "/subscriptions/x/resourceGroups/x/providers/Microsoft.Compute/images/y"}}`, want: []string{"image.id: FieldValueNotSupported"}},
		"an image, the subscription not known": {patch: `{}`, env: cluster(nil, "subscriptionID"), want: []string{"image.id: FieldValueNotSupported"}},
		"an image that is a subscription":      {patch: `{"image": {"id": "` + subscription + `/x"}}`, want: []string{"image.id: FieldValueInvalid"}},
		"an image of the marketplace":          {patch: `{"image": {"id": null, "marketplace": {"publisher": "a", "offer": "b", "sku": "c", "version": "latest", "thirdPartyImage": false}}}`},
		"half an offer":                        {patch: `{"image": {"id": null, "marketplace": {"publisher": "a", "sku": "c"}}}`, want: []string{"image.marketplace.offer: FieldValueRequired", "image.marketplace.version: FieldValueRequired"}},
		"an image of both kinds":               {patch: `{"image": {"marketplace": {"publisher": "a"}}}`, want: []string{"image.id: FieldValueInvalid"}},
		"an image of a gallery":                {patch: `{"image": {"id": null, "computeGallery": {"gallery": "a", "name": "b", "version": "c"}}}`, want: []string{"image.computeGallery: FieldValueNotSupported"}},
		"an image of a shared gallery":         {patch: `{"image": {"id": null, "sharedGallery": {"gallery": "a"}}}`, want: []string{"image.sharedGallery: FieldValueNotSupported"}},
		"an identity that Azure makes":         {patch: `{"identity": "SystemAssigned", "systemAssignedIdentityRole": {"name": "x"}}`, want: []string{"identity: FieldValueNotSupported", "systemAssignedIdentityRole: FieldValueNotSupported"}},
		"an identity of no known kind":         {patch: `{"identity": "x"}`, want: []string{"identity: FieldValueInvalid"}},
		"an identity":                          {patch: `{"identity": "UserAssigned", ` + own + `]}`},
		"two identities":                       {patch: `{"identity": "UserAssigned", ` + own + `, {"providerID": "x"}]}`, want: []string{"userAssignedIdentities: FieldValueNotSupported"}},
		"an identity, and none":                {patch: `{` + own + `]}`, want: []string{"userAssignedIdentities: FieldValueInvalid"}},
		"none, where there must be one":        {patch: `{"identity": "UserAssigned"}`, want: []string{"userAssignedIdentities: FieldValueRequired"}},
		"an identity without azure://":         {patch: `{"identity": "UserAssigned", "userAssignedIdentities": [{"providerID": "` + subscription + `/resourceGroups/x/providers/Microsoft.ManagedIdentity/userAssignedIdentities/y"}]}`, want: []string{"userAssignedIdentities[0].providerID: FieldValueInvalid"}},
		"a spot machine":                       {patch: `{"spotVMOptions": {"maxPrice": "1", "evictionPolicy": "Delete"}}`},
		"a spot machine of the default policy": {patch: `{"spotVMOptions": {"maxPrice": "1"}}`, want: []string{"spotVMOptions.evictionPolicy: FieldValueNotSupported"}},
		"a spot machine that is deallocated":   {patch: `{"spotVMOptions": {"evictionPolicy": "Deallocate"}}`, want: []string{"spotVMOptions.evictionPolicy: FieldValueNotSupported"}},
		"an ephemeral one":                     {patch: `{"spotVMOptions": {}, "osDisk": {"diffDiskSettings": {"option": "Local"}, "cachingType": "ReadOnly"}}`},
		"no diagnostics":                       {patch: `{"diagnostics": null}`},
		"diagnostics of one's own":             {patch: `{"diagnostics": {"boot": {"storageAccountType": "UserManaged", "userManaged": {"storageAccountURI": "https://x"}}}}`},
		"one's own, and no account":            {patch: `{"diagnostics": {"boot": {"storageAccountType": "UserManaged"}}}`, want: []string{"diagnostics.boot.userManaged: FieldValueRequired"}},
		"Azure's, and an account":              {patch: `{"diagnostics": {"boot": {"userManaged": {"storageAccountURI": "https://x"}}}}`, want: []string{"diagnostics.boot.userManaged: FieldValueInvalid"}},
		"diagnostics of no known kind":         {patch: `{"diagnostics": {"boot": {"storageAccountType": "x"}}}`, want: []string{"diagnostics.boot.storageAccountType: FieldValueInvalid"}},
		"extensions":                           {patch: `{"vmExtensions": [{"name": "x"}]}`, want: []string{"vmExtensions: FieldValueNotSupported"}},
		"extensions allowed":                   {patch: `{"disableExtensionOperations": false}`, want: []string{"disableExtensionOperations: FieldValueNotSupported"}},
		"nothing said of extensions":           {patch: `{"disableExtensionOperations": null}`, want: []string{"disableExtensionOperations: FieldValueRequired"}},
		"no bootstrap extension":               {patch: `{"disableVMBootstrapExtension": true}`},
		"a bootstrap extension":                {patch: `{"disableVMBootstrapExtension": false}`, want: []string{"disableVMBootstrapExtension: FieldValueNotSupported"}},
		"the cluster's mark":                   {patch: `{"additionalTags": {"kubernetes.io_cluster.lock-7x2k9": "owned"}}`},
		"the cluster's mark, shared":           {patch: `{"additionalTags": {"kubernetes.io_cluster.lock-7x2k9": "shared"}}`, want: []string{"additionalTags[kubernetes.io_cluster.lock-7x2k9]: FieldValueNotSupported"}},
		"a tag of the cluster in another case": {patch: `{"additionalTags": {"Stage": "1"}}`, env: cluster("1", "additionalTags", "stage"), want: []string{"additionalTags[Stage]: FieldValueNotSupported"}},
		"a tag that only the cluster has":      {patch: `{}`, env: cluster("1", "additionalTags", "stage")},
		"the same, of the control plane":       {patch: `{}`, control: true, env: cluster("1", "additionalTags", "stage"), want: []string{"additionalTags[stage]: FieldValueNotSupported"}},
		"a tag with a question mark":           {patch: `{"additionalTags": {"a?": "1"}}`, want: []string{"additionalTags[a?]: FieldValueInvalid"}},
		"a name in a template":                 {template: true, patch: `{"additionalTags": {"name": "x"}}`, want: []string{"additionalTags[name]: FieldValueNotSupported"}},
		"a name of an instance":                {patch: `{"additionalTags": {"Name": "x"}}`},
		"its own instance":                     {patch: `{"providerID": "azure:///x"}`},
		"another instance":                     {patch: `{"providerID": "azure:///y"}`, want: []string{"providerID: FieldValueNotSupported"}},
		"an instance in a template":            {template: true, patch: `{"providerID": "azure:///x"}`, want: []string{"providerID: FieldValueNotSupported"}},

		// The network.
		"no interface":                      {patch: `{"networkInterfaces": null}`, want: []string{"acceleratedNetworking: FieldValueRequired"}},
		"an interface in its former place":  {patch: `{"networkInterfaces": null, "subnetName": "x", "acceleratedNetworking": false}`},
		"an interface in both places":       {patch: `{"subnetName": "x", "acceleratedNetworking": false}`, want: []string{"acceleratedNetworking: FieldValueInvalid", "subnetName: FieldValueInvalid"}},
		"two interfaces":                    {patch: `{"networkInterfaces": [{"acceleratedNetworking": true}, {}]}`, want: []string{"networkInterfaces: FieldValueNotSupported"}},
		"two addresses":                     {patch: `{"networkInterfaces": [{"acceleratedNetworking": true, "privateIPConfigs": 2}]}`, want: []string{"networkInterfaces[0].privateIPConfigs: FieldValueNotSupported"}},
		"acceleration as Cluster API likes": {patch: `{"networkInterfaces": [{}]}`, want: []string{"networkInterfaces[0].acceleratedNetworking: FieldValueRequired"}},
		"no subnet, and two to choose from": {patch: `{"networkInterfaces": [{"acceleratedNetworking": true}]}`, env: secondSubnet, want: []string{"networkInterfaces[0].subnetName: FieldValueRequired"}},
		"no subnet, and one for all":        {patch: `{"networkInterfaces": [{"acceleratedNetworking": true}]}`, env: oneSubnet},
		"no network":                        {patch: `{}`, env: cluster(nil, "networkSpec", "vnet"), want: []string{"AzureCluster.spec.networkSpec.vnet.name: FieldValueRequired"}},
		"IP forwarding":                     {patch: `{"enableIPForwarding": true}`, want: []string{"enableIPForwarding: FieldValueNotSupported"}},
		"name servers":                      {patch: `{"dnsServers": ["10.0.0.1"]}`, want: []string{"dnsServers: FieldValueNotSupported"}},
		"a public address":                  {patch: `{"allocatePublicIP": true}`},
		"a public address of a master":      {control: true, patch: `{"allocatePublicIP": true}`, want: []string{"allocatePublicIP: FieldValueNotSupported"}},

		// The disks.
		"Windows":                                      {patch: `{"osDisk": {"osType": "Windows"}}`, want: []string{"osDisk.osType: FieldValueNotSupported"}},
		"the image's size":                             {patch: `{"osDisk": {"diskSizeGB": null}}`, want: []string{"osDisk.diskSizeGB: FieldValueRequired"}},
		"an ephemeral disk, placed":                    {patch: `{"osDisk": {"diffDiskSettings": {"option": "Local", "placement": "CacheDisk"}, "cachingType": "ReadOnly"}}`, want: []string{"osDisk.diffDiskSettings.placement: FieldValueNotSupported"}},
		"an ephemeral disk of no kind":                 {patch: `{"osDisk": {"diffDiskSettings": {}, "cachingType": "ReadOnly"}}`, want: []string{"osDisk.diffDiskSettings.option: FieldValueInvalid"}},
		"a managed disk of no kind":                    {patch: `{"osDisk": {"managedDisk": {"storageAccountType": null}}}`, want: []string{"osDisk.managedDisk.storageAccountType: FieldValueRequired"}},
		"trusted launch":                               {patch: `{"securityProfile": {"securityType": "TrustedLaunch", "uefiSettings": {"vTpmEnabled": true}}}`},
		"trusted launch of nothing, of an instance":    {patch: `{"securityProfile": {"securityType": "TrustedLaunch"}}`},
		"trusted launch of nothing":                    {template: true, patch: `{"securityProfile": {"securityType": "TrustedLaunch"}}`, want: []string{"securityProfile.securityType: FieldValueNotSupported"}},
		"settings without a type":                      {patch: `{"securityProfile": {"uefiSettings": {"vTpmEnabled": true}}}`, want: []string{"securityProfile.uefiSettings: FieldValueInvalid"}},
		"a confidential machine":                       {patch: `{"securityProfile": {"securityType": "ConfidentialVM", "uefiSettings": {"vTpmEnabled": true}}, ` + guest + `}`},
		"the same, encrypted at the host, an instance": {patch: `{"securityProfile": {"encryptionAtHost": true, "securityType": "ConfidentialVM", "uefiSettings": {"vTpmEnabled": true}}, ` + guest + `}`},
		"the same, encrypted at the host":              {template: true, patch: `{"securityProfile": {"encryptionAtHost": true, "securityType": "ConfidentialVM", "uefiSettings": {"vTpmEnabled": true}}, ` + guest + `}`, want: []string{"securityProfile.encryptionAtHost: FieldValueNotSupported"}},
		"a guest state, and no profile":                {patch: `{` + guest + `}`, want: []string{"securityProfile.securityType: FieldValueInvalid"}},
		"a data disk":                                  {patch: disk(`{}`)},
		"a data disk of Azure's choice":                {patch: disk(`{"managedDisk": null}`), want: []string{"dataDisks[0].managedDisk.storageAccountType: FieldValueRequired"}},
		"a data disk of another kind":                  {patch: disk(`{"managedDisk": {"storageAccountType": "PremiumV2_LRS"}}`), want: []string{"dataDisks[0].managedDisk.storageAccountType: FieldValueNotSupported"}},
		"a data disk's security profile":               {patch: disk(`{"managedDisk": {"storageAccountType": "Premium_LRS", "securityProfile": {}}}`), want: []string{"dataDisks[0].managedDisk.securityProfile: FieldValueNotSupported"}},
		"an UltraSSD that caches":                      {patch: disk(`{"managedDisk": {"storageAccountType": "UltraSSD_LRS"}, "cachingType": "ReadWrite"}`), want: []string{"dataDisks[0].cachingType: FieldValueInvalid"}},
		"disks with a lun and without":                 {patch: `{"dataDisks": [{"nameSuffix": "a", "diskSizeGB": 4, "managedDisk": {"storageAccountType": "Premium_LRS"}}, {"nameSuffix": "b", "diskSizeGB": 4, "lun": 0, "managedDisk": {"storageAccountType": "Premium_LRS"}}]}`},
		"two disks with one lun":                       {patch: `{"dataDisks": [{"nameSuffix": "a", "diskSizeGB": 4, "lun": 0, "managedDisk": {"storageAccountType": "Premium_LRS"}}, {"nameSuffix": "b", "diskSizeGB": 4, "lun": 0, "managedDisk": {"storageAccountType": "Premium_LRS"}}]}`, want: []string{"dataDisks[1].lun: FieldValueInvalid"}},
		"a field of a later version":                   {patch: `{"later": {"x": 1}}`, want: []string{"later: FieldValueNotSupported"}},
		"a list of interfaces that is none":            {patch: `{"networkInterfaces": {}}`, want: []string{"networkInterfaces: FieldValueInvalid"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			core := &conversion.Core{ProviderID: "azure:///x", FailureDomain: "1", Template: c.template, ControlPlane: c.control}
			p := conversion.NewPass(envOf(c.env), core, "")
			conversiontest.ToMachineAPI(p, conversiontest.Patched(t, []byte(plainInfra), c.patch))
			conversiontest.Same(t, c.want, p.Errors())
		})
	}
}

func secondSubnet(e *conversion.Env) {
	list, _, _ := unstructured.NestedSlice(e.InfraCluster, "spec", "networkSpec", "subnets")
	change(e.InfraCluster, append(list, map[string]any{"name": "more", "role": "node"}), "spec", "networkSpec", "subnets")
}

func oneSubnet(e *conversion.Env) {
	change(e.InfraCluster, []any{"no subnet", map[string]any{"name": "all", "role": "cluster"}}, "spec", "networkSpec", "subnets")
}

// TestTheAzureClustersTagName: a machine must not have the tag itself, so the message only advises to remove the tag from the AzureCluster.
func TestTheAzureClustersTagName(t *testing.T) {
	const here = "set the same entry in this object"
	for name, advised := range map[string]bool{"name": false, "NAME": false, "names": true} {
		env := envOf()
		env.InfraCluster["spec"].(map[string]any)["additionalTags"] = map[string]any{name: "x"}
		p := conversion.NewPass(env, &conversion.Core{}, "")
		azure.Fields.ToClusterAPI(p, decoded[machinev1beta1.AzureMachineProviderSpec](t, plain(t)), &azurev1.AzureMachineSpec{})
		if errs := p.Errors(); len(errs) != 1 || errs[0].Field != "tags["+name+"]" || strings.Contains(errs[0].Detail, here) != advised {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestTheAzureClustersTagInAnotherCase: Machine API writes the mark of ownership in its own case, so the message does not advise to write it in another.
func TestTheAzureClustersTagInAnotherCase(t *testing.T) {
	const here = "write the name as the AzureCluster does"
	for name, advised := range map[string]bool{"Kubernetes.io_cluster.lock-7x2k9": false, "STAGE": true} {
		env := envOf()
		env.InfraCluster["spec"].(map[string]any)["additionalTags"] = map[string]any{name: "owned"}
		p := conversion.NewPass(env, &conversion.Core{}, "")
		conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), `{"tags": {"stage": "1"}}`))
		if errs := p.Errors(); !advised && len(errs) != 1 || !slices.ContainsFunc(errs, func(e *field.Error) bool {
			return strings.EqualFold(e.Field, "tags["+name+"]") && strings.Contains(e.Detail, here) == advised
		}) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestErrorsAboutTheClustersMarkAreSorted: the errors come in the order of the tags' names.
func TestErrorsAboutTheClustersMarkAreSorted(t *testing.T) {
	const mark = "kubernetes.io_cluster.lock-7x2k9"
	var tags, want []string
	for i := range 10 {
		name := mark[:i] + strings.ToUpper(mark[i:i+1]) + mark[i+1:]
		tags = append(tags, `"`+name+`": "x"`)
		want = append(want, "additionalTags["+name+"]")
	}
	slices.Sort(want)
	want = slices.Compact(want)
	p := conversion.NewPass(envOf(), &conversion.Core{ProviderID: "x"}, "")
	spec := decoded[azurev1.AzureMachineSpec](t, []byte(`{"additionalTags": {`+strings.Join(tags, ", ")+`}}`))
	azure.Fields.ToMachineAPI(p, spec, &machinev1beta1.AzureMachineProviderSpec{})
	var got []string
	for _, e := range p.Errors() {
		if strings.HasPrefix(e.Field, "additionalTags[") && strings.Contains(e.Detail, "Machine API sets") {
			got = append(got, e.Field)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestASetWithoutAZone: Cluster API's new machines would be in an availability set of its own, unless they are spot machines or the AzureCluster lists zones.
func TestASetWithoutAZone(t *testing.T) {
	listed := func(e *conversion.Env) {
		e.InfraCluster["status"] = map[string]any{"failureDomains": map[string]any{"1": map[string]any{}}}
	}
	cases := map[string]struct {
		zone           string
		spot, instance bool
		env            func(*conversion.Env)
		refused        bool
	}{
		"no zone":                           {refused: true},
		"a zone":                            {zone: "1"},
		"no zone, of spot machines":         {spot: true},
		"no zone, where zones are listed":   {env: listed},
		"no zone, of an instance":           {instance: true},
		"no zone, the AzureCluster unknown": {env: func(e *conversion.Env) { e.InfraCluster = nil }},
	}
	there := conversion.NewPass(envOf(), &conversion.Core{Template: true}, "")
	var spec azurev1.AzureMachineSpec
	azure.Fields.ToClusterAPI(there, decoded[machinev1beta1.AzureMachineProviderSpec](t, plain(t)), &spec)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			env := envOf()
			if c.env != nil {
				c.env(env)
			}
			core := func() *conversion.Core {
				return &conversion.Core{Template: !c.instance, FailureDomain: c.zone, BootstrapSecret: new("worker-user-data")}
			}
			of := func(p *conversion.Pass, path string) bool {
				return slices.ContainsFunc(p.Errors(), func(e *field.Error) bool { return e.Field == path })
			}
			p := conversion.NewPass(env, core(), "")
			from := decoded[machinev1beta1.AzureMachineProviderSpec](t, conversiontest.Patched(t, plain(t), `{"zone": "`+c.zone+`"}`))
			patch := "{}"
			if c.spot {
				from.SpotVMOptions, patch = &machinev1beta1.SpotVMOptions{}, `{"spotVMOptions": {"evictionPolicy": "Delete"}}`
			}
			azure.Fields.ToClusterAPI(p, from, &azurev1.AzureMachineSpec{})
			if of(p, "zone") != c.refused {
				t.Errorf("to Cluster API: %v", p.Errors())
			}
			p = conversion.NewPass(env, core(), "")
			raw, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			back := decoded[azurev1.AzureMachineSpec](t, conversiontest.Patched(t, raw, patch))
			azure.Fields.ToMachineAPI(p, back, &machinev1beta1.AzureMachineProviderSpec{})
			if of(p, "spec.template.spec.failureDomain") != c.refused {
				t.Errorf("to Machine API: %v", p.Errors())
			}
		})
	}
}

func decoded[T any](t *testing.T, raw []byte) *T {
	t.Helper()
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestASampleInBothAPIs: the fields of one machine, in full in both APIs.
func TestASampleInBothAPIs(t *testing.T) {
	core := &conversion.Core{}
	p := conversion.NewPass(envOf(), core, "")
	spec := conversiontest.ToClusterAPI(p,
		conversiontest.Patched(t, plain(t), `{"spotVMOptions": {}, "dataDisks": [{"nameSuffix": "a", "diskSizeGB": 64, "lun": 0, "deletionPolicy": "Delete"}]}`))
	conversiontest.Same(t, nil, p.Errors())
	var got, want any
	if err := json.Unmarshal([]byte(jsonOf(t, spec)), &got); err != nil {
		t.Fatal(err)
	}
	group := subscription + "/resourceGroups/lock-7x2k9-rg/providers/"
	if err := json.Unmarshal([]byte(`{
		"vmSize": "Standard_D4s_v3", "additionalTags": {"kubernetes.io_cluster.lock-7x2k9": "owned"},
		"image": {"id": "`+group+`Microsoft.Compute/galleries/gallery_lock_7x2k9/images/lock-7x2k9-gen2/versions/latest"},
		"identity": "UserAssigned",
		"userAssignedIdentities": [{"providerID": "azure://`+group+`Microsoft.ManagedIdentity/userAssignedIdentities/lock-7x2k9-identity"}],
		"osDisk": {"osType": "Linux", "diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}, "cachingType": "None"},
		"dataDisks": [{"nameSuffix": "a", "diskSizeGB": 64, "managedDisk": {"storageAccountType": "Premium_LRS"}, "lun": 0, "cachingType": "None"}],
		"diagnostics": {"boot": {"storageAccountType": "Disabled"}},
		"spotVMOptions": {"evictionPolicy": "Delete"},
		"disableExtensionOperations": true,
		"networkInterfaces": [{"subnetName": "lock-7x2k9-worker-subnet", "privateIPConfigs": 1, "acceleratedNetworking": true}]
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if core.FailureDomain != "1" || core.BootstrapSecret == nil || *core.BootstrapSecret != "worker-user-data" {
		t.Errorf("the Machine got %+v", core)
	}
}

// Machine API gives each virtual machine the cluster's mark and the Infrastructure's tags, unless the providerSpec has another value; Cluster API gives it
// those of the AzureCluster.
func TestWhatMachineAPITagsByItself(t *testing.T) {
	for sentence, c := range map[string]struct {
		tags, want string
		env        func(*conversion.Env)
	}{
		"the AzureCluster has the tag":          {`{}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned"}`, nil},
		"it has not":                            {`{}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned","team":"locks"}`, cluster(nil, "additionalTags")},
		"it has another value":                  {`{}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned","team":"locks"}`, cluster("keys", "additionalTags", "team")},
		"the providerSpec has":                  {`{"team": "water"}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned","team":"water"}`, cluster(nil, "additionalTags")},
		"the cluster's mark with another value": {`{"kubernetes.io_cluster.lock-7x2k9": "shared"}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned"}`, nil},
		"the mark in capital letters":           {`{"Kubernetes.io_cluster.lock-7x2k9": "shared"}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned"}`, nil},
		"the Infrastructure has another mark": {`{}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned"}`, platform([]any{
			map[string]any{"key": "team", "value": "locks"}, map[string]any{"key": "kubernetes.io_cluster.lock-7x2k9", "value": "shared"}}, "resourceTags")},
		"the Infrastructure has a name": {`{}`, `{"kubernetes.io_cluster.lock-7x2k9":"owned"}`, platform([]any{
			map[string]any{"key": "team", "value": "locks"}, map[string]any{"key": "name", "value": "x"}}, "resourceTags")},
		"the providerSpec has, in another case": {`{"Team": "water"}`, `{"Team":"water","kubernetes.io_cluster.lock-7x2k9":"owned"}`, cluster(nil, "additionalTags")},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := conversion.NewPass(envOf(c.env), &conversion.Core{}, "")
			there := conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), `{"tags": `+c.tags+`}`))
			conversiontest.Same(t, nil, p.Errors())
			if got := jsonOf(t, there.(*infraSpec).AdditionalTags); got != c.want {
				t.Errorf("there: %s, want %s", got, c.want)
			}
		})
	}
}

// A field that Machine API no longer has is not newer than Poundlock.
func TestAFormerFieldIsNotTakenForANewerOne(t *testing.T) {
	for _, root := range []string{`{"sshPrivateKey": "x"}`, `{"spec": {"providerSpec": {"value": {"sshPrivateKey": "x"}}}}`} {
		var into struct {
			Spec struct {
				ProviderSpec struct {
					Value struct{} `json:"value"`
				} `json:"providerSpec"`
			} `json:"spec"`
		}
		p := conversion.NewPass(envOf(nil), &conversion.Core{}, "")
		p.Decode([]byte(root), &into)
		if errs := p.Errors(); len(errs) != 1 || strings.Contains(errs[0].Detail, "newer") || !strings.Contains(errs[0].Detail, "Machine API removed this field in 2019, and ignores it: remove") {
			t.Errorf("%v", errs)
		}
	}
}
