use super::*;

#[test]
fn released_memory_can_be_held_again() {
    let budget = Budget::default();
    for _ in 0..3 {
        budget.nested().hold(HALF).unwrap();
    }
    budget.hold(HALF).unwrap();
    assert_eq!(budget.hold(HALF + 1), Err(BudgetExceeded::Memory));
    budget.release(HALF);
    assert_eq!(budget.hold(2 * HALF), Ok(()));
}

#[test]
fn nested_budget_leaves_its_outcome() {
    let budget = Budget::default();
    let nested = budget.nested();
    nested.hold(2 * HALF).unwrap();
    nested.leave(&budget, HALF);
    drop(nested);
    assert_eq!(budget.hold(HALF + 1), Err(BudgetExceeded::Memory));
    assert_eq!(budget.hold(HALF), Ok(()));
}

#[test]
fn parts_of_running_work_release_what_they_hold() {
    let budget = Budget::default();
    budget
        .run(|| {
            for _ in 0..3 {
                release_after(|| hold(HALF)).unwrap();
            }
            assert_eq!(hold(2 * HALF), Ok(()));
            assert_eq!(hold(1), Err(BudgetExceeded::Memory));
        })
        .unwrap();
    assert_eq!(hold(1), Ok(()), "no work is running");
}

#[test]
fn large_work_does_not_block_other_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let worked = runtime.spawn(async move {
        let other = tokio::spawn(async move { sender.send(()) });
        let budget = Budget::default();
        let heard = budget.run_sized(1 << 20, || receiver.recv_timeout(Duration::from_secs(20)).is_ok());
        (heard, other.await.is_ok())
    });
    assert_eq!(runtime.block_on(worked).unwrap(), (Ok(true), true));
}

#[test]
fn cancelled_or_late_call_ends() {
    let cancel = CancellationToken::new();
    let budget = Budget::new(cancel.clone(), &Arc::default());
    let late = budget.with_timeout(Duration::ZERO);
    assert_eq!(late.run(tick).unwrap(), Err(BudgetExceeded::Time { after: Duration::ZERO }));
    budget.client_wait().add(Duration::from_secs(60));
    assert_eq!(budget.with_timeout(Duration::from_secs(1)).run(tick).unwrap(), Ok(()));
    cancel.cancel();
    assert_eq!(budget.run(tick).unwrap(), Err(BudgetExceeded::Cancelled));
    let endless = budget.run(|| (0..).map(|_| tick()).find(Result::is_err));
    assert_eq!(endless.unwrap(), Some(Err(BudgetExceeded::Cancelled)));
}

#[test]
fn inner_work_has_the_deadline_of_its_own() {
    let budget = Budget::default();
    let inner = budget.with_timeout(Duration::ZERO);
    budget
        .run(|| {
            assert!(inner.run(tick).unwrap().is_err());
            (0..100).for_each(|_| assert_eq!(tick(), Ok(())));
        })
        .unwrap();
}

#[test]
fn blocking_permits_are_limited_and_returned() {
    let only = Caller::default();
    let permits: Vec<_> = (0..).map_while(|_| only.acquire_blocking().ok()).collect();
    assert_eq!(permits.len(), 128);
    drop(permits);
    assert!(only.acquire_blocking().is_ok());
    let [greedy, modest] = [(); 2].map(|()| Caller::new(CallerKind::Session, only.capacity().clone()));
    let permits: Vec<_> = (0..).map_while(|_| greedy.acquire_blocking().ok()).collect();
    assert_eq!(permits.len(), 64);
    assert!(modest.acquire_blocking().is_ok());
}

#[test]
fn one_caller_has_at_most_half_of_the_memory() {
    let capacity = Arc::<Capacity>::default();
    let [greedy, modest] = [(); 2].map(|()| Arc::new(Caller::new(CallerKind::Session, capacity.clone())));
    let call = |caller: &Arc<Caller>| Budget::new(CancellationToken::new(), caller);
    let [one, two, three] = [(); 3].map(|()| call(&greedy));
    assert_eq!([&one, &two].map(|call| call.hold(HALF)), [Ok(()); 2]);
    assert_eq!(three.hold(HALF), Err(BudgetExceeded::Busy));
    let others = [call(&modest), call(&modest)];
    assert_eq!(others.each_ref().map(|call| call.hold(HALF)), [Ok(()); 2]);
    drop(one);
    assert_eq!(three.hold(HALF), Ok(()));
}

#[test]
fn call_that_waits_for_its_client_holds_no_memory_of_others() {
    let calls = calls_that_fill_the_server();
    let other = Budget::new(CancellationToken::new(), calls[0].caller());
    assert_eq!(other.hold(HALF), Err(BudgetExceeded::Busy));
    let waiting = calls[0].suspend().unwrap();
    assert_eq!(other.hold(HALF), Ok(()));
    drop(waiting);
    assert_eq!(other.hold(2 << 20), Err(BudgetExceeded::Busy));
    // What waits is bounded too.
    let all: Vec<_> = calls.iter().chain([&other]).map(Budget::suspend).collect();
    assert_eq!(all.iter().filter(|waiting| waiting.is_ok()).count(), 4);
}

/// Budgets of calls of one server, of which each holds `half` of what one may.
fn calls_that_fill_the_server() -> Vec<Budget> {
    let caller = Arc::<Caller>::default();
    let calls = (0..4).map(|_| Budget::new(CancellationToken::new(), &caller));
    calls.inspect(|call| call.hold(HALF).unwrap()).collect()
}

const HALF: usize = (MAX_MEMORY / 2) as usize;

#[test]
fn little_is_held_in_a_full_server() {
    let calls = calls_that_fill_the_server();
    assert_eq!(calls[0].hold(1 << 20), Ok(()));
    assert_eq!(calls[0].hold(1), Err(BudgetExceeded::Busy));
    calls[0].release(HALF);
    assert_eq!(calls[1].hold(HALF / 2), Ok(()));
}

#[test]
fn calls_that_wait_for_memory_go_on_one_by_one() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let ends = calls_that_fill_the_server().into_iter().map(|call| {
            tokio::spawn(async move {
                // As two steps at once do.
                tokio::join!(call.hold_when_free(HALF / 2), call.hold_when_free(HALF / 2))
            })
        });
        for end in ends.collect::<Vec<_>>() {
            assert_eq!(end.await.unwrap(), (Ok(()), Ok(())));
        }
    });
}

#[test]
fn call_with_an_outcome_gives_the_permit_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let calls = calls_that_fill_the_server();
    runtime.block_on(async {
        let step = calls[0].nested();
        assert_eq!(step.hold_when_free(HALF / 2).await, Ok(()));
        step.leave(&calls[0], HALF / 2);
        let other = calls[1].with_timeout(Duration::from_secs(20));
        assert_eq!(other.hold_when_free(HALF / 2).await, Ok(()));
    });
}

#[test]
fn call_that_waits_for_memory_ends_with_its_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let calls = calls_that_fill_the_server();
    let late = calls[1].with_timeout(Duration::from_millis(100));
    runtime.block_on(async {
        assert_eq!(calls[0].hold_when_free(HALF).await, Ok(()));
        assert_eq!(late.hold_when_free(HALF).await, Err(BudgetExceeded::Busy));
        calls[1].call().cancel.cancel();
        assert_eq!(calls[1].hold_when_free(HALF).await, Err(BudgetExceeded::Cancelled));
    });
}
