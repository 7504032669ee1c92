//! How fast a client is told of what goes on: beyond it, messages are left out and counted, and of progress only the
//! newest is kept.

use tokio::time::{Duration, Instant};

/// Lets through so many at once, and then so many a second.
#[derive(Debug)]
pub(crate) struct Pace {
    burst: f64,
    per_second: f64,
    left: f64,
    since: Option<Instant>,
    /// How many were not let through since the last that was.
    held: u64,
}

impl Pace {
    pub(crate) fn new(burst: u32, per_second: u32) -> Pace {
        Pace { burst: burst.into(), per_second: per_second.into(), left: burst.into(), since: None, held: 0 }
    }

    /// Lets one through, with how many were held back before it, or holds it back.
    pub(crate) fn pass(&mut self) -> Option<u64> {
        let now = Instant::now();
        let idle = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.since = Some(now);
        self.left = (self.left + idle.as_secs_f64() * self.per_second).min(self.burst);
        if self.left < 1.0 {
            self.held += 1;
            return None;
        }
        self.left -= 1.0;
        Some(std::mem::take(&mut self.held))
    }

    /// How many have been held back since the last that was let through; they are then forgotten.
    pub(crate) fn held(&mut self) -> u64 {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_too_fast_is_held_back_and_counted() {
        let mut pace = Pace::new(3, 10);
        assert_eq!([pace.pass(), pace.pass(), pace.pass()], [Some(0); 3]);
        assert_eq!([pace.pass(), pace.pass()], [None; 2]);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!([pace.pass(), pace.pass()], [Some(2), None]);
        assert_eq!([pace.held(), pace.held()], [1, 0]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!([pace.pass(), pace.pass(), pace.pass(), pace.pass()], [Some(0), Some(0), Some(0), None]);
    }
}
