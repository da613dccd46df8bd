// What hash join and groupjoin share: the build side's rows, its table and the search in it.
#pragma once

#include "compiler/weft/codegen/row_layout.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

class JoinBuild {
 public:
  // `layout` begins with the header of hash rows and holds the build side's keys and payload.
  JoinBuild(Compilation& c, ComponentId operator_id, const std::vector<HashJoin::Key>& keys,
            RowLayout& layout)
      : c_(c), operator_id_(operator_id), keys_(keys), layout_(layout) {}

  // Reserves buffers and table. After this the layout must not grow.
  void ReserveState();
  // Consumes a build tuple: a new row. With `keep_nulls`, also where a key is null and matches nothing.
  // `initialise(row)` fills what is not in the layout's fields.
  void EmitInsert(bool keep_nulls, const std::function<void(llvm::Value*)>& initialise) const;
  // Makes the table once all rows are there.
  FinishStep Finish(ComponentId task) const;

  // The bound probe tuple's hash, and whether a key is null that then matches nothing (nullptr: cannot be).
  struct Probe {
    llvm::Value* hash;
    llvm::Value* never;
  };
  Probe EmitProbeHash() const;
  // The first row of the chain that may hold the hash; null if there is none.
  llvm::Value* EmitChain(const Probe& probe) const;
  // Whether the row's keys equal the probe tuple's.
  llvm::Value* EmitMatches(llvm::Value* row, llvm::Value* hash) const;
  // From `row` on, the first row for which `matches` holds, or null.
  llvm::Value* EmitSearch(llvm::Value* row, const std::function<llvm::Value*(llvm::Value*)>& matches) const;
  llvm::Value* EmitNext(llvm::Value* row) const;

  // A source over all rows of the table.
  void GenerateScan(ComponentId task, const std::function<void(llvm::Value* row)>& body) const;

 private:
  Compilation& c_;
  ComponentId operator_id_;
  const std::vector<HashJoin::Key>& keys_;
  RowLayout& layout_;
  std::size_t table_ = 0;
  std::size_t buffer_ = 0;
};

}  // namespace tailor::weft
