package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v3"
)

// The end of each payload: this, the phase it was sent in, and when.
const magic, stampSize = 0x524f4f53, 16

// A VP8 key frame's first bytes, 640 by 360 (RFC 6386 9.1).
var keyFrameHeader = []byte{0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x01}

const framesBetweenKeyFrames = 90

// packetsInFrame is five, or the whole of a larger burst.
func packetsInFrame() int {
	if *burst > 5 {
		return *burst
	}
	return 5
}

type mediaTracks []*webrtc.TrackLocalStaticRTP

// sender sends one track at its rate.
type sender struct {
	track    *webrtc.TrackLocalStaticRTP
	isVideo  bool
	sequence uint16
	clock    uint32
	inFrame  int
	frame    int
	// In bytes of payload, of the frame that is being sent.
	frameSize int
	buffer    []byte
	random    uint32
	wantKey   int32
	measured  int64
}

func newTracks(publisher int) mediaTracks {
	var tracks mediaTracks
	add := func(rate float64, capability webrtc.RTPCodecCapability, id string) {
		if rate <= 0 {
			return
		}
		track, err := webrtc.NewTrackLocalStaticRTP(capability, fmt.Sprintf("%s%d", id, publisher), "load")
		must(err)
		tracks = append(tracks, track)
	}
	add(*audioRate, webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}, "audio")
	add(*videoRate, webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}, "video")
	return tracks
}

// publish connects a publisher; what it sends begins with `run`.
func publish(api *webrtc.API, server server, number int) (mediaTracks, []*sender) {
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	must(err)
	connected := make(chan struct{}, 8)
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			connected <- struct{}{}
		case webrtc.PeerConnectionStateFailed:
			log.Fatal("a publisher's connection failed")
		}
	})
	tracks := newTracks(number)
	var senders []*sender
	for _, track := range tracks {
		transceiver, err := connection.AddTransceiverFromTrack(
			track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		must(err)
		s := &sender{track: track, isVideo: track.Kind() == webrtc.RTPCodecTypeVideo, buffer: make([]byte, 1500), random: 1}
		for i := range s.buffer {
			s.buffer[i] = byte(i*7 + 1)
		}
		senders = append(senders, s)
		go s.listen(transceiver.Sender())
	}
	must(server.publish(connection, number, tracks))
	select {
	case <-connected:
	case <-time.After(15 * time.Second):
		log.Fatal("a publisher did not connect")
	}
	return tracks, senders
}

// listen hears requests for key frames.
func (s *sender) listen(from *webrtc.RTPSender) {
	for {
		packets, _, err := from.ReadRTCP()
		if err != nil {
			return
		}
		for _, packet := range packets {
			switch packet.(type) {
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				atomic.StoreInt32(&s.wantKey, 1)
			}
		}
	}
}

func (s *sender) run() {
	rate, together := *audioRate, 1
	if s.isVideo {
		rate, together = *videoRate, *burst
	}
	interval := time.Duration(float64(together) * 1e9 / rate)
	for next := time.Now(); atomic.LoadInt32(&phase) < 2; next = next.Add(interval) {
		time.Sleep(time.Until(next))
		for i := 0; i < together; i++ {
			s.send()
		}
	}
}

func (s *sender) send() {
	now := atomic.LoadInt32(&phase)
	if now > 1 {
		return
	}
	header := rtp.Header{Version: 2, SequenceNumber: s.sequence, Timestamp: s.clock}
	size := *audioSize
	if s.isVideo {
		size = s.videoSize()
		header.Marker = s.describe()
	} else {
		s.clock += 960
	}
	s.sequence++
	stamp := s.buffer[size-stampSize:]
	binary.BigEndian.PutUint32(stamp, magic)
	binary.BigEndian.PutUint32(stamp[4:], uint32(now))
	binary.BigEndian.PutUint64(stamp[8:], uint64(time.Since(began)))
	if err := s.track.WriteRTP(&rtp.Packet{Header: header, Payload: s.buffer[:size]}); err != nil {
		log.Println("write", err)
		return
	}
	if now == 1 {
		atomic.AddInt64(&s.measured, 1)
	}
}

// videoSize is the next packet's. Frames differ in size, and each is cut about equally, as libwebrtc cuts it
// (RtpPacketizer::SplitAboutEqually): the last packets have one byte more where it does not come out even.
func (s *sender) videoSize() int {
	packets := packetsInFrame()
	if s.inFrame == 0 {
		s.random = s.random*1664525 + 1013904223
		s.frameSize = packets*(*videoSize-50) + int(s.random>>16)%(packets*100+1)
	}
	size := s.frameSize / packets
	if s.inFrame >= packets-s.frameSize%packets {
		size++
	}
	return size
}

// describe writes VP8's payload descriptor with a picture id of 15 bits (RFC 7741 4.2); true for a frame's last packet.
func (s *sender) describe() bool {
	b := s.buffer
	b[0], b[1], b[2], b[3] = 0x80, 0x80, 0x80|byte(s.frame>>8&0x7f), byte(s.frame)
	b[4] = 1 // not a key frame
	if s.inFrame == 0 {
		b[0] |= 0x10
		if s.frame%framesBetweenKeyFrames == 0 || atomic.SwapInt32(&s.wantKey, 0) == 1 {
			copy(b[4:], keyFrameHeader)
		}
	}
	if s.inFrame++; s.inFrame < packetsInFrame() {
		return false
	}
	s.inFrame = 0
	s.frame++
	s.clock += uint32(float64(packetsInFrame()) * 90000 / *videoRate)
	return true
}
