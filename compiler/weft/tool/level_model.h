// What both forms of `weft explain --levels` show.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/llvm/disassembler.h"
#include "compiler/tagging/row_table_builder.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft {

struct LinkedInstruction {
  jit::NativeInstruction native;
  tagging::RowFlag flag = tagging::RowFlag::kUnmapped;
  std::vector<ComponentId> ir;  // its owners; empty: frame code, or unknown
};

// Levels: operator, task, ir.
struct LevelModel {
  std::vector<std::string> ir;  // line n is component n; index 0 unused
  std::vector<LinkedInstruction> code;

  // By the id of the lower component.
  std::vector<std::vector<ComponentId>> tasks_of_ir, operators_of_task;

  static Result<LevelModel> make(const v1::Plan& plan, const v1::CodeObject& code);
};

// The description of a component, or nothing.
const v1::Component* described(const v1::Plan& plan, LevelIndex level, ComponentId id);

const char* name_of(tagging::RowFlag flag);

}  // namespace tailor::weft
