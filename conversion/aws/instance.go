// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

func nothing(*pass, *providerSpec, *infraSpec)     {}
func nothingBack(*pass, *infraSpec, *providerSpec) {}

// text returns the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func amiTo(p *pass, m *providerSpec, c *infraSpec) {
	switch {
	case text(m.AMI.ID) != "":
		c.AMI.ID = m.AMI.ID
	case m.AMI.ARN == nil && len(m.AMI.Filters) == 0:
		p.Required("ami.id", "without ami.id, Cluster API would look for an image itself: set ami.id")
	}
}

// imagesTo reports an error for an image that the providerSpec names by filters. The message has a command by which a person finds the image's ID.
func imagesTo(p *pass, m *providerSpec, _ *infraSpec) {
	switch {
	case len(m.AMI.Filters) == 0:
	case text(m.AMI.ID) != "":
		p.Unsupported("ami.filters", nil, "Machine API uses ami.id and ignores the filters: remove the filters")
	default:
		command := "aws ec2 describe-images"
		if r := cmp.Or(m.Placement.Region, p.Env.Region); r != "" {
			command += " --region " + conversion.Argument(r)
		}
		command += " --query 'Images[].ImageId' --filters"
		for _, f := range m.AMI.Filters {
			command += " " + conversion.Quoted(fmt.Sprintf("Name=%s,Values=%s", f.Name, strings.Join(f.Values, ",")))
		}
		p.Command("ami.filters", nil, "Cluster API accepts no filters for an image. Find the image's id, and give ami.id instead of the filters", command,
			"Find the id with aws ec2 describe-images and the same filters")
	}
}

func amiFrom(p *pass, c *infraSpec, m *providerSpec) {
	if text(c.AMI.ID) == "" {
		p.Required("ami.id", noLookup)
		return
	}
	m.AMI.ID = c.AMI.ID
}

func typeTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.InstanceType = m.InstanceType; c.InstanceType == "" {
		p.Required("instanceType", "Cluster API has no default instance type: name a type, such as m6i.large")
	}
}

func typeFrom(_ *pass, c *infraSpec, m *providerSpec) { m.InstanceType = c.InstanceType }

func tagsTo(p *pass, m *providerSpec, c *infraSpec) {
	c.AdditionalTags = tags(p, "tags", m.Tags, func(t machinev1beta1.TagSpecification) bool { return ignored(p, t.Name, t.Value) })
	for i, t := range m.Tags {
		if ignored(p, t.Name, t.Value) {
			p.Note(fmt.Sprintf("tags[%d]", i), "Machine API ignores the tag "+t.Name+" with this value, because it sets the tags Name and "+
				ownerTag+p.Env.ClusterName+" itself, and no other tag of a cluster")
		}
	}
	maps.DeleteFunc(c.AdditionalTags, func(name, value string) bool { return ignored(p, name, value) })
	if len(c.AdditionalTags) == 0 {
		c.AdditionalTags = nil
	}
	refuseReplaced(p, "tags", c.AdditionalTags)
	inherited := inheritedTags(p)
	for _, name := range slices.Sorted(maps.Keys(inherited)) {
		value := inherited[name]
		switch _, own := c.AdditionalTags[name]; {
		case !own && replaced(p, name, value):
			p.Note("tags["+name+"]", "the Infrastructure's resourceTags have this tag, but Cluster API gives each new instance this tag with another value")
		case !own:
			if c.AdditionalTags == nil {
				c.AdditionalTags = map[string]string{}
			}
			c.AdditionalTags[name] = value
			refusedThere(p, name, value)
		}
	}
	inherits(p, "tags", c.AdditionalTags, false)
	switch all := withCluster(p, c.AdditionalTags); {
	case len(m.Tags) > maxTags: // reported
	case len(c.AdditionalTags) > maxTags:
		p.Unsupported("tags", len(m.Tags), fmt.Sprintf(
			"together with the Infrastructure's resourceTags the machine has %d tags, but Cluster API accepts at most %d tags: remove some",
			len(c.AdditionalTags), maxTags))
	case len(all) > maxTags && !exists(p):
		p.Unsupported("tags", len(m.Tags), fmt.Sprintf(
			"together with the tags that Cluster API adds, a new instance has %d tags, and AWS accepts at most %d: remove some", len(all), maxTags))
	}
}

// exists reports whether a machine has an instance. A template has none.
func exists(p *pass) bool { return p.Core.ProviderID != "" && !p.Core.Template }

// added returns the tags that Cluster API's controller adds to each new instance, in place of the machine's own tags of these names. The value is "" for the
// tag with the machine's name.
func added(p *pass) map[string]string {
	role := "node"
	if p.Core.ControlPlane {
		role = "control-plane"
	}
	return map[string]string{
		awsv1.MachineNameTagKey:                "",
		awsv1.NameAWSClusterAPIRole:            role,
		awsv1.ClusterTagKey(p.Env.ClusterName): string(awsv1.ResourceLifecycleOwned),
	}
}

// withCluster returns tags together with the tags that Cluster API's controller adds to a new instance. It is for counting.
func withCluster(p *pass, tags map[string]string) map[string]string {
	all := map[string]string{"Name": "", ownerTag + p.Env.ClusterName: ""}
	maps.Copy(all, added(p))
	maps.Copy(all, clusterTags(p))
	maps.Copy(all, tags)
	return all
}

// replaced reports whether Cluster API's controller gives each new instance another value of a tag.
func replaced(p *pass, name, value string) bool {
	want, is := added(p)[name]
	return is && (want == "" || want != value)
}

// refuseReplaced reports an error for each tag of a machine without an instance that Cluster API's controller would replace when it creates the instance.
func refuseReplaced(p *pass, path string, own map[string]string) {
	if exists(p) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if replaced(p, name, own[name]) {
			p.Unsupported(path+"["+name+"]", own[name], "Cluster API gives each new instance this tag with another value: remove this tag, or give it another name")
		}
	}
}

// refusedThere reports an error for one of the Infrastructure's resourceTags that Cluster API's webhook would refuse. The CRD of the Infrastructure accepts
// more characters than this webhook.
func refusedThere(p *pass, name, value string) {
	reason, remedy := badTag(name, value), "give a tag of this name another value in tags"
	switch {
	case reason == "":
		return
	case badTag(name, "") != "":
		remedy = "remove the tag from status.platformStatus.aws.resourceTags of the Infrastructure, or leave Machine API authoritative"
	}
	p.Unsupported("tags["+name+"]", value, fmt.Sprintf("Machine API gives each instance this tag of the Infrastructure's resourceTags, but %s: %s",
		strings.TrimSuffix(reason, ". Remove this tag"), remedy))
}

// tagsFrom writes the AWSMachine's tags to the providerSpec, except for tags that Machine API adds by itself. It also writes the tags that only the
// AWSCluster has. For a control plane Machine such a tag is an error instead.
func tagsFrom(p *pass, c *infraSpec, m *providerSpec) {
	own := maps.Clone(c.AdditionalTags)
	inherited := inheritedTags(p)
	maps.DeleteFunc(own, func(name, value string) bool { text, is := inherited[name]; return is && text == value })
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if ignored(p, name, own[name]) {
			p.Invalid("additionalTags["+name+"]", own[name], "Machine API ignores this tag, because it sets the tag itself: remove the tag")
		}
	}
	refuseReplaced(p, "additionalTags", own)
	for name, value := range inherits(p, "additionalTags", c.AdditionalTags, !p.Core.ControlPlane) {
		if own == nil {
			own = map[string]string{}
		}
		own[name] = value
	}
	m.Tags = tagList(p, "additionalTags", own)
}

const ownerTag = "kubernetes.io/cluster/"

// ignored reports whether Machine API ignores a tag in a providerSpec, in the Infrastructure's resourceTags and in the AWSCluster. Machine API itself sets the
// tags with the names of the instance and of the instance's cluster (with the value owned). Cluster API would not ignore another value: its controller would
// write this value to the running instance, and an uninstall would no longer find the instance. The cluster's own tag with the value owned does not count as
// ignored: installers write it, and both APIs add it.
func ignored(p *pass, name, value string) bool {
	ours := name == ownerTag+p.Env.ClusterName && value == string(awsv1.ResourceLifecycleOwned)
	return name == "Name" || strings.HasPrefix(name, ownerTag) && !ours
}

// resourceTags returns those of the Infrastructure's resourceTags that Machine API adds to each instance, unless the providerSpec has another value. Of several
// tags with one name, Machine API uses the first.
func resourceTags(p *pass) map[string]string {
	list, _, _ := unstructured.NestedSlice(p.Env.Infrastructure, "status", "platformStatus", "aws", "resourceTags")
	out := map[string]string{}
	for _, item := range list {
		tag, _ := item.(map[string]any)
		name, _, _ := unstructured.NestedString(tag, "key")
		value, _, _ := unstructured.NestedString(tag, "value")
		if _, twice := out[name]; name != "" && !twice && !ignored(p, name, value) {
			out[name] = value
		}
	}
	return out
}

// inheritedTags returns the Infrastructure's resourceTags without those that Cluster API adds too, because the AWSCluster has them with the same value.
func inheritedTags(p *pass) map[string]string {
	out, theirs := resourceTags(p), clusterTags(p)
	maps.DeleteFunc(out, func(name, value string) bool { have, is := theirs[name]; return is && have == value })
	return out
}

// clusterTags returns the AWSCluster's additionalTags, which Cluster API adds to each instance.
func clusterTags(p *pass) map[string]string {
	out, _, _ := unstructured.NestedStringMap(p.Env.InfraCluster, "spec", "additionalTags")
	return out
}

// clusterAlone returns the tags that an instance gets only from the AWSCluster: neither the instance's own spec (own) nor the Infrastructure has them. It
// leaves out tags that only mark ownership, and the tag that Cluster API replaces in a new instance. The returned tags matter even for an instance that already
// runs, because Cluster API adds them to it: a tag Name would replace that instance's name.
func clusterAlone(p *pass, own map[string]string) map[string]string {
	out, theirs := clusterTags(p), resourceTags(p)
	maps.DeleteFunc(out, func(name, value string) bool {
		_, named := own[name]
		have, both := theirs[name]
		marks := name == ownerTag+p.Env.ClusterName && !ignored(p, name, value) || name == awsv1.NameAWSClusterAPIRole ||
			name == awsv1.ClusterTagKey(p.Env.ClusterName)
		return named || marks || name == awsv1.MachineNameTagKey && !exists(p) || both && have == value
	})
	return out
}

// inherits reports an error for each tag that an instance gets only from the AWSCluster. If mayName is true, there is an error only for a tag that Machine
// API ignores. The other tags are returned, so that the mirror writes them into the providerSpec.
func inherits(p *pass, path string, own map[string]string, mayName bool) map[string]string {
	alone := clusterAlone(p, own)
	for _, name := range slices.Sorted(maps.Keys(alone)) {
		here := "set the same entry in this object, or "
		switch {
		case ignored(p, name, alone[name]):
			here = ""
		case mayName:
			continue
		}
		p.Inherits(path, "additionalTags", name, alone[name], here, map[string]any{"spec": map[string]any{"additionalTags": map[string]any{name: nil}}})
		delete(alone, name)
	}
	return alone
}

// tags converts a providerSpec's list of tags into a map. It reports errors for what Cluster API's webhook would refuse, because only this message can name
// the path in the providerSpec. It reports none about a tag for which skipped is true.
func tags(p *pass, path string, list []machinev1beta1.TagSpecification, skipped func(machinev1beta1.TagSpecification) bool) map[string]string {
	if len(list) == 0 {
		return nil
	}
	if len(list) > maxTags {
		p.Unsupported(path, len(list), fmt.Sprintf("Cluster API accepts at most %d tags: remove some", maxTags))
	}
	out := make(map[string]string, len(list))
	for i, t := range list {
		if _, twice := out[t.Name]; twice {
			p.Note(fmt.Sprintf("%s[%d]", path, i), "Machine API uses only the first tag of a name")
			continue
		}
		if reason := badTag(t.Name, t.Value); reason != "" && !skipped(t) {
			p.Invalid(fmt.Sprintf("%s[%d]", path, i), t.Name+"="+t.Value, reason)
		}
		out[t.Name] = t.Value
	}
	return out
}

const maxTags = 50

func badTag(name, value string) string {
	switch {
	case name == "" || len(name) > 128:
		return "the name of a tag has 1 to 128 characters"
	case len(value) > 256:
		return "the value of a tag has at most 256 characters"
	case len(name) >= 4 && strings.EqualFold(name[:4], "aws:"):
		return `only AWS itself sets tags whose names begin with "aws:". Remove this tag`
	case strings.ContainsFunc(name+value, untaggable):
		return "Cluster API accepts only ASCII letters, digits, spaces and _ . : = + - @ / in the name and value of a tag"
	}
	return ""
}

func untaggable(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(" \t\n\f\r_.:=+-@/", r)
}

// tagList converts a map of tags into a providerSpec's list, sorted by name. It reports errors for the tags that the function tags would refuse on the way
// back. Cluster API's webhook refuses them too, but may not be running.
func tagList(p *pass, path string, tags map[string]string) []machinev1beta1.TagSpecification {
	if len(tags) == 0 {
		return nil
	}
	if len(tags) > maxTags {
		p.Invalid(path, len(tags), fmt.Sprintf("Cluster API accepts at most %d tags: remove some", maxTags))
	}
	out := make([]machinev1beta1.TagSpecification, 0, len(tags))
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if reason := badTag(name, tags[name]); reason != "" {
			p.Invalid(fmt.Sprintf("%s[%s]", path, name), tags[name], reason)
		}
		out = append(out, machinev1beta1.TagSpecification{Name: name, Value: tags[name]})
	}
	return out
}

// clusterKey returns the name of the SSH key that an instance gets if its AWSMachine has no sshKeyName; "" for no key. If the AWSCluster names no key, the
// provider uses the key named "default", but only for an AWSCluster that the provider itself manages.
func clusterKey(p *pass) string {
	if p.Env.InfraCluster == nil {
		return ""
	}
	if name, given := p.Env.InfraClusterString("spec", "sshKeyName"); given {
		return name
	}
	if _, elsewhere := p.Env.InfraClusterString("metadata", "annotations", clusterv1.ManagedByAnnotation); elsewhere {
		return ""
	}
	return "default"
}

func instanceKeyTo(p *pass, m *providerSpec, c *infraSpec) {
	if name := text(m.KeyName); name != clusterKey(p) {
		c.SSHKeyName = &name
	}
}

// instanceKeyFrom writes the name of the instance's SSH key to the providerSpec. If the AWSMachine names no key, this is the AWSCluster's key. It never
// writes empty text, because AWS refuses empty text as a name.
func instanceKeyFrom(p *pass, c *infraSpec, m *providerSpec) {
	name := clusterKey(p)
	if c.SSHKeyName != nil {
		name = *c.SSHKeyName
	}
	if name != "" {
		m.KeyName = &name
	}
}

func profileTo(p *pass, m *providerSpec, c *infraSpec) {
	ref := m.IAMInstanceProfile
	if ref == nil {
		return
	}
	// Without an id, Machine API gives the instance no profile, as without iamInstanceProfile. It passes an empty id on to AWS, which refuses that.
	if c.IAMInstanceProfile = text(ref.ID); ref.ID != nil && *ref.ID == "" {
		p.Required("iamInstanceProfile.id", "AWS refuses an empty name of a profile: name the profile, or leave iamInstanceProfile out")
	}
}

func profileFrom(_ *pass, c *infraSpec, m *providerSpec) {
	if c.IAMInstanceProfile != "" {
		m.IAMInstanceProfile = &machinev1beta1.AWSResourceReference{ID: &c.IAMInstanceProfile}
	}
}

func providerIDTo(p *pass, _ *providerSpec, c *infraSpec) {
	if p.Core.ProviderID == "" {
		return
	}
	c.ProviderID = &p.Core.ProviderID
	if id := instanceID(p.Core.ProviderID); id != "" {
		c.InstanceID = &id
	}
}

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	id, instance := text(c.ProviderID), text(c.InstanceID)
	switch {
	case p.Core.Template && id != "":
		p.Unsupported("providerID", id, "a template has no instance: remove this field")
	case p.Core.Template && instance != "":
		p.Unsupported("instanceID", instance, "a template has no instance: remove this field")
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != "" && id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
	}
	if known := instanceID(p.Core.ProviderID); known != "" && instance != "" && instance != known {
		p.Differs("instanceID", instance, "the last part of the Machine's spec.providerID", known)
	}
}

// instanceID returns the last part of a provider ID such as aws:///us-east-1a/i-0123456789abcdef0; "" if the ID is not AWS's.
func instanceID(providerID string) string {
	if !strings.HasPrefix(providerID, "aws://") {
		return ""
	}
	return providerID[strings.LastIndex(providerID, "/")+1:]
}

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	p.UserData(ptr.Deref(m.UserDataSecret, corev1.LocalObjectReference{}).Name)
}

func userDataFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if secret := p.UserDataBack(); secret != "" {
		m.UserDataSecret = &corev1.LocalObjectReference{Name: secret}
	}
}

func credentialsTo(p *pass, m *providerSpec, _ *infraSpec) {
	ownIdentity(p)
	if m.CredentialsSecret != nil {
		p.OwnCredentials(m.CredentialsSecret.Name)
	}
}

// ownIdentity reports an error if the AWSCluster has another identity than the default one. With another identity Cluster API would use another account or
// role, with which it may find none of the cluster's resources.
func ownIdentity(p *pass) {
	const own = `{"kind":"AWSClusterControllerIdentity","name":"default"}`
	kind, given := p.Env.InfraClusterString("spec", "identityRef", "kind")
	if name, _ := p.Env.InfraClusterString("spec", "identityRef", "name"); given &&
		(kind != string(awsv1.ControllerIdentityKind) || name != awsv1.AWSClusterControllerIdentityName) {
		p.Amend("spec.identityRef", kind+" "+name,
			"Machine API acts in the cluster's own account, but Cluster API would act in the account of this identity. Set the default identity",
			`{"spec":{"identityRef":`+own+`}}`, "")
	}
}

func credentialsFrom(p *pass, _ *infraSpec, m *providerSpec) {
	ownIdentity(p)
	if name := p.Env.Credentials(); name != "" {
		m.CredentialsSecret = &corev1.LocalObjectReference{Name: name}
	}
}

// ignitionVersion is the version in an AWSMachine that a conversion makes. It is only for people who read the AWSMachine. With the storage type
// UnencryptedUserData the provider does not read the field, because the user data has a version of its own. So an AWSMachine with any version converts back,
// such as 2.3, which is the CRD's default.
const ignitionVersion = "3.4"

func ignitionTo(_ *pass, _ *providerSpec, c *infraSpec) {
	c.Ignition = &awsv1.Ignition{Version: ignitionVersion, StorageType: awsv1.IgnitionStorageTypeOptionUnencryptedUserData}
}

func ignitionFrom(p *pass, c *infraSpec, _ *providerSpec) {
	switch {
	case c.Ignition == nil:
		p.Required("ignition",
			"without ignition, the instance boots with cloud-init, which Machine API does not support: set ignition, with storageType UnencryptedUserData")
	case c.Ignition.StorageType != awsv1.IgnitionStorageTypeOptionUnencryptedUserData:
		p.Unsupported("ignition.storageType", string(c.Ignition.StorageType),
			"Machine API always passes the user data to the instance unchanged: set storageType to UnencryptedUserData")
	}
}

func spotTo(_ *pass, m *providerSpec, c *infraSpec) {
	if m.SpotMarketOptions != nil {
		c.SpotMarketOptions = &awsv1.SpotMarketOptions{MaxPrice: m.SpotMarketOptions.MaxPrice}
	}
}

func spotFrom(_ *pass, c *infraSpec, m *providerSpec) {
	if c.SpotMarketOptions != nil {
		m.SpotMarketOptions = &machinev1beta1.SpotMarketOptions{MaxPrice: c.SpotMarketOptions.MaxPrice}
	}
}

func reservationTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.CapacityReservationID == "" {
		return
	}
	if m.SpotMarketOptions != nil || m.MarketType == machinev1beta1.MarketTypeSpot {
		p.Unsupported("capacityReservationId", m.CapacityReservationID,
			"Cluster API refuses a capacity reservation for a spot instance: remove capacityReservationId, or remove spotMarketOptions and marketType Spot")
	}
	c.CapacityReservationID = &m.CapacityReservationID
}

func reservationFrom(_ *pass, c *infraSpec, m *providerSpec) {
	m.CapacityReservationID = text(c.CapacityReservationID)
}

func metadataTo(p *pass, m *providerSpec, c *infraSpec) {
	var tokens awsv1.HTTPTokensState
	switch m.MetadataServiceOptions.Authentication {
	case "":
		return
	case machinev1beta1.MetadataServiceAuthenticationRequired:
		tokens = awsv1.HTTPTokensStateRequired
	case machinev1beta1.MetadataServiceAuthenticationOptional:
		tokens = awsv1.HTTPTokensStateOptional
	default:
		p.Invalid("metadataServiceOptions.authentication", string(m.MetadataServiceOptions.Authentication), "supported values: \"Optional\", \"Required\"")
		return
	}
	c.InstanceMetadataOptions = &awsv1.InstanceMetadataOptions{HTTPTokens: tokens}
}

func metadataFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.InstanceMetadataOptions == nil {
		return
	}
	switch c.InstanceMetadataOptions.HTTPTokens {
	case awsv1.HTTPTokensStateRequired:
		m.MetadataServiceOptions.Authentication = machinev1beta1.MetadataServiceAuthenticationRequired
	case awsv1.HTTPTokensStateOptional, "": // optional is the CRD's default
		m.MetadataServiceOptions.Authentication = machinev1beta1.MetadataServiceAuthenticationOptional
	default:
		p.Invalid("instanceMetadataOptions.httpTokens", string(c.InstanceMetadataOptions.HTTPTokens), "supported values: \"optional\", \"required\"")
	}
}
