//! Made-up logs, full of what real ones seldom hold: changes that do not follow, splices that do not fit, odd texts. Payloads
//! have the members that dsh reads, since it stops where one is missing and we do not.

use std::fmt::Write as _;

/// Numbers out of a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `sides`.
    fn below(&mut self, sides: u64) -> u64 {
        // Xorshift, whose high bits are good enough for this.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        let at = self.below(from.len() as u64);
        from[usize::try_from(at).unwrap()]
    }
}

/// A log on its way.
pub(crate) struct Made {
    dice: Dice,
    text: String,
    seq: u64,
    time: i64,
    /// The goal, so that most changes of it follow: revision, phase, rounds, updated.
    goal: Option<(u64, &'static str, u64, u64)>,
    goals: u64,
    /// How many events are inherited.
    pub(crate) cut: u64,
}

const TEXTS: [&str; 16] = [
    "",
    " ",
    "plain",
    "two words",
    "\\u001b[31mred\\u001b[0m",
    "\\u001b]0;t\\u0007x",
    "\\u009dno end",
    "\\u200b\\ufeff\\u0085",
    "\\ud83d",
    "\\ude00 \\ud83d\\ude00",
    "tab\\tand\\nline",
    "\\u3000wide\\u3000",
    "\\u001b\\u001b]a\\u0007[1m",
    "0123456789012345678901234567890123456789012345678\\ud83d\\ude00 tail",
    "a                                                                                                                                                                                                                                                                 b",
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
];

impl Made {
    /// A log of some turns.
    pub(crate) fn new(seed: u64) -> Self {
        let mut made = Made {
            dice: Dice::new(seed),
            text: String::new(),
            seq: 0,
            time: 1000,
            goal: None,
            goals: 0,
            cut: 0,
        };
        let more = made.dice.pick(&["", r#","cwd":"/w""#, r#","agentPreset":"p""#]);
        made.text = format!(
            "{{\"type\":\"session\",\"version\":4,\"id\":\"s\",\"createdAt\":1,\"isSeeded\":true,\"delegationDepth\":0{more}}}\n"
        );
        made.cut = made.dice.below(60);
        let mut turn = 0;
        for _ in 0..2 + made.dice.below(6) {
            made.facts();
            turn += 1 + u64::from(made.dice.one_in(9));
            made.turn(turn);
        }
        made
    }

    /// Header and events, one a line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How many events there are.
    pub(crate) fn events(&self) -> u64 {
        self.seq
    }

    fn event(&mut self, kind: &str, data: &str) {
        self.time += i64::try_from(self.dice.below(50)).unwrap() - 5;
        let op =
            if kind.ends_with("/message") || kind == "tool/result" { r#","surfaceOp":"append""# } else { "" };
        let ignorable = if kind.starts_with("acme/") { r#","ignorable":true"# } else { "" };
        let (seq, time) = (self.seq, self.time);
        writeln!(self.text, r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{op}{ignorable}}}"#)
            .unwrap();
        self.seq += 1;
    }

    fn turn(&mut self, turn: u64) {
        self.event("turn/start", &format!(r#"{{"turn":{turn}}}"#));
        for step in 1..=self.dice.below(4) {
            self.facts();
            let place = format!(r#""turn":{turn},"step":{step}"#);
            self.event("step/start", &format!("{{{place}}}"));
            self.user();
            if self.dice.one_in(2) {
                let effort = self.dice.pick(&["", r#","reasoningEffort":"high""#]);
                let model = self.dice.pick(&["m", "n"]);
                self.event(
                    "request/header",
                    &format!(r#"{{"header":{{"config":{{"provider":"p","model":"{model}"{effort}}}}},"reason":"change"}}"#),
                );
            }
            self.answers(&place);
            self.facts();
            self.event("step/end", &format!("{{{place}}}"));
        }
        let reason = self.dice.pick(&["completed", "interrupted", "error"]);
        self.event("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"{reason}"}}}}"#));
    }

    fn answers(&mut self, place: &str) {
        while self.dice.one_in(3) {
            let stream = self.stream();
            self.event("assistant/attempt", &format!(r#"{{{place},"stream":{stream}}}"#));
            if self.dice.one_in(2) {
                let retry = self.dice.below(3);
                let provider = self.dice.pick(&["p", "q"]);
                self.event(
                    "llm/retry",
                    &format!(r#"{{"retryId":"r{retry}",{place},"provider":"{provider}","policyKey":"[1]","retry":{retry}}}"#),
                );
                self.event(
                    "llm/retry-started",
                    &format!(r#"{{"retryId":"r{retry}",{place},"retry":{retry}}}"#),
                );
            }
        }
        let (stream, text) = (self.stream(), self.dice.pick(&TEXTS));
        let usage = self.usage();
        let usage = if self.dice.one_in(2) { format!(r#","usage":{usage}"#) } else { String::new() };
        let calls = self.dice.below(3);
        let content: Vec<String> = (0..calls)
            .map(|n| format!(r#",{{"type":"tool-call","id":"{n}","name":"bash","arguments":"{{}}"}}"#))
            .collect();
        let content = content.concat();
        self.event(
            "assistant/message",
            &format!(
                r#"{{{place},"message":{{"id":"a","role":"assistant","source":{{"kind":"model"}},"content":[{{"type":"text","text":"{text}"}}{content}]}},"stream":{stream}{usage}}}"#
            ),
        );
        for call in 0..calls {
            self.event(
                "tool/call",
                &format!(r#"{{{place},"callId":"{call}","name":"bash","arguments":"{{}}"}}"#),
            );
        }
        for call in (0..calls).rev() {
            self.event(
                "tool/result",
                &format!(
                    r#"{{{place},"message":{{"id":"t","role":"tool","toolCallId":"{call}","source":{{"kind":"tool","callId":"{call}"}},"content":[]}}}}"#
                ),
            );
        }
    }

    fn usage(&mut self) -> String {
        let cache = self.dice.pick(&[
            "",
            r#","cacheReadTokens":7"#,
            r#","cacheReadTokens":null,"cacheWriteTokens":2"#,
        ]);
        format!(r#"{{"inputTokens":{},"outputTokens":{}{cache}}}"#, self.dice.below(100), self.dice.below(9))
    }

    fn stream(&mut self) -> String {
        let mut records = Vec::new();
        for _ in 0..self.dice.below(4) {
            let time = self.time + i64::try_from(self.dice.below(9)).unwrap();
            let usage = self.usage();
            records.push(match self.dice.below(8) {
                0 => format!(r#"{{"type":"chunk","time":{time},"chunk":{{"type":"usage","usage":{usage}}}}}"#),
                1 => format!(r#"{{"type":"chunk","time":{time},"chunk":{{"type":"block-start","index":0,"blockType":"text"}}}}"#),
                2 => format!(r#"{{"type":"chunk","time":{time},"chunk":{{"type":"tool-call-delta","index":0,"id":"","argumentsDelta":""}}}}"#),
                3 => format!(r#"{{"type":"chunk","time":{time},"chunk":{{"type":"tool-call-delta","index":0,"id":"","name":"","argumentsDelta":""}}}}"#),
                4 => format!(r#"{{"type":"text-chunks","time0":{time},"index":0,"dt":[3,-1],"texts":["","","a"]}}"#),
                5 => format!(r#"{{"type":"reasoning-chunks","time0":{time},"index":0,"dt":[],"texts":[""]}}"#),
                6 => format!(r#"{{"type":"tool-call-chunks","time0":{time},"index":0,"dt":[2],"id":"c","args":["","x"]}}"#),
                _ => format!(r#"{{"type":"tool-call-chunks","time0":{time},"index":0,"dt":[],"id":"c","name":"n","args":[""]}}"#),
            });
        }
        format!("[{}]", records.join(","))
    }

    fn user(&mut self) {
        let blocks: Vec<String> = (0..self.dice.below(4))
            .map(|_| {
                if self.dice.one_in(5) {
                    r#"{"type":"image"}"#.to_owned()
                } else {
                    format!(r#"{{"type":"text","text":"{}"}}"#, self.dice.pick(&TEXTS))
                }
            })
            .collect();
        let source = match self.dice.below(5) {
            0 => r#"{"kind":"schedule"}"#.to_owned(),
            1 => self.round(),
            _ => r#"{"kind":"user"}"#.to_owned(),
        };
        let content = blocks.join(",");
        self.event(
            "user/message",
            &format!(r#"{{"id":"u","role":"user","source":{source},"content":[{content}]}}"#),
        );
    }

    fn round(&mut self) -> String {
        let (revision, _, rounds, _) = self.goal.unwrap_or((1, "active", 0, 0));
        let is_odd = self.dice.one_in(6);
        if let Some(goal) = self.goal.as_mut().filter(|_| !is_odd) {
            goal.2 += 1;
        }
        let round = rounds + if is_odd { self.dice.below(3) } else { 1 };
        format!(r#"{{"kind":"goal","goalId":"g{}","revision":{revision},"round":{round}}}"#, self.goals)
    }

    fn facts(&mut self) {
        for _ in 0..self.dice.below(4) {
            match self.dice.below(14) {
                0 | 1 => self.splice(),
                2..=4 => self.goal(),
                5 => {
                    let list = self.dice.pick(&["[]", r#"[{"status":"pending","content":"a","x":1}]"#]);
                    self.event("todo/write", &format!(r#"{{"todos":{list}}}"#));
                }
                6 => {
                    let title = self.dice.pick(&["A", "B \\ud83d"]);
                    self.event(
                        "session/title",
                        &format!(r#"{{"title":"{title}","messageSeqs":[],"source":{{"kind":"user"}}}}"#),
                    );
                }
                7 => self.setting(),
                8 => self.plan(),
                9 | 10 => self.subagent(),
                11 => {
                    let more = self.dice.pick(&["", r#","reasoningEffort":"high""#, r#","extra":1"#]);
                    let model = self.dice.pick(&["m", "n"]);
                    self.event("model/selection", &format!(r#"{{"provider":"p","model":"{model}"{more}}}"#));
                }
                12 => self.event("session/end-seed", "{}"),
                _ => self.event("acme/thing", "null"),
            }
        }
    }

    fn splice(&mut self) {
        let target = self.dice.pick(&["next-turn", "next-step"]);
        // Most splices fit an empty list, or one that holds a message.
        let (start, removed) = match self.dice.below(12) {
            0 => ("1", ""),
            1 => ("0", r#","removedCount":1"#),
            2 => ("0", r#","removedCount":null"#),
            3 => ("-0", ""),
            _ => ("0", ""),
        };
        let inserted = match self.dice.below(3) {
            0 => String::new(),
            _ => format!(r#"{{"id":"m{}","role":"user","content":[]}}"#, self.dice.below(40)),
        };
        self.event(
            "agent/inbox/spliced",
            &format!(r#"{{"target":"{target}","start":{start}{removed},"inserted":[{inserted}]}}"#),
        );
    }

    fn goal(&mut self) {
        let operation = self.dice.pick(&["create", "edit", "pause", "resume", "complete", "block", "clear"]);
        let before = self.goal;
        let (mut revision, phase, mut rounds, updated) = before.unwrap_or((0, "complete", 0, 10));
        let next = match operation {
            "create" => "active",
            "pause" => "paused",
            "resume" => "active",
            "complete" => "complete",
            "block" => "blocked",
            _ => phase,
        };
        let fits = match operation {
            "create" => before.is_none_or(|goal| goal.1 == "complete"),
            "pause" | "block" => phase == "active",
            "resume" => phase != "complete" && rounds < 3,
            "complete" => phase != "complete",
            _ => true,
        } && (operation == "create" || before.is_some());
        // What does not follow freezes the state for good, so it must be rare.
        if !fits && !self.dice.one_in(25) {
            return;
        }
        if operation == "create" {
            (revision, rounds) = (0, 0);
            self.goals += 1;
        }
        revision += 1;
        let id = format!("g{}", self.goals);
        self.goal = (operation != "clear").then_some((revision, next, rounds, updated + 1));
        let updated = updated + 1;
        let mut change = if operation == "clear" {
            format!(
                r#"{{"kind":"goal/change","version":1,"operation":"clear","cleared":{{"id":"{id}","revision":{revision}}},"clearedAt":{updated}}}"#
            )
        } else {
            let blocked =
                if next == "blocked" { r#","blockedReason":{"message":"m","code":"no-way"}"# } else { "" };
            format!(
                r#"{{"kind":"goal/change","version":1,"operation":"{operation}","goal":{{"phase":"{next}","id":"{id}","revision":{revision},"objective":"Do it","maxGoalRounds":3{blocked}}},"roundsStarted":{rounds},"createdAt":10,"updatedAt":{updated}}}"#
            )
        };
        if self.dice.one_in(20) {
            const ODD: [(&str, &str); 14] = [
                ("\"version\":1", "\"version\":{}"),
                ("\"version\":1", "\"version\":null"),
                ("goal/change", "goal/other"),
                ("Do it", "Do it "),
                ("\"createdAt\":10", "\"createdAt\":-0"),
                ("\"createdAt\":10", "\"createdAt\":99999999"),
                ("\"id\":\"g", "\"id\":\"h"),
                ("\"maxGoalRounds\":3", "\"maxGoalRounds\":3.5"),
                ("\"maxGoalRounds\":3", "\"maxGoalRounds\":3,\"more\":1"),
                ("no-way", "no--way"),
                ("\"message\":\"m\"", "\"message\":\"\""),
                ("\"roundsStarted\":", "\"roundsStarted\":1"),
                ("\"phase\":\"", "\"phase\":\"x"),
                ("\"revision\":", "\"revision\":1"),
            ];
            let (from, to) = ODD[usize::try_from(self.dice.below(ODD.len() as u64)).unwrap()];
            change = change.replace(from, to);
        }
        self.event("goal/change", &change);
    }

    fn setting(&mut self) {
        let (kind, data) = match self.dice.below(5) {
            0 => ("permission/preset", r#"{"preset":"auto"}"#),
            1 => ("sandbox/mode", r#"{"mode":"read-only"}"#),
            2 => ("approval/policy", r#"{"policy":"ask"}"#),
            3 => ("working-directory/change", r#"{"cwd":"/x"}"#),
            _ => ("agent-preset/selected", r#"{"agentPreset":"q"}"#),
        };
        self.event(kind, data);
    }

    fn plan(&mut self) {
        match self.dice.below(5) {
            0 => {
                let args =
                    self.dice.pick(&["", r#","args":" off\ufeff""#, r#","args":"""#, r#","args":"on""#]);
                self.event(
                    "command/run",
                    &format!(r#"{{"commandId":"k","name":"plan"{args},"source":{{"kind":"user"}}}}"#),
                );
            }
            1 => self.event(
                "command/run",
                r#"{"commandId":"l","name":"other","args":"off","source":{"kind":"user"}}"#,
            ),
            2 => {
                let (id, kind) = (self.dice.pick(&["k", "l"]), self.dice.pick(&["success", "error"]));
                self.event("command/done", &format!(r#"{{"commandId":"{id}","kind":"{kind}"}}"#));
            }
            3 => self.event("plan/mode", r#"{"active":true}"#),
            _ => self.event("plan/mode", r#"{"active":false}"#),
        }
    }

    fn subagent(&mut self) {
        match self.dice.below(4) {
            0 => {
                let odd = self.dice.one_in(8);
                let mode = self.dice.pick(&["one-shot", "continuable", "unknown", "external"]);
                let version = match mode {
                    "external" => 2,
                    "unknown" => 1,
                    _ => self.dice.below(2),
                };
                let version = version + u64::from(odd);
                let label = if mode == "continuable" || self.dice.one_in(2) { r#""label":"L","# } else { "" };
                let id = self.seq;
                self.event(
                    "subagent/catalog",
                    &format!(r#"{{"mode":"{mode}",{label}"childId":"c{id}","childCreatedAt":5,"version":{version}}}"#),
                );
            }
            1 => self.event(
                "subagent/model-selection-policy",
                r#"{"allowedModels":[{"model":"m","provider":"p"}]}"#,
            ),
            _ => {
                let descriptor = self.dice.pick(&[
                    r#"{"version":3,"mode":"one-shot","provider":"p"}"#,
                    r#"{"version":3,"mode":"one-shot","provider":"p","label":"L"}"#,
                    r#"{"version":3,"mode":"one-shot","provider":"p","persona":"x"}"#,
                    r#"{"label":"L","version":3,"mode":"continuable","provider":"p","toolFilter":{"allow":[]}}"#,
                    r#"{"version":3,"mode":"continuable","provider":"p","label":"L","toolFilter":{}}"#,
                    r#"{"version":3,"mode":"continuable","provider":"p","label":"L","agentModel":null}"#,
                    r#"{"version":2,"mode":"continuable","provider":"p","label":"L"}"#,
                    r#"{"version":"3"}"#,
                    "null",
                ]);
                self.event("subagent/descriptor", descriptor);
            }
        }
    }
}
