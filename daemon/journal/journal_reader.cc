#include "daemon/journal/journal_reader.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "daemon/journal/journal_format.h"
#include "daemon/store/crc32c.h"
#include "proto/base/errors.h"

namespace tailor::journal {
namespace {

std::uint32_t get_u32(const std::uint8_t* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

}  // namespace

Status JournalReader::check_header() {
  std::array<std::uint8_t, kHeaderBytes> header{};
  auto got = input_.read_at(0, header);
  if (!got.ok()) return got.error();
  if (*got != kHeaderBytes || std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    return invalid("this is not a journal");
  }
  const std::uint32_t version = get_u32(header.data() + kMagic.size());
  if (version != kVersion) {
    return invalid(fmt::format("a journal of format {}, this program reads {}", version, kVersion));
  }
  offset_ = kHeaderBytes;
  return Ok{};
}

Result<bool> JournalReader::next(v1::JournalRecord& record) {
  std::array<std::uint8_t, kFrameBytes> frame{};
  auto got = input_.read_at(offset_, frame);
  if (!got.ok()) return got.error();
  if (*got == 0) return false;
  if (*got != kFrameBytes) return damage("is cut short");
  const std::uint32_t size = get_u32(frame.data());
  if (size > kMaxPayload) return damage("has an impossible length");
  payload_.resize(size);
  got = input_.read_at(offset_ + kFrameBytes, payload_);
  if (!got.ok()) return got.error();
  if (*got != size) return damage("is cut short");
  if (store::crc32c(payload_) != get_u32(frame.data() + 4)) return damage("fails its checksum");
  if (!record.ParseFromArray(payload_.data(), static_cast<int>(size))) return damage("cannot be decoded");
  offset_ += kFrameBytes + size;
  return true;
}

Error JournalReader::damage(const std::string& what) const {
  return internal(fmt::format("journal: the record at byte {} {}", offset_, what));
}

}  // namespace tailor::journal
