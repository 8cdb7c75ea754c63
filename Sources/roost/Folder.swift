internal import Foundation

/// Folders that commands are told of.
enum Folder {
    /// Makes a folder that is its owner's alone, with those above it, unless it is there.
    ///
    /// - Returns: nil when it is there; otherwise why not, in the system's words.
    static func make(_ path: String) -> String? {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            return nil
        } catch {
            // Its sentence leaves out the system's reason.
            let reason = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            if let reason, reason.domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(reason.code))) }
            return mkdir(path, 0o700) == 0 ? nil : String(cString: strerror(errno))
        }
    }
}
