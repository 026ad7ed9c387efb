// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ports are kept in the data folder, so that its kubeconfig stays valid.
type ports struct {
	API     int `json:"api"`
	Etcd    int `json:"etcd"`
	Manager int `json:"manager"` // where the controller manager serves its health
}

// choosePorts chooses the API server's port: the one that was asked for, else the one used last time if it is free, else a free one. The other ports are always
// free ones, because nobody relies on them.
func choosePorts(file string, asked int) (ports, error) {
	last := readPorts(file)
	chosen, err := freshPorts()
	if err != nil {
		return ports{}, err
	}
	switch {
	case asked != 0 && !isFree(asked):
		return ports{}, fmt.Errorf("port %d on 127.0.0.1 is taken by another program: stop that program, or ask for another port (0 takes a free one)", asked)
	case asked != 0:
		chosen.API = asked
	case isFree(last.API):
		chosen.API = last.API
	}
	return chosen, chosen.write(file)
}

func freshPorts() (ports, error) {
	numbers, err := FreePorts(3)
	if err != nil {
		return ports{}, err
	}
	return ports{API: numbers[0], Etcd: numbers[1], Manager: numbers[2]}, nil
}

// FreePorts returns n ports of 127.0.0.1 on which nobody listens. It holds all of them until it has n, so that they differ.
func FreePorts(n int) ([]int, error) {
	var numbers []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close()
		numbers = append(numbers, listener.Addr().(*net.TCPAddr).Port)
	}
	return numbers, nil
}

func readPorts(file string) ports {
	var p ports
	if text, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(text, &p) // a damaged file only costs other ports
	}
	return p
}

func (p ports) write(file string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// isFree reports whether nobody listens on the port. It allows two seconds, in which the children of a killed predecessor end.
func isFree(port int) bool {
	if port == 0 {
		return false
	}
	free := false
	_ = wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, 2*time.Second, true, func(context.Context) (bool, error) {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			free = true
			listener.Close()
		}
		return free || !errors.Is(err, syscall.EADDRINUSE), nil
	})
	return free
}
