//! Statistics against values that SciPy 1.17 and NumPy 2.4 give for the same numbers.

use super::*;

const A: [f64; 10] = [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0];
const B: [f64; 10] = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
const C: [f64; 8] = [0.91, 0.82, 0.99, 0.75, 0.88, 0.93, 0.64, 0.97];
const D: [f64; 8] = [0.95, 0.85, 0.97, 0.81, 0.99, 0.93, 0.71, 0.98];

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found}, not {expected}");
}

#[test]
fn wilson_is_scipys() {
    // scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
    for (k, n, low, high) in [
        (8.0, 10.0, 0.4901624715366418, 0.9433178485456248),
        (0.0, 10.0, 0.0, 0.27753279986288926),
        (10.0, 10.0, 0.7224672001371109, 1.0),
        (117.0, 125.0, 0.8787845562822071, 0.9672164204041321),
        (1.0, 3.0, 0.06149194472039626, 0.7923403991979523),
    ] {
        let found = wilson(k, n).unwrap();
        close(found.low, low, 1e-12);
        close(found.high, high, 1e-12);
    }
    assert_eq!(wilson(0.0, 0.0), None);
}

#[test]
fn bootstrap_is_scipys_but_for_its_draws() {
    // scipy.stats.bootstrap(..., method="percentile", n_resamples=200000)
    let squares: Vec<f64> = (0..40).map(|at| (f64::from(at) / 39.0).powi(2)).collect();
    for (values, low, high) in
        [(&A[..], 0.4, 1.0), (&C, 0.78, 0.9325), (&squares, 0.24516765, 0.43468113)]
    {
        let found = bootstrap(values).unwrap();
        close(found.low, low, 0.01);
        close(found.high, high, 0.01);
    }
    assert_eq!(bootstrap(&[]), None);
    assert_eq!(bootstrap(&[1.0, 1.0]), Some(Interval { low: 1.0, high: 1.0 }));
    assert_eq!(bootstrap(&C), bootstrap(&C));
}

#[test]
fn large_samples_have_what_resampling_converges_to() {
    // scipy.stats.norm.sf(z) * 2
    for (z, p) in [(0.0, 1.0), (1.0, 0.31731050786291415), (3.0, 0.0026997960632601866)] {
        close(beyond(z), p, 1e-12);
    }
    // Skewed, with a mean of about a third.
    let squares: Vec<f64> =
        (0..701).map(|at| (f64::from(at * 7_919 % 701) / 701.0).powi(2)).collect();
    let (normal, resampled) = (normal_interval(&squares).unwrap(), bootstrap(&squares).unwrap());
    close(normal.low, resampled.low, 0.003);
    close(normal.high, resampled.high, 0.003);
    let signed = squares.iter().enumerate();
    let differences: Vec<f64> =
        signed.map(|(at, d)| if at % 2 == 1 { *d } else { 0.05 - d }).collect();
    let sum = differences.iter().sum::<f64>().abs();
    close(flipped_p(&differences, sum), sign_flips(&differences), 0.02);
    let other: Vec<f64> = squares.iter().rev().zip(&squares).map(|(a, b)| a + 0.1 * b).collect();
    let coefficient = pearson(&squares, &other).unwrap();
    close(correlation_p(coefficient, 701), permuted(&squares, &other).unwrap(), 0.02);
    // No mean of resamples is beyond the values.
    let mut one = vec![0.0; LARGE];
    one[0] = 1.0;
    assert_eq!(bootstrap(&one).map(|found| found.low), Some(0.0));
    let large = vec![0.5; LARGE];
    assert_eq!(bootstrap(&large), Some(Interval { low: 0.5, high: 0.5 }));
    assert_eq!(paired(&large, &vec![0.75; LARGE]).map(|found| found.tasks), Some(LARGE as u64));
}

#[test]
fn sign_flips_are_scipys() {
    // scipy.stats.permutation_test(..., permutation_type="samples")
    let wave = |step: i64, of: i64| -> Vec<f64> {
        (0..40_i64).map(|at| ((at * step) % of) as f64 / 100.0).collect()
    };
    let later: Vec<f64> = wave(104_729, 103).iter().map(|value| value + 0.05).collect();
    for (first, second, p, within) in [
        (&A[..], &B[..], 0.25, 1e-12),
        (&C, &D, 0.046875, 1e-12),
        (&wave(7_919, 101), &later, 0.4493015507, 0.01),
    ] {
        close(paired(first, second).unwrap().p, p, within);
    }
    // scipy.stats.binomtest(k, n).pvalue: the exact McNemar test of k against n - k
    for (fewer, all, p) in
        [(0, 3, 0.25), (2, 12, 0.03857421875), (40, 100, 0.05688793364098089), (5, 10, 1.0)]
    {
        let flips: Vec<f64> = (0..all).map(|at| if at < fewer { -1.0 } else { 1.0 }).collect();
        close(paired(&vec![0.0; all], &flips).unwrap().p, p, 1e-12);
    }
    let same = paired(&A, &A).unwrap();
    assert_eq!((same.difference, same.p, same.tasks), (0.0, 1.0, 10));
    assert_eq!(paired(&[], &[]), None);
}

#[test]
fn correlations_are_scipys() {
    // scipy.stats.pearsonr and spearmanr
    let (x, y) = ([1.0, 2.0, 2.0, 4.0, 5.0], [0.0, 1.0, 0.0, 1.0, 1.0]);
    close(pearson(&x, &y).unwrap(), 0.722222222222222, 1e-12);
    assert_eq!(ranks(&x), [1.0, 2.5, 2.5, 4.0, 5.0]);
    close(pearson(&ranks(&x), &ranks(&y)).unwrap(), 0.7404360971988654, 1e-9);
    let p = permuted(&x, &y).unwrap();
    assert!(p > 0.1 && p < 0.6, "{p}");
    assert_eq!((pearson(&x, &[1.0; 5]), pearson(&[], &[])), (None, None));
}

#[test]
fn medians_means_and_quantiles_are_those_of_the_books() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median(&[]), None);
    assert_eq!(mean(&[1.0, 2.0]), Some(1.5));
    assert_eq!(mean(&[]), None);
    // numpy.quantile
    close(quantile(&[0.1, 0.4, 0.5, 0.9], 0.3).unwrap(), 0.37, 1e-12);
    close(median(&C).unwrap(), 0.895, 1e-12);
}
