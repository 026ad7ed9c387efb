// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/poundlock/poundlock/test/chaos/wire"
)

// crash is a kill of the manager at one of its writes to a play's objects.
type crash struct {
	script
	write int
	// stored: the API server executes the write before the kill. The manager gets no answer in either case.
	stored bool
}

func (c crash) String() string {
	moment := "before"
	if c.stored {
		moment = "after"
	}
	return fmt.Sprintf("%s: right %s write %d", c.name, moment, c.write)
}

// of returns every crash of a story: before and after each of its writes.
func of(s script) []crash {
	var out []crash
	for i := range s.writes {
		out = append(out, crash{s, i + 1, false}, crash{s, i + 1, true})
	}
	return out
}

// atOnce is how many plays begin and end side by side. More of them would only wait for the processors.
const atOnce = 12

func TestCrashAtEveryWrite(t *testing.T) {
	var scripts []script
	books := map[string]*book{}
	for some := range slices.Chunk(cast(t), atOnce/2) {
		rehearsed := rehearse(t, some...)
		scripts = append(scripts, rehearsed...)
		if t.Failed() {
			break // the end of the undisturbed story is not known
		}
		for batch := range slices.Chunk(crashes(rehearsed), atOnce) {
			playAll(t, batch, books)
		}
		t.Log(table(rehearsed, books))
	}
	t.Log(table(scripts, books))
}

func playAll(t *testing.T, batch []crash, books map[string]*book) {
	t.Helper()
	var all []*play
	for range batch {
		all = append(all, newPlay())
	}
	if !together(t, "begin", all, func(p *play) { p.ready(batch[slices.Index(all, p)].story) }) {
		return // a story that has not begun would fail at its first act, and that would hide why
	}
	for i, c := range batch {
		if books[c.name].beyond(c) {
			continue // the rehearsal, in which more happens at a time, took more writes
		}
		t.Run(c.String(), func(t *testing.T) { all[i].on(t, func(p *play) { p.crash(c, books) }) })
	}
	together(t, "end", all, (*play).clean)
}

// drawn is how many stories are played beside the first one if not all are played.
const drawn = 4

// cast returns the stories that are played: all, or the first one and some that are drawn.
func cast(t *testing.T) []story {
	t.Helper()
	all := stories()
	if !*complete {
		chance(t).Shuffle(len(all)-1, func(i, j int) { all[i+1], all[j+1] = all[j+1], all[i+1] })
		all = all[:1+drawn]
	}
	if *only != "" {
		all = slices.DeleteFunc(stories(), func(s story) bool { return !chosen(s.name) })
	}
	return all
}

// chosen reports whether the pattern of the flag -story matches a name. An invalid pattern matches nothing.
func chosen(name string) bool {
	is, err := regexp.MatchString(*only, name)
	return is && err == nil
}

// crashes returns the crashes that are played. With -complete it returns all of them. Otherwise it returns one for each write of the first story, either right
// before or right after the write, and one crash of each other story.
func crashes(scripts []script) []crash {
	var out []crash
	for i, s := range scripts {
		all := of(s)
		if !*complete && i > 0 {
			all = all[int(*seed%uint64(len(all))):][:1]
		}
		if !*complete && i == 0 {
			all = slices.DeleteFunc(all, func(c crash) bool { return (uint64(c.write)+*seed)%2 == 0 == c.stored })
		}
		out = append(out, all...)
	}
	return out
}

func chance(t *testing.T) *rand.Rand {
	t.Helper()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("drawn by -seed %d", *seed)
	return rand.New(rand.NewPCG(*seed, 0))
}

// crash plays a story until the manager is killed, and starts the manager again. The play fails unless it ends as the undisturbed story does.
func (p *play) crash(c crash, books map[string]*book) {
	p.Helper()
	began, before := time.Now(), len(line.Writes())
	dead := make(chan struct{})
	kill := sync.OnceFunc(func() {
		if err := stage.StopManager(); err != nil {
			p.Error(err)
		}
		close(dead)
	})
	effect := wire.Before(kill)
	if c.stored {
		effect = wire.After(kill)
	}
	p.lay(wire.Nth(c.write, p.writes), effect)
	up := make(chan error, 1)
	var down time.Duration
	go func() {
		<-dead
		died := time.Now()
		err := stage.StartManager(p.Context())
		down = time.Since(died)
		up <- err
	}()
	c.act(p)
	p.ends(c.script.end)
	hit := closed(dead)
	if !hit {
		p.Logf("it came to its end without a write %d", c.write)
		p.over() // a writer is no longer killed from now on
		kill()
	}
	if err := <-up; err != nil {
		p.Fatal(err)
	}
	p.ends(c.script.end)
	p.over()
	p.alone(before)
	books[c.name] = books[c.name].add(c, hit, time.Since(began), down)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// alone fails the play if anything was written to the objects of plays that wait for their turn or have had it.
func (p *play) alone(since int) {
	p.Helper()
	for _, w := range line.Writes()[since:] {
		if strings.HasPrefix(w.Name, "play-") && w.Resource != "events" && !p.owns(w.Name) {
			p.Errorf("an object at rest was written to: %s", w)
		}
	}
}

// book counts the plays of a story.
type book struct {
	played, hit int
	// took is the total time of the plays, most that of the longest one. down is how much of it no manager ran.
	took, most, down time.Duration
	// last is the number of the first write that was not reached, 0 if all were.
	last int
}

func (b *book) beyond(c crash) bool { return b != nil && b.last > 0 && c.write > b.last }

func (b *book) add(c crash, hit bool, took, down time.Duration) *book {
	if b == nil {
		b = &book{}
	}
	b.played, b.took, b.most, b.down = b.played+1, b.took+took, max(b.most, took), b.down+down
	if hit {
		b.hit++
	} else if b.last == 0 {
		b.last = c.write
	}
	return b
}

func table(scripts []script, books map[string]*book) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-64s %6s %7s %8s %8s %8s %8s\n", "story", "writes", "crashes", "not hit", "mean", "longest", "start")
	for _, s := range scripts {
		b := books[s.name]
		if b == nil {
			b = &book{}
		}
		each := func(d time.Duration) float64 { return d.Seconds() / float64(max(1, b.played)) }
		fmt.Fprintf(&out, "%-64s %6d %7d %8d %7.1fs %7.1fs %7.1fs\n", s.name, len(s.writes), b.played, b.played-b.hit, each(b.took), b.most.Seconds(), each(b.down))
	}
	return out.String()
}
