//! What one request of a log has more than the one before: by that requests of two logs are compared, since each holds
//! nearly all of its predecessor.

use dshlog_codec::json::{Js, print};
use dshlog_codec::{Event, Seq};

use crate::request::Request;

/// Follows a log from request to request, beside the [`Requests`](crate::Requests). Holds seqs, and the configuration and
/// the tools of the last request.
#[derive(Debug, Default)]
pub struct News {
    /// Events whose messages came to the surface, or changed there.
    messages: Vec<Seq>,
    config: String,
    tools: String,
}

impl News {
    /// Take the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        if event.surface_op().is_some() {
            self.messages.push(event.seq);
        }
        // Images that were left out of a message change it.
        let targets = event.is("image/offload").then(|| event.member("targets")).flatten();
        self.messages.extend(
            targets
                .into_iter()
                .flat_map(Js::elements)
                .filter_map(|target| target.get("seq").and_then(Js::as_count).map(Seq)),
        );
    }

    /// What of a request is new since the one before: its parts as JSON, null for what did not change. The next one is
    /// compared with this one.
    pub fn take(&mut self, request: &Request<'_>) -> String {
        let mut config = Vec::new();
        if let Some(recorded) = request.config() {
            print(&mut config, recorded);
        }
        let config = String::from_utf8_lossy(&config).into_owned();
        let tools = request.header().and_then(|header| header.tools.as_ref());
        let tools: Vec<&str> =
            tools.into_iter().flat_map(|tools| tools.iter()).map(|tool| tool.definition()).collect();
        let tools = format!("[{}]", tools.join(","));
        self.messages.sort_unstable();
        self.messages.dedup();
        let history = request.history();
        let nodes: Vec<_> = self.messages.drain(..).filter_map(|seq| history.surface().node(seq)).collect();
        let replaced: usize = nodes.iter().map(|node| node.replaced.len()).sum();
        let messages: Vec<&str> = nodes.iter().filter_map(|node| history.message(node)).collect();
        let new = |old: &mut String, new: String| -> String {
            if *old == new {
                "null".to_owned()
            } else {
                new.clone_into(old);
                new
            }
        };
        format!(
            r#"{{"config":{},"tools":{},"replaced":{replaced},"messages":[{}]}}"#,
            new(&mut self.config, if config.is_empty() { "null".to_owned() } else { config }),
            new(&mut self.tools, tools),
            messages.join(",")
        )
    }
}
