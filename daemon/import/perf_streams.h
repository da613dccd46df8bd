// The records of a recording, from one file or from the files of a directory (`perf record --threads`): each
// has records of the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/formats/perf_file.h"
#include "daemon/import/perf_feed.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::importer {

// As many of `size` bytes at `offset` as there are.
Result<std::vector<std::byte>> read_piece(store::Input& file, std::uint64_t offset, std::uint64_t size);

// How much of the records could be read.
struct PerfReading {
  std::uint64_t bytes = 0;         // of records, without what was passed over
  std::uint64_t missing = 0;       // that the file should have, and has not
  std::uint64_t cut = 0;           // at the end, which are no whole record
  std::uint64_t tool_records = 0;  // of perf itself
  bool broken = false;  // nothing says where the records behind `broken_at` begin: they are not read
  std::uint64_t broken_at = 0;
  std::string broken_file;  // of a directory: which; "" its main file
};

// One thread; everything passed to the constructor must outlive it.
class PerfStreams {
 public:
  // `order`: of all its files.
  PerfStreams(PerfFeed& feed, formats::ByteOrder order) : feed_(feed), order_(order) {}

  // Records between two places of a file; `sized`: all of `where` should be there, else they go on to the
  // file's end.
  void add(store::Input& file, formats::PerfSection where, bool sized, std::string name);
  // Gives the feed all records: of each file in its order, of several files those first whose times are.
  // `after`: asked now and then with the bytes that were read; its error ends it all.
  Result<PerfReading> read(const std::function<Status(std::uint64_t)>& after);

 private:
  struct Stream {
    store::Input& file;
    formats::PerfSection where;
    bool sized;
    std::string name;
    std::unique_ptr<formats::PerfRecords> records;
    std::uint64_t done = 0;
    TimeNs newest = kTimeMin;  // sample
    bool over = false;
  };

  Status step(Stream& stream, PerfReading& out);
  static Status pass_over(Stream& stream, PerfReading& out);
  static void end(Stream& stream, PerfReading& out);

  PerfFeed& feed_;
  formats::ByteOrder order_;
  std::vector<Stream> streams_;
};

}  // namespace tailor::importer
