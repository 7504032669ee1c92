//! A local HTTP API for examples, which records its requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct RecordedRequest {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The token that the service issues.
pub const TOKEN: &str = "weather-token-0815-4711";

/// A weather service.
pub struct MockApi {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl MockApi {
    /// Starts one on a free port; it ends with the test.
    pub fn start() -> MockApi {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<RecordedRequest>>>::default();
        let remembered = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A connection that breaks is its client's affair.
                let _ = serve(stream, &remembered);
            }
        });
        MockApi { address, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked last.
    pub fn last(&self) -> RecordedRequest {
        self.asked.lock().unwrap().last().cloned().expect("nothing was asked")
    }
}

fn serve(stream: TcpStream, remembered: &Mutex<Vec<RecordedRequest>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let asked = read(&mut reader)?;
    remembered.lock().unwrap().push(asked.clone());
    let (status, body) = answer(&asked);
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n");
    reader.get_mut().write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())
}

fn read(reader: &mut impl BufRead) -> std::io::Result<RecordedRequest> {
    let mut asked = RecordedRequest::default();
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    asked.method = words.next().unwrap_or_default();
    asked.target = words.next().unwrap_or_default();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        asked.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Ok(asked)
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
