internal import CDatagram
package import RTCEngine

/// Tells those who live on a loop when this host's addresses may have changed: by rtnetlink where there is one, else by
/// looking every few seconds. Lives on the loop's thread.
package final class InterfaceWatcher: SocketReader, TimerTarget {
    private struct Listener {
        weak var object: (any InterfaceListener)?
    }

    private unowned let loop: NetworkLoop
    private let timer = LoopTimer()
    private var listeners: [Listener] = []
    private var news: DescriptorOwner?

    /// A change of networks comes as a dozen messages.
    private static let settling = Interval.milliseconds(50)
    /// Where nothing tells.
    private static let lookEvery = Interval.milliseconds(2_000)

    /// How many descriptors of the loop's it reads.
    var readers: Int { news == nil ? 0 : 1 }

    init(_ loop: NetworkLoop) {
        self.loop = loop
        timer.target = self
    }

    /// Tells `listener` of every change from now on, as long as it exists.
    package func add(_ listener: any InterfaceListener) {
        begin()
        listeners.removeAll { $0.object == nil }
        listeners.append(Listener(object: listener))
    }

    /// Opens what tells, once; the loop, and this with it, live as long as the process.
    private func begin() {
        guard listeners.isEmpty, news == nil else { return }
        let descriptor = cdatagram_open_address_news()
        if descriptor >= 0, (try? loop.add(descriptor: descriptor, reader: self)) != nil {
            news = DescriptorOwner(descriptor: descriptor)
        } else {
            if descriptor >= 0 { cdatagram_close(descriptor) }
            loop.schedule(timer, at: NetworkLoop.now + Self.lookEvery)
        }
    }

    package func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        guard let news, cdatagram_drain_address_news(news.descriptor) > 0 else { return }
        loop.schedule(timer, at: NetworkLoop.now + Self.settling)
    }

    package func timerFired(at now: Instant) {
        listeners.removeAll { $0.object == nil }
        // Looked at once for all. Not compared with before: an address of IPv6 is listed a second before it can be
        // bound.
        let interfaces = try? NetworkInterface.current()
        if let interfaces {
            for listener in listeners { listener.object?.interfacesChanged(interfaces) }
        }
        if news == nil, !listeners.isEmpty { loop.schedule(timer, at: now + Self.lookEvery) }
    }
}

/// Told on the loop's thread that the host's addresses may have changed.
package protocol InterfaceListener: AnyObject {
    func interfacesChanged(_ interfaces: [NetworkInterface])
}

/// Closes a descriptor when nobody has it any more.
private final class DescriptorOwner {
    let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { cdatagram_close(descriptor) }
}
