// The records of a journal, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/store/file_io.h"
#include "proto/base/result.h"
#include "tailor/v1/journal.pb.h"

namespace tailor::journal {

// One thread; the input must outlive it.
class JournalReader {
 public:
  explicit JournalReader(store::Input& input) : input_(input) {}

  // Before the first record. Fails for what is no journal, and for one of another version.
  Status check_header();
  // False at the end of the file. Fails where a record is damaged.
  Result<bool> next(v1::JournalRecord& record);
  // Says where, of the record that next() reads next or failed at.
  Error damage(const std::string& what) const;

 private:
  store::Input& input_;
  std::uint64_t offset_ = 0;
  std::vector<std::uint8_t> payload_;
};

}  // namespace tailor::journal
