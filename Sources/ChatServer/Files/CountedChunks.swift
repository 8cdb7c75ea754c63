/// Parts of a file, whose bytes are counted as they are taken.
struct CountedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let chunks: FileChunks
    let counter: Counter

    func makeAsyncIterator() -> Iterator { Iterator(chunks, counter) }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = any Error

        private var chunks: any AsyncIteratorProtocol<[UInt8], any Error>
        private let counter: Counter

        fileprivate init(_ chunks: some AsyncSequence<[UInt8], any Error>, _ counter: Counter) {
            self.chunks = chunks.makeAsyncIterator()
            self.counter = counter
        }

        mutating func next() async throws -> [UInt8]? {
            let chunk = try await chunks.next()
            counter.add(chunk?.count ?? 0)
            return chunk
        }
    }
}

/// What a file has in the answer to a HEAD.
struct NoChunks: AsyncSequence, Sendable {
    struct Iterator: AsyncIteratorProtocol {
        mutating func next() async throws -> [UInt8]? { nil }
    }

    func makeAsyncIterator() -> Iterator { Iterator() }
}
