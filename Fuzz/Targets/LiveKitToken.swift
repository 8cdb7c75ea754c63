import Foundation
import LiveKitProtocol

private let now = Date(timeIntervalSince1970: 1_767_323_045)

private let key: APIKey = {
    guard let key = try? APIKey("APIroost", secret: "a-secret-of-forty-two-bytes-for-the-tests!") else {
        fatalError("a key")
    }
    return key
}()

/// Any bytes as a token, as the payload of one that is signed as it should be, and as the body of a webhook. A token
/// that is taken says the same when it is signed once more.
func fuzzLiveKitToken(_ bytes: RawSpan) {
    let input = bytes.withUnsafeBytes { Array($0) }
    check(String(decoding: input, as: UTF8.self))
    if let text = SignedText.sign(input, with: key) { check(text) }
    if let webhook = try? SignedWebhook(body: input, key: key, at: now) {
        _ = try? LiveKitWebhookEvent(
            verifying: input, authorization: webhook.authorization, with: APIKeys(key), at: now)
    }
}

private func check(_ text: String) {
    guard let token = try? AccessToken(verifying: text, with: APIKeys(key), at: now) else { return }
    _ = token.claims.video?.permission
    guard let again = try? token.signed(with: key) else { fatalError("what is read can be signed") }
    do throws(AccessTokenRefusal) {
        let read = try AccessToken(verifying: again, with: APIKeys(key), at: now)
        precondition(read.claims == token.claims && read.identity == token.identity)
    } catch {
        // Fractions of seconds are cut off.
        guard case .expired = error else { fatalError("\(error)") }
    }
}
