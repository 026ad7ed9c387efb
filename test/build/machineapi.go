// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"io"
	"path/filepath"
)

// MachineAPI returns the path of one of the machine-api-operator's programs, machineset or machine-healthcheck. It builds the program if the cache has no
// verified build.
func MachineAPI(ctx context.Context, name string, progress io.Writer) (path string, err error) {
	p := machineAPIProgram(name)
	dir, err := p.get(ctx, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, p.binary), nil
}

// machineAPIProgram returns one of the machine-api-operator's programs.
func machineAPIProgram(name string) program {
	return program{
		what: "OpenShift's " + name + " controller", product: "machine-api-operator", folder: "machineapi", pinned: machineAPIModule,
		main: machineAPIModule + "/cmd/" + name, binary: name,
		ldflags: func(string) string { return "-s -w" },
	}
}
