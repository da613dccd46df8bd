// What engines call what their threads wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tailor/v1/registration.pb.h"

namespace tailor::pipeline {

// By the engine's own numbers. Processes of one engine say the same, and share a table.
using EngineWaits = std::map<std::uint32_t, std::string>;

// Numbers the names of the waits that samples have: for all processes, because workers' samples are shown as
// their leader's, and engines of different versions have different numbers for one name.
class WaitNames {
 public:
  static constexpr std::size_t kMost = 1024;

  // What a process says; the same table if the last process that said something said the same.
  std::shared_ptr<const EngineWaits> take(const v1::WaitNames& said);

  // The number of the name that a process gave `word`, what its thread had in memory for a wait; 0 where
  // there is no room for another name. A word without a name is called by its digits.
  std::uint32_t number_of(const EngineWaits* known, std::uint32_t word);

  // By number - 1. Grows.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::shared_ptr<const EngineWaits> last_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace tailor::pipeline
