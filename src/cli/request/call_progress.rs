//! Shows the progress of a call on stderr.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use serde_json::Value;

use crate::diagnostic::one_line;

/// A bar, or a line without a total, from the first progress on.
#[derive(Default)]
pub(super) struct CallProgress {
    bar: Mutex<Option<ProgressBar>>,
}

/// How many steps a bar has, whatever the total.
const BAR_STEPS: u64 = 1000;

impl CallProgress {
    /// Shows the parameters of `notifications/progress`.
    pub(super) fn show(&self, params: &Value) {
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let fraction = number("progress").zip(number("total")).filter(|(_, total)| *total > 0.0);
        let fraction = fraction.map(|(progress, total)| (progress / total).clamp(0.0, 1.0));
        let mut bar = self.bar.lock();
        let bar =
            bar.get_or_insert_with(|| ProgressBar::with_draw_target(Some(BAR_STEPS), ProgressDrawTarget::stderr()));
        let template = if fraction.is_some() { "{bar:30} {percent:>3}% {wide_msg}" } else { "{spinner} {wide_msg}" };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        if let Some(fraction) = fraction {
            bar.set_position((fraction * BAR_STEPS as f64).round() as u64);
        }
        bar.set_message(message(params));
        bar.tick();
    }

    /// Removes the bar from the screen.
    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar.lock().take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for CallProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn message(params: &Value) -> String {
    let number = |key: &str| params.get(key).and_then(Value::as_f64);
    let count = match (number("progress"), number("total")) {
        (Some(progress), Some(total)) => format!("{progress}/{total}"),
        // A heartbeat says only that the call is alive.
        (Some(progress), None) if progress.fract() == 0.0 => progress.to_string(),
        _ => String::new(),
    };
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    one_line(format!("{count} {message}").trim()).into_owned()
}
