internal import CPrefetch

/// Memory that is needed soon.
///
/// A server has thousands of connections. When one's next packet comes, nothing of it is in the processor's nearer
/// caches any more, and each line of its memory would be waited for, one after the other. Whoever knows to whom it
/// sends next asks for theirs ahead, some at once. These are hints: nothing depends on them, and any address will do.
package enum Prefetch {
    /// The first lines of some objects, without a look at them: it would count a reference in them, and wait for that.
    package static func objects<Object: AnyObject>(_ range: Range<Int>, of array: [Object], lines: Int) {
        array.withUnsafeBytes { bytes in
            for index in range {
                let address = bytes.load(fromByteOffset: index * MemoryLayout<UInt>.stride, as: UInt.self)
                if let object = UnsafeRawPointer(bitPattern: address) { self.bytes(object, lines: lines) }
            }
        }
    }

    package static func bytes(_ start: UnsafeRawPointer, lines: Int) { cprefetch(start, lines) }

    /// An array's element, and what the array says of itself before its elements.
    static func element<Element>(_ index: Int, of array: borrowing [Element], lines: Int = 1) {
        array.span.withUnsafeBufferPointer { elements in
            guard let first = elements.baseAddress else { return }
            bytes(UnsafeRawPointer(first) - 32, lines: 1)
            bytes(UnsafeRawPointer(first + index), lines: lines)
        }
    }
}
