//! Where a build of Redis or Valkey keeps what probes tell, read off the code of small functions that do nothing but
//! fetch it: no debug information is needed, no table of versions, and the server is not touched.
//!
//! Of each function that path is followed on which nothing is absent, where pointers are compared with zero. x86-64 alone.

use std::collections::BTreeMap;
use std::path::Path;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};
use object::{Architecture, Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// Instructions of a function that are looked at.
const MOST: usize = 64;

/// Where functions begin in the file, and offsets in what their arguments point to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// `readQueryFromClient(connection)`.
    pub(super) read: u64,
    /// `call(client, …)`.
    pub(super) call: u64,
    /// `writeToClient(client, …)`.
    pub(super) write: u64,
    /// `createClient(connection)`, which returns a client.
    pub(super) create: u64,
    /// `ioThreadReadQueryFromClient(client)` of Valkey, by which its I/O threads read.
    pub(super) read_in_thread: Option<u64>,
    /// `blockClient(client, …)`, where a command that blocked is executed once more when it goes on, as from Redis 7.2 on.
    pub(super) block: Option<u64>,
    /// `unblockClient(client, goes on with what it sent next)`, there as well.
    pub(super) release: Option<u64>,
    /// Where the number of the process is, as it calls itself, counted as places in the file are.
    pub(super) process: Option<u64>,
    /// Of the descriptor in a connection.
    pub(super) descriptor: u64,
    /// Of the client in a connection.
    pub(super) client: u64,
    /// Of the command in a client.
    pub(super) command: u64,
    /// Of the name in a command.
    pub(super) name: u64,
}

impl Layout {
    /// That of the program in this file.
    ///
    /// # Errors
    /// What keeps its functions from being probed, as the end of a sentence.
    pub(super) fn of(program: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(program).map_err(|cause| format!("its program: {cause}"))?;
        Self::of_bytes(&bytes)
    }

    fn of_bytes(bytes: &[u8]) -> Result<Self, String> {
        let file =
            object::File::parse(bytes).map_err(|_| "its program is no ELF file".to_owned())?;
        if file.architecture() != Architecture::X86_64 {
            return Err("probes are possible in 64-bit programs of x86 alone".to_owned());
        }
        Functions::of(&file).layout()
    }
}

/// The functions of a program that have names, and their code.
struct Functions<'file> {
    file: &'file object::File<'file>,
    addresses: BTreeMap<&'file str, u64>,
}

impl<'file> Functions<'file> {
    fn of(file: &'file object::File<'file>) -> Self {
        let symbols = file.dynamic_symbols().chain(file.symbols());
        let functions = symbols.filter(|symbol| {
            symbol.kind() == SymbolKind::Text && !symbol.is_undefined() && symbol.address() > 0
        });
        let named = functions.filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())));
        Self {
            file,
            addresses: named.collect(),
        }
    }

    fn layout(&self) -> Result<Layout, String> {
        let offset = |name: &str| {
            let address = self.addresses.get(name);
            let offset = address.and_then(|address| self.offset_of(*address));
            offset.ok_or_else(|| {
                format!("its program names no function `{name}`: it is no Redis, or was stripped")
            })
        };
        // Who names another process wants to know that first.
        let read = offset("readQueryFromClient")?;
        let unclear = |name: &str| format!("what `{name}` of this build does is not clear");
        let followed = |names: &[&'static str]| {
            let mut there = names
                .iter()
                .filter_map(|name| Some((*name, Follower::new(self, *self.addresses.get(name)?))));
            there
                .next()
                .ok_or_else(|| format!("its program names no function `{}`", names[0]))
        };
        // Redis before 7.2 has a function for it.
        let (fetcher, mut code) = followed(&["connGetPrivateData", "readQueryFromClient"])?;
        let client = code.first_load(8).ok_or_else(|| unclear(fetcher))?;
        let (fetcher, mut code) = followed(&["connBlock"])?;
        let descriptor = code.first_load(4).ok_or_else(|| unclear(fetcher))?;
        // The argument has a client, which has a command, which has a name. Valkey calls it otherwise.
        let (fetcher, mut code) =
            followed(&["VM_GetCurrentCommandName", "RM_GetCurrentCommandName"])?;
        let loads = code.returned().ok_or_else(|| unclear(fetcher))?;
        let &[_, command, name] = &loads[..] else {
            return Err(unclear(fetcher));
        };
        // Where it mostly writes without the function that Redis writes by, there is one below for both ways.
        let write = match fetcher.starts_with("VM_") {
            true => "_writeToClient",
            false => "writeToClient",
        };
        let from_7_2 = !self.addresses.contains_key("connGetPrivateData");
        Ok(Layout {
            read,
            call: offset("call")?,
            write: offset(write)?,
            create: offset("createClient")?,
            read_in_thread: offset("ioThreadReadQueryFromClient").ok(),
            block: from_7_2.then(|| offset("blockClient")).transpose()?,
            release: from_7_2.then(|| offset("unblockClient")).transpose()?,
            process: self.process(),
            descriptor,
            client,
            command,
            name,
        })
    }

    /// `server`, which begins with it, from where the kernel takes the begin of the file to be in memory.
    fn process(&self) -> Option<u64> {
        let mut symbols = self.file.dynamic_symbols().chain(self.file.symbols());
        let server =
            symbols.find(|symbol| symbol.name() == Ok("server") && !symbol.is_undefined())?;
        let of_code = self.segment(*self.addresses.get("call")?)?;
        let (begin, _) = of_code.file_range();
        server
            .address()
            .checked_sub(of_code.address().checked_sub(begin)?)
    }

    /// Where in the file what has this address is.
    fn offset_of(&self, address: u64) -> Option<u64> {
        let segment = self.segment(address)?;
        let (begin, _) = segment.file_range();
        begin.checked_add(address.checked_sub(segment.address())?)
    }

    fn segment(&self, address: u64) -> Option<object::Segment<'file, 'file>> {
        let mut segments = self.file.segments();
        segments.find(|segment| {
            let (_, length) = segment.file_range();
            address
                .checked_sub(segment.address())
                .is_some_and(|into| into < length)
        })
    }

    fn code(&self, address: u64) -> Option<&'file [u8]> {
        let segment = self.segment(address)?;
        segment
            .data()
            .ok()?
            .get((address - segment.address()) as usize..)
    }
}

/// What a value was fetched by: offsets, the first into what the function's argument points to.
type Loads = Vec<u64>;

/// Follows a function's code, and where its values come from.
struct Follower<'run> {
    functions: &'run Functions<'run>,
    at: u64,
    left: usize,
    /// What registers hold that comes from the argument.
    registers: BTreeMap<Register, Loads>,
    /// The same of places in the stack, by their distance to the frame's register: unoptimised code keeps all there.
    stack: BTreeMap<(Register, u64), Loads>,
}

impl<'run> Follower<'run> {
    fn new(functions: &'run Functions<'run>, at: u64) -> Self {
        Self {
            functions,
            at,
            left: MOST,
            registers: BTreeMap::from([(Register::RDI, Loads::new())]),
            stack: BTreeMap::new(),
        }
    }

    /// The offset of the first load of so many bytes from what the argument points to.
    fn first_load(&mut self, bytes: usize) -> Option<u64> {
        while let Some(instruction) = self.next() {
            if let Some(loads) = self.loaded(&instruction)
                && loads.len() == 1
                && instruction.memory_size().size() == bytes
            {
                return loads.first().copied();
            }
            self.step(&instruction)?;
        }
        None
    }

    /// What the function returns was fetched by.
    fn returned(&mut self) -> Option<Loads> {
        while let Some(instruction) = self.next() {
            if instruction.flow_control() == FlowControl::Return {
                return self.registers.remove(&Register::RAX);
            }
            self.step(&instruction)?;
        }
        None
    }

    fn next(&mut self) -> Option<Instruction> {
        self.left = self.left.checked_sub(1)?;
        let code = self.functions.code(self.at)?;
        let mut decoder = Decoder::with_ip(64, code, self.at, DecoderOptions::NONE);
        let instruction = decoder.decode();
        self.at = instruction.next_ip();
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// By which offsets an instruction loads a value from memory, where that follows from the argument.
    fn loaded(&self, instruction: &Instruction) -> Option<Loads> {
        let is_load = instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_kind() == OpKind::Register
            && instruction.op1_kind() == OpKind::Memory;
        let is_plain = instruction.memory_index() == Register::None
            && instruction.segment_prefix() == Register::None;
        let base = self.registers.get(&instruction.memory_base());
        let base = base.filter(|_| is_load && is_plain)?;
        let mut loads = base.clone();
        loads.push(instruction.memory_displacement64());
        Some(loads)
    }

    /// Goes on behind an instruction; `None` where that is not known.
    fn step(&mut self, instruction: &Instruction) -> Option<()> {
        match instruction.flow_control() {
            FlowControl::ConditionalBranch if instruction.mnemonic() == Mnemonic::Jne => {
                self.at = instruction.near_branch_target();
                return Some(());
            }
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            FlowControl::UnconditionalBranch => {
                self.at = instruction.near_branch_target();
                return Some(());
            }
            _ => return None,
        }
        let place = (
            instruction.memory_base(),
            instruction.memory_displacement64(),
        );
        let is_register = |operand: OpKind| operand == OpKind::Register;
        match instruction.code() {
            Code::Mov_rm64_r64 if instruction.op0_kind() == OpKind::Memory => {
                match self.registers.get(&instruction.op1_register()) {
                    Some(loads) => self.stack.insert(place, loads.clone()),
                    None => self.stack.remove(&place),
                };
                return Some(());
            }
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64 => {
                let value = match is_register(instruction.op1_kind()) {
                    true => self.registers.get(&instruction.op1_register()).cloned(),
                    false => (self.stack.get(&place).cloned()).or_else(|| self.loaded(instruction)),
                };
                let into = instruction.op0_register();
                match value {
                    Some(loads) => self.registers.insert(into, loads),
                    None => self.registers.remove(&into),
                };
                return Some(());
            }
            _ => {}
        }
        let only_reads = matches!(
            instruction.mnemonic(),
            Mnemonic::Test | Mnemonic::Cmp | Mnemonic::Push
        );
        if !only_reads && is_register(instruction.op0_kind()) {
            self.registers
                .remove(&instruction.op0_register().full_register());
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Compiles what a Redis has of it.
    fn compiled(folder: &Path, optimised: &str) -> std::path::PathBuf {
        let source = folder.join("redis.c");
        let program = folder.join(format!("redis{optimised}"));
        let text = r#"
            #include <stddef.h>
            struct command { char *declared; char more[40]; char *fullname; };
            struct client { unsigned long id; char more[88]; struct command *cmd; };
            struct connection { char more[24]; struct client *private; char other[8]; int fd; };
            struct context { void *a, *b; struct client *client; };
            int seen;
            __attribute__((noinline)) int anetBlock(void *err, int fd) { seen = fd; return fd + (err != 0); }
            int connBlock(struct connection *conn) { return conn->fd == -1 ? -1 : anetBlock(NULL, conn->fd); }
            char *RM_GetCurrentCommandName(struct context *ctx) {
                if (!ctx || !ctx->client || !ctx->client->cmd) return NULL;
                return ctx->client->cmd->fullname;
            }
            void readQueryFromClient(struct connection *conn) { struct client *c = conn->private; seen = c->id == 7; }
            void call(struct client *c, int flags) { seen = flags + (c == 0); }
            int writeToClient(struct client *c, int more) { seen = more; return c == 0; }
            void blockClient(struct client *c, int why) { seen = why + (c == 0); }
            void unblockClient(struct client *c, int goes_on) { seen = goes_on + (c == 0); }
            void *createClient(struct connection *conn) { return conn->private; }
            int main(void) { return 0; }
        "#;
        std::fs::write(&source, text).expect("written");
        let status = Command::new("cc")
            .args([optimised, "-o"])
            .args([&program, &source])
            .status();
        assert!(status.is_ok_and(|status| status.success()));
        program
    }

    #[test]
    fn offsets_are_read_off_optimised_and_unoptimised_code() {
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        for optimised in ["-O0", "-O1", "-O2", "-O3"] {
            let layout = Layout::of(&compiled(folder.path(), optimised)).expect(optimised);
            let told = [
                layout.client,
                layout.descriptor,
                layout.command,
                layout.name,
            ];
            assert_eq!(told, [24, 40, 96, 48], "{optimised}");
        }
    }

    #[test]
    fn damaged_programs_are_refused_or_read_as_they_are() {
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let whole = std::fs::read(compiled(folder.path(), "-O2")).expect("a program");
        let mut state = 1_u64;
        let mut below = |most: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % most
        };
        for _ in 0..20_000 {
            let mut damaged = whole.clone();
            // Heads and tables are at the begin and the end.
            for _ in 0..=below(4) {
                let place = match below(3) {
                    0 => below(1024),
                    1 => whole.len() - 1 - below(8192.min(whole.len())),
                    _ => below(whole.len()),
                };
                damaged[place] = [0, 0xff, 0x7f, below(256) as u8][below(4)];
            }
            if below(4) == 0 {
                damaged.truncate(below(whole.len()));
            }
            let _ = Layout::of_bytes(&damaged);
        }
    }

    #[test]
    fn other_programs_are_told_from_redis() {
        let refused = Layout::of(Path::new("/bin/sh")).expect_err("no Redis");
        assert!(refused.contains("it is no Redis"), "{refused}");
        let refused = Layout::of(Path::new("/etc/passwd")).expect_err("no program");
        assert!(refused.contains("no ELF file"), "{refused}");
    }
}
