#include "obol/report/evaluation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"

namespace obol::report {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 20;
constexpr std::size_t kMostClasses = 1000;
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
      if (item.is_number()) result.push_back(item.get<double>());
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

Score score_of(const std::string& name, const Part& part) {
  return {.classifier = name,
          .accuracy = part.number("accuracy"),
          .deviation = part.number("standard_deviation"),
          .on_real = part.number("on_real"),
          .calibrated = part.number("calibrated"),
          .confusion = part.square("confusion"),
          .per_class = part.numbers("per_class")};
}

Quality quality_of(const std::string& name, const Part& part) {
  return {.name = name,
          .value = part.number("value"),
          .deviation = part.number("deviation"),
          .against = part.text("against"),
          .between_real = part.number("between_real"),
          .per_class = part.numbers("per_class")};
}

std::vector<SuiteScore> suite_of(const Part& suite) {
  std::vector<SuiteScore> scores;
  for (const auto& [name, value] : suite.members("classifiers")) {
    if (value->is_null()) continue;
    if (!value->is_number()) suite.refuse("suite.classifiers." + name, "a number");
    scores.push_back({name, value->get<double>()});
  }
  return scores;
}

}  // namespace

Evaluation parse_evaluation(std::string_view text, const std::string& where) {
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  if (!value.is_object() || value.value("format", ordered_json()) != "obol-evaluation")
    throw DataError(violation(where, "an evaluation that Obol wrote", "something else"));
  if (value.value("version", ordered_json()) != kVersion)
    throw DataError(violation("the version of an evaluation", fmt::format("{}", kVersion),
                              value.value("version", ordered_json()).dump(), where));
  const Part top(value, "", where);
  Evaluation result{.protocol = top.text("protocol"),
                    .synthetic = top.count("synthetic"),
                    .test = top.count("test"),
                    .source = top.text("source"),
                    .seeds = top.count("seeds"),
                    .seconds = top.number("seconds"),
                    .classes = top.texts("classes"),
                    .classifiers = {},
                    .quality = {},
                    .memorisation = std::nullopt,
                    .validation = std::nullopt,
                    .suite_records = std::nullopt,
                    .suite = {}};
  for (const auto& [name, part] : top.parts("classifiers"))
    result.classifiers.push_back(score_of(name, part));
  for (const auto& [name, part] : top.parts("quality"))
    result.quality.push_back(quality_of(name, part));
  if (const auto found = top.part("memorisation"))
    result.memorisation = Memorisation{.ratio = found->number("ratio"),
                                       .low = found->number("low"),
                                       .high = found->number("high"),
                                       .samples = found->count("samples")};
  if (const auto found = top.part("validation"))
    result.validation = Validation{.classifier = found->text("classifier"),
                                   .accuracy = found->number("accuracy"),
                                   .standard_error = found->number("standard_error")};
  if (const auto suite = top.part("suite")) {
    result.suite_records = suite->count("records");
    result.suite = suite_of(*suite);
  }
  return result;
}

std::optional<Evaluation> read_evaluation(const Path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return parse_evaluation(read_text(path, kLargestFile), path.string());
}

const Score* find_score(const Evaluation& evaluation, std::string_view classifier) {
  for (const Score& score : evaluation.classifiers)
    if (score.classifier == classifier) return &score;
  return nullptr;
}

const Quality* find_quality(const Evaluation& evaluation, std::string_view name) {
  for (const Quality& quality : evaluation.quality)
    if (quality.name == name) return &quality;
  return nullptr;
}

}  // namespace obol::report
