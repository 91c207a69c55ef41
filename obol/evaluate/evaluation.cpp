#include "obol/evaluate/evaluation.h"

#include <cmath>
#include <filesystem>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"

namespace obol::evaluate {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 20;
constexpr std::size_t kMostClasses = 1000;
constexpr const char* kFormat = "obol-evaluation";
constexpr int kVersion = 1;

// Reads the members of an object, and knows where it stands: "classifiers.cnn". A member that is
// missing, or null, leaves what is there.
class Reader {
 public:
  Reader(const ordered_json& value, std::string path, const std::string& where)
      : value_(value), path_(std::move(path)), where_(where) {
    if (!value.is_object()) refuse(path_, "an object");
  }

  void operator()(const char* key, std::optional<double>& number) const {
    if (const ordered_json* found = find(key)) number = number_of(*found, below(key));
  }
  void operator()(const char* key, std::optional<std::int64_t>& count) const {
    if (const ordered_json* found = find(key)) count = count_of(*found, below(key));
  }
  void operator()(const char* key, std::string& text) const {
    const ordered_json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_string()) refuse(below(key), "a text");
    text = found->get<std::string>();
  }
  void operator()(const char* key, std::vector<double>& numbers) const {
    for (const ordered_json& item : list(find(key), below(key))) {
      if (!item.is_number() && !item.is_null()) refuse(below(key), "a list of numbers");
      numbers.push_back(item.is_null() ? std::nan("") : item.get<double>());
    }
  }
  void operator()(const char* key, std::vector<std::string>& texts) const {
    for (const ordered_json& item : list(find(key), below(key))) {
      if (!item.is_string()) refuse(below(key), "a list of texts");
      texts.push_back(item.get<std::string>());
    }
  }
  void operator()(const char* key, std::vector<std::vector<std::int64_t>>& square) const {
    const ordered_json& outer = list(find(key), below(key));
    for (const ordered_json& inner : outer) {
      std::vector<std::int64_t>& row = square.emplace_back();
      for (const ordered_json& item : list(&inner, below(key)))
        row.push_back(count_of(item, below(key)));
      if (row.size() != outer.size()) refuse(below(key), "as wide as it is high");
    }
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& part) const {
    if (const ordered_json* found = find(key))
      visit(part.emplace(), Reader(*found, below(key), where_));
  }
  // An object with one member for each; `name` is where its key is kept.
  template <class T>
  void named(const char* key, std::vector<T>& parts, std::string T::*name) const {
    for (const auto& [its_name, value] : members(key)) {
      parts.emplace_back().*name = its_name;
      visit(parts.back(), Reader(*value, below(key) + "." + its_name, where_));
    }
  }
  void scores(const char* key, std::vector<SuiteScore>& scores) const {
    for (const auto& [name, value] : members(key))
      if (!value->is_null()) scores.push_back({name, number_of(*value, below(key) + "." + name)});
  }

 private:
  [[noreturn]] void refuse(const std::string& path, std::string_view requirement) const {
    throw DataError(
        violation(path.empty() ? "an evaluation" : path, requirement, "something else", where_));
  }
  [[nodiscard]] const ordered_json* find(const char* key) const {
    const auto found = value_.find(key);
    return found == value_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::string below(const char* key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  [[nodiscard]] const ordered_json& list(const ordered_json* found, const std::string& path) const {
    static const ordered_json kNone = ordered_json::array();
    if (found == nullptr) return kNone;
    if (!found->is_array() || found->size() > kMostClasses)
      refuse(path, fmt::format("a list of at most {}", kMostClasses));
    return *found;
  }
  [[nodiscard]] std::vector<std::pair<std::string, const ordered_json*>> members(
      const char* key) const {
    const ordered_json* found = find(key);
    std::vector<std::pair<std::string, const ordered_json*>> result;
    if (found == nullptr) return result;
    if (!found->is_object() || found->size() > kMostClasses) refuse(below(key), "an object");
    for (const auto& [name, value] : found->items()) result.emplace_back(name, &value);
    return result;
  }
  [[nodiscard]] double number_of(const ordered_json& value, const std::string& path) const {
    if (!value.is_number()) refuse(path, "a number");
    return value.get<double>();
  }
  [[nodiscard]] std::int64_t count_of(const ordered_json& value, const std::string& path) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    if (!value.is_number_integer() || value.get<double>() < 0 ||
        value.get<double>() > static_cast<double>(kMost))
      refuse(path, "a count");
    return value.get<std::int64_t>();
  }

  const ordered_json& value_;
  std::string path_;
  const std::string& where_;
};

// Adds the members that are there to an object, in the order in which they are visited.
class Writer {
 public:
  explicit Writer(ordered_json& value) : value_(value) {}

  void operator()(const char* key, const std::string& text) const {
    if (!text.empty()) value_[key] = text;
  }
  template <class T>
  void operator()(const char* key, const std::vector<T>& items) const {
    if (!items.empty()) value_[key] = items;
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& part) const {
    if (!part) return;
    if constexpr (std::is_arithmetic_v<T>)
      value_[key] = *part;
    else
      visit(*part, Writer(value_[key] = ordered_json::object()));
  }
  template <class T>
  void named(const char* key, std::vector<T>& parts, std::string T::*name) const {
    value_[key] = ordered_json::object();
    for (T& part : parts) visit(part, Writer(value_[key][part.*name] = ordered_json::object()));
  }
  void scores(const char* key, const std::vector<SuiteScore>& scores) const {
    value_[key] = ordered_json::object();
    for (const SuiteScore& score : scores) value_[key][score.classifier] = score.accuracy;
  }

 private:
  ordered_json& value_;
};

// The members of each part, in their order, for reading and writing alike.

template <class Visitor>
void visit(ClassifierScore& score, const Visitor& member) {
  member("accuracy", score.accuracy);
  member("standard_deviation", score.deviation);
  member("accuracies", score.accuracies);
  member("balanced_accuracy", score.balanced_accuracy);
  member("balanced_deviation", score.balanced_deviation);
  member("auc", score.auc);
  member("auc_deviation", score.auc_deviation);
  member("confusion", score.confusion);
  member("per_class", score.per_class);
  member("on_real", score.on_real);
  member("balanced_on_real", score.balanced_on_real);
  member("auc_on_real", score.auc_on_real);
  member("calibrated", score.calibrated);
}

template <class Visitor>
void visit(Quality& quality, const Visitor& member) {
  member("value", quality.value);
  member("deviation", quality.deviation);
  member("per_class", quality.per_class);
  member("between_real", quality.between_real);
  member("images_per_class", quality.images_per_class);
  member("against", quality.against);
  member("regularization", quality.regularization);
}

template <class Visitor>
void visit(Suite& suite, const Visitor& member) {
  member("records", suite.records);
  member.scores("classifiers", suite.scores);
}

template <class Visitor>
void visit(Validation& validation, const Visitor& member) {
  member("classifier", validation.classifier);
  member("accuracy", validation.accuracy);
  member("standard_error", validation.standard_error);
}

template <class Visitor>
void visit(MemorisationScore& score, const Visitor& member) {
  member("ratio", score.ratio);
  member("low", score.low);
  member("high", score.high);
  member("samples", score.samples);
  member("references", score.references);
  member("closest", score.closest);
}

template <class Visitor>
void visit(Evaluation& evaluation, const Visitor& member) {
  member("protocol", evaluation.protocol);
  member("protocol_version", evaluation.protocol_version);
  member("synthetic", evaluation.synthetic);
  member("labelled_by", evaluation.labelled_by);
  member("test", evaluation.test);
  member("against", evaluation.against);
  member("source", evaluation.source);
  member("seeds", evaluation.seeds);
  member("seconds", evaluation.seconds);
  member("classes", evaluation.classes);
  member.named("classifiers", evaluation.classifiers, &ClassifierScore::classifier);
  member.named("quality", evaluation.quality, &Quality::name);
  member("suite", evaluation.suite);
  member("validation", evaluation.validation);
  member("memorisation", evaluation.memorisation);
}

}  // namespace

std::string Evaluation::to_json() const {
  ordered_json value = {{"format", kFormat}, {"version", kVersion}};
  Evaluation copy = *this;
  visit(copy, Writer(value));
  // What was computed with private records has them only where they were asked for.
  for (const char* key : {"classifiers", "quality"})
    if (protocol.empty() && value[key].empty()) value.erase(key);
  return value.dump(2);
}

Evaluation Evaluation::from_json(std::string_view text, const std::string& where) {
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  if (!value.is_object() || value.value("format", ordered_json()) != kFormat)
    throw DataError(violation(where, "an evaluation that Obol wrote", "something else"));
  if (value.value("version", ordered_json()) != kVersion)
    throw DataError(violation("the version of an evaluation", fmt::format("{}", kVersion),
                              value.value("version", ordered_json()).dump(), where));
  Evaluation result;
  visit(result, Reader(value, "", where));
  return result;
}

std::optional<Evaluation> read_evaluation(const Path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return Evaluation::from_json(read_text(path, kLargestFile), path.string());
}

const ClassifierScore* find_score(const Evaluation& evaluation, std::string_view classifier) {
  for (const ClassifierScore& score : evaluation.classifiers)
    if (score.classifier == classifier) return &score;
  return nullptr;
}

const Quality* find_quality(const Evaluation& evaluation, std::string_view name) {
  for (const Quality& quality : evaluation.quality)
    if (quality.name == name) return &quality;
  return nullptr;
}

std::string junk_warning(const Evaluation& evaluation) {
  const Quality* junk = find_quality(evaluation, kJunkRate);
  if (junk == nullptr || !junk->value || !(*junk->value > kMuchJunk)) return "";
  return fmt::format(
      "{:.1f}% of the generated images are junk: they lie further from the real images of their "
      "class than 99.9% of real images do",
      100 * *junk->value);
}

}  // namespace obol::evaluate
