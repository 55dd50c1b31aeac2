//! A client that does nothing but write and read bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// A request with this body.
pub(crate) fn post(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// The chunks of an answer, and its length in bytes with head and framing.
pub(crate) fn chunks_of(address: SocketAddr, body: &Value) -> (Vec<Vec<u8>>, usize) {
    let mut client = Client::connect(address);
    client.stream.write_all(&post(body)).unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    while !bytes.ends_with(b"\r\n0\r\n\r\n") {
        let count = client.stream.read(&mut buffer).unwrap();
        assert!(count > 0);
        bytes.extend_from_slice(&buffer[..count]);
    }
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    assert!(bytes.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&bytes[..head]));
    let (mut rest, mut chunks) = (&bytes[head..], Vec::new());
    loop {
        let line = rest.iter().position(|byte| *byte == b'\r').unwrap();
        let size = usize::from_str_radix(str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (chunks, bytes.len());
        }
        chunks.push(rest[line + 2..line + 2 + size].to_vec());
        rest = &rest[line + 2 + size + 2..];
    }
}

/// A client that knows how many bytes come.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: vec![0; 1 << 16] }
    }

    /// Ask, and read the whole answer.
    pub(crate) fn ask(&mut self, request: &[u8], bytes: usize) {
        self.stream.write_all(request).unwrap();
        let mut left = bytes;
        while left > 0 {
            let count = self.stream.read(&mut self.buffer).unwrap();
            assert!(count > 0 && count <= left, "{count} of {left}");
            left -= count;
        }
    }
}
