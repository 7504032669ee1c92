//! Durations and sizes: numbers with a unit.

/// The units of one kind of quantity.
pub(super) struct Units {
    /// The expected form, for messages.
    pub(super) expected: &'static str,
    /// Other spellings of units; that of a bare number is empty.
    spellings: &'static [(&'static str, &'static [&'static str])],
    units: &'static [(&'static str, u64)],
}

const DURATION: Units = Units {
    expected: "a duration such as `250ms`, `10s`, `5m` or `1h`",
    spellings: &[
        ("s", &["", "sec", "secs", "second", "seconds"]),
        ("m", &["min", "mins", "minute", "minutes"]),
        ("h", &["hr", "hour", "hours"]),
        ("ms", &["msec", "millis", "milliseconds"]),
    ],
    units: &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)],
};

const SIZE: Units = Units {
    expected: "a size such as `64KiB` or `1MiB`",
    spellings: &[
        ("B", &["", "byte", "bytes"]),
        ("KiB", &["k", "kb", "kib", "kilobytes"]),
        ("MiB", &["m", "mb", "mib", "megabytes"]),
        ("GiB", &["g", "gb", "gib", "gigabytes"]),
    ],
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
};

/// The milliseconds of a duration such as `250ms` or `10s`.
pub fn parse_milliseconds(text: &str) -> Option<u64> {
    DURATION.parse(text)
}

/// What a duration without its unit, or with another spelling of it, was meant to be.
pub fn nearest_duration(text: &str) -> Option<String> {
    DURATION.nearest(text)
}

/// The units of the type with this serde name.
pub(super) fn units_of_type(name: &str) -> Option<&'static Units> {
    match name {
        "$Duration" => Some(&DURATION),
        "$Size" => Some(&SIZE),
        _ => None,
    }
}

impl Units {
    /// Parses a quantity into its smallest unit: milliseconds or bytes.
    pub(super) fn parse(&self, text: &str) -> Option<u64> {
        let digits = text.len() - text.trim_start_matches(|next: char| next.is_ascii_digit()).len();
        let (number, unit) = text.split_at_checked(digits)?;
        let (_, factor) = self.units.iter().find(|(name, _)| *name == unit)?;
        number.parse::<u64>().ok()?.checked_mul(*factor)
    }

    /// What a number without its unit, or with another spelling of it, was meant to be.
    pub(super) fn nearest(&self, text: &str) -> Option<String> {
        let digits = text.len() - text.trim_start_matches(|next: char| next.is_ascii_digit()).len();
        let (number, rest) = text.split_at_checked(digits).filter(|(number, _)| !number.is_empty())?;
        let unit = rest.trim().to_lowercase();
        let is_unit = |(name, others): &&(&str, &[&str])| *name == unit || others.contains(&unit.as_str());
        let (unit, _) = self.spellings.iter().find(is_unit)?;
        // A bare number of thousands is most likely one of milliseconds.
        let is_thousands = *unit == "s" && rest.trim().is_empty() && number.ends_with("000");
        if let Some(seconds) = number.strip_suffix("000").filter(|seconds| is_thousands && !seconds.is_empty()) {
            return Some(format!("{seconds}s"));
        }
        Some(format!("{number}{unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{DURATION, SIZE};

    #[test]
    fn quantities_have_a_unit() {
        assert_eq!(DURATION.parse("250ms"), Some(250));
        assert_eq!(DURATION.parse("5m"), Some(300_000));
        assert_eq!(SIZE.parse("64KiB"), Some(65_536));
        for wrong in ["10", "ms", "-1s", "1.5s", "1 s", "1S", "99999999999999999999s", ""] {
            assert_eq!(DURATION.parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn number_without_unit_has_a_near_quantity() {
        for (text, near) in [
            ("10", Some("10s")),
            ("30000", Some("30s")),
            ("10 s", Some("10s")),
            ("5 Minutes", Some("5m")),
            ("soon", None),
        ] {
            assert_eq!(DURATION.nearest(text).as_deref(), near, "{text}");
        }
        assert_eq!(
            (SIZE.nearest("65536").as_deref(), SIZE.nearest("10KB").as_deref()),
            (Some("65536B"), Some("10KiB"))
        );
    }
}
