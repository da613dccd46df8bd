#include "daemon/store/sums_block.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/store/block.h"
#include "daemon/store/columns.h"
#include "daemon/store/sample_codec.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

constexpr std::uint32_t kVersion = 1;

Error broken(const char* what) {
  return internal(fmt::format("sums: {}", what));
}

// A sum has the key of a sample, and the sample's own columns say it.
template <typename Key>
void encode_keyed(const std::vector<std::pair<Key, profile::Sum>>& sums, v1::KeyedSums& out) {
  std::vector<profile::SampleRecord> samples;
  samples.reserve(sums.size());
  for (const auto& [key, sum] : sums) {
    samples.push_back(sample_of(key));
    out.add_samples(sum.samples);
    out.add_weight(sum.weight);
    out.add_squares(static_cast<std::uint64_t>(sum.weight_squares));
    out.add_squares_high(static_cast<std::uint64_t>(sum.weight_squares >> 64));
    out.add_latency(sum.latency);
    out.add_latency_samples(sum.latency_samples);
  }
  *out.mutable_keys() = encode_samples(samples);
  shrink_column(*out.mutable_samples());
  shrink_column(*out.mutable_weight());
  shrink_column(*out.mutable_squares());
  shrink_column(*out.mutable_squares_high());
  shrink_column(*out.mutable_latency());
  shrink_column(*out.mutable_latency_samples());
}

// `key_of` gives the key of a sample. Keys must rise.
template <typename Key, typename KeyOf>
Status decode_keyed(const v1::KeyedSums& in, const KeyOf& key_of,
                    std::vector<std::pair<Key, profile::Sum>>& out) {
  auto keys = decode_samples(in.keys());
  if (!keys) return keys.error();
  const auto rows = static_cast<std::uint32_t>(keys->samples.size());
  const ColumnReader samples(in.samples(), rows), weight(in.weight(), rows), squares(in.squares(), rows),
      squares_high(in.squares_high(), rows), latency(in.latency(), rows),
      latency_samples(in.latency_samples(), rows);
  if (!samples.valid() || !weight.valid() || !squares.valid() || !squares_high.valid() || !latency.valid() ||
      !latency_samples.valid()) {
    return broken("a column has another number of rows");
  }
  out.reserve(rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const Key key = key_of(keys->samples[row]);
    if (!out.empty() && !(out.back().first < key)) return broken("the keys do not rise");
    if (samples.at(row) == 0 || samples.at(row) < latency_samples.at(row))
      return broken("a sum of another number of samples");
    out.emplace_back(
        key, profile::Sum{samples.at(row), weight.at(row),
                          static_cast<profile::Sum::Wide>(squares_high.at(row)) << 64 | squares.at(row),
                          latency.at(row), latency_samples.at(row)});
  }
  return Ok{};
}

Status decode_blocks(const v1::SumsBlock& in, std::vector<SummedBlock>& out) {
  const int blocks = in.blocks_size();
  if (in.block_samples_size() != blocks || in.first_size() != blocks || in.last_size() != blocks)
    return broken("a column has another number of blocks");
  std::uint64_t sequence = 0, first = 0;
  for (int i = 0; i < blocks; ++i) {
    const std::uint64_t more = in.blocks(i), samples = in.block_samples(i);
    if (more == 0 && i > 0) return broken("a block is named twice");
    if (__builtin_add_overflow(sequence, more, &sequence)) return broken("no block has such a number");
    if (samples == 0 || samples > kMaxBlockRows) return broken("no block has this many samples");
    first += static_cast<std::uint64_t>(in.first(i));
    const std::uint64_t last = first + static_cast<std::uint64_t>(in.last(i));
    out.push_back({sequence, samples, static_cast<TimeNs>(first), static_cast<TimeNs>(last)});
    if (out.back().last < out.back().first) return broken("a block ends before it begins");
  }
  return Ok{};
}

template <typename Key>
std::uint64_t samples_of(const std::vector<std::pair<Key, profile::Sum>>& sums) {
  std::uint64_t samples = 0;
  for (const auto& [key, sum] : sums) profile::add_bounded(samples, sum.samples);
  return samples;
}

}  // namespace

std::uint64_t BlockSums::samples() const {
  return samples_of(cells);
}

TimeNs BlockSums::first() const {
  TimeNs first = kTimeMax;
  for (const SummedBlock& block : blocks) first = std::min(first, block.first);
  return first;
}

TimeNs BlockSums::last() const {
  TimeNs last = kTimeMin;
  for (const SummedBlock& block : blocks) last = std::max(last, block.last);
  return last;
}

std::string encode(const BlockSums& sums) {
  v1::SumsBlock out;
  out.set_version(kVersion);
  std::uint64_t sequence = 0, first = 0;
  for (const SummedBlock& block : sums.blocks) {
    out.add_blocks(block.sequence - sequence);
    out.add_block_samples(block.samples);
    out.add_first(wrapping_difference(static_cast<std::uint64_t>(block.first), first));
    out.add_last(
        wrapping_difference(static_cast<std::uint64_t>(block.last), static_cast<std::uint64_t>(block.first)));
    sequence = block.sequence;
    first = static_cast<std::uint64_t>(block.first);
  }
  encode_keyed(sums.cells, *out.mutable_cells());
  encode_keyed(sums.places, *out.mutable_places());
  return out.SerializeAsString();
}

Result<BlockSums> decode_sums(const v1::SumsBlock& in) {
  if (in.version() != kVersion) return broken("a newer version of the rules");
  BlockSums out;
  if (auto ok = decode_blocks(in, out.blocks); !ok) return ok.error();
  if (auto ok = decode_keyed(in.cells(), [](const auto& s) { return profile::key_of(s); }, out.cells); !ok)
    return ok.error();
  if (auto ok = decode_keyed(
          in.places(), [](const auto& s) { return profile::place_of(s); }, out.places);
      !ok)
    return ok.error();
  std::uint64_t samples = 0;
  for (const SummedBlock& block : out.blocks) samples += block.samples;
  if (out.samples() != samples || samples_of(out.places) > samples)
    return broken("sums of another number of samples than the blocks have");
  return out;
}

}  // namespace tailor::store
