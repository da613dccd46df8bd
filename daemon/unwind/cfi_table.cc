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
  table.parse_all();
  return table;
}

void CfiTable::parse_all() {
  std::map<std::size_t, std::uint32_t> common_at;  // by offset of the record
  CfiCursor cursor(bytes_, address_);
  while (!cursor.at_end()) {
    const std::size_t start = cursor.position();
    const std::uint32_t length = cursor.fixed<std::uint32_t>();
    if (length == 0 || length == 0xFFFFFFFF) break;  // the end; 64-bit records do not occur in .eh_frame
    const std::size_t id_at = cursor.position();
    const auto body = cursor.block(length);
    if (!cursor.ok()) break;
    CfiCursor fields(body, address_ + id_at);
    const std::uint32_t id = fields.fixed<std::uint32_t>();
    if (id == 0) {
      Common common;
      if (parse_common(id_at, body, common)) {
        common_at[start] = static_cast<std::uint32_t>(common_.size());
        common_.push_back(common);
      } else {
        ++refused_;
      }
      continue;
    }
    const auto known = id <= id_at ? common_at.find(id_at - id) : common_at.end();
    if (known == common_at.end()) {
      ++refused_;
      continue;
    }
    const Common& common = common_[known->second];
    const std::uint64_t begin = fields.pointer(common.pointer_encoding);
    const std::uint64_t size = fields.pointer(common.pointer_encoding, true);
    if (common.sized) fields.skip(fields.uleb());
    if (!fields.ok() || size == 0 || begin + size < begin ||
        fields.rest().size() > CfiWork::kMostProgramBytes) {
      ++refused_;
      continue;
    }
    entries_.push_back({begin, begin + size, static_cast<std::uint32_t>(id_at + fields.position()),
                        static_cast<std::uint32_t>(fields.rest().size()), known->second});
  }
  std::ranges::sort(entries_, {}, &Entry::begin);
}

bool CfiTable::parse_common(std::size_t offset, std::span<const std::byte> body, Common& out) const {
  CfiCursor fields(body, address_ + offset);
  fields.skip(sizeof(std::uint32_t));
  const auto version = fields.fixed<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  std::string augmentation;
  for (char c; (c = static_cast<char>(fields.fixed<std::uint8_t>())) != 0;) augmentation += c;
  out.code_alignment = fields.uleb();
  out.data_alignment = fields.sleb();
  const std::uint64_t return_column = version == 1 ? fields.fixed<std::uint8_t>() : fields.uleb();
  if (return_column != kReturnAddress) return false;
  if (!augmentation.empty() && augmentation[0] != 'z') return false;
  if (!augmentation.empty()) {
    out.sized = true;
    const std::uint64_t size = fields.uleb();
    const std::size_t at = fields.position();
    const std::uint64_t block_address = fields.address();
    CfiCursor data(fields.block(size), block_address);
    for (char letter : augmentation.substr(1)) {
      if (letter == 'R') out.pointer_encoding = data.fixed<std::uint8_t>();
      if (letter == 'L') data.fixed<std::uint8_t>();
      if (letter == 'P') data.pointer(data.fixed<std::uint8_t>() & 0x0F, true);
      if (letter == 'S') out.signal = true;
    }
    if (!data.ok() || at + size < at) return false;
  }
  out.offset = static_cast<std::uint32_t>(offset + fields.position());
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
  if (entry == nullptr) return false;
  CfiRules own;
  const CfiRules* rules = &own;
  std::size_t cost = 0;
  if (common_[entry->common].size + entry->size < CfiWork::kRemembered) {
    if (!run(*entry, address, own, cost)) {
      work.spend(cost);
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
      return false;
    }
  }
  const bool done = rules->apply(frame, stack, cost);
  work.spend(cost);
  if (!done) return false;
  signal = common_[entry->common].signal;
  return true;
}

}  // namespace tailor::unwind
