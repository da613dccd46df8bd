#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "daemon/os/kernel_identity.h"
#include "daemon/query/symbols/symbols.h"

namespace tailor::query {
namespace {

const char* const kSymbols =
    "ffffffff81000000 T _text\nffffffff81000100 t do_it\nffffffff81000100 d data\n"
    "ffffffff81000200 T wide\nffffffff81000300 D table\n"
    "ffffffff81000400 T last\nffffffff81002000 T _etext\nffffffff82000000 T _einittext\n"
    "ffffffffc0000000 t mod_fn\t[ext4]\nffffffffc0100000 t bpf_prog_6deef7357e7b4530_one\t[bpf]\n"
    "0000000000000000 T hidden\nnonsense\n";

TEST(KernelNames, AreThoseOfTheSymbolThatReaches) {
  const KernelNames names = KernelNames::parse(kSymbols);
  EXPECT_EQ(names.at(0xffffffff81000180).name, "do_it");
  EXPECT_EQ(names.at(0xffffffff81000180).object, "[kernel]");
  EXPECT_EQ(names.at(0xffffffff81000180).begin, 0xffffffff81000100);
  EXPECT_EQ(names.at(0xffffffffc0000010).name, "mod_fn");
  EXPECT_EQ(names.at(0xffffffffc0000010).object, "[ext4]");
  EXPECT_EQ(names.at(0x1000).name, "");
}

TEST(KernelNames, NoSymbolIsLongerThanItsEnd) {
  const KernelNames names = KernelNames::parse(kSymbols);
  EXPECT_EQ(names.at(0xffffffff81000280).name, "wide");
  EXPECT_EQ(names.at(0xffffffff81000300).name, "") << "data ends it";
  EXPECT_EQ(names.at(0xffffffff81001fff).name, "last");
  EXPECT_EQ(names.at(0xffffffff81002000).name, "") << "a mark of an end has no code";
  EXPECT_EQ(names.at(0xffffffff82000010).name, "");
  EXPECT_EQ(names.at(0xffffffffc0001fff).name, "mod_fn") << "its page and one more";
  EXPECT_EQ(names.at(0xffffffffc0002000).name, "");
  EXPECT_EQ(names.at(0xfffffffffff00000).name, "");
  EXPECT_FALSE(names.at(0xfffffffffff00000).why.empty());
}

// What is there now may have been loaded since.
TEST(KernelNames, CodeOfBpfProgramsIsNotNamed) {
  const KernelNames names = KernelNames::parse(kSymbols);
  EXPECT_EQ(names.at(0xffffffffc0100010).name, "");
  EXPECT_EQ(names.at(0xffffffffc0100010).object, "[bpf]");
}

TEST(KernelNames, FitTheLayoutOfTheRecordingOrNot) {
  const KernelNames names = KernelNames::parse(kSymbols);
  EXPECT_TRUE(names.fits("_text=ffffffff81000000"));
  EXPECT_FALSE(names.fits("_text=ffffffff86e00000"));
  EXPECT_FALSE(names.fits("_stext=ffffffff81000000"));
  EXPECT_FALSE(names.fits(""));
}

profile::RecordingInfo here() {
  const os::KernelIdentity kernel = os::kernel_identity("/proc", "/sys");
  profile::RecordingInfo info;
  info.kernel = kernel.release;
  info.machine = kernel.machine;
  info.boot_id = kernel.boot_id;
  info.kernel_build_id = kernel.build_id;
  info.kernel_anchor = kernel.anchor;
  return info;
}

TEST(KernelNames, AnotherKernelIsRefusedWithItsReason) {
  const auto why = [](const profile::RecordingInfo& info) {
    const KernelNames names = KernelNames::of_recording(info);
    EXPECT_TRUE(names.empty());
    return std::string(names.at(0xffffffff81000180).why);
  };
  profile::RecordingInfo other = here();
  other.kernel = "no such kernel";
  EXPECT_EQ(why(other), "the kernel was another one (no such kernel)");
  other = here();
  other.machine = "pdp11";
  EXPECT_EQ(why(other), "the kernel was that of another machine (pdp11)");
  other = here();
  other.boot_id = "another boot";
  other.kernel_anchor = "";
  EXPECT_EQ(why(other), "the kernel has been booted since");
  if (here().kernel_anchor.empty()) GTEST_SKIP() << "the kernel hides its symbols";
  other = here();
  other.kernel_anchor = "_text=ffffffff00000000";
  EXPECT_EQ(why(other), "the kernel had another layout");
  EXPECT_FALSE(KernelNames::of_recording(here()).empty());
}

}  // namespace
}  // namespace tailor::query
