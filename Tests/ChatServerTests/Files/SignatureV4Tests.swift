import ChatModel
import Testing

@testable import ChatServer

/// What AWS has published: its test suite for Signature Version 4, and the examples of S3's documentation.
struct SignatureV4Tests {
    /// SHA-256 of nothing.
    private let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private let s3 = SignatureV4(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1",
        service: "s3")
    /// 2013-05-24T00:00:00Z.
    private let may = Timestamp(milliseconds: 1_369_353_600_000)

    @Test func `signs get-vanilla of the test suite`() {
        let signer = SignatureV4(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
            service: "service")
        let request = SignatureV4.Request(
            method: "GET", path: "/",
            headers: [("x-amz-date", "20150830T123600Z"), ("host", "example.amazonaws.com")])
        #expect(
            signer.authorization(
                of: request, payloadHash: nothing, at: Timestamp(milliseconds: 1_440_938_160_000))
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=host;x-amz-date, "
                + "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    }

    @Test func `signs the documentation's GET of a range`() {
        let request = SignatureV4.Request(
            method: "GET", path: "/test.txt",
            headers: [
                ("host", "examplebucket.s3.amazonaws.com"), ("range", "bytes=0-9"),
                ("x-amz-content-sha256", nothing), ("x-amz-date", "20130524T000000Z"),
            ])
        #expect(
            s3.authorization(of: request, payloadHash: nothing, at: may).hasSuffix(
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
    }

    @Test func `signs the documentation's URL`() {
        let request = SignatureV4.Request(
            method: "GET", path: "/test.txt", headers: [("host", "examplebucket.s3.amazonaws.com")])
        #expect(
            s3.presignedQuery(of: request, lifetime: 86_400, at: may)
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test func `sorts a query by what is sent, and escapes all but the unreserved`() {
        #expect(
            SignatureV4.canonicalQuery([("b", "ü /"), ("a", "~-._"), ("B", ""), ("a", "+")])
                == "B=&a=%2B&a=~-._&b=%C3%BC%20%2F")
    }

    @Test(arguments: [
        ("https://s3.example.org", "s3.example.org"), ("https://s3.example.org:443", "s3.example.org"),
        ("http://127.0.0.1:9000", "127.0.0.1:9000"), ("http://a:80", "a"), ("https://a:80", "a:80"),
    ])
    func `names the host as the client sends it`(endpoint: String, host: String) {
        #expect(S3FileStore.host(of: endpoint) == host)
    }

    @Test func `finds what it needs in an answer`() {
        let answer = S3Answer(
            """
            <?xml version="1.0"?><ListPartsResult><IsTruncated>false</IsTruncated><Part><PartNumber>1</PartNumber>\
            <ETag>&quot;a&amp;b&quot;</ETag><Size>5</Size></Part><Part><PartNumber>2</PartNumber></Part></ListPartsResult>
            """)
        #expect(answer.first("IsTruncated") == "false" && answer.all("Part").count == 2 && !answer.isError)
        #expect(S3Answer(answer.all("Part")[0]).first("ETag") == #""a&b""#)
        #expect(answer.first("UploadId") == nil && S3Answer("<UploadId>x").first("UploadId") == nil)
    }
}
