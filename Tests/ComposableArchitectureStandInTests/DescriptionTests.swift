@testable import ComposableArchitectureStandInTesting
import Testing

struct DescriptionTests {
    private struct Room {
        var name: String?
        var seats: [Int]
        var tags: Set<String> = ["a", "b", "c"]
    }

    @Test func `shows what differs with what is around it`() {
        let text = Description.difference(
            Room(name: "blue", seats: Array(0..<9)), Room(name: nil, seats: Array(0..<9)))
        #expect(
            text == """
                    Room(
                  −   name: "blue"
                  +   name: nil
                      seats: [
                        0
                        1
                    … (14 lines alike)

                  (Expected: −, Actual: +)
                """)
    }

    @Test func `equal sets are described alike`() {
        let sets = (0..<20).map { _ in Set((0..<30).map { "\($0)" }) }
        #expect(Set(sets.map { Description.text(of: $0) }).count == 1)
    }

    @Test func `says so when values differ that are described alike`() {
        #expect(Description.difference(2, 2).contains("described alike"))
    }
}
