#include "compiler/tagging/row_table_builder.h"

#include <algorithm>
#include <limits>

#include "proto/base/errors.h"

namespace tailor::tagging {
namespace {

RowFlag normalise(RowFlag flag, Link link) {
  if (flag == RowFlag::kPrologue) return flag;
  if (link.none()) return RowFlag::kUnmapped;
  if (flag == RowFlag::kExact && link.is_set()) return RowFlag::kShared;
  return flag;
}

}  // namespace

void RowTableBuilder::add(std::uint32_t offset, std::span<const ComponentId> ids, RowFlag flag) {
  add_own(offset, flag == RowFlag::kPrologue ? Link() : pool_.intern(ids), flag);
}

void RowTableBuilder::add(std::uint32_t offset, Link link, const LinkPool& pool, RowFlag flag) {
  if (flag == RowFlag::kPrologue || !link.is_set()) {
    return add_own(offset, flag == RowFlag::kPrologue ? Link() : link, flag);
  }
  if (link.index() >= own_.size()) own_.resize(pool.sets().size());
  Link& own = own_.at(link.index());
  if (own.none()) own = pool_.intern(pool.sets()[link.index()]);
  add_own(offset, own, flag);
}

void RowTableBuilder::add_own(std::uint32_t offset, Link link, RowFlag flag) {
  Row row{offset, link, normalise(flag, link)};
  if (!rows_.empty() && rows_.back().offset == offset) rows_.pop_back();
  if (!rows_.empty() && rows_.back().link == row.link && rows_.back().flag == row.flag) return;
  rows_.push_back(row);
}

tailor::v1::RowTable RowTableBuilder::build() const {
  tailor::v1::RowTable table;
  const int count = static_cast<int>(rows_.size());
  auto& offsets = *table.mutable_offset_delta();
  auto& links = *table.mutable_link_delta();
  std::string& flags = *table.mutable_flags();
  offsets.Reserve(count);
  links.Reserve(count);
  flags.reserve(rows_.size());
  std::uint32_t offset = 0;
  std::int64_t link = 0;
  for (const Row& row : rows_) {
    offsets.AddAlreadyReserved(row.offset - offset);
    links.AddAlreadyReserved(static_cast<std::int32_t>(row.link.wire() - link));
    flags += static_cast<char>(row.flag);
    offset = row.offset;
    link = row.link.wire();
  }
  for (const auto& set : pool_.sets()) table.add_link_sets()->mutable_ids()->Add(set.begin(), set.end());
  return table;
}

RowCoverage coverage_of(std::span<const Row> rows, std::uint32_t code_bytes) {
  RowCoverage coverage;
  auto& unmapped = coverage.bytes[static_cast<std::size_t>(RowFlag::kUnmapped)];
  unmapped = rows.empty() ? code_bytes : std::min(rows.front().offset, code_bytes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::uint32_t end = i + 1 < rows.size() ? std::min(rows[i + 1].offset, code_bytes) : code_bytes;
    if (end > rows[i].offset) coverage.bytes[static_cast<std::size_t>(rows[i].flag)] += end - rows[i].offset;
  }
  return coverage;
}

Result<std::vector<Row>> decode_rows(const tailor::v1::RowTable& table) {
  const int count = table.offset_delta_size();
  if (table.link_delta_size() != count || table.flags().size() != static_cast<std::size_t>(count)) {
    return internal("row table: its columns differ in length");
  }
  std::vector<Row> rows;
  rows.reserve(count);
  std::uint64_t offset = 0;
  std::uint32_t link = 0;
  for (int i = 0; i < count; ++i) {
    if (i > 0 && table.offset_delta(i) == 0) return internal("row table: offsets do not rise");
    offset += table.offset_delta(i);
    if (offset > std::numeric_limits<std::uint32_t>::max())
      return internal("row table: an offset is too large");
    link += static_cast<std::uint32_t>(table.link_delta(i));
    auto flag = static_cast<std::uint8_t>(table.flags()[i]);
    if (flag > static_cast<std::uint8_t>(RowFlag::kUnmapped)) return internal("row table: unknown flag");
    Link decoded = Link::from_wire(link);
    if (decoded.is_set() && decoded.index() >= static_cast<std::uint32_t>(table.link_sets_size())) {
      return internal("row table: a link names a set that is not there");
    }
    rows.push_back({static_cast<std::uint32_t>(offset), decoded, static_cast<RowFlag>(flag)});
  }
  return rows;
}

}  // namespace tailor::tagging
