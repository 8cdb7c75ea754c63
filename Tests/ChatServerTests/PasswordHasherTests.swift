import Testing

@testable import ChatServer

struct PasswordHasherTests {
    private let hasher = PasswordHasher(cost: .init(logN: 4, r: 8, p: 1))

    @Test func `knows a password again, and no other`() async throws {
        let hash = try await hasher.hash("correct horse")
        #expect(hash.hasPrefix("$scrypt$ln=4,r=8,p=1$"))
        #expect(try await hasher.isRight("correct horse", for: hash))
        #expect(try await !hasher.isRight("correct hors", for: hash))
        #expect(try await hasher.hash("correct horse") != hash)
    }

    /// RFC 8265 §4.2: macOS may send in parts what Windows and phones send composed.
    @Test func `a password is the same whether its letters come composed or in parts`() async throws {
        let (composed, parted) = ("K\u{E4}se", "Ka\u{308}se")
        for typed in [composed, parted] {
            let hash = try await hasher.hash(typed)
            #expect(try await hasher.isRight(composed, for: hash))
            #expect(try await hasher.isRight(parted, for: hash))
            #expect(try await !hasher.isRight("Kase", for: hash))
        }
        // One that was kept as it was typed, in parts.
        let old = "$scrypt$ln=4,r=8,p=1$TmFDbDEyMzROYUNsMTIzNA$xguRo3FXKDLORv_b4t7IaJmW9f7yfrJ0hoNN3sDQatY"
        #expect(try await hasher.isRight(parted, for: old))
        #expect(try await !hasher.isRight(composed, for: old))
    }

    @Test func `nothing is right where there is no hash, or none that it can read`() async throws {
        #expect(try await !hasher.isRight("", for: nil))
        #expect(try await !hasher.isRight("x", for: "$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA"))
    }

    @Test func `what is kept at another cost is outdated, and right all the same`() async throws {
        let dearer = PasswordHasher(cost: .init(logN: 5, r: 8, p: 1))
        let hash = try await hasher.hash("correct horse")
        #expect(!hasher.isOutdated(hash))
        #expect(dearer.isOutdated(hash))
        #expect(try await dearer.isRight("correct horse", for: hash))
        #expect(dearer.isOutdated("$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA"))
    }

    /// Otherwise the time would tell who has an account.
    @Test func `a password that is kept at less is looked at for as long as that of nobody`() async throws {
        let dearer = PasswordHasher(cost: .init(logN: 13, r: 8, p: 1))
        let hash = try await hasher.hash("correct horse")
        func quickest(for hash: String?) async throws -> Duration {
            var quickest = Duration.seconds(60)
            for _ in 0..<4 {
                let begin = ContinuousClock.now
                #expect(try await !dearer.isRight("wrong horse", for: hash))
                quickest = min(quickest, ContinuousClock.now - begin)
            }
            return quickest
        }
        let (kept, nobody) = (try await quickest(for: hash), try await quickest(for: nil))
        // Without it, the five hundredth part.
        #expect(kept > nobody / 4)
    }

    @Test func `the more each one costs, the fewer wait`() {
        let costs: [UInt64] = [10, 15, 16, 17]
        let counts = costs.map { PasswordHasher.mostWaiting(at: .init(logN: $0)) }
        #expect(counts == [64, 64, 32, 16])
    }

    @Test func `unless something else is said a password costs a server what is usual`() {
        let usual = ChatServerConfiguration.usualPasswordCost
        #expect(usual == 15)
        #expect(ChatServerConfiguration().passwordCost == usual && PasswordHasher.Cost().logN == usual)
    }

    /// RFC 7914 §12, the second vector cut to our 32 bytes.
    @Test func `hashes as RFC 7914 has it`() async throws {
        let text = "$scrypt$ln=10,r=8,p=16$TmFDbA$_bq-HJ00cgB4VucZDQHp_nxq18vII3gw53N2Y0s3MWI"
        #expect(try await hasher.isRight("password", for: text))
    }
}
