//! `now` and `date`.

use handlebars::{Context, Handlebars, Helper, HelperDef, RenderContext, ScopedJson};
use jiff::civil::Time;
use jiff::fmt::strtime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use serde_json::Value;

use super::argument::{Answer, Given, Plain, answer, failure, text, value};
use crate::template::render::{RenderError, now as time_of_rendering};

pub(super) const HELPERS: &[(&str, Plain)] = &[("date", date)];

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("now", Box::new(Now));
    registry.register_helper(NOW_UNLESS, Box::new(NowUnless));
}

/// Whether a format of strftime is one.
pub(in crate::template) fn check_format(format: &str) -> bool {
    formatted(&Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC), format).is_some()
}

fn formatted(time: &Zoned, format: &str) -> Option<String> {
    strtime::format(format, time).ok()
}

struct Now;

impl HelperDef for Now {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        now(helper).map(ScopedJson::Derived).map_err(failure)
    }
}

fn now(given: &dyn Given) -> Answer {
    let now = time_of_rendering();
    if given.at(0).is_none() {
        let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
        return answer(whole.to_string());
    }
    let shown = formatted(&now.to_zoned(TimeZone::UTC), &text(given, 0)?);
    shown.map_or_else(|| Err(refusal("now", "is given a format that strftime does not know")), answer)
}

/// `( now)`: the helper, unless something of that name is in scope. For partials, which learn that only here.
pub(in crate::template) const NOW_UNLESS: &str = " now";

struct NowUnless;

impl HelperDef for NowUnless {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        match rendering.evaluate(context, "now") {
            Ok(value) if !value.is_missing() => Ok(value),
            _ => Now.call_inner(helper, registry, context, rendering),
        }
    }
}

fn date(given: &dyn Given) -> Answer {
    let source = value(given, 0);
    if source.is_null() || source.as_str() == Some("") {
        return answer("");
    }
    let Some(time) = time_of(source) else {
        return Err(refusal("date", "is given what is no date; it takes RFC 3339 or seconds since 1970"));
    };
    let shown = formatted(&time, &text(given, 1)?);
    shown.map_or_else(|| Err(refusal("date", "is given a format that strftime does not know")), answer)
}

fn refusal(helper: &'static str, reason: &'static str) -> RenderError {
    RenderError::Helper { helper, reason }
}

/// A date in its own offset, or in UTC where it has none.
fn time_of(value: &Value) -> Option<Zoned> {
    let seconds = match value {
        Value::Number(number) => Some(number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))?),
        other => other.as_str()?.trim().parse().ok(),
    };
    if let Some(seconds) = seconds {
        return Some(Timestamp::from_second(seconds).ok()?.to_zoned(TimeZone::UTC));
    }
    let pieces = Pieces::parse(value.as_str()?.trim()).ok()?;
    let zone = TimeZone::fixed(pieces.to_numeric_offset().unwrap_or(Offset::UTC));
    let civil = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
    civil.to_zoned(zone).ok()
}
