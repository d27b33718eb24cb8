//! Means with intervals, and paired comparisons, for a sample of tasks.
//!
//! Every result depends on its numbers alone: resampling draws from a generator with a fixed seed,
//! so that the same results give the same bytes. It knows nothing of tasks or gists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Two samples over the same tasks, compared task by task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Paired {
    /// Tasks that both have a value for.
    pub tasks: u64,
    /// Mean of the first.
    pub first: f64,
    /// Mean of the second.
    pub second: f64,
    /// Mean of the second less that of the first.
    pub difference: f64,
    /// Bootstrap interval of the difference, over tasks.
    pub interval: Interval,
    /// Two-sided p-value of the sign-flip permutation test; for zeros and ones it is that of the exact
    /// McNemar test.
    pub p: f64,
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 4_000;
/// Sign flips that are drawn where there are too many to try all.
const FLIPS: usize = 20_000;
/// Differences up to which all sign flips are tried.
const EXACT: usize = 16;
/// Values from which resampled sums count as normally distributed: what resampling would add is beyond the digits that are
/// printed, and its time grows with the values.
const LARGE: usize = 10_000;
/// The quantile of the normal distribution for 95%, two-sided.
const Z: f64 = 1.959_963_984_540_054;

/// The arithmetic mean; nothing for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.iter().sum::<f64>() / count as f64)
}

/// The median; nothing for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// Quantiles by linear interpolation; nothing for no values.
pub fn quantiles<const N: usize>(values: &[f64], shares: [f64; N]) -> Option<[f64; N]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| shares.map(|share| quantile(&sorted, share).unwrap_or(0.0)))
}

/// The score interval of a share (Wilson 1927): `successes` of `trials`, which may be a sum of shares.
pub fn wilson(successes: f64, trials: f64) -> Option<Interval> {
    if trials <= 0.0 {
        return None;
    }
    let (p, z2) = (successes / trials, Z * Z);
    let middle = (p + z2 / (2.0 * trials)) / (1.0 + z2 / trials);
    let spread = Z / (1.0 + z2 / trials)
        * (p * (1.0 - p) / trials + z2 / (4.0 * trials * trials)).max(0.0).sqrt();
    Some(Interval { low: (middle - spread).max(0.0), high: (middle + spread).min(1.0) })
}

/// The percentile bootstrap interval of a mean (Efron 1979); from [`LARGE`] values on the normal interval, to which it
/// converges.
pub fn bootstrap(values: &[f64]) -> Option<Interval> {
    match values.len() {
        0 => None,
        LARGE.. => normal_interval(values),
        _ => resampled_interval(values),
    }
}

fn normal_interval(values: &[f64]) -> Option<Interval> {
    let (mean, count) = (mean(values)?, values.len() as f64);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let half = Z * (variance / count).sqrt();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Interval { low: (mean - half).max(least), high: (mean + half).min(most) })
}

fn resampled_interval(values: &[f64]) -> Option<Interval> {
    let mut random = Random(0x6769_7374_6966_7931);
    let count = values.len();
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..count).map(|_| values[random.below(count)]).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&means, 0.025)?, high: quantile(&means, 0.975)? })
}

/// Compares two samples whose values at one place are of one task; nothing for no pair.
pub fn paired(first: &[f64], second: &[f64]) -> Option<Paired> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
    let count = differences.len();
    Some(Paired {
        tasks: count as u64,
        first: mean(&first[..count])?,
        second: mean(&second[..count])?,
        difference: mean(&differences)?,
        interval: bootstrap(&differences)?,
        p: sign_flips(&differences),
    })
}

/// Pearson's coefficient of correlation (Pearson 1895); nothing where a side has fewer than two values.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let (mean_x, mean_y) = (mean(x)?, mean(y)?);
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| of(x - mean_x, y - mean_y)).sum()
    };
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (spread > 0.0).then(|| sum(&|x, y| x * y) / spread)
}

/// The ranks of values from 1, equal ones with the mean of their ranks: correlated they give Spearman's
/// coefficient (Spearman 1904).
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        before += equal.len();
        for at in equal {
            ranks[*at] = rank;
        }
    }
    ranks
}

/// The two-sided p-value of [`pearson`]: the share of permutations of one side that correlate as much; from [`LARGE`] values
/// on by the normal distribution of that correlation.
pub fn permuted(x: &[f64], y: &[f64]) -> Option<f64> {
    let seen = pearson(x, y)?.abs() - 1e-12;
    if x.len() >= LARGE {
        return Some(correlation_p(seen, x.len()));
    }
    let mut random = Random(0x7065_726d_7574_6564);
    let mut moved = y.to_vec();
    let as_much = (0..RESAMPLES).filter(|_| {
        random.shuffle(&mut moved);
        pearson(x, &moved).is_some_and(|other| other.abs() >= seen)
    });
    Some((as_much.count() + 1) as f64 / (RESAMPLES + 1) as f64)
}

/// The p-value of a correlation over many values.
fn correlation_p(coefficient: f64, values: usize) -> f64 {
    beyond(coefficient * ((values - 1) as f64).sqrt())
}

/// The p-value of a sum of many values whose signs are random.
fn flipped_p(values: &[f64], sum: f64) -> f64 {
    beyond(sum / values.iter().map(|value| value * value).sum::<f64>().sqrt())
}

/// The probability that a standard normal value is at least as far from zero.
fn beyond(z: f64) -> f64 {
    libm::erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// Returns the share of random sign flips whose sum is at least as large as that of `differences`.
fn sign_flips(differences: &[f64]) -> f64 {
    let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if moved.is_empty() {
        return 1.0;
    }
    let seen = moved.iter().sum::<f64>().abs();
    // What is equal but for rounding is as much.
    let least = seen - 1e-9 * moved.iter().map(|d| d.abs()).sum::<f64>();
    let size = moved[0].abs();
    if moved.iter().all(|d| (d.abs() - size).abs() <= 1e-12 * size) {
        let up = moved.iter().filter(|d| **d > 0.0).count();
        return binomial(up.min(moved.len() - up), moved.len());
    }
    if moved.len() <= EXACT {
        let all = 1_u32 << moved.len();
        let as_much = (0..all).filter(|signs| {
            let signed = moved.iter().enumerate();
            let sum: f64 = signed.map(|(at, d)| if signs >> at & 1 == 1 { *d } else { -d }).sum();
            sum.abs() >= least
        });
        return as_much.count() as f64 / f64::from(all);
    }
    if moved.len() >= LARGE {
        return flipped_p(&moved, seen);
    }
    let mut random = Random(0x7369_676e_666c_6970);
    let as_much = (0..FLIPS).filter(|_| {
        let sum: f64 = moved.iter().map(|d| if random.next() & 1 == 1 { *d } else { -d }).sum();
        sum.abs() >= least
    });
    (as_much.count() + 1) as f64 / (FLIPS + 1) as f64
}

/// The two-sided exact binomial p-value of `fewer` of `all` at one half.
fn binomial(fewer: usize, all: usize) -> f64 {
    let mut term = -(all as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for k in 0..=fewer {
        sum += term.exp();
        term += ((all - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * sum).min(1.0)
}

/// A quantile of sorted values, between neighbours by proportion.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * (sorted.len().checked_sub(1)?) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let next = sorted.get(low + 1).copied().unwrap_or(sorted[low]);
    Some(sorted[low] + part * (next - sorted[low]))
}

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// Puts values into another order (Fisher and Yates 1938).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
