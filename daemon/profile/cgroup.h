// What the cgroup of a process says of it: the pod and the container that it runs in. Patterns for cgroups.
#pragma once

#include <string>
#include <string_view>

namespace tailor::profile {

// Both are empty where the path does not say it.
struct CgroupNames {
  std::string pod;        // its uid, as the Kubernetes API writes it
  std::string container;  // its id, 64 hexadecimal digits
  bool operator==(const CgroupNames&) const = default;
};

// Of a path in the unified hierarchy. Knows what the kubelet makes, by either of its cgroup drivers, with
// containerd, CRI-O or Docker below it; and what Docker and Podman make. Where containers are nested, the
// innermost counts. A name of another form says nothing.
CgroupNames names_in_cgroup(std::string_view path);

// Whether a cgroup is one of those that a pattern means:
// - with "*" (any characters, "/" too) or "?" (one character): whose whole path looks like this;
// - else, with "/" in front: this one and those below it;
// - else those of a pod or container whose uid or id begins with it.
// An empty pattern means all, and a path that is not known (empty) is none of any other. The work is bounded
// by the product of both lengths.
bool cgroup_matches(std::string_view pattern, std::string_view path);

}  // namespace tailor::profile
