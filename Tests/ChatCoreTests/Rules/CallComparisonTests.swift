import ChatModel
import Foundation
import Testing

@testable import ChatCore

@Suite struct CallComparisonTests {
    private let ann = UserID(UUID())
    private let bob = UserID(UUID())

    private struct Told: Equatable {
        let room: String
        let event: CallRoomEvent
    }

    /// One look after the other.
    private final class Looks {
        private var comparison = CallComparison()

        func compare(
            connected: [UserID: String], awaited: Set<UserID> = [], present: [UserID: String]?
        ) -> [Told] {
            let seats = ChatTransaction.CallSeats(room: "call-1", connected: connected, awaited: awaited)
            return comparison.compare([(seats, present)]).map { Told(room: $0.room, event: $0.event) }
        }
    }

    @Test func `who is missing at two looks in a row has left`() {
        let looks = Looks()
        let seats = [ann: "PA_1", bob: "PA_2"]
        #expect(looks.compare(connected: seats, present: seats) == [])
        #expect(looks.compare(connected: seats, present: [ann: "PA_1"]) == [])
        let left = Told(room: "call-1", event: .left(bob, sid: "PA_2", isFinal: true))
        #expect(looks.compare(connected: seats, present: [ann: "PA_1"]) == [left])
    }

    @Test func `one look is not enough, and one that failed says nothing`() {
        let looks = Looks()
        let seats = [ann: "PA_1"]
        #expect(looks.compare(connected: seats, present: [:]) == [])
        #expect(looks.compare(connected: seats, present: seats) == [])
        #expect(looks.compare(connected: seats, present: [:]) == [])
        #expect(looks.compare(connected: seats, present: nil) == [])
        #expect(looks.compare(connected: seats, present: [:]) == [])
        #expect(looks.compare(connected: seats, present: [:]).count == 1)
    }

    @Test func `who has come without a word is taken in, and who is awaited is given time`() {
        let looks = Looks()
        let joined = Told(room: "call-1", event: .joined(bob, sid: "PA_2"))
        #expect(looks.compare(connected: [:], awaited: [bob], present: [bob: "PA_2"]) == [joined])
        // With another device than the one that was there.
        let moved = Told(room: "call-1", event: .joined(bob, sid: "PA_3"))
        #expect(looks.compare(connected: [bob: "PA_2"], present: [bob: "PA_3"]) == [moved])
        for _ in 0..<3 {
            #expect(looks.compare(connected: [bob: "PA_2"], awaited: [bob], present: [:]) == [])
            #expect(looks.compare(connected: [:], awaited: [bob], present: [:]) == [])
        }
    }
}
