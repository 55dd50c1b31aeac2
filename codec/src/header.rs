//! The first line of a log (`docs/spec/rows.md`, section 2).

use crate::json::{Doc, Js, JsString, print_string};
use crate::types::Generation;

/// Facts that a session is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The format version it is stored in.
    pub version: Generation,
    /// The session's id. The codec admits an empty one, storage does not.
    pub id: JsString,
    /// Creation time, epoch milliseconds.
    pub created_at: u64,
    /// Working directory.
    pub cwd: Option<JsString>,
    /// The session this one was forked from or delegated by.
    pub parent_session: Option<JsString>,
    /// Number of inherited events; V0 and V1 only.
    pub seed_length: Option<u64>,
    /// True when the log begins with events of its parent.
    pub is_seeded: bool,
    /// True for `origin: "subagent"`.
    pub is_subagent: bool,
    /// 0 at the top, one more for each delegation.
    pub delegation_depth: u64,
    /// Name of the agent preset.
    pub agent_preset: Option<JsString>,
}

/// Which `cwd` counts as absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwdRule {
    /// As the official reader on POSIX: it starts with `/`.
    Posix,
    /// POSIX or Windows form: what dshlog reads.
    Any,
}

/// Why a header is not readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// The version is beyond V4; nothing else was looked at.
    Newer(u64),
    /// A rule is broken. `stored` is the version when it is a count.
    Malformed {
        /// The version when it is a count.
        stored: Option<u64>,
        /// Which rule.
        what: String,
    },
    /// A member that only unreleased builds wrote.
    Retired(&'static str),
}

/// Members that refuse the whole listing in the official reader (`docs/spec/storage.md`, 4.3).
const RETIRED: [&str; 2] = ["sandboxMode", "approvalPolicy"];

/// Members of all generations.
const COMMON: [&str; 9] = [
    "type",
    "version",
    "id",
    "createdAt",
    "cwd",
    "parentSession",
    "origin",
    "delegationDepth",
    "agentPreset",
];

impl Header {
    /// Parse a header line, without its line end.
    pub fn parse(line: &str, cwd: CwdRule) -> Result<Header, HeaderFault> {
        let malformed = |what: &str| HeaderFault::Malformed { stored: None, what: what.to_owned() };
        let doc = Doc::parse(line).map_err(|e| malformed(&format!("not JSON: {e}")))?;
        Self::from_value(doc.root(), cwd)
    }

    fn from_value(value: Js<'_>, cwd_rule: CwdRule) -> Result<Header, HeaderFault> {
        let malformed =
            |stored: Option<u64>, what: &str| HeaderFault::Malformed { stored, what: what.to_owned() };
        if !value.is_object() {
            return Err(malformed(None, "not an object"));
        }
        let Some(version) = value.get("version").and_then(Js::as_count) else {
            return Err(malformed(None, "`version` is missing or no count"));
        };
        let fail = |what: &str| Err(malformed(Some(version), what));
        for member in RETIRED {
            if value.get("type").is_some_and(|t| t.is("session")) && value.get(member).is_some() {
                return Err(HeaderFault::Retired(member));
            }
        }
        if version > Generation::CURRENT.0 {
            return Err(HeaderFault::Newer(version));
        }
        if value.has_lossy_number() {
            return fail("a number that JSON cannot keep");
        }
        let old = version < 2;
        let seed = if old { "seedLength" } else { "isSeeded" };
        if let Some((key, _)) =
            value.members().find(|(key, _)| *key != *seed && !COMMON.iter().any(|name| *key == **name))
        {
            return fail(&format!("unknown member `{}`", key.to_lossy().escape_debug()));
        }
        if !value.get("type").is_some_and(|t| t.is("session")) {
            return fail("`type` is not \"session\"");
        }
        let Some(id) = value.get("id").and_then(Js::as_str) else { return fail("`id` is no string") };
        let Some(created_at) = value.get("createdAt").and_then(Js::as_count) else {
            return fail("`createdAt` is no count");
        };
        let Some(delegation_depth) = value.get("delegationDepth").and_then(Js::as_count) else {
            return fail("`delegationDepth` is no count");
        };
        let text = |name: &'static str| match value.get(name) {
            None => Ok(None),
            Some(v) => match v.as_str() {
                Some(s) => Ok(Some(s.to_owned())),
                None => Err(malformed(Some(version), &format!("`{name}` is no string"))),
            },
        };
        let cwd = text("cwd")?;
        if let Some(cwd) = &cwd
            && !is_absolute(&cwd.to_lossy(), cwd_rule)
        {
            return fail("`cwd` is no absolute path");
        }
        let parent_session = text("parentSession")?;
        let agent_preset = text("agentPreset")?;
        let is_subagent = match value.get("origin") {
            None => false,
            Some(origin) if origin.is("subagent") => true,
            Some(_) => return fail("`origin` is not \"subagent\""),
        };
        let (seed_length, is_seeded) = match value.get(seed) {
            None if old => (None, false),
            Some(v) if old => match v.as_count() {
                Some(length) => (Some(length), true),
                None => return fail("`seedLength` is no count"),
            },
            v => match v.and_then(Js::as_bool) {
                Some(seeded) => (None, seeded),
                None => return fail("`isSeeded` is no boolean"),
            },
        };
        Ok(Header {
            version: Generation(version),
            id: id.to_owned(),
            created_at,
            cwd,
            parent_session,
            seed_length,
            is_seeded,
            is_subagent,
            delegation_depth,
            agent_preset,
        })
    }

    /// True when `cwd` is absolute here but not by the rule of the official reader on POSIX.
    pub fn has_windows_cwd(&self) -> bool {
        self.cwd.as_ref().is_some_and(|cwd| !is_absolute(&cwd.to_lossy(), CwdRule::Posix))
    }

    /// The header carried to the current format. The only member that changes is the preset `code`, which V2 -> V3
    /// renames.
    #[must_use]
    pub fn to_current(&self) -> Header {
        let mut header = self.clone();
        if self.version.0 <= 2 && self.agent_preset.as_ref().and_then(JsString::as_str) == Some("code") {
            header.agent_preset = Some("ptc".into());
        }
        header.version = Generation::CURRENT;
        header.seed_length = None;
        header
    }

    /// Append the header line of its version, without line end, in the writers' order of members.
    pub fn print(&self, out: &mut Vec<u8>) {
        let number = |out: &mut Vec<u8>, name: &str, value: u64| {
            out.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
        };
        let text = |out: &mut Vec<u8>, name: &str, value: Option<&JsString>| {
            if let Some(value) = value {
                out.extend_from_slice(format!(",\"{name}\":").as_bytes());
                print_string(out, value);
            }
        };
        out.extend_from_slice(b"{\"type\":\"session\"");
        number(out, "version", self.version.0);
        text(out, "id", Some(&self.id));
        number(out, "createdAt", self.created_at);
        text(out, "cwd", self.cwd.as_ref());
        text(out, "parentSession", self.parent_session.as_ref());
        if self.version.0 < 2 {
            if let Some(length) = self.seed_length {
                number(out, "seedLength", length);
            }
        } else {
            out.extend_from_slice(format!(",\"isSeeded\":{}", self.is_seeded).as_bytes());
        }
        if self.is_subagent {
            out.extend_from_slice(b",\"origin\":\"subagent\"");
        }
        number(out, "delegationDepth", self.delegation_depth);
        text(out, "agentPreset", self.agent_preset.as_ref());
        out.push(b'}');
    }
}

fn is_absolute(cwd: &str, rule: CwdRule) -> bool {
    let bytes = cwd.as_bytes();
    match (rule, bytes) {
        (_, [b'/', ..]) => true,
        (CwdRule::Posix, _) => false,
        (CwdRule::Any, [b'\\', ..]) => true,
        (CwdRule::Any, [drive, b':', b'/' | b'\\', ..]) => drive.is_ascii_alphabetic(),
        (CwdRule::Any, _) => false,
    }
}
