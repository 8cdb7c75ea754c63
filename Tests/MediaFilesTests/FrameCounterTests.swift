import MediaFiles
import RTCWire
import Testing

@Suite struct `The frame counter` {
    /// The two rows of cells as `Media/frame_counter.py` draws them, over a gray picture.
    private func picture(bits: String, width: Int, height: Int, stride: Int, dark: UInt8, light: UInt8) -> [UInt8] {
        var luma = [UInt8](repeating: 90, count: stride * height)
        let cells = bits.map { $0 == "1" }
        for row in height * 13 / 15..<height {
            let isUpper = row < height * 14 / 15
            for column in 0..<width {
                luma[row * stride + column] = cells[column * 20 / width] == isUpper ? light : dark
            }
        }
        return luma
    }

    private func read(_ luma: [UInt8], _ width: Int, _ height: Int, stride: Int) -> Int? {
        FrameCounter.read(luma: luma.span.bytes, width: width, height: height, stride: stride)
    }

    // 299 is 000100101011; its CRC-4 is what Media/frame_counter.py computes.
    private let code299 = "10" + "000100101011" + "1011" + "01"

    @Test(arguments: [(640, 360, 640), (320, 180, 384), (160, 90, 160), (1_280, 720, 1_280)])
    func `reads at every scale`(width: Int, height: Int, stride: Int) {
        let luma = picture(bits: code299, width: width, height: height, stride: stride, dark: 16, light: 235)
        #expect(read(luma, width, height, stride: stride) == 299)
    }

    @Test func `reads a picture that is too dark or too bright`() {
        for (dark, light) in [(0, 60), (180, 255)] as [(UInt8, UInt8)] {
            let luma = picture(bits: code299, width: 640, height: 360, stride: 640, dark: dark, light: light)
            #expect(read(luma, 640, 360, stride: 640) == 299)
        }
    }

    @Test func `does not guess`() {
        let gray = [UInt8](repeating: 128, count: 640 * 360)
        #expect(read(gray, 640, 360, stride: 640) == nil)
        for cell in 0..<20 {
            var bits = Array(code299)
            bits[cell] = bits[cell] == "1" ? "0" : "1"
            let luma = picture(bits: String(bits), width: 640, height: 360, stride: 640, dark: 16, light: 235)
            #expect(read(luma, 640, 360, stride: 640) == nil, "cell \(cell) is wrong")
        }
    }

    @Test func `dimensions that do not fit the bytes are refused`() {
        let luma = picture(bits: code299, width: 640, height: 360, stride: 640, dark: 16, light: 235)
        #expect(read(Array(luma.dropLast()), 640, 360, stride: 640) == nil)
        #expect(read(luma, 640, 360, stride: 639) == nil)
        #expect(read(luma, -1, 360, stride: 640) == nil)
        #expect(read(luma, .max, .max, stride: .max) == nil)
        #expect(read([], 0, 0, stride: 0) == nil)
    }
}
