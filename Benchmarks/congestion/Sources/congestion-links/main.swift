import CongestionLinks
import Foundation

// congestion-links DIRECTORY [NAME…]: runs the named links (all, when none is named), writes NAME.csv for each and
// prints a summary.
let arguments = CommandLine.arguments.dropFirst()
guard let directory = arguments.first else {
    print("usage: congestion-links DIRECTORY [NAME…]")
    print(LinkProfile.all.map { "  \($0.name): \($0.purpose)" }.joined(separator: "\n"))
    exit(64)
}
var profiles = LinkProfile.all
if arguments.count > 1 {
    profiles = []
    for name in arguments.dropFirst() {
        guard let profile = LinkProfile.named(name) else {
            print("There is no link named \(name).")
            exit(64)
        }
        profiles.append(profile)
    }
}
try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
print("| link | used, % | used after 15 s, % | queue, 95th percentile, ms | dropped | pictures |")
print("|---|---|---|---|---|---|")
for profile in profiles {
    let report = try LinkSimulation.run(profile)
    try report.csv.write(toFile: "\(directory)/\(profile.name).csv", atomically: true, encoding: .utf8)
    let shares = profile.flows.indices.map { String(format: "%.0f", report.utilisation(of: $0) * 100) }
    let later = profile.flows.indices.map { String(format: "%.0f", report.utilisation(of: $0, from: 15) * 100) }
    print(
        "| \(profile.name) | \(shares.joined(separator: " + ")) | \(later.joined(separator: " + ")) |",
        String(format: "%.0f", report.queueDelay()), "| \(report.dropped()) |",
        report.framesReceived.map { "\($0)" }.joined(separator: " + "), "|")
}
