// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os/exec"
	"runtime"
)

// spawner starts children from one thread that lives as long as the spawner. On Linux a child asks to be killed when the thread that started it ends
// (Pdeathsig), and Go may end an idle thread at any time. A child that was started from any goroutine would die at random.
type spawner struct {
	jobs chan spawnJob
}

type spawnJob struct {
	cmd    *exec.Cmd
	result chan error
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan spawnJob)}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine, and its children with the thread
	for job := range s.jobs {
		job.result <- job.cmd.Start()
	}
}

func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = leash()
	job := spawnJob{cmd: cmd, result: make(chan error, 1)}
	s.jobs <- job
	return <-job.result
}

// close ends the thread. On Linux that kills every child that is still there.
func (s *spawner) close() { close(s.jobs) }
