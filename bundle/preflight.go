// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/internal/issuers"
)

// ErrNoCore is the error if the providers lack the core provider. The other providers wait for it.
var ErrNoCore = errors.New("the ConfigMap of Cluster API's core provider is missing: the other providers are installed only after the core provider. " +
	"Apply the release's ConfigMaps")

// On returns the bundles for a platform: those that name the platform, and those that name none and so are for every platform.
func On(platform string, all []Bundle) []Bundle {
	var out []Bundle
	for _, b := range all {
		if len(b.Provider.Platforms) == 0 || slices.Contains(b.Provider.Platforms, platform) {
			out = append(out, b)
		}
	}
	return out
}

// Preflight returns an error for each reason why these providers cannot run together. Each provider may occur only once. Two providers may not have the same
// object, or the same Secret of a certificate. Each provider's contract must be one that the core provider supports.
func Preflight(all []Bundle) []error {
	var problems []error
	core := slices.IndexFunc(all, func(b Bundle) bool { return b.Provider.Type == Core })
	if core < 0 {
		problems = append(problems, ErrNoCore)
	}
	claimed, secrets, providers := map[string]string{}, map[string]string{}, map[string]string{}
	for _, b := range all {
		label := b.Provider.Label()
		if version, twice := providers[label]; twice {
			problems = append(problems, fmt.Errorf("the provider %s occurs twice, in versions %s and %s: delete the ConfigMap that the release does not have",
				label, version, b.Provider.Version))
			continue
		}
		providers[label] = b.Provider.Version
		if core >= 0 && !slices.Contains(knownContracts(all[core].Contract), b.Contract) {
			problems = append(problems, fmt.Errorf("%s %s uses contract %s of Cluster API, but the core provider %s supports only %s: update the "+
				"older of the two providers",
				label, b.Provider.Version, b.Contract, all[core].Provider.Version, strings.Join(knownContracts(all[core].Contract), ", ")))
		}
		for _, d := range b.Documents {
			if fate, _ := FateOf(d.GroupKind()); fate == Dropped { // an installer does not apply it: earlier releases have the Namespace in each provider
				continue
			}
			problems = append(problems, claim(claimed, d.Group()+"/"+d.Namespace()+"/"+d.ID(), label, d.ID())...)
			if secret := text(at(d.Object, "metadata", "annotations"), issuers.ServingCert); secret != "" {
				problems = append(problems, claim(secrets, secret, label, "the certificate's Secret "+secret)...)
			}
		}
	}
	return problems
}

func claim(owners map[string]string, key, label, what string) []error {
	owner, taken := owners[key]
	if !taken {
		owners[key] = label
	}
	if !taken || owner == label {
		return nil
	}
	return []error{fmt.Errorf("%s is in %s and in %s: rename the object in one of the two providers", what, owner, label)}
}

// contracts are the contracts of Cluster API, oldest first. A core provider supports its own contract and the one before.
var contracts = []string{"v1alpha3", "v1alpha4", "v1beta1", "v1beta2"}

func knownContracts(core string) []string {
	i := slices.Index(contracts, core)
	if i < 1 {
		return []string{core}
	}
	return contracts[i-1 : i+1]
}

// LostVersions returns the versions in stored that the definition of a bundle no longer has. stored is status.storedVersions of the live definition: objects
// may be stored in these versions. An API server refuses a definition that lacks one of them. The objects have to be stored in another version first.
func LostVersions(definition Document, stored []string) []string {
	var lost []string
	for _, version := range stored {
		if !slices.ContainsFunc(objects(at(definition.Object, "spec"), "versions"), func(v map[string]any) bool { return text(v, "name") == version }) {
			lost = append(lost, version)
		}
	}
	return lost
}
