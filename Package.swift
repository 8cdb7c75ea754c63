// swift-tools-version: 6.3
import Foundation
import PackageDescription

/// `make test` sets this: a warning in a module of ours is an error there, and stays a warning for those who use us.
let isStrict = Context.environment["ROOST_STRICT"] != nil

/// Some modules are optimized for `make test` too, assertions kept: a thousand calls and hours of virtual time go
/// through them. A debug build of your own is left to the debugger.
let optimized: [SwiftSetting] =
    isStrict ? [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))] : []

/// Every target of ours: Swift 6 mode, `any` spelled out, imports internal unless said otherwise.
let swiftSettings: [SwiftSetting] =
    (isStrict ? [.treatAllWarnings(as: .error)] : []) + [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableExperimentalFeature("Lifetimes"),
    ]

/// What decodes pictures, where its headers are: without one of them everything builds, and there are no thumbnails of
/// that format.
let pictureLibraries = [("jpeglib.h", "JPEG", "jpeg"), ("png.h", "PNG", "png"), ("webp/decode.h", "WEBP", "webp")]
    .filter { FileManager.default.fileExists(atPath: "/usr/include/\($0.0)") }

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOWebSocket", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
]

func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = [], settings: [SwiftSetting] = []
) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swiftSettings + settings)
}

/// A program of a page or two, with a folder in Examples; not part of any product.
func example(_ name: String, _ more: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name, dependencies: ["ExampleSupport", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles"] + more,
        path: "Examples/\(name)", swiftSettings: swiftSettings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: swiftSettings + settings)
}

/// `WebRTCCore` is The Composable Architecture over libwebrtc on a Mac, for it and for iOS; elsewhere, where neither
/// builds, it is our stand-in over our own WebRTC.
#if os(macOS)
    let appleOnly: [Package.Dependency] = [
        .package(url: "https://github.com/pointfreeco/swift-composable-architecture", from: "1.17.0"),
        .package(url: "https://github.com/stasel/WebRTC", "120.0.0"..<"1000.0.0"),
    ]
    let receiving: [Target.Dependency] = [
        .product(name: "ComposableArchitecture", package: "swift-composable-architecture"),
        .product(name: "WebRTC", package: "WebRTC"),
    ]
    let receivingTests = receiving
    let watching: [Target.Dependency] = []
    let withoutOurPeers = ["RealPeers"]
    // What the tests say of the stand-in is to hold of the library.
    let standIn: [Target] = [
        .testTarget(
            name: "ComposableArchitectureStandInTests", dependencies: receiving,
            exclude: ["CanaryTests.swift", "DescriptionTests.swift"], swiftSettings: swiftSettings)
    ]
#else
    let appleOnly: [Package.Dependency] = []
    let receiving: [Target.Dependency] = ["ComposableArchitectureStandIn", "RTCNetwork", "RTCEngine"]
    let receivingTests: [Target.Dependency] = [
        "ComposableArchitectureStandIn", "ComposableArchitectureStandInTesting", "RTCNetwork", "RTCEngine", "RTCWire",
        "MediaFiles",
    ]
    let watching: [Target.Dependency] = ["WebRTCCore", "ComposableArchitectureStandIn"]
    let withoutOurPeers: [String] = []
    let standIn = [
        library("ComposableArchitectureStandIn"),
        library("ComposableArchitectureStandInTesting", ["ComposableArchitectureStandIn"]),
        tests(
            "ComposableArchitectureStandInTests",
            ["ComposableArchitectureStandIn", "ComposableArchitectureStandInTesting"]),
    ]
#endif

let package = Package(
    name: "roost",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "RoostRTC", targets: ["RTCWire", "RTCEngine", "RTCSecurity", "RTCNetwork", "MediaFiles"]),
        .library(name: "SFUCore", targets: ["SFUCore"]),
        .library(name: "SocketIO", targets: ["SocketIO"]),
        .library(name: "RoostKit", targets: ["ClientKit", "ClientFeatures"]),
        .library(name: "LiveKitClient", targets: ["LiveKitClient"]),
        .library(name: "WebRTCCore", targets: ["WebRTCCore"]),
        .executable(name: "roost", targets: ["roost"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ] + appleOnly,
    targets: [
        // Shims over system libraries and system calls: no logic.
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(name: "CDatagram"),
        .target(name: "CPrefetch"),
        .target(name: "CFileBirth"),
        .target(name: "CPacketCiphers"),
        // Decoders of pictures, and a small picture of a large one.
        .target(
            name: "CPictures", cSettings: pictureLibraries.map { .define("CPICTURES_\($0.1)") },
            linkerSettings: pictureLibraries.map { .linkedLibrary($0.2) }),

        // The WebRTC stack.
        library("RTCWire", settings: optimized),
        library("RTCEngine", ["RTCWire", "CPrefetch"], settings: optimized),
        library("RTCSecurity", ["RTCEngine", "RTCWire", "COpenSSL", "CPacketCiphers"]),
        library("MediaFiles", ["RTCEngine", "RTCWire"]),
        library("RTCNetwork", ["RTCEngine", "RTCSecurity", "RTCWire", "MediaFiles", "CDatagram"]),
        library("TURNServer", ["RTCNetwork", "RTCEngine", "RTCSecurity", "RTCWire"], settings: optimized),

        // Many who hear and see each other over one server.
        library("SFUCore", ["RTCEngine", "RTCWire"], settings: optimized),

        // Signaling.
        library("SocketIO", nio + [.product(name: "Logging", package: "swift-log")]),
        library("CallSignaling", ["SocketIO", .product(name: "Logging", package: "swift-log")]),

        // A client of Redis.
        library(
            "RedisClient",
            [
                "COpenSSL",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // LiveKit's protocol: messages, tokens, webhooks. What protoc made of Protos is in Generated.
        library(
            "LiveKitProtocol",
            ["COpenSSL", "CZlib", .product(name: "SwiftProtobuf", package: "swift-protobuf")], exclude: ["Protos"]),
        // A room of it, without sockets.
        library(
            "LiveKitCore",
            [
                "LiveKitProtocol", "SFUCore", "RTCEngine", "RTCWire",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ], settings: optimized),

        // Its sockets, endpoints, room service and webhooks.
        library(
            "LiveKitServer",
            [
                "LiveKitCore", "LiveKitProtocol", "LiveKitRecorder", "LiveKitClient", "SFUCore", "RTCNetwork",
                "RTCEngine", "RTCSecurity", "RTCWire", "SocketIO",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "Logging", package: "swift-log"),
            ] + nio),

        // The chat: what is said of it in JSON, its rules and tables, where they are kept, its HTTP and WebSocket API.
        library("ChatModel"),
        library("ChatCore", ["ChatModel"]),
        library(
            "ChatStoreSQLite", ["ChatCore", "ChatModel", "CFileBirth", .product(name: "GRDB", package: "GRDB.swift")]),
        library("ChatStorePostgres", ["ChatCore", "ChatModel", "CPostgres"]),
        library(
            "ChatServer",
            [
                "ChatCore", "ChatModel", "RedisClient", "LiveKitProtocol", "SocketIO", "COpenSSL", "CPictures",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
            ] + nio),

        // Clients.
        library("ClientKit", ["SocketIO"]),
        library("ClientFeatures", ["ClientKit"]),
        library("ClientRTC", ["ClientKit", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles"]),

        // A participant of LiveKit's rooms.
        library(
            "LiveKitClient",
            [
                "LiveKitProtocol", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles", "SocketIO",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ]),

        // One that records.
        library(
            "LiveKitRecorder", ["LiveKitClient", "MediaFiles", "RTCNetwork", "RTCEngine", "RTCWire"]),

        // Receiving video in an app's reducer.
        library("WebRTCCore", receiving, exclude: ["README.md"]),

        // The command.
        .executableTarget(
            name: "roost",
            dependencies: [
                "CallSignaling", "SocketIO", "ClientKit", "ClientFeatures", "ClientRTC", "LiveKitProtocol",
                "LiveKitClient", "LiveKitRecorder", "LiveKitServer", "RTCNetwork", "RTCSecurity", "RTCEngine",
                "RTCWire", "MediaFiles", "TURNServer", "ChatServer", "ChatStoreSQLite", "ChatStorePostgres",
                "ChatCore", "ChatModel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ] + nio + watching,
            swiftSettings: swiftSettings
        ),

        // Programs to read and to try.
        .target(
            name: "ExampleSupport", dependencies: ["RTCNetwork", "RTCEngine"], path: "Examples/ExampleSupport",
            swiftSettings: swiftSettings),
        example("echo"), example("broadcast"), example("perfect-negotiation"), example("whip-publish"),
        example("data-channel-chat"), example("save-to-disk"), example("play-from-disk"),
        example("echo-agent", ["LiveKitClient"]),

        // Whole calls over links with names, in virtual time: for the tests, and for the plots of
        // Benchmarks/congestion.
        .target(
            name: "CongestionLinks", dependencies: ["RTCEngine", "RTCWire"],
            path: "Benchmarks/congestion/Sources/CongestionLinks", swiftSettings: swiftSettings + optimized),
        .executableTarget(
            name: "congestion-links", dependencies: ["CongestionLinks"],
            path: "Benchmarks/congestion/Sources/congestion-links", swiftSettings: swiftSettings),
        .executableTarget(
            name: "congestion-peer", dependencies: ["CongestionLinks", "RTCNetwork", "RTCEngine", "RTCWire"],
            path: "Benchmarks/congestion/Sources/congestion-peer", swiftSettings: swiftSettings),

        tests("RTCWireTests", ["RTCWire"]),
        // What the process holds, for tests that nothing is left behind.
        .systemLibrary(name: "CAllocator", path: "Tests/CAllocator"),
        .target(
            name: "AllocatorMeter", dependencies: ["CAllocator"], path: "Tests/AllocatorMeter",
            swiftSettings: swiftSettings),
        // Whole calls on a virtual network, with their signaling, media and what has to hold of them.
        .target(
            name: "SimulatedCalls", dependencies: ["RTCEngine", "RTCWire", "RTCSecurity"], path: "Tests/SimulatedCalls",
            swiftSettings: swiftSettings + optimized),
        tests(
            "RTCEngineTests",
            ["RTCEngine", "RTCWire", "RTCSecurity", "SimulatedCalls", "CongestionLinks", "AllocatorMeter"]),
        tests("RTCSecurityTests", ["RTCSecurity", "RTCEngine", "RTCWire", "COpenSSL"]),
        tests("MediaFilesTests", ["MediaFiles", "RTCEngine", "RTCWire"]),
        // Publishers, paths and receivers of pictures, for tests of one subscription and of whole rooms.
        .target(
            name: "SFUModels", dependencies: ["SFUCore", "RTCEngine", "RTCWire"], path: "Tests/SFUModels",
            swiftSettings: swiftSettings + optimized),
        tests(
            "SFUCoreTests", ["SFUCore", "SFUModels", "RTCEngine", "RTCWire", "CongestionLinks"], settings: optimized),
        // Programs that tests run and wait for.
        .target(name: "ProgramRun", path: "Tests/ProgramRun", swiftSettings: swiftSettings),
        tests(
            "RTCNetworkTests",
            ["RTCNetwork", "RTCEngine", "RTCSecurity", "RTCWire", "MediaFiles", "ProgramRun"]),
        tests(
            "TURNServerTests",
            ["TURNServer", "RTCNetwork", "RTCEngine", "RTCSecurity", "RTCWire", "MediaFiles", "ProgramRun"]),
        tests("SocketIOTests", ["SocketIO"] + nio),
        tests(
            "RedisClientTests",
            [
                "RedisClient", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "Logging", package: "swift-log"),
            ]),
        tests("CallSignalingTests", ["CallSignaling", "SocketIO"]),
        tests(
            "LiveKitProtocolTests", ["LiveKitProtocol", .product(name: "SwiftProtobuf", package: "swift-protobuf")]),
        tests(
            "LiveKitCoreTests",
            [
                "LiveKitCore", "LiveKitProtocol", "SFUCore", "SFUModels", "CongestionLinks", "AllocatorMeter",
                "RTCEngine",
                "RTCSecurity", "RTCWire",
            ], settings: optimized),
        tests(
            "LiveKitServerTests",
            [
                "LiveKitServer", "LiveKitClient", "LiveKitCore", "LiveKitProtocol", "SFUCore", "RTCNetwork",
                "RTCEngine", "RTCSecurity", "RTCWire", "SocketIO",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ] + nio),
        tests(
            "LiveKitClientTests",
            [
                "LiveKitClient", "LiveKitProtocol", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ]),
        tests("LiveKitRecorderTests", ["LiveKitRecorder"]),
        tests("ChatModelTests", ["ChatModel"]),
        tests("ChatCoreTests", ["ChatCore", "ChatModel", "ChatStoreSQLite", "ChatStorePostgres", "ProgramRun"]),
        tests(
            "ChatServerTests",
            ["ChatServer", "ChatCore", "ChatModel", "ChatStoreSQLite", "SocketIO", "LiveKitProtocol", "COpenSSL"]),
        tests("ClientKitTests", ["ClientKit", "SocketIO"]),
        tests("ClientRTCTests", ["ClientRTC", "ClientKit", "RTCNetwork", "RTCEngine", "RTCWire", "MediaFiles"]),
        tests("ClientFeaturesTests", ["ClientFeatures", "ClientKit"]),
        .testTarget(
            name: "WebRTCCoreTests", dependencies: ["WebRTCCore"] + receivingTests, exclude: withoutOurPeers,
            swiftSettings: swiftSettings),

        // One function a parser; libFuzzer runs them by Fuzz/run.sh, the tests replay their corpora.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "RTCWire", "RTCEngine", "SFUCore", "RTCSecurity", "MediaFiles", "TURNServer", "SocketIO",
                "CallSignaling", "RedisClient",
                "ClientKit", "LiveKitProtocol", "LiveKitCore", "LiveKitClient", "LiveKitServer", "ChatModel",
                "ChatCore",
                "ChatServer",
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            path: "Fuzz/Targets",
            swiftSettings: swiftSettings),
        tests("FuzzReplayTests", ["FuzzTargets"]),
    ] + standIn
)

// SwiftPM compiles a module anew when a module that it names has changed. A struct of ours can hold one of a module
// further down, and grow with it without any change to the module between; what is not compiled anew then reads it
// where it was, and crashes. So every target names all of our modules that it stands on.
func modules(below target: Target, of all: [String: Target]) -> Set<String> {
    target.dependencies.reduce(into: []) { found, dependency in
        guard case .byNameItem(let name, _) = dependency, let next = all[name] else { return }
        found.formUnion(modules(below: next, of: all).union([name]))
    }
}
let ours = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
for target in package.targets {
    let below = modules(below: target, of: ours)
    let already = target.dependencies.compactMap { if case .byNameItem(let name, _) = $0 { name } else { nil } }
    target.dependencies += below.subtracting(already).sorted().map { .byName(name: $0) }
}
