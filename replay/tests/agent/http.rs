//! Records run again over HTTP: a small server gives what makes the recorded streams.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Millis, Seq};
use dshlog_replay::agent::http::{Endpoint, HttpModel};
use dshlog_replay::agent::rerun::{Options, rerun};
use dshlog_replay::compare::{Rules, compare};
use dshlog_replay::wire::{Dialect, End, Fidelity, Framing, Recorded, Served, expand, respond};

use dshlog_tests::model::skip;

use crate::records::{self, Log};

/// Responses to the requests of a log that were sent, in order; nothing when one of them is no response.
fn responses(log: &Log, dialect: impl Fn(Seq) -> Dialect) -> Option<Vec<Served>> {
    let mut served = Vec::new();
    for row in &log.rows {
        let doc = Doc::parse(row.as_str()).unwrap();
        let is = |kind| doc.root().get("type").is_some_and(|name| name.is(kind));
        let seq = doc.root().get("seq").and_then(Js::as_count).unwrap();
        if !(is("assistant/message") || is("assistant/attempt")) || (log.header.is_seeded && seq <= log.cut) {
            continue;
        }
        let chunks = expand(doc.root().path(&["data", "stream"]).unwrap()).unwrap();
        let recorded = Recorded { seq: Seq(seq), chunks: &chunks, is_accepted: false };
        served.extend(respond(recorded, dialect(Seq(seq)), Fidelity::Exact).ok()?);
    }
    Some(served)
}

/// Serves responses in order, one a request. Gives its port, and says something for each request.
fn serve(responses: Vec<Served>) -> (u16, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, count) = mpsc::channel();
    std::thread::spawn(move || {
        let responses = Arc::new(Mutex::new(responses.into_iter()));
        // Both models keep a connection.
        while let Ok((stream, _)) = listener.accept() {
            let (responses, told) = (Arc::clone(&responses), told.clone());
            std::thread::spawn(move || {
                let next = || responses.lock().unwrap().next();
                while let Some(response) = request(&stream).then(next).flatten() {
                    let _ = told.send(());
                    if !give(&stream, &response) {
                        break;
                    }
                }
            });
        }
    });
    (port, count)
}

/// Read a request to its end. False when none comes.
fn request(stream: &TcpStream) -> bool {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) if line == "\r\n" => break,
            Ok(_) => {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
        }
    }
    reader.take(length).read_to_end(&mut Vec::new()).is_ok()
}

/// Give a response. False when the connection is done with.
fn give(mut stream: &TcpStream, served: &Served) -> bool {
    let Some(status) = served.status else {
        if served.end == End::Stall {
            wait_for_the_client(stream);
        }
        return false;
    };
    let framing = |name: &str| ["length", "transfer", "connection"].iter().any(|part| name.contains(part));
    let length: usize = served.writes.iter().map(|write| write.bytes.len()).sum();
    let is_chunked = served.framing == Some(Framing::Chunked);
    let mut head = vec![format!("HTTP/1.1 {status} Status")];
    let headers = served.headers.iter().filter(|(name, _)| !framing(name));
    head.extend(headers.map(|(name, value)| format!("{name}: {value}")));
    head.push(match served.framing {
        Some(Framing::Chunked) => "transfer-encoding: chunked".to_owned(),
        Some(Framing::Close) => "connection: close".to_owned(),
        Some(Framing::Length | Framing::None) | None => format!("content-length: {length}"),
    });
    let head = head.join("\r\n") + "\r\n\r\n";
    let mut write = |bytes: &[u8]| stream.write_all(bytes).and_then(|()| stream.flush()).is_ok();
    let mut fine = write(head.as_bytes());
    for part in &served.writes {
        if is_chunked {
            fine &= write(format!("{:x}\r\n", part.bytes.len()).as_bytes());
        }
        fine &= write(&part.bytes);
        if is_chunked {
            fine &= write(b"\r\n");
        }
    }
    match served.end {
        End::Complete => {
            fine && (!is_chunked || write(b"0\r\n\r\n")) && served.framing != Some(Framing::Close)
        }
        End::Stall => {
            wait_for_the_client(stream);
            false
        }
        _ => false,
    }
}

fn wait_for_the_client(mut stream: &TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let _ = stream.read(&mut [0]);
}

/// How logs came through.
#[derive(Debug, Default)]
struct Tally {
    equal: usize,
    asked: usize,
    /// Their requests need what no log holds.
    images: usize,
    /// No response of one dialect gives all their streams.
    unserved: usize,
    wrong: Vec<String>,
}

/// Run a log again against a server, each of its processes in its own dialect, or all in one where that cannot tell its
/// streams.
fn run_again(log: &Log, tally: &mut Tally) {
    if log.rows.iter().any(|row| row.contains(r#""type":"image""#)) {
        tally.images += 1;
        return;
    }
    let record = log.record();
    let own =
        responses(log, |seq| record.dialect(seq)).map(|served| (served, [Dialect::Messages, Dialect::Chat]));
    let one = || responses(log, |_| Dialect::Messages).map(|served| (served, [Dialect::Messages; 2]));
    let Some((responses, dialects)) = own.or_else(one) else {
        tally.unserved += 1;
        return;
    };
    let expected = responses.len();
    let (port, count) = serve(responses);
    let mut models = dialects.map(|dialect| {
        let mut endpoint = Endpoint::new(format!("http://127.0.0.1:{port}"), dialect);
        endpoint.patience = Duration::from_millis(400);
        HttpModel::new(endpoint, Millis(0))
    });
    let [model, older] = &mut models;
    let options = Options { model: Some(model), older_model: Some(older), ..Options::default() };
    let made = rerun(&record, options).unwrap();
    let Ok(comparison) = compare(&record, &made.log, Rules::default());
    let served = count.try_iter().count();
    if comparison.is_equal() && made.parted.is_none() && served == expected {
        tally.equal += 1;
        tally.asked += served;
    } else {
        let Ok(first) = comparison.first_difference(&record, &made.log);
        tally.wrong.push(format!("{}: {served} of {expected} served, {first:?}", log.name));
    }
}

#[track_caller]
fn check(logs: &[Log], least: usize) {
    let mut tally = Tally::default();
    for log in logs {
        run_again(log, &mut tally);
    }
    let Tally { equal, asked, images, unserved, wrong } = &tally;
    skip(&format!(
        "{images} logs that need images, {unserved} that cannot be served; {equal} with {asked} requests ran"
    ));
    assert!(wrong.is_empty(), "{} wrong, {equal} equal\n{}", wrong.len(), wrong.join("\n"));
    assert!(*equal >= least, "only {equal}");
}

#[test]
fn records_run_again_over_messages() {
    check(&records::own(4), 40);
}

#[test]
fn older_records_run_again_over_chat_completions() {
    check(&records::own(3), 10);
    check(&records::own(0), 50);
}

#[test]
fn captured_conversations_run_again_over_http() {
    for (name, logs) in records::all() {
        if name != "own" {
            check(&logs, 60);
        }
    }
}
