#include "daemon/session/live_names.h"

#include <string>
#include <utility>

#include "daemon/os/host_files.h"

namespace tailor::session {
namespace {

constexpr TimeNs kNamesInterval = 1'000'000'000;

}  // namespace

LiveNames::LiveNames(os::Os& os, pipeline::Pipeline& pipeline, pipeline::Input& input,
                     const OnProblem& on_problem, NameFunctions name_functions, FunctionNamer* namer)
    : os_(os),
      pipeline_(pipeline),
      input_(input),
      on_problem_(on_problem),
      name_functions_(std::move(name_functions)),
      namer_(namer) {
  if (name_functions_) kept_files_.emplace(os_.proc());
  if (namer_ == nullptr) return;
  kept_files_.emplace(os_.proc(), std::chrono::seconds(1), KeptFiles::Full::kReplace);
  namer_->begin([this](ProcessId process, std::uint64_t address) { return file_at(process, address); },
                [this](ProcessId process) { return user_of(process); }, kept_files_->finder());
}

void LiveNames::known(const pipeline::KnownProcess& process) {
  if (kept_files_) kept_files_->known(process);
}

void LiveNames::chunk(const capture::RingChunk& chunk) {
  if (kept_files_) kept_files_->chunk(chunk);
}

std::optional<process::FileRanges::At> LiveNames::file_at(ProcessId process, std::uint64_t address) const {
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  return entry == nullptr ? std::nullopt : entry->files.at(address);
}

std::uint32_t LiveNames::user_of(ProcessId process) const {
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  if (entry != nullptr && entry->record.uid) return *entry->record.uid;
  return os::owner_of(os_.proc() / std::to_string(process.pid)).value_or(kNobodyKnown);
}

void LiveNames::look() {
  if (os_.now() >= next_) (void)name_what_was_hit(false);
}

bool LiveNames::name_what_was_hit(bool last) {
  const TimeNs now = os_.now();
  next_ = now + kNamesInterval;
  if (namer_ == nullptr) return false;
  for (const profile::FileNames& names : namer_->take(now, last)) input_.on_names(names);
  if (const std::string problem = namer_->take_problem(); !problem.empty()) on_problem_({{}, problem});
  return namer_->is_pending();
}

void LiveNames::tell_all() {
  if (!name_functions_) return;
  for (const profile::FileNames& names : name_functions_(kept_files_->finder())) input_.on_names(names);
}

}  // namespace tailor::session
