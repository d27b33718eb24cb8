//! Numbers of the command line that have bounds.

use std::ops::{Bound, RangeBounds};

/// Returns a parser of numbers within a range; what is no number is in none.
pub fn within<R>(range: R) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static
where
    R: RangeBounds<f64> + Clone + Send + Sync + 'static,
{
    move |text| {
        let value = text.parse::<f64>().ok().filter(|value| range.contains(value));
        value.filter(|value| value.is_finite()).ok_or_else(|| {
            let from = match range.start_bound() {
                Bound::Included(from) => format!(" from {from}"),
                Bound::Excluded(from) => format!(" above {from}"),
                Bound::Unbounded => String::new(),
            };
            let to = match range.end_bound() {
                Bound::Included(to) => format!(" to {to}"),
                Bound::Excluded(to) => format!(" to below {to}"),
                Bound::Unbounded => String::new(),
            };
            format!("not a number{from}{to}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_of_a_range_are_refused() {
        let (share, positive) =
            (within(0.0..1.0), within((Bound::Excluded(0.0), Bound::Unbounded)));
        assert_eq!((share("0"), share("0.5"), positive("2")), (Ok(0.0), Ok(0.5), Ok(2.0)));
        for text in ["1", "-0.1", "nan", "inf", "", "x"] {
            assert_eq!(share(text).unwrap_err(), "not a number from 0 to below 1", "{text}");
        }
        for text in ["0", "nan", "inf"] {
            assert_eq!(positive(text).unwrap_err(), "not a number above 0", "{text}");
        }
    }
}
