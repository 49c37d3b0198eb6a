// See access.h. Instructions of x86-64 are read forwards only, so all places from which one would end here are tried, and
// the one counts whose memory operand is the address. Only what has such an operand is decoded, by Intel's opcode maps
// (Software Developer's Manual, volume 2, appendix A); no string instructions.
#include "access.h"

#ifdef __x86_64__

#include <cstring>

#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr int LONGEST = 15;
// As much may a vector instruction touch at a time.
constexpr std::uintptr_t WIDEST = 64;

struct Instruction {
    // The operand's address, by registers as they are now: a load may have changed them, a store has not.
    std::uintptr_t operand;
    bool only_stores;
};

std::uint64_t value_of(const ucontext_t *machine, int number)
{
    static const int REGISTERS[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REGISTERS[number]]);
}

// Bytes behind the operand; -1: it is no instruction with an operand in memory. Map 1 is that of 0F, 2 of 0F 38, 3 of
// 0F 3A.
int immediate(int map, int opcode, int extension, bool is_word)
{
    const int full = is_word ? 2 : 4;
    if (map == 2)
        return 0;
    if (map == 3)
        return 1;
    if (map == 1) {
        const bool without_operand = opcode == 0x05 || opcode == 0x0b || opcode == 0x31 || opcode == 0x77 ||
                                     (opcode >= 0x80 && opcode < 0x90) || (opcode & 0xf7) == 0xa0 ||
                                     (opcode & 0xf7) == 0xa1 || opcode == 0xa2 || opcode == 0xaa ||
                                     (opcode >= 0xc8 && opcode < 0xd0);
        const bool has_byte = (opcode >= 0x70 && opcode < 0x74) || opcode == 0xa4 || opcode == 0xac ||
                              opcode == 0xba || opcode == 0xc2 || (opcode >= 0xc4 && opcode < 0xc7);
        return without_operand ? -1 : has_byte;
    }
    if (opcode < 0x40)
        return (opcode & 7) < 4 ? 0 : -1;
    switch (opcode) {
    case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
        return 1;
    case 0x69: case 0x81: case 0xc7:
        return full;
    case 0xf6:
        return extension < 2 ? 1 : 0;
    case 0xf7:
        return extension < 2 ? full : 0;
    case 0x63: case 0xd0: case 0xd1: case 0xd2: case 0xd3: case 0xfe: case 0xff:
        return 0;
    default:
        return opcode >= 0x84 && opcode < 0x8c ? 0 : -1;
    }
}

// `prefix`: 66, F3, F2 or none, however it is encoded.
bool is_store(int map, int opcode, int prefix)
{
    if (map == 0)
        return opcode == 0x88 || opcode == 0x89 || opcode == 0xc6 || opcode == 0xc7;
    if (map != 1)
        return false;
    switch (opcode) {
    case 0x11: case 0x13: case 0x17: case 0x29: case 0x2b: case 0x7f: case 0xc3: case 0xd6: case 0xe7:
        return true;
    case 0x7e:
        return prefix != 0xf3;
    default:
        return false;
    }
}

// Whether all these bytes are one instruction with an operand in memory, which it describes.
bool decode(const std::uint8_t *code, int length, const ucontext_t *machine, Instruction &decoded)
{
    int at = 0;
    int prefix = 0;
    while (at < length && (code[at] == 0x66 || code[at] == 0xf0 || code[at] == 0xf2 || code[at] == 0xf3))
        prefix = code[at++];
    int map = 0;
    // The fourth bits of index and base.
    int high_index = 0, high_base = 0;
    if (length - at >= 4 && (code[at] == 0xc4 || code[at] == 0x62)) {
        static const int PREFIXES[] = {0, 0x66, 0xf3, 0xf2};
        high_index = ~code[at + 1] >> 3 & 8;
        high_base = ~code[at + 1] >> 2 & 8;
        map = code[at + 1] & 7;
        prefix = PREFIXES[code[at + 2] & 3];
        at += code[at] == 0x62 ? 4 : 3;
    } else if (length - at >= 3 && code[at] == 0xc5) {
        static const int PREFIXES[] = {0, 0x66, 0xf3, 0xf2};
        map = 1;
        prefix = PREFIXES[code[at + 1] & 3];
        at += 2;
    } else {
        if (at < length && (code[at] & 0xf0) == 0x40) {
            high_index = code[at] << 2 & 8;
            high_base = code[at] << 3 & 8;
            at++;
        }
        if (at < length && code[at] == 0x0f) {
            map = 1;
            at++;
            if (at < length && (code[at] == 0x38 || code[at] == 0x3a))
                map = code[at++] == 0x38 ? 2 : 3;
        }
    }
    if (length - at < 2 || map > 3)
        return false;
    const int opcode = code[at++];
    const int form = code[at] >> 6;
    const int place = code[at] & 7;
    const int behind = immediate(map, opcode, code[at] >> 3 & 7, prefix == 0x66);
    at++;
    if (form == 3 || behind < 0)
        return false;
    int base = place | high_base, index = -1, shift = 0;
    if (place == 4) {
        if (at == length)
            return false;
        index = (code[at] >> 3 & 7) | high_index;
        index = index == 4 ? -1 : index;
        shift = code[at] >> 6;
        base = (code[at] & 7) | high_base;
        at++;
    }
    const bool is_without_base = form == 0 && (base & 7) == 5;
    const int bytes = form == 1 ? 1 : form == 2 || is_without_base ? 4 : 0;
    if (at + bytes + behind != length)
        return false;
    std::int32_t distance = 0;
    if (bytes == 1)
        distance = static_cast<std::int8_t>(code[at]);
    else if (bytes == 4)
        memcpy(&distance, code + at, 4);
    decoded.operand = static_cast<std::uintptr_t>(static_cast<std::int64_t>(distance));
    if (!is_without_base)
        decoded.operand += value_of(machine, base);
    else if (place == 5)
        decoded.operand += static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REG_RIP]);
    if (index >= 0)
        decoded.operand += value_of(machine, index) << shift;
    decoded.only_stores = is_store(map, opcode, prefix);
    return true;
}

} // namespace

bool only_stores(const void *context, std::uintptr_t address)
{
    const auto *machine = static_cast<const ucontext_t *>(context);
    const auto end = static_cast<std::uintptr_t>(machine->uc_mcontext.gregs[REG_RIP]);
    std::uint8_t code[LONGEST];
    const iovec to = {code, sizeof code};
    const iovec from = {reinterpret_cast<void *>(end - LONGEST), sizeof code};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != LONGEST)
        return false;
    bool stores = false;
    // The longest counts, as without its prefixes an instruction is one, too.
    for (int length = 2; length <= LONGEST; length++) {
        Instruction decoded;
        if (decode(code + LONGEST - length, length, machine, decoded) && decoded.operand <= address &&
            address < decoded.operand + WIDEST)
            stores = decoded.only_stores;
    }
    return stores;
}

#else

bool only_stores(const void *, std::uintptr_t)
{
    return false;
}

#endif
