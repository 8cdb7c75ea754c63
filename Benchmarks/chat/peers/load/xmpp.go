package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Somebody in a room of an XMPP server (XEP-0045), over TCP without TLS.
type xmppMember struct {
	socket  net.Conn
	room    string
	writing sync.Mutex
}

const host = "localhost"

// openXMPP takes a name and a room, and waits until the room has let them in.
func openXMPP(address string, place int, words []string) (member, error) {
	socket, err := from(place)("tcp", address)
	if err != nil {
		return nil, err
	}
	name, room := words[0], words[1]+"@conference."+host
	socket.SetDeadline(time.Now().Add(30 * time.Second))
	stream := fmt.Sprintf("<stream:stream to='%s' xmlns='jabber:client' "+
		"xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>", host)
	login := base64.StdEncoding.EncodeToString([]byte("\x00" + name + "\x00a password"))
	for _, step := range [][2]string{
		{stream, "</stream:features>"},
		{"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>" + login + "</auth>", "<success"},
		{stream, "</stream:features>"},
		{"<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>load</resource></bind></iq>",
			"</iq>"},
		// To the server first: without it nobody is available.
		{"<presence/>", ""},
		// 110 stands in the presence that tells somebody of themselves: they are in.
		{fmt.Sprintf("<presence to='%s/%s'><x xmlns='http://jabber.org/protocol/muc'><history maxstanzas='0'/></x>"+
			"</presence>", room, name), "code='110'"},
	} {
		if _, err := io.WriteString(socket, step[0]); err != nil {
			return nil, err
		}
		if err := await(socket, step[1]); err != nil {
			return nil, err
		}
	}
	socket.SetDeadline(time.Time{})
	return &xmppMember{socket: socket, room: room}, nil
}

// await reads up to a text. The server says nothing more before it is asked, but for the room's subject.
func await(socket net.Conn, text string) error {
	var read []byte
	buffer := make([]byte, 4096)
	for !bytes.Contains(read, []byte(text)) {
		size, err := socket.Read(buffer)
		read = append(read, buffer[:size]...)
		if err != nil {
			return fmt.Errorf("%w, before %s, after %s", err, text, read)
		}
		if bytes.Contains(read, []byte("<failure")) || bytes.Contains(read, []byte("type='error'")) {
			return fmt.Errorf("refused: %s", read)
		}
	}
	return nil
}

func (member *xmppMember) send(text string) error {
	member.writing.Lock()
	defer member.writing.Unlock()
	_, err := io.WriteString(member.socket,
		"<message to='"+member.room+"' type='groupchat'><body>"+escaped(text)+"</body></message>")
	return err
}

func escaped(text string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) }

func (member *xmppMember) receive(came func([]byte)) error {
	buffer := make([]byte, 8192)
	kept := 0
	end := []byte("</message>")
	for {
		size, err := member.socket.Read(buffer[kept:])
		if err != nil {
			return err
		}
		text := buffer[:kept+size]
		// Up to the end of the last whole message.
		whole := bytes.LastIndex(text, end)
		if whole >= 0 {
			came(text[:whole+len(end)])
			kept = copy(buffer, text[whole+len(end):])
		} else {
			kept = len(text)
		}
		if kept == len(buffer) {
			return fmt.Errorf("a stanza of more than %d bytes", len(buffer))
		}
	}
}
