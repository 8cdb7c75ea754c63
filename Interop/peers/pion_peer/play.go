package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/pion/webrtc/v3"
)

// A player by WHEP: it offers to receive sound and a picture as a line of JSON, takes the answer as one, and tells of a
// track when Pion does, and of the first packet of it that has something in it.
func runPlayer() {
	peer := connection()
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		_, err := peer.AddTransceiverFromKind(
			kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
		must(err)
	}
	peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		say(object{"event": "state", "state": state.String()})
	})
	peer.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		say(object{"event": "track", "kind": track.Kind().String()})
		for isTold := false; ; {
			packet, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			if len(packet.Payload) > 0 && !isTold {
				isTold = true
				say(object{"event": "media", "kind": track.Kind().String()})
			}
		}
	})
	offer, err := peer.CreateOffer(nil)
	must(err)
	gathered := webrtc.GatheringCompletePromise(peer)
	must(peer.SetLocalDescription(offer))
	<-gathered
	say(object{"type": "offer", "sdp": peer.LocalDescription().SDP})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var o order
		must(json.Unmarshal(lines.Bytes(), &o))
		must(peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: o.SDP}))
	}
	must(peer.Close())
}
