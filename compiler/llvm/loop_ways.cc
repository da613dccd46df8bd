#include "compiler/llvm/loop_ways.h"

#include <fmt/format.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace tailor::jit {
namespace {

// More blocks make a deep recursion, and no small functions have them.
constexpr std::size_t kMostBlocks = 1024;

// At least two passes of a loop are kept, so that one follows another.
constexpr std::uint64_t kLeastKept = 2;

}  // namespace

LoopWays::LoopWays(const FunctionCode& code, const std::vector<std::uint64_t>& trips, Choice choice)
    : code_(code), trips_(trips), choice_(choice), blocks_(code.blocks.size()), loops_(code.loops.size()) {}

bool LoopWays::is_in(std::size_t block, std::size_t loop) const {
  for (std::size_t at = code_.blocks[block].loop; at != kNoLoop; at = code_.loops[at].parent)
    if (at == loop) return true;
  return false;
}

std::size_t LoopWays::inner_loop(std::size_t block, std::size_t loop) const {
  std::size_t inner = kNoLoop;
  for (std::size_t at = code_.blocks[block].loop; at != loop; at = code_.loops[at].parent) inner = at;
  return inner;
}

// `block` is in `loop`, which is entered there or goes on there.
std::optional<std::uint64_t> LoopWays::from(std::size_t block, std::size_t loop) {
  if (block == code_.loops[loop].header) return 0;
  const std::size_t inner = inner_loop(block, loop);
  if (inner == kNoLoop) return through_block(block);
  if (block == code_.loops[inner].header) return through_loop(inner);
  refused_ = "its code has jumps that form no loop";
  return std::nullopt;
}

void LoopWays::offer(std::size_t block, std::size_t loop, Way& way) {
  if (!is_in(block, loop)) return;
  const auto length = from(block, loop);
  if (!length) return;
  const bool better =
      !way.length || (choice_ == Choice::kShortest ? *length < *way.length : *length > *way.length);
  if (!better) return;
  way.length = length;
  way.next = block;
}

std::optional<std::uint64_t> LoopWays::through_block(std::size_t block) {
  Way& way = blocks_[block];
  if (way.state == Way::State::kOpen) refused_ = "its code has jumps that form no loop";
  if (way.state != Way::State::kNew) return way.length;
  way.state = Way::State::kOpen;
  const CodeBlock& code = code_.blocks[block];
  for (const std::size_t next : code.successors) offer(next, code.loop, way);
  if (way.length) way.length = llvm::SaturatingAdd<std::uint64_t>(*way.length, code.code.size());
  way.state = Way::State::kDone;
  return way.length;
}

// All passes of a loop, and what follows in the loop around it.
std::optional<std::uint64_t> LoopWays::through_loop(std::size_t loop) {
  Way& way = loops_[loop];
  if (way.state == Way::State::kOpen) refused_ = "its code has jumps that form no loop";
  if (way.state != Way::State::kNew) return way.length;
  way.state = Way::State::kOpen;
  const CodeLoop& code = code_.loops[loop];
  if (trips_[loop] == 0) refused_ = "a loop in it has a number of passes that the code does not say";
  const auto pass = through_block(code.header);
  for (std::size_t block = 0; block < code_.blocks.size(); ++block) {
    if (!is_in(block, loop)) continue;
    for (const std::size_t next : code_.blocks[block].successors)
      if (!is_in(next, loop)) offer(next, code.parent, way);
  }
  if (!pass) way.length.reset();
  if (way.length) way.length = llvm::SaturatingMultiplyAdd(*pass, trips_[loop], *way.length);
  way.state = Way::State::kDone;
  return way.length;
}

bool LoopWays::append(std::size_t loop, PassCode& out) const {
  const std::size_t header = code_.loops[loop].header;
  std::size_t block = header;
  do {
    const std::size_t inner = inner_loop(block, loop);
    if (inner == kNoLoop) {
      for (const llvm::MCInst& each : code_.blocks[block].code) out.code.push_back(&each);
      if (out.code.size() > kMostInstructions) return false;
      block = blocks_[block].next;
      continue;
    }
    const std::size_t begin = out.code.size();
    std::uint64_t passes = 0;
    while (passes < trips_[inner] && (passes < kLeastKept || out.code.size() - begin < kMostInside)) {
      const std::size_t before = out.code.size();
      if (!append(inner, out)) return false;
      ++passes;
      if (out.code.size() == before) break;  // all passes take nothing
    }
    if (passes < trips_[inner]) out.missing[inner] += static_cast<double>(trips_[inner] - passes);
    block = loops_[inner].next;
  } while (block != header);
  return true;
}

Result<PassCode> LoopWays::pass_of(std::size_t loop) {
  if (code_.blocks.size() > kMostBlocks)
    return invalid(fmt::format("its code has more than {} blocks", kMostBlocks));
  const auto length = through_block(code_.loops[loop].header);
  if (!refused_.empty()) return invalid(refused_);
  if (!length) return invalid("its code has jumps that form no loop");
  PassCode out;
  if (!append(loop, out)) {
    return invalid(fmt::format("a pass takes more than {} instructions, without repeated ones of loops in it",
                               kMostInstructions));
  }
  return out;
}

}  // namespace tailor::jit
