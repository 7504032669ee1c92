//! How fast a client is told of what goes on: beyond it, messages are left out and counted, and of progress only the
//! newest is kept.

use tokio::time::{Duration, Instant};

/// Lets through so many at once, and then so many a second.
#[derive(Debug)]
pub(crate) struct Throttle {
    burst: f64,
    per_second: f64,
    tokens: f64,
    refilled_at: Option<Instant>,
    /// How many were not let through since the last that was.
    dropped: u64,
}

impl Throttle {
    pub(crate) fn new(burst: u32, per_second: u32) -> Throttle {
        Throttle {
            burst: burst.into(),
            per_second: per_second.into(),
            tokens: burst.into(),
            refilled_at: None,
            dropped: 0,
        }
    }

    /// Lets one through, with how many were held back before it, or holds it back.
    pub(crate) fn try_pass(&mut self) -> Option<u64> {
        let now = Instant::now();
        let idle = self.refilled_at.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.refilled_at = Some(now);
        self.tokens = (self.tokens + idle.as_secs_f64() * self.per_second).min(self.burst);
        if self.tokens < 1.0 {
            self.dropped += 1;
            return None;
        }
        self.tokens -= 1.0;
        Some(std::mem::take(&mut self.dropped))
    }

    /// How many have been held back since the last that was let through; they are then forgotten.
    pub(crate) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn throttle_drops_and_counts_excess() {
        let mut throttle = Throttle::new(3, 10);
        assert_eq!([throttle.try_pass(), throttle.try_pass(), throttle.try_pass()], [Some(0); 3]);
        assert_eq!([throttle.try_pass(), throttle.try_pass()], [None; 2]);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!([throttle.try_pass(), throttle.try_pass()], [Some(2), None]);
        assert_eq!([throttle.take_dropped(), throttle.take_dropped()], [1, 0]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            [throttle.try_pass(), throttle.try_pass(), throttle.try_pass(), throttle.try_pass()],
            [Some(0), Some(0), Some(0), None]
        );
    }
}
