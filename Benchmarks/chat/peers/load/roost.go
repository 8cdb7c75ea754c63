package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Somebody at Roost's realtime socket.
type roostMember struct {
	socket  *websocket.Conn
	channel string
	writing sync.Mutex
	number  int
}

// openRoost takes a token and a channel, and waits until events come.
func openRoost(address string, place int, words []string) (member, error) {
	dialer := websocket.Dialer{
		NetDial: from(place), HandshakeTimeout: 30 * time.Second, ReadBufferSize: 4096, WriteBufferSize: 1024,
	}
	socket, answer, err := dialer.Dial(fmt.Sprintf("ws://%s/api/v1/ws?token=%s", address, url.QueryEscape(words[0])), nil)
	if err != nil {
		if answer != nil {
			return nil, fmt.Errorf("%w: %s", err, answer.Status)
		}
		return nil, err
	}
	socket.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		var frame struct{ Type string }
		if err := socket.ReadJSON(&frame); err != nil {
			return nil, err
		}
		if frame.Type == "following" {
			socket.SetReadDeadline(time.Time{})
			return &roostMember{socket: socket, channel: words[1]}, nil
		}
	}
}

// from gives connections an address of loopback for each thousand, so that no ports run out.
func from(place int) func(network, address string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, byte(1+place/1000))}, Timeout: 30 * time.Second}
	return dialer.Dial
}

func (member *roostMember) send(text string) error {
	member.writing.Lock()
	defer member.writing.Unlock()
	member.number++
	// With an id, as a client does that wants to know that its message is kept: an `ack` comes as well.
	frame, err := json.Marshal(map[string]any{
		"type": "send_message", "id": fmt.Sprint(member.number),
		"data": map[string]string{"channel_id": member.channel, "content": text},
	})
	if err != nil {
		return err
	}
	return member.socket.WriteMessage(websocket.TextMessage, frame)
}

func (member *roostMember) receive(came func([]byte)) error {
	buffer := make([]byte, 8192)
	// Pongs are written by the library while it reads.
	for {
		_, reader, err := member.socket.NextReader()
		if err != nil {
			return err
		}
		size, err := io.ReadFull(reader, buffer)
		if err == nil {
			// Longer than any message of the load.
			if _, err := io.Copy(io.Discard, reader); err != nil {
				return err
			}
		} else if err != io.ErrUnexpectedEOF && err != io.EOF {
			return err
		}
		if isEvent(buffer[:size]) {
			came(buffer[:size])
		}
	}
}

// isEvent is false of the `ack` that whoever writes gets besides.
func isEvent(frame []byte) bool {
	const start = `{"type":"message_sent"`
	return len(frame) > len(start) && string(frame[:len(start)]) == start
}
