// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/test/build"
)

// Attach runs another program beside the control plane. The program ends by StopPart, by Stop, or with this process. Stop ends it before the parts of the
// control plane, because it may need them to end in order. Its output is in Log(name). If it ends by itself, Exited reports that.
func (p *Plane) Attach(name, bin string, args ...string) error {
	return p.AttachWith(nil, name, bin, args...)
}

// AttachWith does what Attach does, and adds variables (NAME=VALUE) to the program's environment.
func (p *Plane) AttachWith(env []string, name, bin string, args ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return fmt.Errorf("starting %s: the control plane was stopped", name)
	case slices.Contains(build.Parts(), name):
		return fmt.Errorf("starting %s: that is the name of a part", name)
	case p.running[name] != nil:
		return fmt.Errorf("starting %s: it runs already, pid %d", name, p.running[name].cmd.Process.Pid)
	}
	child, err := launch(p.spawner, name, bin, p.Log(name), args, env, p.died)
	if err != nil {
		return err
	}
	p.running[name] = child
	delete(p.last, name)
	return nil
}
