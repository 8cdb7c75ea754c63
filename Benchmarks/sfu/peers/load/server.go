package main

import (
	"bytes"
	"encoding/json"
	"log"
	"net"
	"net/http"

	"github.com/pion/dtls/v2"
	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v3"
)

// server is how peer connections come about with one kind of server. Each value is one room.
type server interface {
	// publish negotiates a connection that has its tracks already.
	publish(connection *webrtc.PeerConnection, number int, tracks mediaTracks) error
	// subscribe negotiates a connection for everything that is published; either side may offer.
	subscribe(connection *webrtc.PeerConnection, number int) error
}

func newServer(room int) server {
	switch *target {
	case "pion":
		return overHTTP{*at}
	case "janus":
		return newJanus(*at)
	case "livekit":
		return newLiveKitRoom(*at, room)
	}
	log.Fatal("no such target: ", *target)
	return nil
}

func newAPI() *webrtc.API {
	media := &webrtc.MediaEngine{}
	feedback := []webrtc.RTCPFeedback{{Type: "goog-remb"}, {Type: "ccm", Parameter: "fir"}, {Type: "nack"}, {Type: "nack", Parameter: "pli"}}
	video := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000, RTCPFeedback: feedback}
	audio := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1"}
	must(media.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: video, PayloadType: 96}, webrtc.RTPCodecTypeVideo))
	must(media.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: audio, PayloadType: 111}, webrtc.RTPCodecTypeAudio))
	registry := &interceptor.Registry{}
	must(webrtc.RegisterDefaultInterceptors(media, registry))
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	switch *srtp {
	case "gcm":
		settings.SetSRTPProtectionProfiles(dtls.SRTP_AEAD_AES_128_GCM)
	case "cm":
		settings.SetSRTPProtectionProfiles(dtls.SRTP_AES128_CM_HMAC_SHA1_80)
	}
	wanted := net.ParseIP(*ownAddress)
	settings.SetIPFilter(func(ip net.IP) bool { return ip.Equal(wanted) })
	return webrtc.NewAPI(
		webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings))
}

// local applies a description of our own and returns it with all candidates.
func local(connection *webrtc.PeerConnection, make func() (webrtc.SessionDescription, error)) webrtc.SessionDescription {
	description, err := make()
	must(err)
	gathered := webrtc.GatheringCompletePromise(connection)
	must(connection.SetLocalDescription(description))
	<-gathered
	return *connection.LocalDescription()
}

func offer(connection *webrtc.PeerConnection) webrtc.SessionDescription {
	return local(connection, func() (webrtc.SessionDescription, error) { return connection.CreateOffer(nil) })
}

func answer(connection *webrtc.PeerConnection) webrtc.SessionDescription {
	return local(connection, func() (webrtc.SessionDescription, error) { return connection.CreateAnswer(nil) })
}

// overHTTP: an offer by POST is answered in the response, as `pionsfu` does.
type overHTTP struct{ url string }

func (s overHTTP) exchange(path string, connection *webrtc.PeerConnection) error {
	text, err := json.Marshal(offer(connection))
	must(err)
	response, err := http.Post(s.url+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var description webrtc.SessionDescription
	if err := json.NewDecoder(response.Body).Decode(&description); err != nil {
		return err
	}
	return connection.SetRemoteDescription(description)
}

func (s overHTTP) publish(connection *webrtc.PeerConnection, _ int, _ mediaTracks) error {
	return s.exchange("/pub", connection)
}

func (s overHTTP) subscribe(connection *webrtc.PeerConnection, _ int) error {
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		receiving := webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}
		if _, err := connection.AddTransceiverFromKind(kind, receiving); err != nil {
			return err
		}
	}
	return s.exchange("/sub", connection)
}
