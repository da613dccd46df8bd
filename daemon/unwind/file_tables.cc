#include "daemon/unwind/file_tables.h"

#include <algorithm>

namespace tailor::unwind {
namespace {

// Of all processes together: the thread that unwinds has others to serve. Small tables, which is what engines
// have, always may: nobody can keep another one from it.
constexpr TimeNs kIndexInterval = 50'000'000;
constexpr std::size_t kSmallTable = 4096;
constexpr TimeNs kForgetInterval = 100'000'000;

FileTables::Found read_first_of(const std::vector<std::string>& paths) {
  FileTables::Found found;
  for (const std::string& path : paths) {
    auto read = read_elf_cfi(path);
    found.opened |= read.ok() || read.error().code == 0;
    if (!read) continue;
    found.table = std::make_shared<ElfCfi>(std::move(*read));
    break;
  }
  return found;
}

}  // namespace

std::optional<FileTables::Found> FileTables::get(const std::string& file, std::uint32_t user,
                                                 const Paths& paths) {
  auto known = tables_.find({user, file});
  if (known == tables_.end()) {
    auto reading =
        has_room(user) ? files_.begin<Read>(user, [paths] { return Read{read_first_of(paths())}; }) : nullptr;
    if (reading == nullptr) {
      files_.lack(nullptr);
      return std::nullopt;
    }
    known = tables_.emplace(Key{user, file}, std::move(reading)).first;
    ++shares_[user].files;
  }
  const Awaited<Read>& reading = *known->second;
  if (!reading.is_done()) {
    files_.lack(known->second);
    return std::nullopt;
  }
  if (reading.refused) files_.lack(nullptr);
  const std::optional<Found> found = reading.refused ? std::nullopt : std::optional(reading.value.found);
  // One that this process cannot show any more, another one may.
  if (!found || !found->opened) {
    tables_.erase(known);
    --shares_[user].files;
  }
  return found;
}

// Whether another file of the user may be read.
bool FileTables::has_room(std::uint32_t user) {
  Share& share = shares_[user];
  const auto is_there = [&] { return share.files < kMostOfAUser && !files_.is_full(user); };
  if (is_there()) return true;
  if (files_.now() < share.next_forget) return false;
  share.next_forget = files_.now() + kForgetInterval;
  forget_unused(user, share);
  return is_there();
}

// Files that nobody maps any more.
void FileTables::forget_unused(std::uint32_t user, Share& share) {
  auto each = tables_.lower_bound({user, {}});
  while (each != tables_.end() && each->first.first == user) {
    const auto here = each++;
    const Awaited<Read>& reading = *here->second;
    if (!reading.is_done() || reading.value.found.table.use_count() > 1) continue;
    files_.release(user, reading.value.bytes());
    tables_.erase(here);
    --share.files;
  }
}

std::shared_ptr<FileArguments> FileTables::arguments(const std::string& file, std::uint32_t user,
                                                     const Paths& paths,
                                                     const std::shared_ptr<const ElfCfi>& table) {
  const auto known = arguments_.find({user, file});
  if (known != arguments_.end()) return known->second;
  const auto of_user =
      std::ranges::count(arguments_, user, [](const auto& each) { return each.first.first; });
  if (static_cast<std::size_t>(of_user) >= kMostArguments) return nullptr;
  return arguments_[{user, file}] = std::make_shared<FileArguments>(files_, user, table, paths);
}

bool FileTables::may_index(std::size_t bytes, TimeNs now) {
  if (bytes <= kSmallTable) return true;
  if (index_since_ == kTimeMin || now - index_since_ >= kIndexInterval) {
    index_since_ = now;
    indexed_ = 0;
  }
  if (indexed_ + bytes > kMostIndexed) return false;
  indexed_ += bytes;
  return true;
}

}  // namespace tailor::unwind
