// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

const day = 24 * time.Hour

var (
	epoch    = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	yearly   = Lifetimes{CA: 365 * day, Serving: 30 * day}
	secretAt = types.NamespacedName{Namespace: "lock", Name: "serving"}
	ourName  = authorityName(secretAt)
	ourNames = Names{DNS: []string{"poundlock.lock.svc"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}
)

func newCA(t *testing.T, name string, at time.Time) *authority {
	t.Helper()
	ca, err := newAuthority(name, yearly.CA, at)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func signed(t *testing.T, ca *authority, names Names, at time.Time) *tls.Certificate {
	t.Helper()
	pair, err := ca.serving(names, yearly.Serving, at)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestDecide(t *testing.T) {
	var (
		ca, other, lostOne = newCA(t, ourName, epoch), newCA(t, ourName, epoch.Add(-day)), newCA(t, ourName, epoch.Add(-2*day))
		foreignCA          = newCA(t, "somebody else", epoch)
		leaf               = signed(t, ca, ourNames, epoch)
		stable             = material{ca: ca, serving: leaf}
		overlapping        = material{ca: ca, serving: leaf, previous: certsOf(other), retire: epoch.Add(30 * day)}
		undated            = material{ca: ca, serving: leaf, previous: certsOf(other)}
		wider              = Names{DNS: []string{"poundlock.lock.svc", "new.lock.svc"}}
	)
	tests := map[string]struct {
		have    material
		trusted []*x509.Certificate
		names   Names
		at      time.Duration
		want    outcome
	}{
		"nothing is there: make all":                                                                    {have: material{}, want: outcome{ca: true, serving: true, write: true}},
		"all is well: nothing":                                                                          {have: stable},
		"a serving certificate just before two thirds of its life":                                      {have: stable, at: 20*day - time.Hour},
		"a serving certificate at two thirds of its life":                                               {have: stable, at: 20 * day, want: outcome{serving: true, write: true}},
		"a serving certificate that has expired":                                                        {have: stable, at: 30 * day, want: outcome{serving: true, write: true}},
		"a CA just before two thirds of its life":                                                       {have: withLeafAt(t, ca, 230*day), at: 243 * day},
		"a CA at two thirds of its life stays trusted beside a new one":                                 {have: withLeafAt(t, ca, 230*day), at: 244 * day, want: outcome{ca: true, serving: true, write: true, previous: certsOf(ca)}},
		"a CA that has expired is not worth keeping":                                                    {have: withLeafAt(t, ca, 230*day), at: 365 * day, want: outcome{ca: true, serving: true, write: true}},
		"a CA of the future is of no use now, and stays trusted":                                        {have: stable, at: -2 * day, want: outcome{ca: true, serving: true, write: true, previous: certsOf(ca)}},
		"no serving certificate":                                                                        {have: material{ca: ca}, want: outcome{serving: true, write: true}},
		"a serving certificate of another CA":                                                           {have: material{ca: ca, serving: signed(t, other, ourNames, epoch)}, want: outcome{serving: true, write: true}},
		"a serving certificate that lacks a name gets it, and keeps what it has, for the other replica": {have: stable, names: wider, want: outcome{serving: true, write: true, names: Names{DNS: []string{"poundlock.lock.svc", "new.lock.svc"}, IPs: ourNames.IPs}}},
		"a serving certificate with a name too many":                                                    {have: stable, names: Names{DNS: ourNames.DNS}},
		"a name that is not wanted any more goes at the next renewal":                                   {have: stable, names: Names{DNS: ourNames.DNS}, at: 20 * day, want: outcome{serving: true, write: true, names: Names{DNS: ourNames.DNS}}},
		"the key of the CA is lost: a new CA, and the old one stays trusted":                            {have: material{serving: leaf, previous: certsOf(ca), damage: []string{"ca.key"}}, want: outcome{ca: true, serving: true, write: true, previous: certsOf(ca)}},
		"the Secret was deleted: what the caBundles trust of ours is adopted, and nothing else":         {have: material{}, trusted: certsOf(ca, foreignCA), want: outcome{ca: true, serving: true, write: true, previous: certsOf(ca)}},
		"an older Secret was restored: the lost CA is adopted":                                          {have: stable, trusted: certsOf(ca, lostOne), want: outcome{write: true, previous: certsOf(lostOne)}},
		"a foreign CA in a caBundle is none of the Secret's business":                                   {have: stable, trusted: certsOf(ca, foreignCA)},
		"a previous CA before its date":                                                                 {have: overlapping, trusted: certsOf(ca, other), at: 30*day - time.Second, want: outcome{serving: true, write: true, previous: certsOf(other)}},
		"a retired CA stays in the Secret while a caBundle holds it":                                    {have: fresh(t, overlapping, 29*day), trusted: certsOf(ca, other), at: 40 * day, want: outcome{previous: certsOf(other)}},
		"a retired CA leaves the Secret when no caBundle holds it":                                      {have: fresh(t, overlapping, 29*day), trusted: certsOf(ca), at: 40 * day, want: outcome{write: true}},
		"a retired CA waits for slow clocks":                                                            {have: fresh(t, overlapping, 29*day), trusted: certsOf(ca), at: 35 * day, want: outcome{previous: certsOf(other)}},
		"a previous CA without a date stays while it is valid":                                          {have: fresh(t, undated, 99*day), at: 100 * day, want: outcome{previous: certsOf(other)}},
		"damage alone is a reason to write":                                                             {have: material{ca: ca, serving: leaf, damage: []string{"ca-previous.crt"}}, want: outcome{write: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.names.empty() {
				test.names = ourNames
			}
			if test.want.serving && test.want.names.empty() {
				test.want.names = test.names
			}
			p := decide(test.have, test.trusted, ourName, test.names, yearly, epoch.Add(test.at))
			got := outcome{ca: p.authority != "", serving: p.serving != "", write: p.changed, previous: p.previous}
			if got.serving {
				got.names = p.names
			}
			if diff := cmp.Diff(test.want.readable(), got.readable()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// outcome is what matters of a plan.
type outcome struct {
	ca, serving, write bool
	previous           []*x509.Certificate
	names              Names
}

func (v outcome) readable() map[string]any {
	serials := []string{}
	for _, cert := range v.previous {
		serials = append(serials, cert.SerialNumber.String())
	}
	return map[string]any{"new CA": v.ca, "new serving": v.serving, "write": v.write, "previous": serials, "names": v.names.hosts()}
}

func certsOf(cas ...*authority) []*x509.Certificate {
	var certs []*x509.Certificate
	for _, ca := range cas {
		certs = append(certs, ca.cert)
	}
	return certs
}

func withLeafAt(t *testing.T, ca *authority, at time.Duration) material {
	return material{ca: ca, serving: signed(t, ca, ourNames, epoch.Add(at))}
}

func fresh(t *testing.T, m material, at time.Duration) material {
	m.serving = signed(t, m.ca, ourNames, epoch.Add(at))
	return m
}

func TestDecisionIsStable(t *testing.T) {
	for name, start := range map[string]material{
		"from nothing":        {},
		"from a CA alone":     {ca: newCA(t, ourName, epoch)},
		"from an expired one": withLeafAt(t, newCA(t, ourName, epoch.Add(-400*day)), -400*day),
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(start, nil, ourName, ourNames, yearly, epoch)
			after, err := made(start, p, ourName, yearly, epoch)
			if err != nil {
				t.Fatal(err)
			}
			if again := decide(after, after.trust(epoch), ourName, ourNames, yearly, epoch); again.changed {
				t.Errorf("what was just made is changed again: CA %q, serving %q", again.authority, again.serving)
			}
		})
	}
}

func TestMayServe(t *testing.T) {
	oldCA, ca := newCA(t, ourName, epoch), newCA(t, ourName, epoch)
	held, offered := signed(t, oldCA, ourNames, epoch), signed(t, ca, ourNames, epoch)
	tests := map[string]struct {
		held       *tls.Certificate
		trustedFor time.Duration
		at         time.Duration
		want       bool
	}{
		"nothing is served yet":                           {trustedFor: -1, want: true},
		"a CA that is not trusted yet":                    {held: held, trustedFor: -1},
		"a CA that API servers may not have seen yet":     {held: held, trustedFor: 4 * time.Second},
		"a CA that was trusted for long":                  {held: held, trustedFor: 5 * time.Second, want: true},
		"an expired certificate is worse than a new one":  {held: held, trustedFor: -1, at: 31 * day, want: true},
		"the same CA needs no waiting":                    {held: signed(t, ca, ourNames, epoch), trustedFor: -1, want: true},
		"an offer that has expired is not worth a change": {held: signed(t, oldCA, ourNames, epoch.Add(20*day)), trustedFor: day, at: 31 * day},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mayServe(test.held, offered, ca.cert, test.trustedFor, 5*time.Second, epoch.Add(test.at)); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReadMaterial(t *testing.T) {
	ca, other := newCA(t, ourName, epoch), newCA(t, ourName, epoch)
	good, err := encode(material{ca: ca, serving: signed(t, ca, ourNames, epoch), previous: certsOf(other)})
	if err != nil {
		t.Fatal(err)
	}
	strange, err := encode(material{ca: newCA(t, "somebody else", epoch), serving: signed(t, other, ourNames, epoch)})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		spoil             map[string]string
		ca, serving       bool
		previous, damages int
	}{
		"what was written is read":                              {ca: true, serving: true, previous: 1},
		"no key of the CA: its certificate stays trusted":       {spoil: map[string]string{keyCAKey: ""}, serving: true, previous: 2, damages: 1},
		"the key of another CA":                                 {spoil: map[string]string{keyCAKey: string(strange[keyCAKey])}, serving: true, previous: 2, damages: 1},
		"a CA that is somebody else's is not trusted":           {spoil: map[string]string{keyCA: string(strange[keyCA])}, serving: true, previous: 1, damages: 1},
		"a bundle in the place of the CA":                       {spoil: map[string]string{keyCA: string(good[keyCA]) + string(good[keyPrevious])}, serving: true, previous: 3, damages: 1},
		"half a serving certificate":                            {spoil: map[string]string{keyServing: string(good[keyServing][:100])}, ca: true, previous: 1, damages: 1},
		"a serving certificate with the key of another":         {spoil: map[string]string{keyServingKey: string(strange[keyServingKey])}, ca: true, previous: 1, damages: 1},
		"words instead of PEM, everywhere":                      {spoil: map[string]string{keyCA: "a", keyCAKey: "b", keyPrevious: "c", keyServing: "d", keyServingKey: "e"}, damages: 3},
		"a previous CA that is cut off behind the first":        {spoil: map[string]string{keyPrevious: string(good[keyPrevious]) + "-----BEGIN CERT"}, ca: true, serving: true, previous: 1, damages: 1},
		"a serving certificate as a previous CA is not trusted": {spoil: map[string]string{keyPrevious: string(good[keyServing])}, ca: true, serving: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range good {
				data[key] = value
			}
			for key, value := range test.spoil {
				data[key] = []byte(value)
			}
			m := readMaterial(data, "", ourName)
			if (m.ca != nil) != test.ca || (m.serving != nil) != test.serving || len(m.previous) != test.previous || len(m.damage) != test.damages {
				t.Errorf("CA %v, serving %v, %d previous, damage %q", m.ca != nil, m.serving != nil, len(m.previous), m.damage)
			}
		})
	}
}

func TestServingNeverOutlivesItsCA(t *testing.T) {
	ca := newCA(t, ourName, epoch)
	if leaf := signed(t, ca, ourNames, epoch.Add(360*day)).Leaf; leaf.NotAfter.After(ca.cert.NotAfter) {
		t.Errorf("certificate until %s, CA until %s", leaf.NotAfter, ca.cert.NotAfter)
	}
}
