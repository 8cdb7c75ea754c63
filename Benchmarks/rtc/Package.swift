// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that the product's packages list no benchmark. It uses the WebRTC stack only:
// `swift build -c release --product rtc-bench` builds neither NIO nor anything else of a server.
let package = Package(
    name: "rtc-benchmark",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "roost", path: "../..")],
    targets: [
        .target(name: "CCallgrind"),
        .executableTarget(
            name: "rtc-bench",
            dependencies: [
                "CCallgrind", .product(name: "RoostRTC", package: "roost"), .product(name: "SFUCore", package: "roost"),
            ]),
    ]
)
