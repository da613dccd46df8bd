#include "daemon/formats/jitdump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/both_orders.h"

namespace tailor::formats {
namespace {

class Bytes {
 public:
  template <typename T>
  Bytes& put(T value) {
    data_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& s) {
    data_.append(s.c_str(), s.size() + 1);
    return *this;
  }
  Bytes& raw(const std::string& s) {
    data_ += s;
    return *this;
  }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
};

std::string header(std::uint64_t flags = 0) {
  return Bytes{}
      .put(0x4A695444u)
      .put(1u)
      .put(40u)
      .put(62u)
      .put(0u)
      .put(77u)
      .put(std::uint64_t{5})
      .put(flags)
      .data();
}

std::string record(std::uint32_t id, std::uint64_t time, const std::string& body) {
  return Bytes{}.put(id).put(static_cast<std::uint32_t>(16 + body.size())).put(time).raw(body).data();
}

std::string load(std::uint64_t address, const std::string& code, std::uint64_t index,
                 const std::string& name) {
  return Bytes{}
      .put(77u)
      .put(78u)
      .put(address)
      .put(address)
      .put(std::uint64_t{code.size()})
      .put(index)
      .text(name)
      .raw(code)
      .data();
}

// What came of a dump, given in pieces of a size.
struct Read {
  Status status = Ok{};
  JitDumpParser parser;
  std::vector<JitSymbol> symbols;
};

Read parse(const std::string& file, std::size_t piece = SIZE_MAX) {
  Read read;
  for (auto rest = std::as_bytes(std::span(file)); !rest.empty() && read.status.ok();) {
    const auto now = rest.first(std::min(piece, rest.size()));
    read.status = read.parser.feed(now);
    for (JitSymbol& symbol : read.parser.take()) read.symbols.push_back(std::move(symbol));
    rest = rest.subspan(now.size());
  }
  return read;
}

std::string example() {
  std::string debug = Bytes{}
                          .put(std::uint64_t{0x1000})
                          .put(std::uint64_t{2})
                          .put(std::uint64_t{0x1002})
                          .put(7u)
                          .put(0u)
                          .text("a.js")
                          .put(std::uint64_t{0x1000})
                          .put(6u)
                          .put(0u)
                          .text("\xFF")
                          .data();
  std::string move = Bytes{}
                         .put(77u)
                         .put(78u)
                         .put(std::uint64_t{0x3000})
                         .put(std::uint64_t{0x1000})
                         .put(std::uint64_t{0x3000})
                         .put(std::uint64_t{4})
                         .put(std::uint64_t{1})
                         .data();
  return header() + record(2, 9, debug) + record(0, 10, load(0x1000, "\x90\x90\x90\xC3", 1, "add")) +
         record(0, 11, load(0x2000, "\xC3", 2, "stub")) + record(1, 12, move) + record(3, 13, "");
}

TEST(JitDump, ReadsLoadsLinesAndMovesInPiecesOfAnySize) {
  for (std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    const Read dump = parse(example(), piece);
    ASSERT_TRUE(dump.status.ok()) << dump.status.error().message;
    EXPECT_EQ(dump.parser.pid(), 77u);
    EXPECT_FALSE(dump.parser.tsc_timestamps());
    ASSERT_EQ(dump.symbols.size(), 3u);
    const JitSymbol& add = dump.symbols[0];
    EXPECT_EQ(add.name, "add");
    EXPECT_EQ(add.timestamp_ns, 10u);
    EXPECT_EQ(add.code.size(), 4u);
    ASSERT_EQ(add.lines.size(), 2u);
    EXPECT_EQ(add.lines[0].offset, 0u);
    EXPECT_EQ(add.lines[0].line, 6u);
    EXPECT_EQ(add.lines[1].line, 7u);
    EXPECT_TRUE(dump.symbols[1].lines.empty());
    EXPECT_EQ(dump.symbols[2].name, "add");
    EXPECT_EQ(dump.symbols[2].address, 0x3000u);
    EXPECT_EQ(dump.symbols[2].timestamp_ns, 12u);
    EXPECT_EQ(dump.symbols[2].lines.size(), 2u);
    EXPECT_EQ(dump.parser.malformed(), 0u);
    EXPECT_FALSE(dump.parser.cut());
  }
}

std::string unwinding(std::uint64_t size, std::uint64_t index_size, const std::string& bytes) {
  return record(4, 9, Bytes{}.put(size).put(index_size).put(std::uint64_t{16}).raw(bytes).data());
}

std::string frames_of(const JitSymbol& symbol) {
  return {reinterpret_cast<const char*>(symbol.frames.data()), symbol.frames.size()};
}

TEST(JitDump, CallFrameInformationIsOfTheCodeThatFollows) {
  const std::string move = Bytes{}
                               .put(77u)
                               .put(78u)
                               .put(std::uint64_t{0x3000})
                               .put(std::uint64_t{0x1000})
                               .put(std::uint64_t{0x3000})
                               .put(std::uint64_t{1})
                               .put(std::uint64_t{1})
                               .data();
  const std::string file = header() + unwinding(12, 4, "aeh_framHDR_padding") +
                           record(0, 10, load(0x1000, "\xC3", 1, "framed")) +
                           record(0, 11, load(0x2000, "\xC3", 2, "bare")) + record(1, 12, move);
  for (std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    const Read dump = parse(file, piece);
    ASSERT_EQ(dump.symbols.size(), 3u);
    EXPECT_EQ(frames_of(dump.symbols[0]), "aeh_fram") << "without its index";
    EXPECT_EQ(frames_of(dump.symbols[1]), "");
    EXPECT_EQ(frames_of(dump.symbols[2]), "aeh_fram") << "it moves along";
    EXPECT_EQ(dump.parser.malformed(), 0u);
  }
}

TEST(JitDump, CallFrameInformationThatDoesNotFitIsCounted) {
  const std::string large(kMaxJitFrames + 1, 'x');
  for (const std::string& bad :
       {unwinding(9, 0, "8 bytes."), unwinding(4, 5, "8 bytes."), unwinding(UINT64_MAX, 0, "8 bytes."),
        unwinding(large.size(), 0, large), record(4, 9, "short")}) {
    // What came before is not of this code either.
    const Read dump =
        parse(header() + unwinding(8, 0, "8 bytes.") + bad + record(0, 10, load(0x1000, "\xC3", 1, "f")));
    ASSERT_EQ(dump.symbols.size(), 1u);
    EXPECT_EQ(frames_of(dump.symbols[0]), "");
    EXPECT_EQ(dump.parser.malformed(), 1u);
  }
}

// Of s390x, say. Its code is none of ours.
TEST(JitDump, OfAMachineOfTheOtherByteOrderIsTheSame) {
  test::BothOrders dump;
  dump.u32(0x4A695444).u32(1).u32(40).u32(22).u32(0).u32(77).u64(5).u64(0);
  dump.u32(2).u32(53).u64(6).u64(0x1000).u64(1).u64(0x1004).u32(7).u32(0).raw("a.js").u8(0);
  dump.u32(0).u32(68).u64(7).u32(77).u32(78).u64s({0x1000, 0x1000, 8, 1}).raw("hot").u8(0).raw("machcode");
  dump.u32(1).u32(64).u64(8).u32(77).u32(78).u64s({0x2000, 0x1000, 0x2000, 8, 1});
  for (const std::vector<std::byte>& bytes : {dump.little, dump.big}) {
    const Read read = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ASSERT_TRUE(read.status.ok()) << read.status.error().message;
    EXPECT_EQ(read.parser.malformed(), 0u);
    EXPECT_EQ(read.parser.pid(), 77u);
    ASSERT_EQ(read.symbols.size(), 2u);
    EXPECT_EQ(read.symbols[0].name, "hot");
    EXPECT_EQ(read.symbols[0].address, 0x1000u);
    EXPECT_EQ(read.symbols[0].size, 8u);
    EXPECT_EQ(read.symbols[0].timestamp_ns, 7u);
    EXPECT_TRUE(read.symbols[0].code.empty());
    ASSERT_EQ(read.symbols[0].lines.size(), 1u);
    EXPECT_EQ(read.symbols[0].lines[0].offset, 4u);
    EXPECT_EQ(read.symbols[0].lines[0].line, 7u);
    EXPECT_EQ(read.symbols[0].lines[0].file, "a.js");
    EXPECT_EQ(read.symbols[1].address, 0x2000u);
  }
}

TEST(JitDump, RefusesWhatIsNoJitdump) {
  EXPECT_FALSE(parse("GIF89a, which is something else entirely, and long enough").status.ok());
  std::string version2 = header();
  version2[4] = 2;
  ASSERT_FALSE(parse(version2).status.ok());
  EXPECT_NE(parse(version2).status.error().message.find("version 2"), std::string::npos);
  std::string swapped = header();
  std::swap(swapped[0], swapped[3]);
  std::swap(swapped[1], swapped[2]);
  EXPECT_FALSE(parse(swapped).status.ok());
  std::string enormous = header();
  enormous[11] = '\x7F';  // the size of the header
  EXPECT_FALSE(parse(enormous).status.ok());
}

TEST(JitDump, ARecordTooLargeToBeTrueIsPassedOver) {
  Bytes giant;
  giant.put(0u).put(0xFFFFFFF0u).put(std::uint64_t{1}).raw(std::string(1000, 'x'));
  const Read dump = parse(header() + giant.data(), 100);
  EXPECT_EQ(dump.parser.malformed(), 1u);
  EXPECT_TRUE(dump.parser.cut());
  EXPECT_TRUE(dump.symbols.empty());
}

TEST(JitDump, CountsHostileRecords) {
  std::string absurd = load(0x1000, "\xC3", 1, "f");
  absurd[24] = '\xFF';  // claims more code than there is
  std::string wraps = load(UINT64_MAX - 1, "abcd", 1, "f");
  std::string unknown_move = Bytes{}
                                 .put(77u)
                                 .put(78u)
                                 .put(std::uint64_t{1})
                                 .put(std::uint64_t{1})
                                 .put(std::uint64_t{1})
                                 .put(std::uint64_t{1})
                                 .put(std::uint64_t{99})
                                 .data();
  std::string many = Bytes{}.put(std::uint64_t{1}).put(UINT64_MAX).data();
  const Read dump = parse(header() + record(0, 1, absurd) + record(0, 1, wraps) + record(1, 1, unknown_move) +
                          record(2, 1, many) + record(0, 2, load(0x5000, "\xC3", 3, "good")));
  ASSERT_TRUE(dump.status.ok());
  EXPECT_EQ(dump.parser.malformed(), 4u);
  ASSERT_EQ(dump.symbols.size(), 1u);
  EXPECT_EQ(dump.symbols[0].name, "good");
}

TEST(JitDump, EveryPrefixIsReadWithoutHarm) {
  const std::string whole = example();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Read dump = parse(whole.substr(0, size));
    ASSERT_TRUE(dump.status.ok()) << size;
    EXPECT_EQ(dump.parser.has_header(), size >= 40);
    EXPECT_LE(dump.symbols.size(), 3u);
  }
}

}  // namespace
}  // namespace tailor::formats
