/* How a detour is made: the first instructions of the function (at least five bytes) are moved to an
 * "island" near the program, which ends with a jump to the rest; the function then begins with a jump to
 * a second piece of the island, which jumps to our hook. Checked before: memory equals the file, nothing
 * jumps into the moved instructions, and the compiler cannot have relied on what the function leaves in
 * registers. See detour.h. */
#define _GNU_SOURCE
#include "detour.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
/* An island: an absolute jump to the hook, then at most 5 moved instructions of 15 bytes (a short branch
 * grows to 6) and the jump back. */
#define ISLAND_BYTES 128ul
#define ISLAND_ORIGINAL 16
#define ISLANDS_BYTES (MOST_DETOURS * ISLAND_BYTES)
#define LONGEST_INSTRUCTION 15

static struct detour *all;
static int all_count;
/* How many bytes of each function were moved. */
static int moved[MOST_DETOURS];
static uint32_t placed;
static ZydisDecoder decoder;

static int decode(const uint8_t *at, const uint8_t *end, ZydisDecodedInstruction *instruction)
{
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, at, end - at, instruction));
}

static int has_relative_target(const ZydisDecodedInstruction *instruction)
{
    return instruction->attributes & ZYDIS_ATTRIB_IS_RELATIVE && instruction->raw.imm[0].is_relative;
}

/* ---- checks ------------------------------------------------------------------------------------ */

static reason check_memory(const struct detour *detour)
{
    uintptr_t first = (uintptr_t)detour->target & ~(PAGE - 1);
    uintptr_t last = ((uintptr_t)detour->target + JUMP_BYTES - 1) & ~(PAGE - 1);
    uint8_t of_file[PAGE];
    for (uintptr_t page = first; page <= last; page += PAGE) {
        size_t size = program_code.end - (uint8_t *)page;
        size = size < PAGE ? size : PAGE;
        reason failed = image_read_file((const uint8_t *)page, of_file, size);
        if (failed)
            return failed;
        if (memcmp((const void *)page, of_file, size))
            return reason_of("the code around %s is not what the program's file says: a debugger or "
                             "another tracer has changed it",
                             detour->function);
    }
    return NULL;
}

/* How far functions are looked at: pieces of code without a jump in between, instructions, calls deep. */
#define MOST_PIECES 256
#define MOST_INSTRUCTIONS 2048
#define CALLS_DEEP 3

/* An entry of the table of library calls is one jump through a pointer (perhaps after endbr64). */
static int is_library_call(const uint8_t *callee)
{
    ZydisDecodedInstruction entry;
    const uint8_t *jump = callee + (!memcmp(callee, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0);
    return decode(jump, program_code.end, &entry) && entry.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
           !has_relative_target(&entry);
}

/* The compiler keeps values in registers over a call where it knows that the callee leaves them alone. It
 * knows nothing, and our hook may use them all, where the callee calls through a pointer or into a
 * library (which is the same), or calls somebody who does. Follows all branches from the first
 * instruction on, until it finds such a call. */
static int calls_the_unknown(const uint8_t *function, int depth)
{
    const uint8_t *pieces[MOST_PIECES] = {function};
    int known = 1, instructions = 0;
    for (int piece = 0; piece < known; piece++) {
        for (const uint8_t *at = pieces[piece]; instructions < MOST_INSTRUCTIONS; instructions++) {
            ZydisDecodedInstruction instruction;
            if (!decode(at, program_code.end, &instruction))
                break;
            at += instruction.length;
            ZydisInstructionCategory category = instruction.meta.category;
            int calls = category == ZYDIS_CATEGORY_CALL, leaves = category == ZYDIS_CATEGORY_UNCOND_BR;
            if (calls && !has_relative_target(&instruction))
                return 1;
            if (has_relative_target(&instruction)) {
                const uint8_t *target = at + instruction.raw.imm[0].value.s;
                int in_code = target >= program_code.begin && target + LONGEST_INSTRUCTION < program_code.end;
                if (in_code && (calls || leaves) && is_library_call(target))
                    return 1;
                if (in_code && calls && depth > 0 && calls_the_unknown(target, depth - 1))
                    return 1;
                int is_new = in_code && !calls && known < MOST_PIECES;
                for (int i = 0; is_new && i < known; i++)
                    is_new = pieces[i] != target;
                if (is_new)
                    pieces[known++] = target;
            }
            if (leaves || category == ZYDIS_CATEGORY_RET)
                break;
        }
    }
    return 0;
}

static reason check_own_branches(const struct detour *detour, size_t size, int moved_bytes)
{
    for (const uint8_t *at = detour->target, *end = at + size; at < end;) {
        ZydisDecodedInstruction instruction;
        if (!decode(at, end, &instruction))
            return reason_of("%s holds an instruction that is not understood", detour->function);
        at += instruction.length;
        if (!has_relative_target(&instruction))
            continue;
        const uint8_t *branch_target = at + instruction.raw.imm[0].value.s;
        if (branch_target > detour->target && branch_target < detour->target + moved_bytes)
            return reason_of("%s jumps back to its own first instructions", detour->function);
    }
    return NULL;
}

/* Looks at every four bytes of the code as if they were the distance of a jump or call. That they are
 * not and yet lead into moved instructions is so improbable that refusing is right. */
static reason check_foreign_branches(void)
{
    static uint8_t piece[65536];
    uintptr_t lowest = UINTPTR_MAX, highest = 0;
    for (int i = 0; i < all_count; i++) {
        uintptr_t target = (uintptr_t)all[i].target;
        lowest = target < lowest ? target : lowest;
        highest = target > highest ? target : highest;
    }
    const uint8_t *at = program_code.begin;
    while (at + 6 < program_code.end) {
        size_t size = program_code.end - at;
        size = size < sizeof piece ? size : sizeof piece;
        reason failed = image_read_file(at, piece, size);
        if (failed)
            return failed;
        for (size_t i = 2; i + 4 <= size; i++) {
            int branches = (piece[i - 1] & 0xfe) == 0xe8 ||
                           (piece[i - 2] == 0x0f && (piece[i - 1] & 0xf0) == 0x80);
            if (!branches)
                continue;
            int32_t distance;
            memcpy(&distance, piece + i, sizeof distance);
            uintptr_t leads_to = (uintptr_t)at + i + 4 + distance;
            if (leads_to <= lowest || leads_to > highest + LONGEST_INSTRUCTION)
                continue;
            for (int k = 0; k < all_count; k++)
                if (leads_to > (uintptr_t)all[k].target && leads_to < (uintptr_t)all[k].target + moved[k])
                    return reason_of("other code jumps into the first instructions of %s", all[k].function);
        }
        at += size - 5;
    }
    return NULL;
}

/* ---- islands ----------------------------------------------------------------------------------- */

static uint8_t *map_islands(uint8_t *wanted, int file)
{
    void *got = mmap(wanted, ISLANDS_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
    if (got == wanted)
        return got;
    if (got != MAP_FAILED)
        munmap(got, ISLANDS_BYTES);
    return NULL;
}

/* Memory that a jump from anywhere in the program reaches: below it, as the heap grows above; for a program
 * at a low fixed address far enough above it that the heap has room. */
static uint8_t *free_memory_nearby(int file)
{
    const uintptr_t megabyte = 1ul << 20, nearest_below = 16, nearest_above = 256, farthest = 1500;
    uint8_t *islands = NULL;
    for (uintptr_t distance = nearest_below; !islands && distance < farthest; distance++)
        if (distance * megabyte < (uintptr_t)program_code.begin)
            islands = map_islands(program_code.begin - distance * megabyte, file);
    for (uintptr_t distance = farthest; !islands && distance > nearest_above; distance--)
        islands = map_islands(program_code.begin + distance * megabyte, file);
    return islands;
}

static int put_distance(uint8_t *at, uintptr_t to, uintptr_t after)
{
    int64_t distance = (int64_t)to - (int64_t)after;
    int32_t in_32_bits = (int32_t)distance;
    memcpy(at, &in_32_bits, sizeof in_32_bits);
    return distance == in_32_bits;
}

/* Writes one instruction so that it does the same at `run` as at `from`; the length, or 0. */
static int move_instruction(const ZydisDecodedInstruction *instruction, const uint8_t *from, uint8_t *write,
                            uintptr_t run)
{
    uintptr_t after = (uintptr_t)from + instruction->length;
    if (has_relative_target(instruction)) {
        uintptr_t target = after + instruction->raw.imm[0].value.s;
        int short_condition =
            instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (instruction->opcode & 0xf0) == 0x70;
        int long_condition =
            instruction->opcode_map == ZYDIS_OPCODE_MAP_0F && (instruction->opcode & 0xf0) == 0x80;
        /* A call would leave a return address in the island; others do not occur. */
        if (!short_condition && !long_condition)
            return 0;
        write[0] = 0x0f;
        write[1] = 0x80 | (instruction->opcode & 0x0f);
        return put_distance(write + 2, target, run + 6) ? 6 : 0;
    }
    memcpy(write, from, instruction->length);
    if (instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM && instruction->raw.modrm.mod == 0 &&
        instruction->raw.modrm.rm == 5 &&
        !put_distance(write + instruction->raw.disp.offset, after + instruction->raw.disp.value,
                      run + instruction->length))
        return 0;
    return instruction->length;
}

static reason build_island(int index, size_t size, uint8_t *write, uint8_t *run)
{
    struct detour *detour = &all[index];
    static const uint8_t jump_to_address_behind[6] = {0xff, 0x25};
    memcpy(write, jump_to_address_behind, sizeof jump_to_address_behind);
    memcpy(write + sizeof jump_to_address_behind, &detour->hook, sizeof detour->hook);

    int out = ISLAND_ORIGINAL;
    moved[index] = 0;
    while (moved[index] < JUMP_BYTES) {
        const uint8_t *from = detour->target + moved[index];
        ZydisDecodedInstruction instruction;
        if ((size_t)moved[index] >= size || !decode(from, detour->target + size, &instruction) ||
            instruction.meta.category == ZYDIS_CATEGORY_RET)
            return reason_of("%s begins in a way that leaves no room for a jump", detour->function);
        int length = move_instruction(&instruction, from, write + out, (uintptr_t)run + out);
        if (!length)
            return reason_of("%s begins with an instruction that cannot be moved", detour->function);
        moved[index] += instruction.length;
        out += length;
    }
    write[out] = 0xe9;
    detour->jump[0] = 0xe9;
    if (!put_distance(write + out + 1, (uintptr_t)detour->target + moved[index], (uintptr_t)run + out + 5) ||
        !put_distance(detour->jump + 1, (uintptr_t)run, (uintptr_t)detour->target + JUMP_BYTES))
        return reason_of("%s lies too far from free memory", detour->function);
    *detour->original = run + ISLAND_ORIGINAL;
    return NULL;
}

static reason build_islands(const size_t *sizes, uint8_t *islands, int file)
{
    for (int i = 0; i < all_count; i++) {
        uint8_t island[ISLAND_BYTES] = {0};
        reason failed = build_island(i, sizes[i], island, islands + i * ISLAND_BYTES);
        failed = failed ? failed : check_own_branches(&all[i], sizes[i], moved[i]);
        if (failed)
            return failed;
        if (pwrite(file, island, sizeof island, i * ISLAND_BYTES) != (ssize_t)sizeof island)
            return reason_of("memory for detours: %s", strerror(errno));
    }
    return check_foreign_branches();
}

/* What the decoder has read of its file is not needed any more: 0.4 MiB, which would come back if it were. */
static int drop_pages_of_decoder(struct dl_phdr_info *library, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(library->dlpi_name, "libZydis"))
        return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
            continue;
        uintptr_t begin = (library->dlpi_addr + segment->p_vaddr) & ~(PAGE - 1);
        madvise((void *)begin, library->dlpi_addr + segment->p_vaddr + segment->p_memsz - begin, MADV_DONTNEED);
    }
    return 1;
}

static reason prepare(struct detour *detours, int count)
{
    size_t sizes[MOST_DETOURS];
    all = detours;
    all_count = count;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (int i = 0; i < count; i++) {
        all[i].target = image_function(all[i].function, &sizes[i]);
        if (!all[i].target)
            return reason_of("the program exports no function %s", all[i].function);
        reason failed = check_memory(&all[i]);
        if (failed)
            return failed;
        if (!calls_the_unknown(all[i].target, CALLS_DEEP))
            return reason_of("%s may leave registers alone that its callers rely on", all[i].function);
    }
    int file = memfd_create("slowpath-redis-islands", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, ISLANDS_BYTES)) {
        reason failed = reason_of("memory for detours: %s", strerror(errno));
        if (file >= 0)
            close(file);
        return failed;
    }
    uint8_t *islands = free_memory_nearby(file);
    reason failed = islands ? build_islands(sizes, islands, file) : "no free memory near the program's code";
    if (failed && islands)
        munmap(islands, ISLANDS_BYTES);
    close(file);
    return failed;
}

reason detours_prepare(struct detour *detours, int count)
{
    reason failed = prepare(detours, count);
    dl_iterate_phdr(drop_pages_of_decoder, NULL);
    return failed;
}

/* ---- placing ------------------------------------------------------------------------------------ */

/* One call of mmap replaces the page: other threads execute the old code or the new, nothing between. */
static reason map_page(uint8_t *page, uint32_t wanted)
{
    size_t size = program_code.end - page;
    size = size < PAGE ? size : PAGE;
    uint8_t changed[PAGE];
    memset(changed, 0, sizeof changed);
    reason failed = image_read_file(page, changed, size);
    if (failed)
        return failed;
    int changes = 0;
    for (int i = 0; i < all_count; i++) {
        if (!(wanted & 1u << i))
            continue;
        for (int k = 0; k < JUMP_BYTES; k++) {
            uint8_t *at = all[i].target + k;
            if (at >= page && at < page + PAGE) {
                changed[at - page] = all[i].jump[k];
                changes = 1;
            }
        }
    }
    int file = program_code.file;
    off_t offset = program_code.offset + (page - program_code.begin);
    if (changes) {
        file = memfd_create("slowpath-redis-code", MFD_CLOEXEC);
        offset = 0;
        if (file < 0 || pwrite(file, changed, PAGE, 0) != (ssize_t)PAGE)
            failed = reason_of("memory for detours: %s", strerror(errno));
    }
    if (!failed && mmap(page, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, offset) != page)
        failed = reason_of("a page of code cannot be mapped: %s", strerror(errno));
    if (changes && file >= 0)
        close(file);
    return failed;
}

/* Of all pages that a detour of `touched` lies on, each once. */
static reason map_pages(uint32_t touched, uint32_t wanted)
{
    uint8_t *done[2 * MOST_DETOURS];
    int count = 0;
    for (int i = 0; i < all_count; i++) {
        for (int k = 0; touched & 1u << i && k < JUMP_BYTES; k += JUMP_BYTES - 1) {
            uint8_t *page = (uint8_t *)((uintptr_t)(all[i].target + k) & ~(PAGE - 1));
            int known = 0;
            for (int n = 0; n < count; n++)
                known |= done[n] == page;
            if (known)
                continue;
            done[count++] = page;
            reason failed = map_page(page, wanted);
            if (failed)
                return failed;
        }
    }
    return NULL;
}

reason detours_place(uint32_t wanted)
{
    if (wanted == placed)
        return NULL;
    reason failed = map_pages(wanted ^ placed, wanted);
    if (failed) {
        /* The file's pages take no new memory, so this does not fail for the same reason. */
        map_pages(wanted | placed, 0);
        wanted = 0;
    }
    placed = wanted;
    return failed;
}
