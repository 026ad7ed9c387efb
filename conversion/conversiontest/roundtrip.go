// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"encoding/json"
	"go/token"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
)

// Trip describes a round trip of a conversion: from type A to type B and back. The test generates the values of type A.
type Trip[A, B any] struct {
	There func(*A) (*B, field.ErrorList)
	Back  func(*B) (*A, field.ErrorList)
	// Root precedes the paths of A's fields in errors.
	Root string
	// Lines are the table's rows. Own returns the paths of a row that are in A.
	Lines []conversion.Line
	Own   func(conversion.Line) []string
	// Values makes valid values of single fields. Repair then changes the whole value, so that it also obeys the rules about more than one field.
	Values Values
	Repair func(*rand.Rand, *A)
	// Normal changes a value into the form that it has after the round trip. It is for fields with two forms of the same meaning.
	Normal func(*A)
	// Runs is the number of values to generate. 0 means 1,000.
	Runs int
}

// Seed returns the seed for random values and logs it. The seed is the environment variable CONVERSION_SEED or, if this is not set, a new one each time.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CONVERSION_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("CONVERSION_SEED must be a number: %v", err)
		}
	}
	t.Logf("CONVERSION_SEED=%d repeats this run", seed)
	return seed
}

// Run tests round trips of random values. A value whose fields all convert must come back unchanged. A value with fields that do not convert must be refused
// for exactly these fields.
func (trip Trip[A, B]) Run(t *testing.T) {
	t.Helper()
	r := rand.New(rand.NewPCG(Seed(t), 0))
	runs, went, refused := max(trip.Runs, 1), 0, 0
	if trip.Runs == 0 {
		runs = 1000
	}
	for range runs {
		a := trip.make(r)
		expected := trip.unconvertible(a)
		if len(expected) == 0 {
			trip.goes(t, a)
			went++
		} else {
			trip.refuses(t, a, expected)
			refused++
		}
		if t.Failed() {
			raw, _ := json.MarshalIndent(a, "", "  ")
			t.Fatalf("the value was:\n%s", raw)
		}
	}
	t.Logf("%d came back, %d were refused", went, refused)
	if went < runs/4 || refused < runs/10 {
		t.Errorf("%d of %d values came back and %d were refused: that is no test", went, runs, refused)
	}
}

// Tame returns a random value in which every field that is set converts.
func (trip Trip[A, B]) Tame(r *rand.Rand) *A { return trip.fill(r, true) }

// make returns a random value. In half of the cases every field that is set converts. In the other half, fields that do not convert may be set too: about one
// in eight of them, or more if there are few such fields.
func (trip Trip[A, B]) make(r *rand.Rand) *A {
	return trip.fill(r, r.IntN(2) == 0)
}

func (trip Trip[A, B]) fill(r *rand.Rand, tame bool) *A {
	var none []string
	oneSided := slices.DeleteFunc(slices.Clone(trip.Lines), func(l conversion.Line) bool { return l.Expressible == conversion.Both || len(trip.Own(l)) == 0 })
	for _, l := range oneSided {
		if tame || r.IntN(min(8, max(2, len(oneSided)))) > 0 {
			none = append(none, trip.Own(l)...)
		}
	}
	a := new(A)
	filler{r: r, values: trip.Values, zero: func(p string) bool { return under(p, none) }}.fill(reflect.ValueOf(a).Elem(), "")
	if trip.Repair != nil {
		trip.Repair(r, a)
	}
	return a
}

func under(path string, of []string) bool {
	return slices.ContainsFunc(of, func(o string) bool {
		o = strings.TrimSuffix(o, ".*")
		return path == o || strings.HasPrefix(path, o+".") || strings.HasPrefix(path, o+"[]")
	})
}

// unconvertible returns the paths of those fields that are set in a and, according to the table, do not convert.
func (trip Trip[A, B]) unconvertible(a *A) []string {
	var out []string
	for _, l := range trip.Lines {
		if l.Expressible == conversion.Both {
			continue
		}
		for _, path := range trip.Own(l) {
			for _, text := range conversion.SetPaths(a, path, l.Passes) {
				out = append(out, trip.Root+text)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (trip Trip[A, B]) goes(t *testing.T, a *A) {
	t.Helper()
	b, errs := trip.There(clone(t, a))
	again, _ := trip.There(clone(t, a))
	if x, y := bytesOf(t, b), bytesOf(t, again); x != y {
		t.Errorf("equal input gave two outputs:\n%s\n%s", x, y)
	}
	if len(errs) > 0 {
		t.Errorf("a value that can go was refused: %v", errs.ToAggregate())
		return
	}
	back, errs := trip.Back(b)
	if len(errs) > 0 {
		t.Errorf("what went could not come back: %v", errs.ToAggregate())
		return
	}
	want := clone(t, a)
	trip.Normal(want)
	if d := cmp.Diff(want, back, cmpopts.EquateEmpty(), jsonOnly); d != "" {
		t.Errorf("went and came back another (-went +came back):\n%s\nvia %s", d, bytesOf(t, b))
	}
}

func (trip Trip[A, B]) refuses(t *testing.T, a *A, expected []string) {
	t.Helper()
	_, errs := trip.There(clone(t, a))
	var got []string
	for _, e := range errs {
		got = append(got, e.Field)
		if e.Detail == "" {
			t.Errorf("%s is refused without a reason", e.Field)
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(expected, got); d != "" {
		t.Errorf("the fields that cannot go, and those that were refused (-cannot +refused):\n%s", d)
	}
}

// jsonOnly makes cmp ignore unexported fields, because these are not in the JSON.
var jsonOnly = cmp.FilterPath(func(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && !token.IsExported(f.Name())
}, cmp.Ignore())

func bytesOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// clone returns a copy that it makes through JSON, because every value that an API server stores goes through JSON.
func clone[A any](t *testing.T, a *A) *A {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	out := new(A)
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}
