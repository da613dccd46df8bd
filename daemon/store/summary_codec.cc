#include "daemon/store/summary_codec.h"

#include <cmath>
#include <new>
#include <unordered_map>

#include "daemon/store/block.h"
#include "daemon/store/block_reader.h"
#include "daemon/store/memory_budget.h"
#include "daemon/store/meta_codec.h"
#include "proto/base/errors.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {
namespace {

// The texts of a block, each once, in order of appearance.
class Texts {
 public:
  explicit Texts(v1::SummaryBlock& block) : block_(block) { of(""); }
  std::uint32_t of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) block_.add_texts(to_utf8(text));
    return at->second;
  }

 private:
  v1::SummaryBlock& block_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::uint64_t encode_uid(const std::optional<std::uint32_t>& uid) {
  return uid ? std::uint64_t{*uid} + 1 : 0;
}

void encode_costs(const Summary& summary, Texts& texts, v1::SummaryCosts& out) {
  Hour before = 0;
  for (const auto& [key, sum] : summary.costs) {
    out.add_hour(key.hour - before);
    before = key.hour;
    out.add_uid(encode_uid(key.uid));
    out.add_fingerprint(texts.of(key.fingerprint));
    out.add_what(static_cast<std::uint32_t>(key.what));
    out.add_id(key.id);
    out.add_name(texts.of(key.name));
    out.add_kind(texts.of(key.kind));
    out.add_source(texts.of(key.source));
    out.add_unit(static_cast<std::uint32_t>(key.unit));
    out.add_samples(sum.samples);
    out.add_weight(sum.weight);
  }
}

void encode_buckets(const ElapsedBuckets& elapsed, v1::SummaryRuns& out) {
  out.add_buckets(static_cast<std::uint32_t>(elapsed.counts().size()));
  std::uint32_t before = 0;
  for (const auto& [bucket, count] : elapsed.counts()) {
    out.add_bucket(bucket - before);
    before = bucket;
    out.add_bucket_executions(count);
  }
}

void encode_runs(const Summary& summary, Texts& texts, v1::SummaryRuns& out) {
  Hour before = 0;
  for (const auto& [key, sum] : summary.runs) {
    out.add_hour(key.hour - before);
    before = key.hour;
    out.add_uid(encode_uid(key.uid));
    out.add_fingerprint(texts.of(key.fingerprint));
    out.add_executions(sum.executions);
    out.add_failed(sum.failed);
    out.add_elapsed_sum(sum.elapsed_sum);
    out.add_elapsed_min(sum.elapsed_min);
    out.add_elapsed_max(sum.elapsed_max);
    out.add_result_rows_known(sum.rows_known);
    out.add_result_rows(sum.rows);
    encode_buckets(sum.elapsed, out);
  }
}

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Hours that int64 nanoseconds can name.
constexpr Hour kMostHours = static_cast<Hour>(INT64_MAX / kHourNs);

class Decoder {
 public:
  // `budget`: bytes of memory that the rows may take.
  Decoder(const v1::SummaryBlock& block, std::uint64_t budget) : block_(block), left_(budget) {}

  Result<Summary> decode() && {
    Summary out;
    out.first = block_.first();
    out.last = block_.last();
    if (out.first > out.last || (out.first == 0) != (out.last == 0)) return broken("its segments");
    if (block_.texts().empty() || !block_.texts(0).empty()) return broken("its texts");
    if (!costs(out)) return broken("a cost, or they take too much memory");
    if (!runs(out)) return broken("a run");
    if (!others(out)) return broken("an hour or query");
    return out;
  }

 private:
  static Error broken(const char* what) {
    return internal(std::string("the summary breaks a rule: ") + what);
  }

  bool has(std::uint32_t text) const { return text < static_cast<std::uint32_t>(block_.texts_size()); }
  const std::string& text(std::uint32_t number) const { return block_.texts(static_cast<int>(number)); }

  static bool hour(std::int64_t difference, Hour& hour) {
    return !__builtin_add_overflow(hour, difference, &hour) && hour >= 0 && hour <= kMostHours;
  }
  static bool uid(std::uint64_t said, std::optional<std::uint32_t>& out) {
    if (said != 0) out = static_cast<std::uint32_t>(said - 1);
    return said <= std::uint64_t{UINT32_MAX} + 1;
  }
  static bool amount(double value) { return std::isfinite(value) && value >= 0; }

  // Rows have copies of their texts.
  bool takes(std::size_t bytes) {
    constexpr std::size_t kNode = 128;
    if (bytes + kNode > left_) return false;
    left_ -= bytes + kNode;
    return true;
  }

  bool costs(Summary& out) {
    const v1::SummaryCosts& in = block_.costs();
    const int rows = in.hour_size();
    for (const int size :
         {in.uid_size(), in.fingerprint_size(), in.what_size(), in.id_size(), in.name_size(), in.kind_size(),
          in.source_size(), in.unit_size(), in.samples_size(), in.weight_size()}) {
      if (size != rows) return false;
    }
    Hour at = 0;
    for (int i = 0; i < rows; ++i) {
      CostKey key;
      const bool known = hour(in.hour(i), at) && uid(in.uid(i), key.uid) && has(in.fingerprint(i)) &&
                         has(in.name(i)) && has(in.kind(i)) && has(in.source(i)) && in.what(i) <= 2 &&
                         in.unit(i) <= 2 && amount(in.samples(i)) && amount(in.weight(i));
      if (!known) return false;
      key.hour = at;
      key.fingerprint = text(in.fingerprint(i));
      key.what = static_cast<CostOf>(in.what(i));
      key.id = in.id(i);
      key.name = text(in.name(i));
      key.kind = text(in.kind(i));
      key.source = text(in.source(i));
      key.unit = static_cast<profile::Unit>(in.unit(i));
      if (!takes(sizeof key + key.fingerprint.size() + key.name.size() + key.kind.size() + key.source.size()))
        return false;
      if (!out.costs.try_emplace(std::move(key), CostSum{in.samples(i), in.weight(i)}).second) return false;
    }
    return true;
  }

  bool runs(Summary& out) {
    const v1::SummaryRuns& in = block_.runs();
    const int rows = in.hour_size();
    for (const int size : {in.uid_size(), in.fingerprint_size(), in.executions_size(), in.failed_size(),
                           in.elapsed_sum_size(), in.elapsed_min_size(), in.elapsed_max_size()}) {
      if (size != rows) return false;
    }
    // Older files have none of these.
    const bool detailed = in.buckets_size() != 0;
    if (detailed &&
        (in.buckets_size() != rows || in.result_rows_known_size() != rows || in.result_rows_size() != rows))
      return false;
    Hour at = 0;
    int bucket = 0;
    for (int i = 0; i < rows; ++i) {
      RunKey key;
      if (!hour(in.hour(i), at) || !uid(in.uid(i), key.uid) || !has(in.fingerprint(i)) ||
          !amount(in.elapsed_sum(i)) || in.executions(i) == 0 || in.failed(i) > in.executions(i))
        return false;
      key.hour = at;
      key.fingerprint = text(in.fingerprint(i));
      if (!takes(sizeof key + key.fingerprint.size())) return false;
      RunSum sum{in.executions(i), in.failed(i), in.elapsed_sum(i), in.elapsed_min(i), in.elapsed_max(i)};
      if (detailed && !details(in, i, bucket, sum)) return false;
      if (!out.runs.try_emplace(std::move(key), sum).second) return false;
    }
    return bucket == in.bucket_size() && bucket == in.bucket_executions_size();
  }

  // `bucket`: the first one of the row, and afterwards that of the next row.
  bool details(const v1::SummaryRuns& in, int row, int& bucket, RunSum& out) {
    out.rows_known = in.result_rows_known(row);
    out.rows = in.result_rows(row);
    if (out.rows_known > out.executions) return false;
    std::uint64_t number = 0, executions = 0;
    for (std::uint32_t i = 0; i < in.buckets(row); ++i, ++bucket) {
      if (bucket >= in.bucket_size() || bucket >= in.bucket_executions_size() || !takes(0)) return false;
      number += in.bucket(bucket);
      const std::uint64_t count = in.bucket_executions(bucket);
      const bool fits = number < ElapsedBuckets::kMostBuckets && count <= out.executions - executions;
      if (!fits || !out.elapsed.put(static_cast<std::uint32_t>(number), count)) return false;
      executions += count;
    }
    return true;
  }

  bool others(Summary& out) {
    for (const v1::SummaryHour& in : block_.hours()) {
      if (in.hour() < 0 || in.hour() > kMostHours) return false;
      const HourLoss loss{in.lost_ring(), in.lost_hardware(), in.late(), in.unwritten()};
      if (!out.losses.try_emplace(in.hour(), loss).second) return false;
    }
    for (const v1::SummaryQuery& in : block_.queries()) {
      QueryKey key;
      if (!has(in.fingerprint()) || !has(in.name()) || !has(in.text()) || !uid(in.uid(), key.uid))
        return false;
      key.fingerprint = text(in.fingerprint());
      QueryNames names{text(in.name()), text(in.text())};
      if (!takes(sizeof key + key.fingerprint.size() + names.name.size() + names.text.size())) return false;
      out.queries.insert_or_assign(std::move(key), std::move(names));
    }
    return true;
  }

  const v1::SummaryBlock& block_;
  std::uint64_t left_;
};

// Within the memory that a file of its size may take.
Result<Summary> parse_summary(const std::string& payload) {
  BoundedArena arena(memory_budget(payload.size()));
  try {
    auto* block = google::protobuf::Arena::CreateMessage<v1::SummaryBlock>(arena.get());
    if (!block->ParseFromString(payload)) return internal("the summary's block is no message");
    return Decoder(*block, memory_budget(payload.size())).decode();
  } catch (const std::bad_alloc&) {
    return exhausted("the summary's block would take more memory than its size allows");
  }
}

}  // namespace

Result<std::string> encode(const Summary& summary) {
  v1::SummaryBlock block;
  Texts texts(block);
  block.set_first(summary.first);
  block.set_last(summary.last);
  encode_costs(summary, texts, *block.mutable_costs());
  encode_runs(summary, texts, *block.mutable_runs());
  for (const auto& [hour, loss] : summary.losses) {
    v1::SummaryHour& out = *block.add_hours();
    out.set_hour(hour);
    out.set_lost_ring(loss.lost_ring);
    out.set_lost_hardware(loss.lost_hardware);
    out.set_late(loss.late);
    out.set_unwritten(loss.unwritten);
  }
  for (const auto& [key, names] : summary.queries) {
    v1::SummaryQuery& out = *block.add_queries();
    out.set_fingerprint(texts.of(key.fingerprint));
    out.set_uid(encode_uid(key.uid));
    out.set_name(texts.of(names.name));
    out.set_text(texts.of(names.text));
  }
  const std::string raw = block.SerializeAsString();
  if (raw.size() > kMaxBlockBytes) return exhausted("the summary is larger than a block may be");
  const auto header = encode(FileHeader{FileKind::kSummary, kVersionMinor, summary.last, 0});
  std::string out(as_text(header));
  out += make_block(BlockType::kSummary, 0, raw);
  v1::EndBlock end;
  end.set_blocks(1);
  return out + make_block(BlockType::kEnd, 1, end.SerializeAsString());
}

Result<Summary> decode_summary(Input& input) {
  ReadReport report;
  BlockReader reader(input, report);
  auto header = reader.open();
  if (!header) return header.error();
  if (header->kind != FileKind::kSummary) return invalid("the file is no summary");
  std::optional<Summary> summary;
  for (;;) {
    auto block = reader.next();
    if (!block) return block.error();
    if (!*block) break;
    if ((*block)->header.type == BlockType::kEnd) report.finished = true;
    if ((*block)->header.type != BlockType::kSummary) continue;
    if (summary) return internal("the summary has two blocks of sums");
    auto parsed = parse_summary((*block)->payload);
    if (!parsed) return parsed.error();
    summary = std::move(*parsed);
  }
  if (!summary || !report.clean() || report.tail_bytes != 0) return internal("the summary is damaged");
  return std::move(*summary);
}

}  // namespace tailor::store
