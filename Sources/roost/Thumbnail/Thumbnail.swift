internal import ArgumentParser
internal import ChatServer

/// `roost thumbnail`: what `roost serve` starts for each picture, so that a picture that breaks its decoder breaks
/// nothing else.
struct Thumbnail: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read a picture from standard input, and write its size and a thumbnail.", shouldDisplay: false)

    func run() throws {
        let status = ThumbnailWork.run()
        guard status == 0 else { throw ExitCode(status) }
    }
}
