// The same modes as rtc-bench, over Pion (Debian's golang-github-pion-webrtc.v3-dev), and the load of the measurement of
// packets: as `subject` it is commanded by lines of JSON, see Subject.swift.
//
//	pion-peer setup COUNT video|data
//	pion-peer subject
//	pion-peer memory PAIRS idle|busy video|data
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v3"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// connection is what Pion's documentation makes: default codecs and interceptors, a certificate for each connection.
func connection() *webrtc.PeerConnection {
	media := &webrtc.MediaEngine{}
	must(media.RegisterDefaultCodecs())
	interceptors := &interceptor.Registry{}
	must(webrtc.RegisterDefaultInterceptors(media, interceptors))
	must(webrtc.ConfigureTWCCHeaderExtensionSender(media, interceptors))
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetIPFilter(func(ip net.IP) bool { return ip.Equal(net.IPv4(127, 0, 0, 1)) })
	api := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(interceptors),
		webrtc.WithSettingEngine(settings))
	peer, err := api.NewPeerConnection(webrtc.Configuration{})
	must(err)
	return peer
}

func track() *webrtc.TrackLocalStaticRTP {
	codec := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}
	made, err := webrtc.NewTrackLocalStaticRTP(codec, "video", "stream")
	must(err)
	return made
}

// add sends the track and reads the feedback, as a program with interceptors has to.
func add(peer *webrtc.PeerConnection, track webrtc.TrackLocal) {
	sender, err := peer.AddTrack(track)
	must(err)
	go func() {
		buffer := make([]byte, 1500)
		for {
			if _, _, err := sender.Read(buffer); err != nil {
				return
			}
		}
	}()
}

// pictures writes frames of packets in the shape of VP8.
type pictures struct {
	track    *webrtc.TrackLocalStaticRTP
	sequence uint16
	number   int
	written  uint64
}

func (p *pictures) write(framesPerSecond, packets int) {
	payload := make([]byte, 1154)
	for i := 0; i < packets; i++ {
		// RFC 7741: X, S on the first one; I with a picture id of 15 bits. Then the frame's tag (RFC 6386).
		payload[0], payload[1], payload[2], payload[3], payload[4] = 0x80, 0x80, 0x80|byte(p.number>>8)&0x7f, byte(p.number), 0x11
		if i == 0 {
			payload[0] = 0x90
			if p.number%framesPerSecond == 0 {
				copy(payload[4:], []byte{0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0})
			}
		}
		must(p.track.WriteRTP(&rtp.Packet{Header: rtp.Header{Version: 2, Marker: i == packets-1,
			SequenceNumber: p.sequence, Timestamp: uint32(p.number * 90000 / framesPerSecond)}, Payload: payload}))
		p.sequence++
		atomic.AddUint64(&p.written, 1)
	}
	p.number++
}

// drain reads and counts packets, and says when a frame of two packets was complete.
func drain(counter *uint64, complete func()) func(*webrtc.TrackRemote, *webrtc.RTPReceiver) {
	return func(remote *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		var before *rtp.Packet
		for {
			packet, _, err := remote.ReadRTP()
			if err != nil {
				return
			}
			atomic.AddUint64(counter, 1)
			if complete != nil && packet.Marker && before != nil && before.Timestamp == packet.Timestamp {
				complete()
			}
			before = packet
		}
	}
}

// How much of a data channel may wait to be sent, and where to go on: see Subject.swift.
const highMark, lowMark = 1 << 20, 1 << 18

// flood sends messages as fast as they go.
func flood(channel *webrtc.DataChannel, size int) {
	low := make(chan struct{}, 1)
	channel.SetBufferedAmountLowThreshold(lowMark)
	channel.OnBufferedAmountLow(func() {
		select {
		case low <- struct{}{}:
		default:
		}
	})
	message := make([]byte, size)
	for channel.Send(message) == nil {
		if channel.BufferedAmount() > highMark {
			<-low
		}
	}
}

// dataChannel makes one, and closes what it returns beside it when the channel is open.
func dataChannel(peer *webrtc.PeerConnection) (*webrtc.DataChannel, chan struct{}) {
	channel, err := peer.CreateDataChannel("x", nil)
	must(err)
	opened := make(chan struct{})
	channel.OnOpen(func() { close(opened) })
	return channel, opened
}

// count adds up the bytes of the messages that come.
func count(peer *webrtc.PeerConnection, bytes *uint64) {
	peer.OnDataChannel(func(channel *webrtc.DataChannel) {
		channel.OnMessage(func(message webrtc.DataChannelMessage) { atomic.AddUint64(bytes, uint64(len(message.Data))) })
	})
}

func offer(peer *webrtc.PeerConnection) string {
	description, err := peer.CreateOffer(nil)
	must(err)
	return apply(peer, description)
}

func answer(peer *webrtc.PeerConnection, sdp string) string {
	must(peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: sdp}))
	description, err := peer.CreateAnswer(nil)
	must(err)
	return apply(peer, description)
}

func apply(peer *webrtc.PeerConnection, description webrtc.SessionDescription) string {
	gathered := webrtc.GatheringCompletePromise(peer)
	must(peer.SetLocalDescription(description))
	<-gathered
	return peer.LocalDescription().SDP
}

func accept(peer *webrtc.PeerConnection, sdp string) {
	must(peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp}))
}

func whenConnected(peer *webrtc.PeerConnection, then func()) {
	var once sync.Once
	peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			once.Do(then)
		}
	})
}

func report(values map[string]interface{}) {
	line, err := json.Marshal(values)
	must(err)
	fmt.Println(string(line))
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// wait tells when both were up, and when the first frame or message had arrived; not for ever.
func wait(up *sync.WaitGroup, arrived chan time.Duration, begin time.Time) (time.Duration, time.Duration, bool) {
	connected := make(chan time.Duration, 1)
	go func() {
		up.Wait()
		connected <- time.Since(begin)
	}()
	var times [2]time.Duration
	patience := time.After(5 * time.Second)
	for range times {
		select {
		case times[0] = <-connected:
		case times[1] = <-arrived:
		case <-patience:
			return 0, 0, false
		}
	}
	return times[0], times[1], true
}

func setup(count int, kind string) {
	for i := 0; i < count; i++ {
		begin := time.Now()
		caller, callee := connection(), connection()
		up := sync.WaitGroup{}
		up.Add(2)
		whenConnected(caller, up.Done)
		whenConnected(callee, up.Done)
		arrived := make(chan time.Duration, 1)
		var once sync.Once
		first := func() { once.Do(func() { arrived <- time.Since(begin) }) }
		stop := make(chan bool)
		if kind == "data" {
			channel, err := caller.CreateDataChannel("x", nil)
			must(err)
			channel.OnOpen(func() { must(channel.SendText("hi")) })
			callee.OnDataChannel(func(channel *webrtc.DataChannel) {
				channel.OnMessage(func(webrtc.DataChannelMessage) { first() })
			})
		} else {
			var received uint64
			video := &pictures{track: track()}
			add(caller, video.track)
			callee.OnTrack(drain(&received, first))
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						video.write(1000, 2)
					}
				}
			}()
		}
		sdp := offer(caller)
		offered := time.Since(begin)
		accept(caller, answer(callee, sdp))
		connected, frame, ok := wait(&up, arrived, begin)
		close(stop)
		if ok {
			report(map[string]interface{}{"kind": kind, "offer": milliseconds(offered),
				"connected": milliseconds(connected), "first": milliseconds(frame)})
		} else {
			fmt.Fprintln(os.Stderr, "a pair of Pion's did not connect; another one is made")
			i--
		}
		must(caller.Close())
		must(callee.Close())
	}
}

type command struct {
	Do      string `json:"do"`
	Kind    string `json:"kind"`
	SDP     string `json:"sdp"`
	Frames  int    `json:"frames"`
	Packets int    `json:"packets"`
	Bytes   int    `json:"bytes"`
}

func subject() {
	peer := connection()
	var received, bytes uint64
	video := &pictures{}
	var channel *webrtc.DataChannel
	var opened chan struct{}
	stop := make(chan bool, 1)
	sending := false
	whenConnected(peer, func() { report(map[string]interface{}{"connected": true}) })
	peer.OnTrack(drain(&received, nil))
	count(peer, &bytes)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var c command
		must(json.Unmarshal(lines.Bytes(), &c))
		switch c.Do {
		case "offer":
			if c.Kind == "data" {
				channel, opened = dataChannel(peer)
			} else {
				video.track = track()
				add(peer, video.track)
			}
			report(map[string]interface{}{"sdp": offer(peer)})
		case "answer":
			report(map[string]interface{}{"sdp": answer(peer, c.SDP)})
		case "accept":
			accept(peer, c.SDP)
		case "send":
			if channel != nil {
				go func(size int) {
					<-opened
					flood(channel, size)
				}(c.Bytes)
				continue
			}
			if sending {
				stop <- true
			}
			sending = c.Frames > 0
			if sending {
				go send(video, c.Frames, c.Packets, stop)
			}
		case "count":
			report(map[string]interface{}{"packets": atomic.LoadUint64(&received) + atomic.LoadUint64(&video.written),
				"bytes": atomic.LoadUint64(&bytes)})
		}
	}
}

func send(video *pictures, frames, packets int, stop chan bool) {
	ticker := time.NewTicker(time.Second / time.Duration(frames))
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			video.write(frames, packets)
		}
	}
}

// link is a connected pair, and what the caller sends by.
type link struct {
	video   *pictures
	channel *webrtc.DataChannel
}

func (l *link) write(framesPerSecond, packets int) {
	if l.video != nil {
		l.video.write(framesPerSecond, packets)
		return
	}
	message := make([]byte, 1150)
	for i := 0; i < packets; i++ {
		must(l.channel.Send(message))
	}
}

func memory(pairs int, load, kind string) {
	attempt := func() *link {
		caller, callee := connection(), connection()
		up := [2]chan struct{}{make(chan struct{}, 8), make(chan struct{}, 8)}
		whenConnected(caller, func() { up[0] <- struct{}{} })
		whenConnected(callee, func() { up[1] <- struct{}{} })
		var received uint64
		made := &link{}
		opened := make(chan struct{})
		if kind == "data" {
			made.channel, opened = dataChannel(caller)
			count(callee, &received)
		} else {
			made.video = &pictures{track: track()}
			add(caller, made.video.track)
			callee.OnTrack(drain(&received, nil))
			close(opened)
		}
		accept(caller, answer(callee, offer(caller)))
		patience := time.After(5 * time.Second)
		for _, side := range []chan struct{}{up[0], up[1], opened} {
			select {
			case <-side:
			case <-patience:
				must(caller.Close())
				must(callee.Close())
				return nil
			}
		}
		return made
	}
	// Among many in one process one now and then does not connect; another takes its place.
	pair := func() *link {
		for {
			if made := attempt(); made != nil {
				return made
			}
			fmt.Fprintln(os.Stderr, "a pair of Pion's did not connect; another one is made")
		}
	}
	use := func(all []*link) {
		ticker := time.NewTicker(time.Second / 30)
		defer ticker.Stop()
		for frame := 0; frame < 150; frame++ {
			<-ticker.C
			for _, one := range all {
				one.write(30, 10)
			}
		}
	}
	first := pair()
	use([]*link{first})
	before := resident()
	var all []*link
	for i := 0; i < pairs; i++ {
		all = append(all, pair())
	}
	if load == "busy" {
		use(all)
	}
	report(map[string]interface{}{"kind": load, "KiB": float64(resident()-before) / 1024 / float64(2*pairs)})
	runtime.KeepAlive(all)
}

func resident() int {
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(err)
	return pages * os.Getpagesize()
}

func main() {
	if len(os.Args) >= 2 && os.Args[1] == "subject" {
		subject()
		return
	}
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: pion-peer setup COUNT video|data | subject | memory PAIRS idle|busy video|data")
		os.Exit(2)
	}
	number, err := strconv.Atoi(os.Args[2])
	must(err)
	switch os.Args[1] {
	case "setup":
		setup(number, os.Args[3])
	case "memory":
		memory(number, os.Args[3], os.Args[len(os.Args)-1])
	}
}
