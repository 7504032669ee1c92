//! Limits how fast a client is sent log messages and progress.

use std::time::Duration;

use crate::budget::TokenBucket;

/// Passes a burst of messages, then a number per second; counts those that it drops.
#[derive(Debug)]
pub(crate) struct Throttle {
    bucket: TokenBucket,
    /// The burst, in time.
    max: Duration,
    interval: Duration,
    /// How many were dropped since the last that passed.
    dropped: u64,
}

impl Throttle {
    pub(crate) fn new(burst: u32, per_second: u32) -> Throttle {
        let interval = Duration::from_secs(1) / per_second;
        Throttle { bucket: TokenBucket::default(), max: interval * burst, interval, dropped: 0 }
    }

    /// Passes a message, with how many were dropped before it, or drops it.
    pub(crate) fn try_acquire(&mut self) -> Option<u64> {
        if self.bucket.take(self.interval, self.max).is_err() {
            self.dropped += 1;
            return None;
        }
        Some(std::mem::take(&mut self.dropped))
    }

    /// Returns how many were dropped since the last that passed, and resets the count.
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
        assert_eq!([throttle.try_acquire(), throttle.try_acquire(), throttle.try_acquire()], [Some(0); 3]);
        assert_eq!([throttle.try_acquire(), throttle.try_acquire()], [None; 2]);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!([throttle.try_acquire(), throttle.try_acquire()], [Some(2), None]);
        assert_eq!([throttle.take_dropped(), throttle.take_dropped()], [1, 0]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            [throttle.try_acquire(), throttle.try_acquire(), throttle.try_acquire(), throttle.try_acquire()],
            [Some(0), Some(0), Some(0), None]
        );
    }
}
