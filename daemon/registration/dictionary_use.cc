#include "daemon/registration/dictionary_use.h"

#include <fmt/format.h>

namespace tailor::registration {

DictionaryUse::DictionaryUse(const Most& most, UserCounts& dictionaries, std::uint32_t uid)
    : most_(most), dictionaries_(dictionaries), uid_(uid), plans_{most.plan_bytes}, code_{most.code_bytes} {}

DictionaryUse::~DictionaryUse() {
  dictionaries_.give_back(uid_, plans_.sizes.size() + code_.sizes.size());
}

// They are never taken back, and one that is declared again has its place already.
std::optional<DictionaryUse::Beyond> DictionaryUse::take_name(const std::string& name) {
  if (names_ < most_.names && name.size() <= most_.name_bytes - name_bytes_) {
    ++names_;
    name_bytes_ += name.size();
    return std::nullopt;
  }
  return Beyond{
      "process-names",
      fmt::format("a process may declare {} components and kinds of regions with names of {} bytes; "
                  "this one has declared {} with {}",
                  most_.names, most_.name_bytes, names_, name_bytes_)};
}

std::optional<DictionaryUse::Beyond> DictionaryUse::put(Table& table, std::uint64_t id, std::size_t bytes,
                                                        const char* limit) {
  const auto known = table.sizes.find(id);
  const std::size_t before = known == table.sizes.end() ? 0 : known->second;
  if (table.bytes - before + bytes > table.most_bytes) {
    return Beyond{limit,
                  fmt::format("dictionaries of a process may have {} bytes beside machine code; this one's "
                              "have {}, and {} more would be above that",
                              table.most_bytes, table.bytes - before, bytes)};
  }
  if (known == table.sizes.end() && !dictionaries_.take(uid_, 1)) {
    return Beyond{"user-dictionaries",
                  fmt::format("the processes of user {} have {} plans and code objects, which is the limit",
                              uid_, dictionaries_.most())};
  }
  table.bytes += bytes - before;
  table.sizes[id] = bytes;
  return std::nullopt;
}

void DictionaryUse::remove(Table& table, std::uint64_t id) {
  const auto known = table.sizes.find(id);
  if (known == table.sizes.end()) return;
  table.bytes -= known->second;
  table.sizes.erase(known);
  dictionaries_.give_back(uid_, 1);
}

// Machine code and what unwinds it have a limit of their own (user-code).
std::size_t DictionaryUse::bytes_of(const v1::AgentMessage& message) {
  if (message.has_plan_load()) return message.plan_load().ByteSizeLong();
  if (!message.has_code_load()) return 0;
  const v1::CodeObject& code = message.code_load();
  return code.ByteSizeLong() - code.code().size() - code.eh_frame().size();
}

std::optional<DictionaryUse::Beyond> DictionaryUse::take(const v1::AgentMessage& message, std::size_t bytes) {
  switch (message.body_case()) {
    case v1::AgentMessage::kComponentDeclare:
      return take_name(message.component_declare().name());
    case v1::AgentMessage::kRegionKind:
      return take_name(message.region_kind().name());
    case v1::AgentMessage::kPlanLoad:
      return put(plans_, message.plan_load().id(), bytes, "process-plans");
    case v1::AgentMessage::kPlanUnload:
      remove(plans_, message.plan_unload().plan_id());
      return std::nullopt;
    case v1::AgentMessage::kCodeLoad:
      return put(code_, message.code_load().id(), bytes, "process-code");
    case v1::AgentMessage::kCodeUnload:
      remove(code_, message.code_unload().code_id());
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace tailor::registration
