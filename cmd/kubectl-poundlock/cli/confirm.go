// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Confirm asks a person the question, unless --yes was given (agreed). It returns nil for a yes. Without a terminal, the error names --yes and the further
// flags that answer the question. Ctrl-C is an answer too, after which nothing is changed.
func (p *Plugin) Confirm(ctx context.Context, agreed bool, question string, further ...string) error {
	if agreed {
		return nil
	}
	fmt.Fprintf(p.Out, "\n%s [y/N] ", question)
	type reply struct {
		text string
		err  error
	}
	answered := make(chan reply, 1)
	go func() {
		text, err := bufio.NewReader(p.In).ReadString('\n')
		answered <- reply{strings.TrimSpace(text), err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.Out)
		return Exit(CodeInterrupted, "nothing was changed")
	case r := <-answered:
		switch {
		case strings.EqualFold(r.text, "y") || strings.EqualFold(r.text, "yes"):
			return nil
		case errors.Is(r.err, io.EOF) && r.text == "":
			fmt.Fprintln(p.Out)
			return Usagef("this command asks for a confirmation, but there is no terminal: give %s", strings.Join(append([]string{"--yes"}, further...), " "))
		}
		return Exit(CodeNo, "nothing was changed")
	}
}
