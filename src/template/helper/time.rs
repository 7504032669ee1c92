//! `now` and `date`.

use handlebars::{Handlebars, ScopedJson};
use jiff::civil::Time;
use jiff::fmt::strtime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use super::argument::{FnHelper, HelperFn, HelperParams, HelperValue, param_or_null, param_text, text_value};
use super::path_helper::PathHelper;
use crate::template::render::{RenderError, now as time_of_rendering};

pub(super) const HELPERS: &[(&str, HelperFn)] = &[("date", date)];

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("now", Box::new(FnHelper(now)));
    let now_fallback = PathHelper(|helper, read| match read("now") {
        ScopedJson::Missing => Ok(ScopedJson::Derived(now(helper)?)),
        variable => Ok(variable),
    });
    registry.register_helper(NOW_FALLBACK, Box::new(now_fallback));
}

/// Whether a strftime format is valid.
pub(in crate::template) fn is_valid_format(format: &str) -> bool {
    format_time(&Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC), format).is_some()
}

fn format_time(time: &Zoned, format: &str) -> Option<String> {
    strtime::format(format, time).ok()
}

fn now(params: &dyn HelperParams) -> HelperValue {
    let now = time_of_rendering();
    let zone = zone_option("now", params)?;
    if params.param(0).is_none() {
        let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
        return match zone {
            None => text_value(whole.to_string()),
            Some(zone) => text_value(whole.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()),
        };
    }
    let shown = format_time(&now.to_zoned(zone.unwrap_or(TimeZone::UTC)), &param_text(params, 0));
    shown.map_or_else(|| Err(helper_error("now", "invalid strftime format")), text_value)
}

/// `($now)`: the helper, unless a variable `now` is in scope. For partials, whose scope is known only at run time.
pub(in crate::template) const NOW_FALLBACK: &str = "$now";

fn date(params: &dyn HelperParams) -> HelperValue {
    let source = param_or_null(params, 0);
    if source.is_null() || source.as_str() == Some("") {
        return text_value("");
    }
    let Some(time) = time_of(source) else {
        return Err(helper_error("date", "invalid date, expected RFC 3339 or Unix seconds"));
    };
    let time = match zone_option("date", params)? {
        Some(zone) => time.with_time_zone(zone),
        None => time,
    };
    let shown = format_time(&time, &param_text(params, 1));
    shown.map_or_else(|| Err(helper_error("date", "invalid strftime format")), text_value)
}

/// The time zone of `tz=`, by its IANA name. jiff has the database in the program, so that it is the same everywhere.
fn zone_option(helper: &'static str, params: &dyn HelperParams) -> Result<Option<TimeZone>, RenderError> {
    let Some(name) = params.option("tz").filter(|name| !name.is_null()) else { return Ok(None) };
    let zone = name.as_str().and_then(|name| TimeZone::get(name).ok());
    zone.map(Some).ok_or_else(|| helper_error(helper, "unknown time zone"))
}

/// Whether a name is that of a time zone.
pub(in crate::template) fn is_time_zone(name: &str) -> bool {
    TimeZone::get(name).is_ok()
}

fn helper_error(helper: &'static str, reason: &'static str) -> RenderError {
    RenderError::Helper { helper, reason }
}

/// A date in its own zone or offset, or in UTC where it has none.
fn time_of(value: &Value) -> Option<Zoned> {
    let seconds = match value {
        Value::Number(number) => Some(number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))?),
        other => other.as_str()?.trim().parse().ok(),
    };
    if let Some(seconds) = seconds {
        return Some(Timestamp::from_second(seconds).ok()?.to_zoned(TimeZone::UTC));
    }
    let text = value.as_str()?.trim();
    let pieces = Pieces::parse(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        // Also refuses an offset that the zone does not have then.
        return text.parse().ok();
    }
    let zone = TimeZone::fixed(pieces.to_numeric_offset().unwrap_or(Offset::UTC));
    let civil = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
    civil.to_zoned(zone).ok()
}
