// The container of perf.data: headers, perf's own records, compression
// (Linux, tools/perf/Documentation/perf.data-file-format.txt). The contents of the kernel's records are
// decoded elsewhere. Sans I/O; bytes are not trusted.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/formats/perf_order.h"
#include "proto/base/result.h"

namespace tailor::formats {

using PerfBytes = std::span<const std::byte>;

// An event of the recording.
struct PerfAttr {
  perf_event_attr attr{};
  std::vector<std::uint64_t> ids;
  std::string name;  // "" not said
};

// A recording has a handful of events, with an id for each CPU or thread. More are there to do harm.
inline constexpr std::size_t kMostPerfEvents = 1024, kMostPerfIds = std::size_t{1} << 20;
// Fails beyond these.
Status check_perf_counts(std::size_t events, std::size_t ids);

struct PerfBuildId {
  std::int32_t pid = 0;  // -1: of the host's kernel or any process
  std::string build_id;  // in hexadecimal
  std::string path;
};

// What describes the recording as a whole; as far as the file says.
struct PerfDescription {
  std::string host, kernel, cpu, command;
  std::string arch;  // of the machine, as uname -m says it there
  std::uint32_t cpus = 0;
  // The same moment by the recording's clock and by CLOCK_REALTIME; 0: not said.
  std::uint64_t clock_ns = 0, wall_ns = 0;
  std::int32_t clock_id = -1;
  std::vector<PerfBuildId> build_ids;
};

struct PerfSection {
  std::uint64_t offset = 0, size = 0;
};

// The beginning of a file.
struct PerfHeader {
  ByteOrder order = ByteOrder::kOurs;
  bool pipe = false;  // records follow at once; all else comes in records of their own
  // The recorder was killed before it wrote how many records there are: they go on to the end of the file,
  // and nothing follows them.
  bool unfinished = false;
  PerfSection records;  // of a pipe and of an unfinished file: as large as can be
  PerfSection attrs;
  std::uint64_t attr_size = 0;
  std::uint64_t features = 0;  // bits of the sections that follow the records
};
inline constexpr std::size_t kPerfHeaderBytes = 104;

// `bytes`: the first kPerfHeaderBytes of the file, or all there is. Fails for what is no perf.data.
Result<PerfHeader> parse_perf_header(PerfBytes bytes);
bool is_perf_data(PerfBytes first_bytes);

// Reads a piece of a file: as many of `size` bytes at `offset` as there are.
using PerfReadAt = std::function<Result<std::vector<std::byte>>(std::uint64_t offset, std::uint64_t size)>;
// The events of a file that is no pipe. Fails where they do not fit the file.
Result<std::vector<PerfAttr>> read_perf_attrs(const PerfHeader& header, const PerfReadAt& read);
// Names of events go into `attrs`. Odd parts are left out: the description is an extra.
PerfDescription read_perf_description(const PerfHeader& header, const PerfReadAt& read,
                                      std::vector<PerfAttr>& attrs);

// Goes through records, piece by piece.
class PerfRecords {
 public:
  class Taker {
   public:
    virtual ~Taker() = default;
    // One whole record of the kernel, of a file of the other byte order, is brought into ours in its place
    // (PerfSwap). The calls below get it then.
    virtual void to_our_order(std::span<std::byte> record) = 0;
    // Whole records of the kernel, in the order of the file, as many as came together.
    virtual Status kernel_records(PerfBytes bytes) = 0;
    // A PERF_RECORD_LOST_SAMPLES. True: it is the recorder's own (PerfLosses), else it comes with the others.
    virtual bool recorders_losses(PerfBytes record) = 0;
    // An event is announced (pipe mode).
    virtual Status event(PerfAttr attr) = 0;
    // The name of the event that has that id.
    virtual void event_name(std::uint64_t id, std::string name) = 0;
    // A part of the description (pipe mode).
    virtual void described(const PerfDescription& so_far) = 0;
    // perf had read all rings once: what comes from now on is not older than the newest before the last
    // round.
    virtual Status round() = 0;
  };

  // `offset`: where in its file the first byte is, for messages.
  explicit PerfRecords(Taker& taker, std::uint64_t offset = 0, ByteOrder order = ByteOrder::kOurs);
  ~PerfRecords();

  // The bytes that follow those of the calls before, in pieces of any size. An error, after which nothing
  // more may be given, where compressed data is damaged, where it grows beyond all that a recorder packs, or
  // where the taker says so. Bytes behind a record with an impossible size are counted and passed over to the
  // end.
  Status feed(PerfBytes bytes);
  // This number of bytes that come next belongs to no record, and need not be read: pass_over() says that
  // they were not.
  std::uint64_t ahead() const { return outer_.skip; }
  void pass_over(std::uint64_t bytes);
  // Nothing says where the next record begins: what follows is not worth reading.
  bool broken() const { return outer_.broken; }
  // There is no more. The beginning of a record that did not come whole counts as cut.
  void finish();

  // Where in its file the next byte is; of a broken stream, where what is no record begins.
  std::uint64_t offset() const { return outer_.broken ? broken_at_ : offset_; }
  std::uint64_t tool_records() const { return tool_records_; }  // of perf itself
  std::uint64_t cut_bytes() const { return cut_bytes_; }
  // How many bytes of records of the tool did not come. After finish().
  std::uint64_t missing_bytes() const { return missing_bytes_; }

 private:
  struct Stream {  // of records: the file's, or what was compressed in it
    std::vector<std::byte> waiting;
    std::uint64_t skip = 0;
    bool broken = false;
  };
  struct Unpacker;

  Status feed(Stream& stream, PerfBytes bytes, bool inner);
  Result<std::size_t> take_all(Stream& stream, PerfBytes bytes, bool inner);
  Status tool_record(const perf_event_header& header, PerfBytes payload, bool inner);
  Status unpack(PerfBytes packed);
  Status check_growth(std::size_t packed) const;

  Taker& taker_;
  ByteOrder order_;
  Stream outer_, inner_;
  std::unique_ptr<Unpacker> unpacker_;
  PerfDescription description_;
  std::uint64_t offset_, broken_at_ = 0;  // in the file
  std::uint64_t packed_ = 0, unpacked_ = 0;
  std::uint64_t tool_records_ = 0, cut_bytes_ = 0, missing_bytes_ = 0;
};

}  // namespace tailor::formats
