// A flame graph as a page that needs nothing else.
#include <fmt/format.h>

#include "viewer/cli/flame_picture.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; font-family: sans-serif }
svg { max-width: 100%; height: auto }
svg g { cursor: pointer }
svg g:focus { outline: none }
svg g:focus rect, svg g:hover rect, svg g.found rect { stroke: #000000; stroke-width: 1.5 }
svg.searching g:not(.found) rect { fill-opacity: 0.35 }
td, th { text-align: left; padding: 0 1em 0 0 }
td.number { text-align: right }
</style>
)";

// Boxes are moved, none is made: the names and sizes are those of the picture.
constexpr std::string_view kScript = R"(<script>
"use strict";
const svg = document.querySelector("svg");
const whole = svg.viewBox.baseVal.width, margin = 10, letter = 6.6;
const boxes = [...svg.querySelectorAll("g")].map((group) => {
  const rect = group.querySelector("rect");
  let text = group.querySelector("text");
  if (!text) {
    text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    text.setAttribute("y", Number(rect.getAttribute("y")) + 12.5);
    group.append(text);
  }
  group.tabIndex = 0;
  group.setAttribute("role", "button");
  group.setAttribute("aria-label", group.querySelector("title").textContent);
  return { group, rect, text, name: group.dataset.name, x: Number(rect.getAttribute("x")),
           y: Number(rect.getAttribute("y")), width: Number(rect.getAttribute("width")) };
});
function zoom(to) {
  const scale = (whole - 2 * margin) / to.width;
  for (const box of boxes) {
    const holds = box.y > to.y && box.x <= to.x + 0.01 && box.x + box.width >= to.x + to.width - 0.01;
    const inside = box.y <= to.y && box.x >= to.x - 0.01 && box.x + box.width <= to.x + to.width + 0.01;
    box.group.style.display = holds || inside ? "" : "none";
    const x = holds ? margin : margin + (box.x - to.x) * scale;
    const width = holds ? whole - 2 * margin : box.width * scale;
    box.rect.setAttribute("x", x);
    box.rect.setAttribute("width", width);
    box.text.setAttribute("x", x + 3);
    const letters = Math.floor((width - 6) / letter);
    box.text.textContent = letters < 3 ? "" : box.name.length <= letters ? box.name : box.name.slice(0, letters - 1) + "…";
  }
}
for (const box of boxes) {
  box.group.addEventListener("click", () => zoom(box));
  box.group.addEventListener("keydown", (event) => { if (event.key === "Enter") zoom(box); });
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") zoom(boxes[0]); });
document.querySelector("#search").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  svg.classList.toggle("searching", wanted !== "");
  for (const box of boxes) box.group.classList.toggle("found", wanted !== "" && box.name.toLowerCase().includes(wanted));
});
</script>
)";

// A tree as deep as its levels.
void add_rows(const query::FlameReport& report, const query::FlameNode& node, std::size_t depth,
              std::string& out) {
  if (!is_drawn(report, node)) return;
  out += fmt::format(
      R"(<tr><td class="number">{}</td><td class="number">{}</td><td>{}</td><td style="padding-left: {}em">{}</td></tr>)"
      "\n",
      xml(percent(node.weight / report.root.weight)), xml(samples_text(node.samples)), xml(node.kind), depth,
      xml(node.name));
  for (const query::FlameNode& child : node.children) add_rows(report, child, depth + 1, out);
}

}  // namespace

std::string flame_html(const query::FlameReport& report, const std::string& title) {
  std::string rows;
  add_rows(report, report.root, 0, rows);
  return std::string(kHead) +
         fmt::format(
             R"(<title>{0}</title></head><body>
<p><label>Search <input id="search" type="search"></label> A click or Enter zooms in; Escape shows everything again.</p>
{1}<details><summary>The same as a table</summary><table>
<tr><th>Share</th><th>Samples</th><th>Kind</th><th>Name</th></tr>
{2}</table></details>
)",
             xml(title), flame_picture(report, title, true), rows) +
         std::string(kScript) + "</body></html>\n";
}

}  // namespace tailor::cli
