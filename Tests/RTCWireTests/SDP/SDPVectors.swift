import Foundation

/// The captured descriptions of `Tests/Vectors/sdp`.
enum SDPVectors {
    static let names = [
        "aiortc_offer", "chromium_audio_video_offer", "chromium_call_answer", "chromium_gathered_offer",
        "chromium_max_bundle_simulcast_offer", "firefox_audio_video_offer", "firefox_call_answer",
        "firefox_gathered_offer", "firefox_max_bundle_simulcast_offer", "firefox_style_offer",
        "py120_dual_publisher_offer",
        "py120_resume_ice_restart_offer", "py120_single_h264_simulcast_reoffer", "py120_single_join_offer",
        "py120_single_vp8_simulcast_reoffer", "safari_style_offer", "server_subscriber_offer_datachannel_only",
    ]

    static func text(_ name: String) throws -> String {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = tests.appending(path: "Vectors/sdp/\(name).sdp")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }
}
