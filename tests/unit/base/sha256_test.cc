#include "proto/base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace tailor {
namespace {

std::string hex(const Sha256Digest& digest) {
  std::string out;
  for (auto byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

// The first two are the standard's examples; the lengths after them are those around a block's padding.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(55, 'a'))),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hex(sha256(std::string(64, 'a'))),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Sha256, HardwareSaysTheSame) {
#if defined(__x86_64__)
  if (!sha256_detail::has_hardware()) GTEST_SKIP() << "this processor has no SHA extensions";
  std::string blocks(64 * 9, '\0');
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<char>(i * 37 + i / 64);
  const auto* bytes = reinterpret_cast<const unsigned char*>(blocks.data());
  for (std::size_t count = 0; count <= 9; ++count) {
    sha256_detail::State plain = {1, 2, 3, 4, 5, 6, 7, 8}, fast = plain;
    sha256_detail::compress_all(plain, bytes, count);
    sha256_detail::compress_by_hardware(fast, bytes, count);
    EXPECT_EQ(plain, fast) << count;
  }
#else
  GTEST_SKIP() << "not x86-64";
#endif
}

}  // namespace
}  // namespace tailor
