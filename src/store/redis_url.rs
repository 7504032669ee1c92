//! The address of Redis or Valkey: of a server, or of the Sentinels that know which one is the master.

use ::redis::aio::PubSub;
use ::redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use ::redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisResult, TlsMode};

/// The port of a Sentinel.
const SENTINEL_PORT: u16 = 26379;

/// Where the shared store is. It may have a password, and is never shown.
#[derive(Clone)]
pub struct RedisUrl(Target);

#[derive(Clone)]
enum Target {
    Server(Box<ConnectionInfo>),
    Sentinels { addresses: Vec<ConnectionAddr>, node: Box<ConnectionInfo>, master: String },
}

/// What is wrong with a URL. It is not repeated, as it may have a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedisUrlError {
    #[error(
        "invalid URL of Redis, expected such as `redis://host:6379/0`, `rediss://user:password@host` or `redis-sentinel://host1,host2/0#master`"
    )]
    Invalid,
    #[error("missing name of the master: end the URL with it, such as `redis-sentinel://host1,host2/0#mymaster`")]
    MissingMaster,
}

impl RedisUrl {
    /// Reads `redis://`, `rediss://` and `redis+unix://` as the official clients do, and `redis-sentinel://` and
    /// `rediss-sentinel://` with a comma between the hosts, as Lettuce does.
    ///
    /// # Errors
    /// It is none of them.
    pub fn parse(url: &str) -> Result<RedisUrl, RedisUrlError> {
        let sentinel = ["redis-sentinel", "rediss-sentinel"].into_iter().find_map(|scheme| {
            Some((scheme.trim_end_matches("-sentinel"), url.strip_prefix(scheme)?.strip_prefix("://")?))
        });
        match sentinel {
            Some((scheme, rest)) => parse_sentinels(scheme, rest).map(RedisUrl),
            None => parse_server(url).map(|info| RedisUrl(Target::Server(Box::new(info)))),
        }
    }

    pub(super) fn connector(&self) -> RedisResult<Connector> {
        match &self.0 {
            Target::Server(info) => {
                Client::open(ConnectionInfo::clone(info)).map(|client| Connector::Server(Box::new(client)))
            }
            Target::Sentinels { addresses, node, master } => {
                sentinel_client(addresses, node, master).map(|client| Connector::Sentinels(Box::new(client)))
            }
        }
    }
}

/// What opens connections.
pub(super) enum Connector {
    Server(Box<Client>),
    Sentinels(Box<SentinelClient>),
}

impl Connector {
    /// The client of the server that takes writes now.
    pub(super) async fn client(&mut self) -> RedisResult<Client> {
        match self {
            Connector::Server(client) => Ok(Client::clone(client)),
            Connector::Sentinels(client) => client.async_get_client().await,
        }
    }

    /// What Sentinels say when another server becomes the master; `None` where there are none.
    pub(super) async fn subscribe_to_masters(&mut self) -> RedisResult<Option<PubSub>> {
        let Connector::Sentinels(client) = self else { return Ok(None) };
        let mut subscription = client.async_get_sentinel_client().await?.get_async_pubsub().await?;
        subscription.subscribe("+switch-master").await?;
        Ok(Some(subscription))
    }
}

fn parse_server(url: &str) -> Result<ConnectionInfo, RedisUrlError> {
    url.into_connection_info().map_err(|_| RedisUrlError::Invalid)
}

fn parse_sentinels(scheme: &str, rest: &str) -> Result<Target, RedisUrlError> {
    let (rest, master) =
        rest.split_once('#').filter(|(_, master)| !master.is_empty()).ok_or(RedisUrlError::MissingMaster)?;
    let (user_info, rest) =
        rest.rsplit_once('@').map_or((String::new(), rest), |(user, rest)| (format!("{user}@"), rest));
    let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
    let nodes: Result<Vec<ConnectionInfo>, RedisUrlError> = hosts
        .split(',')
        .map(|host| {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = if has_port { String::new() } else { format!(":{SENTINEL_PORT}") };
            parse_server(&format!("{scheme}://{user_info}{host}{port}/{database}"))
        })
        .collect();
    let nodes = nodes?;
    let addresses = nodes.iter().map(|node| node.addr().clone()).collect();
    let node = nodes.into_iter().next().ok_or(RedisUrlError::Invalid)?;
    Ok(Target::Sentinels { addresses, node: Box::new(node), master: master.to_owned() })
}

fn sentinel_client(addresses: &[ConnectionAddr], node: &ConnectionInfo, master: &str) -> RedisResult<SentinelClient> {
    let mut builder = SentinelClientBuilder::new(addresses.iter().cloned(), master, SentinelServerType::Master)?
        .set_client_to_redis_db(node.redis_settings().db());
    if let ConnectionAddr::TcpTls { .. } = node.addr() {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if let Some(user) = node.redis_settings().username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = node.redis_settings().password() {
        builder = builder.set_client_to_redis_password(password);
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_sentinels_are_parsed() {
        for url in ["redis://h", "redis://:p@h:1/2", "rediss://u:p@h", "redis+unix:///run/redis.sock", "valkey://h"] {
            assert!(matches!(RedisUrl::parse(url), Ok(RedisUrl(Target::Server(_)))), "{url}");
        }
        let Ok(RedisUrl(Target::Sentinels { addresses, node, master })) =
            RedisUrl::parse("redis-sentinel://u:p%40@a:1,b/5#main")
        else {
            panic!("not of sentinels");
        };
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["a:1", "b:26379"]);
        let node = node.redis_settings();
        assert_eq!((node.password(), node.db(), &*master), (Some("p@"), 5, "main"));
    }

    #[test]
    fn other_urls_are_refused() {
        for url in ["", "h:6379", "http://h", "redis://", "redis-sentinel://a b#m"] {
            assert_eq!(RedisUrl::parse(url).err(), Some(RedisUrlError::Invalid), "{url}");
        }
        assert_eq!(RedisUrl::parse("redis-sentinel://a,b/0").err(), Some(RedisUrlError::MissingMaster));
    }
}
