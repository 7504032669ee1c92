//! A local HTTP API for examples, which records its requests.

use serde_json::{Value, json};

use crate::upstream_server::{RecordedRequest, Reply, Upstream};

/// The token that the service issues.
pub const TOKEN: &str = "weather-token-0815-4711";

/// A weather service.
pub struct MockApi(Upstream);

impl MockApi {
    /// Starts one on a free port; it ends with the test.
    pub fn start() -> MockApi {
        MockApi(Upstream::start(|request, _| {
            let (status, body) = answer(request);
            Reply::json(status, &body)
        }))
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    /// What it was asked last.
    pub fn last(&self) -> RecordedRequest {
        self.0.requests().pop().expect("nothing was asked")
    }
}

fn answer(asked: &RecordedRequest) -> (u16, Value) {
    if let Some(status) = asked.target.strip_prefix("/echo/").and_then(|rest| rest.get(..3)?.parse().ok()) {
        return (status, json!({ "target": asked.target, "headers": asked.headers, "body": asked.body }));
    }
    if asked.target == "/token" {
        return (200, json!({ "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600 }));
    }
    if asked.header("x-api-key").or(asked.header("authorization")).is_none() {
        return (401, json!({ "message": "who are you?" }));
    }
    let path = asked.target.split('?').next().unwrap_or_default();
    match path {
        _ if asked.target.contains("Atlantis") => (404, json!({ "message": "no such city" })),
        "/v1/weather" => {
            let station = json!({ "id": 7, "operator": "somebody" });
            let now = json!({ "temperature": 22.5, "conditions": "Partly cloudy", "humidity": 65, "station": station });
            (200, now)
        }
        "/v1/cities/leak/forecast" => (500, json!({ "message": format!("bad key in {:?}", asked.headers) })),
        "/v1/stations" => {
            let page = asked.target.split("cursor=").nth(1).map_or(1, |page| page.parse::<u64>().unwrap());
            let stations = json!([{ "id": page * 10, "name": format!("Station {page}") }]);
            (200, json!({ "stations": stations, "next": (page < 3).then(|| page + 1) }))
        }
        "/v1/reports" if asked.body.contains("twice") => (409, json!({ "message": "Somebody reported it already." })),
        "/v1/reports" => (201, json!({ "id": 17 })),
        path if path.starts_with("/v1/cities/") => {
            let days = json!([
                { "day": "Mon", "conditions": "Rain", "high": 18 },
                { "day": "Tue", "conditions": "Sun", "high": 23 },
            ]);
            (200, json!({ "days": days }))
        }
        _ => (404, json!({ "message": "no such thing" })),
    }
}
