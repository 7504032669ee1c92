//! Undoes the codings of a body (`Content-Encoding`; RFC 9110, 8.4).

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// What a request says that it accepts.
pub(super) const ACCEPTED_CODINGS: &str = "gzip, br, zstd, deflate";
/// How many codings are undone in turn.
const MAX_CODINGS: usize = 4;
/// How many bytes one coding may yield for the next one to undo.
const MAX_INNER_BYTES: u64 = 64 << 20;

/// A body that is read piece by piece.
pub(super) type BodyReader = Box<dyn AsyncBufRead + Send + Unpin>;

/// The codings of a body, in the order in which they were applied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ContentCodings(Vec<Coding>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl ContentCodings {
    /// Reads the header of a response.
    ///
    /// # Errors
    /// It names a coding that is not known, or too many.
    pub(super) fn read(headers: &HeaderMap) -> Result<ContentCodings, String> {
        let mut codings = Vec::new();
        for name in written_codings(headers).split(',').map(str::trim) {
            codings.push(match name.to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Coding::Gzip,
                "deflate" => Coding::Deflate,
                "br" => Coding::Brotli,
                "zstd" => Coding::Zstd,
                _ => return Err(format!("unknown content coding `{name}`")),
            });
        }
        match codings.len() {
            ..=MAX_CODINGS => Ok(ContentCodings(codings)),
            count => Err(format!("{count} content codings, one in the other, and the limit is {MAX_CODINGS}")),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body as it was before it was coded. An empty one never was.
    pub(super) async fn undo(self, mut body: BodyReader) -> std::io::Result<BodyReader> {
        let mut codings = self.0.into_iter().rev().peekable();
        while let Some(coding) = codings.next() {
            let Some(first) = body.fill_buf().await?.first().copied() else { break };
            let limit = if codings.peek().is_some() { MAX_INNER_BYTES } else { u64::MAX };
            body = Box::new(BufReader::new(coding.decoder(body, first).take(limit)));
        }
        Ok(body)
    }
}

/// The value of the header, in all its lines.
pub(super) fn written_codings(headers: &HeaderMap) -> String {
    let values = headers.get_all(CONTENT_ENCODING).iter();
    values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect::<Vec<_>>().join(", ")
}

impl Coding {
    /// Decodes a body that begins with the byte `first`.
    fn decoder(self, body: BodyReader, first: u8) -> Box<dyn AsyncRead + Send + Unpin> {
        match self {
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(body);
                decoder.multiple_members(true);
                Box::new(decoder)
            }
            // Many servers leave out the zlib format around it (RFC 9110, 8.4.1.2), which begins with a method: 8.
            Coding::Deflate if first & 0x0f == 8 => Box::new(ZlibDecoder::new(body)),
            Coding::Deflate => Box::new(DeflateDecoder::new(body)),
            Coding::Brotli => Box::new(BrotliDecoder::new(body)),
            Coding::Zstd => {
                let mut decoder = ZstdDecoder::new(body);
                decoder.multiple_members(true);
                Box::new(decoder)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codings(lines: &[&str]) -> Result<ContentCodings, String> {
        let mut headers = HeaderMap::new();
        lines.iter().for_each(|line| _ = headers.append(CONTENT_ENCODING, line.parse().unwrap()));
        ContentCodings::read(&headers)
    }

    #[test]
    fn header_is_a_list_in_any_case() {
        for (lines, expected) in [
            (&[][..], &[][..]),
            (&["identity"], &[]),
            (&["GZIP"], &[Coding::Gzip]),
            (&["x-gzip, ,Identity"], &[Coding::Gzip]),
            (&["deflate, Br", "zstd"], &[Coding::Deflate, Coding::Brotli, Coding::Zstd]),
        ] {
            assert_eq!(codings(lines), Ok(ContentCodings(expected.to_vec())), "{lines:?}");
        }
    }

    #[test]
    fn other_codings_are_named() {
        assert_eq!(codings(&["gzip, Compress"]), Err("unknown content coding `Compress`".to_owned()));
        assert!(codings(&["gzip,gzip,gzip,gzip,gzip"]).is_err());
    }
}
