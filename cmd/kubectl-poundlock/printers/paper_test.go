// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

func TestTable(t *testing.T) {
	var b bytes.Buffer
	p := printers.Output{Writer: &b, Colour: true}
	p.Table([][]string{{"A", "B"}, {p.Green("ü"), "x"}, {"long", ""}, {"end"}})
	want := "A      B\n\x1b[32mü\x1b[0m      x\nlong\nend\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestPaper(t *testing.T) {
	var b bytes.Buffer
	if p := printers.OutputOf(&b, func(string) string { return "" }); p.Colour || p.Terminal || p.Green("x") != "x" {
		t.Errorf("%+v", p)
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "  ",
		"a b":                "  a b",
		"aaaa bbbb cccc":     "  aaaa\n  bbbb\n  cccc",
		"longerthanthewidth": "  longerthanthewidth",
	} {
		if got := printers.Wrap(text, "  ", 8); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A person copies a command out of a line.
func TestWrapBreaksNoCommand(t *testing.T) {
	const move = `kubectl -n openshift-machine-api patch machines.machine.openshift.io m --type merge -p '{"spec": {"authoritativeAPI":"ClusterAPI"}}'`
	for name, c := range map[string]struct{ text, want string }{
		"at the end":                {"move authority: " + move, "  move authority:\n  " + move},
		"with a full stop":          {"move it first: " + move + ".", "  move it first:\n  " + move},
		"in the middle":             {"move it: " + move + ". Then delete it", "  move it:\n  " + move + "\n  Then delete it"},
		"several":                   {"in this order: " + move + "; " + move, "  in this order:\n  " + move + "\n  " + move},
		"several that fit":          {"add: kubectl a b; kubectl c d; kubectl e f. So", "  add:\n  kubectl a b\n  kubectl c d\n  kubectl e f\n  So"},
		"joined":                    {"type " + move + " && " + move, "  type\n  " + move + " && " + move},
		"in brackets":               {"wait (or " + move + ") for it", "  wait (or\n  " + move + "\n  ) for it"},
		"in backquotes":             {"`" + move + "` moves it", "  " + move + "\n  moves it"},
		"before a bracket":          {"type " + move + " (as admin)", "  type\n  " + move + "\n  (as admin)"},
		"one that is piped into it": {`list it: echo '{"a": "it'\''s here"}' | kubectl apply --server-side -f -`, "  list it:\n  " + `echo '{"a": "it'\''s here"}' | kubectl apply --server-side -f -`},
		"several that are piped":    {`list them: echo '{"a": "b c d"}' | kubectl apply -f -; echo '{"e": "f g h"}' | kubectl apply -f -`, "  list them:\n  " + `echo '{"a": "b c d"}' | kubectl apply -f -` + "\n  " + `echo '{"e": "f g h"}' | kubectl apply -f -`},
		"another's":                 {`find it: aws ec2 describe-images --filters 'Name=tag:Name,Values=a b'; this is a master`, "  find it:\n  aws ec2 describe-images --filters 'Name=tag:Name,Values=a b'\n  this is a master"},
		"another's name in a text":  {"it is what aws elbv2 describe-load-balancers prints", "  it is what aws elbv2\n  describe-load-balancers\n  prints"},
		"all of it in brackets":     {"mirror them first (" + move + "). So", "  mirror them first\n  " + move + "\n  So"},
		"one in brackets that fits": {"so (kubectl get x --flag y). So", "  so (kubectl get x --flag y).\n  So"},
		"an ellipsis before it":     {"warning: …" + move + " [a/b-c]", "  warning:\n  " + move + "\n  [a/b-c]"},
		"a rule's id behind it":     {"to move: " + move + " [a/b-c]", "  to move:\n  " + move + "\n  [a/b-c]"},
		"one that fits":             {"see kubectl get x. So", "  see kubectl get x. So"},
		"one that fits the next":    {"see it there: kubectl get pods.", "  see it there:\n  kubectl get pods"},
		"a short one":               {"see what is there: kubectl get. So go on", "  see what is there:\n  kubectl get. So go on"},
		"a short one in brackets":   {"see what is there (kubectl a b), and", "  see what is there\n  (kubectl a b), and"},
		"the name alone":            {"`kubectl` is a program", "  `kubectl` is a program"},
		"an argument with brackets": {"kubectl get m -o jsonpath='{.a[?(@.b==\"c\")].d}' --all-namespaces", "  kubectl get m -o jsonpath='{.a[?(@.b==\"c\")].d}' --all-namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := printers.Wrap(c.text, "  ", 30); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
