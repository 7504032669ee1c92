//! An HTTP server on this machine that answers as a test says, and records its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct RecordedRequest {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A response, as bytes on the wire.
pub struct Reply {
    bytes: Vec<u8>,
    /// Whether further requests are read from the connection.
    is_persistent: bool,
}

impl Reply {
    pub fn json(status: u16, body: &Value) -> Reply {
        Reply::with_headers(status, &[("Content-Type", "application/json")], body.to_string())
    }

    pub fn with_headers(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let mut bytes = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\n", body.len()).into_bytes();
        for (name, value) in headers {
            bytes.extend(format!("{name}: {value}\r\n").into_bytes());
        }
        bytes.extend_from_slice(b"Connection: close\r\n\r\n");
        bytes.extend_from_slice(body);
        Reply::raw(bytes)
    }

    /// A response after which the connection stays open, for tests of many requests.
    pub fn persistent(body: &Value) -> Reply {
        let body = body.to_string();
        let length = body.len();
        let head = format!("HTTP/1.1 200 -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
        Reply { bytes: (head + &body).into_bytes(), is_persistent: true }
    }

    /// Bytes as they are, which need not be HTTP.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply { bytes: bytes.into(), is_persistent: false }
    }
}

type Handler = dyn Fn(&RecordedRequest, usize) -> Reply + Send + Sync;

/// The server. It ends with the test.
pub struct Upstream {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Upstream {
    /// Answers each request by `handler`, which is also given its number, from 0.
    pub fn start(handler: impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<RecordedRequest>>>::default();
        let (recorded, handler): (_, Arc<Handler>) = (requests.clone(), Arc::new(handler));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (recorded, handler) = (recorded.clone(), handler.clone());
                thread::spawn(move || drop(serve(stream, &recorded, &*handler)));
            }
        });
        Upstream { address, requests }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The method and the target of each request.
    pub fn targets(&self) -> Vec<String> {
        self.requests().iter().map(|request| format!("{} {}", request.method, request.target)).collect()
    }
}

fn serve(stream: TcpStream, recorded: &Mutex<Vec<RecordedRequest>>, handler: &Handler) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let request = read(&mut reader)?;
        if request.method.is_empty() {
            return Ok(());
        }
        let number = {
            let mut recorded = recorded.lock().unwrap();
            recorded.push(request.clone());
            recorded.len() - 1
        };
        let reply = handler(&request, number);
        reader.get_mut().write_all(&reply.bytes)?;
        if !reply.is_persistent {
            return Ok(());
        }
    }
}

fn read(reader: &mut impl BufRead) -> std::io::Result<RecordedRequest> {
    let mut request = RecordedRequest::default();
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    request.method = words.next().unwrap_or_default();
    request.target = words.next().unwrap_or_default();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut request.bytes)?;
    request.body = String::from_utf8_lossy(&request.bytes).into_owned();
    Ok(request)
}
