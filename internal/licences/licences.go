// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package licences

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// own is the module of Poundlock itself. Its LICENSE and NOTICE are distributed beside the text.
const own = "github.com/poundlock/poundlock"

// File is a file with a licence or a notice, and the module that it is from.
type File struct {
	// Name is the file's path relative to the module.
	Module, Name string
	Text         []byte
}

var names = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// Of returns the licence files of all modules that are compiled into some packages of the checkout at root, for one platform. A module without such a file is
// an error.
func Of(ctx context.Context, root, system, arch string, packages ...string) ([]File, error) {
	const form = `{{if .Standard}}go{{"\t"}}{{else}}{{with .Module}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{end}}{{"\t"}}{{.Dir}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", form}, packages...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules that are compiled in: %w", err)
	}
	found, modules := map[string]File{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 || strings.HasPrefix(parts[0], own+" ") {
			continue
		}
		modules[parts[0]] = modules[parts[0]] || false
		for dir := parts[2]; strings.HasPrefix(dir, parts[1]); dir = filepath.Dir(dir) {
			files, err := in(dir, parts[1], parts[0])
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				found[f.Module+"/"+f.Name], modules[parts[0]] = f, true
			}
		}
	}
	language, err := goLicence(ctx)
	if err != nil {
		return nil, err
	}
	var all []File
	var errs []error
	for _, f := range found {
		all = append(all, f)
	}
	for module, has := range modules {
		if !has {
			errs = append(errs, fmt.Errorf("no licence file was found in module %s", module))
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Module+"/"+a.Name, b.Module+"/"+b.Name) })
	return append(all, language), errors.Join(errs...)
}

func in(dir, root, module string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []File
	for _, e := range entries {
		if !e.Type().IsRegular() || !names.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Module: module, Name: filepath.ToSlash(name), Text: text})
	}
	return out, nil
}

func goLicence(ctx context.Context) (File, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return File{}, fmt.Errorf("asking for Go's folder: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "LICENSE"))
	return File{Module: "Go", Name: "LICENSE", Text: text}, err
}

// Text returns one document with the content of all files. Modules with equal files share one copy, below their names.
func Text(files []File) []byte {
	var order []string
	same := map[string][]File{}
	for _, f := range files {
		sum := fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSpace(f.Text)))
		if len(same[sum]) == 0 {
			order = append(order, sum)
		}
		same[sum] = append(same[sum], f)
	}
	out := bytes.NewBufferString("Licences and notices of the modules that are compiled in.\n")
	for _, sum := range order {
		out.WriteString("\n" + strings.Repeat("=", 80) + "\n")
		for _, f := range same[sum] {
			fmt.Fprintf(out, "%s: %s\n", f.Module, f.Name)
		}
		out.WriteString(strings.Repeat("-", 80) + "\n")
		out.Write(bytes.TrimSpace(same[sum][0].Text))
		out.WriteString("\n")
	}
	return out.Bytes()
}
