// pionsfu: about the least that forwards with Pion. POST /pub takes the one publisher's offer, POST /sub an offer of
// somebody who gets all its tracks; both answer with all candidates. No layers, nothing rewritten.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v3"
)

var (
	listen = flag.String("listen", "127.0.0.1:7900", "where offers come to")
	bare   = flag.Bool("bare", false, "without NACK, reports and transport-wide feedback")
)

// forwarder holds what the publisher sends.
type forwarder struct {
	api    *webrtc.API
	lock   sync.Mutex
	tracks []*webrtc.TrackLocalStaticRTP
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func newForwarder() *forwarder {
	media := &webrtc.MediaEngine{}
	must(media.RegisterDefaultCodecs())
	registry := &interceptor.Registry{}
	if !*bare {
		must(webrtc.RegisterDefaultInterceptors(media, registry))
	}
	settings := webrtc.SettingEngine{}
	settings.SetLite(true)
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetIPFilter(func(ip net.IP) bool { return ip.Equal(net.IPv4(127, 0, 0, 1)) })
	return &forwarder{api: webrtc.NewAPI(
		webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings))}
}

// take forwards the tracks of a publisher.
func (f *forwarder) take(connection *webrtc.PeerConnection) {
	connection.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		track, err := webrtc.NewTrackLocalStaticRTP(remote.Codec().RTPCodecCapability, remote.Kind().String(), "load")
		must(err)
		f.lock.Lock()
		f.tracks = append(f.tracks, track)
		f.lock.Unlock()
		go drain(receiver.Read)
		buffer := make([]byte, 1500)
		for {
			size, _, err := remote.Read(buffer)
			if err != nil {
				return
			}
			// Subscribers that have gone are no fault of the others.
			_, _ = track.Write(buffer[:size])
		}
	})
}

// give sends all tracks to a subscriber.
func (f *forwarder) give(connection *webrtc.PeerConnection) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, track := range f.tracks {
		sender, err := connection.AddTrack(track)
		must(err)
		go drain(sender.Read)
	}
}

func drain[A any](read func([]byte) (int, A, error)) {
	buffer := make([]byte, 1500)
	for {
		if _, _, err := read(buffer); err != nil {
			return
		}
	}
}

func (f *forwarder) handle(path string, prepare func(*webrtc.PeerConnection)) {
	http.HandleFunc(path, func(response http.ResponseWriter, request *http.Request) {
		var offer webrtc.SessionDescription
		if err := json.NewDecoder(request.Body).Decode(&offer); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		connection, err := f.api.NewPeerConnection(webrtc.Configuration{})
		must(err)
		prepare(connection)
		must(connection.SetRemoteDescription(offer))
		answer, err := connection.CreateAnswer(nil)
		must(err)
		gathered := webrtc.GatheringCompletePromise(connection)
		must(connection.SetLocalDescription(answer))
		<-gathered
		must(json.NewEncoder(response).Encode(connection.LocalDescription()))
	})
}

func main() {
	flag.Parse()
	f := newForwarder()
	f.handle("/pub", f.take)
	f.handle("/sub", f.give)
	must(http.ListenAndServe(*listen, nil))
}
