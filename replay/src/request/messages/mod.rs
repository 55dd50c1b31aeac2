//! The body of a Messages request, as dsh 0.2.1-rc.2 sends it but for its extension members
//! (`docs/spec/messages-wire.md`, sections 2 and 3).

mod piece;
mod project;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use dshlog_codec::Seq;
use dshlog_codec::json::{JsString, print_string};

use super::call::Call;
use super::image::{Attachments, Carrier};
use super::part::{Pieces, Terms};
use super::refusal::Refusal;
use super::route::{Route, RouteChange};
use super::template::Template;
use piece::{Block, BlockKind, Change, Piece, Shape};
use project::Projected;

/// Prints bodies. One printer for many requests of one log makes the piece of each message once; another log needs another
/// printer.
#[derive(Debug, Default)]
pub struct MessagesPrinter {
    change: RouteChange,
    pieces: Pieces<Piece>,
    made_for: Option<(bool, Option<String>)>,
}

/// A printed body.
#[derive(Clone, Debug)]
pub struct MessagesBody {
    /// Compact JSON without a line end.
    pub json: Vec<u8>,
    /// The names that the header `anthropic-beta` lists.
    pub betas: Vec<&'static str>,
    /// Assistant messages whose replay state was malformed, so that their signatures were not sent back.
    pub ignored_replay: Vec<Seq>,
}

/// A message on the wire.
#[derive(Debug)]
struct Wire<'p> {
    role: Role,
    blocks: Vec<Sent<'p>>,
}

/// A block on the wire, with the event that it comes from.
#[derive(Clone, Debug)]
struct Sent<'p> {
    block: std::borrow::Cow<'p, Block>,
    seq: Option<Seq>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        }
    }
}

impl MessagesPrinter {
    /// A printer for the model catalogue with these changes.
    pub fn new(change: RouteChange) -> Self {
        MessagesPrinter { change, ..Self::default() }
    }

    /// The route that a call takes.
    pub fn route(&self, call: &Call<'_>) -> Route {
        let route = Route::of_model(&call.model);
        Route { in_history: call.in_history.unwrap_or(route.in_history), ..route }.changed(self.change)
    }

    /// The body of a call.
    ///
    /// # Errors
    /// What the adapter refuses before it sends anything, in the order in which it looks, and an image whose bytes are
    /// neither here nor with the service.
    pub fn body(&mut self, call: &Call<'_>, attachments: &dyn Attachments) -> Result<MessagesBody, Refusal> {
        let route = self.route(call);
        let terms = Terms { images: route.images, home: attachments.home() };
        let made_for = Some((terms.images, terms.home.map(str::to_owned)));
        if self.made_for != made_for {
            (self.made_for, self.pieces) = (made_for, Pieces::default());
        }
        let pieces = self.pieces.of(&call.messages, |message| Piece::of(message, terms))?;
        let Projected { messages, tools } = project::project(&pieces, call, route.tool_update);
        // The adapter prepares images before it looks at anything else.
        if let Some(sent) = messages.iter().find(|sent| sent.piece.misplaces_image) {
            return Err(Refusal::MisplacedImage { seq: sent.piece.seq });
        }
        let mut body = MessagesBody { json: Vec::new(), betas: Vec::new(), ignored_replay: Vec::new() };
        let (mut wire, system) = assemble(&messages, call, route, &mut body.ignored_replay)?;
        pair(&mut wire)?;
        let effort = effort(call)?;
        print(call, &wire, system, tools.as_deref(), effort, attachments, &mut body)?;
        Ok(body)
    }
}

/// An effort that the adapter knows; nothing for `off`.
fn effort<'c>(call: &'c Call<'_>) -> Result<Option<&'c str>, Refusal> {
    match call.effort.as_str() {
        Some("off") => Ok(None),
        Some(effort @ ("low" | "high" | "max")) => Ok(Some(effort)),
        _ => Err(Refusal::UnsupportedEffort { effort: call.effort.to_lossy().into_owned() }),
    }
}

/// Messages of the history to messages on the wire, and the system prompt in force (3.1 to 3.3).
fn assemble<'p>(
    messages: &'p [project::Sent<'_>],
    call: &Call<'_>,
    route: Route,
    ignored_replay: &mut Vec<Seq>,
) -> Result<(Vec<Wire<'p>>, JsString), Refusal> {
    let mut wire: Vec<Wire<'p>> = Vec::new();
    let mut updates: Vec<Wire<'p>> = Vec::new();
    let mut system = JsString::default();
    let mut last = None;
    for message in messages {
        let (piece, seq) = (&**message.piece, message.piece.seq);
        let unsupported = |what: String| Refusal::Unsupported { what, seq };
        let (role, blocks) = match &piece.shape {
            Shape::Refused(what) => return Err(unsupported(what.clone())),
            Shape::Developer { .. } => {
                let mut blocks = Vec::new();
                for change in &message.changes {
                    match change {
                        Change::Other(kind) => return Err(unsupported(format!("developer content {kind}"))),
                        Change::Text { empty: true, .. } => {}
                        change => blocks.push(change.block()),
                    }
                }
                if !blocks.is_empty() {
                    let blocks = blocks.into_iter().map(|block| Sent { block, seq }).collect();
                    updates.push(Wire { role: Role::System, blocks });
                    last = seq;
                }
                continue;
            }
            Shape::System { text } if route.in_history && !wire.is_empty() => {
                if text.is_empty() {
                    return Err(unsupported("empty in-history system update".to_owned()));
                }
                let block = std::borrow::Cow::Owned(piece::text_block(text));
                updates.push(Wire { role: Role::System, blocks: vec![Sent { block, seq }] });
                last = seq;
                continue;
            }
            Shape::System { text } => {
                system.clone_from(text);
                continue;
            }
            Shape::Turn { role, blocks } => (*role, blocks),
            Shape::Assistant { blocks, signatures, provider } => {
                if signatures.is_malformed() && *provider == call.provider {
                    ignored_replay.extend(seq);
                }
                if *provider == call.provider && signatures.is_of(&call.model) {
                    (Role::Assistant, &signatures.blocks)
                } else {
                    (Role::Assistant, blocks)
                }
            }
        };
        if blocks.is_empty() {
            continue;
        }
        if role == Role::Assistant {
            flush(&mut wire, &mut updates, last)?;
        }
        let blocks = blocks.iter().map(|block| Sent { block: std::borrow::Cow::Borrowed(block), seq });
        match wire.last_mut() {
            Some(before) if before.role == role => before.blocks.extend(blocks),
            _ => wire.push(Wire { role, blocks: blocks.collect() }),
        }
    }
    flush(&mut wire, &mut updates, last)?;
    Ok((wire, system))
}

/// Send the updates that wait. They must follow a user turn.
fn flush<'p>(wire: &mut Vec<Wire<'p>>, updates: &mut Vec<Wire<'p>>, seq: Option<Seq>) -> Result<(), Refusal> {
    if !updates.is_empty() && wire.last().is_none_or(|last| last.role != Role::User) {
        let what = "system update without a preceding user or tool-result turn".to_owned();
        return Err(Refusal::Unsupported { what, seq });
    }
    wire.append(updates);
    Ok(())
}

/// Put results in front of their turns, and check that each call has one (3.2).
fn pair(wire: &mut [Wire<'_>]) -> Result<(), Refusal> {
    let mut pending: HashMap<JsString, Option<Seq>> = HashMap::new();
    for message in wire {
        match message.role {
            Role::System => {}
            Role::Assistant => {
                pending.clear();
                for sent in &message.blocks {
                    if let BlockKind::Call(id) = &sent.block.kind
                        && pending.insert(id.clone(), sent.seq).is_some()
                    {
                        return Err(Refusal::DuplicateCall { seq: sent.seq });
                    }
                }
            }
            Role::User => {
                for sent in &message.blocks {
                    if let BlockKind::Result(id) = &sent.block.kind
                        && pending.remove(id).is_none()
                    {
                        return Err(Refusal::NoMatchingCall { seq: sent.seq });
                    }
                }
                if let Some(seq) = pending.values().min() {
                    return Err(Refusal::Unanswered { seq: *seq, at_end: false });
                }
                message.blocks.sort_by_key(|sent| !matches!(sent.block.kind, BlockKind::Result(_)));
            }
        }
    }
    match pending.values().min() {
        Some(seq) => Err(Refusal::Unanswered { seq: *seq, at_end: true }),
        None => Ok(()),
    }
}

/// The members of section 2, in their order.
fn print(
    call: &Call<'_>,
    wire: &[Wire<'_>],
    history_system: JsString,
    tools: Option<&[project::Declared]>,
    effort: Option<&str>,
    attachments: &dyn Attachments,
    body: &mut MessagesBody,
) -> Result<(), Refusal> {
    let sent = || wire.iter().flat_map(|message| &message.blocks);
    let templates = || sent().map(|sent| &sent.block.json);
    let mut carrier = Carrier::new(attachments, templates());
    if carrier.is_by_file() {
        body.betas.push("files-api-2025-04-14");
    }
    if sent().any(|sent| matches!(sent.block.kind, BlockKind::ToolChange)) {
        body.betas.push("mid-conversation-tool-changes-2026-07-01");
    }
    let out = &mut body.json;
    out.extend_from_slice(b"{\"model\":");
    print_string(out, &call.model);
    out.extend_from_slice(b",\"stream\":true,\"messages\":[");
    for (i, message) in wire.iter().enumerate() {
        out.extend_from_slice(if i > 0 { b",{\"role\":\"" } else { b"{\"role\":\"" });
        out.extend_from_slice(message.role.name().as_bytes());
        out.extend_from_slice(b"\",\"content\":[");
        for (i, sent) in message.blocks.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            print_block(out, &sent.block.json, &mut carrier);
        }
        out.extend_from_slice(b"]}");
    }
    out.extend_from_slice(b"],\"max_tokens\":");
    out.extend_from_slice(call.max_tokens.as_bytes());
    match effort {
        None => out.extend_from_slice(b",\"thinking\":{\"type\":\"disabled\"}"),
        Some(effort) => {
            out.extend_from_slice(b",\"thinking\":{\"type\":\"enabled\"},\"output_config\":{\"effort\":\"");
            out.extend_from_slice(effort.as_bytes());
            out.extend_from_slice(b"\"}");
        }
    }
    print_system(out, call.system.as_ref(), history_system);
    for (name, json) in [("temperature", &call.temperature), ("stop_sequences", &call.stop)] {
        if let Some(json) = json {
            out.extend_from_slice(format!(",\"{name}\":{json}").as_bytes());
        }
    }
    if let Some(tools) = tools {
        out.extend_from_slice(b",\"tools\":[");
        for (i, declared) in tools.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(declared.tool.messages().as_bytes());
            let end: &[u8] = if declared.deferred { b",\"defer_loading\":true}" } else { b"}" };
            out.extend_from_slice(end);
        }
        out.push(b']');
    }
    out.push(b'}');
    carrier.finish()
}

fn print_block(out: &mut Vec<u8>, block: &Template, carrier: &mut Carrier<'_>) {
    block.print(out, |out, image| {
        if let Some(id) = carrier.file_id(image) {
            out.extend_from_slice(b"{\"type\":\"image\",\"source\":{\"type\":\"file\",\"file_id\":");
            print_string(out, &id.into());
            out.extend_from_slice(b"}}");
        } else {
            out.extend_from_slice(b"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":");
            print_string(out, &image.media_type.as_str().into());
            out.extend_from_slice(b",\"data\":\"");
            carrier.print_bytes(out, image);
            out.extend_from_slice(b"\"}}");
        }
    });
}

/// The call's own system prompt and that of the history, a blank line between.
fn print_system(out: &mut Vec<u8>, own: Option<&JsString>, history: JsString) {
    let own = own.filter(|own| !own.is_empty());
    let system = match own {
        Some(own) if history.is_empty() => own.clone(),
        Some(own) => JsString::from_units(own.units().chain("\n\n".encode_utf16()).chain(history.units())),
        None => history,
    };
    if !system.is_empty() {
        out.extend_from_slice(b",\"system\":");
        print_string(out, &system);
    }
}
