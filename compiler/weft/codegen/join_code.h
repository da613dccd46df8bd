// What hash join and groupjoin share: the build side's rows, its table and the search in it.
#pragma once

#include "compiler/weft/codegen/row_layout.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/plan/operator.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft {

class Translator;

class JoinBuild {
 public:
  // `layout` begins with the header of hash rows and will hold the build side's keys and payload. With
  // `track_hits` rows get a byte that remembers whether they had a match.
  JoinBuild(Compilation& c, const Operator& op, const std::vector<HashJoin::Key>& keys, RowLayout& layout,
            bool track_hits)
      : c_(c), op_(op), keys_(keys), layout_(layout), hit_(track_hits ? layout.add_bytes(1, 1) : 0) {}

  // Adds the keys and the payload to the layout.
  void add_fields(const std::vector<const Iu*>& payload);
  // The pipeline that fills the table from `input`, whose consumer calls emit_insert. After this the layout
  // must not grow.
  void generate_build(const char* pipeline, Translator& input, ComponentId task);
  // Consumes a build tuple: a new row without a hit. With `keep_nulls`, also where a key is null and matches
  // nothing. `initialise(row)`, if given, fills what else is not in the layout's fields.
  void emit_insert(bool keep_nulls, const std::function<void(llvm::Value*)>& initialise = {});

  // The row had a match; whether it had one.
  void emit_hit(llvm::Value* row) const;
  llvm::Value* emit_was_hit(llvm::Value* row) const;

  // The bound probe tuple's hash, and whether a key is null that then matches nothing (nullptr: cannot be).
  struct Probe {
    llvm::Value* hash;
    llvm::Value* never;
  };
  Probe emit_probe_hash() const;
  // The first row of the chain that may hold the hash; null if there is none.
  llvm::Value* emit_chain(const Probe& probe) const;
  // Whether the row's keys equal the probe tuple's.
  llvm::Value* emit_matches(llvm::Value* row, llvm::Value* hash) const;
  // From `row` on, the first row for which `matches` holds, or null.
  llvm::Value* emit_search(llvm::Value* row, const std::function<llvm::Value*(llvm::Value*)>& matches) const;
  llvm::Value* emit_next(llvm::Value* row) const;

  // A source over all rows of the table. `reads_hits`: `body` asks each whether it had a match.
  void generate_scan(ComponentId task, bool reads_hits,
                     const std::function<void(llvm::Value* row)>& body) const;

  // Tells the profiler that each row of the probe side looks into the directory, and finds `found` rows of
  // the table at least. `marks`: it writes into those that match.
  void tell_probe(ComponentId task, const v1::Count& found, bool marks) const;

 private:
  void reserve_state();
  // Tells the profiler how rows are appended, and how the table is made of them.
  void tell_insert() const;
  void tell_finish() const;
  // An access to all rows of the table, as far as their number is known, and one to its directory.
  v1::Access all_rows() const;
  v1::Access any_slots(const v1::Count& accesses) const;
  v1::Count row_count() const;
  v1::Count slot_count() const;
  // Makes the table once all rows are there.
  FinishStep finish(ComponentId task) const;

  Compilation& c_;
  const Operator& op_;
  const std::vector<HashJoin::Key>& keys_;
  RowLayout& layout_;
  std::uint32_t hit_;  // offset in the row; 0: not tracked
  std::size_t table_ = 0;
  std::size_t buffer_ = 0;
  ComponentId task_ = 0;
  bool inserts_all_ = true;  // no row of the build side is left out
};

}  // namespace tailor::weft
