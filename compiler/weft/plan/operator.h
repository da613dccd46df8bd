// Physical operators: what the optimizer hands to the code generator.
//
// A plan is a tree; `inputs` are its edges. An operator produces the units in `outputs`, exactly those its
// consumer needs: they are what a hash table or sort run has to keep. Everything computed is computed by a
// Map below, so keys and aggregate arguments are units; only predicates are expressions.
//
// Names the stages of a tuple: scan > filter, map, probe ... > build, group, sort (ends a pipeline) > output.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/weft/catalog/catalog.h"
#include "compiler/weft/plan/expression.h"
#include "compiler/weft/plan/iu.h"

namespace tailor::weft {

enum class OperatorKind : std::uint8_t {
  kScan,
  kFilter,
  kMap,
  kHashJoin,
  kGroupBy,
  kGroupJoin,
  kSort,
  kLimit,
  kOutput,
};

class Operator;
using OperatorPtr = std::unique_ptr<Operator>;

class Operator {
 public:
  virtual ~Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  OperatorKind kind() const { return kind_; }

  std::uint32_t id = 0;        // dense from 1 within a plan; the id in the plan dictionary
  double estimated_rows = 0;   // the optimizer's guess
  std::uint64_t max_rows = 0;  // proven upper bound, UINT64_MAX when none is known
  std::vector<OperatorPtr> inputs;
  std::vector<const Iu*> outputs;

 protected:
  explicit Operator(OperatorKind kind) : kind_(kind) {}

 private:
  OperatorKind kind_;
};

// Reads columns of a base table. No inputs. Rows that fail a conjunct are dropped; columns that only
// conjuncts need are read but not in outputs.
class Scan final : public Operator {
 public:
  explicit Scan(const TableInfo* t) : Operator(OperatorKind::kScan), table(t) {}
  struct Column {
    std::uint32_t index;  // into table->columns
    const Iu* iu;
  };
  const TableInfo* table;
  std::string alias;  // the name in the query, empty if it is the table's
  std::vector<Column> columns;
  std::vector<ExprPtr> conjuncts;  // in the order to test: selective and cheap first
};

// Drops rows for which one of the conjuncts is false or null. One input.
class Filter final : public Operator {
 public:
  Filter() : Operator(OperatorKind::kFilter) {}
  std::vector<ExprPtr> conjuncts;
};

// Computes units. One input. A computation may use the units of those before it.
class Map final : public Operator {
 public:
  Map() : Operator(OperatorKind::kMap) {}
  struct Computation {
    const Iu* iu;
    ExprPtr expr;
  };
  std::vector<Computation> computations;
};

enum class JoinKind : std::uint8_t {
  kInner,   // all pairs that match
  kOuter,   // and every preserved row without a match, with nulls for the other side
  kSemi,    // preserved rows with a match, once
  kAnti,    // preserved rows without a match
  kMark,    // every preserved row, once, with `mark` telling whether it has a match (never null)
  kSingle,  // as kOuter, but a second match is a run-time error ("more than one row ...")
};

enum class JoinSide : std::uint8_t { kBuild, kProbe };

// A hash join. inputs[0] is built into the hash table, inputs[1] probes it.
//
// The preserved side matters to all kinds but kInner. Preserved probe: decided while probing. Preserved
// build: hits are marked in the hash table, and a scan over it afterwards (a pipeline of its own) yields the
// rows; only kOuter, kSemi and kAnti have it. Rows of the other side appear in no output of kSemi, kAnti and
// kMark. Without keys every pair is a candidate (the build side is then small, often a single row).
class HashJoin final : public Operator {
 public:
  HashJoin() : Operator(OperatorKind::kHashJoin) {}
  struct Key {
    const Iu* build;
    const Iu* probe;          // of the same type and, for decimals, scale; widths may differ
    bool null_equal = false;  // null matches null; otherwise null matches nothing
  };
  const Operator& build() const { return *inputs[0]; }
  const Operator& probe() const { return *inputs[1]; }

  JoinKind join = JoinKind::kInner;
  JoinSide preserved = JoinSide::kProbe;
  std::vector<Key> keys;
  std::vector<ExprPtr> residual;  // further conjuncts over both sides: a pair matches if all are true
  bool build_unique = false;      // proven: at most one build row per key, so a probe may stop at the first
  const Iu* mark = nullptr;       // kMark: a bool
};

enum class AggregateFunction : std::uint8_t {
  kCountRows,  // count(*): int64, never null
  kCount,      // count(x): rows where x is not null
  kSum,        // null without a row that is not null; a decimal or int64 whose range covers max_rows
  kMin,
  kMax,
  kAny,  // the value of any row, for columns that depend on the keys; result and argument are one unit
};

// avg(x) is planned as sum and count with a division above, count(distinct x) as a grouping of a grouping.
struct Aggregate {
  AggregateFunction function = AggregateFunction::kCountRows;
  const Iu* argument = nullptr;  // null for kCountRows
  const Iu* result = nullptr;
};

// Hash aggregation. One input. Nulls are equal as keys. Without keys there is one group, also of no rows.
// Without aggregates it is "distinct". The key units themselves are in the output.
class GroupBy final : public Operator {
 public:
  GroupBy() : Operator(OperatorKind::kGroupBy) {}
  std::vector<const Iu*> keys;
  std::vector<Aggregate> aggregates;
};

// Join and aggregation in one hash table (Moerkotte, Neumann: "Accelerating queries with group-by and join by
// groupjoin", VLDB 2011). inputs[0] is built, and no two of its rows have the same key; inputs[1] probes, and
// matches are aggregated in the build row. Then the hash table is scanned: outputs are build units, which
// may include keys, and aggregate results.
class GroupJoin final : public Operator {
 public:
  GroupJoin() : Operator(OperatorKind::kGroupJoin) {}
  std::vector<HashJoin::Key> keys;
  std::vector<Aggregate> aggregates;  // arguments are units of the probe side
  bool outer = false;  // also build rows without a match: their counts are 0, other aggregates null
};

// Sorts, or with a limit keeps the first `limit` rows (top-k). One input.
class Sort final : public Operator {
 public:
  Sort() : Operator(OperatorKind::kSort) {}
  struct Key {
    const Iu* iu;
    bool descending = false;
    bool nulls_first = false;
  };
  std::vector<Key> keys;
  std::optional<std::uint64_t> limit;
};

// Passes the first rows that arrive, which need not be the same in every run. One input.
class Limit final : public Operator {
 public:
  Limit() : Operator(OperatorKind::kLimit) {}
  std::uint64_t limit = 0;
};

// The root: rows for the client, columns in this order (outputs holds the units, possibly repeated).
class Output final : public Operator {
 public:
  Output() : Operator(OperatorKind::kOutput) {}
  std::vector<std::string> names;
};

template <typename T>
const T& as(const Operator& op) {
  return static_cast<const T&>(op);
}
template <typename T>
T& as(Operator& op) {
  return static_cast<T&>(op);
}

// A plan owns its units and operators. Immutable once the optimizer has made it.
struct Plan {
  IuPool ius;
  std::unique_ptr<Output> root;
  std::uint32_t operator_count = 0;  // ids are 1 .. operator_count
};

}  // namespace tailor::weft
