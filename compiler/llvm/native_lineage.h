// What the back end learns about the owners of machine instructions, on its way to the row table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tagging/link_pool.h"
#include "compiler/tagging/row_table_builder.h"

namespace llvm {
class Function;
class MachineInstr;
}  // namespace llvm

namespace tailor::jit {

struct RepairTrial;

struct NativeOwner {
  tagging::Link link;  // sets are those of ModuleLineage::sets
  tagging::RowFlag flag = tagging::RowFlag::kUnmapped;
  bool operator==(const NativeOwner&) const = default;
};

// From `first` on, until the next mark, instructions belong to `owner`.
struct NativeMark {
  const llvm::MachineInstr* first = nullptr;  // gone once its function has been emitted
  NativeOwner owner;
  // Bytes from the base, which is the last mark before it without this number; none of a base.
  std::optional<std::uint32_t> from_base = std::nullopt;
};

// The lineage of one module while it is compiled.
struct ModuleLineage {
  tagging::LinkPool sets;                 // of IR components
  std::vector<NativeMark> marks;          // in the order of emission
  const llvm::Function* first = nullptr;  // of those that are emitted
  std::uint64_t ticks = 0;                // of the time stamp counter, spent on lineage
  RepairTrial* trial = nullptr;           // see CompileOptions
};

}  // namespace tailor::jit
