package main

import (
	"encoding/json"
	"fmt"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/pion/webrtc/v3"
)

type object = map[string]interface{}

// janus: a room of the VideoRoom plugin. One WebSocket and one session; each peer connection has a handle in it.
type janus struct {
	socket   *websocket.Conn
	writing  sync.Mutex
	lock     sync.Mutex
	waiting  map[string]chan object
	requests int64
	session  float64
	room     int
}

const janusFeed = 1

func newJanus(url string) *janus {
	dialer := websocket.Dialer{Subprotocols: []string{"janus-protocol"}, HandshakeTimeout: 5 * time.Second}
	socket, _, err := dialer.Dial(url, nil)
	must(err)
	j := &janus{socket: socket, waiting: map[string]chan object{}, room: 1 + int(*seed%1e8)}
	go j.read()
	j.session = j.request(object{"janus": "create"})["data"].(object)["id"].(float64)
	go func() {
		for range time.Tick(20 * time.Second) {
			j.write(object{"janus": "keepalive", "session_id": j.session, "transaction": "keepalive"})
		}
	}()
	created := j.message(j.attach(), object{
		"request": "create", "room": j.room, "publishers": 10, "videocodec": "vp8", "audiocodec": "opus", "bitrate": 0,
		"notify_joining": false,
	}, nil)
	if created["janus"] != "success" {
		log.Fatal("janus: ", created)
	}
	return j
}

// read hands answers to those who wait; "ack" says only that an answer will come.
func (j *janus) read() {
	for {
		_, text, err := j.socket.ReadMessage()
		if err != nil {
			return
		}
		var message object
		if json.Unmarshal(text, &message) != nil || message["janus"] == "ack" {
			continue
		}
		transaction, _ := message["transaction"].(string)
		j.lock.Lock()
		waiting := j.waiting[transaction]
		delete(j.waiting, transaction)
		j.lock.Unlock()
		if waiting != nil {
			waiting <- message
		}
	}
}

func (j *janus) write(message object) {
	text, err := json.Marshal(message)
	must(err)
	j.writing.Lock()
	defer j.writing.Unlock()
	must(j.socket.WriteMessage(websocket.TextMessage, text))
}

func (j *janus) request(message object) object {
	transaction := strconv.FormatInt(atomic.AddInt64(&j.requests, 1), 10)
	message["transaction"] = transaction
	answered := make(chan object, 1)
	j.lock.Lock()
	j.waiting[transaction] = answered
	j.lock.Unlock()
	j.write(message)
	select {
	case response := <-answered:
		if response["janus"] == "error" {
			log.Fatal("janus: ", response)
		}
		return response
	case <-time.After(15 * time.Second):
		log.Fatal("janus: no answer to ", message["janus"])
	}
	return nil
}

func (j *janus) attach() float64 {
	response := j.request(object{"janus": "attach", "session_id": j.session, "plugin": "janus.plugin.videoroom"})
	return response["data"].(object)["id"].(float64)
}

func (j *janus) message(handle float64, body object, description *webrtc.SessionDescription) object {
	message := object{"janus": "message", "session_id": j.session, "handle_id": handle, "body": body}
	if description != nil {
		message["jsep"] = object{"type": description.Type.String(), "sdp": description.SDP}
	}
	return j.request(message)
}

func descriptionOf(response object) (webrtc.SessionDescription, error) {
	jsep, ok := response["jsep"].(object)
	if !ok {
		return webrtc.SessionDescription{}, fmt.Errorf("no description in %v", response)
	}
	return webrtc.SessionDescription{Type: webrtc.NewSDPType(jsep["type"].(string)), SDP: jsep["sdp"].(string)}, nil
}

func (j *janus) publish(connection *webrtc.PeerConnection, _ int, _ mediaTracks) error {
	ours := offer(connection)
	join := object{"request": "joinandconfigure", "ptype": "publisher", "room": j.room, "id": janusFeed}
	theirs, err := descriptionOf(j.message(j.attach(), join, &ours))
	if err != nil {
		return err
	}
	return connection.SetRemoteDescription(theirs)
}

func (j *janus) subscribe(connection *webrtc.PeerConnection, _ int) error {
	handle := j.attach()
	join := object{"request": "join", "ptype": "subscriber", "room": j.room, "streams": []object{{"feed": janusFeed}}}
	theirs, err := descriptionOf(j.message(handle, join, nil))
	if err != nil {
		return err
	}
	if err := connection.SetRemoteDescription(theirs); err != nil {
		return err
	}
	ours := answer(connection)
	j.message(handle, object{"request": "start"}, &ours)
	return nil
}
