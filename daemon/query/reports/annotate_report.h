// The lowest level of one plan as text, line by line, with what each line cost and whose it is (the paper's
// Figure 6b). The text is the plan's attachment "ir": line n is component n of the lowest level; lines that
// are no instruction (headings of functions, labels of blocks) have no owner, and the sums of what follows
// stand beside them.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/reports/machine_code.h"
#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

struct AnnotatedLine {
  enum class Kind { kFunction, kBlock, kInstruction, kOther };
  std::uint32_t number = 0;  // from 1: the component's id
  Kind kind = Kind::kOther;
  std::string text;
  Share95 cost;                        // of an instruction; of a block or function the sum of its lines
  std::vector<std::string> operators;  // owners of an instruction
  std::vector<std::string> tasks;      // owners on the level above the lowest, where that is not the top one
  std::vector<std::string> operator_keys, task_keys;  // the same as keys (keys.h)
  // Of a block or function: who the sum belongs to, most expensive first, as Figure 6b has it.
  std::vector<std::pair<std::string, Share95>> by_operator;
  bool hot = false;  // of a block: with 95 % confidence it has a twentieth of the plan's own time, or more
};

struct AnnotateReport {
  PlanReport summary;  // shares here are of its total
  ProcessId process;
  PlanId plan = 0;
  std::string name;
  std::string level;  // the name of the lowest level
  std::vector<AnnotatedLine> lines;
  // Costs of the plan that no line shows: shared code known by its tag (per task), set-up code and the like.
  std::vector<NamedRow> elsewhere;
  std::vector<NativeCode> machine_code;  // where the profile was loaded with LoadOptions::code
};

// Of the selection's most expensive plan, or of `plan` if not 0. Fails if there is none, or if it came
// without text.
Result<AnnotateReport> annotate_report(const Profile& profile, const Selection& selection, PlanId plan);

// What a line of a listing is. Pure.
AnnotatedLine::Kind line_kind(std::string_view text);

}  // namespace tailor::query
