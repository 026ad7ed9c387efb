// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
)

// Platform is the platform of a cluster. At most one of its fields is set.
type Platform struct {
	// Name is Infrastructure.status.platformStatus.type, if providers may be installed on that platform.
	Name string
	// Waits is what is missing in the Infrastructure.
	Waits string
	// Unsupported is why nothing is installed on this platform.
	Unsupported string
}

var supported = []configv1.PlatformType{
	configv1.AWSPlatformType, configv1.AzurePlatformType, configv1.GCPPlatformType, configv1.OpenStackPlatformType, configv1.VSpherePlatformType,
	configv1.BareMetalPlatformType, configv1.PowerVSPlatformType,
}

// Optional are the platforms whose providers are installed only if somebody asks for this (--enable-platform).
var Optional = []configv1.PlatformType{configv1.IBMCloudPlatformType, configv1.NutanixPlatformType, configv1.KubevirtPlatformType}

// CheckEnabled returns an error if a name given to --enable-platform is not one of Optional.
func CheckEnabled(names []string) error {
	for _, name := range names {
		if !slices.Contains(Optional, configv1.PlatformType(name)) {
			return fmt.Errorf("platform %q cannot be enabled: use one of %s", name, joined(Optional))
		}
	}
	return nil
}

func joined(all []configv1.PlatformType) string {
	var out []string
	for _, one := range all {
		out = append(out, string(one))
	}
	return strings.Join(out, ", ")
}

// why returns what prevents the installation of new content, "" if nothing does.
func (p Platform) why() string { return cmp.Or(p.Waits, p.Unsupported) }

// Unplaced is the error if providers are installed for a platform, and the Infrastructure now names no platform or another one. Nobody has asked to change what
// runs by that: the installed objects stay as they are, and nothing else is installed.
type Unplaced struct{ Why string }

func (u *Unplaced) Error() string {
	return u.Why + ". Until then the installer keeps the installed objects as they are, and applies nothing new"
}

// Placed returns Unplaced if the content that became ready last is not for the platform.
func Placed(platform Platform, kept []corev1.ConfigMap) error {
	if platform.Name == "" {
		return &Unplaced{platform.why()}
	}
	for i := range kept {
		if of, err := providerOf(&kept[i]); err == nil && !forPlatform(&kept[i], platform.Name) {
			return &Unplaced{fmt.Sprintf(
				"Infrastructure cluster names platform %s, but the provider %s is installed for %s: correct status.platformStatus.type of the Infrastructure, "+
					"or remove the provider %[2]s",
				platform.Name, of.Label(), strings.Join(of.Platforms, ", "))}
		}
	}
	return nil
}

// InstalledOn returns the platform on which the content that became ready last was installed: the one that all its providers are for. If there is no such
// platform, it returns the given one.
func InstalledOn(platform Platform, all []corev1.ConfigMap) Platform {
	var common []string
	for i := range all {
		of, err := providerOf(&all[i])
		switch {
		case err != nil || len(of.Platforms) == 0:
		case common == nil:
			common = of.Platforms
		default:
			common = slices.DeleteFunc(slices.Clone(common), func(name string) bool { return !slices.Contains(of.Platforms, name) })
		}
	}
	if len(common) == 0 {
		return Platform{Name: platform.Name}
	}
	return Platform{Name: common[0]}
}

// PlatformOf returns the platform that the Infrastructure names. infrastructure is nil if it does not exist. enabled are those Optional platforms that somebody
// asked for.
func PlatformOf(infrastructure map[string]any, enabled []string) Platform {
	if infrastructure == nil {
		return Platform{Waits: "Infrastructure cluster, whose status names the platform, does not exist: restore the object with its status"}
	}
	status := at(infrastructure, "status", "platformStatus")
	name := configv1.PlatformType(text(status, "type"))
	switch {
	case name == "":
		return Platform{Waits: "Infrastructure cluster has no status.platformStatus.type yet"}
	case name == configv1.AzurePlatformType && text(at(status, "azure"), "cloudName") == string(configv1.AzureStackCloud):
		return Platform{Unsupported: "Cluster API is not yet implemented on this platform: Azure Stack Hub"}
	case slices.Contains(supported, name), slices.Contains(enabled, string(name)):
		return Platform{Name: string(name)}
	case slices.Contains(Optional, name):
		return Platform{Unsupported: fmt.Sprintf("Cluster API is off by default on platform %s: start the installer with --enable-platform=%s to install it",
			name, name)}
	}
	return Platform{Unsupported: fmt.Sprintf("Cluster API is not yet implemented on this platform: %s", name)}
}
