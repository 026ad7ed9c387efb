// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	upgrade "k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/poundlock/poundlock/translation"
)

// echo is an API server whose containers answer with what they receive, by SPDY and WebSocket.
func echo(t *testing.T) http.HandlerFunc {
	const success = `{"metadata":{},"status":"Success"}`
	return func(w http.ResponseWriter, r *http.Request) {
		forward := strings.HasSuffix(r.URL.Path, "/portforward")
		streams := make(chan httpstream.Stream, 3)
		opened := func(s httpstream.Stream, replied <-chan struct{}) error {
			go func() {
				<-replied
				streams <- s
			}()
			return nil
		}
		if websocket.IsWebSocketUpgrade(r) && forward {
			upgrader := websocket.Upgrader{Subprotocols: []string{"SPDY/3.1+" + portforward.PortForwardProtocolV1Name}}
			socket, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			conn, err := upgrade.NewServerConnection(portforward.NewTunnelingConnection("server", socket), opened)
			if err != nil {
				t.Error(err)
				return
			}
			forwarded(t, conn, streams)
			return
		}
		if websocket.IsWebSocketUpgrade(r) {
			conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{"v5.channel.k8s.io": {Binary: true, Channels: []wsstream.ChannelType{
				wsstream.ReadChannel, wsstream.WriteChannel, wsstream.IgnoreChannel, wsstream.WriteChannel, wsstream.IgnoreChannel,
			}}})
			_, channels, err := conn.Open(w, r)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := io.Copy(channels[1], channels[0]); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(channels[3], success)
			return
		}
		protocol := "v4.channel.k8s.io"
		if forward {
			protocol = portforward.PortForwardProtocolV1Name
		}
		if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
			t.Error(err)
			return
		}
		conn := upgrade.NewResponseUpgrader().UpgradeResponse(w, r, opened)
		if conn == nil {
			t.Error("no upgrade")
			return
		}
		if forward {
			forwarded(t, conn, streams)
			return
		}
		defer conn.Close()
		of := typed(streams, 3)
		if _, err := io.Copy(of[corev1.StreamTypeStdout], of[corev1.StreamTypeStdin]); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(of[corev1.StreamTypeError], success)
	}
}

// typed are the first streams of a connection, by their type.
func typed(streams <-chan httpstream.Stream, wanted int) map[string]httpstream.Stream {
	of := map[string]httpstream.Stream{}
	for len(of) < wanted {
		s := <-streams
		of[s.Headers().Get(corev1.StreamType)] = s
	}
	return of
}

// forwarded answers on a forwarded port with what comes from it.
func forwarded(t *testing.T, conn httpstream.Connection, streams <-chan httpstream.Stream) {
	defer conn.Close()
	of := typed(streams, 2)
	defer of[corev1.StreamTypeError].Close()
	if _, err := io.Copy(of[corev1.StreamTypeData], of[corev1.StreamTypeData]); err != nil {
		t.Error(err)
	}
	_ = of[corev1.StreamTypeData].Close()
	<-conn.CloseChan()
}

// said is sent to containers: bytes that look like names of groups.
const said = `{"apiVersion":"cluster.x-k8s.io/v1beta2"} cluster.hypershift.openshift.io` + "\n"

// exec and attach reach a container through the proxy as clients have them do, in both protocols.
func TestExec(t *testing.T) {
	_, address := before(t, echo(t))
	config := &rest.Config{Host: address}
	for _, verb := range []string{"exec", "attach"} {
		to, err := url.Parse(address + "/api/v1/namespaces/n/pods/p/" + verb + "?stdin=true&stdout=true")
		if err != nil {
			t.Fatal(err)
		}
		old, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, to)
		if err != nil {
			t.Fatal(err)
		}
		newer, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, to.String())
		if err != nil {
			t.Fatal(err)
		}
		for protocol, executor := range map[string]remotecommand.Executor{"SPDY": old, "WebSocket": newer} {
			var out bytes.Buffer
			err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader(strings.Repeat(said, 1000)), Stdout: &out})
			if err != nil || out.String() != strings.Repeat(said, 1000) {
				t.Errorf("%s by %s: %d bytes, %v", verb, protocol, out.Len(), err)
			}
		}
	}
}

// A port of a container is forwarded through the proxy as clients have it done, in both protocols.
func TestPortForward(t *testing.T) {
	_, address := before(t, echo(t))
	config := &rest.Config{Host: address}
	to, err := url.Parse(address + "/api/v1/namespaces/n/pods/p/portforward")
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := portforward.NewSPDYOverWebsocketDialer(to, config)
	if err != nil {
		t.Fatal(err)
	}
	stops := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	readies := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	ports := []string{"0:80"}
	old, err := portforward.New(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to), ports, stops[0],
		readies[0], io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	tunnelled, err := portforward.New(newer, ports, stops[1], readies[1], io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for i, forwarder := range []*portforward.PortForwarder{old, tunnelled} {
		t.Run([]string{"SPDY", "WebSocket"}[i], func(t *testing.T) { forwardsAPort(t, forwarder, stops[i], readies[i]) })
	}
}

func forwardsAPort(t *testing.T, forwarder *portforward.PortForwarder, stop, ready chan struct{}) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := errors.Join(conn.SetDeadline(time.Now().Add(time.Minute)), func() error { _, err := io.WriteString(conn, said); return err }()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(said))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != said || !strings.Contains(said, translation.Private) {
		t.Errorf("%q %v", got, err)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
