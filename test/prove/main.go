// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	most := flag.Int("states", 20_000_000, "the most states of one walk; a walk that has more ends there, and says so. A million takes about 150 MB")
	only := flag.String("only", "", "walk only what has these words in its name")
	planted := flag.Bool("planted", true, "find the planted bugs too, and tell their stories")
	flag.Parse()
	begun := time.Now()
	flaws := proofs(*most, *only)
	if *planted {
		flaws += plants(*most, *only)
	}
	fmt.Printf("\n%.0fs, %d flaws\n", time.Since(begun).Seconds(), flaws)
	if flaws > 0 {
		os.Exit(1)
	}
}

// proofs walks every bound with the functions as they are, and counts flaws.
func proofs(most int, only string) (flaws int) {
	states := 0
	for _, b := range bounds() {
		if !strings.Contains(b.name, only) {
			continue
		}
		r := b.walk(actual(), most)
		states += r.states
		fmt.Printf("%s\n    %v\n", b.name, r)
		if r.flaw != nil {
			flaws++
			fmt.Println(r.flaw)
		}
	}
	fmt.Printf("\n%d states in all\n\n", states)
	return flaws
}

// plants plants each bug, and counts those that are not found.
func plants(most int, only string) (missed int) {
	for _, m := range mutants() {
		if !strings.Contains(m.name, only) {
			continue
		}
		r := actual()
		m.plant(&r)
		found := m.walk(r, most)
		if found.flaw == nil {
			missed++
			fmt.Printf("planted: %s\n    NOT FOUND in %v\n\n", m.name, found)
			continue
		}
		fmt.Printf("planted: %s\n    found in %v\n%v\n\n", m.name, found, found.flaw)
	}
	return missed
}
