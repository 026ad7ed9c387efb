// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Names of objects in a cluster.
const (
	// Namespace is the namespace in which Cluster API runs.
	Namespace = "openshift-cluster-api"
	// ImagesConfigMap is the ConfigMap with the images of the release, in images.json.
	ImagesConfigMap = "poundlock-images"
	// VariablesConfigMap is the ConfigMap with the values of variables.
	VariablesConfigMap = "poundlock-provider-variables"
)

// Labels and annotations of a ConfigMap that carries a provider.
const (
	ProviderLabel = clusterv1.ProviderNameLabel
	NameLabel     = "provider.cluster.x-k8s.io/name"
	TypeLabel     = "provider.cluster.x-k8s.io/type"
	VersionLabel  = "provider.cluster.x-k8s.io/version"

	// CompressedAnnotation is of the upstream contract. It means that binaryData.components is gzip.
	CompressedAnnotation = "provider.cluster.x-k8s.io/compressed"
	// HashAnnotation is the SHA-256 of the whole provider. ShardAnnotation is K/N for the K-th of N ConfigMaps (shards) that carry a provider.
	HashAnnotation  = "poundlock.openshift.io/content-hash"
	ShardAnnotation = "poundlock.openshift.io/shard"
	// PlatformAnnotation lists the platforms that a provider is for, by their names in the Infrastructure, separated by commas.
	PlatformAnnotation = "poundlock.openshift.io/platform"
	// ReleaseAnnotation names the release of a ConfigMap. The ConfigMaps of images and values have it, too. ConfigMaps of two releases are not installed
	// together.
	ReleaseAnnotation = "poundlock.openshift.io/release"
)

// Type is the type of a provider.
type Type string

// The types, in the order in which they are installed.
const (
	Core           Type = "core"
	Bootstrap      Type = "bootstrap"
	ControlPlane   Type = "control-plane"
	Infrastructure Type = "infrastructure"
)

// Types lists the types in the order in which they are installed.
var Types = []Type{Core, Bootstrap, ControlPlane, Infrastructure}

// Provider identifies a provider.
type Provider struct {
	Name    string
	Type    Type
	Version string
	// Platforms are the platforms that the provider is for, by their names in the Infrastructure. Empty means every platform.
	Platforms []string
}

const coreName = "cluster-api"

// Label returns the value of the label cluster.x-k8s.io/provider, which each object of the provider has.
func (p Provider) Label() string {
	if p.Type == Core {
		return coreName
	}
	return string(p.Type) + "-" + p.Name
}

// platformsOf has the platforms of the infrastructure providers that releases contain, by the provider's name.
var platformsOf = map[string][]string{
	"aws":       {string(configv1.AWSPlatformType)},
	"azure":     {string(configv1.AzurePlatformType)},
	"gcp":       {string(configv1.GCPPlatformType)},
	"openstack": {string(configv1.OpenStackPlatformType)},
	"vsphere":   {string(configv1.VSpherePlatformType)},
	"metal3":    {string(configv1.BareMetalPlatformType)},
	"ibmcloud":  {string(configv1.PowerVSPlatformType), string(configv1.IBMCloudPlatformType)},
	"nutanix":   {string(configv1.NutanixPlatformType)},
	"kubevirt":  {string(configv1.KubevirtPlatformType)},
}

var knownPlatforms = []configv1.PlatformType{
	configv1.AWSPlatformType, configv1.AzurePlatformType, configv1.GCPPlatformType, configv1.OpenStackPlatformType, configv1.VSpherePlatformType,
	configv1.BareMetalPlatformType, configv1.PowerVSPlatformType, configv1.IBMCloudPlatformType, configv1.NutanixPlatformType, configv1.KubevirtPlatformType,
	configv1.LibvirtPlatformType, configv1.NonePlatformType, configv1.OvirtPlatformType, configv1.EquinixMetalPlatformType,
	configv1.AlibabaCloudPlatformType, configv1.ExternalPlatformType,
}

// Complete validates a provider, and returns it completed: its version begins with v, and an infrastructure provider has the platforms that belong to its name.
func (p Provider) Complete() (Provider, error) {
	var problems []error
	if !slices.Contains(Types, p.Type) {
		problems = append(problems, fmt.Errorf("type %q is unknown: use core, bootstrap, control-plane or infrastructure", p.Type))
	}
	if len(validation.IsDNS1123Label(p.Name)) > 0 {
		problems = append(problems, fmt.Errorf("name %q is not a valid name of a provider: use lowercase letters, digits and hyphens, such as aws", p.Name))
	}
	if label := p.Label(); len(label) > validation.LabelValueMaxLength {
		problems = append(problems, fmt.Errorf("name %q gives the label value %s with %d characters, and an API server accepts at most %d: use a shorter name",
			p.Name, label, len(label), validation.LabelValueMaxLength))
	}
	if p.Type == Core && p.Name != coreName {
		problems = append(problems, fmt.Errorf("the core provider cannot have the name %q: use %s", p.Name, coreName))
	}
	named := p.Version // a problem names what was typed
	p.Version = "v" + strings.TrimPrefix(named, "v")
	if _, err := version.ParseSemantic(p.Version); err != nil {
		problems = append(problems, fmt.Errorf("version %q is not a semantic version: use one such as v2.13.0", named))
	} else if len(validation.IsValidLabelValue(p.Version)) > 0 {
		problems = append(problems,
			fmt.Errorf("version %q is not a valid label value: leave out the part from the +, use at most %d characters, and end with a letter or digit",
				named, validation.LabelValueMaxLength))
	}
	if len(p.Platforms) == 0 && p.Type == Infrastructure {
		p.Platforms = platformsOf[p.Name]
		if len(p.Platforms) == 0 {
			problems = append(problems, fmt.Errorf("the platform of provider %q is unknown: name the platform as in "+
				"Infrastructure.status.platformStatus.type", p.Name))
		}
	}
	for _, platform := range p.Platforms {
		if !slices.Contains(knownPlatforms, configv1.PlatformType(platform)) {
			problems = append(problems, fmt.Errorf("platform %q is unknown: use a name of Infrastructure.status.platformStatus.type, such as AWS", platform))
		}
	}
	return p, errors.Join(problems...)
}
