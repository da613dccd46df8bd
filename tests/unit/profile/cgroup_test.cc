#include "daemon/profile/cgroup.h"

#include <gtest/gtest.h>

#include <string>

namespace tailor::profile {
namespace {

const std::string kId = "2227daf62df6694645fee5df53c1f91271546a9560e8600a525690ae252b7f63";
const std::string kOther = "90bf4f010bcd26e024b24e80834efb2b1b0ba3fbb2ccc62bb7b9e57f3bd2ecaf";
const std::string kUid = "2c48913c-b29f-11e7-9350-020968147796";
const std::string kUidOfSystemd = "2c48913c_b29f_11e7_9350_020968147796";
const std::string kHash = "1d0c9e4f2b6a48d7b1c0a5e7f3928461";  // of a static pod

TEST(Cgroup, ThePathsOfKubernetesSayPodAndContainer) {
  const CgroupNames wanted{kUid, kId};
  for (const std::string& path : {
           // systemd's driver: burstable, best effort, guaranteed
           "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidOfSystemd +
               ".slice/cri-containerd-" + kId + ".scope",
           "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kUidOfSystemd +
               ".slice/crio-" + kId + ".scope",
           "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice/docker-" + kId + ".scope",
           // below a parent, and seen from another cgroup namespace
           "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + kUidOfSystemd +
               ".slice/cri-containerd-" + kId + ".scope",
           "/../../kubepods-burstable-pod" + kUidOfSystemd + ".slice/cri-containerd-" + kId + ".scope",
           // what CRI-O and systemd make inside of a container
           "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice/crio-" + kId + ".scope/container",
           "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice/crio-" + kId +
               ".scope/system.slice/postgresql.service",
           "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice/crio-" + kId + ".scope (deleted)",
           // cgroupfs's driver
           "/kubepods/burstable/pod" + kUid + "/" + kId,
           "/kubepods/pod" + kUid + "/" + kId,
           "/kubelet/kubepods/besteffort/pod" + kUid + "/" + kId,
           // containerd without systemd's driver
           "/system.slice/containerd.service/kubepods-burstable-pod" + kUidOfSystemd +
               ".slice:cri-containerd:" + kId,
       })
    EXPECT_EQ(names_in_cgroup(path), wanted) << path;
  EXPECT_EQ(names_in_cgroup("/kubepods/burstable/pod" + kHash + "/" + kId), (CgroupNames{kHash, kId}));
}

TEST(Cgroup, ThePathsOfContainersWithoutAPodSayTheContainer) {
  for (const std::string& path :
       {"/system.slice/docker-" + kId + ".scope", "/docker/" + kId,
        "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kId + ".scope",
        "/machine.slice/libpod-" + kId + ".scope/container", "/libpod_parent/libpod-" + kId,
        "/docker/" + kOther + "/docker/" + kId})
    EXPECT_EQ(names_in_cgroup(path), (CgroupNames{"", kId})) << path;
}

TEST(Cgroup, OfNestedOnesTheInnermostCounts) {
  const std::string node = "/docker/" + kOther;  // a node that is a container itself
  EXPECT_EQ(names_in_cgroup(node + "/kubelet/kubepods/pod" + kUid + "/" + kId), (CgroupNames{kUid, kId}));
  EXPECT_EQ(names_in_cgroup(node + "/kubelet/kubepods/pod" + kUid), (CgroupNames{kUid, ""}));
  EXPECT_EQ(names_in_cgroup("/kubepods/pod" + kUid + "/" + kOther + "/docker/" + kId),
            (CgroupNames{kUid, kId}))
      << "a container that is made in a pod";
}

TEST(Cgroup, NothingIsGuessed) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/system.slice/postgresql.service"),
        std::string("/user.slice/user-1000.slice/session-3.scope"),
        std::string("/kubepods.slice/kubepods-burstable.slice"), "/" + kId, "/lxc/" + kId,
        "/kubepods/burstable/pod" + kUid.substr(1) + "/x", "/pods/pod" + kUid,
        "/system.slice/my-pod" + kUidOfSystemd + ".slice", "/system.slice/docker-" + kId.substr(1) + ".scope",
        "/machine.slice/libpod-conmon-" + kId + ".scope", std::string("/system.slice/docker.service")})
    EXPECT_EQ(names_in_cgroup(path), CgroupNames{}) << path;
  const std::string pod = "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice";
  EXPECT_EQ(names_in_cgroup(pod + "/crio-conmon-" + kId + ".scope"), (CgroupNames{kUid, ""}))
      << "what watches over a container is not in it";
}

TEST(Cgroup, APathMeansWhatIsBelowIt) {
  EXPECT_TRUE(cgroup_matches("", ""));
  EXPECT_TRUE(cgroup_matches("/", "/a"));
  EXPECT_TRUE(cgroup_matches("/a", "/a"));
  EXPECT_TRUE(cgroup_matches("/a/", "/a/b/c"));
  EXPECT_FALSE(cgroup_matches("/a", "/ab"));
  EXPECT_FALSE(cgroup_matches("/a/b", "/a"));
  EXPECT_FALSE(cgroup_matches("/", "")) << "a cgroup that is not known is none of them";
}

TEST(Cgroup, APatternIsOfTheWholePath) {
  EXPECT_TRUE(cgroup_matches("*", "/"));
  EXPECT_FALSE(cgroup_matches("*", "")) << "nothing is known of it";
  EXPECT_TRUE(cgroup_matches("/system.slice/*.service", "/system.slice/postgresql.service"));
  EXPECT_TRUE(cgroup_matches("*burstable*", "/kubepods.slice/kubepods-burstable.slice/x/y"));
  EXPECT_TRUE(cgroup_matches("/user.slice/user-100?.slice", "/user.slice/user-1007.slice"));
  EXPECT_FALSE(cgroup_matches("/system.slice/*.service", "/system.slice/a.service/b"));
  EXPECT_FALSE(cgroup_matches("/a?", "/a"));
  EXPECT_FALSE(cgroup_matches("*b", "/abc"));
  EXPECT_TRUE(cgroup_matches("/a[1]*", "/a[1]b")) << "brackets are letters as any other";
}

TEST(Cgroup, AWordIsTheBeginOfAPodOrAContainer) {
  const std::string path = "/kubepods/burstable/pod" + kUid + "/" + kId;
  EXPECT_TRUE(cgroup_matches(kUid, path));
  EXPECT_TRUE(cgroup_matches(kId.substr(0, 12), path));
  EXPECT_FALSE(cgroup_matches(kOther.substr(0, 12), path));
  EXPECT_FALSE(cgroup_matches("kubepods", path));
  EXPECT_FALSE(cgroup_matches("2", "/system.slice/2.service"));
}

// The naive way takes years for it.
TEST(Cgroup, AHostilePatternCostsLittle) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(cgroup_matches(pattern + "b", std::string(4000, 'a')));
}

}  // namespace
}  // namespace tailor::profile
