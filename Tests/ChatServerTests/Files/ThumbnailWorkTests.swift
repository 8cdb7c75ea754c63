import Foundation
import Testing

@testable import ChatServer

/// Pictures of 60 by 40 pixels, red above and blue below, written by Pillow; that in JPEG is to be turned (Exif 6).
struct ThumbnailWorkTests {
    private static let jpeg = """
        /9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtY
        XUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4
        +Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAAoADwDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAA
        AgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW
        V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx
        8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEI
        FEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaX
        mJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwCtRRRWR6AUUUUAFFFF
        ABRRRQBH5ntR5ntTKK9D2NPscPtp9x/me1Hme1Moo9jT7B7afcf5ntR5ntTKKPY0+we2n3H+Z7UeZ7Uyij2NPsHtp9wooorUyCiiigAooooAKKKK
        AP/Z
        """
    private static let png = """
        iVBORw0KGgoAAAANSUhEUgAAADwAAAAoCAIAAAAt2Q6oAAAAU0lEQVR4nO3QUQ2AMBTAQIaQ51/KZKEBPm4h6SlouvbM9Tf36YAvilaKVopWilaK
        VopWilaKVopW1sw+3fDaL08XrRStFK0UrRStFK0UrRStFK08jcUCV86VNFQAAAAASUVORK5CYII=
        """
    private static let gif = """
        R0lGODdhPAAoAIEAAMgeHh4eyAAAAAAAACwAAAAAPAAoAEAIdQABCBxIsKDBgwgTKlzIsKHDhxAjSkwYoKLFixgzatzIsaPHjyBDipxIsqTJkw9F
        qlzJsqXLlzBjckRJs6bNmzhz6tzJM6XMn0CDCh1KtKjRoyF7Kl3KtKnTp1CjSp1KtapVnkizat3KtavXr2DDih1LtuzRgAA7
        """
    /// Of four by two transparent pixels.
    private static let clear = """
        iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAYAAAB/qH1jAAAAEklEQVR4nGNkZGJmQAZMDGgAAAEkAAqkBIm2AAAAAElFTkSuQmCC
        """

    private func bytes(_ base64: String) throws -> [UInt8] {
        [UInt8](try #require(Data(base64Encoded: base64.filter { !$0.isNewline })))
    }

    private func picture(_ base64: String) throws -> Thumbnailer.Picture? {
        ThumbnailWork.answer(to: try bytes(base64)).flatMap(Thumbnailer.picture(of:))
    }

    @Test func `tells a picture's size as it is shown, and draws a small one`() throws {
        let turned = try #require(try picture(Self.jpeg))
        #expect((turned.width, turned.height) == (40, 60) && turned.type == "image/jpeg")
        #expect(turned.thumbnail?.starts(with: [0xff, 0xd8, 0xff]) == true)
        for format in [Self.png, Self.gif] {
            let picture = try #require(try picture(format))
            #expect((picture.width, picture.height) == (60, 40) && picture.type == "image/jpeg")
        }
    }

    @Test func `what has transparent parts keeps them`() throws {
        let picture = try #require(try picture(Self.clear))
        #expect((picture.width, picture.height) == (4, 2) && picture.type == "image/png")
        // RFC 2083 §3.1.
        #expect(picture.thumbnail?.starts(with: [0x89, 0x50, 0x4e, 0x47]) == true)
    }

    @Test func `what is broken or no picture gives nothing, and ends nothing`() throws {
        #expect(ThumbnailWork.answer(to: []) == nil)
        #expect(ThumbnailWork.answer(to: Array("<svg onload='x()'/>".utf8)) == nil)
        for format in [Self.jpeg, Self.png, Self.gif] {
            let whole = try bytes(format)
            #expect(ThumbnailWork.answer(to: Array(whole.prefix(12))) == nil)
            // Whatever comes of it: the process goes on.
            for length in stride(from: 1, to: whole.count, by: 7) {
                _ = ThumbnailWork.answer(to: Array(whole.prefix(length)))
            }
            for place in stride(from: 8, to: whole.count, by: 3) {
                var changed = whole
                changed[place] ^= 0xff
                _ = ThumbnailWork.answer(to: changed)
            }
        }
    }

    @Test func `a picture beyond the limit is not decoded`() throws {
        var huge = try bytes(Self.gif)
        // The logical screen: 65,535 by 65,535.
        for place in 6..<10 { huge[place] = 0xff }
        #expect(ThumbnailWork.answer(to: huge) == nil)
    }

    @Test(arguments: ["", "10 10", "x y\n", "10\n", "0 5\n", "10 -1\n", "2000000 1\n", "1 2 3 4\n"])
    func `takes no answer that is not one`(text: String) {
        #expect(Thumbnailer.picture(of: Array(text.utf8)) == nil)
    }

    @Test func `takes a size without a thumbnail, and no thumbnail of another type`() {
        let size = Thumbnailer.Picture(width: 10, height: 20, thumbnail: nil, type: nil)
        #expect(Thumbnailer.picture(of: Array("10 20\n".utf8)) == size)
        #expect(Thumbnailer.picture(of: Array("10 20 text/html\n<p>".utf8)) == size)
        #expect(Thumbnailer.picture(of: Array("10 20 image/png\n".utf8)) == size)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a process that does not answer is ended, and one that fails gives nothing`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "roost-picture-\(UUID())")
        try Data("x".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = FileManager.default.temporaryDirectory.appending(path: "roost-script-\(UUID())")
        try Data("#!/bin/sh\nexec sleep 600\n".utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
        defer { try? FileManager.default.removeItem(at: script) }
        let slow = Thumbnailer(program: script, patience: .milliseconds(200))
        #expect(await slow.picture(in: file) == nil)
        for program in ["/bin/false", "/nowhere/at/all"] {
            #expect(await Thumbnailer(program: URL(filePath: program)).picture(in: file) == nil)
        }
    }
}
