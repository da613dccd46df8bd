#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "viewer/cli/flame_picture.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr double kWidth = 1200, kRow = 18, kTop = 40, kMargin = 10, kLetter = 6.6;
constexpr double kLeastShown = 0.3;  // pixels: a narrower box is not seen

// Okabe and Ito's colours, light enough for black letters: colour-blind readers see their difference.
constexpr std::array<std::string_view, 7> kColours = {"#e69f00", "#56b4e9", "#4dc9a0", "#f0e442",
                                                      "#8fb8de", "#ef9a6b", "#d9a2c4"};

// The same name has the same colour in every picture (FNV-1a).
std::string_view colour_of(const query::FlameNode& node) {
  if (node.kind == "unattributed" || node.kind == "rest" || node.kind == "idle") return "#c8c8c8";
  if (node.kind == "all") return "#e8e8e8";
  std::uint32_t hash = 2166136261U;
  for (const char c : node.name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return kColours[hash % kColours.size()];
}

std::size_t height_of(const query::FlameNode& node) {
  std::size_t most = 0;
  for (const query::FlameNode& child : node.children) most = std::max(most, height_of(child));
  return most + 1;
}

class Picture {
 public:
  Picture(const query::FlameReport& report, std::size_t levels, bool with_names)
      : report_(report),
        with_names_(with_names),
        scale_((kWidth - 2 * kMargin) / std::max(1.0, report.root.weight)),
        floor_(kTop + kRow * static_cast<double>(levels)) {}

  void add(const query::FlameNode& node, double x, std::size_t level) {
    if (!is_drawn(report_, node)) return;
    const double width = node.weight * scale_;
    const double y = floor_ - kRow * static_cast<double>(level + 1);
    out_ += fmt::format(
        R"(<g{}><title>{}{}: {}, {} of everything, {}</title><rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}" fill="{}" rx="1"/>)",
        with_names_ ? fmt::format(R"( data-name="{}")", xml(node.name)) : "",
        node.kind == "all" ? "" : xml(node.kind) + " ", xml(node.name),
        xml(weight_text(node.weight, report_)), xml(percent(node.weight / report_.root.weight)),
        xml(samples_text(node.samples)), x, y, width, kRow - 1, colour_of(node));
    const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetter));
    if (letters >= 3)
      out_ += fmt::format(R"(<text x="{:.2f}" y="{:.1f}">{}</text>)", x + 3, y + kRow - 5.5,
                          xml(cut(escape_line(node.name, false), letters, false)));
    out_ += "</g>\n";
    for (const query::FlameNode& child : node.children) {
      add(child, x, level + 1);
      x += child.weight * scale_;
    }
  }

  const std::string& text() const { return out_; }

 private:
  const query::FlameReport& report_;
  bool with_names_;
  double scale_, floor_;
  std::string out_;
};

}  // namespace

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : escape(text, false)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

bool is_drawn(const query::FlameReport& report, const query::FlameNode& node) {
  return node.weight / std::max(1.0, report.root.weight) * (kWidth - 2 * kMargin) >= kLeastShown;
}

std::string flame_picture(const query::FlameReport& report, const std::string& title, bool with_names) {
  const std::size_t levels = height_of(report.root);
  Picture picture(report, levels, with_names);
  picture.add(report.root, kMargin, 0);
  const double height = kTop + kRow * static_cast<double>(levels) + kMargin;
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" font-family="monospace" font-size="11">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{2}" y="22" font-size="14">{3}: {4}</text>
)",
             kWidth, height, kMargin, xml(title), xml(weight_text(report.root.weight, report))) +
         picture.text() + "</svg>\n";
}

std::string flame_svg(const query::FlameReport& report, const std::string& title) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + flame_picture(report, title, false);
}

}  // namespace tailor::cli
