#include "daemon/journal/replay.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "daemon/journal/journal_codec.h"
#include "daemon/journal/journal_format.h"
#include "daemon/store/crc32c.h"
#include "daemon/store/file_writer.h"
#include "proto/base/errors.h"

namespace tailor::journal {
namespace {

std::uint32_t get_u32(const std::uint8_t* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

// Reads frames one after the other.
class FrameReader {
 public:
  explicit FrameReader(store::Input& input) : input_(input) {}

  Status check_header() {
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

  // False at the end of the file.
  Result<bool> next(v1::JournalRecord& record) {
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

  Error damage(const std::string& what) const {
    return internal(fmt::format("journal: the record at byte {} {}", offset_, what));
  }

 private:
  store::Input& input_;
  std::uint64_t offset_ = 0;
  std::vector<std::uint8_t> payload_;
};

}  // namespace

Result<ReplayReport> replay(store::Input& journal, profile::ProfileSink& sink) {
  FrameReader reader(journal);
  Status header = reader.check_header();
  if (!header.ok()) return header.error();
  std::optional<pipeline::Pipeline> pipeline;
  ReplayReport report;
  v1::JournalRecord record;
  while (true) {
    auto more = reader.next(record);
    if (!more.ok()) return more.error();
    if (!*more) break;
    ++report.records;
    if (record.has_start() != !pipeline.has_value() || report.complete)
      return reader.damage("is out of place");
    if (record.has_start()) {
      pipeline.emplace(sink, decode(record.start()));
    } else if (record.has_end()) {
      report.complete = true;
    } else if (Status given = deliver(record, *pipeline); !given.ok()) {
      return reader.damage("makes no sense: " + given.error().message);
    }
  }
  return report;
}

Result<ReplayReport> replay_file(const std::string& journal, const std::string& output) {
  auto input = store::open_file(journal);
  if (!input.ok()) return input.error();
  auto file = store::FileWriter::create(output, store::Existing::kReplace);
  if (!file.ok()) return file.error();
  auto report = replay(**input, **file);
  Status finished = (*file)->finish();
  if (!report.ok()) return report;
  if (!finished.ok()) return finished.error();
  return report;
}

}  // namespace tailor::journal
