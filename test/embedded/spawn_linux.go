// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import "syscall"

// leash makes a child die with its parent, even if the parent is killed with SIGKILL. It also keeps a Ctrl-C in the terminal from reaching the child, because
// the parent stops the child in order.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
