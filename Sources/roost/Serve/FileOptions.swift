internal import ArgumentParser
internal import ChatCore
internal import ChatModel
internal import ChatServer
internal import Foundation

/// Where files of the chat are, and how large they may be.
struct FileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The largest file: bytes, or with K, M or G behind.", valueName: "size"))
    var maxFileSize = ByteCount(100 << 20)

    @Option(
        help: ArgumentHelp(
            "What all files of a workspace have together; without it there is no limit.", valueName: "size"))
    var workspaceStorage: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Do not take files of this kind: an ending (exe) or a media type (application/zip, video/*); may be repeated.",
            valueName: "kind"))
    var refuseFiles: [String] = []

    @Option(
        help: ArgumentHelp(
            "Keep files in a store that speaks S3's protocol, not in --data. Its keys are in ROOST_S3_ACCESS_KEY and ROOST_S3_SECRET_KEY.",
            valueName: "url"))
    var s3Endpoint: String?

    @Option(help: ArgumentHelp("The bucket, which is there.", valueName: "name"))
    var s3Bucket: String?

    @Option(help: ArgumentHelp("The region that the store is in.", valueName: "name"))
    var s3Region = "us-east-1"

    /// S3 takes 10,000 parts; of 5 MiB each, and those that a file may have are to be listed at each step.
    private static let largest: Int64 = 5 << 30

    func validate() throws {
        guard (1...Self.largest).contains(maxFileSize.bytes) else {
            throw ValidationError("--max-file-size takes from 1 byte to 5G.")
        }
        guard (s3Endpoint == nil) == (s3Bucket == nil) else {
            throw ValidationError("--s3-endpoint and --s3-bucket belong together.")
        }
        guard let s3Endpoint, let s3Bucket else { return }
        let host = s3Endpoint.drop { $0 != "/" }.drop { $0 == "/" }
        guard s3Endpoint.hasPrefix("http://") || s3Endpoint.hasPrefix("https://"), !host.isEmpty,
            !host.contains(where: { "/?#@ ".contains($0) })
        else { throw ValidationError("--s3-endpoint takes a URL such as https://s3.example.org, without a path.") }
        guard !s3Bucket.isEmpty, s3Bucket.utf8.allSatisfy(Self.isBucketByte) else {
            throw ValidationError("--s3-bucket takes a name of small letters, digits, '.' and '-'.")
        }
        guard Self.key("ACCESS") != nil, Self.key("SECRET") != nil else {
            throw ValidationError("--s3-endpoint needs ROOST_S3_ACCESS_KEY and ROOST_S3_SECRET_KEY.")
        }
    }

    private static func isBucketByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static func key(_ kind: String) -> String? {
        ProcessInfo.processInfo.environment["ROOST_S3_\(kind)_KEY"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// - Parameter folder: the chat's own.
    func apply(
        to configuration: inout ChatServerConfiguration, folder: String, now: @escaping @Sendable () -> Timestamp
    ) throws {
        configuration.limits.fileSize = maxFileSize.bytes
        configuration.limits.workspaceStorage = workspaceStorage?.bytes
        configuration.limits.refusedFileTypes = Set(
            refuseFiles.map { ($0.hasPrefix(".") ? String($0.dropFirst()) : $0).lowercased() })
        if let s3Endpoint, let s3Bucket, let accessKey = Self.key("ACCESS"), let secretKey = Self.key("SECRET") {
            configuration.fileStore = S3FileStore(
                .init(
                    endpoint: s3Endpoint, bucket: s3Bucket, region: s3Region, accessKey: accessKey,
                    secretKey: secretKey),
                now: now)
        } else {
            configuration.fileStore = try FolderFileStore(folder: folder)
        }
        configuration.pictureFolder = folder + "/pictures"
        configuration.thumbnailer = Bundle.main.executableURL.map { Thumbnailer(program: $0) }
    }
}

/// A number of bytes, as people write it.
struct ByteCount: ExpressibleByArgument {
    let bytes: Int64

    init(_ bytes: Int64) { self.bytes = bytes }

    init?(argument: String) {
        let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let unit = argument.last.flatMap { units[Character($0.uppercased())] }
        guard let number = Int64(unit == nil ? argument[...] : argument.dropLast()), number >= 0,
            case let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1), !isTooLarge
        else { return nil }
        self.bytes = bytes
    }

    var defaultValueDescription: String { bytes % (1 << 20) == 0 ? "\(bytes >> 20)M" : "\(bytes)" }
}
