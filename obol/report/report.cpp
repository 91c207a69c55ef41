#include "obol/report/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/base/version.h"
#include "obol/report/evaluation_html.h"
#include "obol/report/plot.h"

namespace obol::report {
namespace {

using privacy::Certificate;
using privacy::LedgerEntry;
using privacy::LedgerEntryKind;

constexpr double kPlotWidth = 480;
constexpr double kPlotHeight = 320;

Html promise(const RunFacts& facts) {
  const auto box = [](const Html& content) { return tag("div", {{"class", "promise"}}, content); };
  if (!facts.certificate && !facts.has_ledger)
    return box(tag("p", tag("strong", "No guarantee.")) +
               prose("This run was trained without privacy: what it released may tell anything "
                     "about any record."));
  if (!facts.certificate)
    return box(tag("p", tag("strong", "No certificate yet.")) +
               prose("The run is not finished: `obol train --resume` goes on with it, and `obol "
                     "certify RUN --delta D` certifies what it has spent so far."));
  const Certificate& certificate = *facts.certificate;
  const privacy::Guarantee& guarantee = certificate.guarantee;
  Html content =
      tag("p", tag("strong", fmt::format("Epsilon {} at delta {}.", rounded_up(guarantee.epsilon),
                                         rounded_up(guarantee.delta)))) +
      prose(privacy::in_words(guarantee));
  if (certificate.published)
    content += prose(privacy::in_words(*certificate.published, guarantee.epsilon));
  if (certificate.is_private()) return box(content);
  return warning(prose(fmt::format("This run is {}. The figures would hold if that were not so.",
                                   certificate.ledger.header.randomness))) +
         box(content);
}

Html tile(const std::string& figure, const std::string& meaning) {
  return tag("li", tag("b", figure) + tag("span", meaning));
}

Html tiles(const RunFacts& facts) {
  Html items;
  if (facts.certificate) {
    items += tile(rounded_up(facts.certificate->guarantee.epsilon), "epsilon, proved");
    if (facts.certificate->published && !facts.certificate->published->is_a_guarantee())
      items += tile(fmt::format("“{}”", rounded_up(facts.certificate->published->epsilon)),
                    "epsilon as published, which does not hold");
  }
  if (facts.evaluation) {
    const ClassifierScore* score = main_score(*facts.evaluation);
    if (score != nullptr && score->accuracy)
      items += tile(percent(*score->accuracy),
                    fmt::format("{} on real test images", classifier_name(score->classifier)));
    for (const char* name : {"fid", "classifier_fid"}) {
      const Quality* quality = find_quality(*facts.evaluation, name);
      if (quality == nullptr || !quality->value) continue;
      items += tile(figure_text(*quality->value), quality_name(name));
      break;
    }
  }
  const Quality* junk =
      facts.evaluation ? find_quality(*facts.evaluation, evaluate::kJunkRate) : nullptr;
  if (junk != nullptr && junk->value) items += tile(percent(*junk->value), "junk images");
  if (facts.certificate)
    items += tile(counted(facts.certificate->ledger.header.records), "private records");
  if (!facts.metrics.empty())
    items += tile(counted(facts.metrics.back().step),
                  fmt::format("steps, in {}", human_seconds(facts.metrics.back().seconds)));
  return items.empty() ? Html() : tag("ul", {{"class", "tiles"}}, items);
}

Html header(const RunFacts& facts) {
  Html content = tag("p", {{"class", "eyebrow"}}, Html("Report of the run " + facts.name)) +
                 tag("h1", facts.title());
  if (facts.heading.summary) content += tag("p", {{"class", "lead"}}, Html(*facts.heading.summary));
  return tag("header", content);
}

Html samples(const RunFacts& facts, const std::optional<std::string>& source) {
  const RealSamples real = real_samples(facts, source);
  std::vector<std::string> names = real.class_names;
  if (names.empty() && facts.has_classes()) names = facts.class_names();
  const std::string rows = facts.has_classes() ? " One row for each class." : "";
  Html pictures;
  Html remarks;
  if (facts.samples)
    pictures +=
        grid_figure(*facts.samples, names, "Generated images." + rows,
                    fmt::format("Generated, after step {}.{}", counted(facts.samples_step), rows));
  else
    remarks += prose(
        "This run has no pictures of its samples; `run.sample_every` in its recipe "
        "says when they are drawn.");
  if (facts.has_teacher)
    remarks += prose(
        "Labels of samples are given by a private classifier: each image has the class that it "
        "sees, not the one that the generator was asked for.");
  constexpr std::size_t kLargest = 900'000;  // so that a report stays below 3 MB
  const std::vector<std::byte> png =
      real.picture ? data::png_bytes(*real.picture) : std::vector<std::byte>();
  if (real.picture && png.size() <= kLargest)
    pictures += grid_figure({.bytes = png, .shape = real.picture->shape}, names,
                            "Real images of the test split, one row for each class",
                            "Real, from the test split: none of these was trained on.");
  else
    remarks += note(
        fmt::format("Real test images are left out: {}.",
                    real.picture ? std::string("they are too large for one page") : real.why_none));
  return section("samples", "Samples", tag("div", {{"class", "two"}}, pictures) + remarks);
}

// At most `most` of the points, the last among them.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& all,
                                               std::size_t most) {
  const std::size_t stride = all.size() / most + 1;
  std::vector<std::pair<double, double>> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % stride == 0 || i + 1 == all.size()) kept.push_back(all[i]);
  return kept;
}

std::map<std::string, std::vector<std::pair<double, double>>> curves_of(const RunFacts& facts) {
  std::map<std::string, std::vector<std::pair<double, double>>> curves;
  for (const run::MetricsRow& row : facts.metrics)
    for (const auto& [name, value] : row.values)
      if (std::isfinite(value)) curves[name].emplace_back(row.step, value);
  return curves;
}

// Of the guarantee, and of the published count where there is one.
std::optional<Plot> epsilon_plot(const RunFacts& facts,
                                 const std::vector<std::pair<double, double>>& all) {
  constexpr std::size_t kPoints = 40;  // each of the published count takes some milliseconds
  const auto points = thinned(all, kPoints);
  if (points.empty()) return std::nullopt;
  Plot plot{.title = "Epsilon",
            .x_label = "steps",
            .y_label = "",
            .lines = {{"guarantee", points}},
            .description = fmt::format("The guarantee reaches epsilon {} at step {:g}.",
                                       rounded_up(points.back().second), points.back().first),
            .width = kPlotWidth,
            .height = kPlotHeight};
  plot.lines[0].points.insert(plot.lines[0].points.begin(), {0, 0});
  if (facts.privacy.epsilon)
    plot.marks.push_back(
        {fmt::format("budget {}", *facts.privacy.epsilon), *facts.privacy.epsilon});
  if (!facts.certificate || !facts.certificate->published) return plot;
  const privacy::PublishedEpsilon& published = *facts.certificate->published;
  const Delta delta{facts.certificate->guarantee.delta};
  PlotLine line{published.is_a_guarantee() ? "as published" : "as published, no guarantee",
                {{0, 0}}};
  for (const auto& [step, epsilon] : points) {
    const auto releases = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(published.releases) * step / points.back().first));
    line.points.emplace_back(
        step, privacy::account_as_published(published.count, releases, delta).epsilon);
  }
  plot.lines.push_back(std::move(line));
  plot.description += fmt::format(" As published it reaches {}.", rounded_up(published.epsilon));
  return plot;
}

Html curves_section(const RunFacts& facts) {
  constexpr std::size_t kMostCurves = 12;
  constexpr std::size_t kPoints = 300;
  auto curves = curves_of(facts);
  Html figures;
  if (const auto plot = epsilon_plot(facts, curves["epsilon"]))
    figures += figure(Html::markup(plot_svg(*plot)));
  std::size_t shown = 0;
  for (const auto& [name, points] : curves) {
    if (name == "epsilon" || points.size() < 2 || shown == kMostCurves) continue;
    ++shown;
    std::string title = name;
    std::replace(title.begin(), title.end(), '_', ' ');
    if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
    figures += figure(Html::markup(
        plot_svg({.title = title,
                  .x_label = "steps",
                  .y_label = "",
                  .lines = {{name, thinned(points, kPoints)}},
                  .description = fmt::format("From {:.4g} at step {:g} to {:.4g} at step {:g}.",
                                             points.front().second, points.front().first,
                                             points.back().second, points.back().first),
                  .width = kPlotWidth,
                  .height = kPlotHeight})));
  }
  if (figures.empty())
    return section("curves", "Over the steps", prose("This run noted nothing on its way."));
  return section(
      "curves", "Over the steps",
      prose("Epsilon counts what is paid for ahead, so that no point is too low. The rest is what "
            "passed the privacy barrier, or is known of generated images alone; a loss against "
            "private data is neither.") +
          tag("div", {{"class", "two"}}, figures));
}

// Neighbouring entries that differ in nothing but time and count are one line.
struct LedgerLine {
  const LedgerEntry* first;
  const LedgerEntry* last;
  std::int64_t releases;
  std::int64_t entries;
};

std::vector<LedgerLine> merged(const std::vector<LedgerEntry>& entries) {
  std::vector<LedgerLine> lines;
  for (const LedgerEntry& entry : entries) {
    const std::int64_t releases =
        entry.event ? entry.used.value_or(privacy::count_of(*entry.event)) : 0;
    LedgerLine* before = lines.empty() ? nullptr : &lines.back();
    if (before != nullptr && before->last->kind == entry.kind &&
        before->last->purpose == entry.purpose &&
        before->last->event.has_value() == entry.event.has_value() &&
        (!entry.event || privacy::same_mechanism(*before->last->event, *entry.event))) {
      before->last = &entry;
      before->releases += releases;
      ++before->entries;
    } else {
      lines.push_back({.first = &entry, .last = &entry, .releases = releases, .entries = 1});
    }
  }
  return lines;
}

// "2026-01-31T12:00:00Z" to "2026-01-31 12:00:00"
std::string shown_time(std::string time) {
  std::replace(time.begin(), time.end(), 'T', ' ');
  if (time.ends_with('Z')) time.pop_back();
  return time;
}

Html ledger_section(const RunFacts& facts) {
  if (!facts.certificate)
    return section("ledger", "Ledger",
                   prose(facts.has_ledger ? "It is shown once there is a certificate."
                                          : "There is none: nothing was accounted for."));
  const privacy::LedgerRecord& ledger = facts.certificate->ledger;
  const std::vector<LedgerLine> lines = merged(ledger.entries);
  Table table{.caption = "",
              .columns = {{"For", Column::kText},
                          {"What", Column::kText},
                          {"Entries", Column::kNumber},
                          {"From (UTC)", Column::kShort},
                          {"To", Column::kShort}},
              .rows = {}};
  constexpr std::size_t kMostLines = 100;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    const LedgerLine& line = lines[i];
    const bool is_recovery = line.first->kind == LedgerEntryKind::kRecovered;
    const bool is_something = line.first->event && line.releases > 0;
    table.rows.push_back({Html(is_recovery ? "recovered after a crash" : line.first->purpose),
                          Html(is_something ? privacy::describe(privacy::with_count(
                                                  *line.first->event, line.releases))
                                            : "nothing"),
                          Html(counted(line.entries)), Html(shown_time(line.first->time)),
                          Html(shown_time(line.last->time))});
  }
  Html remarks = note(fmt::format(
      "{} entries{}, each written before its release was used; neighbouring ones of the same kind "
      "stand in one line. `obol verify` recomputes epsilon from them, and did so for this page.",
      counted(static_cast<std::int64_t>(ledger.entries.size())),
      lines.size() > kMostLines
          ? fmt::format(" in {} lines, of which the first {} are shown",
                        counted(static_cast<std::int64_t>(lines.size())), kMostLines)
          : ""));
  return section("ledger", "Ledger", to_html(table) + remarks);
}

Html not_covered_section(const RunFacts& facts) {
  if (!facts.certificate)
    return section("not-covered", "What is not covered", prose("Nothing is covered."));
  Html items;
  for (const std::string& item : facts.certificate->not_covered) items += tag("li", item);
  return section("not-covered", "What the guarantee does not cover", tag("ul", items));
}

Html recipe_section(const RunFacts& facts) {
  return section(
      "recipe", "Recipe",
      prose("Every value in force; `obol train recipe.toml --out RUN`, on the same data, "
            "trains the same again.") +
          tag("pre", {{"tabindex", "0"}}, tag("code", facts.recipe)));
}

Html versions_section(const RunFacts& facts) {
  Table table{
      .caption = "", .columns = {{"What", Column::kText}, {"Which", Column::kText}}, .rows = {}};
  const auto row = [&](std::string_view name, const std::string& value) {
    table.rows.push_back({Html(name), Html(value)});
  };
  if (facts.certificate) {
    const Certificate& certificate = *facts.certificate;
    const privacy::LedgerRecord& ledger = certificate.ledger;
    row("Trained by", fmt::format("obol {} ({})", ledger.version, ledger.commit));
    row("Certified by", fmt::format("obol {} ({})", certificate.version, certificate.commit));
    row("Accountant", std::string(name_of(certificate.guarantee.accountant)));
    row("Neighbouring data sets", std::string(name_of(certificate.guarantee.neighbours)));
    row("Records that one person may have given", std::to_string(certificate.guarantee.group_size));
    row("Randomness", ledger.header.randomness);
    row("Fingerprint of the data (keyed)", ledger.header.fingerprint);
    row("Head of the ledger", ledger.head().hash);
  }
  row("This page by", fmt::format("obol {} ({})", version(), commit()));
  return section("versions", "Versions and fingerprints", to_html(table));
}

}  // namespace

Report report_html(const Path& run, PrivatePart part, const std::optional<std::string>& real) {
  const RunFacts facts = read_facts(run, part);
  const bool is_private = facts.private_evaluation.has_value();
  Html body = header(facts) + promise(facts);
  if (is_private)
    body += warning(prose(
        "Not for release: this page holds figures that were computed with private records, in "
        "a box marked so. `obol report RUN --without-private` leaves them out."));
  body += tiles(facts) + samples(facts, real) + curves_section(facts);
  body += evaluation_sections(facts.evaluation, facts.class_names());
  body += memorisation_section(facts.private_evaluation, part);
  body += ledger_section(facts) + not_covered_section(facts) + recipe_section(facts) +
          versions_section(facts);
  return {.html = page(facts.title() + " – Obol", body), .is_private = is_private};
}

}  // namespace obol::report
