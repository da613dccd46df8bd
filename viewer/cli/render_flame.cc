#include <fmt/format.h>

#include <algorithm>

#include "viewer/cli/render_parts.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"
#include "viewer/cli/tree_lines.h"

namespace tailor::cli {
namespace {

double self_weight(const query::FlameNode& node) {
  double children = 0;
  for (const query::FlameNode& child : node.children) children += child.weight;
  // Sums of parts of samples are not exact.
  const double self = node.weight - children;
  return self > 1e-6 * node.weight ? self : 0;
}

class TreeText {
 public:
  TreeText(const query::FlameReport& report, const Terminal& terminal, double least)
      : whole_(report.root.weight), least_(least), terminal_(terminal), lines_(terminal) {}

  // A tree as deep as its levels.
  void add(const query::FlameNode& node, std::size_t depth, bool last) {
    const bool is_named = node.kind != "all" && node.kind != "rest" && node.kind != "idle";
    const std::string kind = is_named ? node.kind + " " : "";
    line(node.weight, self_weight(node), depth, last, terminal_.dim(kind), node.name, columns(kind));
    std::size_t shown = 0;
    while (shown < node.children.size() && share(node.children[shown].weight) >= least_) ++shown;
    double rest = 0;
    for (std::size_t i = shown; i < node.children.size(); ++i) rest += node.children[i].weight;
    for (std::size_t i = 0; i < shown; ++i)
      add(node.children[i], depth + 1, i + 1 == shown && shown == node.children.size());
    if (shown < node.children.size())
      line(rest, 0, depth + 1, true, "", fmt::format("{} more (--least)", node.children.size() - shown), 0);
  }

  const std::string& text() const { return text_; }

 private:
  double share(double weight) const { return whole_ > 0 ? weight / whole_ : 0; }

  void line(double total, double self, std::size_t depth, bool last, const std::string& kind,
            const std::string& name, std::size_t kind_columns) {
    const std::string lead = lines_.next(depth, last);
    const std::size_t used = 2 * kShareWidth + 2 + columns(lead) + kind_columns;
    const std::size_t room = terminal_.width > used + 10 ? terminal_.width - used : 10;
    text_ += pad_left(percent(share(total)), kShareWidth) +
             pad_left(self > 0 ? percent(share(self)) : "", kShareWidth) + "  " + lead + kind +
             cut(escape_line(name, terminal_.ascii), room, terminal_.ascii) + "\n";
  }

  double whole_, least_;
  const Terminal& terminal_;
  TreeLines lines_;
  std::string text_;
};

// Frames of folded stacks end at a semicolon, and a stack at the last space.
std::string frame_text(const std::string& name) {
  std::string out = escape(name, false);
  std::ranges::replace(out, ';', ',');
  return out;
}

void fold(const query::FlameNode& node, const std::string& above, std::string& out) {
  const std::string stack = above.empty() ? frame_text(node.name) : above + ";" + frame_text(node.name);
  const double self = self_weight(node);
  if (self >= 0.5) out += fmt::format("{} {:.0f}\n", stack, self);
  for (const query::FlameNode& child : node.children) fold(child, stack, out);
}

}  // namespace

std::string render(const query::FlameReport& report, const Terminal& terminal, double least) {
  std::string order;
  for (query::FlameLevel level : report.order)
    order += (order.empty() ? "" : " > ") + std::string(query::flame_key(level));
  TreeText tree(report, terminal, least);
  tree.add(report.root, 0, true);
  return fmt::format("{} in {}, {}\n\n", weight_text(report.root.weight, report),
                     samples_text(report.root.samples), order) +
         terminal.bold(pad_left("total", kShareWidth) + pad_left("self", kShareWidth)) + "\n" + tree.text();
}

std::string flame_folded(const query::FlameReport& report) {
  std::string out;
  for (const query::FlameNode& child : report.root.children) fold(child, "", out);
  if (const double self = self_weight(report.root); self >= 0.5)
    out += fmt::format("{} {:.0f}\n", frame_text(report.root.name), self);
  return out;
}

}  // namespace tailor::cli
