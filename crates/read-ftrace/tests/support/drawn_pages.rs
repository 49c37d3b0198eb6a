//! Ring-buffer pages and `trace.dat` files out of a text that a colleague can read.
//!
//! One line per thing in a page; `#` begins a remark:
//!
//! ```text
//! page 1000            # a page whose first record is at 1000
//! page 2000 lost 7     # ... before which 7 events were lost; `lost ?` where the number is not stored
//! +5 number 42         # an event `number` with value 42, 5 after the one before
//! +5 long 42 200       # the same with 200 bytes of tail, so that its length needs a word of its own
//! +5 words hello       # an event with a dynamic text
//! +5 odd 3 4           # an event of type 99, which has no format, with these bytes
//! extend 134217728     # time goes on by so much
//! absolute 5000        # the time now
//! discard 6 8          # an event of 8 bytes that was taken back, 6 after the one before
//! padding              # the rest of the page is empty
//! hex 00ff             # bytes as they are
//! ```

use slowpath_model::CpuId;
use slowpath_read_ftrace::{ByteOrder, EventFormatFile, FolderFiles};
use slowpath_source::NamedBytes;

/// How the drawn machine writes.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub order: ByteOrder,
    /// Bytes of a `long`.
    pub long_size: usize,
    pub page_size: usize,
}

/// A little-endian 64-bit machine with pages of 4096 bytes.
pub const USUAL: Machine = Machine {
    order: ByteOrder::Little,
    long_size: 8,
    page_size: 4096,
};

impl Machine {
    pub fn number(&self, value: u64, size: usize) -> Vec<u8> {
        match self.order {
            ByteOrder::Little => value.to_le_bytes()[..size].to_vec(),
            ByteOrder::Big => value.to_be_bytes()[8 - size..].to_vec(),
        }
    }

    fn header_size(&self) -> usize {
        8 + self.long_size
    }

    pub fn header_page(&self) -> String {
        let (long, header) = (self.long_size, self.header_size());
        let data = self.page_size - header;
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{header};\tsize:{data};\tsigned:0;\n"
        )
    }

    /// The formats of the events that can be drawn.
    pub fn formats(&self) -> Vec<EventFormatFile> {
        let format = |name: &str, id: u16, fields: &str| {
            let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                          \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
                          \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
                          \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
            let text =
                format!("name: {name}\nID: {id}\nformat:\n{common}\n{fields}\nprint fmt: \"\"\n");
            EventFormatFile {
                system: "drawn".into(),
                text,
            }
        };
        vec![
            format(
                "number",
                7,
                "\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n",
            ),
            format(
                "long",
                8,
                "\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:u8 tail[];\toffset:12;\tsize:0;\tsigned:0;\n",
            ),
            format(
                "words",
                9,
                "\tfield:__data_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:u16 pair[2];\toffset:12;\tsize:4;\tsigned:0;\n",
            ),
        ]
    }

    /// A folder with the drawn pages of each processor.
    pub fn folder(&self, cpus: &[&str]) -> FolderFiles {
        let pages = |(cpu, text): (u32, &&str)| {
            (
                CpuId(cpu),
                NamedBytes::new(format!("cpu{cpu}.raw"), self.pages(text)),
            )
        };
        FolderFiles {
            byte_order: self.order,
            header_page: self.header_page(),
            formats: self.formats(),
            cpus: (0..).zip(cpus).map(pages).collect(),
            trace_clock: "[mono]".into(),
            ..FolderFiles::default()
        }
    }

    /// The pages that `text` draws.
    pub fn pages(&self, text: &str) -> Vec<u8> {
        let mut pages: Vec<(Vec<u8>, u64)> = Vec::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |index: usize| {
                words[index]
                    .trim_start_matches('+')
                    .parse::<u64>()
                    .unwrap_or_else(|_| panic!("{line}"))
            };
            let Some(first) = words.first() else {
                continue;
            };
            if *first == "page" {
                let mut page = self.number(number(1), 8);
                page.resize(self.header_size(), 0);
                let lost = match words.get(3) {
                    None => u64::MAX,
                    Some(&"?") => 0,
                    Some(count) => count.parse().expect("a count"),
                };
                pages.push((page, lost));
                continue;
            }
            let page = &mut pages.last_mut().expect("a page").0;
            match *first {
                "extend" => page.extend(self.timed_word(30, number(1))),
                "absolute" => page.extend(self.timed_word(31, number(1))),
                "discard" => {
                    page.extend(self.record_word(29, number(1)));
                    page.extend(self.number(number(2), 4));
                    page.extend(vec![0xee; number(2) as usize - 4]);
                }
                "padding" => page.extend(self.record_word(29, 0)),
                "hex" => page.extend(
                    (0..words[1].len())
                        .step_by(2)
                        .map(|at| u8::from_str_radix(&words[1][at..at + 2], 16).expect("hex")),
                ),
                _ => {
                    let body = self.body(&words[1..]);
                    if body.len() <= 112 {
                        page.extend(self.record_word(body.len() as u64 / 4, number(0)));
                    } else {
                        page.extend(self.record_word(0, number(0)));
                        page.extend(self.number(body.len() as u64 + 4, 4));
                    }
                    page.extend(body);
                }
            }
        }
        pages
            .into_iter()
            .flat_map(|(page, lost)| self.finish_page(page, lost))
            .collect()
    }

    fn finish_page(&self, mut page: Vec<u8>, lost: u64) -> Vec<u8> {
        let committed = (page.len() - self.header_size()) as u64;
        let flags: u64 = match lost {
            u64::MAX => 0,
            0 => 1 << 31,
            _ => 3 << 30,
        };
        // The kernel's flag has the sign of an int, which fills the upper half of a long.
        let signed = if flags & (1 << 31) != 0 {
            u64::MAX << 32
        } else {
            0
        };
        page.splice(
            8..8 + self.long_size,
            self.number(committed | flags | signed, self.long_size),
        );
        if flags == 3 << 30 {
            page.extend(self.number(lost, self.long_size));
        }
        assert!(
            page.len() <= self.page_size,
            "a page is too full: {}",
            page.len()
        );
        page.resize(self.page_size, 0);
        page
    }

    fn record_word(&self, kind: u64, delta: u64) -> Vec<u8> {
        assert!(delta < 1 << 27, "{delta} needs an extension");
        let word = match self.order {
            ByteOrder::Little => kind | delta << 5,
            ByteOrder::Big => kind << 27 | delta,
        };
        self.number(word, 4)
    }

    fn timed_word(&self, kind: u64, time: u64) -> Vec<u8> {
        let mut bytes = self.record_word(kind, time & ((1 << 27) - 1));
        bytes.extend(self.number(time >> 27 & 0xffff_ffff, 4));
        bytes
    }

    fn body(&self, words: &[&str]) -> Vec<u8> {
        let number = |index: usize| words[index].parse::<i64>().expect("a number");
        let common = |id: u64| [self.number(id, 2), vec![1, 2], self.number(4711, 4)].concat();
        match words[0] {
            "number" => [common(7), self.number(number(1) as u64, 4)].concat(),
            "long" => [
                common(8),
                self.number(number(1) as u64, 4),
                vec![0xab; number(2) as usize],
            ]
            .concat(),
            "words" => {
                let text = words[1..].join(" ");
                let location = (text.len() as u64 + 1) << 16 | 16;
                let mut body = [
                    common(9),
                    self.number(location, 4),
                    self.number(3, 2),
                    self.number(4, 2),
                    text.into_bytes(),
                    vec![0],
                ]
                .concat();
                body.resize(body.len().next_multiple_of(4), 0);
                body
            }
            "odd" => [
                common(99),
                words[1..]
                    .iter()
                    .map(|byte| byte.parse().expect("a byte"))
                    .collect(),
                vec![0; 4 - (words.len() - 1) % 4],
            ]
            .concat(),
            other => panic!("no event is called {other:?}"),
        }
    }
}

/// A `trace.dat` of version 7 to be written.
pub struct DrawnFile<'text> {
    pub machine: Machine,
    /// Compression as trace-cmd calls it.
    pub compression: &'static str,
    pub clock: &'static str,
    /// Further options: number and data.
    pub options: Vec<(u64, Vec<u8>)>,
    /// Drawn pages by processor.
    pub cpus: Vec<&'text str>,
}

impl DrawnFile<'_> {
    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
        let machine = &self.machine;
        let long = |value: usize| machine.number(value as u64, 8);
        let word = |value: usize| machine.number(value as u64, 4);
        let sized = |text: &str| [long(text.len()), text.as_bytes().to_vec()].concat();
        let mut file = b"\x17\x08\x44tracing7\0".to_vec();
        file.extend([
            u8::from(machine.order == ByteOrder::Big),
            machine.long_size as u8,
        ]);
        file.extend(word(machine.page_size));
        file.extend(format!("{}\0", self.compression).into_bytes());
        file.extend(b"1\0");
        let place_of_options = file.len();
        file.extend(long(0));

        let headers = [
            b"header_page\0".to_vec(),
            sized(&machine.header_page()),
            b"header_event\0".to_vec(),
            sized(""),
        ]
        .concat();
        let formats = machine.formats();
        let texts: Vec<u8> = formats
            .iter()
            .flat_map(|format| sized(&format.text))
            .collect();
        let formats = [word(1), b"drawn\0".to_vec(), word(formats.len()), texts].concat();
        let names = sized("4711 drawn\n");
        let sections = [(16, headers), (18, formats), (21, names)].map(|(id, content)| {
            let at = file.len();
            self.section(&mut file, id, &content);
            (id, long(at))
        });

        let buffer = file.len();
        file.extend(
            [
                machine.number(3, 2),
                machine.number(u64::from(self.is_compressed()), 2),
                word(0),
                long(0),
            ]
            .concat(),
        );
        let mut places = Vec::new();
        for (cpu, pages) in self.cpus.iter().enumerate() {
            let at = file.len();
            let pages = machine.pages(pages);
            if self.is_compressed() {
                let chunks: Vec<_> = pages.chunks(2 * machine.page_size).collect();
                file.extend(word(chunks.len()));
                for chunk in chunks {
                    let compressed = self.compress(chunk);
                    file.extend([word(compressed.len()), word(chunk.len()), compressed].concat());
                }
            } else {
                file.extend(pages);
            }
            // As trace-cmd has it, the size of compressed pages leaves out the word that counts.
            let count_size = if self.is_compressed() { 4 } else { 0 };
            places.extend([word(cpu), long(at), long(file.len() - at - count_size)].concat());
        }
        let buffer_option = [
            long(buffer),
            b"\0".to_vec(),
            b"local\0".to_vec(),
            word(machine.page_size),
            word(self.cpus.len()),
            places,
        ]
        .concat();

        let mut options = sections.to_vec();
        options.push((4, format!("local [{}]\0", self.clock).into_bytes()));
        options.push((5, b"Linux drawn-host 6.1.0 x86_64\0".to_vec()));
        options.extend(self.options.iter().cloned());
        options.push((3, buffer_option));
        options.push((0, long(0)));
        let bytes: Vec<u8> = options
            .iter()
            .flat_map(|(id, data)| {
                [machine.number(*id, 2), word(data.len()), data.clone()].concat()
            })
            .collect();
        let at = file.len();
        file.splice(place_of_options..place_of_options + 8, long(at));
        file.extend(
            [
                machine.number(0, 2),
                machine.number(0, 2),
                word(0),
                long(bytes.len()),
                bytes,
            ]
            .concat(),
        );
        file
    }

    fn section(&self, file: &mut Vec<u8>, id: u64, content: &[u8]) {
        let machine = &self.machine;
        let mut stored = content.to_vec();
        if self.is_compressed() {
            let compressed = self.compress(content);
            stored = [
                machine.number(compressed.len() as u64, 4),
                machine.number(content.len() as u64, 4),
                compressed,
            ]
            .concat();
        }
        file.extend(
            [
                machine.number(id, 2),
                machine.number(u64::from(self.is_compressed()), 2),
                machine.number(0, 4),
                machine.number(stored.len() as u64, 8),
            ]
            .concat(),
        );
        file.extend(stored);
    }

    fn is_compressed(&self) -> bool {
        self.compression != "none"
    }

    fn compress(&self, bytes: &[u8]) -> Vec<u8> {
        use std::io::Read;
        let mut compressed = Vec::new();
        let read = match self.compression {
            "zlib" => flate2::bufread::ZlibEncoder::new(bytes, flate2::Compression::default())
                .read_to_end(&mut compressed),
            "zstd" => zstd::stream::read::Encoder::new(bytes, 3)
                .and_then(|mut encoder| encoder.read_to_end(&mut compressed)),
            _ => return bytes.to_vec(),
        };
        read.expect("compression");
        compressed
    }
}
