//! Small kernel traces whose packets lie as a test wants them: early, late, empty, there twice.
//!
//! A trace is written as text. `stream NAME CPU` begins a stream, `packet BEGIN..END` a packet that states these times
//! (`lost=N`: so many events were lost in the stream by then; `number=N`: its number, if not the next), and the lines
//! behind it are its events: a time and `7>8` (a switch from one thread to another), `wakes 7`, `>read 3` and `<read 9` (entry with a descriptor, exit with
//! what is returned; `write` likewise) or `tick`. Times are in nanoseconds.

use std::fs;
use std::path::Path;

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := i64;
trace { major = 1; minor = 8; byte_order = le; uuid = "01234567-89ab-cdef-0123-456789abcdef"; packet.header := struct { u32 magic; }; };
env { domain = "kernel"; tracer_name = "lttng-modules"; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
stream {
    packet.context := struct {
        u32 packet_size; time timestamp_begin; time timestamp_end; u64 packet_seq_num; u32 events_discarded; u8 cpu_id;
    };
    event.header := struct { u8 id; time timestamp; };
};
event { name = "sched_switch"; id = 0; fields := struct {
    string prev_comm; i32 prev_tid; i32 prev_prio; i32 prev_state;
    string next_comm; i32 next_tid; i32 next_prio;
}; };
event { name = "sched_waking"; id = 1; fields := struct { string comm; i32 tid; i32 prio; i32 target_cpu; }; };
event { name = "syscall_entry_read"; id = 2; fields := struct { u32 fd; }; };
event { name = "syscall_exit_read"; id = 3; fields := struct { i64 ret; }; };
event { name = "syscall_entry_write"; id = 4; fields := struct { u32 fd; }; };
event { name = "syscall_exit_write"; id = 5; fields := struct { i64 ret; }; };
event { name = "tick"; id = 6; };
"#;
const HEADER_BYTES: usize = 4 + 4 + 8 + 8 + 8 + 4 + 1;

struct Packet {
    begin: u64,
    end: u64,
    number: u64,
    lost: u32,
    cpu: u8,
    content: Vec<u8>,
}

impl Packet {
    fn bytes(&self) -> Vec<u8> {
        let bits = ((HEADER_BYTES + self.content.len()) * 8) as u32;
        [
            &0xC1FC_1FC1_u32.to_le_bytes()[..],
            &bits.to_le_bytes(),
            &self.begin.to_le_bytes(),
            &self.end.to_le_bytes(),
            &self.number.to_le_bytes(),
            &self.lost.to_le_bytes(),
            &[self.cpu],
            &self.content,
        ]
        .concat()
    }
}

fn thread(tid: i32) -> Vec<u8> {
    let name = format!("t{tid}\0");
    [name.as_bytes(), &tid.to_le_bytes(), &20_i32.to_le_bytes()].concat()
}

/// An event's number and fields.
fn event(words: &[&str]) -> Option<(u8, Vec<u8>)> {
    let descriptor = |word: &str| word.parse::<u32>().map(|fd| fd.to_le_bytes().to_vec());
    let value = |word: &str| word.parse::<i64>().map(|ret| ret.to_le_bytes().to_vec());
    Some(match *words {
        ["tick"] => (6, Vec::new()),
        ["wakes", tid] => {
            let on_first = 0_i32.to_le_bytes();
            (1, [&*thread(tid.parse().ok()?), &on_first].concat())
        }
        [">read", fd] => (2, descriptor(fd).ok()?),
        ["<read", ret] => (3, value(ret).ok()?),
        [">write", fd] => (4, descriptor(fd).ok()?),
        ["<write", ret] => (5, value(ret).ok()?),
        [switch] => {
            let (from, to) = switch.split_once('>')?;
            let [from, to] = [from, to].map(|tid| tid.parse().ok().map(thread));
            (0, [&*from?, &1_i32.to_le_bytes(), &to?].concat())
        }
        _ => return None,
    })
}

/// Writes the trace into a folder of its own.
pub fn written(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(text, folder.path());
    folder
}

/// Writes the traces that a session leaves when it is rotated, each into a folder of its own in one.
pub fn rotated(texts: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (text, number) in texts.iter().zip(1..) {
        let part = folder.path().join(number.to_string());
        fs::create_dir(&part).expect("made");
        write(text, &part);
    }
    folder
}

fn write(text: &str, folder: &Path) {
    let mut streams: Vec<(&str, u8, Vec<Packet>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |text: &str| -> u64 { text.parse().unwrap_or_else(|_| panic!("{line}")) };
        match *words {
            ["stream", name, cpu] => streams.push((name, number(cpu) as u8, Vec::new())),
            ["packet", times, ref rest @ ..] => {
                let (begin, end) = times.split_once("..").expect("begin and end");
                let told = |key| {
                    rest.iter()
                        .find_map(|word| word.strip_prefix(key))
                        .map(number)
                };
                let (_, cpu, packets) = streams.last_mut().expect("a stream before its packets");
                let next = packets
                    .last()
                    .map_or(0, |packet: &Packet| packet.number + 1);
                packets.push(Packet {
                    begin: number(begin),
                    end: number(end),
                    number: told("number=").unwrap_or(next),
                    lost: told("lost=").unwrap_or(0) as u32,
                    cpu: *cpu,
                    content: Vec::new(),
                });
            }
            [at, ref what @ ..] => {
                let packet = streams.last_mut().and_then(|stream| stream.2.last_mut());
                let content = &mut packet.expect("a packet before its events").content;
                let (id, fields) = event(what).unwrap_or_else(|| panic!("no event: {line}"));
                content.push(id);
                content.extend(number(at).to_le_bytes());
                content.extend(fields);
            }
            [] => {}
        }
    }
    fs::write(folder.join("metadata"), METADATA).expect("written");
    for (name, _, packets) in &streams {
        let bytes: Vec<u8> = packets.iter().flat_map(Packet::bytes).collect();
        fs::write(folder.join(name), bytes).expect("written");
    }
}
