package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/webrtc/v3"
)

// subscriber counts what reaches it.
type subscriber struct {
	wantedTracks int
	tracks       int32
	measured     int64
	lock         sync.Mutex
	latencies    []int // microseconds
	// How long it took until there was a connection, a packet, and one of every track.
	connected, firstPacket, complete time.Duration
}

func newSubscriber(wantedTracks int) *subscriber {
	return &subscriber{wantedTracks: wantedTracks}
}

// join returns when every track has come.
func (s *subscriber) join(api *webrtc.API, server server, number int) error {
	start := time.Now()
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	connected, everything := make(chan struct{}, 8), make(chan struct{}, 1)
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			connected <- struct{}{}
		}
	})
	var once sync.Once
	connection.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		go drain(receiver)
		first := true
		s.read(track, func() {
			if first {
				first = false
				once.Do(func() { s.firstPacket = time.Since(start) })
				if int(atomic.AddInt32(&s.tracks, 1)) == s.wantedTracks {
					everything <- struct{}{}
				}
			}
		})
	})
	if err := server.subscribe(connection, number); err != nil {
		return err
	}
	for {
		select {
		case <-connected:
			if s.connected == 0 {
				s.connected = time.Since(start)
			}
		case <-everything:
			s.complete = time.Since(start)
			return nil
		case <-time.After(20 * time.Second):
			return s.incomplete(connection)
		}
	}
}

// incomplete says how far a subscriber got that did not get every track.
func (s *subscriber) incomplete(connection *webrtc.PeerConnection) error {
	sections := 0
	if offer := connection.RemoteDescription(); offer != nil {
		sections = strings.Count(offer.SDP, "\nm=")
	}
	dtls := connection.SCTP().Transport()
	pair, _ := dtls.ICETransport().GetSelectedCandidatePair()
	return fmt.Errorf("got %d of %d tracks: ICE %v over %v, DTLS %v, signaling %v, %d sections offered, SCTP %v",
		atomic.LoadInt32(&s.tracks), s.wantedTracks, connection.ICEConnectionState(), pair, dtls.State(),
		connection.SignalingState(), sections, connection.SCTP().State())
}

func drain(receiver *webrtc.RTPReceiver) {
	buffer := make([]byte, 1500)
	for {
		if _, _, err := receiver.Read(buffer); err != nil {
			return
		}
	}
}

// read counts a track's packets by the phase they were sent in.
func (s *subscriber) read(track *webrtc.TrackRemote, came func()) {
	buffer := make([]byte, 1600)
	for {
		size, _, err := track.Read(buffer)
		if err != nil {
			return
		}
		if size < 12+stampSize || binary.BigEndian.Uint32(buffer[size-stampSize:]) != magic {
			continue
		}
		came()
		if binary.BigEndian.Uint32(buffer[size-12:]) != 1 {
			continue
		}
		atomic.AddInt64(&s.measured, 1)
		sent := int64(binary.BigEndian.Uint64(buffer[size-8:]))
		s.lock.Lock()
		s.latencies = append(s.latencies, int((int64(time.Since(began))-sent)/1000))
		s.lock.Unlock()
	}
}
