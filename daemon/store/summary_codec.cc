#include "daemon/store/summary_codec.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/store/block.h"
#include "daemon/store/block_reader.h"
#include "daemon/store/columns.h"
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

// The shapes of plans of a block, each once, in order of appearance.
class Plans {
 public:
  explicit Plans(v1::SummaryBlock& block) : block_(block) {}
  std::uint32_t of(const std::optional<std::uint64_t>& plan) {
    if (!plan) return kUnknownPlan;
    if (*plan == 0) return kNoPlan;
    const auto [at, is_new] =
        numbers_.try_emplace(*plan, static_cast<std::uint32_t>(numbers_.size()) + kFirstPlan);
    if (is_new) block_.add_plans(*plan);
    return at->second;
  }
  static constexpr std::uint32_t kUnknownPlan = 0, kNoPlan = 1, kFirstPlan = 2;

 private:
  v1::SummaryBlock& block_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

void encode_numbers(const Summary& summary, Wide CostSum::* number, v1::SummaryNumbers& out) {
  for (const auto& [key, sum] : summary.costs) {
    const Wide whole = sum.*number / kParts;
    out.add_whole(static_cast<std::uint64_t>(whole));
    out.add_high(static_cast<std::uint64_t>(whole >> 64));
    out.add_part(static_cast<std::uint32_t>(sum.*number % kParts));
  }
  shrink_column(*out.mutable_whole());
  shrink_column(*out.mutable_high());
  shrink_column(*out.mutable_part());
}

void encode_sums(const Summary& summary, v1::SummaryCosts& out) {
  encode_numbers(summary, &CostSum::samples, *out.mutable_sample_sum());
  encode_numbers(summary, &CostSum::weight, *out.mutable_weight_sum());
  encode_numbers(summary, &CostSum::squares, *out.mutable_square_sum());
  encode_numbers(summary, &CostSum::kernel, *out.mutable_kernel_weight());
  encode_numbers(summary, &CostSum::inferred, *out.mutable_inferred_weight());
  encode_numbers(summary, &CostSum::undetailed, *out.mutable_undetailed_weight());
}

void encode_costs(const Summary& summary, Texts& texts, Plans& plans, v1::SummaryCosts& out) {
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
    out.add_plan(plans.of(key.plan));
  }
  encode_sums(summary, out);
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
  // Mostly there are none of these: then there is no column.
  const bool some_untimed =
      std::ranges::any_of(summary.runs, [](const auto& row) { return row.second.untimed > 0; });
  const bool some_not_drawn =
      std::ranges::any_of(summary.runs, [](const auto& row) { return row.second.not_drawn > 0; });
  Hour before = 0;
  for (const auto& [key, sum] : summary.runs) {
    out.add_hour(key.hour - before);
    before = key.hour;
    out.add_uid(encode_uid(key.uid));
    out.add_fingerprint(texts.of(key.fingerprint));
    out.add_executions(sum.executions);
    out.add_failed(sum.failed);
    out.add_elapsed_total(sum.elapsed_sum);
    out.add_elapsed_min(sum.elapsed_min);
    out.add_elapsed_max(sum.elapsed_max);
    out.add_result_rows_known(sum.rows_known);
    out.add_result_rows(sum.rows);
    if (some_untimed) out.add_untimed(sum.untimed);
    if (some_not_drawn) out.add_not_drawn(sum.not_drawn);
    encode_buckets(sum.elapsed, out);
  }
}

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Hours that int64 nanoseconds can name.
constexpr Hour kMostHours = static_cast<Hour>(INT64_MAX / kHourNs);

// A number of each row. Only a valid one has numbers, in the rows below `rows`.
class SummaryNumberReader {
 public:
  SummaryNumberReader(const v1::SummaryNumbers& in, std::uint32_t rows)
      : whole_(in.whole(), rows), high_(in.high(), rows), part_(in.part(), rows) {}
  bool valid() const { return whole_.valid() && high_.valid() && part_.valid(); }
  bool read(std::uint32_t row, Wide& out) const {
    constexpr std::uint64_t kMostHigh = (std::uint64_t{1} << 44) - 1;  // all parts fit into 128 bits
    if (high_.at(row) > kMostHigh || part_.at(row) >= kParts) return false;
    out = (static_cast<Wide>(high_.at(row)) << 64 | whole_.at(row)) * kParts + part_.at(row);
    return true;
  }

 private:
  ColumnReader<google::protobuf::RepeatedField<std::uint64_t>> whole_, high_;
  ColumnReader<google::protobuf::RepeatedField<std::uint32_t>> part_;
};

// The sums of each row, of version 2.
class SummarySumReader {
 public:
  SummarySumReader(const v1::SummaryCosts& in, std::uint32_t rows)
      : samples_(in.sample_sum(), rows),
        weight_(in.weight_sum(), rows),
        squares_(in.square_sum(), rows),
        kernel_(in.kernel_weight(), rows),
        inferred_(in.inferred_weight(), rows),
        undetailed_(in.undetailed_weight(), rows) {}
  bool valid() const {
    return samples_.valid() && weight_.valid() && squares_.valid() && kernel_.valid() && inferred_.valid() &&
           undetailed_.valid();
  }
  bool read(std::uint32_t row, CostSum& out) const {
    return samples_.read(row, out.samples) && weight_.read(row, out.weight) &&
           squares_.read(row, out.squares) && kernel_.read(row, out.kernel) &&
           inferred_.read(row, out.inferred) && undetailed_.read(row, out.undetailed) &&
           out.kernel <= out.weight && out.inferred <= out.weight && out.undetailed <= out.weight;
  }

 private:
  SummaryNumberReader samples_, weight_, squares_, kernel_, inferred_, undetailed_;
};

class Decoder {
 public:
  // `version`: that of the file. `budget`: bytes of memory that the rows may take.
  Decoder(const v1::SummaryBlock& block, std::uint16_t version, std::uint64_t budget)
      : block_(block), whole_numbers_(version >= kSummaryVersionMajor), left_(budget) {}

  Result<Summary> decode() && {
    Summary out;
    out.first = block_.first();
    out.last = block_.last();
    if (out.first > out.last || (out.first == 0) != (out.last == 0)) return broken("its segments");
    if (block_.texts().empty() || !block_.texts(0).empty()) return broken("its texts");
    if (block_.days_until() < 0 || block_.days_until() > kMostHours || block_.days_until() % kDayHours != 0)
      return broken("its days");
    if (block_.days_until() != 0 && !whole_numbers_) return broken("its days");
    out.days_until = block_.days_until();
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

  bool hour(std::int64_t difference, Hour& hour) const {
    return !__builtin_add_overflow(hour, difference, &hour) && is_row(hour);
  }
  bool is_row(Hour hour) const {
    return hour >= 0 && hour <= kMostHours && (hour >= block_.days_until() || hour % kDayHours == 0);
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

  bool plan(std::uint32_t said, std::optional<std::uint64_t>& out) const {
    if (said == Plans::kUnknownPlan) return true;
    out = 0;
    if (said == Plans::kNoPlan) return true;
    const std::uint32_t number = said - Plans::kFirstPlan;
    if (number >= static_cast<std::uint32_t>(block_.plans_size())) return false;
    out = block_.plans(static_cast<int>(number));
    return *out != 0;
  }

  bool has_columns(const v1::SummaryCosts& in) const {
    const int rows = in.hour_size();
    for (const int size : {in.uid_size(), in.fingerprint_size(), in.what_size(), in.id_size(), in.name_size(),
                           in.kind_size(), in.source_size(), in.unit_size()}) {
      if (size != rows) return false;
    }
    const int numbers = whole_numbers_ ? 0 : rows;
    return in.samples_size() == numbers && in.weight_size() == numbers && in.plan_size() == rows - numbers;
  }

  // `at`: the hour of the row before, and afterwards of this one.
  bool cost_key(const v1::SummaryCosts& in, int row, Hour& at, CostKey& key) const {
    const bool known = hour(in.hour(row), at) && uid(in.uid(row), key.uid) && has(in.fingerprint(row)) &&
                       has(in.name(row)) && has(in.kind(row)) && has(in.source(row)) && in.what(row) <= 2 &&
                       in.unit(row) <= 2 && (!whole_numbers_ || plan(in.plan(row), key.plan));
    if (!known) return false;
    key.hour = at;
    key.fingerprint = text(in.fingerprint(row));
    key.what = static_cast<CostOf>(in.what(row));
    key.id = in.id(row);
    key.name = text(in.name(row));
    key.kind = text(in.kind(row));
    key.source = text(in.source(row));
    key.unit = static_cast<profile::Unit>(in.unit(row));
    return true;
  }

  // Of version 1, which does not know more.
  static bool older_sum(const v1::SummaryCosts& in, int row, CostSum& out) {
    if (!amount(in.samples(row)) || !amount(in.weight(row))) return false;
    out.samples = to_parts(in.samples(row));
    out.weight = to_parts(in.weight(row));
    out.undetailed = out.weight;
    return true;
  }

  bool costs(Summary& out) {
    const v1::SummaryCosts& in = block_.costs();
    const int rows = in.hour_size();
    const SummarySumReader sums(in, static_cast<std::uint32_t>(rows));
    if (!has_columns(in) || (whole_numbers_ && !sums.valid())) return false;
    Hour at = 0;
    for (int row = 0; row < rows; ++row) {
      CostKey key;
      CostSum sum;
      if (!cost_key(in, row, at, key)) return false;
      const bool read =
          whole_numbers_ ? sums.read(static_cast<std::uint32_t>(row), sum) : older_sum(in, row, sum);
      if (!read || !takes(sizeof key + sizeof sum + key.fingerprint.size() + key.name.size() +
                          key.kind.size() + key.source.size()))
        return false;
      if (!out.costs.try_emplace(std::move(key), sum).second) return false;
    }
    return true;
  }

  bool elapsed_sum(const v1::SummaryRuns& in, int row, std::uint64_t& out) const {
    if (whole_numbers_) {
      out = in.elapsed_total(row);
      return true;
    }
    const double number = in.elapsed_sum(row);
    if (!amount(number)) return false;
    out = number < 0x1p64 ? static_cast<std::uint64_t>(number) : UINT64_MAX;
    return true;
  }

  bool runs(Summary& out) {
    const v1::SummaryRuns& in = block_.runs();
    const int rows = in.hour_size();
    for (const int size : {in.uid_size(), in.fingerprint_size(), in.executions_size(), in.failed_size(),
                           in.elapsed_min_size(), in.elapsed_max_size()}) {
      if (size != rows) return false;
    }
    if (in.elapsed_sum_size() != (whole_numbers_ ? 0 : rows) ||
        in.elapsed_total_size() != (whole_numbers_ ? rows : 0))
      return false;
    // Older files have none of these.
    const bool detailed = in.buckets_size() != 0;
    if (detailed &&
        (in.buckets_size() != rows || in.result_rows_known_size() != rows || in.result_rows_size() != rows))
      return false;
    // Nor this one, and newer ones have it only where it says something.
    const bool some_untimed = in.untimed_size() != 0;
    if (some_untimed && in.untimed_size() != rows) return false;
    const bool some_not_drawn = in.not_drawn_size() != 0;
    if (some_not_drawn && in.not_drawn_size() != rows) return false;
    Hour at = 0;
    int bucket = 0;
    for (int i = 0; i < rows; ++i) {
      RunKey key;
      std::uint64_t elapsed = 0;
      if (!hour(in.hour(i), at) || !uid(in.uid(i), key.uid) || !has(in.fingerprint(i)) ||
          !elapsed_sum(in, i, elapsed) || in.executions(i) == 0 || in.failed(i) > in.executions(i))
        return false;
      key.hour = at;
      key.fingerprint = text(in.fingerprint(i));
      if (!takes(sizeof key + key.fingerprint.size())) return false;
      RunSum sum{in.executions(i), in.failed(i), elapsed, in.elapsed_min(i), in.elapsed_max(i)};
      if (some_untimed) sum.untimed = in.untimed(i);
      if (sum.untimed > sum.executions) return false;
      if (detailed && !details(in, i, bucket, sum)) return false;
      if (some_not_drawn) sum.not_drawn = in.not_drawn(i);
      if (sum.not_drawn > sum.executions) return false;
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
      const bool fits = number < ElapsedBuckets::kMostBuckets && count <= out.timed() - executions;
      if (!fits || !out.elapsed.put(static_cast<std::uint32_t>(number), count)) return false;
      executions += count;
    }
    return true;
  }

  bool others(Summary& out) {
    for (const v1::SummaryHour& in : block_.hours()) {
      if (!is_row(in.hour())) return false;
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
  const bool whole_numbers_;  // version 2
  std::uint64_t left_;
};

// Within the memory that a file of its size may take.
Result<Summary> parse_summary(const std::string& payload, std::uint16_t version) {
  BoundedArena arena(memory_budget(payload.size()));
  try {
    auto* block = google::protobuf::Arena::CreateMessage<v1::SummaryBlock>(arena.get());
    if (!block->ParseFromString(payload)) return internal("the summary's block is no message");
    return Decoder(*block, version, memory_budget(payload.size())).decode();
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
  block.set_days_until(summary.days_until);
  Plans plans(block);
  encode_costs(summary, texts, plans, *block.mutable_costs());
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
  const auto header =
      encode(FileHeader{FileKind::kSummary, kVersionMinor, summary.last, 0, kSummaryVersionMajor});
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
    auto parsed = parse_summary((*block)->payload, header->version_major);
    if (!parsed) return parsed.error();
    summary = std::move(*parsed);
  }
  if (!summary || !report.clean() || report.tail_bytes != 0) return internal("the summary is damaged");
  return std::move(*summary);
}

}  // namespace tailor::store
