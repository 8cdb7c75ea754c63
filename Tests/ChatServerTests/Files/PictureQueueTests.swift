import ChatModel
import Foundation
import Testing

@testable import ChatServer

struct PictureQueueTests {
    private let ann = UserID(UUID())
    private let bob = UserID(UUID())

    /// A queue that expectations can change.
    private final class Waiting {
        private var queue = PictureQueue()
        var count: Int { queue.count }
        func add(_ picture: PictureQueue.Picture) -> Bool { queue.add(picture) }
        func begin() -> PictureQueue.Picture? { queue.begin() }
        func end(_ id: FileID) { queue.end(id) }
    }

    private func picture(of owner: UserID) -> PictureQueue.Picture {
        PictureQueue.Picture(id: FileID(UUID()), owner: owner, size: 1)
    }

    @Test func `two at a time, and each person's in turn`() {
        let queue = Waiting()
        let anns = (0..<4).map { _ in picture(of: ann) }
        let bobs = picture(of: bob)
        for one in anns + [bobs] { #expect(queue.add(one)) }
        #expect(queue.begin() == anns[0])
        // Bob came last, and does not wait for all of Ann's.
        #expect(queue.begin() == bobs)
        #expect(queue.begin() == nil && queue.count == 3)
        queue.end(bobs.id)
        #expect(queue.begin() == anns[1] && queue.begin() == nil)
        for one in anns { queue.end(one.id) }
        #expect(queue.begin() == anns[2] && queue.begin() == anns[3] && queue.begin() == nil)
        #expect(queue.count == 0)
    }

    @Test func `of one person and of all only so many wait`() {
        let queue = Waiting()
        for _ in 0..<PictureQueue.mostOfOne { #expect(queue.add(picture(of: ann))) }
        #expect(!queue.add(picture(of: ann)))
        #expect(queue.add(picture(of: bob)))
        while queue.count < PictureQueue.most { #expect(queue.add(picture(of: UserID(UUID())))) }
        #expect(!queue.add(picture(of: bob)))
        #expect(queue.begin() != nil && queue.add(picture(of: bob)))
    }
}
