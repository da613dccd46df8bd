// Stacks lead through what CPython generates for its functions (-X perf_jit), as its jitdump describes that.
// One dump is what CPython 3.13 has written (tests/fixtures/cpython_jitdump): distributions' interpreters of
// 3.11 and 3.12 write none. Others are made here after Python/perf_jit_trampoline.c and Python/jit_unwind.c
// of CPython.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/clock/timeline.h"
#include "daemon/os/os.h"
#include "daemon/session/foreign_process.h"
#include "daemon/session/speech.h"
#include "daemon/unwind/process_code.h"
#include "tests/unit/unwind/small_table.h"

namespace tailor::session {
namespace {

constexpr std::uint64_t kOuter = 0x10000, kInner = 0x10080;  // generated, 128 bytes apart
constexpr std::uint64_t kMain = 0x3000, kInterpreter = 0x2000;
constexpr std::uint64_t kBehindCall = 6;  // of each kind of generated code

// The code that is made for each function, and the rules for its frame behind those of all functions.
struct Trampoline {
  std::string code, rules;
  bool keeps_frame_pointer;
};

// CPython 3.13: sub $8, %rsp; call *%rcx; add $8, %rsp; ret.
Trampoline without_frame_pointer() {
  return {std::string("\x48\x83\xEC\x08\xFF\xD1\x48\x83\xC4\x08\xC3", 11),
          std::string("\x44\x0E\x10\x46\x0E\x08", 6), false};  // behind the sub, behind the add
}
// Later ones: push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret.
Trampoline with_frame_pointer() {
  return {std::string("\x55\x48\x89\xE5\xFF\xD1\x5D\xC3", 8),
          std::string("\x41\x0E\x10\x86\x02\x43\x0D\x06\x43\x0C\x07\x08", 12), true};
}

template <typename T>
std::string raw(T value) {
  std::string out(sizeof value, 0);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

std::string padded(std::string bytes, std::size_t to, char with) {
  while (bytes.size() % to != 0) bytes += with;
  return bytes;
}

// A length, and then so much, filled up with DW_CFA_nop.
std::string section(const std::string& body) {
  const std::string whole = padded(raw(0u) + body, 8, 0);
  return raw(static_cast<std::uint32_t>(whole.size() - 4)) + whole.substr(4);
}

std::uint32_t rounded(std::size_t code_size) {
  return static_cast<std::uint32_t>((code_size + 7) / 8 * 8);
}

// What lies behind the code of a function, at the next multiple of 8.
std::string eh_frame(const Trampoline& made) {
  const std::string common =
      section(raw(0u) + std::string("\x01zR\0\x01\x78\x10\x01\x1B", 9) +  // pc-relative
              std::string("\x0C\x07\x08\x90\x01", 5));                    // CFA = rsp + 8
  const auto place = static_cast<std::uint32_t>(common.size()) + 8;
  return common + section(raw(place - 4) + raw(0u - (rounded(made.code.size()) + place)) +
                          raw(static_cast<std::uint32_t>(made.code.size())) + '\0' + made.rules);
}

std::string record(std::uint32_t kind, std::uint64_t time, const std::string& body) {
  return raw(kind) + raw(static_cast<std::uint32_t>(16 + body.size())) + raw(time) + body;
}

// The table, and then its header.
std::string unwinding(std::uint64_t time, const Trampoline& made) {
  const std::string table = eh_frame(made);
  const auto size = static_cast<std::uint32_t>(table.size());
  const std::string header = std::string("\x01\x1B\x03\x3B", 4) + raw(0u - (size + 4)) + raw(1u) +
                             raw(0u - (rounded(made.code.size()) + size)) + raw(0u - (size - 24));
  const std::uint64_t all = table.size() + header.size();
  return record(
      4, time,
      padded(raw(all) + raw(std::uint64_t{header.size()}) + raw((all + 15) / 16 * 16) + table + header, 8,
             0));
}

std::string load(std::uint64_t time, std::uint64_t address, std::uint64_t number, const std::string& name,
                 const Trampoline& made) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return record(0, time,
                raw(pid) + raw(pid) + raw(address) + raw(address) + raw(std::uint64_t{made.code.size()}) +
                    raw(number) + name + '\0' + made.code);
}

// This process has mapped the dump, as an interpreter does.
class JitdumpStacks : public testing::Test {
 protected:
  ~JitdumpStacks() override {
    if (mapped_ != MAP_FAILED) ::munmap(mapped_, 4096);
    if (file_ >= 0) ::close(file_);
    std::filesystem::remove_all(folder_);
  }
  // What unwinding knows of a process with two functions.
  void interpret(const Trampoline& made, bool framed) {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    read(raw(0x4A695444u) + raw(1u) + raw(40u) + raw(62u) + raw(0u) + raw(pid) + raw(std::uint64_t{1}) +
             raw(std::uint64_t{0}) + (framed ? unwinding(10, made) : "") +
             load(11, kOuter, 1, "py::outer:/a.py", made) + (framed ? unwinding(20, made) : "") +
             load(21, kInner, 2, "py::inner:/a.py", made),
         200);
    ASSERT_EQ(generated_.size(), 2u);
  }
  // The same of the dump.
  void read(const std::string& dump, std::uint64_t tsc) {
    std::string name = testing::TempDir() + "tailor-perf-jit-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    const std::string path = folder_ / ("jit-" + std::to_string(::getpid()) + ".dump");
    std::ofstream(path, std::ios::binary) << dump;
    file_ = ::open(path.c_str(), O_RDONLY);
    mapped_ = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0);
    ASSERT_NE(mapped_, MAP_FAILED);
    clock::Conversion piece;
    piece.mult = 1;
    ASSERT_TRUE(timeline_.append(piece).ok());
    ForeignProcess foreign(os::real(), {::getpid(), 7});
    ForeignMoment at;
    at.tsc = tsc;
    at.timeline = &timeline_;
    for (const Speech& speech : foreign.look(at)) {
      for (const Speech::Event& event : speech.events) take(event);
    }
    for (const std::uint64_t begin : {kMain, kInterpreter}) {
      const std::vector<std::byte> table = test::small_table(begin);
      const std::string_view text(reinterpret_cast<const char*>(table.data()), table.size());
      ASSERT_TRUE(code_.add_code({begin, begin, begin + 0x40, false}, text, test::kTable));
    }
  }
  // The return addresses of a sample in the interpreter, which runs inner, which outer called, which main
  // called.
  std::vector<std::uint64_t> callers(const Trampoline& made, std::uint64_t outer = kOuter,
                                     std::uint64_t inner = kInner) {
    const auto at = [](std::uint64_t word) { return kStack + 8 * word; };
    const bool keeps = made.keeps_frame_pointer;
    const auto stack = test::words({keeps ? at(2) : at(4), inner + kBehindCall,  // the interpreter, innermost
                                    keeps ? at(4) : 0, kInterpreter + 0x21,      // inner
                                    keeps ? at(6) : at(8), outer + kBehindCall,  // the interpreter
                                    keeps ? at(8) : 0, kMain + 0x21,             // outer
                                    0, kStart});                                 // main
    unwind::Frame frame;
    frame.set(unwind::kReturnAddress, kInterpreter + 0x20);
    frame.set(unwind::kSp, kStack);
    frame.set(unwind::kBp, kStack);
    code_.begin_walk(0);
    std::vector<std::uint64_t> out;
    bool signal = false;
    while (out.size() < 5 && code_.step(frame, out.empty(), {kStack, stack}, signal, 0))
      out.push_back(frame.value[unwind::kReturnAddress]);
    return out;
  }
  static std::vector<std::uint64_t> whole(std::uint64_t outer = kOuter, std::uint64_t inner = kInner) {
    return {inner + kBehindCall, kInterpreter + 0x21, outer + kBehindCall, kMain + 0x21, kStart};
  }

  static constexpr std::uint64_t kStack = 0x7000, kStart = 0x9005;
  unwind::FileTables files_;
  unwind::ProcessCode code_{"/nonexistent", 1, files_};
  std::map<std::string, std::uint64_t> generated_;  // where functions begin

 private:
  void take(const Speech::Event& event) {
    const auto* said = std::get_if<registration::PeerMessage>(&event);
    if (said == nullptr || !said->message.has_code_load()) return;
    const v1::CodeObject& code = said->message.code_load();
    const unwind::RegisteredCode range{code.id(), code.base(), code.base() + code.code().size(), false};
    EXPECT_TRUE(code_.add_code(range, code.eh_frame(), code.eh_frame_address()));
    generated_[code.name()] = code.base();
  }

  std::filesystem::path folder_;
  int file_ = -1;
  void* mapped_ = MAP_FAILED;
  clock::Timeline timeline_;
};

TEST_F(JitdumpStacks, LeadThroughGeneratedFramesToMain) {
  interpret(without_frame_pointer(), true);
  EXPECT_EQ(callers(without_frame_pointer()), whole());
}

TEST_F(JitdumpStacks, LeadThroughFramesThatKeepTheFramePointer) {
  interpret(with_frame_pointer(), true);
  EXPECT_EQ(callers(with_frame_pointer()), whole());
}

// A dump as it was written, but for the number of the process. `framed`: with its unwinding records.
std::string recorded(bool framed) {
  constexpr std::size_t kHeader = 40, kPid = 20;
  constexpr std::uint32_t kUnwinding = 4;
  std::ifstream file(TAILOR_CPYTHON_JITDUMP, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::string out = whole.substr(0, kHeader);
  out.replace(kPid, 4, raw(static_cast<std::uint32_t>(::getpid())));
  for (std::size_t at = kHeader; at + 8 <= whole.size();) {
    std::uint32_t kind = 0, size = 0;
    std::memcpy(&kind, whole.data() + at, sizeof kind);
    std::memcpy(&size, whole.data() + at + 4, sizeof size);
    if (size == 0) break;
    if (framed || kind != kUnwinding) out += whole.substr(at, size);
    at += size;
  }
  return out;
}

TEST_F(JitdumpStacks, LeadThroughWhatCPythonHasWritten) {
  constexpr std::uint64_t kBehindAll = 2'000'000'000'000;
  read(recorded(true), kBehindAll);
  ASSERT_EQ(generated_.size(), 3u);
  const std::uint64_t outer = generated_.at("py::outer:<string>"),
                      inner = generated_.at("py::inner:<string>");
  EXPECT_EQ(callers(without_frame_pointer(), outer, inner), whole(outer, inner));
}

// The twin: chains end where nothing says how to go on.
TEST_F(JitdumpStacks, EndInWhatCPythonHasWrittenWithoutItsUnwindingRecords) {
  constexpr std::uint64_t kBehindAll = 2'000'000'000'000;
  read(recorded(false), kBehindAll);
  ASSERT_EQ(generated_.size(), 3u);
  const std::uint64_t outer = generated_.at("py::outer:<string>"),
                      inner = generated_.at("py::inner:<string>");
  EXPECT_EQ(callers(without_frame_pointer(), outer, inner),
            (std::vector<std::uint64_t>{inner + kBehindCall}));
  EXPECT_EQ(code_.why_not(), unwind::WalkEnd::kGenerated);
}

// The twin: the same dump without its unwinding records. Nothing is guessed.
TEST_F(JitdumpStacks, EndInTheInnermostGeneratedFrameWithoutUnwindingRecords) {
  interpret(without_frame_pointer(), false);
  EXPECT_EQ(callers(without_frame_pointer()), (std::vector<std::uint64_t>{kInner + kBehindCall}));
  EXPECT_EQ(code_.why_not(), unwind::WalkEnd::kGenerated);
}

}  // namespace
}  // namespace tailor::session
