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

// ErrNoCore is the error of providers without the core provider. They wait for it.
var ErrNoCore = errors.New("the core provider's ConfigMap is missing: the other providers wait for it")

// On returns the bundles that are for a platform: those of its name, and those that are for every platform.
func On(platform string, all []Bundle) []Bundle {
	var out []Bundle
	for _, b := range all {
		if len(b.Provider.Platforms) == 0 || slices.Contains(b.Provider.Platforms, platform) {
			out = append(out, b)
		}
	}
	return out
}

// Preflight returns what is wrong with providers that are to run together. Each provider may exist only once. No provider may share an object or a
// certificate's Secret with another, or have a contract that the core provider does not support.
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
			problems = append(problems, fmt.Errorf("%s is there twice, as %s and %s: remove one", label, version, b.Provider.Version))
			continue
		}
		providers[label] = b.Provider.Version
		if core >= 0 && !slices.Contains(knownContracts(all[core].Contract), b.Contract) {
			problems = append(problems, fmt.Errorf("%s %s keeps contract %s, and the core provider %s knows %s: update the older one",
				label, b.Provider.Version, b.Contract, all[core].Provider.Version, strings.Join(knownContracts(all[core].Contract), ", ")))
		}
		for _, d := range b.Documents {
			if fate, _ := FateOf(d.GroupKind()); fate == Dropped { // nobody applies it: earlier releases have the Namespace in each provider
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
	return []error{fmt.Errorf("%s is in %s and in %s: rename it in one of them", what, owner, label)}
}

// contracts are Cluster API's, oldest first. A core provider supports its own and the one before.
var contracts = []string{"v1alpha3", "v1alpha4", "v1beta1", "v1beta2"}

func knownContracts(core string) []string {
	i := slices.Index(contracts, core)
	if i < 1 {
		return []string{core}
	}
	return contracts[i-1 : i+1]
}

// LostVersions returns the versions in which objects may be stored, by a live definition's status.storedVersions, and which the definition of a bundle no
// longer has. An API server refuses such a definition: the objects have to be stored in another version first.
func LostVersions(definition Document, stored []string) []string {
	var lost []string
	for _, version := range stored {
		if !slices.ContainsFunc(objects(at(definition.Object, "spec"), "versions"), func(v map[string]any) bool { return text(v, "name") == version }) {
			lost = append(lost, version)
		}
	}
	return lost
}
