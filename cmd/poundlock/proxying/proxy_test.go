// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxying

import (
	"strings"
	"testing"
)

func TestOnlyLoopbackIsListenedAt(t *testing.T) {
	for _, bad := range []string{":8080", "0.0.0.0:8080", "10.0.0.1:8080", "[::]:8080", "example.com:80", "127.0.0.1", ""} {
		if l, err := (options{listen: bad}).clients(); err == nil || !strings.Contains(err.Error(), "--listen") {
			t.Errorf("%q: %v %v", bad, l, err)
		}
	}
	for _, good := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := options{listen: good}.clients()
		if err != nil {
			t.Errorf("%q: %v", good, err)
			continue
		}
		l.Close()
	}
}
