// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package embedded

import "syscall"

func leash() *syscall.SysProcAttr { return nil }
