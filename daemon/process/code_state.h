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
  std::uint64_t seen = 0;       // the connection that spoke of it last
  std::vector<CodeRow> rows;    // by offset
  std::uint32_t first_row = 0;  // number of what lies before rows[0], which has the next one: see CodeIndex
  // What finds them, see index_rows(): for every 32 bytes of code, in the lower half a bit for each byte at
  // which a row begins, in the upper half how many rows begin before. Empty where rows are few and long.
  std::vector<std::uint64_t> blocks;
  std::string machine_code;  // empty where the agent gave none

  bool contains(std::uint64_t address) const { return base <= address && address < end; }
  // Once `rows` are complete; without it they are searched for.
  void index_rows();
  // How many rows begin at or before an address inside the code: the last of them is its row.
  std::size_t rows_up_to(std::uint64_t address) const {
    const std::uint64_t offset = address - base;
    if (blocks.empty()) return search_rows(offset);
    // No loop and no jump: addresses of samples are as good as random.
    const std::uint64_t block = blocks[offset / kBlock];
    const auto up_to = (std::uint32_t{2} << offset % kBlock) - 1;  // of the highest bit: 0 - 1, all
    return (block >> 32) + ones(static_cast<std::uint32_t>(block) & up_to);
  }
  // The row of an address inside the code, NULL before the first row.
  const CodeRow* row_at(std::uint64_t address) const {
    const std::size_t count = rows_up_to(address);
    return count == 0 ? nullptr : &rows[count - 1];
  }
  std::size_t bytes() const {
    return sizeof(*this) + rows.capacity() * sizeof(CodeRow) + machine_code.capacity() +
           blocks.capacity() * sizeof(std::uint64_t);
  }

 private:
  static constexpr std::uint64_t kBlock = 32;

  // How many bits are set. The instruction for it is not one that every x86-64 has, and std::popcount() is a
  // call without it.
  static std::uint32_t ones(std::uint32_t bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F;
    return bits * 0x01010101 >> 24;
  }
  std::size_t search_rows(std::uint64_t offset) const;
};

// What can be said of a code object without its plan.
struct CheckedCode {
  CodeState state;                    // without plan and level
  std::uint32_t highest_in_sets = 0;  // component that a link set names, 0: none does
};

// Checks range, rows (growing offsets inside the code, known flags) and links, as far as no plan tells how
// many components there are. Code without a plan may have no rows. The error says what is wrong first. Pure,
// and linear in the size of the code.
Result<CheckedCode> check_code(const v1::CodeObject& code, const Limits& limits);

// The rest: all components exist on the lowest level of `plan`, which is NULL exactly when the code has none.
// Pure, and quick beside the other check.
Result<CodeState> fit_code(CheckedCode code, const PlanState* plan);

// Both.
Result<CodeState> check_code(const v1::CodeObject& code, const PlanState* plan, const Limits& limits);

}  // namespace tailor::process
