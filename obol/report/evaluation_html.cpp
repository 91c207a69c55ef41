#include "obol/report/evaluation_html.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "obol/base/text.h"

namespace obol::report {
namespace {

constexpr std::size_t kMostRows = 30;  // of a table that one can still take in

struct Known {
  const char* name;
  const char* shown;
  const char* meaning;  // or, of a classifier, its name where there is little room
};

constexpr Known kClassifiers[] = {
    {"cnn", "CNN", "CNN"}, {"mlp", "MLP", "MLP"}, {"logreg", "Logistic regression", "LogReg"}};

constexpr Known kQualities[] = {
    {"fid", "Fréchet inception distance", "lower is better"},
    {"classifier_fid", "Classifier Fréchet distance",
     "lower is better; in the features of a small classifier, not to be compared with a Fréchet "
     "inception distance"},
    {"inception_score", "Inception score", "higher is better"},
    {evaluate::kJunkRate, "Junk rate",
     "share of generated images that lie further from the real images of their class than 99.9% of "
     "real images do"},
    {"precision", "Precision", "share of generated images that look real"},
    {"recall", "Recall", "share of real images that could have been generated"},
    {"density", "Density", "how deep among real images the generated ones are"},
    {"coverage", "Coverage", "share of real images with a generated one nearby"},
    {"wasserstein_exact", "Wasserstein distance, exact", "lower is better"},
    {"wasserstein_entropic", "Wasserstein distance, entropic", "lower is better"},
};

template <std::size_t kCount>
const Known* find_known(const Known (&known)[kCount], std::string_view name) {
  const auto* found = std::find_if(std::begin(known), std::end(known),
                                   [&](const Known& item) { return name == item.name; });
  return found == std::end(known) ? nullptr : found;
}

std::string short_name(std::string_view classifier) {
  const Known* known = find_known(kClassifiers, classifier);
  return known == nullptr ? std::string(classifier) : known->meaning;
}

Html number(const std::optional<double>& value) {
  return value && !std::isnan(*value) ? Html(percent(*value)) : Html("–");
}

Html area(const std::optional<double>& value, const std::optional<double>& deviation) {
  if (!value || std::isnan(*value)) return Html("–");
  return Html(deviation.value_or(0) > 0 ? fmt::format("{:.3f} ± {:.3f}", *value, *deviation)
                                        : fmt::format("{:.3f}", *value));
}

std::string name_of_class(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : std::to_string(index);
}

// One column for each kind of accuracy that there is.
Html accuracy_table(const Evaluation& evaluation) {
  const auto known = [&](auto member) {
    return std::any_of(evaluation.classifiers.begin(), evaluation.classifiers.end(),
                       [&](const ClassifierScore& score) { return (score.*member).has_value(); });
  };
  const bool has_synthetic = known(&ClassifierScore::accuracy);
  const bool has_balanced = known(&ClassifierScore::balanced_accuracy);
  const bool has_auc = known(&ClassifierScore::auc);
  const bool has_real = known(&ClassifierScore::on_real);
  const bool has_balanced_real = known(&ClassifierScore::balanced_on_real);
  const bool has_calibrated = known(&ClassifierScore::calibrated);
  if (!has_synthetic && !has_real && !has_calibrated) return {};
  Table table{.caption = "", .columns = {{"Trained on", Column::kText}}, .rows = {}};
  if (has_synthetic) table.columns.emplace_back("Synthetic", Column::kNumber);
  if (has_balanced) table.columns.emplace_back("Balanced", Column::kNumber);
  if (has_auc) table.columns.emplace_back("AUC", Column::kNumber);
  if (has_real) table.columns.emplace_back("Real", Column::kNumber);
  if (has_balanced_real) table.columns.emplace_back("Real, balanced", Column::kNumber);
  if (has_calibrated) table.columns.emplace_back("Synthetic over real", Column::kNumber);
  for (const ClassifierScore& score : evaluation.classifiers) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(classifier_name(score.classifier));
    if (has_synthetic)
      row.push_back(score.accuracy ? Html(percent(*score.accuracy, score.deviation)) : Html("–"));
    if (has_balanced)
      row.push_back(score.balanced_accuracy
                        ? Html(percent(*score.balanced_accuracy, score.balanced_deviation))
                        : Html("–"));
    if (has_auc) row.push_back(area(score.auc, score.auc_deviation));
    if (has_real) row.push_back(number(score.on_real));
    if (has_balanced_real) row.push_back(number(score.balanced_on_real));
    if (has_calibrated) row.push_back(number(score.calibrated));
  }
  Html html = to_html(table);
  if (has_balanced)
    html += note(
        "Balanced: the mean of the accuracies of the classes, so that frequent classes count no "
        "more than rare ones. AUC: the probability that an image of a class gets a higher score "
        "for it than an image of another class; 0.5 is chance.");
  if (has_synthetic && (has_real || has_calibrated))
    html += note(
        "What classifiers trained on real images reach is not covered by the guarantee where these "
        "are the private ones.");
  return html;
}

Html validation_html(const std::optional<evaluate::Validation>& validation) {
  if (!validation || !validation->accuracy) return {};
  std::string text =
      fmt::format("On the private images themselves, with noise that the ledger has paid for: {}",
                  percent(*validation->accuracy, validation->standard_error));
  if (!validation->classifier.empty())
    text += fmt::format(" ({})", classifier_name(validation->classifier));
  return prose(text + ".");
}

// 0 (none) to 9 (all), of the heat map's shades; by the root, so that a few are seen.
int shade(std::int64_t count, std::int64_t sum) {
  if (count == 0 || sum == 0) return 0;
  const double share = static_cast<double>(count) / static_cast<double>(sum);
  return std::clamp(static_cast<int>(std::ceil(9 * std::sqrt(share))), 1, 9);
}

Html confusion_table(const ClassifierScore& score, const std::vector<std::string>& names) {
  Html head = tag("td", "");
  for (std::size_t k = 0; k < score.confusion.size(); ++k)
    head += tag("th", {{"scope", "col"}}, Html(name_of_class(names, k)));
  Html rows;
  for (std::size_t k = 0; k < score.confusion.size(); ++k) {
    const auto& counts = score.confusion[k];
    const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    Html cells = tag("th", {{"scope", "row"}}, Html(name_of_class(names, k)));
    for (const std::int64_t count : counts)
      cells += tag("td", {{"class", fmt::format("h{}", shade(count, sum))}}, Html(counted(count)));
    rows += tag("tr", cells);
  }
  const Html table =
      tag("table", {{"class", "heat"}},
          tag("caption", fmt::format("{}: rows are the true class, columns the predicted one.",
                                     classifier_name(score.classifier))) +
              tag("thead", tag("tr", head)) + tag("tbody", rows));
  return tag("h3", "Confusion matrix") +
         tag("div", {{"class", "scroll"}, {"tabindex", "0"}}, table);
}

Html per_class_table(const Evaluation& evaluation, const std::vector<std::string>& names) {
  std::size_t classes = 0;
  for (const ClassifierScore& score : evaluation.classifiers)
    classes = std::max(classes, score.per_class.size());
  if (classes == 0 || classes > kMostRows) return {};
  Table table{.caption = "Share of the real test images of a class that were recognised.",
              .columns = {{"Class", Column::kText}},
              .rows = {}};
  for (const ClassifierScore& score : evaluation.classifiers)
    if (!score.per_class.empty())
      table.columns.emplace_back(short_name(score.classifier), Column::kNumber);
  for (std::size_t k = 0; k < classes; ++k) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(name_of_class(names, k));
    for (const ClassifierScore& score : evaluation.classifiers) {
      if (score.per_class.empty()) continue;
      row.push_back(k < score.per_class.size() ? number(score.per_class[k]) : Html("–"));
    }
  }
  return tag("h3", "Accuracy of each class") + to_html(table);
}

Html suite_table(const Evaluation& evaluation) {
  if (!evaluation.suite || evaluation.suite->scores.empty()) return {};
  const std::vector<evaluate::SuiteScore>& scores = evaluation.suite->scores;
  Table table{.caption = "",
              .columns = {{"Classifier", Column::kText}, {"On synthetic", Column::kNumber}},
              .rows = {}};
  if (evaluation.suite->records)
    table.caption =
        fmt::format("Trained on {} synthetic images.", counted(*evaluation.suite->records));
  double sum = 0;
  for (const evaluate::SuiteScore& score : scores) {
    std::string name = score.classifier;
    std::replace(name.begin(), name.end(), '_', ' ');
    table.rows.push_back({Html(name), Html(percent(score.accuracy))});
    sum += score.accuracy;
  }
  table.rows.push_back(
      {tag("strong", "Mean"), Html(percent(sum / static_cast<double>(scores.size())))});
  return tag("h3", "More classifiers") + to_html(table);
}

std::string protocol_in_words(const Evaluation& evaluation) {
  std::string text = "Classifiers were trained on";
  text += evaluation.synthetic ? fmt::format(" {}", counted(*evaluation.synthetic)) : "";
  text += " synthetic images and tested on";
  text += evaluation.test ? fmt::format(" {}", counted(*evaluation.test)) : "";
  text += " real ones. When to stop was decided on synthetic images that were held out";
  if (!evaluation.protocol.empty())
    text += fmt::format(" ({} protocol, version {})", evaluation.protocol,
                        evaluation.protocol_version.value_or(1));
  if (evaluation.seeds.value_or(1) > 1)
    text += fmt::format("; mean and spread over {} repetitions", *evaluation.seeds);
  return text + ".";
}

// What stands below the name of a measure.
Html explanation(const Quality& quality, const std::vector<std::string>& names) {
  const Known* known = find_known(kQualities, quality.name);
  Html html = known == nullptr ? Html() : tag("small", known->meaning);
  if (quality.name != evaluate::kJunkRate) {
    if (quality.between_real)
      html +=
          tag("small", fmt::format("between real images: {}", figure_text(*quality.between_real)));
    return html;
  }
  if (quality.between_real)
    html +=
        tag("small", fmt::format("expected of real images: {:.2g}%", 100 * *quality.between_real));
  const auto worst =
      std::max_element(quality.per_class.begin(), quality.per_class.end(),
                       [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
  if (worst != quality.per_class.end() && *worst > 0)
    html += tag("small", fmt::format("most in class {}: {}",
                                     name_of_class(names, static_cast<std::size_t>(
                                                              worst - quality.per_class.begin())),
                                     percent(*worst)));
  return html;
}

std::string value_text(const Quality& quality) {
  if (quality.name == evaluate::kJunkRate) return percent(*quality.value, quality.deviation);
  return figure_text(*quality.value) +
         (quality.deviation ? fmt::format(" ± {:.2g}", *quality.deviation) : "");
}

Html quality_table(const std::vector<Quality>& qualities, const std::vector<std::string>& names) {
  Table table{.caption = "",
              .columns = {{"Measure", Column::kText},
                          {"Value", Column::kNumber},
                          {"Against", Column::kText}},
              .rows = {}};
  for (const Quality& quality : qualities) {
    if (!quality.value) continue;
    table.rows.push_back({Html(quality_name(quality.name)) + explanation(quality, names),
                          Html(value_text(quality)),
                          Html(quality.against.empty() ? "–" : quality.against)});
  }
  return table.rows.empty() ? Html() : to_html(table);
}

}  // namespace

std::string classifier_name(std::string_view name) {
  const Known* known = find_known(kClassifiers, name);
  return known == nullptr ? std::string(name) : known->shown;
}

std::string quality_name(std::string_view name) {
  const Known* known = find_known(kQualities, name);
  return known == nullptr ? std::string(name) : known->shown;
}

const ClassifierScore* main_score(const Evaluation& evaluation) {
  if (const ClassifierScore* cnn = find_score(evaluation, "cnn")) return cnn;
  return evaluation.classifiers.empty() ? nullptr : &evaluation.classifiers.front();
}

Html evaluation_sections(const std::optional<Evaluation>& evaluation,
                         const std::vector<std::string>& class_names) {
  constexpr const char* kHowTo = "Not evaluated yet: `obol evaluate RUN` does it.";
  if (!evaluation)
    return section("accuracy", "Is it any good?", prose(kHowTo)) +
           section("quality", "Sample quality", prose(kHowTo));
  Html accuracy = prose(protocol_in_words(*evaluation));
  accuracy += accuracy_table(*evaluation) + validation_html(evaluation->validation);
  const auto found =
      std::find_if(evaluation->classifiers.begin(), evaluation->classifiers.end(),
                   [](const ClassifierScore& score) { return !score.confusion.empty(); });
  const ClassifierScore* score = main_score(*evaluation);
  if (score != nullptr && score->confusion.empty() && found != evaluation->classifiers.end())
    score = &*found;
  Html details;
  if (score != nullptr && !score->confusion.empty() && score->confusion.size() <= kMostRows)
    details += tag("div", confusion_table(*score, class_names));
  const Html per_class = per_class_table(*evaluation, class_names);
  if (!per_class.empty()) details += tag("div", per_class);
  const Html suite = suite_table(*evaluation);
  if (!suite.empty()) details += tag("div", suite);
  if (!details.empty()) accuracy += tag("div", {{"class", "two"}}, details);
  Html quality = quality_table(evaluation->quality, class_names);
  if (quality.empty()) quality = prose("Not measured: `obol evaluate RUN` does it.");
  if (const std::string junk = junk_warning(*evaluation); !junk.empty())
    quality = warning(prose(junk + ".")) + quality;
  return section("accuracy", "Is it any good?", accuracy) +
         section("quality", "Sample quality", quality);
}

Html memorisation_section(const std::optional<Evaluation>& evaluation, PrivatePart part) {
  constexpr const char* kTitle = "Memorisation";
  constexpr const char* kHowTo =
      "Not measured: `obol evaluate RUN --memorisation` compares the samples with the records that "
      "were trained on.";
  if (part == PrivatePart::kLeftOut)
    return section("memorisation", kTitle,
                   prose("Left out: it is computed with private records, and this page is made "
                         "without them."));
  if (!evaluation) return section("memorisation", kTitle, prose(kHowTo));
  Html content = tag("h3", "Private: not for release") +
                 prose("Computed with private records, outside the guarantee.");
  const auto& found = evaluation->memorisation;
  if (found && found->ratio) {
    std::string text = fmt::format("Ratio {:.3g}", *found->ratio);
    if (found->low && found->high)
      text += fmt::format(", between {:.3g} and {:.3g}", *found->low, *found->high);
    if (found->samples) text += fmt::format(", from {} samples", counted(*found->samples));
    content += tag("p", tag("strong", text + ".")) +
               prose(
                   "It compares how near samples are to records that were trained on and to "
                   "records that were not. Near 1: samples know both alike. Clearly below 1: "
                   "training records come back.");
  } else {
    content += prose(kHowTo);
  }
  return section(
      "memorisation", kTitle,
      warning(content + accuracy_table(*evaluation) + quality_table(evaluation->quality, {})));
}

}  // namespace obol::report
