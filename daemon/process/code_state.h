// What attribution keeps of a code object, and the check that it makes sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/process/limits.h"
#include "daemon/process/plan_state.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::process {

// One run of the row table.
struct CodeRow {
  std::uint32_t offset = 0;  // of its first byte in the code
  std::uint32_t link = 0;    // as in Level.links
  v1::RowFlag flag = v1::ROW_UNMAPPED;
};

struct CodeState {
  CodeId id = 0;
  PlanId plan = 0;         // 0: code of the engine that belongs to no plan
  LevelIndex level = 0;    // the plan's lowest
  std::uint64_t base = 0;  // address of the first byte
  std::uint64_t end = 0;   // of the one after the last
  TimeNs loaded = 0;
  TimeNs unloaded = kTimeMax;
  std::uint64_t seen = 0;     // the connection that spoke of it last
  std::vector<CodeRow> rows;  // by offset
  // What finds them; see index_rows(). The code in blocks of 2^block_shift bytes: blocks[n] rows begin before
  // block n, and none has 2 * window rows. Offsets of rows, and 2 * window behind them that no address has.
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint32_t> offsets;
  std::uint32_t window = 0;  // a power of two
  std::uint8_t block_shift = 0;
  std::string machine_code;  // empty where the agent gave none

  bool contains(std::uint64_t address) const { return base <= address && address < end; }
  // Makes the rows found, once `rows` are complete.
  void index_rows();
  // The row of an address inside the code, NULL before the first row.
  const CodeRow* row_at(std::uint64_t address) const {
    if (rows.empty()) return nullptr;
    // The block says which few rows can begin between its first byte and the address. Addresses of samples are
    // as good as random, so no jump depends on them: the search takes as many steps as the fullest block
    // needs, and rows of later blocks that it looks at are never before the address.
    const std::uint64_t offset = address - base;
    const std::uint32_t* next = offsets.data() + blocks[offset >> block_shift];
    for (std::size_t half = window; half > 0; half /= 2) next += half & -std::size_t{next[half - 1] <= offset};
    return next == offsets.data() ? nullptr : &rows[static_cast<std::size_t>(next - offsets.data()) - 1];
  }
  std::size_t bytes() const {
    return sizeof(*this) + rows.capacity() * sizeof(CodeRow) + machine_code.capacity() +
           (blocks.capacity() + offsets.capacity()) * sizeof(std::uint32_t);
  }
};

// Checks range, rows (growing offsets inside the code, known flags) and links (existing components of the
// lowest level of `plan`). `plan` is NULL exactly when code.plan_id() is 0; then there may be no rows. The
// error says what is wrong first. Pure.
Result<CodeState> check_code(const v1::CodeObject& code, const PlanState* plan, const Limits& limits);

}  // namespace tailor::process
