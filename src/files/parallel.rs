//! Looks at many files at once.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Maps items on all cores, and keeps their order. `items_per_thread` of them are worth the start of one more thread.
pub fn map_on_all_cores<T: Sync, R: Send>(
    items: &[T],
    items_per_thread: usize,
    map: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.min(items.len() / items_per_thread);
    if threads < 2 {
        return items.iter().map(map).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let taken = numbers.map_while(|number| Some((number, map(items.get(number)?))));
        taken.collect::<Vec<(usize, R)>>()
    };
    let mut mapped = thread::scope(|scope| {
        // Where no thread can start, the others do its work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let threads: Vec<_> = (1..threads).filter_map(start).collect();
        let mut mapped = work();
        for thread in threads {
            mapped.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        mapped
    });
    mapped.sort_unstable_by_key(|(number, _)| *number);
    mapped.into_iter().map(|(_, mapped)| mapped).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn order_stays() {
        for count in [0, 1, 15, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let is_ahead = AtomicBool::new(false);
            let mapped = map_on_all_cores(&items, 8, |item| {
                // Another thread, where there is one, overtakes the one that has this item.
                (0..10_000)
                    .take_while(|_| *item == 10 && !is_ahead.load(Ordering::SeqCst))
                    .for_each(|_| thread::yield_now());
                is_ahead.fetch_or(*item == 20, Ordering::SeqCst);
                item * 2
            });
            assert!(mapped.into_iter().eq((0..count).map(|item| item * 2)), "{count}");
        }
    }
}
