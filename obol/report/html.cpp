#include "obol/report/html.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/report/plot.h"

namespace obol::report {
namespace {

// Every pair of colours below has a contrast of 4.5 or more; tests/end_to_end/report_test.py
// measures it in a browser. Shades of the heat map: .h0 (none) to .h9 (all).
constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--ink:#1f2328;--soft:#57606a;--paper:#fff;--panel:#f6f8fa;
--line:#d8dee4;--accent:#0969da;--warn:#fff4e5;--warn-line:#b35900;--warn-ink:#6b3600;
--h1:#e7f1fd;--h2:#d3e6fc;--h3:#bcd9fa;--h4:#a2c9f7;--h5:#85b7f3;--h6:#0a63c9;--h7:#0858b4;--h8:#064c9c;--h9:#043e80;
--low:#1f2328;--high:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4ae;--paper:#0d1117;--panel:#151b23;
--line:#30363d;--accent:#6cb2ff;--warn:#2b1d0b;--warn-line:#d18616;--warn-ink:#f5d3a3;
--h1:#10233b;--h2:#12304f;--h3:#143c66;--h4:#17497d;--h5:#1a5695;--h6:#6cb2ff;--h7:#8ac2ff;--h8:#a8d2ff;--h9:#c8e3ff;
--low:#e6edf3;--high:#0d1117}}
*{box-sizing:border-box}
html{font-size:17px;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",sans-serif;overflow-wrap:break-word}
main{max-width:64rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .4rem;letter-spacing:-.01em}
h2{font-size:1.25rem;line-height:1.3;margin:3.2rem 0 .8rem;padding-top:1.2rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:2rem 0 .6rem}
p{margin:.6rem 0;max-width:46rem}
a{color:var(--accent)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
p code,li code,td code{background:var(--panel);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:1rem;overflow-x:auto;line-height:1.5}
ul{padding-left:1.2rem;max-width:46rem}
li{margin:.3rem 0}
.lead{color:var(--soft);margin:0 0 1.6rem}
.eyebrow{color:var(--accent);font-size:.8rem;font-weight:600;letter-spacing:.06em;text-transform:uppercase;margin:0 0 .5rem}
.promise{border-left:4px solid var(--accent);background:var(--panel);border-radius:0 8px 8px 0;padding:1.1rem 1.4rem;margin:1.4rem 0}
.promise p{margin:.4rem 0}
.promise strong{font-size:1.2rem}
.note{color:var(--soft);font-size:.88rem}
.warning{border:1.5px solid var(--warn-line);background:var(--warn);color:var(--warn-ink);border-radius:8px;padding:1rem 1.3rem;margin:1.4rem 0}
.warning p:first-child{margin-top:0}.warning p:last-child{margin-bottom:0}
.warning h3{margin:0 0 .4rem}
.warning td,.warning th{border-color:var(--warn-line);color:var(--warn-ink)}
.warning .note,.warning caption,.warning small{color:var(--warn-ink)}
.warning code{background:none;padding:0;font-weight:600}
.warning .scroll{background:none}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.2rem,1fr));gap:.8rem;margin:1.6rem 0;padding:0;list-style:none;max-width:none}
.tiles li{border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;margin:0}
.tiles b{display:block;font-size:1.4rem;line-height:1.3;font-weight:650;font-variant-numeric:tabular-nums}
.tiles span{display:block;color:var(--soft);font-size:.84rem;line-height:1.35;margin-top:.15rem}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1.6rem;align-items:start}
figure{margin:1rem 0;min-width:0}
.two figure{margin:0}.two>div>h3{margin-top:.6rem}
figcaption{color:var(--soft);font-size:.88rem;margin-top:.5rem}
svg.o,img{display:block;width:100%;height:auto}
figure svg.o .p{fill:none}
figure svg.o{border:1px solid var(--line);border-radius:8px}
img{border-radius:4px}
.grid{display:flex;gap:.6rem;align-items:stretch}
.grid ol{list-style:none;margin:0;padding:0;display:flex;flex-direction:column;justify-content:space-around;font-size:.72rem;line-height:1.1;color:var(--soft);text-align:right;flex:none;max-width:6.5em}
.grid li{margin:0;flex:1;display:flex;align-items:center;justify-content:flex-end}
.grid img{flex:1;min-width:0;align-self:start}
.scroll{overflow-x:auto;margin:1rem 0}
.wide svg.o{min-width:38rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);font-size:.88rem;padding-bottom:.5rem}
small{display:block;color:var(--soft);font-size:.86em;line-height:1.4;max-width:30rem}
th,td{text-align:left;padding:.45rem 1.4rem .45rem 0;border-bottom:1px solid var(--line);vertical-align:top;font-weight:400}
thead th{font-weight:600;vertical-align:bottom;line-height:1.3}
th small{min-width:10.5rem}
.n{text-align:right}td.n,.w{white-space:nowrap}
table.heat{font-size:.78rem}
.heat th,.heat td{padding:.3rem .45rem;text-align:right;border:1px solid var(--paper);white-space:nowrap}
.heat thead th,.heat tbody th{font-weight:600}
.h0{color:var(--soft)}
.h1{background:var(--h1);color:var(--low)}.h2{background:var(--h2);color:var(--low)}
.h3{background:var(--h3);color:var(--low)}.h4{background:var(--h4);color:var(--low)}
.h5{background:var(--h5);color:var(--low)}.h6{background:var(--h6);color:var(--high)}
.h7{background:var(--h7);color:var(--high)}.h8{background:var(--h8);color:var(--high)}
.h9{background:var(--h9);color:var(--high)}
footer{margin-top:3.5rem;padding-top:1.2rem;border-top:1px solid var(--line);color:var(--soft);font-size:.88rem}
@media(max-width:34rem){html{font-size:16px}th,td{padding-right:1rem}.heat th,.heat td{padding:.25rem .2rem}table.heat{font-size:.72rem}main{padding-top:1.6rem}.promise{padding:1rem}}
@media print{html{font-size:11pt}main{max-width:none;padding:0}h2{break-after:avoid}
figure,.promise,.warning,.tiles li,tr{break-inside:avoid}.scroll,pre{overflow:visible}pre{white-space:pre-wrap}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

}  // namespace

Html::Html(std::string_view text) : markup_(escaped_for_xml(text)) {}

Html Html::markup(std::string markup) {
  Html html;
  html.markup_ = std::move(markup);
  return html;
}

Html& Html::operator+=(const Html& other) {
  markup_ += other.markup_;
  return *this;
}

Html empty_tag(std::string_view name, Attributes attributes) {
  std::string text = fmt::format("<{}", name);
  for (const auto& [key, value] : attributes)
    text += fmt::format(" {}=\"{}\"", key, escaped_for_xml(value));
  return Html::markup(text + ">");
}

Html tag(std::string_view name, Attributes attributes, const Html& content) {
  return empty_tag(name, attributes) + content + Html::markup(fmt::format("</{}>\n", name));
}

Html tag(std::string_view name, const Html& content) { return tag(name, {}, content); }

Html tag(std::string_view name, std::string_view text) { return tag(name, {}, Html(text)); }

namespace {

Html with_code(std::string_view text) {
  Html html;
  bool is_code = false;
  for (const std::string& part : split(text, '`')) {
    html += is_code ? Html::markup("<code>") + Html(part) + Html::markup("</code>") : Html(part);
    is_code = !is_code;
  }
  return html;
}

}  // namespace

Html prose(std::string_view text) { return tag("p", with_code(text)); }

Html note(std::string_view text) { return tag("p", {{"class", "note"}}, with_code(text)); }

Html warning(const Html& content) {
  return tag("div", {{"class", "warning"}, {"role", "note"}}, content);
}

Html section(std::string_view id, std::string_view title, const Html& content) {
  return tag("section", {{"id", id}}, tag("h2", title) + content);
}

Html to_html(const Table& table) {
  const auto cell = [&](std::size_t at, const Html& content) {
    const auto is = [&](Column kind) {
      return at < table.columns.size() && table.columns[at].second == kind;
    };
    if (at == 0) return tag("th", {{"scope", "row"}}, content);
    if (is(Column::kNumber)) return tag("td", {{"class", "n"}}, content);
    return is(Column::kShort) ? tag("td", {{"class", "w"}}, content) : tag("td", content);
  };
  Html head;
  for (const auto& [name, kind] : table.columns)
    head += kind == Column::kNumber ? tag("th", {{"scope", "col"}, {"class", "n"}}, Html(name))
                                    : tag("th", {{"scope", "col"}}, Html(name));
  Html rows;
  for (const auto& row : table.rows) {
    Html cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells += cell(i, row[i]);
    rows += tag("tr", cells);
  }
  Html content;
  if (!table.caption.empty()) content += tag("caption", table.caption);
  content += tag("thead", tag("tr", head)) + tag("tbody", rows);
  return tag("div", {{"class", "scroll"}, {"tabindex", "0"}}, tag("table", content));
}

Html figure(const Html& content, std::string_view caption) {
  return tag("figure", caption.empty() ? content : content + tag("figcaption", caption));
}

std::string data_uri(std::span<const std::byte> png) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "data:image/png;base64,";
  for (std::size_t at = 0; at < png.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (at + i < png.size() ? std::to_integer<std::uint32_t>(png[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= png.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

Html image(std::span<const std::byte> png, std::string_view description, long width, long height) {
  return empty_tag("img", {{"src", data_uri(png)},
                           {"alt", description},
                           {"width", std::to_string(width)},
                           {"height", std::to_string(height)}});
}

std::string page(std::string_view title, const Html& body) {
  // The policy forbids scripts and everything from elsewhere, should anything ever slip in.
  constexpr const char* kPolicy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
  const Html head =
      Html::markup("<meta charset=\"utf-8\">\n") +
      Html::markup(
          fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy)) +
      Html::markup(
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"referrer\" content=\"no-referrer\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n") +
      tag("title", title) + Html::markup(fmt::format("<style>{}</style>\n", kStyle));
  return "<!DOCTYPE html>\n" +
         tag("html", {{"lang", "en"}}, tag("head", head) + tag("body", tag("main", body))).str();
}

}  // namespace obol::report
