#include "compiler/weft/tool/workflow_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tailor::weft {
namespace {

constexpr std::size_t kMostRowsShown = 20, kMostColumnsShown = 10, kMostIterationsShown = 50;

std::string type_of(const workflow::ContextValues& context) {
  std::string text = workflow::scalar_name(context.scalar);
  if (context.shape.empty()) return text;
  text += fmt::format("[{}", context.shape.front());
  for (std::size_t i = 1; i < context.shape.size(); ++i) text += fmt::format(", {}", context.shape[i]);
  return text + "]";
}

bool is_whole(workflow::Scalar scalar) {
  return scalar == workflow::Scalar::kI64 || scalar == workflow::Scalar::kI32;
}

std::string value_text(const workflow::ContextValues& context, std::size_t index) {
  if (is_whole(context.scalar)) return fmt::format("{}", context.whole(index));
  return fmt::format("{:.10g}", context.real(index));
}

std::string context_text(const workflow::ContextValues& context) {
  std::string out = fmt::format("{} {}", context.name, type_of(context));
  if (context.shape.empty()) return out + fmt::format(" = {}\n", value_text(context, 0));
  const std::size_t rows = context.shape.front();
  const std::size_t columns = context.shape.size() == 2 ? context.shape[1] : 1;
  out += "\n";
  for (std::size_t row = 0; row < std::min(rows, kMostRowsShown); ++row) {
    out += fmt::format("{:>8} ", row);
    for (std::size_t column = 0; column < std::min(columns, kMostColumnsShown); ++column)
      out += fmt::format(" {:>14}", value_text(context, row * columns + column));
    if (columns > kMostColumnsShown) out += fmt::format("  and {} more", columns - kMostColumnsShown);
    out += "\n";
  }
  if (rows > kMostRowsShown)
    out += fmt::format("         and {} more rows (--json has all)\n", rows - kMostRowsShown);
  return out;
}

// Loops in the order in which they first ended an iteration.
std::vector<std::string> loops_of(const workflow::RunOutcome& outcome) {
  std::vector<std::string> loops;
  for (const workflow::IterationCost& each : outcome.iterations)
    if (std::ranges::find(loops, each.loop) == loops.end()) loops.push_back(each.loop);
  return loops;
}

std::string loop_text(const workflow::RunOutcome& outcome, const std::string& loop) {
  std::string out = fmt::format("loop {}\n{:>9} {:>11} {:>11}  watched\n", loop, "iteration", "ms", "CPU ms");
  std::size_t shown = 0, more = 0;
  for (const workflow::IterationCost& each : outcome.iterations) {
    if (each.loop != loop) continue;
    if (shown == kMostIterationsShown) {
      ++more;
      continue;
    }
    ++shown;
    out += fmt::format("{:>9} {:>11.3f} {:>11.3f}", each.number, static_cast<double>(each.wall_ns) / 1e6,
                       static_cast<double>(each.cpu_ns) / 1e6);
    if (each.watched) out += fmt::format("  {:.10g}", *each.watched);
    out += "\n";
  }
  if (more > 0) out += fmt::format("          and {} more (--json has them)\n", more);
  return out;
}

nlohmann::ordered_json values_json(const workflow::ContextValues& context) {
  auto out = nlohmann::ordered_json::array();
  const std::size_t count = context.bytes.size() / workflow::scalar_bytes(context.scalar);
  for (std::size_t i = 0; i < count; ++i) {
    if (is_whole(context.scalar)) {
      out.push_back(context.whole(i));
    } else {
      out.push_back(context.real(i));  // null if it is no number
    }
  }
  return out;
}

}  // namespace

std::string outcome_text(const workflow::RunOutcome& outcome) {
  std::string out;
  for (const workflow::ContextValues& each : outcome.shown) out += context_text(each);
  for (const std::string& loop : loops_of(outcome)) out += "\n" + loop_text(outcome, loop);
  if (outcome.iterations_not_kept > 0)
    out += fmt::format("{} later iterations were not kept\n", outcome.iterations_not_kept);
  return out;
}

std::string outcome_json(const workflow::RunOutcome& outcome, const std::string& name) {
  using Json = nlohmann::ordered_json;
  Json contexts = Json::array(), iterations = Json::array();
  for (const workflow::ContextValues& each : outcome.shown) {
    contexts.push_back({{"name", each.name},
                        {"type", workflow::scalar_name(each.scalar)},
                        {"shape", each.shape},
                        {"values", values_json(each)}});
  }
  for (const workflow::IterationCost& each : outcome.iterations) {
    Json one{
        {"loop", each.loop}, {"number", each.number}, {"wall_ns", each.wall_ns}, {"cpu_ns", each.cpu_ns}};
    if (each.watched) one["watched"] = *each.watched;
    iterations.push_back(std::move(one));
  }
  Json out;
  out["name"] = name;
  out["wall_ns"] = outcome.wall_ns;
  out["cpu_ns"] = outcome.cpu_ns;
  out["peak_memory"] = outcome.peak_memory;
  out["contexts"] = std::move(contexts);
  out["iterations"] = std::move(iterations);
  out["iterations_not_kept"] = outcome.iterations_not_kept;
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tailor::weft
