// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that the product's packages list no benchmark.
let package = Package(
    name: "signaling-benchmark",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "roost", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .executableTarget(
            name: "relay-server",
            dependencies: [
                .product(name: "SocketIO", package: "roost"), .product(name: "NIOPosix", package: "swift-nio"),
            ])
    ]
)
