// Sets of registers as perf_event numbers them (asm/perf_regs.h), in the form of sample_regs_user.
#pragma once

#include <asm/perf_regs.h>

#include <cstdint>

namespace tailor::capture {

constexpr std::uint64_t register_bit(unsigned perf_register) {
  return std::uint64_t{1} << perf_register;
}

// Where a tag may live.
inline constexpr std::uint64_t kTagRegisters =
    register_bit(PERF_REG_X86_R13) | register_bit(PERF_REG_X86_R15);

// The place of a tag that a BPF program read from the thread's memory slot. The kernel gives no value for
// this register on x86-64, so a record with it is ours.
inline constexpr unsigned kSlotPlace = PERF_REG_X86_FS;
// In the same way, that of the number by which the engine says what the thread waits for.
inline constexpr unsigned kWaitPlace = PERF_REG_X86_GS;
// And those of the frame in which the thread left generated code, and of the address of the upper of two
// pieces of stack: numbers that no register has.
inline constexpr unsigned kAnchorSpPlace = 24, kAnchorIpPlace = 25, kAnchorBpPlace = 26,
                          kUpperStackPlace = 27;
static_assert(PERF_REG_X86_64_MAX <= kAnchorSpPlace && kUpperStackPlace < PERF_REG_X86_XMM0);
inline constexpr std::uint64_t kAnchorPlaces = register_bit(kAnchorSpPlace) | register_bit(kAnchorIpPlace) |
                                               register_bit(kAnchorBpPlace) | register_bit(kUpperStackPlace);

// And those of the state that a BPF program read from the slot of the thread (tailor_thread_state). Where
// there is none, the first is TAILOR_NO_STATE, and the second says why.
inline constexpr unsigned kExecutionPlace = 28, kPlanPlace = 29, kWorkPlace = 30;
inline constexpr std::uint64_t kNoSlot = 1;  // the thread has none
inline constexpr std::uint64_t kSlotUnread = 2;
inline constexpr std::uint64_t kStatePlaces =
    register_bit(kExecutionPlace) | register_bit(kPlanPlace) | register_bit(kWorkPlace);
static_assert(kUpperStackPlace < kExecutionPlace && kWorkPlace < PERF_REG_X86_XMM0);

// And that of how the search for the callers of a sample ended: 1 + a profile::WalkEnd, 0: it was not
// made. The part that unwinds stacks writes it.
inline constexpr unsigned kWalkEndPlace = 31;
static_assert(kWorkPlace < kWalkEndPlace && kWalkEndPlace < PERF_REG_X86_XMM0);

// What events keep of a set of registers: all that the kernel knows but vectors, and the state.
inline constexpr std::uint64_t kKeptPlaces = (register_bit(PERF_REG_X86_64_MAX) - 1) | kStatePlaces;

// The sixteen general ones and the instruction pointer. Segment registers and flags say nothing here, and CS
// or SS would turn large PEBS off.
inline constexpr std::uint64_t kGeneralRegisters =
    (register_bit(PERF_REG_X86_IP + 1) - 1) |
    (register_bit(PERF_REG_X86_R15 + 1) - register_bit(PERF_REG_X86_R8));

}  // namespace tailor::capture
