// Gives the functions that a running recording hits their names, so that the store keeps them: each data
// segment has the names of its own samples. A file is read soon after it was hit, on a thread of its user; a
// name that is known is given again when another segment needs it, whatever has become of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "daemon/os/user_threads.h"
#include "daemon/profile/sink.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/session/live_hits.h"
#include "daemon/session/names_budget.h"

namespace tailor::session {

struct NamerOptions {
  std::uint64_t budget = names_budget(0);           // bytes of names in the store
  std::size_t known_bytes = std::size_t{16} << 20;  // of names, in memory
  LiveHits::Limits hits = {};
  // The number of the data segment that samples go to, and of the oldest one that is kept. The second is
  // asked when the first has changed.
  std::function<std::uint64_t()> segment = [] { return 1; }, oldest = [] { return 1; };
};

// One thread, which never waits for a file. A sink of what the recording gives out, behind the store.
class FunctionNamer {
 public:
  explicit FunctionNamer(NamerOptions options);
  FunctionNamer(const FunctionNamer&) = delete;
  FunctionNamer& operator=(const FunctionNamer&) = delete;

  profile::ProfileSink& sink() { return hits_; }
  // Before the first sample. `kept` is called on other threads, also when this is gone.
  void begin(LiveHits::FindFile find_file, LiveHits::FindUser find_user, query::FindKept kept);
  void set_budget(std::uint64_t bytes) { budget_.set_most(bytes); }

  // What can be named by now, and was not given for the data segment at work. `last`: the recording ends, and
  // files are read without delay.
  std::vector<profile::FileNames> take(TimeNs now, bool last = false);
  // Files are being read, or are to be.
  bool is_pending() const { return reading_ + waiting_ > 0; }
  // Whose names were left out, in the data segment at work: for people; "" nobody's that was not told yet.
  std::string take_problem();

 private:
  using Function = profile::FileNames::Function;
  using Offsets = std::map<std::uint32_t, std::unordered_set<std::uint64_t>>;  // by user
  struct File {
    std::uint32_t user = kNobodyKnown;            // who hit it first
    std::map<std::uint64_t, Function> functions;  // that are known, by begin
    std::unordered_set<std::uint64_t> nameless;   // offsets
    std::set<std::uint64_t> given;                // functions, by begin, for the data segment at work
    bool told = false;                            // that it has no names
    std::string file_id;                          // FileNames::file_id, of the file that was read
    Offsets waiting;                              // that nobody looked up
    bool reading = false;
    TimeNs next = kTimeMin;  // when it may be read again
    std::size_t bytes = 0;
    std::uint64_t used = 0;  // when, in turns
  };
  using Files = std::map<NamedFile, File>;
  struct Read {
    NamedFile name;
    profile::FileNames names;
    Offsets offsets;  // that were looked up
    TimeNs took = 0;
  };
  struct Results;  // what the threads hand over

  void follow_segment();
  void take_hits();
  void take_read(TimeNs now);
  void learn(const NamedFile& name, File& file, const Read& read);
  static const Function* find(const File& file, std::uint64_t offset);
  void start_reading(const NamedFile& name, File& file);
  void give(const NamedFile& name, File& file, std::uint32_t user, const std::set<std::uint64_t>& begins);
  void give_nameless(const NamedFile& name, File& file, std::uint32_t user);
  bool write(std::uint32_t user, const profile::FileNames& names);
  void count(File& file, std::size_t bytes);
  void bound_memory();

  const NamerOptions options_;
  LiveHits hits_;
  NamesBudget budget_;
  query::FindKept kept_;
  std::shared_ptr<Results> results_;  // of the threads too
  os::UserThreads threads_{4};
  Files files_;
  std::size_t bytes_ = 0;  // of all of them
  std::size_t reading_ = 0, waiting_ = 0;
  std::uint64_t segment_, turn_ = 0;
  std::vector<profile::FileNames> out_;
  std::map<std::uint32_t, std::size_t> given_;  // to users in this turn, bytes
  std::map<std::uint32_t, bool> left_out_;      // users, and whether that was told
};

}  // namespace tailor::session
