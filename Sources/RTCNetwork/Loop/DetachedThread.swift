internal import CDatagram
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A thread that nobody waits for: what it had goes back to the system when it ends.
enum DetachedThread {
    private final class Body {
        let name: String
        let run: () -> Void

        init(_ name: String, _ run: @escaping () -> Void) {
            self.name = name
            self.run = run
        }

        /// Takes back what `start` gave to the thread, and does it.
        static func run(_ pointer: UnsafeMutableRawPointer) {
            let body = Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue()
            cdatagram_name_thread(body.name)
            body.run()
        }
    }

    /// False when the system has no thread left; then `body` is not run.
    static func start(named name: String, _ body: @escaping () -> Void) -> Bool {
        let argument = Unmanaged.passRetained(Body(name, body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        #if canImport(Darwin)
            var thread: pthread_t?
            let result = pthread_create(
                &thread, &attributes,
                { pointer in
                    Body.run(pointer)
                    return nil
                }, argument.toOpaque())
        #else
            var thread = pthread_t()
            let result = pthread_create(
                &thread, &attributes,
                { pointer in
                    if let pointer { Body.run(pointer) }
                    return nil
                }, argument.toOpaque())
        #endif
        if result != 0 { argument.release() }
        return result == 0
    }
}
