import Dispatch
import Synchronization

/// Runs a test store's effects on the main queue, one after the other, so that they keep their order in every run.
///
/// Work of theirs that belongs to another executor, such as an actor's of its own or a socket's, goes on there.
final class EffectExecutor: TaskExecutor {
    private let jobs = Atomic<Int>(0)

    /// How many pieces of work were run so far.
    var count: Int { jobs.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue.main.async {
            self.jobs.add(1, ordering: .relaxed)
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Returns when effects have done what they can do without anything from outside.
    @MainActor
    func settle() async {
        var quiet = 0
        var seen = count
        for _ in 0..<1_000 where quiet < 20 {
            await Task.yield()
            quiet = count == seen ? quiet + 1 : 0
            seen = count
        }
    }
}
