// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package embedded

import "syscall"

// leash keeps a Ctrl-C in the terminal from reaching a child. Outside Linux there is no Pdeathsig: after a SIGKILL of the
// parent, and of nothing less, children stay, and the next start on the same folder says which port or file they hold.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
