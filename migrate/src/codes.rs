//! What the codes of the steps mean, in a few words each: the table of `docs/codes.md`.

/// Code of a refusal, and what is wrong. In the order of codes.
pub const CODES: &[(&str, &str)] = &[
    ("attempt-across-cut", "the parts of one answer lie on both sides of the seed cut"),
    ("block-kind", "a content block of a kind that V3 does not know"),
    ("children-unknown", "nobody looked for the subagents of the session"),
    ("chunk", "malformed part of an answer"),
    ("content-block", "malformed content block"),
    ("defer-loading", "`deferLoading` other than true"),
    ("delivery", "malformed delivery record, or one of another session"),
    ("delivery-owner", "delivery record of another session"),
    ("descriptor-version", "subagent descriptor of an unknown version"),
    ("envelope", "malformed envelope"),
    ("lost-reference", "a reference to an event that V2 does not keep"),
    ("marker-not-at-cut", "the last inherited end-seed marker does not stand at the seed cut"),
    ("marker-without-seed", "inherited end-seed marker in a log that is not seeded"),
    ("message", "malformed message"),
    ("message-id", "the id of a message is taken"),
    ("message-prefix", "malformed `messagePrefix` of a request header"),
    ("message-source", "message without an admissible source"),
    ("message-sources", "`sourceEventSeqs` that are not those of the answer"),
    ("no-steps", "there are no steps from this generation"),
    ("payload", "malformed payload"),
    ("prompt-outside-step", "the system prompt changes while no step is open"),
    ("provenance", "malformed provenance of a message"),
    ("reference", "malformed reference to an event"),
    ("replaced-result", "a replaced result that does not begin at an earlier message"),
    ("retired-event", "event type that was given up"),
    ("retired-header", "request header for a reason that was given up"),
    ("row-gap", "a row without the next seq"),
    ("seed-without-marker", "seeded header, but no inherited end-seed marker"),
    ("source-kind", "message source of an unknown kind"),
    ("steering-message", "malformed steering message"),
    ("stream", "malformed record of a stream"),
    ("subagent-catalog", "malformed child in the catalog"),
    ("surface-before-step", "a message before the first step"),
    ("tool-message", "malformed result"),
    ("turn-in-turn", "a turn begins while another one is open"),
    ("turn-reason", "malformed end of a turn"),
    ("turn-trigger", "malformed start of a turn"),
    ("unknown-event", "event type that the generation does not know"),
    ("unreadable-row", "a row that was made on the way cannot be read again"),
];

/// What is wrong with a log that a step refuses by this code.
pub fn meaning(code: &str) -> Option<&'static str> {
    let at = CODES.binary_search_by_key(&code, |(known, _)| known).ok()?;
    CODES.get(at).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_the_same() {
        let page = include_str!("../../docs/codes.md");
        let (_, steps) = page.split_once("\n## Steps to V4\n").unwrap();
        let rows: Vec<_> = steps
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| `")?.split(" | ");
                let code = cells.next()?.strip_suffix('`')?;
                Some((code, cells.nth(1)?.strip_suffix(" |")?))
            })
            .collect();
        assert_eq!(rows, CODES);
        assert!(rows.iter().all(|(code, text)| meaning(code) == Some(text)), "in the order of codes");
        assert_eq!(meaning("no-such-code"), None);
    }
}
