/// A guess about the path: so much is always lost, whatever is sent, and of what exceeds the bandwidth all is lost.
struct LossModel {
    /// The share that is lost without any congestion: radio links, bad cables.
    var inherentLoss = 0.01
    /// In bits a second.
    var bandwidth: Double

    private static let smallestLoss = 1e-6
    /// How much of the loss may be the path's own: at low rates nearly all, for there less sending would not help; at
    /// high ones 5 %, for more means that a queue is full.
    private static let inherentOffset = 0.05
    private static let inherentBalance = 75_000.0
    private static let newtonStep = 0.75
    /// Of two guesses that explain the losses alike, the one with more bandwidth is better.
    private static let bias = 0.0002
    private static let logarithmicBias = 0.02
    /// At this share of losses nothing is said for more bandwidth any more.
    private static let biasThreshold = 0.2

    private var highestInherentLoss: Double {
        min(Self.inherentOffset + Self.inherentBalance / max(bandwidth, 1), 1)
    }

    /// The share of what is sent at `rate` that the guess expects to be lost.
    private func loss(at rate: Double) -> (share: Double, slope: Double) {
        guard rate > bandwidth else { return (clamp(inherentLoss), 1) }
        let excess = (rate - bandwidth) / rate
        return (clamp(inherentLoss + (1 - inherentLoss) * excess), 1 - excess)
    }

    private func clamp(_ share: Double) -> Double { min(max(share, Self.smallestLoss), 1 - Self.smallestLoss) }

    /// Moves the inherent loss to where it explains the observations better: a step of Newton's method.
    mutating func fit(to observations: LossObservations) {
        var gradient = 0.0
        var curvature = 0.0
        observations.forEach { observation, weight in
            let (share, slope) = loss(at: observation.rate)
            gradient += weight * slope * (observation.lost / share - observation.received / (1 - share))
            curvature +=
                weight * slope * slope
                * (observation.lost / (share * share) + observation.received / ((1 - share) * (1 - share)))
        }
        if curvature > 0 { inherentLoss += Self.newtonStep * gradient / curvature }
        inherentLoss = min(max(inherentLoss, 0.001), highestInherentLoss)
    }

    /// How well it explains the observations: the logarithm of their probability, and the preference for bandwidth.
    func likelihood(of observations: LossObservations, lossRatio: Double) -> Double {
        let eagerness = (Self.biasThreshold - lossRatio) / Self.biasThreshold
        let kilobits = bandwidth / 1_000
        let preference =
            max(eagerness, -1) * (Self.bias * kilobits + Self.logarithmicBias * (1 + kilobits).naturalLogarithm)
        var sum = 0.0
        observations.forEach { observation, weight in
            let (share, _) = loss(at: observation.rate)
            sum +=
                weight
                * (observation.lost * share.naturalLogarithm + observation.received * (1 - share).naturalLogarithm
                    + preference * observation.packets)
        }
        return sum
    }
}
