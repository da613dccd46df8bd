// A query of weft's, compiled with a tag at every section entry and followed instruction by instruction.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/weft/exec/compiled_query.h"
#include "tests/integration/weft_lineage/ir_flow.h"
#include "tests/support/native_code.h"
#include "tests/support/ptrace_stepper.h"
#include "tests/support/weft_code.h"

namespace tailor::weft {

// A native instruction and what the row table says of it.
struct OwnedInstruction {
  NativeInstruction native;
  std::string function;
  tagging::RowFlag flag = tagging::RowFlag::kUnmapped;
  std::vector<ComponentId> ids;    // IR components
  std::vector<ComponentId> tasks;  // that these belong to
};

// A query that is compiled with a tag at every section entry, and who owns what of it.
struct OwnedQuery {
  // Aborts where it cannot be compiled.
  OwnedQuery(const NamedQuery& named, jit::Jit& jit, jit::OptLevel level);

  std::size_t index_at(std::uint64_t ip) const;  // in code

  std::unique_ptr<CompiledQuery> query;
  std::vector<IrLine> lines;           // lines[id - 1]
  std::vector<OwnedInstruction> code;  // by offset

 private:
  void read_lines();
  void read_code();
};

struct TracedQuery : OwnedQuery {
  // Compiles, then executes in a child process on one worker, in morsels of `rows` tuples, of which each
  // pipeline's first is followed up to `steps` instructions. Aborts where that fails.
  TracedQuery(const NamedQuery& named, jit::Jit& jit, jit::OptLevel level, std::uint64_t rows,
              std::size_t steps);

  // The task that a tag names, 0 for anything that is not a tag of this query.
  ComponentId task_of_tag(std::uint64_t tag) const;

  StepOutcome trace;
};

}  // namespace tailor::weft
