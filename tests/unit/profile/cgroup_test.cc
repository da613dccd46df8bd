#include "daemon/profile/cgroup.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace tailor::profile {
namespace {

const std::string kId = "2227daf62df6694645fee5df53c1f91271546a9560e8600a525690ae252b7f63";
const std::string kOther = "90bf4f010bcd26e024b24e80834efb2b1b0ba3fbb2ccc62bb7b9e57f3bd2ecaf";
const std::string kUid = "2c48913c-b29f-11e7-9350-020968147796";
const std::string kUidOfSystemd = "2c48913c_b29f_11e7_9350_020968147796";
const std::string kHash = "1d0c9e4f2b6a48d7b1c0a5e7f3928461";  // of a static pod

// With these in their places.
std::string path(const char* form) {
  return fmt::format(fmt::runtime(form), fmt::arg("id", kId), fmt::arg("other", kOther),
                     fmt::arg("uid", kUid), fmt::arg("slice", kUidOfSystemd), fmt::arg("hash", kHash),
                     fmt::arg("short_id", kId.substr(1)), fmt::arg("short_uid", kUid.substr(1)));
}

TEST(Cgroup, ThePathsOfKubernetesSayPodAndContainer) {
  const CgroupNames wanted{kUid, kId};
  for (const std::string& each : {
           // systemd's driver: burstable, best effort, guaranteed
           path("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice/"
                "cri-containerd-{id}.scope"),
           path("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{slice}.slice/"
                "crio-{id}.scope"),
           path("/kubepods.slice/kubepods-pod{slice}.slice/docker-{id}.scope"),
           // below a parent, and seen from another cgroup namespace
           path("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{slice}.slice/"
                "cri-containerd-{id}.scope"),
           path("/../../kubepods-burstable-pod{slice}.slice/cri-containerd-{id}.scope"),
           // what CRI-O and systemd make inside of a container
           path("/kubepods.slice/kubepods-pod{slice}.slice/crio-{id}.scope/container"),
           path("/kubepods.slice/kubepods-pod{slice}.slice/crio-{id}.scope/system.slice/postgresql.service"),
           path("/kubepods.slice/kubepods-pod{slice}.slice/crio-{id}.scope (deleted)"),
           // cgroupfs's driver
           path("/kubepods/burstable/pod{uid}/{id}"),
           path("/kubepods/pod{uid}/{id}"),
           path("/kubelet/kubepods/besteffort/pod{uid}/{id}"),
           // containerd without systemd's driver
           path("/system.slice/containerd.service/kubepods-burstable-pod{slice}.slice:cri-containerd:{id}"),
       })
    EXPECT_EQ(names_in_cgroup(each), wanted) << each;
  EXPECT_EQ(names_in_cgroup(path("/kubepods/burstable/pod{hash}/{id}")), (CgroupNames{kHash, kId}));
}

TEST(Cgroup, ThePathsOfContainersWithoutAPodSayTheContainer) {
  for (const std::string& each :
       {path("/system.slice/docker-{id}.scope"), path("/docker/{id}"),
        path("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{id}.scope"),
        path("/machine.slice/libpod-{id}.scope/container"), path("/libpod_parent/libpod-{id}"),
        path("/docker/{other}/docker/{id}")})
    EXPECT_EQ(names_in_cgroup(each), (CgroupNames{"", kId})) << each;
}

TEST(Cgroup, OfNestedOnesTheInnermostCounts) {
  const std::string node = path("/docker/{other}");  // a node that is a container itself
  EXPECT_EQ(names_in_cgroup(node + path("/kubelet/kubepods/pod{uid}/{id}")), (CgroupNames{kUid, kId}));
  EXPECT_EQ(names_in_cgroup(node + path("/kubelet/kubepods/pod{uid}")), (CgroupNames{kUid, ""}));
  EXPECT_EQ(names_in_cgroup(path("/kubepods/pod{uid}/{other}/docker/{id}")), (CgroupNames{kUid, kId}))
      << "a container that is made in a pod";
}

TEST(Cgroup, NothingIsGuessed) {
  for (const std::string& each :
       {std::string(), std::string("/"), std::string("/system.slice/postgresql.service"),
        std::string("/user.slice/user-1000.slice/session-3.scope"),
        std::string("/kubepods.slice/kubepods-burstable.slice"), path("/{id}"), path("/lxc/{id}"),
        path("/kubepods/burstable/pod{short_uid}/x"), path("/pods/pod{uid}"),
        path("/system.slice/my-pod{slice}.slice"), path("/system.slice/docker-{short_id}.scope"),
        path("/machine.slice/libpod-conmon-{id}.scope"), std::string("/system.slice/docker.service")})
    EXPECT_EQ(names_in_cgroup(each), CgroupNames{}) << each;
  const std::string pod = path("/kubepods.slice/kubepods-pod{slice}.slice");
  EXPECT_EQ(names_in_cgroup(pod + path("/crio-conmon-{id}.scope")), (CgroupNames{kUid, ""}))
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
  const std::string whole = path("/kubepods/burstable/pod{uid}/{id}");
  EXPECT_TRUE(cgroup_matches(kUid, whole));
  EXPECT_TRUE(cgroup_matches(kId.substr(0, 12), whole));
  EXPECT_FALSE(cgroup_matches(kOther.substr(0, 12), whole));
  EXPECT_FALSE(cgroup_matches("kubepods", whole));
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
