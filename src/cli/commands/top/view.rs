//! Draws the state of `top`.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, TableState};

use super::model::{SortKey, TopModel};
use crate::commands::workspaces::{duration_text, state_text};
use codeyard_server::admin::documents::{ServerDocument, WorkspaceDocument, WorkspaceState};

/// Most rows of the workspace list in a terminal.
const WORKSPACE_ROWS: usize = 12;
/// Rows of the summary, including an empty one.
const SUMMARY_ROWS: u16 = 3;
/// After this many seconds without an answer a warning is shown.
const UNANSWERED_WARNING_S: u64 = 2;

/// Draws what fits into a terminal.
pub(super) fn draw(frame: &mut Frame<'_>, model: &TopModel) {
    let workspaces = rows_of(model.sample.workspaces.workspaces.len().min(WORKSPACE_ROWS) + 2);
    let rows =
        [Constraint::Length(SUMMARY_ROWS), Constraint::Length(workspaces), Constraint::Min(2), Constraint::Length(1)];
    let [head, upper, lower, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(summary(model)), head);
    draw_workspaces(frame, model, upper);
    draw_servers(frame, model, lower);
    frame.render_widget(Paragraph::new(footer(model)).style(Style::new().add_modifier(Modifier::DIM)), foot);
}

/// Draws everything, without the key help, for text output.
pub(super) fn draw_whole(frame: &mut Frame<'_>, model: &TopModel) {
    let workspaces = rows_of(model.sample.workspaces.workspaces.len() + 2);
    let rows = [Constraint::Length(SUMMARY_ROWS), Constraint::Length(workspaces), Constraint::Min(2)];
    let [head, upper, lower] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(summary(model)), head);
    draw_workspaces(frame, model, upper);
    draw_servers(frame, model, lower);
}

/// The rows that [`draw_whole`] needs.
pub(super) fn whole_height(model: &TopModel) -> u16 {
    let rows = model.sample.workspaces.workspaces.len() + 2 + model.sample.servers.servers.len() + 1;
    rows_of(rows).saturating_add(SUMMARY_ROWS)
}

fn rows_of(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// How many of `count` rows are shown in `room` rows, and a text that counts the others.
fn fit_rows(count: usize, room: usize) -> (usize, Option<String>) {
    if count <= room {
        return (count, None);
    }
    let shown = room.saturating_sub(1);
    (shown, Some(format!("and {} more", count - shown)))
}

fn summary(model: &TopModel) -> Vec<Line<'static>> {
    let service = &model.sample.service;
    let draining = if service.draining { "  DRAINING" } else { "" };
    let first = format!(
        "codeyard {}  process {}  up {}  {}{draining}",
        service.version,
        service.pid,
        duration(service.uptime_s),
        service.listen
    );
    let in_flight: usize = model.sample.workspaces.workspaces.iter().map(|one| one.calls_in_flight).sum();
    let servers: u64 = model.sample.servers.servers.iter().filter_map(|server| server.memory_bytes).sum();
    let rates = match (&model.poll_error, &model.rates) {
        (Some(why), _) => return vec![Line::from(first), alarm(format!("{why} (for {} s)", model.unanswered_s))],
        _ if model.unanswered_s >= UNANSWERED_WARNING_S => {
            return vec![Line::from(first), alarm(format!("not answering for {} s", model.unanswered_s))];
        }
        (None, None) => "calls/s -  failed/s -  p50 -  p99 -".to_owned(),
        (None, Some(rates)) => format!(
            "calls/s {:.1}  failed/s {:.1}  p50 {}  p99 {}",
            rates.calls_s,
            rates.failures_s,
            milliseconds(rates.p50_ms),
            milliseconds(rates.p99_ms)
        ),
    };
    let second = format!(
        "{rates}  in flight {in_flight}  calls {}  memory {} + {} MiB",
        model.sample.calls(),
        mebibytes(service.memory_bytes),
        servers >> 20
    );
    vec![Line::from(first).style(Style::new().add_modifier(Modifier::BOLD)), Line::from(second)]
}

fn alarm(text: String) -> Line<'static> {
    Line::from(text).style(Style::new().fg(Color::Red))
}

fn draw_workspaces(frame: &mut Frame<'_>, model: &TopModel, area: Rect) {
    let widths = [
        Constraint::Length(24),
        Constraint::Length(14),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(8),
        Constraint::Length(14),
        Constraint::Fill(1),
    ];
    let all = &model.sample.workspaces.workspaces;
    let (shown, more) = fit_rows(all.len(), usize::from(area.height).saturating_sub(1));
    let rows = all.iter().take(shown).map(workspace_row).chain(more.map(|more| Row::new([more])));
    let head = Row::new(["WORKSPACE", "STATE", "CALLS", "IN FLIGHT", "SERVERS", "RETAINED", "ROOTS"]).style(heading());
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

fn workspace_row(workspace: &WorkspaceDocument) -> Row<'static> {
    let default = if workspace.default { "*" } else { "" };
    let retained = match (workspace.snapshots, workspace.snapshot_bytes) {
        (Some(count), Some(bytes)) => format!("{count}, {} KiB", bytes >> 10),
        _ => "-".to_owned(),
    };
    let row = Row::new([
        format!("{}{default}", workspace.name),
        match &workspace.busy {
            Some(busy) => format!("busy{}", duration_text(busy)),
            None => state_text(workspace.state).to_owned(),
        },
        workspace.calls.map_or("-".to_owned(), |count| count.to_string()),
        workspace.calls_in_flight.to_string(),
        workspace.servers.map_or("-".to_owned(), |count| count.to_string()),
        retained,
        match (&workspace.problem, &workspace.busy) {
            (Some(problem), _) => problem.clone(),
            (None, Some(busy)) => format!("waits for {}; {}", busy.waits_for, workspace.roots.join(", ")),
            (None, None) => workspace.roots.join(", "),
        },
    ]);
    match workspace.state {
        WorkspaceState::Open if workspace.busy.is_some() => row.style(Style::new().fg(Color::Yellow)),
        WorkspaceState::Open => row,
        WorkspaceState::Draining => row.style(Style::new().fg(Color::Yellow)),
        WorkspaceState::Failed | WorkspaceState::NotAnswering => row.style(Style::new().fg(Color::Red)),
    }
}

fn draw_servers(frame: &mut Frame<'_>, model: &TopModel, area: Rect) {
    let widths = [
        Constraint::Length(16),
        Constraint::Length(24),
        Constraint::Length(24),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(15),
        Constraint::Length(8),
        Constraint::Length(5),
        Constraint::Fill(1),
    ];
    let head = ["WORKSPACE", "SERVER", "STATE", "FOR", "MIB", "RESTARTS", "PENDING", "DOCS", "ROOT"];
    let servers = model.servers();
    let (_, more) = fit_rows(servers.len(), usize::from(area.height).saturating_sub(1));
    let below = Constraint::Length(u16::from(more.is_some()));
    let [area, below] = Layout::vertical([Constraint::Min(0), below]).areas(area);
    frame.render_widget(Paragraph::new(more.unwrap_or_default()), below);
    let table = Table::new(servers.into_iter().map(server_row), widths)
        .header(Row::new(head).style(heading()))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(model.selected());
    frame.render_stateful_widget(table, area, &mut state);
}

fn server_row(server: &ServerDocument) -> Row<'static> {
    let (state, since_s) = server.shown_state();
    let detail = server.reason.as_deref().filter(|reason| *reason != state).or(server.progress.as_deref());
    let detail = detail.map(|detail| format!(" {detail}")).unwrap_or_default();
    let row = Row::new([
        server.workspace.clone(),
        server.id.clone(),
        format!("{state}{detail}"),
        duration(since_s),
        match server.memory_limit_bytes {
            Some(limit) => format!("{}/{}", mebibytes(server.memory_bytes), limit >> 20),
            None => mebibytes(server.memory_bytes),
        },
        match &server.last_end {
            Some(end) => format!("{} {}", server.restarts, end.reason),
            None => server.restarts.to_string(),
        },
        server.pending.to_string(),
        server.open_documents.to_string(),
        server.root.clone(),
    ]);
    match state {
        "ready" | "busy" => row.style(Style::new().fg(Color::Green)),
        "down" | "hung" | "quarantined" | "unavailable" => row.style(Style::new().fg(Color::Red)),
        _ => row.style(Style::new().fg(Color::Yellow)),
    }
}

fn footer(model: &TopModel) -> String {
    let sort = match model.sort {
        SortKey::Name => "name",
        SortKey::Memory => "memory",
        SortKey::Restarts => "restarts",
        SortKey::Pending => "pending",
    };
    let keys = format!("q quit  s sort ({sort})  arrows select  r restart");
    if model.message.is_empty() { keys } else { model.message.clone() }
}

fn heading() -> Style {
    Style::new().add_modifier(Modifier::UNDERLINED)
}

fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| (bytes >> 20).to_string())
}

fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") })
}

/// A duration in its two largest units.
fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}
