#include "obol/evaluate/evaluation.h"

#include <cmath>
#include <filesystem>
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

// An object and where it stands, for messages: "evaluation.json: classifiers.cnn".
class Part {
 public:
  Part(const ordered_json& value, std::string path, const std::string& where)
      : value_(value), path_(std::move(path)), where_(where) {
    if (!value.is_object()) refuse(path_, "an object");
  }

  [[nodiscard]] std::optional<double> number(const char* key) const {
    const ordered_json* found = find(key);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number()) refuse(below(key), "a number");
    return found->get<double>();
  }

  [[nodiscard]] std::optional<std::int64_t> count(const char* key) const {
    const ordered_json* found = find(key);
    if (found == nullptr) return std::nullopt;
    return count_of(*found, below(key));
  }

  [[nodiscard]] std::string text(const char* key) const {
    const ordered_json* found = find(key);
    if (found == nullptr) return "";
    if (!found->is_string()) refuse(below(key), "a text");
    return found->get<std::string>();
  }

  [[nodiscard]] std::vector<double> numbers(const char* key) const {
    std::vector<double> result;
    for (const ordered_json& item : list(find(key), below(key))) {
      if (!item.is_number() && !item.is_null()) refuse(below(key), "a list of numbers");
      result.push_back(item.is_null() ? std::nan("") : item.get<double>());
    }
    return result;
  }

  [[nodiscard]] std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> result;
    for (const ordered_json& item : list(find(key), below(key))) {
      if (!item.is_string()) refuse(below(key), "a list of texts");
      result.push_back(item.get<std::string>());
    }
    return result;
  }

  [[nodiscard]] std::vector<std::vector<std::int64_t>> square(const char* key) const {
    std::vector<std::vector<std::int64_t>> rows;
    const ordered_json& outer = list(find(key), below(key));
    for (const ordered_json& inner : outer) {
      std::vector<std::int64_t>& row = rows.emplace_back();
      for (const ordered_json& item : list(&inner, below(key)))
        row.push_back(count_of(item, below(key)));
      if (row.size() != outer.size()) refuse(below(key), "as wide as it is high");
    }
    return rows;
  }

  // The members of an object; none where it is missing.
  [[nodiscard]] std::vector<std::pair<std::string, Part>> parts(const char* key) const {
    std::vector<std::pair<std::string, Part>> result;
    for (const auto& [name, value] : members(key))
      result.emplace_back(name, Part(*value, below(key) + "." + name, where_));
    return result;
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

  [[nodiscard]] std::optional<Part> part(const char* key) const {
    const ordered_json* found = find(key);
    if (found == nullptr) return std::nullopt;
    return Part(*found, below(key), where_);
  }

  [[noreturn]] void refuse(const std::string& path, std::string_view requirement) const {
    throw DataError(
        violation(path.empty() ? "an evaluation" : path, requirement, "something else", where_));
  }

 private:
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

ClassifierScore score_of(const std::string& name, const Part& part) {
  return {.classifier = name,
          .accuracy = part.number("accuracy"),
          .deviation = part.number("standard_deviation"),
          .accuracies = part.numbers("accuracies"),
          .confusion = part.square("confusion"),
          .per_class = part.numbers("per_class"),
          .on_real = part.number("on_real"),
          .calibrated = part.number("calibrated")};
}

Quality quality_of(const std::string& name, const Part& part) {
  return {.name = name,
          .value = part.number("value"),
          .deviation = part.number("deviation"),
          .per_class = part.numbers("per_class"),
          .between_real = part.number("between_real"),
          .images_per_class = part.count("images_per_class"),
          .against = part.text("against"),
          .regularization = part.number("regularization")};
}

Suite suite_of(const Part& part) {
  Suite suite{.records = part.count("records"), .scores = {}};
  for (const auto& [name, value] : part.members("classifiers")) {
    if (value->is_null()) continue;
    if (!value->is_number()) part.refuse("suite.classifiers." + name, "a number");
    suite.scores.push_back({name, value->get<double>()});
  }
  return suite;
}

MemorisationScore memorisation_of(const Part& part) {
  return {.ratio = part.number("ratio"),
          .low = part.number("low"),
          .high = part.number("high"),
          .samples = part.count("samples"),
          .references = part.count("references"),
          .closest = part.text("closest")};
}

Validation validation_of(const Part& part) {
  return {.classifier = part.text("classifier"),
          .accuracy = part.number("accuracy"),
          .standard_error = part.number("standard_error")};
}

// Members that are missing are left out; the others keep the order in which they are added.
class Object {
 public:
  template <class T>
  Object& add(const char* key, const std::optional<T>& value) {
    if (value) value_[key] = *value;
    return *this;
  }
  template <class T>
  Object& add(const char* key, const std::vector<T>& values) {
    if (!values.empty()) value_[key] = values;
    return *this;
  }
  Object& add(const char* key, const std::string& text) {
    if (!text.empty()) value_[key] = text;
    return *this;
  }
  [[nodiscard]] const ordered_json& json() const noexcept { return value_; }

 private:
  ordered_json value_ = ordered_json::object();
};

ordered_json json_of(const ClassifierScore& score) {
  return Object()
      .add("accuracy", score.accuracy)
      .add("standard_deviation", score.deviation)
      .add("accuracies", score.accuracies)
      .add("confusion", score.confusion)
      .add("per_class", score.per_class)
      .add("on_real", score.on_real)
      .add("calibrated", score.calibrated)
      .json();
}

ordered_json json_of(const Quality& quality) {
  return Object()
      .add("value", quality.value)
      .add("deviation", quality.deviation)
      .add("per_class", quality.per_class)
      .add("between_real", quality.between_real)
      .add("images_per_class", quality.images_per_class)
      .add("against", quality.against)
      .add("regularization", quality.regularization)
      .json();
}

ordered_json json_of(const Suite& suite) {
  ordered_json value = Object().add("records", suite.records).json();
  value["classifiers"] = ordered_json::object();
  for (const SuiteScore& score : suite.scores)
    value["classifiers"][score.classifier] = score.accuracy;
  return value;
}

ordered_json json_of(const Validation& validation) {
  return Object()
      .add("classifier", validation.classifier)
      .add("accuracy", validation.accuracy)
      .add("standard_error", validation.standard_error)
      .json();
}

ordered_json json_of(const MemorisationScore& score) {
  return Object()
      .add("ratio", score.ratio)
      .add("low", score.low)
      .add("high", score.high)
      .add("samples", score.samples)
      .add("references", score.references)
      .add("closest", score.closest)
      .json();
}

}  // namespace

std::string Evaluation::to_json() const {
  ordered_json value = {{"format", kFormat}, {"version", kVersion}};
  value.update(Object()
                   .add("protocol", protocol)
                   .add("synthetic", synthetic)
                   .add("test", test)
                   .add("against", against)
                   .add("source", source)
                   .add("seeds", seeds)
                   .add("seconds", seconds)
                   .add("classes", classes)
                   .json());
  const bool is_public = !protocol.empty();
  if (is_public || !classifiers.empty()) value["classifiers"] = ordered_json::object();
  for (const ClassifierScore& score : classifiers)
    value["classifiers"][score.classifier] = json_of(score);
  if (is_public || !quality.empty()) value["quality"] = ordered_json::object();
  for (const Quality& one : quality) value["quality"][one.name] = json_of(one);
  if (suite) value["suite"] = json_of(*suite);
  if (validation) value["validation"] = json_of(*validation);
  if (memorisation) value["memorisation"] = json_of(*memorisation);
  return value.dump(2);
}

Evaluation Evaluation::from_json(std::string_view text, const std::string& where) {
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  if (!value.is_object() || value.value("format", ordered_json()) != kFormat)
    throw DataError(violation(where, "an evaluation that Obol wrote", "something else"));
  if (value.value("version", ordered_json()) != kVersion)
    throw DataError(violation("the version of an evaluation", fmt::format("{}", kVersion),
                              value.value("version", ordered_json()).dump(), where));
  const Part top(value, "", where);
  Evaluation result{.protocol = top.text("protocol"),
                    .synthetic = top.count("synthetic"),
                    .test = top.count("test"),
                    .against = top.text("against"),
                    .source = top.text("source"),
                    .seeds = top.count("seeds"),
                    .seconds = top.number("seconds"),
                    .classes = top.texts("classes"),
                    .classifiers = {},
                    .quality = {},
                    .suite = std::nullopt,
                    .validation = std::nullopt,
                    .memorisation = std::nullopt};
  for (const auto& [name, part] : top.parts("classifiers"))
    result.classifiers.push_back(score_of(name, part));
  for (const auto& [name, part] : top.parts("quality"))
    result.quality.push_back(quality_of(name, part));
  if (const auto part = top.part("suite")) result.suite = suite_of(*part);
  if (const auto part = top.part("validation")) result.validation = validation_of(*part);
  if (const auto part = top.part("memorisation")) result.memorisation = memorisation_of(*part);
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

}  // namespace obol::evaluate
