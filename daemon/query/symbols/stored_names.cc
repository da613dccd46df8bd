#include "daemon/query/symbols/stored_names.h"

#include <algorithm>

namespace tailor::query {

void StoredNames::add(const profile::FileNames& names) {
  std::vector<Function>& functions = files_[{names.path, names.build_id}];
  functions.insert(functions.end(), names.functions.begin(), names.functions.end());
  add_id(names);
}

// Names of which nobody said where they are from may be another file's.
void StoredNames::add_id(const profile::FileNames& names) {
  if (!names.build_id.empty()) return;
  const auto [known, fresh] = ids_.try_emplace(names.path, Id{names.file_id});
  known->second.several = known->second.several || known->second.id != names.file_id;
}

std::string StoredNames::file_id(const std::string& path) const {
  const auto known = ids_.find(path);
  return known == ids_.end() || known->second.several ? std::string() : known->second.id;
}

// The longer of two that begin together comes first: the inner one is found first from behind.
void StoredNames::finish() {
  const auto before = [](const Function& a, const Function& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.size > b.size;
  };
  const auto same = [](const Function& a, const Function& b) {
    return a.begin == b.begin && a.size == b.size && a.name == b.name;
  };
  for (auto& [key, functions] : files_) {
    std::ranges::stable_sort(functions, before);
    const auto rest = std::ranges::unique(functions, same);
    functions.erase(rest.begin(), rest.end());
  }
}

const StoredNames::Function* StoredNames::find(const std::string& path, const std::string& build_id,
                                               std::uint64_t offset) const {
  const auto file = files_.find({path, build_id});
  if (file == files_.end()) return nullptr;
  auto after = std::ranges::upper_bound(file->second, offset, {}, &Function::begin);
  // As for the functions of a file (FunctionNames::find).
  for (int tries = 0; tries < 8 && after != file->second.begin(); ++tries) {
    --after;
    if (offset - after->begin < after->size) return &*after;
  }
  return nullptr;
}

std::optional<std::size_t> StoredNames::count(const std::string& path, const std::string& build_id) const {
  const auto file = files_.find({path, build_id});
  return file == files_.end() ? std::nullopt : std::optional(file->second.size());
}

}  // namespace tailor::query
