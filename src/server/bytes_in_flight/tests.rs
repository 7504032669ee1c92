use super::*;
use futures_util::FutureExt;

const LIMIT: u64 = 64 << 20;

#[tokio::test]
async fn dropped_reservation_admits_waiter() {
    let in_flight = BytesInFlight::new(LIMIT);
    let (one, other) = (in_flight.new_peer(), in_flight.new_peer());
    let large = one.reserve(LIMIT);
    let waits = other.reserve(1);
    let mut admitted = Box::pin(waits.admit(SMALL_MESSAGE_BYTES * 2));
    assert!(admitted.as_mut().now_or_never().is_none());
    drop(large);
    admitted.await.unwrap();
    assert_eq!(in_flight.used(), SMALL_MESSAGE_BYTES * 2 + 1);
    drop(waits);
    assert_eq!((in_flight.used(), one.used(), other.used()), (0, 0, 0));
}

#[tokio::test]
async fn small_reservation_never_waits_for_peers() {
    let in_flight = BytesInFlight::new(LIMIT);
    let _large = in_flight.new_peer().reserve(LIMIT * 2);
    let small = in_flight.new_peer().reserve(0);
    assert!(small.admit(SMALL_MESSAGE_BYTES).now_or_never().is_some());
    assert!(in_flight.new_peer().reserve(0).admit(SMALL_MESSAGE_BYTES + 1).now_or_never().is_none());
}

#[test]
fn large_answer_to_one_peer_is_not_expected_by_another() {
    let in_flight = BytesInFlight::new(LIMIT);
    let (one, other) = (in_flight.new_peer(), in_flight.new_peer());
    for (method, of_other) in [("tools/call", 0), ("prompts/get", 0), ("resources/read", LIMIT)] {
        one.remember_size(method, "x", LIMIT);
        assert_eq!((one.expected_size(method, "x"), other.expected_size(method, "x")), (LIMIT, of_other), "{method}");
        one.remember_size(method, "x", 1);
        assert_eq!(one.expected_size(method, "x"), 0, "{method}");
    }
}

#[tokio::test]
async fn peer_waits_for_its_own_share_only() {
    let in_flight = BytesInFlight::new(LIMIT);
    let peer = in_flight.new_peer();
    let alone = peer.reserve(10);
    assert!(alone.admit(LIMIT).now_or_never().is_some(), "it is all there is");
    assert!(peer.wait_for_room().now_or_never().is_none());
    assert!(peer.reserve(10).admit(10).now_or_never().is_none());
    assert!(in_flight.new_peer().reserve(10).admit(10).now_or_never().is_some());
    drop(alone);
    assert!(peer.wait_for_room().now_or_never().is_some());
}

#[tokio::test]
async fn waiters_are_admitted_in_order() {
    let in_flight = BytesInFlight::new(LIMIT);
    let all = in_flight.new_peer().reserve(LIMIT);
    let (large, less) = (in_flight.new_peer().reserve(0), in_flight.new_peer().reserve(0));
    let mut first = Box::pin(large.admit(LIMIT / 3));
    let mut second = Box::pin(less.admit(SMALL_MESSAGE_BYTES + 1));
    assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
    all.shrink(LIMIT * 3 / 4);
    assert!(less.fits(SMALL_MESSAGE_BYTES + 1, 0) && !large.fits(LIMIT / 3, 0), "there is room for the second alone");
    assert!(second.as_mut().now_or_never().is_none(), "it came later");
    all.shrink(LIMIT);
    first.await.unwrap();
    second.await.unwrap();
}

#[tokio::test]
async fn deadlocked_waiters_proceed_one_by_one() {
    let in_flight = BytesInFlight::new(LIMIT);
    let peers: Vec<_> = (0..16).map(|_| in_flight.new_peer()).collect();
    let requests: Vec<_> = peers.iter().map(|peer| peer.reserve(LIMIT / 16)).collect();
    run_all(&in_flight, requests).await;
    let peer = in_flight.new_peer();
    run_all(&in_flight, (0..16).map(|_| peer.reserve(LIMIT / 16)).collect()).await;
    assert_eq!(in_flight.inner.waiting_bytes.load(Ordering::SeqCst), 0);
}

/// Each waits for as much again as it has, and is over when it gets that.
async fn run_all(in_flight: &BytesInFlight, requests: Vec<Reservation>) {
    let waiting = requests.into_iter().map(|request| async move {
        request.admit(request.bytes()).await.expect("they wait for each other");
        tokio::task::yield_now().await;
        assert!(in_flight.used() <= LIMIT * 3 / 2, "they are all let in at once: {}", in_flight.used());
    });
    tokio::time::timeout(ADMISSION_TIMEOUT / 2, futures_util::future::join_all(waiting)).await.expect("nobody goes on");
    assert_eq!(in_flight.used(), 0);
}

#[tokio::test]
async fn request_that_waits_for_its_client_holds_no_bytes_of_others() {
    let in_flight = BytesInFlight::new(LIMIT);
    let peers = [(); 3].map(|()| in_flight.new_peer());
    let waits = peers.each_ref().map(|peer| Arc::new(peer.reserve(LIMIT / 4)));
    let other = in_flight.new_peer().reserve(0);
    assert!(!other.try_admit(LIMIT / 8));
    let suspended = waits.each_ref().map(Reservation::suspend);
    assert_eq!(suspended.each_ref().map(Result::is_ok), [true, true, false], "half of all may be held so");
    assert_eq!((in_flight.used(), peers[0].used()), (LIMIT / 4, 0));
    assert!(other.try_admit(LIMIT / 8));
    drop((suspended, waits, other));
    assert_eq!((in_flight.used(), in_flight.inner.suspended.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn small_requests_of_one_address_do_not_wait_for_each_other() {
    let in_flight = BytesInFlight::new(LIMIT);
    for (kind, waits) in [(CallerKind::Address, false), (CallerKind::Session, true)] {
        let peer = in_flight.new_peer_of(kind);
        let _large = peer.reserve(LIMIT / 2);
        assert_eq!(peer.reserve(10).admit(10).now_or_never().is_none(), waits, "{kind:?}");
        assert!(peer.reserve(0).admit(SMALL_MESSAGE_BYTES + 1).now_or_never().is_none());
    }
}
