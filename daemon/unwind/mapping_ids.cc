#include "daemon/unwind/mapping_ids.h"

#include <linux/perf_event.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/os/host_files.h"
#include "daemon/os/vdso.h"
#include "daemon/profile/mapped_kind.h"
#include "proto/base/file_id.h"
#include "proto/base/hex.h"

namespace tailor::unwind {
namespace {

// Of all that a recording's end waits for.
constexpr TimeNs kLastWait = 1'000'000'000;
// Where a record has its file: behind header, process, thread, address, length and offset.
constexpr std::size_t kFileAt = 40, kFileBytes = 24, kMostIdBytes = 20, kIdAt = 4;

TimeNs wall_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// What stands from the time on in struct sample_id (perf_event.h).
std::size_t time_from_end(const capture::RingLayout& layout) {
  if (layout.formats.empty() || layout.clock != capture::RecordClock::kMonotonicRaw) return 0;
  const capture::EventFormat& format = layout.formats.front();
  if (!format.sample_id_all || (format.sample_type & PERF_SAMPLE_TIME) == 0) return 0;
  constexpr std::uint64_t kBehind =
      PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  return sizeof(std::uint64_t) * (1u + static_cast<unsigned>(std::popcount(format.sample_type & kBehind)));
}

// Nothing: it has none in our time base.
std::optional<TimeNs> time_of(std::span<const std::byte> record, std::size_t from_end) {
  if (from_end == 0 || record.size() < kFileAt + kFileBytes + from_end) return std::nullopt;
  TimeNs time = 0;
  std::memcpy(&time, record.data() + record.size() - from_end, sizeof time);
  return time;
}

bool names_file(const capture::MappingBytes& told) {
  return told.build_id.empty() && told.inode != 0 && told.path.starts_with('/') &&
         !told.path.starts_with("//");
}

bool is_vdso(const capture::MappingBytes& told) {
  return told.build_id.empty() && told.path == profile::kVdsoPath;
}

// As the kernel writes it, or with a mark of our own. False: it would not fit.
bool put_id(std::span<std::byte> record, std::string_view id) {
  const bool of_content = is_content_id(id);
  if (of_content) id.remove_prefix(kContentId.size());
  const std::size_t size = id.size() / 2;
  std::byte file[kFileBytes]{};
  if (size == 0 || size > kMostIdBytes || (of_content && size != kMostIdBytes)) return false;
  if (!read_hex(id, std::span(file).subspan(kIdAt, size))) return false;
  file[0] = static_cast<std::byte>(size);
  if (of_content) std::ranges::copy(capture::kContentMark, file);
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof header);
  header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
  std::memcpy(record.data(), &header, sizeof header);
  std::memcpy(record.data() + kFileAt, file, sizeof file);
  return true;
}

}  // namespace

// What is asked of the files of a user's processes.
class MappingIds::Question {
 public:
  std::map<File, std::size_t> numbers;
  std::vector<MappedFile> files;
  std::vector<std::pair<std::size_t, std::size_t>> records;  // where they begin, and their files

  // False: there are too many files.
  bool add(std::size_t at, const File& file, const capture::MappingBytes& told, TimeNs mapped,
           const std::vector<std::int32_t>& ancestors) {
    const auto number = number_of(file);
    if (!number) return false;
    add_place(files[*number], told, mapped, ancestors);
    records.emplace_back(at, *number);
    return true;
  }

 private:
  // Nothing: there are too many.
  std::optional<std::size_t> number_of(const File& file) {
    const auto known = numbers.find(file);
    if (known != numbers.end()) return known->second;
    if (files.size() >= kMostFiles) return std::nullopt;
    MappedFile fresh;
    std::tie(fresh.path, fresh.device_major, fresh.device_minor, fresh.inode, fresh.generation) = file;
    fresh.mapped = kTimeMax;
    numbers.emplace(file, files.size());
    files.push_back(std::move(fresh));
    return files.size() - 1;
  }
  static void add_place(MappedFile& file, const capture::MappingBytes& told, TimeNs mapped,
                        const std::vector<std::int32_t>& ancestors) {
    file.mapped = std::min(file.mapped, mapped);
    if (file.places.size() >= kMostPlaces) return;
    file.places.push_back({told.pid, told.begin, told.begin + told.size});
    for (const std::int32_t pid : ancestors) {
      if (std::ranges::find(file.ancestors, pid) == file.ancestors.end()) file.ancestors.push_back(pid);
    }
  }
};

MappingIds::MappingIds(os::Os& os, FileWork::Run run, Find find, Find find_content)
    : os_(os),
      work_(std::move(run)),
      find_content_(find || find_content
                        ? std::move(find_content)
                        : [proc = os.proc()](const MappedFile& file) { return content_id_of(proc, file); }),
      find_(find ? std::move(find)
                 : [proc = os.proc()](const MappedFile& file) { return build_id_of(proc, file); }),
      last_wait_left_(kLastWait) {}

void MappingIds::ring(const capture::RingLayout& layout) {
  times_[layout.ring] = time_from_end(layout);
}

void MappingIds::forked(std::span<const std::byte> record) {
  capture::ByteCursor fields(record.subspan(sizeof(perf_event_header)));
  const std::int32_t child = fields.i32(), parent = fields.i32();
  if (fields.ok()) parents_.forked(child, parent);
}

// The record of its begin may be in a ring that is read later. Then those are good that others who mapped the
// file had.
std::vector<std::int32_t> MappingIds::ancestors_of(std::int32_t pid, const File& file) {
  std::vector<std::int32_t> found = parents_.above(pid);
  const auto seen = seen_from_.find(file);
  if (found.empty()) return seen == seen_from_.end() ? found : seen->second;
  if (seen != seen_from_.end()) {
    seen->second = found;
  } else {
    if (seen_from_.size() >= kMostSeen) seen_from_.clear();
    seen_from_.emplace(file, found);
  }
  return found;
}

void MappingIds::ask(const capture::RingChunk& chunk) {
  std::map<std::uint32_t, Question> questions = collect(chunk);
  if (questions.empty()) return;
  work_.begin_walk(os_.now());
  for (auto& [user, question] : questions) {
    const auto files = std::make_shared<const std::vector<MappedFile>>(std::move(question.files));
    const auto ids = work_.begin<Ids>(user, [find = find_, files] {
      Ids found;
      for (const MappedFile& file : *files) found.of_file.push_back(find(file));
      return found;
    });
    for (const auto& [at, file] : question.records)
      asked_.push_back({.at = at, .file = file, .ids = ids, .files = files});
  }
}

// What is read of a process's memory is read of each process.
MappingIds::File MappingIds::asked_file(const capture::MappingBytes& told) {
  const bool vdso = is_vdso(told);
  return {std::string(told.path), told.device_major, told.device_minor, vdso ? told.begin : told.inode,
          vdso ? static_cast<std::uint64_t>(told.pid) : told.generation};
}

// By user.
std::map<std::uint32_t, MappingIds::Question> MappingIds::collect(const capture::RingChunk& chunk) {
  const auto ring = times_.find(chunk.ring);
  const std::size_t from_end = ring == times_.end() ? 0 : ring->second;
  const TimeNs now = os_.now(), to_wall = wall_clock() - now;
  std::map<std::uint32_t, Question> questions;
  std::map<std::int32_t, std::uint32_t> users;
  capture::for_each_record(
      chunk.bytes, [&](const perf_event_header& header, std::span<const std::byte> record) {
        if (header.type == PERF_RECORD_FORK) return forked(record);
        if (header.type != PERF_RECORD_MMAP2) return;
        const auto told = capture::read_executable_mapping(record);
        if (!told || (!names_file(*told) && !is_vdso(*told))) return;
        const auto at = static_cast<std::size_t>(record.data() - chunk.bytes.data());
        // Each process of 64 bits has ours: nobody's memory is read.
        if (is_vdso(*told) && told->begin >= os::kLowestOfWideVdso)
          return vdsos_.push_back({at, told->begin, told->size});
        const auto [user, fresh] = users.try_emplace(told->pid, kNoUser);
        if (fresh) user->second = os::owner_of(os_.proc() / std::to_string(told->pid)).value_or(kNoUser);
        const File file = asked_file(*told);
        const TimeNs mapped = std::min(time_of(record, from_end).value_or(now), now) + to_wall;
        if (!questions[user->second].add(at, file, *told, mapped, ancestors_of(told->pid, file)))
          ++counts_.unread;
      });
  return questions;
}

bool MappingIds::has_answer(const Waited& asked) {
  return asked != nullptr && asked->is_done() && !asked->refused;
}

// Apart from the build ids, which nobody has to wait longer for than they take.
void MappingIds::ask_contents() {
  if (!find_content_) return;
  std::map<const Progress*, Waited> begun;
  for (Asked& each : asked_) {
    if (!each.lacks_id()) continue;
    const auto [contents, fresh] = begun.try_emplace(each.ids.get());
    if (fresh) {
      contents->second =
          work_.begin<Ids>(each.ids->user(), [find = find_content_, files = each.files, ids = each.ids] {
            Ids found;
            for (std::size_t i = 0; i < files->size(); ++i)
              found.of_file.push_back(ids->value.of_file[i].empty() ? find((*files)[i]) : std::string());
            return found;
          });
    }
    each.contents = contents->second;
  }
}

// False: not yet.
bool MappingIds::await(Waited Asked::* asked, Patience& patience) const {
  for (const Asked& each : asked_) {
    const Waited& wanted = each.*asked;
    if (wanted == nullptr || wanted->is_done()) continue;
    if (patience.ask(*wanted) == Patience::Answer::kLater) return false;
  }
  return true;
}

void MappingIds::await_last(Waited Asked::* asked) {
  for (const Asked& each : asked_) {
    const Waited& wanted = each.*asked;
    if (wanted == nullptr || wanted->is_done() || last_wait_left_ <= 0) continue;
    const TimeNs began = os_.now();
    (void)wanted->wait(last_wait_left_);
    last_wait_left_ -= os_.now() - began;
  }
}

bool MappingIds::take(capture::RingChunk& chunk, Patience* patience) {
  if (!std::exchange(asked_for_, true)) ask(chunk);
  if (patience != nullptr) {
    if (!await(&Asked::ids, *patience)) return false;
    if (!std::exchange(asked_for_contents_, true)) ask_contents();
    if (!await(&Asked::contents, *patience)) return false;
  }
  answer(chunk);
  return true;
}

void MappingIds::take_last(capture::RingChunk& chunk) {
  if (!std::exchange(asked_for_, true)) ask(chunk);
  await_last(&Asked::ids);
  if (!std::exchange(asked_for_contents_, true)) ask_contents();
  await_last(&Asked::contents);
  answer(chunk);
}

void MappingIds::answer_vdsos(capture::RingChunk& chunk) {
  for (const OwnVdso& each : vdsos_) {
    const std::string id = os::vdso_id({}, each.begin, each.begin + each.size);
    perf_event_header header;
    std::memcpy(&header, chunk.bytes.data() + each.at, sizeof header);
    const bool found = put_id(std::span(chunk.bytes).subspan(each.at, header.size), id);
    ++(found ? counts_.found : counts_.none);
  }
  vdsos_.clear();
}

void MappingIds::answer(capture::RingChunk& chunk) {
  for (const Asked& each : asked_) {
    const bool unread = !has_answer(each.ids) || (each.contents != nullptr && !has_answer(each.contents));
    if (unread) {
      ++counts_.unread;
      continue;
    }
    const bool of_content = each.lacks_id() && each.contents != nullptr;
    const std::string& id = of_content ? each.contents->value.of_file[each.file] : each.id();
    perf_event_header header;
    std::memcpy(&header, chunk.bytes.data() + each.at, sizeof header);
    const bool found = put_id(std::span(chunk.bytes).subspan(each.at, header.size), id);
    ++(found ? counts_.found : counts_.none);
  }
  answer_vdsos(chunk);
  asked_.clear();
  asked_for_ = asked_for_contents_ = false;
}

}  // namespace tailor::unwind
