import CAllocator
import Glibc

/// What a thread keeps of freed memory for its next allocations counts as in use, and goes when the thread ends.
package func onThreadOfItsOwn(_ work: () -> Void) {
    withoutActuallyEscaping(work) { work in
        let box = Unmanaged.passRetained(Work(work))
        var thread = pthread_t()
        let isStarted = pthread_create(
            &thread, nil,
            { pointer in
                if let pointer { Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().closure() }
                return nil
            }, box.toOpaque())
        precondition(isStarted == 0, "no thread")
        pthread_join(thread, nil)
    }
}

private final class Work {
    let closure: () -> Void

    init(_ closure: @escaping () -> Void) { self.closure = closure }
}

/// Large pieces come from the system one by one, and are counted apart.
package func bytesInUse() -> Int {
    let allocator = mallinfo2()
    return Int(allocator.uordblks + allocator.hblkhd)
}
