internal import CPictures
internal import Foundation

/// What `roost thumbnail` does: reads a picture from standard input, and writes its size and a thumbnail to standard
/// output, as `Thumbnailer.picture(of:)` reads it.
package enum ThumbnailWork {
    /// Pixels that are decoded at most, which the picture's head tells before anything is.
    static let pixelLimit: UInt64 = 50_000_000

    /// Does it, within little memory and time.
    ///
    /// - Returns: the status that the process ends with.
    package static func run() -> Int32 {
        confine()
        guard let input = try? FileHandle.standardInput.read(upToCount: Int(Thumbnailer.sizeLimit)),
            let answer = answer(to: [UInt8](input))
        else { return 1 }
        do {
            try FileHandle.standardOutput.write(contentsOf: answer)
            return 0
        } catch {
            return 1
        }
    }

    /// - Returns: nil for what is no picture.
    static func answer(to picture: [UInt8]) -> [UInt8]? {
        var result = cpictures_thumbnail()
        defer { cpictures_free(&result) }
        guard cpictures_make(picture, picture.count, Int32(Thumbnailer.edge), pixelLimit, &result) else { return nil }
        let size = "\(result.width) \(result.height)"
        guard let bytes = result.bytes, result.length > 0 else { return Array("\(size)\n".utf8) }
        let type = result.is_png ? "image/png" : "image/jpeg"
        return Array("\(size) \(type)\n".utf8) + UnsafeBufferPointer(start: bytes, count: result.length)
    }

    /// 1.5 GiB of addresses, of which a picture of 50 million pixels takes 300 MB; eight seconds; nothing written to
    /// files, and no core of somebody's picture.
    private static func confine() {
        func limit(_ resource: Resource, _ most: UInt64) {
            var limit = rlimit(rlim_cur: rlim_t(most), rlim_max: rlim_t(most))
            _ = setrlimit(resource, &limit)
        }
        limit(resource(RLIMIT_AS), 1_536 << 20)
        limit(resource(RLIMIT_CPU), 8)
        limit(resource(RLIMIT_FSIZE), 0)
        limit(resource(RLIMIT_CORE), 0)
    }

    #if canImport(Glibc)
        private typealias Resource = __rlimit_resource_t
        private static func resource(_ name: __rlimit_resource) -> Resource { Resource(name.rawValue) }
    #else
        private typealias Resource = Int32
        private static func resource(_ name: Int32) -> Resource { name }
    #endif
}
