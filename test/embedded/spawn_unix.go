// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package embedded

import "syscall"

// leash keeps a Ctrl-C in the terminal from reaching a child. There is no Pdeathsig outside Linux, so the children stay if the parent is killed with SIGKILL.
// The next start on the same folder then says which port or file they hold.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
