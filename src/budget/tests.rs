#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cell::Cell;

use super::*;

#[test]
fn work_ends_when_it_is_too_much() {
    let budget = Budget::default();
    let done = budget.run(|| (0..).map(|_| budget.work(1 << 20)).take_while(Result::is_ok).count()).unwrap();
    assert_eq!(done as u64, MAX_WORK >> 20);
}

#[test]
fn what_is_given_back_may_be_held_again() {
    let budget = Budget::default();
    let (level, half) = (budget.level(), (MAX_MEMORY / 2) as usize);
    for _ in 0..3 {
        budget.run(|| budget.hold(half)).unwrap().unwrap();
        budget.release(level, 0);
    }
    budget.run(|| budget.hold(half)).unwrap().unwrap();
    assert_eq!(budget.run(|| budget.hold(half + 1)).unwrap(), Err(Exhausted::Memory));
}

#[test]
fn work_that_is_short_is_done_once_and_long_work_twice() {
    for (units, times) in [(1000, 1), (HERE as usize + 1, 2)] {
        let budget = Budget::default();
        let begun = Cell::new(0);
        let result = budget.run(|| {
            begun.set(begun.get() + 1);
            budget.work(units)
        });
        assert_eq!((result, begun.get()), (Ok(Ok(())), times));
    }
}

#[test]
fn long_work_leaves_the_thread_to_other_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let worked = runtime.spawn(async move {
        let other = tokio::spawn(async move { sender.send(()) });
        let budget = Budget::default();
        let heard = budget.run_sized(HERE as usize, || receiver.recv_timeout(Duration::from_secs(20)).is_ok());
        (heard, other.await.is_ok())
    });
    assert_eq!(runtime.block_on(worked).unwrap(), (Ok(true), true));
}

#[test]
fn a_call_that_is_cancelled_or_out_of_time_ends() {
    let cancel = CancellationToken::new();
    let budget = Budget::new(cancel.clone(), Arc::default());
    assert_eq!(budget.within(Duration::ZERO).work(1), Err(Exhausted::Time { after: Duration::ZERO }));
    budget.waited().add(Duration::from_secs(60));
    assert_eq!(budget.within(Duration::from_secs(1)).work(1), Ok(()));
    cancel.cancel();
    assert_eq!(budget.run(|| budget.work(HERE as usize + 1)).unwrap(), Err(Exhausted::Cancelled));
}

#[test]
fn only_so_many_calls_work_elsewhere_and_each_lets_the_next_in() {
    let capacity = Capacity::default();
    let turns: Vec<_> = (0..).map_while(|_| capacity.enter().ok()).collect();
    assert_eq!(turns.len(), 128);
    drop(turns);
    assert!(capacity.enter().is_ok());
}
