internal import LiveKitProtocol

/// What a request's `User-Agent` (RFC 9110 §10.1.5) says of the browser.
extension LiveKitClientInfo {
    /// LiveKit's browser SDK leaves that to the server. Read are those browsers that rooms make exceptions for
    /// (`LiveKitCore.ClientQuirks`); all others are nobody's business.
    mutating func readBrowser(from userAgent: String) {
        // Those that may run in a browser.
        guard [.js, .reactNative, .flutter, .unity, .unknown].contains(sdk), browser.isEmpty else { return }
        let products = userAgent.split(separator: " ")
        func versionOf(_ product: String) -> String? {
            products.first { $0.hasPrefix(product + "/") }.map { String($0.dropFirst(product.count + 1)) }
        }
        let isMobile = userAgent.contains("Mobile") || userAgent.contains("Android")
        if let firefox = versionOf("Firefox") {
            browser = isMobile ? "Firefox Mobile" : "Firefox"
            browserVersion = firefox
        } else if let safari = versionOf("Version"), userAgent.contains("Safari/"), !userAgent.contains("Android"),
            // Others that say so for the sake of pages that look for it.
            ["Chrome", "Chromium", "CriOS", "EdgiOS", "FxiOS"].allSatisfy({ !userAgent.contains($0 + "/") })
        {
            browser = isMobile ? "Mobile Safari" : "Safari"
            browserVersion = safari
        } else {
            return
        }
        guard os.isEmpty else { return }
        // Androids are Linux as well, and an iPhone is "like Mac OS X".
        let systems = [
            ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iOS"), ("Mac OS X", "Mac OS X"),
            ("Windows", "Windows"), ("Linux", "Linux"),
        ]
        os = systems.first { userAgent.contains($0.0) }?.1 ?? ""
    }
}
