use std::cell::Cell;

use super::*;

#[test]
fn work_stops_at_max_work() {
    let budget = Budget::default();
    let done =
        budget.run_repeatable(|| (0..).map(|_| budget.charge_work(1 << 20)).take_while(Result::is_ok).count()).unwrap();
    assert_eq!(done as u64, MAX_WORK >> 20);
}

#[test]
fn released_memory_can_be_charged_again() {
    let budget = Budget::default();
    let (level, half) = (budget.memory_mark(), (MAX_MEMORY / 2) as usize);
    for _ in 0..3 {
        budget.run_repeatable(|| budget.charge_memory(half)).unwrap().unwrap();
        budget.release_to(level, 0);
    }
    budget.run_repeatable(|| budget.charge_memory(half)).unwrap().unwrap();
    assert_eq!(budget.run_repeatable(|| budget.charge_memory(half + 1)).unwrap(), Err(BudgetExceeded::Memory));
}

#[test]
fn short_work_runs_once_and_long_work_twice() {
    for (units, times) in [(1000, 1), (MAX_UNINTERRUPTED_WORK as usize + 1, 2)] {
        let budget = Budget::default();
        let begun = Cell::new(0);
        let result = budget.run_repeatable(|| {
            begun.set(begun.get() + 1);
            budget.charge_work(units)
        });
        assert_eq!((result, begun.get()), (Ok(Ok(())), times));
    }
}

#[test]
fn long_work_does_not_block_other_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let worked = runtime.spawn(async move {
        let other = tokio::spawn(async move { sender.send(()) });
        let budget = Budget::default();
        let heard = budget
            .run_sized(MAX_UNINTERRUPTED_WORK as usize, || receiver.recv_timeout(Duration::from_secs(20)).is_ok());
        (heard, other.await.is_ok())
    });
    assert_eq!(runtime.block_on(worked).unwrap(), (Ok(true), true));
}

#[test]
fn cancelled_or_late_call_is_refused() {
    let cancel = CancellationToken::new();
    let budget = Budget::new(cancel.clone(), Arc::default());
    assert_eq!(budget.with_timeout(Duration::ZERO).charge_work(1), Err(BudgetExceeded::Time { after: Duration::ZERO }));
    budget.client_wait().add(Duration::from_secs(60));
    assert_eq!(budget.with_timeout(Duration::from_secs(1)).charge_work(1), Ok(()));
    cancel.cancel();
    assert_eq!(
        budget.run_repeatable(|| budget.charge_work(MAX_UNINTERRUPTED_WORK as usize + 1)).unwrap(),
        Err(BudgetExceeded::Cancelled)
    );
}

#[test]
fn blocking_permits_are_limited_and_returned() {
    let (capacity, only) = (Capacity::default(), Caller::default());
    let turns: Vec<_> = (0..).map_while(|_| capacity.acquire(&only).ok()).collect();
    assert_eq!(turns.len(), 128);
    drop(turns);
    assert!(capacity.acquire(&only).is_ok());
    let greedy = Caller::new(CallerKind::Session);
    let turns: Vec<_> = (0..).map_while(|_| capacity.acquire(&greedy).ok()).collect();
    assert_eq!(turns.len(), 64);
    assert!(capacity.acquire(&Caller::new(CallerKind::Session)).is_ok());
}

fn charge(call: &Budget, bytes: usize) -> Result<(), BudgetExceeded> {
    call.run_io(|| call.charge_memory(bytes)).unwrap()
}

#[test]
fn one_caller_has_at_most_half_of_the_memory() {
    let capacity = Arc::<Capacity>::default();
    let [greedy, modest] = [(); 2].map(|()| Arc::new(Caller::new(CallerKind::Session)));
    let call = |caller: &Arc<Caller>| Budget::for_caller(CancellationToken::new(), capacity.clone(), caller.clone());
    let [one, two, three] = [(); 3].map(|()| call(&greedy));
    assert_eq!([&one, &two].map(|call| charge(call, HALF)), [Ok(()); 2]);
    assert_eq!(charge(&three, HALF), Err(BudgetExceeded::Busy));
    let others = [call(&modest), call(&modest)];
    assert_eq!(others.each_ref().map(|call| charge(call, HALF)), [Ok(()); 2]);
    drop(one);
    assert_eq!(charge(&three, HALF), Ok(()));
}

#[test]
fn call_that_waits_for_its_client_holds_no_memory_of_others() {
    let calls = calls_that_fill_the_server();
    let capacity = calls[0].usage.capacity.clone();
    let other = Budget::new(CancellationToken::new(), capacity);
    assert_eq!(charge(&other, HALF), Err(BudgetExceeded::Busy));
    let waiting = calls[0].suspend().unwrap();
    assert_eq!(charge(&other, HALF), Ok(()));
    drop(waiting);
    assert_eq!(charge(&other, 1 << 20), Err(BudgetExceeded::Busy));
    // What waits is bounded too.
    let all: Vec<_> = calls.iter().chain([&other]).map(Budget::suspend).collect();
    assert_eq!(all.iter().filter(|waiting| waiting.is_ok()).count(), 4);
}

/// Budgets of calls of one server, of which each holds `half` of what one may.
fn calls_that_fill_the_server() -> Vec<Budget> {
    let capacity = Arc::<Capacity>::default();
    let calls = (0..4).map(|_| Budget::new(CancellationToken::new(), capacity.clone()));
    calls.inspect(|call| call.run_io(|| call.charge_memory(HALF)).unwrap().unwrap()).collect()
}

const HALF: usize = (MAX_MEMORY / 2) as usize;

#[test]
fn released_memory_stays_reserved_until_it_is_returned() {
    let calls = calls_that_fill_the_server();
    calls[0].release(HALF);
    assert_eq!(calls[1].run_io(|| calls[1].charge_memory(1 << 20)).unwrap(), Err(BudgetExceeded::Busy));
    // Another one goes beyond what all may hold.
    let (capacity, caller) = (&calls[3].usage.capacity, calls[3].caller());
    capacity.add_memory(1 << 20, caller);
    calls[0].run_io(|| calls[0].charge_memory(HALF)).unwrap().unwrap();
    capacity.release_memory(1 << 20, caller);
    calls[0].release(HALF);
    calls[0].return_unused();
    calls[1].run_io(|| calls[1].charge_memory(HALF)).unwrap().unwrap();
    assert_eq!(calls[0].run_io(|| calls[0].charge_memory(1 << 20)).unwrap(), Err(BudgetExceeded::Busy));
}

#[test]
fn calls_that_wait_for_memory_go_on_one_by_one() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let ends = calls_that_fill_the_server().into_iter().map(|call| {
            tokio::spawn(async move {
                call.usage.next_check.store(u64::MAX, Relaxed);
                // As two steps at once do.
                tokio::join!(call.charge_memory_when_free(HALF / 2), call.charge_memory_when_free(HALF / 2))
            })
        });
        for end in ends.collect::<Vec<_>>() {
            assert_eq!(end.await.unwrap(), (Ok(()), Ok(())));
        }
    });
}

#[test]
fn call_that_waits_for_something_else_gives_the_permit_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let calls = calls_that_fill_the_server();
    calls.iter().for_each(|call| call.usage.next_check.store(u64::MAX, Relaxed));
    runtime.block_on(async {
        assert_eq!(calls[0].charge_memory_when_free(HALF / 2).await, Ok(()));
        calls[0].return_unused();
        let other = calls[1].with_timeout(Duration::from_secs(20));
        assert_eq!(other.charge_memory_when_free(HALF / 2).await, Ok(()));
    });
}

#[test]
fn call_that_waits_for_memory_ends_with_its_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let calls = calls_that_fill_the_server();
    calls.iter().for_each(|call| call.usage.next_check.store(u64::MAX, Relaxed));
    let late = calls[1].with_timeout(Duration::from_millis(100));
    runtime.block_on(async {
        assert_eq!(calls[0].charge_memory_when_free(HALF).await, Ok(()));
        assert_eq!(late.charge_memory_when_free(HALF).await, Err(BudgetExceeded::Busy));
        calls[1].usage.cancel.cancel();
        assert_eq!(calls[1].charge_memory_when_free(HALF).await, Err(BudgetExceeded::Cancelled));
    });
}
