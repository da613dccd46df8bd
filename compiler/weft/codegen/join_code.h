// What hash join and groupjoin share: the build side's rows, its table and the search in it.
#pragma once

#include "compiler/weft/codegen/row_layout.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

class Translator;

class JoinBuild {
 public:
  // `layout` begins with the header of hash rows and will hold the build side's keys and payload. With
  // `track_hits` rows get a byte that remembers whether they had a match.
  JoinBuild(Compilation& c, ComponentId operator_id, const std::vector<HashJoin::Key>& keys,
            RowLayout& layout, bool track_hits)
      : c_(c),
        operator_id_(operator_id),
        keys_(keys),
        layout_(layout),
        hit_(track_hits ? layout.AddBytes(1, 1) : 0) {}

  // Adds the keys and the payload to the layout.
  void AddFields(const std::vector<const Iu*>& payload);
  // The pipeline that fills the table from `input`, whose consumer calls EmitInsert. After this the layout
  // must not grow.
  void GenerateBuild(const char* pipeline, Translator& input, ComponentId task);
  // Consumes a build tuple: a new row without a hit. With `keep_nulls`, also where a key is null and matches
  // nothing. `initialise(row)`, if given, fills what else is not in the layout's fields.
  void EmitInsert(bool keep_nulls, const std::function<void(llvm::Value*)>& initialise = {}) const;

  // The row had a match; whether it had one.
  void EmitHit(llvm::Value* row) const;
  llvm::Value* EmitWasHit(llvm::Value* row) const;

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
  void ReserveState();
  // Makes the table once all rows are there.
  FinishStep Finish(ComponentId task) const;

  Compilation& c_;
  ComponentId operator_id_;
  const std::vector<HashJoin::Key>& keys_;
  RowLayout& layout_;
  std::uint32_t hit_;  // offset in the row; 0: not tracked
  std::size_t table_ = 0;
  std::size_t buffer_ = 0;
};

}  // namespace tailor::weft
