package import ChatModel

/// What the icons of apps show, as far as servers have said it. Kept: a number outlasts the server that sent it, and
/// another server than that one may hear that everything is read.
extension ChatTransaction {
    /// A number is about to go to somebody's devices.
    package func iconsGetNumber(of user: UserID) throws {
        try session.run("UPDATE devices SET icon_is_clear = 0 WHERE user_id = $1 AND icon_is_clear = 1", .id(user))
    }

    /// A device was taken for clear, and what was to make it so has not come there.
    package func iconKeepsNumber(of device: DeviceID) throws {
        try session.run("UPDATE devices SET icon_is_clear = 0 WHERE id = $1 AND icon_is_clear = 1", .id(device))
    }

    /// Devices whose icons may show a number, though their owner has nothing unread.
    package func staleIcons(of user: UserID, topics: Set<String>) throws -> [PushAddress] {
        let addresses = try pushAddresses(of: user).filter {
            $0.alertToken != nil && !$0.iconIsClear && topics.contains($0.appID)
        }
        // The number costs more than the devices: it is asked for where it decides.
        guard !addresses.isEmpty, try badge(of: user) == 0 else { return [] }
        return addresses
    }

    /// Takes them for clear.
    ///
    /// - Returns: those that no other server has taken for clear before.
    package func clearIcons(of user: UserID, topics: Set<String>) throws -> [PushAddress] {
        try staleIcons(of: user, topics: topics).filter {
            try session.run(
                "UPDATE devices SET icon_is_clear = 1 WHERE id = $1 AND icon_is_clear = 0", .id($0.device)) == 1
        }
    }
}
