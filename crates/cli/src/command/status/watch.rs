//! `tenure status --watch`: the status again whenever something changed.

use std::time::Duration;

use tenure_core::{Code, Result};

use super::{look, page};
use crate::output::Printer;
use crate::output::window::{Window, WindowEvent};
use crate::session::{Session, StoreUse};
use crate::settings::Settings;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows the status until the reader hangs up or the person has seen enough.
pub(super) fn watch(settings: &Settings<'_>, out: &Printer) -> Result<u8> {
    let mut session = Session::open(settings, out, StoreUse::Follow)?;
    // What cannot be answered is said before the window is taken.
    let mut status = look(&session)?;
    let mut window = if out.is_terminal() && !out.is_json() { Some(Window::take(out)?) } else { None };
    let (mut last, mut reopened) = (String::new(), false);
    loop {
        let shown = match out.is_json() {
            true => serde_json::to_string(&status).unwrap_or_default(),
            false => page(&session, &status),
        };
        match &mut window {
            Some(window) => window.show(&shown),
            None if shown == last => {}
            None if out.is_json() => out.document(&shown),
            None => out.text(&format!("{shown}\n")),
        }
        last = shown;
        if out.is_hung_up() || pause(window.as_ref()) == WindowEvent::Quit {
            return Ok(0);
        }
        // The first write gives the repository a project.
        if session.workspace.project.key.is_none() {
            session = Session::open(settings, out, StoreUse::Follow)?;
        }
        status = match look(&session) {
            // Another process has continued the log of the store: opening it again finds what it wrote.
            Err(error) if !reopened && error.code() == Code::StoreMoved => {
                (session, reopened) = (Session::open(settings, out, StoreUse::Follow)?, true);
                continue;
            }
            other => other?,
        };
        reopened = false;
    }
}

#[expect(clippy::disallowed_methods, reason = "the pause between two looks")]
fn pause(window: Option<&Window<'_>>) -> WindowEvent {
    match window {
        Some(window) => window.wait(PAUSE),
        None => {
            std::thread::sleep(PAUSE);
            WindowEvent::Time
        }
    }
}
