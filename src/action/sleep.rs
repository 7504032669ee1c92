//! `sleep`: waits.

use std::time::Duration;

use super::{ActionError, ActionKind, ActionNode, ActionOutcome, StepContext};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, one_line, truncate};
use crate::template::{Shape, Template, TextSlot};
use crate::value_types::Scalar;
use crate::world::WorldError;
use crate::yaml::parse_milliseconds;

pub struct SleepAction(Template<TextSlot>);

impl ActionKind for SleepAction {
    type Spec = Scalar;

    fn outcome_shape() -> Shape {
        Shape::Object(std::sync::Arc::default())
    }

    fn compile(node: ActionNode<'_, Scalar>, compiler: &mut Compiler<'_>) -> Option<SleepAction> {
        let text = node.spec.to_text();
        let template: Template<TextSlot> = compiler.template(&text, Exposure::Client)?;
        let literal = !text.contains("{{");
        if literal && parse_milliseconds(&text).is_none() {
            compiler
                .error(Code::WrongType, text.location, format!("invalid duration `{}`", text.value))
                .help("write a number and a unit, such as `250ms`, `10s`, `5m` or `1h`");
        }
        Some(SleepAction(template))
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let text = self.0.render(context.scope)?.0;
        let wanted = parse_duration(&text).ok_or_else(|| {
            let short = truncate(&text, 64);
            let shown = one_line(&short);
            ActionError::message(format!(
                "invalid duration `{shown}`, expected a number and a unit, such as `250ms` or `10s`"
            ))
        })?;
        let pause = if context.call.world.has_real_time() { wanted.min(context.timeout) } else { Duration::ZERO };
        tokio::select! {
            biased;
            () = context.call.cancel().cancelled() => return Err(WorldError::Cancelled.into()),
            () = tokio::time::sleep(pause) => {}
        }
        if wanted > context.timeout {
            return Err(WorldError::timed_out(context.timeout).into());
        }
        Ok(ActionOutcome::empty())
    }
}

/// A duration as it is written, or one that a template made of a number, which may have a fraction: `0.5s`.
fn parse_duration(text: &str) -> Option<Duration> {
    if let Some(milliseconds) = parse_milliseconds(text) {
        return Some(Duration::from_millis(milliseconds));
    }
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).and_then(|unit| parse_milliseconds(&format!("1{unit}")))?;
    let number: f64 = digits.parse().ok()?;
    Duration::try_from_secs_f64(number * Duration::from_millis(unit).as_secs_f64()).ok()
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use std::time::Duration;

    #[test]
    fn duration_may_be_fractional_but_not_negative() {
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("0.5s"), Some(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Some(Duration::from_secs(90)));
        for wrong in ["", "s", "-1s", "1", "nans", "infs", "1e400s", "1 s"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
