// Code objects that are told of in any order, by a model that is slow and plain.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "daemon/process/code_index.h"

namespace tailor::process {
namespace {

constexpr std::uint64_t kAddresses = 12;
constexpr TimeNs kMoments = 24;
constexpr CodeId kIds = 5;

// Rules to leave out, to see that the test notices.
enum class Broken { kNothing, kLateEndsNewer, kUnloadHasNoTime, kOverlapEndsNothing, kFilesEndNewer };

// All that was told, in that order.
class Model {
 public:
  explicit Model(Broken broken) : broken_(broken) {}

  bool knows(CodeId id, TimeNs loaded) const {
    return std::ranges::any_of(all_,
                               [&](const Told& each) { return each.id == id && each.loaded == loaded; });
  }
  bool add(CodeId id, std::uint64_t base, std::uint64_t end, TimeNs loaded, std::uint64_t seen) {
    if (live(id) != nullptr) return false;
    const std::vector<CodeId> before = live_ids();
    all_.push_back({id, base, end, loaded, seen});
    for (const CodeId each : before) {
      if (live(each) == nullptr) await(each);
    }
    if (live(id) == nullptr) await(id);
    return true;
  }
  bool remove(CodeId id, TimeNs time) {
    Told* now = live(id);
    const auto awaited = awaited_.find(id);
    if (now == nullptr && awaited == awaited_.end()) return false;
    const bool any_time = broken_ == Broken::kUnloadHasNoTime;
    const bool of_live = now != nullptr && (any_time || now->loaded <= time);
    const bool of_awaited = awaited != awaited_.end() && awaited->second.loaded <= time;
    if (of_live && !(of_awaited && awaited->second.loaded > now->loaded)) {
      now->removed = std::max(time, now->loaded);
    } else if (of_awaited) {
      for (Told& each : all_) {
        if (each.id == id && each.loaded == awaited->second.loaded) each.removed = time;
      }
      awaited_.erase(awaited);
    }
    return true;
  }
  void end_code(std::uint64_t begin, std::uint64_t end, TimeNs loaded_before, TimeNs time) {
    const std::vector<CodeId> before = live_ids();
    for (Told& each : all_) {
      const bool older = each.loaded < loaded_before || broken_ == Broken::kFilesEndNewer;
      if (older && begin < each.end && each.base < end)
        each.covered = std::min(each.covered, std::max(loaded_before, time));
    }
    for (const CodeId each : before) {
      if (live(each) == nullptr) await(each);
    }
  }
  std::vector<CodeId> remove_unseen(std::uint64_t seen, TimeNs time) {
    std::vector<CodeId> gone = live_ids();
    std::erase_if(gone, [&](CodeId id) { return live(id)->seen == seen; });
    for (const CodeId id : gone) {
      Told* each = live(id);
      each->removed = std::max(time, each->loaded);
    }
    std::erase_if(awaited_, [&](const auto& each) { return each.second.seen != seen; });
    return gone;
  }
  void trim(TimeNs watermark) {
    std::vector<Told> stay;
    for (const Told& each : all_) {
      if (end_of(each) > watermark) stay.push_back(each);
    }
    all_ = stay;
  }
  // Never two.
  CodeId find(std::uint64_t address, TimeNs time) const {
    CodeId found = 0;
    for (const Told& each : all_) {
      const bool there = address >= each.base && address < each.end && each.loaded <= time;
      if (there && end_of(each) > time) found = each.id;
    }
    return found;
  }

 private:
  struct Told {
    CodeId id = 0;
    std::uint64_t base = 0, end = 0;
    TimeNs loaded = 0;
    std::uint64_t seen = 0;
    TimeNs removed = kTimeMax, covered = kTimeMax;
  };

  TimeNs end_of(const Told& code) const {
    TimeNs end = std::min(code.removed, code.covered);
    for (const Told& each : all_) {
      const bool said_later = &each > &code;
      const bool newer = each.loaded > code.loaded || (each.loaded == code.loaded && said_later);
      const bool ends = broken_ == Broken::kLateEndsNewer ? said_later : newer;
      if (ends && each.base < code.end && code.base < each.end && broken_ != Broken::kOverlapEndsNothing)
        end = std::min(end, std::max(each.loaded, code.loaded));
    }
    return end;
  }
  Told* live(CodeId id) {
    for (Told& each : all_) {
      if (each.id == id && end_of(each) == kTimeMax) return &each;
    }
    return nullptr;
  }
  std::vector<CodeId> live_ids() {
    std::vector<CodeId> ids;
    for (CodeId id = 1; id <= kIds; ++id) {
      if (live(id) != nullptr) ids.push_back(id);
    }
    return ids;
  }
  void await(CodeId id) {
    const auto last = std::find_if(all_.rbegin(), all_.rend(), [&](const Told& each) {
      return each.id == id && each.removed == kTimeMax;
    });
    if (last != all_.rend()) awaited_[id] = *last;
  }

  Broken broken_;
  std::vector<Told> all_;
  std::map<CodeId, Told> awaited_;
};

// How often the index and the model differ.
int differences(std::uint32_t seed, Broken broken) {
  std::minstd_rand random(seed);
  const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
  const auto moment = [&] { return static_cast<TimeNs>(up_to(kMoments)); };
  CodeIndex index({});
  Model model(broken);
  TimeNs watermark = -1;
  std::uint64_t seen = 1;
  int wrong = 0;
  for (std::uint64_t i = 0, most = 2 + up_to(12); i < most; ++i) {
    const std::uint64_t dice = up_to(17);
    const CodeId id = 1 + up_to(kIds - 1);
    const TimeNs time = moment();
    if (dice < 9) {
      CodeState code;
      code.id = id;
      code.base = up_to(kAddresses - 1);
      code.end = code.base + 1 + up_to(kAddresses - 1 - code.base);
      code.loaded = time;
      code.seen = seen;
      if (model.knows(id, time)) continue;
      const bool added = model.add(id, code.base, code.end, time, seen);
      wrong += index.add(std::move(code)).ok() != added;
    } else if (dice < 14) {
      wrong += index.remove(id, time) != model.remove(id, time);
    } else if (dice == 14) {
      watermark = std::max(watermark, time / 2);
      index.trim(watermark);
      model.trim(watermark);
    } else if (dice > 15) {
      const std::uint64_t begin = up_to(kAddresses - 1), end = begin + 1 + up_to(kAddresses - 1 - begin);
      const TimeNs later = time + static_cast<TimeNs>(up_to(3));
      index.end_code(begin, end, time, later);
      model.end_code(begin, end, time, later);
    } else {
      seen += up_to(1);
      wrong += index.remove_unseen(seen, time) != model.remove_unseen(seen, time);
    }
    for (int question = 0; question < 4; ++question) {
      const std::uint64_t address = up_to(kAddresses);
      const TimeNs at = std::max(moment(), watermark + 1);
      const CodeState* code = index.find(address, at);
      wrong += (code == nullptr ? 0 : code->id) != model.find(address, at);
    }
  }
  return wrong;
}

int differences_of(std::uint32_t sequences, Broken broken, std::uint32_t first = 1) {
  int wrong = 0;
  for (std::uint32_t seed = first; seed < first + sequences; ++seed) wrong += differences(seed, broken);
  return wrong;
}

TEST(CodeIndexModel, IsTheModelsInRandomSequences) {
  EXPECT_EQ(differences_of(30'000, Broken::kNothing), 0);
}

// A million, with `./dev test --full`.
class CodeIndexModelLong : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(CodeIndexModelLong, DISABLED_IsTheModelsInRandomSequences) {
  EXPECT_EQ(differences_of(200'000, Broken::kNothing, GetParam() * 200'000 + 1), 0);
}

INSTANTIATE_TEST_SUITE_P(Parts, CodeIndexModelLong, ::testing::Range(0u, 5u));

TEST(CodeIndexModel, DiffersFromAModelThatLacksARule) {
  for (const Broken broken : {Broken::kLateEndsNewer, Broken::kUnloadHasNoTime, Broken::kOverlapEndsNothing,
                              Broken::kFilesEndNewer})
    EXPECT_GT(differences_of(2'000, broken), 0) << static_cast<int>(broken);
}

}  // namespace
}  // namespace tailor::process
