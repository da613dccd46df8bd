#include "daemon/profile/cgroup.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tailor::profile {
namespace {

constexpr std::size_t kContainerDigits = 64;
constexpr std::string_view kDeleted = " (deleted)";  // the kernel's word behind a cgroup that is gone

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_container_id(std::string_view text) {
  return text.size() == kContainerDigits && is_hex(text);
}

// A uid of the API (8-4-4-4-12 digits), which systemd's driver writes with "_" for "-"; or the hash of a
// static pod. Empty: it is neither.
std::string pod_uid(std::string_view text) {
  constexpr std::size_t kHash = 32, kUid = 36;
  if (text.size() == kHash && is_hex(text)) return std::string(text);
  if (text.size() != kUid) return {};
  std::string uid(text);
  std::ranges::replace(uid, '_', '-');
  for (std::size_t i = 0; i < uid.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? uid[i] != '-' : !is_hex(std::string_view(uid).substr(i, 1))) return {};
  }
  return uid;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// "kubepods-burstable-pod<uid>.slice". The kubelet may have a parent: "kubelet-kubepods-pod<uid>.slice".
std::string pod_of_slice(std::string_view name) {
  if (!remove_suffix(name, ".slice") || name.find("kubepods") == std::string_view::npos) return {};
  const std::size_t at = name.rfind("-pod");
  return at == std::string_view::npos ? std::string() : pod_uid(name.substr(at + 4));
}

// "docker-<id>.scope", "cri-containerd-<id>.scope", "crio-<id>.scope", "libpod-<id>"; not what watches over a
// container: "crio-conmon-<id>.scope".
std::string container_of_scope(std::string_view name) {
  (void)remove_suffix(name, ".scope");
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return {};
  const std::string_view runtime = name.substr(0, dash), id = name.substr(dash + 1);
  return is_container_id(id) && !runtime.ends_with("conmon") ? std::string(id) : std::string();
}

// Goes through the parts of a path, from the outside in.
class PartReader {
 public:
  void take(std::string_view part) {
    if (const std::size_t colon = part.find(':'); colon != std::string_view::npos) {
      take_colons(part, colon);
    } else if (std::string pod = pod_of_slice(part); !pod.empty()) {
      enter_pod(std::move(pod));
    } else if (std::string in_folder = pod_of_folder(part); !in_folder.empty()) {
      enter_pod(std::move(in_folder));
    } else if (std::string scope = container_of_scope(part); !scope.empty()) {
      names_.container = std::move(scope);
    } else if (is_container_id(part) && (before_is_pod_ || before_ == "docker")) {
      names_.container = part;
    }
    before_is_pod_ = entered_pod_;
    entered_pod_ = false;
    below_kubepods_ = below_kubepods_ || part == "kubepods";
    before_ = part;
  }

  const CgroupNames& names() const { return names_; }

 private:
  // Of the cgroupfs driver: "kubepods/burstable/pod<uid>".
  std::string pod_of_folder(std::string_view part) const {
    return below_kubepods_ && part.starts_with("pod") ? pod_uid(part.substr(3)) : std::string();
  }

  // Where containerd was told a systemd name without its driver: "<slice of the pod>:cri-containerd:<id>".
  void take_colons(std::string_view part, std::size_t colon) {
    const std::string_view id = part.substr(part.rfind(':') + 1);
    std::string pod = pod_of_slice(part.substr(0, colon));
    if (pod.empty() || !is_container_id(id)) return;
    names_ = {std::move(pod), std::string(id)};
  }

  // A container around the pod is that of a node that is one itself.
  void enter_pod(std::string pod) {
    names_ = {std::move(pod), ""};
    entered_pod_ = true;
  }

  CgroupNames names_;
  std::string_view before_;
  bool before_is_pod_ = false, entered_pod_ = false, below_kubepods_ = false;
};

// As few characters as possible for each "*", and one more whenever the rest does not fit.
bool looks_like(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', std::min(p, pattern.size())) == std::string_view::npos;
}

bool is_below(std::string_view above, std::string_view path) {
  while (above.ends_with('/')) above.remove_suffix(1);
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

}  // namespace

CgroupNames names_in_cgroup(std::string_view path) {
  (void)remove_suffix(path, kDeleted);
  PartReader parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.take(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts.names();
}

bool cgroup_matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || path.empty()) return pattern.empty();
  if (pattern.find_first_of("*?") != std::string_view::npos) return looks_like(pattern, path);
  if (pattern.front() == '/') return is_below(pattern, path);
  const CgroupNames names = names_in_cgroup(path);
  return names.pod.starts_with(pattern) || names.container.starts_with(pattern);
}

}  // namespace tailor::profile
