// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	o := options{root: "..", platforms: []string{"linux/amd64", "linux/arm64"}}
	flag.StringVar(&o.version, "version", "", "the version of the image, such as v0.1.0; empty: v0.0.0 and the commit")
	flag.StringVar(&o.dir, "dir", filepath.Join("..", "bin", "image"), "the folder for the output")
	flag.StringVar(&o.push, "push", "", "the repository to push the image to, such as registry.example.com/poundlock; empty: the image is not pushed")
	flag.Func("platforms", "the platforms of the image, separated by commas", func(text string) error {
		o.platforms = strings.Split(text, ",")
		return nil
	})
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type options struct {
	// root is the checkout. dir is where everything is written.
	root, dir     string
	version, push string
	platforms     []string
}

func (o options) run(ctx context.Context) error {
	commit, err := o.git(ctx, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return err
	}
	if o.version == "" {
		o.version = "v0.0.0-" + commit
	}
	created, err := o.committed(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(o.dir); err != nil {
		return err
	}
	var images []platformImage
	for _, text := range o.platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			return err
		}
		files, err := o.files(ctx, *p)
		if err != nil {
			return err
		}
		made, err := assemble(*p, o.version, commit, created, files)
		if err != nil {
			return fmt.Errorf("assembling the image of %s: %w", text, err)
		}
		images = append(images, platformImage{*p, made})
	}
	index, err := write(o.dir, o.version, images)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s\n  the OCI layout for %s, poundlock:%s, %s\n", filepath.Join(o.dir, layoutDir), strings.Join(o.platforms, " and "), o.version, digest)
	for _, i := range images {
		fmt.Printf("%s\n  for `podman load -i` or `docker load -i`\n", filepath.Join(o.dir, archive(i.platform)))
	}
	if o.push == "" {
		return nil
	}
	to, err := name.NewTag(o.push + ":" + o.version)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("pushing to %s: %w", to, err)
	}
	fmt.Printf("pushed: %s@%s\n", to, digest)
	return nil
}

// files builds the binary, and returns it together with the other files of the image.
func (o options) files(ctx context.Context, p v1.Platform) ([]file, error) {
	binary := filepath.Join(o.dir, p.OS+"-"+p.Architecture, "poundlock")
	to, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	flags := "-s -w -X github.com/poundlock/poundlock/internal/build.Version=" + o.version
	build := o.tool(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", flags, "-o", to, "./cmd/poundlock")
	build.Env = append(os.Environ(), "GOOS="+p.OS, "GOARCH="+p.Architecture, "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w:\n%s", p, err, said)
	}
	if p.OS == "linux" {
		if err := static(binary); err != nil {
			return nil, err
		}
	}
	print := o.tool(ctx, "go", "run", filepath.Join("internal", "licences", "print.go"), p.OS, p.Architecture, "./cmd/poundlock")
	print.Stderr = os.Stderr
	licences, err := print.Output()
	if err != nil {
		return nil, fmt.Errorf("gathering licences: %w", err)
	}
	out := []file{{"licenses/LICENCES-OF-MODULES", 0o444, licences}}
	for _, f := range []file{{"poundlock", 0o555, nil}, {"licenses/LICENSE", 0o444, nil}, {"licenses/NOTICE", 0o444, nil}} {
		from := filepath.Join(o.root, filepath.Base(f.name))
		if f.name == "poundlock" {
			from = binary
		}
		if f.data, err = os.ReadFile(from); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// committed returns the time of the commit. It is the image's creation time, so that the same commit makes the same image.
func (o options) committed(ctx context.Context) (time.Time, error) {
	text, err := o.git(ctx, "log", "-1", "--format=%cI")
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, text)
}

func (o options) git(ctx context.Context, args ...string) (string, error) {
	out, err := o.tool(ctx, "git", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func (o options) tool(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = o.root
	return cmd
}
