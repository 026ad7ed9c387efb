// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// help is the first page. HERE is replaced by the address at which the page was requested.
const help = `This is Poundlock's simulated cloud: the instances behind the Machines of both APIs.

  curl HERE/instances            all instances, including terminated ones; ?machine=NAME shows those of one Machine
  curl HERE/ledger               all calls of the controllers; filters: ?machine=NAME, ?caller=MachineAPI or ClusterAPI, ?verb=Launch
  curl HERE/audit                violations: a second instance of a Machine, an instance without a Machine, a call by the API that is not authoritative
  curl HERE/settings             boot time, latency of the calls, quota, and the delay of the lists
  curl HERE/faults               the injected faults

To change the settings, and to inject faults:

  curl -X PATCH HERE/settings -d '{"bootTime":"10s","latency":{"Launch":"3s"},"quota":6,"lag":"2s"}'
  curl HERE/faults -d '{"verb":"Launch","do":"lose-answer","machine":"NAME","times":2}'
                                 do: refuse, lose-answer or hang; verb: Launch, Describe or Terminate; times: -1 until they are deleted
  curl -X DELETE HERE/faults     deletes all faults; hanging calls end with an error
  curl -X POST HERE/instances/ID/terminate
                                 terminates an instance without the controllers; also stop and start

For JSON, use -H 'Accept: application/json', or ?output=json.
`

// page is an answer in both forms: text for people and JSON.
type page interface {
	text() string
	data() any
}

type done struct{}

func (done) text() string { return "done\n" }
func (done) data() any    { return struct{}{} }

type trouble struct{ *Error }

func (t trouble) text() string { return t.Error.Error() + "\n" }
func (t trouble) data() any    { return t.Error }

type one struct{ Instance }

func (o one) text() string { return instances{o.Instance}.text() }
func (o one) data() any    { return o.Instance }

type instances []Instance

func (l instances) data() any { return l }
func (l instances) text() string {
	return table("ID\tSTATE\tMACHINE\tZONE\tTYPE\tCREATED BY\tLAUNCHED\tENDED", len(l), func(n int) string {
		i := l[n]
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", i.ID, i.State, i.Machine.Name, i.Zone, i.Type, i.CreatedBy.Text(), clock(i.Launched), clock(i.Ended))
	})
}

type calls []Call

func (l calls) data() any { return l }
func (l calls) text() string {
	return table("CALL\tAT\tBY\tVERB\tMACHINE\tINSTANCE\tOUTCOME\tOBJECTION", len(l), func(n int) string {
		c := l[n]
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s", c.Seq, clock(c.At), c.Caller.Text(), c.Verb, c.Machine.Name, dash(c.Instance),
			cmp.Or(c.Outcome, "under way"), dash(c.Objection))
	})
}

type faults []Fault

func (l faults) data() any {
	if l == nil {
		return []Fault{}
	}
	return l
}

func (l faults) text() string {
	return table("DO\tVERB\tMACHINE\tCALLER\tTIMES", len(l), func(n int) string {
		f := l[n]
		times := fmt.Sprint(f.Times)
		if f.Times < 0 {
			times = "every time"
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", f.Do, cmp.Or(string(f.Verb), "any"), cmp.Or(f.Machine, "any"), cmp.Or(f.Caller.Text(), "any"), times)
	})
}

// auditPage is the page with what an audit found.
type auditPage struct{ err error }

func (v auditPage) text() string {
	if v.err == nil {
		return "no violations: no Machine had a second instance, no instance lost its Machine, and no API called that was not authoritative\n"
	}
	return v.err.Error() + "\n"
}

func (v auditPage) data() any {
	if v.err == nil {
		return []string{}
	}
	return strings.Split(strings.TrimPrefix(v.err.Error(), accused), between)
}

const (
	accused = "the cloud's ledger:\n  "
	between = "\n  "
)

// accusation returns the error of an audit with its findings, nil if it found nothing.
func accusation(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s%s", accused, strings.Join(wrong, between))
}

type likeness Settings

func (l likeness) data() any { return Settings(l) }
func (l likeness) text() string {
	raw, err := json.MarshalIndent(Settings(l), "", "  ")
	if err != nil {
		return err.Error() + "\n"
	}
	return string(raw) + "\n"
}

func table(head string, rows int, row func(int) string) string {
	if rows == 0 {
		return "none\n"
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for n := range rows {
		fmt.Fprintln(w, strings.ReplaceAll(row(n), "\n", " "))
	}
	w.Flush()
	return out.String()
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("15:04:05.000")
}

func dash(s string) string { return cmp.Or(s, "-") }
