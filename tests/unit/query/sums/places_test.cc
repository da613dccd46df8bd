// Where unattributed samples were: by file, by function, and without any of them.
#include "daemon/query/sums/places.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/symbols/symbols.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

// A function of this program, found by its address.
extern "C" [[gnu::noinline, gnu::used]] int tailor_places_test_function(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

std::string program() {
  char path[4096] = {};
  return ::readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : "";
}

// How this process has the program mapped where `address` is.
profile::MappingRecord mapping_of(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0, offset = 0;
    std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset);
    if (address >= begin && address < end)
      return {test::kSampleProcess, 0, begin, end - begin, offset, program()};
  }
  return {};
}

profile::SampleRecord sample_at(std::uint64_t address, profile::Reason reason, bool kernel) {
  profile::SampleRecord sample;
  sample.time = test::kSampleStart + 1;
  sample.process = test::kSampleProcess;
  sample.mode = kernel ? profile::Mode::kKernel : profile::Mode::kUser;
  sample.weight = 100;
  sample.ip = kernel ? 0xffffffff81000000 : address;
  sample.user_ip = address;
  sample.attribution.reason = reason;
  sample.attribution.kernel = kernel;
  return sample;
}

TEST(Places, AreFunctionsByReason) {
  const auto address = reinterpret_cast<std::uint64_t>(&tailor_places_test_function);
  ProfileLoader loader({});
  test::give_context(loader);
  profile::RecordingInfo info;
  info.wall_clock_ns = INT64_MAX / 2;  // after the program was linked
  loader.on_recording(info);
  loader.on_mapping({test::kSampleProcess, 0, 0, ~std::uint64_t{0}, 0, "/nonexistent/earlier"});
  loader.on_mapping(mapping_of(address));
  using profile::Reason;
  loader.on_samples(std::vector{sample_at(address, Reason::kUnknownUserCode, false),
                                sample_at(address + 1, Reason::kUnknownUserCode, false),
                                sample_at(address, Reason::kUnknownKernel, true),
                                sample_at(0, Reason::kNoRegisters, false),
                                sample_at(0x1234, Reason::kUnknownUserCode, false)});
  const Profile profile = loader.finish();
  const auto places = unattributed_places(profile, {}, 0, 10);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[0].where,
            "tailor_places_test_function (" + program().substr(program().rfind('/') + 1) + ")");
  EXPECT_EQ(places[0].reason, Reason::kUnknownUserCode);
  EXPECT_EQ(places[0].amount.weight, 200);
  EXPECT_FALSE(places[0].kernel);
  std::set<std::string> rest;
  for (std::size_t i = 1; i < places.size(); ++i) rest.insert(places[i].where);
  EXPECT_EQ(rest, (std::set<std::string>{places[0].where, "unknown address", "earlier+0x1234"}));
  EXPECT_EQ(unattributed_places(profile, {}, 0, 2).size(), 2u);
  Selection other;
  other.process = ProcessId{1, 1};
  EXPECT_TRUE(unattributed_places(profile, other, 0, 10).empty());
}

TEST(Places, FilesThatAreNoneAreHarmless) {
  const std::string folder = testing::TempDir() + "tailor-places";
  ::mkdir(folder.c_str(), 0700);
  const std::string fifo = folder + "/fifo", cut = folder + "/cut", text = folder + "/text";
  ::unlink(fifo.c_str());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::ofstream(text) << "no ELF file";
  EXPECT_FALSE(FunctionNames::read(fifo).ok());
  EXPECT_FALSE(FunctionNames::read(text).ok());
  EXPECT_FALSE(FunctionNames::read(folder).ok());
  EXPECT_FALSE(FunctionNames::read("/nonexistent").ok());
  // Every way to be cut short, and every byte of the header wrong.
  std::stringstream content;
  content << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  const std::string whole = content.str();
  for (std::size_t i = 0; i < 64; i += 5) {
    std::string damaged = whole.substr(0, i % 2 == 0 ? whole.size() : whole.size() * i / 64);
    if (i < damaged.size()) damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    std::ofstream(cut, std::ios::binary) << damaged;
    if (auto names = FunctionNames::read(cut); names.ok()) names->at(0x1000);
  }
  const StoredNames nothing_stored;
  Symbols symbols(nothing_stored);
  EXPECT_EQ(symbols.name(text, 0x10), "text+0x10");
}

// A library that was upgraded since has other functions at these offsets.
TEST(Places, AFileThatWasChangedSinceItWasMappedGivesNoNames) {
  const auto address = reinterpret_cast<std::uint64_t>(&tailor_places_test_function);
  const profile::MappingRecord mapping = mapping_of(address);
  const std::uint64_t offset = address - mapping.begin + mapping.file_offset;
  struct stat facts{};
  ASSERT_EQ(::stat(program().c_str(), &facts), 0);
  const std::int64_t written = facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
  const StoredNames nothing_stored;
  const auto name = [&](std::int64_t mapped) {
    return Symbols(nothing_stored).name(program(), offset, RecordedFile{.mapped_ns = mapped});
  };
  EXPECT_TRUE(name(written).starts_with("tailor_places_test_function "));
  EXPECT_FALSE(name(written - 1).starts_with("tailor_places_test_function "));
}

}  // namespace
}  // namespace tailor::query
