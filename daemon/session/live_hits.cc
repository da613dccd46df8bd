#include "daemon/session/live_hits.h"

#include "daemon/profile/mapped_kind.h"
#include "daemon/query/load/function_sums.h"

namespace tailor::session {
namespace {

constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 32)) * 0x9E3779B97F4A7C15;
  return value ^ (value >> 29);
}

}  // namespace

void LiveHits::begin(FindFile find_file, FindUser find_user) {
  find_file_ = std::move(find_file);
  find_user_ = std::move(find_user);
}

std::uint64_t LiveHits::hash_of(ProcessId process) {
  return mixed(static_cast<std::uint64_t>(process.pid) + mixed(process.start));
}

// Another key may take its place: then it is looked up again.
bool LiveHits::saw(std::uint64_t key) {
  std::uint64_t& place = seen_[key % kSeen];
  return std::exchange(place, key) == key;
}

void LiveHits::on_samples(std::span<const profile::SampleRecord> samples) {
  last_stack_ = nullptr;
  if (!find_file_) return;
  for (const profile::SampleRecord& sample : samples) note(sample);
}

void LiveHits::note(const profile::SampleRecord& sample) {
  const std::uint64_t process = hash_of(sample.process);
  const std::uint64_t version = mixed(process + changes_[process % kChanges]);
  const auto user = [&](std::uint64_t address) {
    if (const std::uint64_t key = mixed(address + version); !saw(key)) note_user(sample.process, address);
  };
  const auto leaf = [&](std::uint64_t address) {
    if (!query::is_in_code(sample.attribution)) user(address);
  };
  const auto kernel = [this](std::uint64_t address) { note_kernel(address); };
  const bool same = sample.stack != nullptr && sample.stack == last_stack_ && sample.process == last_process_;
  last_stack_ = sample.stack;
  last_process_ = sample.process;
  if (!same) return query::for_each_address(sample, kernel, leaf, user);
  // Its neighbour had the same callers.
  profile::SampleRecord alone = sample;
  alone.stack = nullptr;
  query::for_each_address(alone, kernel, leaf, user);
}

void LiveHits::note_user(ProcessId process, std::uint64_t address) {
  const auto found = find_file_(process, address);
  if (!found || !profile::can_have_names(found->path, found->build_id)) return;
  add({std::string(found->path), std::string(found->build_id)}, user_of(process), found->offset);
}

void LiveHits::note_kernel(std::uint64_t address) {
  if (!saw(mixed(address))) add({profile::kKernelPath, ""}, kOfKernel, address);
}

std::uint32_t LiveHits::user_of(ProcessId process) {
  if (last_user_.first != process) last_user_ = {process, find_user_(process)};
  return last_user_.second;
}

void LiveHits::add(NamedFile file, std::uint32_t user, std::uint64_t offset) {
  const Hits::key_type key{std::move(file), user};
  const auto known = noted_.find(key);
  if (known != noted_.end() && known->second.contains(offset)) return;
  std::size_t& has = users_[user];
  if (has >= limits_.places - places_) return;
  ++has;
  ++places_;
  noted_[key].insert(offset);
  fresh_[key].push_back(offset);
}

LiveHits::Hits LiveHits::take() {
  return std::exchange(fresh_, {});
}

void LiveHits::forget() {
  seen_.assign(kSeen, 0);
  noted_.clear();
  users_.clear();
  places_ = 0;
}

}  // namespace tailor::session
