/// A body of a declaration. Nothing here ever runs: the sources of Apple's platforms are only compiled against it.
func declared(_ function: StaticString = #function) -> Never { fatalError("\(function) is a declaration only.") }
