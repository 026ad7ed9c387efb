// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import "syscall"

// leash makes a child die with its parent, even when that is killed with SIGKILL, and keeps a Ctrl-C in the terminal from
// reaching it: the parent stops it in order.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
