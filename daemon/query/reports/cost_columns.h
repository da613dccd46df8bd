// What reports say of a cost: one table, for JSON (docs/report-json.md) and for text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

struct CostColumn {
  enum class Of : std::uint8_t {
    kAll,      // every cost has a value
    kElapsed,  // only costs of elapsed time have one, and not all of them
  };
  // How text shows the value.
  enum class Shown : std::uint8_t {
    kNot,
    kPart,    // as a share of the whole: it is a part of the row's weight
    kNumber,  // with one decimal
  };
  struct Text {
    Shown shown = Shown::kNot;
    std::string_view heading = {};
    std::size_t width = 0;   // of the column
    std::size_t room = 0;    // a terminal of fewer columns has not this one
    bool of_kernel = false;  // not known where no sample was taken in kernel mode
    // Whether chance alone explains the value; then text has "-". Null: that is not asked.
    bool (*by_chance)(const Share95&) = nullptr;
  };

  std::string_view key;  // in JSON
  Of of;
  std::optional<double> (*value)(const Share95&);  // as JSON has it; none: the cost has no such key
  Text text = {};
};

// In the order in which JSON has them. Text shows those first that need the least room. Beside them, it has
// the share with its range, and the samples.
std::span<const CostColumn> cost_columns();

// Where weights are elapsed time: how many threads worked on average while one worked for the row. Nothing
// elsewhere, and of a row without samples.
std::optional<double> threads_of(const Amount& amount);

}  // namespace tailor::query
