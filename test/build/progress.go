// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/poundlock/poundlock/internal/amount"
)

// How often a running build reports that it is alive: by a line, and on a terminal by a bar that is overwritten.
const (
	beat    = 15 * time.Second
	barBeat = time.Second
)

// watch runs a `go build -v`. At every beat it reports to progress how long the build has run, its phase, and about how much of it is done. The error has the
// go tool's output without the package names.
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
	stop := state.report(title, start, progress)
	scan(stderr, state)
	err = cmd.Wait()
	stop()
	if err != nil {
		return failed(ctx, cmd.Args[1:2], state.output(), err)
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

// phase is the progress of a `go build -v`, by the lines that it printed.
type phase struct {
	last string // the package that is compiled last; after it, only the linker runs

	mu         sync.Mutex
	downloaded int
	compiled   int
	total      int // how many packages there are to compile; 0 until that is known
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
	case p.compiled > 0 && p.total > 0:
		return fmt.Sprintf("compiling, %d of %s, %d%%", p.compiled, amount.Of(p.total, "package"), p.percent())
	case p.compiled > 0:
		return fmt.Sprintf("compiling, %s so far", amount.Of(p.compiled, "package"))
	case p.downloaded > 0:
		return fmt.Sprintf("downloading modules, %d so far", p.downloaded)
	default:
		return "reading modules, or linking if all is compiled"
	}
}

// expect takes the number of packages that are left to compile.
func (p *phase) expect(left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = p.compiled + left
}

// percent returns how much is compiled. It ends at 99, because packages that were compiled while the rest was counted may count twice or not at all.
func (p *phase) percent() int { return min(99, p.compiled*100/max(1, p.total)) }

// bar returns the progress of the compilation for a terminal; "" before and after it.
func (p *phase) bar() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.compiled == 0 || p.total == 0 || p.linking {
		return ""
	}
	const width = 20
	full := p.percent() * width / 100
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] "
}

func (p *phase) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.rest, "\n")
}

// report reports at every beat until the returned function is called.
func (p *phase) report(title string, start time.Time, progress io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	every, write := beat, func() { fmt.Fprintf(progress, "%s: %s, %s\n", title, elapsed(start), p) }
	terminal := isTerminal(progress)
	if terminal {
		every, write = barBeat, func() { fmt.Fprintf(progress, clearLine+"%s%s, %s", p.bar(), elapsed(start), p) }
	}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				write()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		if terminal {
			fmt.Fprint(progress, clearLine)
		}
	}
}

// clearLine moves to the beginning of a terminal's line, and empties the line.
const clearLine = "\r\x1b[K"

func isTerminal(w io.Writer) bool {
	f, is := w.(*os.File)
	return is && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

func elapsed(start time.Time) string {
	return fmt.Sprintf("%d s", int(time.Since(start).Seconds()))
}
