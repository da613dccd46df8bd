// The names of functions that a profile carries: of those that its samples and their callers were in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/records.h"

namespace tailor::query {

// Filled by one thread; then any number may ask. Takes about as much memory as store::memory_of() says.
class StoredNames {
 public:
  using Function = profile::FileNames::Function;

  // What is given again changes nothing.
  void add(const profile::FileNames& names);
  // There are others, for which there was no room.
  void miss_some() { some_are_missing_ = true; }
  bool are_some_missing() const { return some_are_missing_; }
  // Behind the last add().
  void finish();

  // The innermost function of the file that holds that offset, of the kernel (profile::kKernelPath) that
  // address. NULL: none of those that are told.
  const Function* find(const std::string& path, const std::string& build_id, std::uint64_t offset) const;
  // How many functions of the file are told. Nothing: the file is not; 0: it has no names, or nothing led to
  // it when the recording ended.
  std::optional<std::size_t> count(const std::string& path, const std::string& build_id) const;
  // Of the file by that path that was mapped without an id: which one was read for its names; "": not known,
  // or several.
  std::string file_id(const std::string& path) const;

 private:
  void add_id(const profile::FileNames& names);

  using Key = std::pair<std::string, std::string>;
  struct Id {
    std::string id;
    bool several = false;
  };
  std::map<Key, std::vector<Function>> files_;  // by begin
  std::map<std::string, Id> ids_;               // by path, of those whose mapping said none
  bool some_are_missing_ = false;
};

}  // namespace tailor::query
