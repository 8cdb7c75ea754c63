package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/pion/webrtc/v3"
)

// liveKitRoom: a room of LiveKit's protocol, with two peer connections a participant. Its few messages are written and
// read here field by field, by the numbers of livekit_rtc.proto.
type liveKitRoom struct {
	url, name string
	lock      sync.Mutex
	// In a meeting, the publishers' sessions wait here for the connections they subscribe with.
	sessions map[int]*liveKitSession
}

func newLiveKitRoom(url string, room int) *liveKitRoom {
	return &liveKitRoom{url: url, name: fmt.Sprintf("load-%d-%d", *seed, room), sessions: map[int]*liveKitSession{}}
}

// token is a JSON Web Token with LiveKit's grants.
func (r *liveKitRoom) token(identity string, publishes, subscribes bool) string {
	name, secret, _ := strings.Cut(*key, ":")
	encode := base64.RawURLEncoding.EncodeToString
	claims, err := json.Marshal(object{
		"iss": name, "sub": identity, "nbf": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		"video": object{"room": r.name, "roomJoin": true, "canPublish": publishes, "canSubscribe": subscribes, "canPublishData": false},
	})
	must(err)
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(claims)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

type liveKitSession struct {
	socket     *websocket.Conn
	writing    sync.Mutex
	answers    chan webrtc.SessionDescription
	published  chan struct{}
	lock       sync.Mutex
	subscriber *webrtc.PeerConnection
	// An offer that came before there was a connection for it.
	early []numberedDescription
}

type numberedDescription struct {
	webrtc.SessionDescription
	id uint64
}

func (r *liveKitRoom) join(identity string, publishes, subscribes bool) (*liveKitSession, error) {
	query := url.Values{
		"access_token": {r.token(identity, publishes, subscribes)}, "protocol": {"16"}, "sdk": {"go"}, "version": {"2.0.0"},
		"auto_subscribe": {"1"},
	}
	socket, response, err := websocket.DefaultDialer.Dial(r.url+"/rtc?"+query.Encode(), nil)
	if err != nil {
		if response != nil {
			return nil, fmt.Errorf("%w: %s", err, response.Status)
		}
		return nil, err
	}
	s := &liveKitSession{socket: socket, answers: make(chan webrtc.SessionDescription, 1), published: make(chan struct{}, 8)}
	go s.read()
	go func() {
		for range time.Tick(5 * time.Second) {
			ping := field{1, uint64(time.Now().UnixMilli())}
			s.send(16, ping)
		}
	}()
	return s, nil
}

func (r *liveKitRoom) publish(connection *webrtc.PeerConnection, number int, tracks mediaTracks) error {
	s, err := r.join(fmt.Sprintf("publisher-%d", number), true, *meeting)
	if err != nil {
		return err
	}
	r.lock.Lock()
	r.sessions[number] = s
	r.lock.Unlock()
	for _, track := range tracks {
		const microphone, camera = 2, 1
		kind, source := uint64(0), uint64(microphone)
		if track.Kind() == webrtc.RTPCodecTypeVideo {
			kind, source = 1, camera
		}
		s.send(4, field{1, track.ID()}, field{2, track.ID()}, field{3, kind}, field{4, uint64(640)}, field{5, uint64(360)}, field{8, source})
		select {
		case <-s.published:
		case <-time.After(5 * time.Second):
			return errors.New("a track was not published")
		}
	}
	ours := offer(connection)
	s.send(1, field{1, "offer"}, field{2, ours.SDP}, field{3, uint64(1)})
	select {
	case theirs := <-s.answers:
		return connection.SetRemoteDescription(theirs)
	case <-time.After(10 * time.Second):
		return errors.New("no answer")
	}
}

func (r *liveKitRoom) subscribe(connection *webrtc.PeerConnection, number int) error {
	r.lock.Lock()
	s := r.sessions[number]
	r.lock.Unlock()
	if !*meeting {
		var err error
		if s, err = r.join(fmt.Sprintf("subscriber-%d", number), false, true); err != nil {
			return err
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.subscriber = connection
	for _, offered := range s.early {
		s.take(offered)
	}
	return nil
}

func (s *liveKitSession) read() {
	for {
		_, data, err := s.socket.ReadMessage()
		if err != nil {
			return
		}
		response := fields(data)
		for number, values := range response {
			body, _ := values[len(values)-1].([]byte)
			switch number {
			case 2:
				s.answers <- sessionDescription(body).SessionDescription
			case 3:
				s.lock.Lock()
				if offered := sessionDescription(body); s.subscriber == nil {
					s.early = append(s.early, offered)
				} else {
					s.take(offered)
				}
				s.lock.Unlock()
			case 6:
				s.published <- struct{}{}
			case 8, 22:
				log.Println("livekit: refused or sent away:", number, string(body))
			}
		}
	}
}

// take answers the server's offer.
func (s *liveKitSession) take(offered numberedDescription) {
	must(s.subscriber.SetRemoteDescription(offered.SessionDescription))
	ours := answer(s.subscriber)
	s.send(2, field{1, "answer"}, field{2, ours.SDP}, field{3, offered.id})
}

func sessionDescription(body []byte) numberedDescription {
	all := fields(body)
	text := func(number int) string {
		if values := all[number]; len(values) > 0 {
			return string(values[0].([]byte))
		}
		return ""
	}
	description := numberedDescription{SessionDescription: webrtc.SessionDescription{Type: webrtc.NewSDPType(text(1)), SDP: text(2)}}
	if values := all[3]; len(values) > 0 {
		description.id = values[0].(uint64)
	}
	return description
}

// field of a protobuf message: a number, and a string, bytes or uint64.
type field struct {
	number int
	value  interface{}
}

func appendVarint(to []byte, value uint64) []byte {
	var buffer [binary.MaxVarintLen64]byte
	return append(to, buffer[:binary.PutUvarint(buffer[:], value)]...)
}

func encoded(all ...field) (message []byte) {
	for _, one := range all {
		switch value := one.value.(type) {
		case uint64:
			message = appendVarint(appendVarint(message, uint64(one.number)<<3), value)
		case string:
			message = append(appendVarint(appendVarint(message, uint64(one.number)<<3|2), uint64(len(value))), value...)
		case []byte:
			message = append(appendVarint(appendVarint(message, uint64(one.number)<<3|2), uint64(len(value))), value...)
		}
	}
	return
}

// fields reads a message: varints as uint64, what has a length as []byte.
func fields(message []byte) map[int][]interface{} {
	all := map[int][]interface{}{}
	varint := func() uint64 {
		value, size := binary.Uvarint(message)
		if size <= 0 {
			log.Fatal("livekit: not a message")
		}
		message = message[size:]
		return value
	}
	for len(message) > 0 {
		tag := varint()
		number := int(tag >> 3)
		switch tag & 7 {
		case 0:
			all[number] = append(all[number], varint())
		case 1:
			message = message[8:]
		case 2:
			size := varint()
			all[number] = append(all[number], append([]byte(nil), message[:size]...))
			message = message[size:]
		case 5:
			message = message[4:]
		}
	}
	return all
}

// send wraps a request's fields in a SignalRequest.
func (s *liveKitSession) send(request int, all ...field) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.socket.WriteMessage(websocket.BinaryMessage, encoded(field{request, encoded(all...)})); err != nil {
		log.Println("livekit:", err)
	}
}
