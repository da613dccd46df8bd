#include "daemon/tailord/user_status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tailor::tailord {
namespace {

constexpr std::size_t kMostUsers = 8;

std::uint64_t bytes_of(const v1::UserStatus& user) {
  return user.memory_bytes() + user.catalogue_bytes() + user.store_bytes();
}

std::uint64_t first_of(std::uint64_t one, std::uint64_t other) {
  if (one == 0 || other == 0) return std::max(one, other);
  return std::min(one, other);
}

void add(const v1::UserStatus& more, v1::UserStatus& sum) {
  sum.set_users(sum.users() + more.users());
  sum.set_processes(sum.processes() + more.processes());
  sum.set_memory_bytes(sum.memory_bytes() + more.memory_bytes());
  sum.set_descriptors(sum.descriptors() + more.descriptors());
  sum.set_dictionaries(sum.dictionaries() + more.dictionaries());
  sum.set_messages_rejected(sum.messages_rejected() + more.messages_rejected());
  sum.set_catalogue_executions(sum.catalogue_executions() + more.catalogue_executions());
  sum.set_catalogue_names(sum.catalogue_names() + more.catalogue_names());
  sum.set_catalogue_bytes(sum.catalogue_bytes() + more.catalogue_bytes());
  sum.set_removed_executions(sum.removed_executions() + more.removed_executions());
  sum.set_removed_names(sum.removed_names() + more.removed_names());
  sum.set_removed_since_ns(first_of(sum.removed_since_ns(), more.removed_since_ns()));
  sum.set_store_bytes(sum.store_bytes() + more.store_bytes());
  sum.set_cut_bytes(sum.cut_bytes() + more.cut_bytes());
  sum.set_cut_samples(sum.cut_samples() + more.cut_samples());
  sum.set_cut_since_ns(first_of(sum.cut_since_ns(), more.cut_since_ns()));
}

class Users {
 public:
  void take(std::uint32_t uid, const session::UserResources& has) {
    v1::UserStatus& user = of(uid);
    user.set_processes(has.processes);
    user.set_memory_bytes(has.memory_bytes);
    user.set_descriptors(has.descriptors);
    user.set_dictionaries(has.dictionaries);
    user.set_messages_rejected(has.messages_rejected);
  }
  void take(const store::UserUse& use) {
    v1::UserStatus& user = of(use.uid);
    user.set_catalogue_executions(use.executions);
    user.set_catalogue_names(use.names);
    user.set_catalogue_bytes(use.bytes());
  }
  void take(const store::RemovedOfUser& removed) {
    v1::UserStatus& user = of(removed.uid);
    user.set_removed_executions(removed.executions);
    user.set_removed_names(removed.names);
    user.set_removed_since_ns(removed.first_ns);
  }
  void take(const store::DiskUse& use) { of(use.uid).set_store_bytes(use.bytes); }
  void take(const store::CutOfUser& cut) {
    v1::UserStatus& user = of(cut.uid);
    user.set_cut_bytes(cut.bytes);
    user.set_cut_samples(cut.samples);
    user.set_cut_since_ns(cut.first_ns);
  }
  std::vector<v1::UserStatus> by_bytes() const {
    std::vector<v1::UserStatus> all;
    for (const auto& [uid, user] : users_) all.push_back(user);
    std::ranges::stable_sort(all, std::ranges::greater(), bytes_of);
    return all;
  }

 private:
  v1::UserStatus& of(std::optional<std::uint32_t> uid) {
    v1::UserStatus& user = users_[uid];
    user.set_users(1);
    if (uid) user.set_uid(*uid);
    return user;
  }

  std::map<std::optional<std::uint32_t>, v1::UserStatus> users_;
};

}  // namespace

void tell_users(const session::RecorderStatus& recorder, const CatalogueUsers& catalogue,
                v1::DaemonStatus& out) {
  Users users;
  for (const auto& [uid, has] : recorder.users) users.take(uid, has);
  for (const store::UserUse& use : catalogue.uses) users.take(use);
  for (const store::RemovedOfUser& removed : catalogue.removed) users.take(removed);
  for (const store::DiskUse& use : catalogue.disk) users.take(use);
  for (const store::CutOfUser& cut : catalogue.cuts) users.take(cut);
  for (const v1::UserStatus& user : users.by_bytes()) {
    if (out.users().size() < static_cast<int>(kMostUsers)) {
      *out.add_users() = user;
    } else {
      add(user, *out.mutable_other_users());
    }
  }
}

void tell_http(const std::map<std::string, serve::HttpUse>& uses, v1::DaemonStatus& out) {
  std::vector<std::pair<std::string, serve::HttpUse>> askers(uses.begin(), uses.end());
  const auto has_more = [](const auto& one, const auto& other) {
    const auto size = [](const serve::HttpUse& use) {
      return std::pair(use.connections + use.running + use.waiting + use.streams, use.refused);
    };
    return size(one.second) > size(other.second);
  };
  std::ranges::stable_sort(askers, has_more);
  for (const auto& [who, use] : askers) {
    const bool is_named = out.http().size() < static_cast<int>(kMostUsers);
    v1::HttpAsker& to = is_named ? *out.add_http() : *out.mutable_other_http();
    if (is_named) to.set_who(who);
    to.set_askers(to.askers() + 1);
    to.set_connections(to.connections() + use.connections);
    to.set_running(to.running() + use.running);
    to.set_waiting(to.waiting() + use.waiting);
    to.set_streams(to.streams() + use.streams);
    to.set_refused(to.refused() + use.refused);
  }
}

}  // namespace tailor::tailord
