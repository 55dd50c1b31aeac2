//! The head of a request.

use super::connection::Refusal;

/// Headers that a request may have.
const HEADERS: usize = 128;

/// Request line and headers.
#[derive(Clone, Debug)]
pub struct Head {
    /// The method.
    pub method: String,
    /// The target as sent: path and query.
    pub target: String,
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    pub minor: u8,
    /// Headers in order, names in lower case; bytes that are not UTF-8 replaced.
    pub headers: Vec<(String, String)>,
}

/// How the length of a request's body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    Known(u64),
    Chunked,
}

impl Head {
    /// Reads a head: nothing while it is not whole, else the head and its length.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::new(431, "more than 128 headers")),
            Err(httparse::Error::Version) => return Err(Refusal::new(505, "not HTTP/1")),
            Err(fault) => return Err(Refusal::new(400, format!("not an HTTP request: {fault}"))),
        };
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let head = Head {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            minor: request.version.unwrap_or(1),
            headers: request.headers.iter().map(|h| (h.name.to_ascii_lowercase(), lossy(h.value))).collect(),
        };
        Ok(Some((head, length)))
    }

    /// The path of the target, without query; of an absolute target too.
    pub fn path(&self) -> &str {
        let target = self.target.split(['?', '#']).next().unwrap_or_default();
        match target.split_once("://") {
            Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
            None => target,
        }
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// True when a header that is a list of words, such as `connection`, has this one.
    fn has_word(&self, name: &str, word: &str) -> bool {
        let values = self.headers.iter().filter(|(known, _)| known == name);
        values.flat_map(|(_, value)| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(word))
    }

    /// True when the client wants to go on with this connection.
    pub(crate) fn keeps_alive(&self) -> bool {
        if self.minor == 0 {
            self.has_word("connection", "keep-alive")
        } else {
            !self.has_word("connection", "close")
        }
    }

    /// True when the client waits for a word before it sends the body.
    pub(super) fn expects_continue(&self) -> bool {
        self.minor > 0 && self.has_word("expect", "100-continue")
    }

    /// How the length of the body is told. A request that tells it twice, in different ways, is refused: two servers
    /// would see two different requests.
    pub(super) fn body_length(&self) -> Result<BodyLength, Refusal> {
        let told = |wanted: &'static str| self.headers.iter().filter(move |(name, _)| name == wanted);
        let lengths: Vec<&str> = told("content-length").map(|(_, value)| value.trim()).collect();
        if told("transfer-encoding").next().is_some() {
            let chunked =
                self.has_word("transfer-encoding", "chunked") && told("transfer-encoding").count() == 1;
            return match (chunked, lengths.is_empty()) {
                (true, true) => Ok(BodyLength::Chunked),
                (true, false) => Err(Refusal::new(400, "both content-length and transfer-encoding")),
                (false, _) => Err(Refusal::new(501, "a transfer-encoding other than chunked")),
            };
        }
        let Some(first) = lengths.first() else { return Ok(BodyLength::Known(0)) };
        if lengths.iter().any(|length| length != first) {
            return Err(Refusal::new(400, "more than one content-length"));
        }
        let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        let length = first.parse().ok().filter(|_| digits);
        length.map(BodyLength::Known).ok_or_else(|| Refusal::new(400, "a content-length that is no number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        Head::parse(text.as_bytes()).expect("a request").expect("whole").0
    }

    #[track_caller]
    fn length(headers: &str, expected: Result<BodyLength, u16>) {
        let found = head(&format!("POST / HTTP/1.1\r\n{headers}\r\n")).body_length();
        assert_eq!(found.map_err(|refusal| refusal.status), expected, "{headers}");
    }

    #[test]
    fn how_long_a_body_is() {
        length("", Ok(BodyLength::Known(0)));
        length("Content-Length: 12\r\n", Ok(BodyLength::Known(12)));
        length("Content-Length: 12\r\ncontent-length: 12\r\n", Ok(BodyLength::Known(12)));
        length("Content-Length: 12\r\ncontent-length: 13\r\n", Err(400));
        length("Content-Length: +12\r\n", Err(400));
        length("Content-Length: \r\n", Err(400));
        length("Content-Length: 99999999999999999999\r\n", Err(400));
        length("Transfer-Encoding: chunked\r\n", Ok(BodyLength::Chunked));
        length("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", Err(400));
        length("Transfer-Encoding: gzip\r\n", Err(501));
        length("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", Err(501));
    }

    #[test]
    fn paths_and_connections() {
        assert_eq!(head("GET /a/b?c=/d HTTP/1.1\r\n\r\n").path(), "/a/b");
        assert_eq!(head("GET http://h:1/a HTTP/1.1\r\n\r\n").path(), "/a");
        assert!(head("GET / HTTP/1.1\r\n\r\n").keeps_alive());
        assert!(!head("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n").keeps_alive());
        assert!(!head("GET / HTTP/1.0\r\n\r\n").keeps_alive());
        assert!(head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keeps_alive());
    }

    #[test]
    fn what_is_no_request() {
        let status = |text: &str| Head::parse(text.as_bytes()).map_err(|refusal| refusal.status).err();
        assert_eq!(status("\x16\x03\x01\x02"), Some(400));
        assert_eq!(status("GET / HTTP/2.0\r\n\r\n"), Some(505));
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(129))), Some(431));
        assert!(Head::parse(b"POST / HT").expect("not wrong yet").is_none());
    }
}
