#include "obol/report/compare.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/base/version.h"
#include "obol/report/evaluation_html.h"
#include "obol/report/facts.h"
#include "obol/report/html.h"
#include "obol/report/plot.h"
#include "obol/report/published.h"

namespace obol::report {
namespace {

std::vector<RunFacts> read_all_facts(const std::vector<Path>& runs) {
  std::vector<RunFacts> all;
  for (const Path& run : runs) all.push_back(read_facts(run, PrivatePart::kLeftOut));
  // Two runs called "a" are told apart by where they are.
  std::vector<std::string> names;
  for (const RunFacts& facts : all) names.push_back(facts.name);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1) all[i].name = runs[i].string();
  return all;
}

std::optional<double> accuracy_of(const RunFacts& facts, std::string_view classifier) {
  const ClassifierScore* score =
      facts.evaluation ? find_score(*facts.evaluation, classifier) : nullptr;
  return score == nullptr ? std::nullopt : score->accuracy;
}

std::optional<double> quality_of(const RunFacts& facts, std::string_view name) {
  const Quality* quality = facts.evaluation ? find_quality(*facts.evaluation, name) : nullptr;
  return quality == nullptr ? std::nullopt : quality->value;
}

std::string quoted_unless(bool holds, double epsilon) {
  return holds ? rounded_up(epsilon) : fmt::format("“{}”", rounded_up(epsilon));
}

Html accuracy_cell(const RunFacts& facts, std::string_view classifier) {
  const ClassifierScore* score =
      facts.evaluation ? find_score(*facts.evaluation, classifier) : nullptr;
  if (score == nullptr || !score->accuracy) return Html("–");
  return Html(percent(*score->accuracy, score->deviation));
}

Html value_cell(const std::optional<double>& value) {
  return Html(value ? figure_text(*value) : "–");
}

Html share_cell(const std::optional<double>& value) { return Html(value ? percent(*value) : "–"); }

Html epsilon_cell(const RunFacts& facts) {
  if (facts.certificate) {
    const std::string epsilon = rounded_up(facts.certificate->guarantee.epsilon);
    return Html(facts.certificate->is_private() ? epsilon : epsilon + " (not private: none)");
  }
  return Html(facts.has_ledger ? "not certified" : "none");
}

Html published_cell(const RunFacts& facts) {
  if (!facts.certificate || !facts.certificate->published) return Html("–");
  const privacy::PublishedEpsilon& published = *facts.certificate->published;
  const std::string epsilon = rounded_up(published.epsilon);
  return Html(published.is_a_guarantee() ? epsilon : fmt::format("“{}”", epsilon));
}

bool are_of_several_versions(const std::vector<RunFacts>& all) {
  std::optional<std::int64_t> seen;
  for (const RunFacts& facts : all) {
    if (!facts.evaluation || facts.evaluation->protocol.empty()) continue;
    const std::int64_t version = facts.evaluation->protocol_version.value_or(1);
    if (seen && *seen != version) return true;
    seen = version;
  }
  return false;
}

Html runs_table(const std::vector<RunFacts>& all) {
  Table table{.caption = "",
              .columns = {{"Run", Column::kText},
                          {"Epsilon, proved", Column::kNumber},
                          {"As published", Column::kNumber},
                          {"LogReg", Column::kNumber},
                          {"MLP", Column::kNumber},
                          {"CNN", Column::kNumber},
                          {"FID", Column::kNumber},
                          {"Classifier FID", Column::kNumber},
                          {"Training", Column::kNumber}},
              .rows = {}};
  bool is_missing = false;
  for (const RunFacts& facts : all) {
    is_missing = is_missing || !facts.evaluation;
    std::string method = facts.method;
    if (facts.privacy.barrier)
      method += (method.empty() ? "" : ", ") + std::string(method::name_of(*facts.privacy.barrier));
    table.rows.push_back(
        {tag("strong", facts.name) + tag("small", facts.title()) + tag("small", method),
         epsilon_cell(facts), published_cell(facts), accuracy_cell(facts, "logreg"),
         accuracy_cell(facts, "mlp"), accuracy_cell(facts, "cnn"),
         value_cell(quality_of(facts, "fid")), value_cell(quality_of(facts, "classifier_fid")),
         Html(facts.metrics.empty() ? "–" : human_seconds(facts.metrics.back().seconds))});
  }
  Html html = to_html(table);
  if (are_of_several_versions(all))
    html += note(
        "LogReg: some of these runs were evaluated by version 1 of the protocol, in which logistic "
        "regression had no penalty; `obol evaluate RUN` measures them alike.");
  if (is_missing) html += note("A dash: not measured. `obol evaluate RUN` does it.");
  html += note(
      "In quotation marks: counted as in the paper whose recipe was followed, which is no "
      "guarantee.");
  return section("runs", "Figures", html);
}

Html grids(const std::vector<RunFacts>& all) {
  Html figures;
  for (const RunFacts& facts : all)
    if (facts.samples)
      figures += grid_figure(*facts.samples, facts.class_names(),
                             fmt::format("Images generated by {}", facts.name),
                             fmt::format("{}, after step {}", facts.name, facts.samples_step));
  if (figures.empty()) figures = prose("None of these runs has pictures of its samples.");
  return section("samples", "Samples", tag("div", {{"class", "two"}}, figures));
}

using OfRun = std::function<std::optional<double>(const RunFacts&)>;
using OfPublished = std::function<std::optional<double>(const PublishedFigures&)>;

// Utility against privacy: a disc for what is proved, a ring where the same run is counted as in
// its paper; diamonds for figures of others.
Html trade_off(Plot plot, const std::vector<const RunFacts*>& runs,
               std::span<const PublishedFigures> others, const OfRun& of_run,
               const OfPublished& of_published) {
  for (const RunFacts* facts : runs) {
    const std::optional<double> value = of_run(*facts);
    if (!value || !facts->certificate) continue;
    const privacy::Certificate& certificate = *facts->certificate;
    plot.points.push_back({facts->name, certificate.guarantee.epsilon, *value,
                           certificate.is_private() ? PlotSymbol::kDisc : PlotSymbol::kRing});
    if (certificate.published && !certificate.published->is_a_guarantee())
      plot.points.push_back({facts->name + ", as published", certificate.published->epsilon, *value,
                             PlotSymbol::kRing});
  }
  if (plot.points.empty()) return {};
  for (const PublishedFigures& other : others)
    if (const auto value = of_published(other))
      plot.points.push_back({fmt::format("{}{}", other.name, other.holds ? "" : ", “10”"),
                             other.epsilon, *value,
                             other.holds ? PlotSymbol::kDiamond : PlotSymbol::kHollowDiamond});
  for (const PlotPoint& point : plot.points)
    plot.description +=
        fmt::format("{}{}: epsilon {}, {:.4g}", plot.description.empty() ? "" : "; ", point.name,
                    rounded_up(point.x, 4), point.y);
  return tag("div", {{"class", "scroll wide"}, {"tabindex", "0"}},
             figure(Html::markup(plot_svg(plot))));
}

Plot empty_plot(std::string title, std::string y_label) {
  return {.title = std::move(title),
          .x_label = "epsilon (smaller: more private)",
          .y_label = std::move(y_label),
          .x_scale = PlotScale::kLogarithmic,
          .width = 760,
          .height = 480};
}

Html published_table(std::span<const PublishedFigures> others) {
  Table table{.caption = "Figures of others, from their papers, at delta 1e-5.",
              .columns = {{"Method", Column::kText},
                          {"Epsilon", Column::kNumber},
                          {"FID", Column::kNumber},
                          {"LogReg", Column::kNumber},
                          {"MLP", Column::kNumber},
                          {"CNN", Column::kNumber},
                          {"Source", Column::kText}},
              .rows = {}};
  for (const PublishedFigures& other : others)
    table.rows.push_back({Html(other.name), Html(quoted_unless(other.holds, other.epsilon)),
                          value_cell(other.fid), share_cell(other.logreg), share_cell(other.mlp),
                          share_cell(other.cnn), Html(other.source)});
  return to_html(table);
}

// The runs on one data set.
Html trade_offs(const std::string& data, const std::vector<const RunFacts*>& runs) {
  const auto others = published_figures(data);
  Plot accuracy = empty_plot("CNN accuracy against epsilon", "accuracy on real test images, %");
  accuracy.y_scale = PlotScale::kAroundData;
  const auto in_percent = [](const std::optional<double>& share) {
    return share ? std::optional<double>(100 * *share) : std::nullopt;
  };
  Html content = trade_off(
      accuracy, runs, others,
      [&](const RunFacts& facts) { return in_percent(accuracy_of(facts, "cnn")); },
      [&](const PublishedFigures& other) { return in_percent(other.cnn); });
  if (content.empty())
    content += prose(
        "No run here has both a certificate and a CNN's accuracy; `obol evaluate RUN` "
        "measures it.");
  const Html fid = trade_off(
      empty_plot("Fréchet inception distance against epsilon", "FID (lower is better)"), runs,
      others, [](const RunFacts& facts) { return quality_of(facts, "fid"); },
      [](const PublishedFigures& other) { return other.fid; });
  const Html own = trade_off(
      empty_plot("Classifier Fréchet distance against epsilon", "lower is better"), runs, {},
      [](const RunFacts& facts) { return quality_of(facts, "classifier_fid"); },
      [](const PublishedFigures&) { return std::nullopt; });
  content += fid + own;
  if (fid.empty())
    content += prose(
        "No run here has a Fréchet inception distance to stand beside published ones; "
        "`obol evaluate RUN --inception FILE` measures it.");
  if (!own.empty() && !others.empty())
    content += note(
        "A classifier Fréchet distance lives in the features of a small classifier: it "
        "compares these runs with each other, and with no published figure.");
  content += note(
      "Discs: these runs, at the epsilon that is proved. Rings: an epsilon that is no "
      "guarantee, as published or of a run that is not private.");
  if (!others.empty())
    content += note(
                   "Diamonds: figures of others. Hollow, and in quotation marks: their published "
                   "count does not hold, so that they belong further to the right.") +
               published_table(others);
  return section(
      "trade-off-" + data,
      data.empty() ? "Utility against privacy" : fmt::format("Utility against privacy on {}", data),
      content);
}

}  // namespace

std::string compare_html(const std::vector<Path>& runs) {
  if (runs.empty()) throw InvalidArgument("a comparison must have runs, but has none");
  const std::vector<RunFacts> all = read_all_facts(runs);
  std::vector<std::string> data;
  for (const RunFacts& facts : all)
    if (std::find(data.begin(), data.end(), facts.data_name()) == data.end())
      data.push_back(facts.data_name());
  Html body = tag("header", tag("p", {{"class", "eyebrow"}}, Html("Comparison")) +
                                tag("h1", fmt::format("{} runs side by side", all.size())));
  body += prose(
      "Each epsilon was recomputed from the run's own ledger. To release several runs on the same "
      "data costs more than any of them: `obol account RUN RUN ...` gives the total.");
  body += runs_table(all) + grids(all);
  for (const std::string& name : data) {
    std::vector<const RunFacts*> chosen;
    for (const RunFacts& facts : all)
      if (facts.data_name() == name) chosen.push_back(&facts);
    body += trade_offs(name, chosen);
  }
  body += tag("footer", tag("p", fmt::format("Made by obol {} ({}).", version(), commit())));
  return page("Runs side by side – Obol", body);
}

}  // namespace obol::report
