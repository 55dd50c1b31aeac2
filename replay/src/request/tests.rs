//! The fold over made-up logs: positions, headers in force, the history of tools.

use dshlog_codec::Place;

use super::*;

fn fold(lines: &[String]) -> Requests {
    let mut requests = Requests::new();
    for line in lines {
        let doc = Doc::parse(line.as_str()).unwrap();
        requests.see(&Event::from_row(doc.root(), Place::default())).unwrap();
    }
    requests
}
