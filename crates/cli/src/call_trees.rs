//! Requests through services into Redis, as text for people: an overview, and a tree for each.

use slowpath_datastore::{
    CallReport, CalledNode, Execution, JoinRow, Joinable, Level, RequestNode, ServiceRow, StoreRow,
    Whereabouts,
};
use slowpath_model::{Nanoseconds, ProcessId, Timestamp, shown};
use slowpath_views::{address, grouped, number_of};

/// Who was recorded, and how much of what they sent was found again.
pub(crate) fn overview(told: &CallReport) -> String {
    let mut text: String = told.services.iter().map(service).collect();
    text.extend(told.stores.iter().map(store));
    text.extend(told.joins.iter().map(join));
    if told.lost > 0 {
        text += &format!(
            "{} lost by the tracer: what was told there is missing\n",
            number_of(told.lost, "event")
        );
    }
    if told.nameless > 0 {
        text += &format!(
            "{} left out as it is not said which process tells: record with the context vpid\n",
            number_of(told.nameless, "event")
        );
    }
    text
}

fn service(row: &ServiceRow) -> String {
    let ports: Vec<String> = row.ports.iter().map(ToString::to_string).collect();
    let ports = match &ports[..] {
        [] => String::new(),
        ports => format!(", port {}", ports.join(" ")),
    };
    let mixed = match row.mixed {
        true => "; another process has the same number, so that nothing of it can be joined",
        false => "",
    };
    format!(
        "service {}{}: {}{ports}: {} received, {} sent; {} sent{mixed}\n",
        row.service,
        on(row.host.as_deref()),
        process(row.pid),
        number_of(row.received, "request"),
        grouped(row.calls),
        number_of(row.commands, "command"),
    )
}

fn store(row: &StoreRow) -> String {
    let port = match row.port {
        0 => String::new(),
        port => format!(", port {port}"),
    };
    let did = match (row.level, row.joined) {
        (Level::LifeCycle, 0) => {
            "recorded without level lite, or no connection from its begin, so that no command can be joined"
                .to_owned()
        }
        _ => format!(
            "{} executed, {} of them sent by these services",
            number_of(row.commands, "command"),
            grouped(row.joined)
        ),
    };
    format!(
        "Redis server {}{}: {}{port}: {did}\n",
        row.server,
        on(row.host.as_deref()),
        process(row.pid)
    )
}

/// Where something ran, if there are several hosts.
fn on(host: Option<&str>) -> String {
    host.map_or_else(String::new, |host| format!(" on {}", shown(host)))
}

fn process(pid: Option<ProcessId>) -> String {
    pid.map_or_else(
        || "process not recorded".to_owned(),
        |pid| format!("process {pid}"),
    )
}

fn join(row: &JoinRow) -> String {
    let (what, other) = match row.of {
        Joinable::Received => ("requests received", "from outside"),
        Joinable::Calls => ("requests sent", "to what was not recorded"),
        Joinable::Commands => ("commands sent", "to what was not recorded"),
    };
    let mut text = format!(
        "{what}: {} of {} joined, {} {other}",
        grouped(row.joined),
        grouped(row.count),
        grouped(row.outside)
    );
    if row.uncertain > 0 {
        text += &format!(", {} not certain", grouped(row.uncertain));
    }
    if row.without_request > 0 {
        text += &format!(
            "; {} made for no known request",
            grouped(row.without_request)
        );
    }
    text + "\n"
}

/// A request and what it led to; `top` lines at most, all where it is 0.
pub(crate) fn tree(request: &RequestNode, top: usize) -> String {
    let sender =
        (request.sender_service).map_or_else(String::new, |sender| format!("service {sender} at "));
    let mut lines = vec![format!(
        "{}  {} {}{}  service {}{}, from {}{}, at {} (nanoseconds since the epoch)",
        length(request.duration_ns),
        shown(&request.method),
        shown(&request.path),
        status(request.status),
        request.service,
        on(request.host.as_deref()),
        sender,
        address(&request.address, request.port),
        request.begin_ns,
    )];
    add_called(&mut lines, request, request.begin_ns, 1);
    let most = if top == 0 { usize::MAX } else { top };
    let rest = lines.len().saturating_sub(most);
    lines.truncate(most);
    if rest > 0 {
        lines.push(format!(
            "  … and {} more lines (--top 0 prints all)",
            grouped(rest as u64)
        ));
    }
    lines.join("\n") + "\n"
}

fn add_called(lines: &mut Vec<String>, request: &RequestNode, begin_ns: i64, depth: usize) {
    for called in &request.called {
        let (at, took, below) = match called {
            CalledNode::Request {
                begin_ns,
                duration_ns,
                request,
                ..
            } => (*begin_ns, *duration_ns, request.as_deref()),
            CalledNode::Command {
                begin_ns,
                duration_ns,
                ..
            } => (*begin_ns, *duration_ns, None),
        };
        lines.push(format!(
            "{}+{}  {}  {}",
            "  ".repeat(depth),
            since(begin_ns, at),
            length(took),
            call(called)
        ));
        if let Some(below) = below {
            add_called(lines, below, begin_ns, depth + 1);
        }
    }
}

/// What was asked, of whom, and how its time divides.
fn call(called: &CalledNode) -> String {
    match called {
        CalledNode::Request {
            method,
            path,
            status: answer,
            address: host,
            port,
            begin_ns,
            receiver,
            request,
            ..
        } => {
            let what = format!("{} {}{}", shown(method), shown(path), status(*answer));
            let Some(request) = request else {
                return format!("{what}  {}", elsewhere(host, *port, *receiver));
            };
            let served = request.duration_ns.map_or_else(
                || "not answered".to_owned(),
                |served| format!("served for {served}"),
            );
            let until = since(*begin_ns, request.begin_ns);
            format!(
                "{what}  service {}{}: received after {until}, {served}",
                request.service,
                on(request.host.as_deref())
            )
        }
        CalledNode::Command {
            command,
            address: host,
            port,
            receiver,
            execution,
            ..
        } => {
            let what = match &command[..] {
                "" => "redis command",
                command => &format!("redis {}", shown(command)),
            };
            match execution {
                Some(execution) => format!("{what}  {}", parts(execution)),
                None => format!("{what}  {}", elsewhere(host, *port, *receiver)),
            }
        }
    }
}

fn parts(execution: &Execution) -> String {
    let replied = (execution.replied_ns).map_or_else(
        || "no reply seen".to_owned(),
        |replied| format!("replied after {replied}"),
    );
    format!(
        "Redis server {}{}: queued for {}, executed for {}, {replied}",
        execution.server,
        on(execution.host.as_deref()),
        execution.queued_ns,
        execution.executed_ns
    )
}

fn elsewhere(host: &str, port: u16, receiver: Whereabouts) -> String {
    let why = match receiver {
        // Only what lies too deep is joined and not told.
        Whereabouts::Joined => "nested too deeply to be shown",
        Whereabouts::Outside => "not recorded",
        Whereabouts::Uncertain => "recorded, but which one it is there is not certain",
    };
    format!("{} ({why})", address(host, port))
}

fn since(begin_ns: i64, at_ns: i64) -> Nanoseconds {
    Timestamp::from_ns(at_ns).since(Timestamp::from_ns(begin_ns))
}

fn length(length: Option<Nanoseconds>) -> String {
    length.map_or_else(|| "no answer".to_owned(), |length| length.to_string())
}

fn status(status: Option<u16>) -> String {
    status.map_or_else(String::new, |status| format!(" {status}"))
}
