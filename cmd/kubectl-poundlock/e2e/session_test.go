// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// session is a command at a pseudo-terminal.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	seen strings.Builder
	// answers are typed, one at each question.
	answers []string
	// heard is called after each piece of output; its result is typed.
	heard func(all string) string
	over  bool
}

// theEnd is written after a command's output. It is a string of ECMA-48 without a meaning, so no terminal shows it.
const theEnd = "\x1b_the end\x1b\\"

// environment is a user's, without their kubectl settings.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	home := filepath.Join(stage.Plane.Dir(), "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{plugin, filepath.Dir(stage.Plane.Kubectl()), os.Getenv("PATH")}, string(os.PathListSeparator))
	return append([]string{"HOME=" + home, "KUBECONFIG=" + stage.Plane.KubeconfigPath(), "PATH=" + path, "TERM=xterm"}, more...)
}

// at types a command at a terminal of 120 columns. Its shell leads the session and ends only when all output is read: when a session's leader ends, Linux hangs
// up the terminal and drops unread output.
func at(t *testing.T, command string, env ...string) *session {
	t.Helper()
	s := &session{t: t, cmd: exec.CommandContext(t.Context(), "sh", "-c", "trap : INT; "+command+"; code=$?; printf %s '"+theEnd+"'; read -r _; exit $code")}
	s.cmd.Dir = root
	s.cmd.Env = environment(t, env...)
	return s
}

// run returns all that was on the screen, and the exit code.
func (s *session) run() (string, int) {
	s.t.Helper()
	var err error
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 50, Cols: 120}); err != nil {
		s.t.Fatal(err)
	}
	defer s.tty.Close()
	s.listen()
	err = s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	all, _, _ := strings.Cut(s.seen.String(), theEnd)
	return strings.ReplaceAll(all, "\r\n", "\n"), s.cmd.ProcessState.ExitCode()
}

// listen reads until the terminal closes, and types answers to questions.
func (s *session) listen() {
	piece := make([]byte, 4096)
	for {
		n, err := s.tty.Read(piece)
		s.seen.Write(piece[:n])
		s.react()
		if err != nil { // Linux returns EIO when the last process has closed its end
			return
		}
	}
}

func (s *session) react() {
	all := s.seen.String()
	if !s.over && strings.Contains(all, theEnd) {
		s.over = true
		s.typed("\n")
	}
	if s.over {
		return
	}
	if strings.HasSuffix(all, "[y/N] ") && len(s.answers) > 0 {
		s.typed(s.answers[0] + "\n")
		s.answers = s.answers[1:]
	}
	if s.heard != nil {
		s.typed(s.heard(all))
	}
}

func (s *session) typed(text string) {
	if text == "" {
		return
	}
	if _, err := io.WriteString(s.tty, text); err != nil {
		s.t.Error(err)
	}
}
