//! `sleep`: waits.

use std::time::Duration;

use super::{Act, Doing, Failure, Outcome, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, cut, one_line};
use crate::notation::Scalar;
use crate::template::{Template, Text};
use crate::world::{Captured, WorldError};
use crate::yaml::{Spanned, milliseconds};

pub struct Sleep(Template<Text>);

impl Act for Sleep {
    type Spec = Scalar;

    fn compile(written: Written<'_, Scalar>, compiler: &mut Compiler<'_>) -> Option<Sleep> {
        let text = Spanned::new(written.spec.value.0.clone(), written.spec.at);
        let template: Template<Text> = compiler.template(&text, Exposure::Client)?;
        let literal = !text.contains("{{");
        if literal && milliseconds(&text).is_none() {
            compiler.error(Code::WrongType, text.at, "expected a duration such as `250ms`, `10s`, `5m` or `1h`");
        }
        Some(Sleep(template))
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let text = self.0.render(doing.scope)?.0;
        let wanted = duration(&text).ok_or_else(|| {
            let short = cut(&text, 64);
            let shown = one_line(&short);
            Failure::words(format!("`{shown}` is no duration such as `250ms` or `10s`"))
        })?;
        tokio::select! {
            biased;
            () = doing.cancel.cancelled() => return Err(WorldError::Cancelled.into()),
            () = tokio::time::sleep(wanted.min(doing.timeout)) => {}
        }
        if wanted > doing.timeout {
            return Err(WorldError::TimedOut { after: doing.timeout, said: Captured::default() }.into());
        }
        Ok(Outcome::nothing())
    }
}

/// A duration as it is written, or one that a template made of a number, which may have a fraction: `0.5s`.
fn duration(text: &str) -> Option<Duration> {
    if let Some(milliseconds) = milliseconds(text) {
        return Some(Duration::from_millis(milliseconds));
    }
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).and_then(|unit| milliseconds(&format!("1{unit}")))?;
    let number: f64 = digits.parse().ok()?;
    Duration::try_from_secs_f64(number * Duration::from_millis(unit).as_secs_f64()).ok()
}

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn a_duration_may_have_a_fraction_and_is_never_below_nothing() {
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("0.5s"), Some(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Some(Duration::from_secs(90)));
        for wrong in ["", "s", "-1s", "1", "nans", "infs", "1e400s", "1 s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
