#include "viewer/cli/doctor_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/query/symbols/symbols.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// A library without symbols takes nothing from operators: only much of it is a problem.
constexpr double kMatters = 0.01, kProblem = 0.25;
constexpr std::size_t kMostFiles = 3;
constexpr std::string_view kCheck = "names";

// Functions that have no name for one reason.
struct Nameless {
  double share = 0;
  std::map<std::string, double> objects;  // share of each
};

using Kind = query::Function::Kind;
using Key = std::pair<Kind, std::string>;  // what code it is, and the reason

std::string_view names_remedy(const Key& key) {
  const auto& [kind, why] = key;
  switch (kind) {
    case Kind::kKernel:
      return "run tailor as root on the machine that recorded, before it is booted again. A recording by "
             "root keeps "
             "these names (docs/cli.md)";
    case Kind::kGenerated:
      return "name the functions of generated code when it is registered (docs/integrate-your-engine.md)";
    case Kind::kUnknown:
      return "let the runtime write a perf map or a jitdump, or register the code (docs/any-process.md)";
    case Kind::kUser:
      break;
  }
  if (why == query::kNoRoom)
    return "build the file with a build id (-Wl,--build-id): a report then knows which file ran, and looks "
           "into it";
  // Behind it may stand why debuginfod does not help.
  const bool stripped = why.starts_with(query::kNoSymbol) || why.starts_with(query::kNoNames);
  if (stripped)
    return "install the debug symbols of the file (a package -dbgsym or debuginfo), or build it without "
           "stripping it. DEBUGINFOD_URLS names servers that reports ask for them";
  return "put the file that ran back to its path, or its debug file with the same build id below "
         "/usr/lib/debug, or name a server that has it in DEBUGINFOD_URLS. A "
         "recording keeps the names of files that it can read (docs/any-process.md)";
}

// "libx.so 20.0 %, libc.so.6 1.0 %, 2 more"
std::string objects_text(const Nameless& nameless) {
  std::vector<std::pair<std::string, double>> rows(nameless.objects.begin(), nameless.objects.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMostFiles; ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", rows[i].first, percent(rows[i].second));
  if (rows.size() > kMostFiles) out += fmt::format(", {} more", rows.size() - kMostFiles);
  return out;
}

}  // namespace

std::vector<Finding> look_at_names(const query::FunctionReport& report) {
  std::map<Key, Nameless> by_reason;
  double all = 0;
  for (const query::FunctionRow& row : report.functions) {
    if (!row.function.name.empty() || row.cost.share <= 0) continue;
    const std::string& object = row.function.object;
    const std::string why = row.function.why.empty() ? "nothing names it" : row.function.why;
    Nameless& nameless = by_reason[{row.function.kind, why}];
    nameless.share += row.cost.share;
    nameless.objects[object.empty() ? "no file" : object] += row.cost.share;
    all += row.cost.share;
  }
  std::vector<std::pair<Key, Nameless>> reasons(by_reason.begin(), by_reason.end());
  std::erase_if(reasons, [](const auto& each) { return each.second.share < kMatters; });
  std::ranges::stable_sort(reasons,
                           [](const auto& a, const auto& b) { return a.second.share > b.second.share; });
  std::vector<Finding> out;
  for (const auto& [key, nameless] : reasons) {
    out.push_back({nameless.share >= kProblem ? Finding::State::kProblem : Finding::State::kNote,
                   std::string(kCheck),
                   fmt::format("{} of the samples are in functions without a name: {} ({})",
                               percent(nameless.share), key.second, objects_text(nameless)),
                   std::string(names_remedy(key))});
  }
  if (out.empty())
    out.push_back({Finding::State::kOk, std::string(kCheck),
                   fmt::format("{} of the samples are in functions without a name", percent(all)), ""});
  return out;
}

}  // namespace tailor::cli
