//! Parses the interval of `--poll`.

use std::str::FromStr;
use std::time::Duration;

use crate::yaml::parse_milliseconds;

/// A non-zero duration such as `500ms` or `2s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval(Duration);

impl Interval {
    /// The duration.
    pub fn duration(self) -> Duration {
        self.0
    }
}

/// Why an interval is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// It is not a number and a unit.
    #[error("invalid interval `{text}`, expected a number and a unit, such as 500ms, 2s or 1m")]
    Invalid {
        /// The text.
        text: String,
    },
    /// It is zero, or longer than a day.
    #[error("interval `{text}` out of range: 1ms to 24h")]
    OutOfRange {
        /// The text.
        text: String,
    },
}

impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Interval, IntervalError> {
        match parse_milliseconds(text) {
            Some(milliseconds @ 1..=86_400_000) => Ok(Interval(Duration::from_millis(milliseconds))),
            Some(_) => Err(IntervalError::OutOfRange { text: text.to_owned() }),
            None => Err(IntervalError::Invalid { text: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_a_number_and_a_unit() {
        for (written, milliseconds) in [("500ms", 500), ("2s", 2_000), ("1m", 60_000), ("24h", 86_400_000)] {
            assert_eq!(written.parse::<Interval>().unwrap().duration(), Duration::from_millis(milliseconds));
        }
    }

    #[test]
    fn invalid_interval_is_refused() {
        for written in ["", "2", "s", "2 s", "-2s", "1.5s", "2sec", "0s", "25h", "99999999999999999999s"] {
            assert!(written.parse::<Interval>().is_err(), "{written}");
        }
    }
}
