//! `dshlog serve`.

mod keep;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dshlog_fixture_server::{
    Capture, FixtureServer, Options, Script, ScriptError, ServerError, ServerThread,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::{Format, Serve};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::render::serve as render;
use keep::Folder;

/// How often it is looked whether there is something to tell.
const LOOK: Duration = Duration::from_millis(50);

/// Serve a script until it is played or somebody has enough.
pub(crate) fn run(ctx: &mut Ctx, args: &Serve) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json])?;
    let script = Script::load(&args.script).map_err(|fault| unusable(ctx, args, &fault))?;
    if args.check {
        render::sound(format, &script, ctx.out())?;
        return Ok(Outcome::Clean);
    }
    let mut folder = args.capture.as_deref().map(Folder::new).transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|fault| Failure::failed(format!("cannot wait for an interrupt: {fault}")))?;
    }
    let options = Options {
        listen: SocketAddr::new(args.listen, args.port),
        public: !args.listen.is_loopback(),
        ..Options::default()
    };
    if options.public {
        ctx.warn(format!(
            "{} can be reached from other machines; whoever reaches it is answered",
            args.listen
        ));
    }
    let server = FixtureServer::spawn_with(script, options).map_err(|fault| no_server(ctx, args, &fault))?;
    render::listening(format, &server.url(), ctx.out())?;
    ctx.out().flush()?;
    let mut told = 0;
    while !stop.load(Ordering::Relaxed) {
        tell(ctx, format, &server, &mut told, &mut folder)?;
        if !args.once {
            std::thread::sleep(LOOK);
        } else if server.wait_finished(LOOK) {
            break;
        }
    }
    tell(ctx, format, &server, &mut told, &mut folder)?;
    let verdict = server.stop();
    render::verdict(format, &verdict, ctx.out())?;
    Ok(if verdict.is_good() { Outcome::Clean } else { Outcome::Found })
}

/// Tells and keeps what was asked since the last time.
fn tell(
    ctx: &mut Ctx,
    format: Format,
    server: &ServerThread,
    told: &mut usize,
    folder: &mut Option<Folder>,
) -> Result<(), Failure> {
    let fresh: Vec<Capture> = server.answered_from(*told);
    for capture in &fresh {
        if let Some(folder) = folder {
            folder.keep(capture)?;
        }
        render::request(format, capture, ctx.out())?;
    }
    *told += fresh.len();
    if !fresh.is_empty() {
        ctx.out().flush()?;
    }
    Ok(())
}

/// A script that cannot be used: what it says is the user's to mend, a file that cannot be read is the machine's.
fn unusable(ctx: &mut Ctx, args: &Serve, fault: &ScriptError) -> Failure {
    let hint = "docs/script.md in the repository explains scripts";
    let here = |what: &dyn std::fmt::Display| format!("{}: {what}", shown(&args.script));
    match fault {
        ScriptError::Problems(problems) => {
            let (last, others) = match problems.split_last() {
                Some((last, others)) => (last.to_string(), others),
                None => (fault.to_string(), &[][..]),
            };
            others.iter().for_each(|problem| ctx.error(here(problem)));
            Failure::usage(here(&last)).hint(hint)
        }
        ScriptError::Read { path, source } => {
            Failure::io("read", path, std::io::Error::new(source.kind(), source.to_string()))
        }
        fault => Failure::usage(here(&chain(fault))).hint(hint),
    }
}

fn no_server(ctx: &mut Ctx, args: &Serve, fault: &ServerError) -> Failure {
    match fault {
        ServerError::Script(fault) => unusable(ctx, args, fault),
        fault => Failure::failed(chain(fault)),
    }
}

/// An error with its causes.
fn chain(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(fault) = cause {
        text.push_str(": ");
        text.push_str(fault.to_string().trim_end());
        cause = fault.source();
    }
    text
}
