// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies/authority"
)

func (o *options) write(f *inventory.Fleet, pair inventory.Pair, in authority.API) error {
	cluster := f.Describe(o.Given)
	for _, text := range cluster.Assumed {
		fmt.Fprintln(o.ErrOut, "note:", text)
	}
	env, err := f.Env(cluster, pair)
	if err != nil {
		return err
	}
	if pair.MachineAPI == nil || pair.ClusterAPI == nil {
		return alone(pair, env, f.Lacks(cluster, env))
	}
	c, err := Compare(pair, in, env, f.SelectsBy(pair))
	if err != nil {
		return fmt.Errorf("%s: %w", pair.Ref(), err)
	}
	if done, err := o.Document(o.OutputFlags, "Comparison", c); done {
		return unless(c.Same(), err)
	}
	difference{o.Printer(), pair, o.all}.write(c)
	return unless(c.Same(), nil)
}

// alone returns the error if only one API has the object: why the mirror has not made the other object, as far as that can be judged, and the command that
// shows more.
func alone(pair inventory.Pair, env conversion.Env, lacks []inventory.Lack) error {
	has, lacking := authority.MachineAPI, authority.ClusterAPI
	if pair.MachineAPI == nil {
		has, lacking = lacking, has
	}
	why := fmt.Sprintf("%s: the object exists only in %s, so there is nothing to compare it with.", pair.Ref(), has.Text())
	if pair.MachineAPI != nil {
		if errs, _ := readiness.Unconvertible(pair, env, lacks); len(errs) > 0 {
			why = fmt.Sprintf("%s: the object exists only in %s, because it does not convert to %s: %s.", pair.Ref(), has.Text(), lacking.Text(), sentences(errs))
		}
	}
	return errors.New(why + " More: kubectl poundlock check " + pair.Ref())
}

func unless(same bool, err error) error {
	if err == nil && !same {
		return cli.Exit(cli.CodeNo, "")
	}
	return err
}

// difference writes a comparison for a person.
type difference struct {
	printers.Output
	pair inventory.Pair
	all  bool
}

func (w difference) write(c Comparison) {
	if len(c.Unspeakable) > 0 {
		w.Linef("The two objects of %s cannot be compared, because one of them does not convert to the other API:", w.pair.Ref())
		for _, u := range c.Unspeakable {
			if w.Linef(""); u.Path != "" {
				w.Linef("%s  %s", w.Bold(u.Path), w.Dim("of "+u.Side.Text()))
			}
			w.Linef("%s", printers.Wrap(u.Reason, "    ", w.Width))
		}
		return
	}
	differ, own := 0, 0
	rows := [][]string{{"", "FIELD", w.side(authority.MachineAPI), w.side(authority.ClusterAPI)}}
	for _, r := range c.Rows {
		switch {
		case r.Differs():
			differ++
			rows = append(rows, []string{w.Red("≠"), r.Path, printers.Dash(r.MachineAPI), printers.Dash(r.ClusterAPI)})
		case r.Own && w.all:
			own++
			rows = append(rows, []string{w.Dim("·"), r.Path, printers.Dash(r.MachineAPI), printers.Dash(r.ClusterAPI)})
		case r.Own:
			own++
		case w.all:
			rows = append(rows, []string{" ", r.Path, printers.Dash(r.MachineAPI), w.Dim(printers.Dash(r.ClusterAPI))})
		}
	}
	if len(rows) > 1 {
		w.Table(rows)
		w.Linef("")
	}
	w.Linef("%s, in the fields of %s: %s, %d equal%s.", w.pair.Ref(), c.In.Text(), differs(differ), len(c.Rows)-differ-own, left(own))
}

// left returns the text that counts the fields which are not compared.
func left(own int) string {
	if own == 0 {
		return ""
	}
	return fmt.Sprintf(", %d not mirrored (--all shows these)", own)
}

func differs(n int) string {
	switch n {
	case 0:
		return "no field differs"
	case 1:
		return "1 field differs"
	}
	return fmt.Sprintf("%d fields differ", n)
}

func (w difference) side(api authority.API) string {
	if w.pair.Authoritative() == api {
		return map[authority.API]string{authority.MachineAPI: "MACHINE API (authoritative)", authority.ClusterAPI: "CLUSTER API (authoritative)"}[api]
	}
	return map[authority.API]string{authority.MachineAPI: "MACHINE API", authority.ClusterAPI: "CLUSTER API"}[api]
}

// sentences returns the fields with their remedies, in the words of the other commands.
func sentences(errs field.ErrorList) string {
	var out []string
	for _, e := range errs {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(e.Field+": "+e.Detail, ": "), "."))
	}
	return strings.Join(out, "; ")
}
