// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// resolveSettings sets every flag that was not typed to the value of its environment variable, or else of its line in the file. If a line names no flag, or a
// value does not parse, the error names the place.
func resolveSettings(flags *pflag.FlagSet, file string, lookup func(string) (string, bool)) error {
	lines, err := readSettings(file)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if flags.Lookup(name) == nil {
			errs = append(errs, fmt.Errorf("%s: %q is not a setting: use the name of a flag of this command, see --help", file, name))
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			return
		}
		if value, ok := lookup(variable(f.Name)); ok {
			errs = append(errs, assign(flags, f.Name, value, "$"+variable(f.Name)))
		} else if value, ok := lines[f.Name]; ok {
			errs = append(errs, assign(flags, f.Name, value, file))
		}
	})
	return errors.Join(errs...)
}

func assign(flags *pflag.FlagSet, name, value, where string) error {
	if err := flags.Set(name, value); err != nil {
		return fmt.Errorf("%s: %s: %w", where, name, err)
	}
	return nil
}

// variable returns the name of a flag's environment variable: --leader-elect is POUNDLOCK_LEADER_ELECT.
func variable(flag string) string {
	return "POUNDLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readSettings reads a YAML file that maps a flag's name to its value, or to a list of its values.
func readSettings(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict(raw, &content); err != nil {
		return nil, fmt.Errorf("reading the settings in %s: %w", file, err)
	}
	lines := map[string]string{}
	for name, value := range content {
		lines[name] = text(value)
	}
	return lines, nil
}

func text(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = fmt.Sprint(list[i])
	}
	return strings.Join(parts, ",")
}
