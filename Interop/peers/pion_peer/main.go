// Pion as an SFU is to a sender of simulcast, by lines of JSON: it answers an offer, takes every layer, decodes nothing,
// and asks for key frames.
//
//	{"type": "offer", "sdp": …}
//	{"action": "requestKeyFrame", "rid": "q"}
//
// It tells {"event": "track", "rid": …}, and for each frame of VP8 {"event": "frame", "rid": …, "number": …, …}: how many
// packets of its layer have come and how many are missing, whether it is a key frame, and the width and height that the
// newest key frame had.
//
// With the argument "data" it has data channels instead: data.go. With "play" it is a player by WHEP: play.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
)

type object = map[string]interface{}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var speaking sync.Mutex

func say(values object) {
	line, err := json.Marshal(values)
	must(err)
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Println(string(line))
}

func connection() *webrtc.PeerConnection {
	media := &webrtc.MediaEngine{}
	must(media.RegisterDefaultCodecs())
	// Without these extensions Pion cannot tell layers apart.
	for _, extension := range []string{
		"urn:ietf:params:rtp-hdrext:sdes:mid",
		"urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
		"urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id",
	} {
		must(media.RegisterHeaderExtension(
			webrtc.RTPHeaderExtensionCapability{URI: extension}, webrtc.RTPCodecTypeVideo))
	}
	interceptors := &interceptor.Registry{}
	must(webrtc.RegisterDefaultInterceptors(media, interceptors))
	api := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(interceptors))
	peer, err := api.NewPeerConnection(webrtc.Configuration{})
	must(err)
	return peer
}

// layer is what is known of a rid.
type layer struct {
	source        uint32
	wantsKeyFrame atomic.Bool
}

// sfu asks for the key frames that are wanted, again and again: a sender may pass over a request that comes too soon after
// a key frame.
type sfu struct {
	sync.Mutex
	peer   *webrtc.PeerConnection
	layers map[string]*layer
}

func (s *sfu) add(track *webrtc.TrackRemote) *layer {
	s.Lock()
	defer s.Unlock()
	made := &layer{source: uint32(track.SSRC())}
	// Pion has used up the packets by which it told the layers apart, and with them a key frame.
	made.wantsKeyFrame.Store(true)
	s.layers[track.RID()] = made
	return made
}

func (s *sfu) requestKeyFrame(rid string) {
	s.Lock()
	defer s.Unlock()
	if wanted := s.layers[rid]; wanted != nil {
		wanted.wantsKeyFrame.Store(true)
	}
}

func (s *sfu) run() {
	for range time.Tick(250 * time.Millisecond) {
		s.Lock()
		for _, each := range s.layers {
			if each.wantsKeyFrame.Load() {
				// After the end of the connection there is nobody to ask.
				_ = s.peer.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: each.source}})
			}
		}
		s.Unlock()
	}
}

// watch reads a layer's packets and tells its frames.
func watch(track *webrtc.TrackRemote, layer *layer) {
	rid := track.RID()
	say(object{"event": "track", "rid": rid, "codec": track.Codec().MimeType})
	var number, packets, missing, width, height int
	var isKeyFrame bool
	// Sequence numbers seen so far, around the highest: a packet that is sent again is no other one.
	seen := map[uint16]bool{}
	var first, highest uint16
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		var vp8 codecs.VP8Packet
		payload, err := vp8.Unmarshal(packet.Payload)
		if err != nil || len(payload) == 0 {
			continue // Padding.
		}
		if len(seen) == 0 {
			first, highest = packet.SequenceNumber, packet.SequenceNumber
		}
		if int16(packet.SequenceNumber-highest) > 0 {
			highest = packet.SequenceNumber
		}
		seen[packet.SequenceNumber] = true
		missing = int(highest-first) + 1 - len(seen)
		packets++
		// RFC 6386 §9.1: a frame's tag begins with a bit that is 0 for key frames, which have a start code and their size.
		if vp8.S == 1 && vp8.PID == 0 {
			isKeyFrame = payload[0]&1 == 0
			if isKeyFrame {
				layer.wantsKeyFrame.Store(false)
			}
			if isKeyFrame && len(payload) >= 10 && payload[3] == 0x9d && payload[4] == 0x01 && payload[5] == 0x2a {
				width = int(payload[6]) | int(payload[7]&0x3f)<<8
				height = int(payload[8]) | int(payload[9]&0x3f)<<8
			}
		}
		if packet.Marker {
			number++
			say(object{"event": "frame", "rid": rid, "number": number, "packets": packets, "missing": missing,
				"isKeyFrame": isKeyFrame, "width": width, "height": height})
		}
	}
}

func answer(peer *webrtc.PeerConnection, sdp string) string {
	must(peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: sdp}))
	description, err := peer.CreateAnswer(nil)
	must(err)
	gathered := webrtc.GatheringCompletePromise(peer)
	must(peer.SetLocalDescription(description))
	<-gathered
	return peer.LocalDescription().SDP
}

type order struct {
	Type   string `json:"type"`
	SDP    string `json:"sdp"`
	Action string `json:"action"`
	RID    string `json:"rid"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "data" {
		runDataPeer()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "play" {
		runPlayer()
		return
	}
	peer := connection()
	server := &sfu{peer: peer, layers: map[string]*layer{}}
	go server.run()
	peer.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { watch(track, server.add(track)) })
	peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		say(object{"event": "state", "state": state.String()})
	})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var o order
		must(json.Unmarshal(lines.Bytes(), &o))
		switch {
		case o.SDP != "":
			say(object{"type": "answer", "sdp": answer(peer, o.SDP)})
		case o.Action == "requestKeyFrame":
			server.requestKeyFrame(o.RID)
		}
	}
	must(peer.Close())
}
