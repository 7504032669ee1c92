//! Lets requests and streams in as far as `http.limits` allows, in all and of each caller: none has more than half.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rmcp::model::ClientRequest;

use crate::{
    budget::{Caller, CallerKind, Share, TokenBucket},
    identity::AccessControl,
    server::SharedServer,
};

/// With how many accounts those are looked for that nobody uses.
const MIN_SWEPT_ACCOUNTS: usize = 64;

/// One of so many connections is neither of a request nor of a stream: whoever connects gets an answer, such as health checks.
const FREE_CONNECTIONS: u64 = 8;

/// When to come again where something else must end first.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What callers have under way.
pub(super) struct Admission {
    shared_server: SharedServer,
    accounts: Mutex<Accounts>,
    total: Arc<Usage>,
    /// How many connections there may be.
    max_connections: AtomicU64,
}

#[derive(Default)]
struct Accounts {
    of: HashMap<AccountKey, Arc<Account>>,
    sweep_at: usize,
}

/// Who counts as one caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum AccountKey {
    Identity {
        issuer: String,
        id: String,
    },
    /// Who is not known, by address.
    Network(IpAddr),
}

/// What one caller has.
#[derive(Debug, Default)]
pub(super) struct Account {
    caller: Arc<Caller>,
    usage: Usage,
    credit: Mutex<TokenBucket>,
}

impl Account {
    /// Its share of memory and programs.
    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    fn is_unused(self: &Arc<Account>) -> bool {
        let is_shared = Arc::strong_count(self) > 1 || Arc::strong_count(&self.caller) > 1;
        !is_shared && self.credit.lock().is_full() && self.caller.has_full_credit()
    }
}

#[derive(Debug, Default)]
struct Usage {
    requests: Share,
    streams: Share,
    /// The connections that are of either, of all callers.
    connections: Share,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdmittedKind {
    Requests,
    Streams,
}

impl AdmittedKind {
    pub(super) fn of(request: &ClientRequest) -> AdmittedKind {
        match request {
            ClientRequest::SubscriptionsListenRequest(_) => AdmittedKind::Streams,
            _ => AdmittedKind::Requests,
        }
    }

    fn share(self, usage: &Usage) -> &Share {
        match self {
            AdmittedKind::Requests => &usage.requests,
            AdmittedKind::Streams => &usage.streams,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            AdmittedKind::Requests => "requests in flight",
            AdmittedKind::Streams => "streams",
        }
    }
}

/// The requests or the stream of a caller that are under way, until this is dropped.
#[derive(Debug)]
pub(super) struct AdmissionGuard {
    account: Arc<Account>,
    total: Arc<Usage>,
    kind: AdmittedKind,
    amount: u64,
}

impl Drop for AdmissionGuard {
    fn drop(&mut self) {
        self.kind.share(&self.account.usage).give_back(self.amount);
        self.kind.share(&self.total).give_back(self.amount);
        self.total.connections.give_back(1);
    }
}

/// A limit that is reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LimitReached {
    /// Whether it is that of its caller, and not of all.
    pub(super) is_of_caller: bool,
    pub(super) message: String,
    pub(super) retry_after: Duration,
}

impl Admission {
    pub(super) fn new(shared_server: SharedServer) -> Admission {
        let max_connections = AtomicU64::new(u64::MAX);
        Admission { shared_server, accounts: Mutex::default(), total: Arc::default(), max_connections }
    }

    /// Notes how many connections there may be by now.
    pub(super) fn set_max_connections(&self, max: usize) {
        self.max_connections.store(max as u64, Ordering::Relaxed);
    }

    /// The account of a caller, who is at this address.
    pub(super) fn account(&self, access: &AccessControl, address: IpAddr) -> Arc<Account> {
        let key = match access.identity() {
            Some(caller) => AccountKey::Identity { issuer: caller.issuer.clone(), id: caller.id.clone() },
            None => AccountKey::Network(network_of(address)),
        };
        let mut accounts = self.accounts.lock();
        if let Some(account) = accounts.of.get(&key) {
            return account.clone();
        }
        if accounts.of.len() >= accounts.sweep_at {
            accounts.of.retain(|_, account| !account.is_unused());
            // So that a sweep costs each caller little, however many there are.
            accounts.sweep_at = accounts.of.len().saturating_mul(2).max(MIN_SWEPT_ACCOUNTS);
        }
        let kind = match key {
            AccountKey::Identity { .. } => CallerKind::Session,
            AccountKey::Network(_) => CallerKind::Address,
        };
        let account = Arc::new(Account { caller: self.shared_server.new_caller(kind), ..Account::default() });
        accounts.of.insert(key, account.clone());
        account
    }

    /// Lets the requests of one message in, or a stream on which a client listens, until the guard is dropped.
    pub(super) fn admit(
        &self,
        account: &Arc<Account>,
        kind: AdmittedKind,
        amount: u64,
    ) -> Result<AdmissionGuard, LimitReached> {
        let limits = self.shared_server.catalog().http_settings().limits;
        let limit = match kind {
            AdmittedKind::Requests => limits.in_flight,
            AdmittedKind::Streams => limits.streams,
        };
        let max = limit.map_or(u64::MAX, u64::from);
        let connections = self.max_connections.load(Ordering::Relaxed);
        let reached = |is_of_caller, whose| LimitReached {
            is_of_caller,
            message: format!("too many {} {whose}", kind.as_str()),
            retry_after: RETRY_AFTER,
        };
        let own = kind.share(&account.usage);
        if !own.try_add(amount, account.caller.max_share(max)) {
            return Err(reached(true, "of one caller"));
        }
        if !kind.share(&self.total).try_add(amount, max) {
            own.give_back(amount);
            return Err(reached(false, "at the moment"));
        }
        if !self.total.connections.try_add(1, connections - connections / FREE_CONNECTIONS) {
            own.give_back(amount);
            kind.share(&self.total).give_back(amount);
            return Err(reached(false, "at the moment"));
        }
        let guard = AdmissionGuard { account: account.clone(), total: self.total.clone(), kind, amount };
        if let Some(rate) = limits.per_caller.filter(|_| kind == AdmittedKind::Requests) {
            let cost = (rate.per / rate.calls.max(1)).saturating_mul(u32::try_from(amount).unwrap_or(u32::MAX));
            account.credit.lock().take(cost, rate.per).map_err(|retry_after| LimitReached {
                is_of_caller: true,
                message: "too many requests of one caller".to_owned(),
                retry_after,
            })?;
        }
        Ok(guard)
    }
}

/// What one client has for itself: an address, of IPv6 the network of 64 bits.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}
