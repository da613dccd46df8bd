// The owner of each sample's code, through the whole road: records of the kernel, agents and jitdumps that
// speak late and out of order, forks and programs that execute others. Attribution and the timeline of
// reports agree with a model that is slow and plain.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/code/code_timelines.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

constexpr std::uint64_t kPageBytes = 0x1000, kPlaces = 0x100000, kPages = 6;
constexpr std::uint64_t kProgram = 0x1000;  // below all else, as the kernel maps it
constexpr TimeNs kStep = 20'000'000, kLatest = 150'000'000, kMicro = 1000;
constexpr std::uint64_t kSaidOf = 64;  // bytes of a piece of code, at the begin of its page

// Rules to leave out of the model, to see that the test notices.
enum class Lacking { kNothing, kFilesEndCode, kProgramsEndCode, kInheritance, kTimes, kMemoryEndsFiles };

enum class What { kFile, kMemory, kLoad, kUnload, kExec };

struct Told {
  TimeNs time = 0, arrival = 0;
  What what = What::kFile;
  std::uint64_t begin = 0, end = 0;  // pages
  std::string file;
  CodeId code = 0;
};

struct Sampled {
  std::size_t life = 0;
  TimeNs time = 0;
  std::uint64_t page = 0;
  bool inside = false;  // of code, if there is some on the page
};

// A process, or what it was before it was forked.
struct Life {
  ProcessId id;
  std::size_t parent = SIZE_MAX;
  TimeNs forked = 0;
  std::vector<Told> told;
  bool has_agent = false;
  TimeNs speaks_since = 0;    // its agent
  TimeNs last_arrival = 0;    // of what its agent said
  CodeId said = 0, more = 0;  // the last number that its agent said, and what the profile adds to it
  std::vector<std::pair<CodeId, std::uint64_t>> loaded;  // and their pages
};

class Model {
 public:
  Model(const std::vector<Life>& lives, Lacking lacking) : lives_(lives), lacking_(lacking) {}

  // "": nobody's.
  std::string owner(const Sampled& sample) const {
    const State at = state(sample.life, sample.page, sample.time);
    if (at.code != 0 && sample.inside) return code_text(lives_[at.of].id, at.code);
    return at.file;
  }
  static std::string code_text(ProcessId process, CodeId code) {
    return "code " + std::to_string(code) + " of " + std::to_string(process.pid);
  }

 private:
  struct State {
    std::string file;
    std::uint64_t begin = 0;  // of the file
    std::size_t of = 0;       // whose code
    CodeId code = 0;
  };

  State state(std::size_t life, std::uint64_t page, TimeNs time) const {
    const Life& of = lives_[life];
    State now;
    if (of.parent != SIZE_MAX && lacking_ != Lacking::kInheritance) now = state(of.parent, page, of.forked);
    std::vector<Told> told = of.told;
    const bool by_arrival = lacking_ == Lacking::kTimes;
    std::ranges::stable_sort(told, {}, by_arrival ? &Told::arrival : &Told::time);
    for (const Told& each : told) {
      const bool counts = (by_arrival ? each.arrival : each.time) <= time;
      if (counts && each.begin <= page && page < each.end) apply(each, life, now);
    }
    return now;
  }

  void apply(const Told& told, std::size_t life, State& now) const {
    const bool same = now.file == told.file && now.begin == told.begin;
    switch (told.what) {
      case What::kFile:
        if (!same && lacking_ != Lacking::kFilesEndCode) now.code = 0;
        now.file = told.file;
        now.begin = told.begin;
        return;
      case What::kMemory:
        if (lacking_ != Lacking::kMemoryEndsFiles) now.file.clear();
        return;
      case What::kLoad:
        now.of = life;
        now.code = told.code;
        return;
      case What::kUnload:
        if (now.of == life && now.code == told.code) now.code = 0;
        return;
      case What::kExec:
        now.file.clear();
        if (lacking_ != Lacking::kProgramsEndCode) now.code = 0;
        return;
    }
  }

  const std::vector<Life>& lives_;
  Lacking lacking_;
};

class RoadSink : public test::CollectingSink {
 public:
  void on_process(const profile::ProcessRecord& process) override { timelines.on_process(process); }
  void on_mapping(const profile::MappingRecord& mapping) override { timelines.on_mapping(mapping); }
  void on_code(ProcessId process, TimeNs time, const v1::CodeObject& code) override {
    if (code.told_by() != v1::TOLD_BY_JITDUMP)
      timelines.on_code(process, time, code.id(), code.base(), code.code().size());
  }
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override {
    timelines.on_code_unload(process, time, code);
  }
  query::CodeTimelines timelines;
};

// One random history. What is told of a moment arrives up to kLatest later, in any order, but an agent's
// unloading behind its loading, and an agent behind the one that it replaces.
class Road {
 public:
  explicit Road(std::uint32_t seed) : random_(seed) {
    script_.open();
    Life engine{.id = {42, 7}}, runtime{.id = {50, 1}};
    engine.has_agent = true;
    lives_ = {engine, runtime};
    hello(0, kMicro, 1);
    hello(1, kMicro, registration::kSpeakers + 1);
    const std::uint64_t steps = 6 + up_to(18);
    for (std::uint64_t i = 1; i <= steps; ++i) step(static_cast<TimeNs>(i) * kStep);
    play();
  }

  int differences(Lacking lacking) {
    const Model model(lives_, lacking);
    int wrong = sink_.samples.size() != samples_.size() ? 1 : 0;
    for (const profile::SampleRecord& each : sink_.samples) {
      const auto of = std::ranges::find(samples_, each.time, &Sampled::time);
      if (of == samples_.end()) return wrong + 1;
      const std::string owner = model.owner(*of);
      const CodeId code = each.attribution.code;
      const std::string own = code == 0 ? "" : Model::code_text(lives_[of->life].id, code);
      const bool is_own = owner.ends_with(" of " + std::to_string(each.process.pid));
      wrong += own != (is_own ? owner : "") ? 1 : 0;
      wrong += by_reports(each, own) != owner ? 1 : 0;
    }
    return wrong;
  }

 private:
  std::uint64_t up_to(std::uint64_t most) { return random_() % (most + 1); }
  TimeNs late(TimeNs time) { return time + static_cast<TimeNs>(up_to(kLatest)); }
  void at(TimeNs arrival, std::function<void()> what) { arrivals_.emplace_back(arrival, std::move(what)); }
  static std::uint64_t address(std::uint64_t page) { return kPlaces + page * kPageBytes; }

  // Reports know the code of jitdumps by the profile's code, which attribution has named.
  std::string by_reports(const profile::SampleRecord& sample, const std::string& own) {
    const auto [state, of] = sink_.timelines.find(sample.process, sample.ip, sample.time);
    if (sample.process.pid == 50 && !own.empty()) return own;
    if (state.code != 0) return Model::code_text(of, state.code);
    const bool file = state.mapped.kind == query::MappedCode::Kind::kFile;
    return file ? sink_.timelines.files()[state.mapped.file].path : "";
  }

  void hello(std::size_t life, TimeNs time, std::uint64_t connection) {
    at(time, [this, life, time, connection] {
      const ProcessId process = lives_[life].id;
      script_.hello(process, connection, time, "instance " + std::to_string(connection));
      script_.load(process, time, test::small_plan(1));
    });
  }

  void step(TimeNs time) {
    const std::size_t life = up_to(lives_.size() - 1);
    const std::uint64_t dice = up_to(19);
    if (dice < 4) return map(life, time, true);
    if (dice < 6) return map(life, time, false);
    if (dice < 10) return load(life, time);
    if (dice < 12) return unload(life, time);
    if (dice == 12) return fork(life, time);
    if (dice == 13) return execute(life, time);
    sample(life, time);
  }

  void map(std::size_t life, TimeNs time, bool file) {
    Told told{time, late(time)};
    told.what = file ? What::kFile : What::kMemory;
    told.begin = up_to(kPages - 1);
    told.end = told.begin + 1 + up_to(std::min<std::uint64_t>(1, kPages - 1 - told.begin));
    if (file) told.file = "/lib/" + std::to_string(up_to(2)) + ".so";
    lives_[life].told.push_back(told);
    at(told.arrival, [this, told, pid = lives_[life].id.pid] {
      const std::string path = told.file.empty() ? "//anon" : told.file;
      script_.map(pid, told.time, address(told.begin), (told.end - told.begin) * kPageBytes, path);
    });
  }

  // An agent, or a jitdump: children have neither.
  void load(std::size_t life, TimeNs time) {
    Life& of = lives_[life];
    if (life > 1 || time <= of.speaks_since) return sample(life, time);
    Told told{time, late(time), What::kLoad};
    told.begin = up_to(kPages - 1);
    told.end = told.begin + 1;
    const CodeId said = ++of.said;
    told.code = said + of.more;
    of.told.push_back(told);
    of.last_arrival = std::max(of.last_arrival, told.arrival);
    if (of.has_agent) of.loaded.emplace_back(said, told.begin);
    at(told.arrival, [this, told, said, process = of.id, agent = of.has_agent] {
      v1::CodeObject code = test::small_code(said, 1, address(told.begin));
      code.set_load_tsc(static_cast<std::uint64_t>(told.time));
      if (!agent) code.set_told_by(v1::TOLD_BY_JITDUMP);
      script_.load(process, told.arrival, code);
    });
  }

  void unload(std::size_t life, TimeNs time) {
    Life& of = lives_[life];
    if (of.loaded.empty()) return sample(life, time);
    const auto [said, page] = of.loaded[up_to(of.loaded.size() - 1)];
    std::erase(of.loaded, std::pair(said, page));
    const CodeId code = said + of.more;
    const auto load = std::ranges::find(of.told, code, &Told::code);
    Told told{time, std::max(late(time), load->arrival + 1), What::kUnload, page, page + 1};
    told.code = code;
    of.told.push_back(told);
    of.last_arrival = std::max(of.last_arrival, told.arrival);
    at(told.arrival,
       [this, said = said, time, process = of.id] { script_.unload_code(process, time, said); });
  }

  void fork(std::size_t life, TimeNs time) {
    if (life == 1) return sample(life, time);
    const std::int32_t parent = lives_[life].id.pid, pid = 60 + static_cast<std::int32_t>(lives_.size());
    lives_.push_back({.id = {pid, 0}, .parent = life, .forked = time});
    at(late(time), [this, parent, pid, time] { script_.forks(parent, pid, time); });
  }

  void execute(std::size_t life, TimeNs time) {
    if (life == 1) return sample(life, time);
    Life& of = lives_[life];
    if (time <= of.speaks_since) return sample(life, time);
    Told told{time, late(time), What::kExec, 0, kPages};
    of.told.push_back(told);
    at(told.arrival, [this, time, pid = of.id.pid] { script_.executes(pid, time); });
    at(late(time),
       [this, time, pid = of.id.pid] { script_.map(pid, time + kMicro, kProgram, kPageBytes, "/bin/next"); });
    if (!of.has_agent) return;
    // The next program's agent has the socket once the one before was heard to its end.
    of.speaks_since = std::max(late(time), of.last_arrival + 1);
    of.more += of.said;
    of.said = 0;
    of.loaded.clear();
    hello(life, of.speaks_since, ++connections_);
  }

  void sample(std::size_t life, TimeNs time) {
    const Sampled one{life, time, up_to(kPages - 1), up_to(3) != 0};
    samples_.push_back(one);
    at(late(time), [this, one, pid = lives_[life].id.pid] {
      script_.sample(pid, pid, one.time, address(one.page) + (one.inside ? 24 : 2 * kSaidOf));
    });
  }

  void play() {
    std::ranges::stable_sort(arrivals_, {}, &std::pair<TimeNs, std::function<void()>>::first);
    for (auto& [time, what] : arrivals_) {
      what();
      script_.read();
      const TimeNs heard = std::max<TimeNs>(0, time - kLatest - 1);
      for (std::size_t speaker : {0u, 1u}) script_.settle(lives_[speaker].id, heard);
      pipeline_.advance(time);
    }
    pipeline_.flush(arrivals_.back().first + 10 * kLatest);
  }

  std::minstd_rand random_;
  RoadSink sink_;
  Pipeline pipeline_{sink_};
  test::ScriptedInput script_{pipeline_};
  std::vector<Life> lives_;
  std::vector<Sampled> samples_;
  std::vector<std::pair<TimeNs, std::function<void()>>> arrivals_;
  std::uint64_t connections_ = 1;
};

int differences_of(std::uint32_t histories, Lacking lacking, std::uint32_t first = 1) {
  int wrong = 0;
  for (std::uint32_t seed = first; seed < first + histories; ++seed) {
    const int more = Road(seed).differences(lacking);
    if (more != 0 && wrong == 0 && lacking == Lacking::kNothing) ADD_FAILURE() << "history " << seed;
    wrong += more;
  }
  return wrong;
}

TEST(CodeRoadModel, NamesTheOwnerOfEachSample) {
  EXPECT_EQ(differences_of(2'000, Lacking::kNothing), 0);
}

TEST(CodeRoadModel, DiffersFromAModelThatLacksARule) {
  for (const Lacking lacking : {Lacking::kFilesEndCode, Lacking::kProgramsEndCode, Lacking::kInheritance,
                                Lacking::kTimes, Lacking::kMemoryEndsFiles})
    EXPECT_GT(differences_of(500, lacking), 0) << static_cast<int>(lacking);
}

// A million, with `./dev test --full`.
class CodeRoadModelLong : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(CodeRoadModelLong, DISABLED_NamesTheOwnerOfEachSample) {
  EXPECT_EQ(differences_of(200'000, Lacking::kNothing, GetParam() * 200'000 + 10'001), 0);
}

INSTANTIATE_TEST_SUITE_P(Parts, CodeRoadModelLong, ::testing::Range(0u, 5u));

}  // namespace
}  // namespace tailor::pipeline
