// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"
)

func main() {
	most := flag.Int("states", 6_000_000,
		"the most states of one walk; a walk that has more ends there, and says so. A million takes about 200 MB, and two walks go on at a time")
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

// proofs performs every walk of the proof with the functions as they are, and returns the number of flaws.
func proofs(most int, only string) (flaws int) {
	var chosen []bound
	for _, b := range bounds() {
		if strings.Contains(b.name, only) {
			chosen = append(chosen, b)
		}
	}
	states := 0
	for i, r := range inTurn(len(chosen), func(i int) result { return chosen[i].walk(actual(), most) }) {
		states += r.states
		fmt.Printf("%s\n    %v\n", chosen[i].name, r)
		if r.flaw != nil {
			flaws++
			fmt.Println(r.flaw)
		}
	}
	fmt.Printf("\n%d states in all\n\n", states)
	return flaws
}

// plants plants each bug, and returns how many were not found.
func plants(most int, only string) (missed int) {
	var chosen []mutant
	for _, m := range mutants() {
		if strings.Contains(m.name, only) {
			chosen = append(chosen, m)
		}
	}
	for i, found := range inTurn(len(chosen), func(i int) result {
		r := actual()
		chosen[i].plant(&r)
		return chosen[i].walk(r, most)
	}) {
		if found.flaw == nil {
			missed++
			fmt.Printf("planted: %s\n    NOT FOUND in %v\n\n", chosen[i].name, found)
			continue
		}
		fmt.Printf("planted: %s\n    found in %v\n%v\n\n", chosen[i].name, found, found.flaw)
	}
	return missed
}

// inTurn calls do for 0 to n-1, two calls at a time, and yields the results in that order.
func inTurn(n int, do func(int) result) iter.Seq2[int, result] {
	return func(yield func(int, result) bool) {
		done, free := make([]chan result, n), make(chan struct{}, 2)
		for i := range done {
			done[i] = make(chan result, 1)
		}
		go func() {
			for i := range done {
				free <- struct{}{}
				go func() {
					done[i] <- do(i)
					<-free
				}()
			}
		}()
		for i := range done {
			if !yield(i, <-done[i]) {
				return
			}
		}
	}
}
