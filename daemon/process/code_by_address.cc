#include "daemon/process/code_by_address.h"

#include <algorithm>
#include <utility>

namespace tailor::process {
namespace {

template <typename Of>
auto at(std::vector<Of>& all, std::size_t index) {
  return all.begin() + static_cast<std::ptrdiff_t>(index);
}

}  // namespace

void CodeByAddress::add(const CodeState& code) {
  if (blocks_.empty()) {
    blocks_.emplace_back();
    ends_.push_back(0);
  }
  const std::size_t index = std::min(first_above(ends_, code.base), blocks_.size() - 1);
  Block& block = blocks_[index];
  const std::size_t place = first_above(block.ends, code.base);
  block.ends.insert(at(block.ends, place), code.end);
  block.codes.insert(at(block.codes, place), &code);
  ends_[index] = block.ends.back();
  if (block.ends.size() > most_) split(index);
}

void CodeByAddress::remove(const CodeState& code) {
  const std::size_t index = first_above(ends_, code.base);
  Block& block = blocks_[index];
  const std::size_t place = first_above(block.ends, code.base);
  block.ends.erase(at(block.ends, place));
  block.codes.erase(at(block.codes, place));
  if (block.ends.empty()) {
    blocks_.erase(at(blocks_, index));
    ends_.erase(at(ends_, index));
    return;
  }
  ends_[index] = block.ends.back();
  if (!join_with_next(index) && index > 0) join_with_next(index - 1);
}

const CodeState* CodeByAddress::first_ending_after(std::uint64_t address) const {
  const std::size_t index = first_above(ends_, address);
  if (index == blocks_.size()) return nullptr;
  const Block& block = blocks_[index];
  return block.codes[first_above(block.ends, address)];
}

// Without a branch on what is compared: addresses of samples are as good as random.
std::size_t CodeByAddress::first_above(const std::vector<std::uint64_t>& ends, std::uint64_t address) {
  const std::uint64_t* first = ends.data();
  std::size_t count = ends.size();
  while (count > 0) {
    const std::size_t half = (count + 1) / 2;
    first += half & -std::size_t{first[half - 1] <= address};
    count -= half;
  }
  return static_cast<std::size_t>(first - ends.data());
}

void CodeByAddress::split(std::size_t index) {
  Block& lower = blocks_[index];
  const std::size_t half = lower.ends.size() / 2;
  Block upper{{at(lower.ends, half), lower.ends.end()}, {at(lower.codes, half), lower.codes.end()}};
  lower.ends.resize(half);
  lower.codes.resize(half);
  ends_.insert(at(ends_, index), lower.ends.back());
  blocks_.insert(at(blocks_, index + 1), std::move(upper));
}

// Where both are small: else blocks of one object each would become many.
bool CodeByAddress::join_with_next(std::size_t index) {
  if (index + 1 >= blocks_.size()) return false;
  Block &block = blocks_[index], &next = blocks_[index + 1];
  if (block.ends.size() + next.ends.size() > most_ / 2) return false;
  block.ends.insert(block.ends.end(), next.ends.begin(), next.ends.end());
  block.codes.insert(block.codes.end(), next.codes.begin(), next.codes.end());
  blocks_.erase(at(blocks_, index + 1));
  ends_.erase(at(ends_, index));
  return true;
}

}  // namespace tailor::process
