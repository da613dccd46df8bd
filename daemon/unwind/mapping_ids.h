// Puts build ids into the records of mappings, as the kernel would (mapped_file_id.h says why it is not
// asked), and content ids where files have none (capture::kContentMark). It also says
// which image of the vDSO a process has (daemon/os/vdso.h). It stands before all that reads these records, so
// that they look the same wherever the id was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/os/os.h"
#include "daemon/unwind/file_work.h"
#include "daemon/unwind/mapped_file_id.h"
#include "daemon/unwind/parents.h"
#include "daemon/unwind/patience.h"

namespace tailor::unwind {

struct MappingIdCounts {
  std::uint64_t found = 0;
  std::uint64_t none = 0;    // the file has none, or was not found for certain
  std::uint64_t unread = 0;  // it was not read by then, or there were too many
};

// Control thread only.
class MappingIds {
 public:
  // Finds an id, where files are read.
  using Find = std::function<std::string(const MappedFile& file)>;

  // `run`: see FileWork. `os` must outlive this. `find` finds build ids, `find_content` the ids of files that
  // have none; without both, those of this host.
  MappingIds(os::Os& os, FileWork::Run run, Find find = {}, Find find_content = {});

  void ring(const capture::RingLayout& layout);
  void closed(capture::RingIndex ring) { times_.erase(ring); }

  // False: a record waits for a file, as long as `patience` lets it; call again with the same chunk. A chunk
  // that was taken has all the ids that were found. NULL: nobody waits.
  bool take(capture::RingChunk& chunk, Patience* patience);
  // The same at the end of a recording, when nobody is behind it: it waits a while itself.
  void take_last(capture::RingChunk& chunk);

  const MappingIdCounts& counts() const { return counts_; }

 private:
  struct Ids {
    std::vector<std::string> of_file;
    std::size_t bytes() const { return 0; }  // nothing stays
  };
  using Waited = std::shared_ptr<Awaited<Ids>>;
  struct Asked {
    std::size_t at = 0;    // of the record in its chunk, in bytes
    std::size_t file = 0;  // in the ids of its user
    Waited ids = {}, contents = {};
    std::shared_ptr<const std::vector<MappedFile>> files = {};
    const std::string& id() const { return ids->value.of_file[file]; }
    bool lacks_id() const { return has_answer(ids) && id().empty(); }
  };
  class Question;
  // Path, device, inode and generation, as records have them.
  using File = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>;

  // A record of code of the kernel's own, as each process of 64 bits has it.
  struct OwnVdso {
    std::size_t at = 0;  // in its chunk, in bytes
    std::uint64_t begin = 0, size = 0;
  };

  void forked(std::span<const std::byte> record);
  std::vector<std::int32_t> ancestors_of(std::int32_t pid, const File& file);
  void ask(const capture::RingChunk& chunk);
  static File asked_file(const capture::MappingBytes& told);
  std::map<std::uint32_t, Question> collect(const capture::RingChunk& chunk);
  void ask_contents();
  static bool has_answer(const Waited& asked);
  bool await(Waited Asked::* asked, Patience& patience) const;
  void await_last(Waited Asked::* asked);
  void answer(capture::RingChunk& chunk);
  void answer_vdsos(capture::RingChunk& chunk);

  static constexpr std::size_t kMostFiles = 4096, kMostPlaces = 8;  // of a user in a chunk; of a file
  static constexpr std::size_t kMostSeen = 1024;
  os::Os& os_;
  FileWork work_;
  const Find find_content_, find_;
  // How far before the end of a record its time stands, in bytes; 0: it has none in our time base.
  std::map<capture::RingIndex, std::size_t> times_;
  Parents parents_;
  std::map<File, std::vector<std::int32_t>> seen_from_;  // the ancestors of who mapped it last
  bool asked_for_ = false;                               // the chunk that take() has begun
  bool asked_for_contents_ = false;
  std::vector<Asked> asked_;
  std::vector<OwnVdso> vdsos_;
  TimeNs last_wait_left_;
  MappingIdCounts counts_;
};

}  // namespace tailor::unwind
