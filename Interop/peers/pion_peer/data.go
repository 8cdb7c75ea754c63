package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"sync"

	"github.com/pion/webrtc/v3"
)

// Data channels by lines of JSON, as Examples/data-channel-chat speaks them with --json.

type dataOrder struct {
	Type              string  `json:"type"`
	SDP               string  `json:"sdp"`
	Action            string  `json:"action"`
	Label             string  `json:"label"`
	Text              *string `json:"text"`
	Base64            *string `json:"base64"`
	Ordered           *bool   `json:"ordered"`
	MaxRetransmits    *uint16 `json:"maxRetransmits"`
	MaxPacketLifeTime *uint16 `json:"maxPacketLifeTime"`
	Protocol          *string `json:"protocol"`
	Negotiated        *bool   `json:"negotiated"`
	ID                *uint16 `json:"id"`
}

type dataPeer struct {
	sync.Mutex
	connection *webrtc.PeerConnection
	channels   map[string]*webrtc.DataChannel
}

func runDataPeer() {
	connection, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	must(err)
	peer := &dataPeer{connection: connection, channels: map[string]*webrtc.DataChannel{}}
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		say(object{"event": "state", "state": state.String()})
	})
	connection.OnDataChannel(func(channel *webrtc.DataChannel) {
		say(object{"event": "channel", "label": channel.Label(), "ordered": channel.Ordered(),
			"maxRetransmits": channel.MaxRetransmits(), "maxPacketLifeTime": channel.MaxPacketLifeTime(),
			"protocol": channel.Protocol()})
		peer.adopt(channel)
	})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var order dataOrder
		must(json.Unmarshal(lines.Bytes(), &order))
		if order.Action == "quit" {
			break
		}
		peer.obey(order)
	}
	must(connection.Close())
}

func (p *dataPeer) adopt(channel *webrtc.DataChannel) {
	label := channel.Label()
	p.Lock()
	p.channels[label] = channel
	p.Unlock()
	channel.OnOpen(func() { say(object{"event": "open", "label": label}) })
	channel.OnClose(func() { say(object{"event": "close", "label": label}) })
	channel.OnMessage(func(message webrtc.DataChannelMessage) {
		told := object{"event": "message", "label": label}
		if message.IsString {
			told["text"] = string(message.Data)
		} else {
			told["base64"] = base64.StdEncoding.EncodeToString(message.Data)
		}
		say(told)
	})
}

func (p *dataPeer) obey(order dataOrder) {
	if order.SDP != "" {
		kind := webrtc.NewSDPType(order.Type)
		must(p.connection.SetRemoteDescription(webrtc.SessionDescription{Type: kind, SDP: order.SDP}))
		if kind == webrtc.SDPTypeOffer {
			answer, err := p.connection.CreateAnswer(nil)
			must(err)
			p.describe(answer)
		}
		return
	}
	p.Lock()
	channel := p.channels[order.Label]
	p.Unlock()
	switch order.Action {
	case "create":
		made, err := p.connection.CreateDataChannel(order.Label, &webrtc.DataChannelInit{
			Ordered: order.Ordered, MaxRetransmits: order.MaxRetransmits, MaxPacketLifeTime: order.MaxPacketLifeTime,
			Protocol: order.Protocol, Negotiated: order.Negotiated, ID: order.ID})
		must(err)
		p.adopt(made)
	case "offer":
		offer, err := p.connection.CreateOffer(nil)
		must(err)
		p.describe(offer)
	case "send":
		if order.Text != nil {
			must(channel.SendText(*order.Text))
		} else {
			data, err := base64.StdEncoding.DecodeString(*order.Base64)
			must(err)
			must(channel.Send(data))
		}
	case "close":
		must(channel.Close())
	}
}

func (p *dataPeer) describe(description webrtc.SessionDescription) {
	gathered := webrtc.GatheringCompletePromise(p.connection)
	must(p.connection.SetLocalDescription(description))
	<-gathered
	local := p.connection.LocalDescription()
	say(object{"type": local.Type.String(), "sdp": local.SDP})
}
