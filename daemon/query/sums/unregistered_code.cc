#include "daemon/query/sums/unregistered_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tailor::query {
namespace {

using Why = WhyUnregistered;

bool in_unregistered_code(profile::Reason reason) {
  return reason == profile::Reason::kUnregisteredCode;
}

std::map<ProcessId, Cell> costs_by_process(const Profile& profile, const Selection& selection,
                                           std::uint16_t source) {
  std::map<ProcessId, Cell> out;
  for (const auto& [key, cell] : profile.cells()) {
    if (key.how != profile::How::kUnattributed || !in_unregistered_code(key.reason)) continue;
    const auto [process, execution] = profile.led_by(key.process, key.execution);
    if (key.source != source || !selected(selection, process, execution)) continue;
    Cell& sum = out[key.process];
    sum.samples += cell.samples;
    sum.weight += cell.weight;
    sum.weight_squares += cell.weight_squares;
  }
  return out;
}

// Of the samples of a process those at whose address a code object was at some time.
struct AtCode {
  std::uint64_t with = 0, without = 0;
};

std::map<ProcessId, AtCode> look_at_places(const Profile& profile) {
  std::map<ProcessId, AtCode> out;
  for (const auto& [place, sum] : profile.places()) {
    if (!in_unregistered_code(place.reason)) continue;
    const bool had_code = place.address != 0 && profile.timelines().had_code(place.process, place.address);
    AtCode& of = out[place.process];
    (had_code ? of.with : of.without) += sum.samples;
  }
  return out;
}

Why why_of(const Profile& profile, const UnregisteredCode& code, const AtCode& places) {
  if (places.with > places.without) return Why::kOtherTime;
  if (code.without_plan > 0) return Why::kWrongPlan;
  if (code.refused > 0) return Why::kRefused;
  return profile.has_code(code.process) ? Why::kNotThis : Why::kNone;
}

}  // namespace

std::vector<UnregisteredCode> unregistered_code(const Profile& profile, const Selection& selection,
                                                std::uint16_t source) {
  std::vector<UnregisteredCode> out;
  const std::map<ProcessId, Cell> costs = costs_by_process(profile, selection, source);
  if (costs.empty()) return out;
  std::map<ProcessId, AtCode> places = look_at_places(profile);
  for (const auto& [process, cost] : costs) {
    const auto record = profile.processes().find(process);
    const auto account = profile.accounting().find(process);
    UnregisteredCode& code = out.emplace_back();
    code.process = process;
    code.cost = cost;
    if (account != profile.accounting().end()) {
      code.refused = account->second.messages_rejected;
      code.without_plan = account->second.codes_without_plan;
    }
    code.tags = record != profile.processes().end() && record->second.tag_strategy != v1::TAGS_NONE;
    code.why = why_of(profile, code, places[process]);
  }
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.cost.weight > b.cost.weight; });
  return out;
}

std::string_view key_of(WhyUnregistered why) {
  switch (why) {
    case Why::kOtherTime:
      return "other_time";
    case Why::kWrongPlan:
      return "wrong_plan";
    case Why::kRefused:
      return "refused";
    case Why::kNone:
      return "no_code";
    case Why::kNotThis:
      return "not_this_code";
  }
  return "unknown";
}

std::string found_text(const UnregisteredCode& code) {
  const std::string no_tags =
      code.tags ? "" : ", and it keeps no tags, so shared code that it calls has no owner either";
  switch (code.why) {
    case Why::kOtherTime:
      return "its code objects at these addresses are of other times" + no_tags;
    case Why::kWrongPlan:
      return fmt::format("{} code object{} of it {} refused, because the plan was not loaded",
                         code.without_plan, code.without_plan == 1 ? "" : "s",
                         code.without_plan == 1 ? "was" : "were") +
             no_tags;
    case Why::kRefused:
      return fmt::format("{} message{} of its agent {} refused, and its code may be among them", code.refused,
                         code.refused == 1 ? "" : "s", code.refused == 1 ? "was" : "were") +
             no_tags;
    case Why::kNone:
      return "it has registered no code" + no_tags;
    case Why::kNotThis:
      return "it has registered other code, but not this" + no_tags;
  }
  return "";
}

std::string_view remedy_of(WhyUnregistered why) {
  switch (why) {
    case Why::kOtherTime:
      return "load code (tailor_code_load) before it runs first, and unload it after it has run last";
    case Why::kWrongPlan:
      return "load the plan before its code, and give the code object the id of that plan (plan_id)";
    case Why::kRefused:
      return "the recorder said what it refused, and why: `tailor record` prints it, and tailord logs it";
    case Why::kNone:
      return "load each piece of generated code with tailor_code_load; with LLVM, let "
             "EngineLineage make the compiler and listen to the layer that links "
             "(docs/integrate-your-engine.md); a forked child has an agent of its own, and loads what it "
             "runs";
    case Why::kNotThis:
      return "load the code of every pipeline, also of one that another compiler or a cache made; with LLVM, "
             "a module that was cloned after EngineModule::begin has no lineage. Register code of libraries "
             "without a plan, or as an engine component's (docs/tags.md)";
  }
  return "";
}

}  // namespace tailor::query
