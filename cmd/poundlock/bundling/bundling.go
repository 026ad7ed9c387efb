// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poundlock/poundlock/bundle"
)

// ErrMisused is the error of a command that was typed wrongly. The exit code is 2.
var ErrMisused = errors.New("see poundlock bundle --help")

func misused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", fmt.Errorf(format, args...), ErrMisused)
}

// options are the flags of `poundlock bundle`, as typed.
type options struct {
	kustomize, metadata, out string
	name, kind, version      string
	release                  string
	platforms, exclude       []string
	annotations              []string
	images, gates            map[string]string
	format, shards           string

	verify, summary, allowRemote bool
}

// Command makes the command.
func Command() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Write the ConfigMaps in which a release carries a provider of Cluster API",
		Long: `Write the ConfigMaps in which a release carries a provider of Cluster API, from the provider's own kustomization.

Run the command in the provider's repository, and commit the output. For reviewers, the subfolder plain/ of the output has an uncompressed copy.
Exit code 0: done. 1: with --verify the output is stale, or the manifests are refused. 2: the command line is wrong.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused("argument %q is not expected", args[0])
			}
			return nil
		},
		Example: `  # Write the ConfigMaps, and show what was dropped and changed, and why.
  poundlock bundle --kustomize config/default --name aws --type infrastructure --version v2.13.0 --out openshift/manifests --summary

  # In CI: fail and print a diff if the committed output is stale.
  poundlock bundle --kustomize config/default --name aws --type infrastructure --version v2.13.0 --out openshift/manifests --verify`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.OutOrStdout(), cmd.ErrOrStderr()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misused("%w", err) })
	o.bind(cmd.Flags())
	return cmd
}

func (o *options) bind(f *pflag.FlagSet) {
	f.StringVar(&o.kustomize, "kustomize", "", "Render this folder (required)")
	f.StringVar(&o.name, "name", "", "Name the provider, such as aws; the core provider is cluster-api (required)")
	f.StringVar(&o.kind, "type", "", "Name the provider's type: core, bootstrap, control-plane or infrastructure (required)")
	f.StringVar(&o.version, "version", "", "Name the provider's version, such as v2.13.0 (required)")
	f.StringSliceVar(&o.platforms, "platform", nil, "Set the provider's platforms, with the names of Infrastructure.status.platformStatus.type (by "+
		"default the platforms that belong to the provider's name)")
	f.StringVar(&o.metadata, "metadata", "", "Read the contract of Cluster API from this file (by default the nearest metadata.yaml in the "+
		"kustomization's folder or above it)")
	f.StringArrayVar(&o.annotations, "annotation", nil, "Add the annotation KEY=VALUE to the ConfigMaps, such as the release's profile or feature "+
		"set. Repeat the flag for more annotations")
	f.StringVar(&o.release, "release", "", "Mark the ConfigMaps with this release. The installer waits while the ConfigMaps of images or variables "+
		"are marked with another release (no mark)")
	f.StringToStringVar(&o.images, "images", nil, "Set the key in the release's list of images for containers, as CONTAINER=KEY, "+
		"WORKLOAD/CONTAINER=KEY or IMAGE=KEY (by default a container named manager gets the provider's usual key)")
	f.StringToStringVar(&o.gates, "feature-gates", nil, "Set feature gates in the managers' arguments, as NAME=true or NAME=false")
	f.StringSliceVar(&o.exclude, "exclude", nil, "Leave out the objects KIND/NAME, and what depends on them. In NAME, * matches any text")
	f.StringVar(&o.format, "format", string(bundle.Auto), "Write the content as plain or gzip. auto is plain if the ConfigMap is then small enough "+
		"for kubectl apply, else gzip")
	f.StringVar(&o.shards, "shards", "auto", "If the content does not fit into one ConfigMap, write several (auto), or fail (never)")
	f.StringVar(&o.out, "out", "", "Write the ConfigMaps to this folder (required, except if only --summary is given)")
	f.BoolVar(&o.verify, "verify", false, "Write nothing, and fail with a diff if the files in --out are stale (false)")
	f.BoolVar(&o.summary, "summary", false, "Print what was dropped, changed and added, and why (false)")
	f.BoolVar(&o.allowRemote, "allow-remote", false, "Allow the kustomization to download remote bases (false)")
}

func (o *options) run(out, warnings io.Writer) error {
	const percent = 60 // kustomize leaves much garbage, so the process takes less memory for a little more time
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	options, packing, err := o.check()
	if err != nil {
		return err
	}
	manifests, err := kustomize(o.kustomize, o.allowRemote)
	if err != nil {
		return err
	}
	made, summary, err := bundle.Build(manifests, options)
	if err != nil {
		return err
	}
	for _, warning := range summary.Warnings() {
		fmt.Fprintln(warnings, "warning:", warning)
	}
	maps, err := made.Pack(packing)
	if err != nil {
		return err
	}
	files, err := render(made, maps)
	if err != nil {
		return err
	}
	if o.summary {
		printSummary(out, summary, maps)
	}
	switch {
	case o.out == "":
		return nil
	case o.verify:
		return verify(o.out, files, out)
	}
	return write(o.out, files)
}

func printSummary(out io.Writer, summary bundle.Summary, maps []*corev1.ConfigMap) {
	fmt.Fprint(out, summary)
	fmt.Fprintln(out, "\nConfigMaps")
	for _, cm := range maps {
		fmt.Fprintf(out, "  %s: %d of %d bytes\n", cm.Name, bundle.Size(cm), bundle.MaxConfigMap)
	}
}

// check returns the options that the flags give. Wrong flags are misuse, and wrong manifests are not.
func (o *options) check() (bundle.Options, bundle.Packing, error) {
	made, packing, err := o.parse()
	if err != nil {
		return bundle.Options{}, bundle.Packing{}, misused("%w", err)
	}
	made.Metadata, err = o.readMetadata()
	return made, packing, err
}

func (o *options) parse() (made bundle.Options, packing bundle.Packing, err error) {
	if err := o.required(); err != nil {
		return made, packing, err
	}
	made = bundle.Options{Release: o.release, Images: o.images, Exclude: o.exclude}
	made.Provider, err = bundle.Provider{Name: o.name, Type: bundle.Type(o.kind), Version: o.version, Platforms: o.platforms}.Complete()
	if err != nil {
		return made, packing, err
	}
	if made.Annotations, err = annotations(o.annotations); err != nil {
		return made, packing, err
	}
	if made.FeatureGates, err = gates(o.gates); err != nil {
		return made, packing, err
	}
	packing, err = o.packing()
	return made, packing, err
}

func (o *options) required() error {
	for _, required := range []struct{ flag, value string }{{"kustomize", o.kustomize}, {"name", o.name}, {"type", o.kind}, {"version", o.version}} {
		if required.value == "" {
			return fmt.Errorf("--%s is missing", required.flag)
		}
	}
	if o.out == "" && (o.verify || !o.summary) {
		return errors.New("--out is missing")
	}
	return nil
}

func annotations(typed []string) (map[string]string, error) {
	out := map[string]string{}
	for _, annotation := range typed {
		key, value, found := strings.Cut(annotation, "=")
		if !found || len(validation.IsQualifiedName(key)) > 0 {
			return nil, fmt.Errorf("--annotation %q: use KEY=VALUE, with a KEY that is valid for an annotation", annotation)
		}
		if slices.Contains(bundle.OwnAnnotations, key) {
			return nil, fmt.Errorf("--annotation %s: poundlock bundle sets this annotation itself: remove the flag", key)
		}
		out[key] = value
	}
	return out, nil
}

func gates(typed map[string]string) (map[string]bool, error) {
	out := map[string]bool{}
	for name, value := range typed {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("--feature-gates %s=%s: the value must be true or false", name, value)
		}
		out[name] = on
	}
	return out, nil
}

func (o *options) packing() (bundle.Packing, error) {
	packing := bundle.Packing{Format: bundle.Format(o.format), Whole: o.shards == "never"}
	if !slices.Contains([]bundle.Format{bundle.Auto, bundle.PlainText, bundle.Gzip}, packing.Format) {
		return packing, fmt.Errorf("--format %q is unknown: use auto, plain or gzip", o.format)
	}
	if o.shards != "auto" && o.shards != "never" {
		return packing, fmt.Errorf("--shards %q is unknown: use auto or never", o.shards)
	}
	return packing, nil
}

// readMetadata returns the content of the file in --metadata, or else of the nearest metadata.yaml: in the folder or above it, within the repository.
func (o *options) readMetadata() ([]byte, error) {
	const name = "metadata.yaml"
	if info, err := os.Stat(o.kustomize); err != nil || !info.IsDir() {
		return nil, misused("--kustomize %s is not a folder", o.kustomize)
	}
	if o.metadata != "" {
		text, err := os.ReadFile(o.metadata)
		if err != nil {
			return nil, misused("--metadata: %w", err)
		}
		return text, nil
	}
	start, err := filepath.Abs(o.kustomize)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", name, err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return text, nil
		}
		if dir == filepath.Dir(dir) || exists(filepath.Join(dir, ".git")) || exists(filepath.Join(dir, "go.mod")) {
			return nil, fmt.Errorf("no %s is in %s or in a folder above it, up to %s: name the file with --metadata", name, o.kustomize, dir)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
