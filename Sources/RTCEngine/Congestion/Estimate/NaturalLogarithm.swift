extension Double {
    /// The natural logarithm of a positive number, to about 1e-12. The engine links no mathematics library.
    var naturalLogarithm: Double {
        guard self > 0, isFinite else { return -.greatestFiniteMagnitude }
        // ln x = k ln 2 + 2 artanh((m - 1) / (m + 1)), with the significand m in [1, 2).
        let ratio = (significand - 1) / (significand + 1)
        let square = ratio * ratio
        var sum = 0.0
        var power = ratio
        for divisor in stride(from: 1.0, through: 23, by: 2) {
            sum += power / divisor
            power *= square
        }
        return Double(exponent) * 0.693_147_180_559_945_3 + 2 * sum
    }
}
