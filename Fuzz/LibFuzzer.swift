import Foundation

/// The target that ROOST_FUZZ_TARGET names: all of them are in one program, so that our modules are linked once.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["ROOST_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        FileHandle.standardError.write(Data("ROOST_FUZZ_TARGET is \"\(name)\": no name of FuzzTarget.all\n".utf8))
        exit(2)
    }
    return target
}()

/// libFuzzer calls this before anything else: a wrong name is told as such, and not as an input that crashes.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    _ = target
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.run(UnsafeRawBufferPointer(start: bytes, count: count).bytes)
    return 0
}
