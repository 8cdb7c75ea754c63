import RTCEngine

/// A bounded queue of outputs. Datagrams and messages beyond the limit are lost; the two outputs that tell of the
/// association's state always fit, as there is at most one of each.
struct OutputQueue {
    private var outputs: [DTLSOutput] = []
    private var head = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    mutating func append(_ output: DTLSOutput) {
        switch output {
        case .send, .applicationData:
            guard outputs.count - head < limit else { return }
        case .connected, .closed:
            break
        }
        if head >= limit {
            outputs.removeFirst(head)
            head = 0
        }
        outputs.append(output)
    }

    mutating func next() -> DTLSOutput? {
        guard head < outputs.count else { return nil }
        defer {
            head += 1
            if head == outputs.count {
                outputs.removeAll(keepingCapacity: true)
                head = 0
            }
        }
        return outputs[head]
    }
}
