#include "daemon/pipeline/wait_names.h"

#include <fmt/format.h>

#include <utility>

namespace tailor::pipeline {

std::shared_ptr<const EngineWaits> WaitNames::take(const v1::WaitNames& said) {
  EngineWaits names;
  for (const v1::WaitName& each : said.names()) names.insert_or_assign(each.number(), each.name());
  if (last_ == nullptr || *last_ != names) last_ = std::make_shared<const EngineWaits>(std::move(names));
  return last_;
}

std::uint32_t WaitNames::number_of(const EngineWaits* known, std::uint32_t word) {
  std::string name;
  if (known != nullptr) {
    if (const auto found = known->find(word); found != known->end()) name = found->second;
  }
  if (name.empty()) name = fmt::format("{:#010x}", word);
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  if (names_.size() >= kMost) return 0;
  names_.push_back(name);
  return numbers_[std::move(name)] = static_cast<std::uint32_t>(names_.size());
}

}  // namespace tailor::pipeline
