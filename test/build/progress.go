// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// beat is how often a running build says that it is alive.
const beat = 5 * time.Second

// watch runs a `go build -v` and reports to progress at every beat for how long it has run and in what phase it is. What the go tool
// said beside package names is in the error.
func watch(ctx context.Context, cmd *exec.Cmd, title string, state *phase, progress io.Writer) error {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	fmt.Fprintf(progress, "%s: this happens once, and takes minutes if Go has not compiled it before\n", title)
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := state.tell(title, start, progress)
	scan(stderr, state)
	err = cmd.Wait()
	stop()
	if err != nil {
		return failed(ctx, cmd.Args[1:2], state.said(), err)
	}
	fmt.Fprintf(progress, "%s: done in %s\n", title, elapsed(start))
	return nil
}

func scan(r io.Reader, state *phase) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		state.line(lines.Text())
	}
}

// phase is what the lines of a `go build -v` add up to.
type phase struct {
	last  string // the package that is compiled last; after it there is only the linker
	total int    // about how many there are

	mu         sync.Mutex
	downloaded int
	compiled   int
	linking    bool
	rest       []string
}

func (p *phase) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.HasPrefix(text, "go: downloading "):
		p.downloaded++
	case text == p.last:
		p.linking = true
	case strings.ContainsAny(text, " :\t"):
		p.rest = append(p.rest, text)
	case text != "":
		p.compiled++
	}
}

func (p *phase) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.linking:
		return "linking"
	case p.compiled > 0:
		return fmt.Sprintf("compiling, %d packages so far (of about %d if none is in Go's own cache)", p.compiled, p.total)
	case p.downloaded > 0:
		return fmt.Sprintf("downloading modules, %d so far", p.downloaded)
	default:
		return "reading modules, or linking if all is compiled"
	}
}

func (p *phase) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.rest, "\n")
}

// tell writes a line every beat until the returned function is called.
func (p *phase) tell(title string, start time.Time, progress io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(progress, "%s: %s, %s\n", title, elapsed(start), p)
			}
		}
	}()
	return func() { close(done); <-ended }
}

func elapsed(start time.Time) string {
	return fmt.Sprintf("%d s", int(time.Since(start).Seconds()))
}
