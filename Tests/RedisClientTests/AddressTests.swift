import RedisClient
import Testing

struct AddressTests {
    private func parts(_ url: String) throws(RedisFault) -> String {
        let address = try RedisAddress(url)
        return "\(address.host) \(address.port) \(address.database) \(address.username ?? "-") "
            + "\(address.password ?? "-") \(address.isSecure ? "tls" : "plain")"
    }

    @Test(arguments: [
        ("redis://localhost", "localhost 6379 0 - - plain"),
        ("redis://localhost/", "localhost 6379 0 - - plain"),
        ("REDISS://redis.example.org:6380/12", "redis.example.org 6380 12 - - tls"),
        ("redis://:secret@127.0.0.1/3", "127.0.0.1 6379 3 - secret plain"),
        ("redis://roost:secret@[::1]:7000", "::1 7000 0 roost secret plain"),
        ("redis://roost@host", "host 6379 0 roost - plain"),
        ("redis://r%40ost:%2F%3A%25%C3%A4@host", "host 6379 0 r@ost /:%ä plain"),
        ("redis://user:p:a@b@host", "host 6379 0 user p:a@b plain"),
    ])
    func `reads every part`(url: String, expected: String) throws {
        #expect(try parts(url) == expected)
    }

    @Test(arguments: [
        "", "localhost", "http://localhost", "redis://", "redis://:6379", "redis://host:", "redis://host:0",
        "redis://host:65536", "redis://host:+1", "redis://host/one", "redis://host/-1", "redis://host/1/2",
        "redis://[::1", "redis://[host]", "redis://[::1]6379", "redis://host?db=1", "redis://host#1",
        "redis://:%zz@host", "redis://:%ff@host", "redis://::1:6379",
    ])
    func `refuses what is no address`(url: String) {
        #expect {
            try RedisAddress(url)
        } throws: { error in
            guard case RedisFault.badAddress = error else { return false }
            return true
        }
    }

    @Test func `nothing secret is in its description or in a fault`() throws {
        #expect(try RedisAddress("rediss://user:secret@[::1]/2").description == "rediss://[::1]:6379/2")
        #expect(try RedisAddress("redis://secret@host").description == "redis://host:6379")
        #expect {
            try RedisAddress("redis://:secret@host:port")
        } throws: {
            !"\($0)".contains("secret")
        }
    }
}
