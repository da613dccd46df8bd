#include "daemon/unwind/cfi_table.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>

#include "daemon/unwind/cfi_cursor.h"
#include "daemon/unwind/cfi_rules.h"

namespace tailor::unwind {

CfiTable CfiTable::parse(std::span<const std::byte> bytes, std::uint64_t address) {
  CfiTable table;
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) bytes = {};
  table.bytes_.assign(bytes.begin(), bytes.end());
  table.address_ = address;
  static std::atomic<std::uint64_t> serials{0};
  table.serial_ = ++serials;
  table.parse_from(0, Section::kEhFrame);
  std::ranges::sort(table.entries_, {}, &Entry::begin);
  return table;
}

// False: there is no other one.
bool CfiTable::next_record(CfiCursor& cursor, std::size_t from, Section section, Record& out) const {
  constexpr std::uint32_t kLong = 0xFFFFFFFF;
  if (cursor.at_end()) return false;
  out.start = from + cursor.position();
  std::uint64_t length = cursor.fixed<std::uint32_t>();
  const bool is_long = length == kLong;
  // 64-bit records do not occur in .eh_frame, and a length of 0 is its end.
  if (section == Section::kEhFrame && (length == 0 || is_long)) return false;
  if (is_long) length = cursor.fixed<std::uint64_t>();
  out.id_at = from + cursor.position();
  out.id_size = is_long ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
  CfiCursor fields(cursor.block(length), 0);
  out.id = is_long ? fields.fixed<std::uint64_t>() : fields.fixed<std::uint32_t>();
  out.body = fields.rest();
  return cursor.ok();
}

void CfiTable::parse_from(std::size_t from, Section section) {
  std::map<std::size_t, std::uint32_t> common_at;  // by offset of the record
  CfiCursor cursor(std::span<const std::byte>(bytes_).subspan(from), address_ + from);
  const bool eh = section == Section::kEhFrame;
  for (Record record; next_record(cursor, from, section, record);) {
    const std::uint64_t common_id = record.id_size == sizeof(std::uint64_t) ? UINT64_MAX : UINT32_MAX;
    if (record.id == (eh ? 0 : common_id)) {
      Common common;
      if (parse_common(record, section, common)) {
        common_at[record.start] = static_cast<std::uint32_t>(common_.size());
        common_.push_back(common);
      } else {
        ++refused_;
      }
      continue;
    }
    // So far before its own place in .eh_frame, so far behind the section's begin in .debug_frame.
    const bool fits = record.id <= (eh ? record.id_at : bytes_.size() - from);
    const auto known =
        fits ? common_at.find(eh ? record.id_at - record.id : from + record.id) : common_at.end();
    if (known == common_at.end() || !parse_entry(record, known->second)) ++refused_;
  }
}

bool CfiTable::parse_entry(const Record& record, std::uint32_t number) {
  const Common& common = common_[number];
  const std::size_t body_at = record.id_at + record.id_size;
  CfiCursor fields(record.body, address_ + body_at);
  const std::uint64_t begin = fields.pointer(common.pointer_encoding);
  const std::uint64_t size = fields.pointer(common.pointer_encoding, true);
  if (common.sized) fields.skip(fields.uleb());
  if (!fields.ok() || size == 0 || begin + size < begin || fields.rest().size() > CfiWork::kMostProgramBytes)
    return false;
  entries_.push_back({begin, begin + size, static_cast<std::uint32_t>(body_at + fields.position()),
                      static_cast<std::uint32_t>(fields.rest().size()), number});
  return true;
}

bool CfiTable::is_known(std::span<const Entry> known, const Entry& entry) {
  const auto behind = std::ranges::lower_bound(known, entry.end, {}, &Entry::begin);
  return behind != known.begin() && std::prev(behind)->end > entry.begin;
}

void CfiTable::add_debug_frame(std::span<const std::byte> bytes, std::span<const Range> code) {
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max() - bytes_.size()) return;
  const std::vector<Entry> known = entries_;
  const std::size_t from = bytes_.size();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  parse_from(from, Section::kDebugFrame);
  const auto is_needless = [&](const Entry& entry) {
    const bool in_code = std::ranges::any_of(
        code, [&](const Range& range) { return entry.begin >= range.begin && entry.begin < range.end; });
    return !in_code || is_known(known, entry);
  };
  entries_.erase(std::remove_if(entries_.begin() + static_cast<std::ptrdiff_t>(known.size()), entries_.end(),
                                is_needless),
                 entries_.end());
  std::ranges::sort(entries_, {}, &Entry::begin);
}

bool CfiTable::parse_common(const Record& record, Section section, Common& out) const {
  const std::size_t body_at = record.id_at + record.id_size;
  CfiCursor fields(record.body, address_ + body_at);
  const auto version = fields.fixed<std::uint8_t>();
  const bool is_newest = version == 4 && section == Section::kDebugFrame;
  if (version != 1 && version != 3 && !is_newest) return false;
  std::string augmentation;
  for (char c; (c = static_cast<char>(fields.fixed<std::uint8_t>())) != 0;) augmentation += c;
  if (is_newest) {
    const auto address_size = fields.fixed<std::uint8_t>(), segment_size = fields.fixed<std::uint8_t>();
    if (address_size != sizeof(std::uint64_t) || segment_size != 0) return false;
  }
  out.code_alignment = fields.uleb();
  out.data_alignment = fields.sleb();
  const std::uint64_t return_column = version == 1 ? fields.fixed<std::uint8_t>() : fields.uleb();
  if (return_column != kReturnAddress) return false;
  if (!augmentation.empty() && augmentation[0] != 'z') return false;
  if (!augmentation.empty()) {
    out.sized = true;
    const std::uint64_t size = fields.uleb();
    const std::uint64_t block_address = fields.address();
    CfiCursor data(fields.block(size), block_address);
    for (char letter : augmentation.substr(1)) {
      if (letter == 'R') out.pointer_encoding = data.fixed<std::uint8_t>();
      if (letter == 'L') data.fixed<std::uint8_t>();
      if (letter == 'P') data.pointer(data.fixed<std::uint8_t>() & 0x0F, true);
      if (letter == 'S') out.signal = true;
    }
    if (!data.ok()) return false;
  }
  out.offset = static_cast<std::uint32_t>(body_at + fields.position());
  out.size = static_cast<std::uint32_t>(fields.rest().size());
  return fields.ok() && out.size <= CfiWork::kMostProgramBytes;
}

const CfiTable::Entry* CfiTable::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  if (after == entries_.begin()) return nullptr;
  const Entry& entry = *std::prev(after);
  return address < entry.end ? &entry : nullptr;
}

bool CfiTable::run(const Entry& entry, std::uint64_t address, CfiRules& out, std::size_t& work) const {
  const Common& common = common_[entry.common];
  const std::span<const std::byte> all(bytes_);
  CfiProgram program{common.code_alignment,
                     common.data_alignment,
                     common.pointer_encoding,
                     all.subspan(common.offset, common.size),
                     all.subspan(entry.offset, entry.size),
                     address_ + common.offset,
                     address_ + entry.offset};
  return program.run(entry.begin, address, out, work);
}

std::optional<CfiRules> CfiTable::rules_at(std::uint64_t address) const {
  const Entry* entry = find(address);
  CfiRules rules;
  std::size_t work = 0;
  return entry != nullptr && run(*entry, address, rules, work) ? std::optional(rules) : std::nullopt;
}

std::optional<CfiTable::Range> CfiTable::range_at(std::uint64_t address) const {
  const Entry* entry = find(address);
  if (entry == nullptr) return std::nullopt;
  return Range{entry->begin, entry->end};
}

std::vector<CfiTable::Range> CfiTable::ranges() const {
  std::vector<Range> out;
  for (const Entry& entry : entries_) out.push_back({entry.begin, entry.end});
  return out;
}

bool CfiTable::step(Frame& frame, std::uint64_t bias, bool exact, const StackView& stack, bool& signal,
                    CfiWork& work) const {
  const std::uint64_t address = frame.value[kReturnAddress] - bias - (exact ? 0 : 1);
  const Entry* entry = find(address);
  if (entry == nullptr) {
    work.refuse(WalkEnd::kNoRule);
    return false;
  }
  CfiRules own;
  const CfiRules* rules = &own;
  std::size_t cost = 0;
  if (common_[entry->common].size + entry->size < CfiWork::kRemembered) {
    if (!run(*entry, address, own, cost)) {
      work.spend(cost);
      work.refuse(WalkEnd::kNonsense);
      return false;
    }
  } else {
    CfiWork::Slot& slot = work.slot(serial_, address);
    if (slot.table != serial_ || slot.address != address) {
      slot.rules = {};
      slot.works = run(*entry, address, slot.rules, cost);
      slot.table = serial_;
      slot.address = address;
    }
    rules = &slot.rules;
    if (!slot.works) {
      work.spend(cost);
      work.refuse(WalkEnd::kNonsense);
      return false;
    }
  }
  const bool done = rules->apply(frame, stack, cost);
  if (!done) work.refuse(rules->why_not(frame, stack, cost));
  work.spend(cost);
  if (!done) return false;
  signal = common_[entry->common].signal;
  return true;
}

}  // namespace tailor::unwind
