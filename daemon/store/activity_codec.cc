#include "daemon/store/activity_codec.h"

#include "daemon/store/block.h"
#include "daemon/store/columns.h"
#include "daemon/store/thread_table.h"
#include "proto/base/errors.h"

namespace tailor::store {

v1::ActivityBlock encode_activity(std::span<const profile::ActivityRecord> records) {
  v1::ActivityBlock out;
  out.set_block_rows(static_cast<std::uint32_t>(records.size()));
  ThreadTableWriter threads(*out.mutable_threads());
  std::uint64_t time = 0, a = 0;
  for (const profile::ActivityRecord& r : records) {
    out.add_thread(threads.of(r.process, r.tid));
    out.add_time(wrapping_difference(static_cast<std::uint64_t>(r.time), time));
    out.add_kind(static_cast<std::uint32_t>(r.kind));
    out.add_id(r.id);
    out.add_a(wrapping_difference(r.a, a));
    out.add_b(r.b);
    time = static_cast<std::uint64_t>(r.time);
    a = r.a;
  }
  shrink_column(*out.mutable_thread());
  shrink_column(*out.mutable_time());
  shrink_column(*out.mutable_kind());
  shrink_column(*out.mutable_id());
  shrink_column(*out.mutable_a());
  shrink_column(*out.mutable_b());
  return out;
}

Result<std::vector<profile::ActivityRecord>> decode_activity(const v1::ActivityBlock& in) {
  const std::uint32_t rows = in.block_rows();
  if (rows > kMaxBlockRows) return internal("activity: more rows than a block may have");
  const ColumnReader thread(in.thread(), rows), kind(in.kind(), rows), id(in.id(), rows);
  const ColumnReader time(in.time(), rows), a(in.a(), rows);
  const ColumnReader b(in.b(), rows);
  if (!thread.valid() || !kind.valid() || !id.valid() || !time.valid() || !a.valid() || !b.valid()) {
    return internal("activity: a column has another number of rows");
  }
  std::vector<profile::ActivityRecord> records(rows);
  std::uint64_t running_time = 0, running_a = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    profile::ActivityRecord& r = records[row];
    if (!thread_at(in.threads(), thread.at(row), r.process, r.tid))
      return internal("activity: no such thread");
    if (kind.at(row) > TAILOR_LOG_ITERATION) return internal("activity: unknown kind");
    running_time += static_cast<std::uint64_t>(time.at(row));
    running_a += static_cast<std::uint64_t>(a.at(row));
    r.time = static_cast<TimeNs>(running_time);
    r.kind = static_cast<tailor_log_kind>(kind.at(row));
    r.id = id.at(row);
    r.a = running_a;
    r.b = b.at(row);
  }
  return records;
}

}  // namespace tailor::store
