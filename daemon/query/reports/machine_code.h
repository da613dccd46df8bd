// The machine code of a plan, instruction by instruction, with what each cost and the lines of the lowest
// level that it descends from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

struct NativeInstruction {
  std::uint32_t offset = 0;        // in its code object
  std::string text;                // as Disassembler::text_at(); "" where nobody could read the code
  std::vector<ComponentId> lines;  // that it descends from, ascending; the first ones of very many
  profile::Quality quality = profile::Quality::kUnmapped;  // of that link
  std::string function;                                    // that begins here; "" elsewhere
  Share95 cost;
};

// One code object.
struct NativeCode {
  ProcessId process;
  CodeId code = 0;
  std::string name, tier;
  std::uint64_t base = 0;
  Share95 cost;       // of all its instructions, and of what is somewhere in it
  Share95 somewhere;  // of samples whose address was not kept
  std::vector<NativeInstruction> instructions;
  bool complete = true;  // false: instructions without samples were left out, there were too many
};

// Of the plan, most expensive first: code objects with samples of that source in the selection. Empty where
// the profile was loaded without LoadOptions::code.
std::vector<NativeCode> machine_code(const Profile& profile, const Selection& selection, std::uint16_t source,
                                     ProcessId process, PlanId plan, const Scale& scale);

}  // namespace tailor::query
