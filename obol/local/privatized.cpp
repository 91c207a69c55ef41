#include "obol/local/privatized.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/data/npy.h"
#include "obol/local/published.h"
#include "obol/privacy/event_json.h"

namespace obol::local {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "obol-privatized";
constexpr std::int64_t kVersion = 1;
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 24;
constexpr std::int64_t kLargestSide = std::int64_t{1} << 14;

constexpr std::array<std::string_view, 2> kMechanismNames = {"gaussian", "laplace"};
constexpr std::array<std::string_view, 2> kTransformNames = {"none", "dct"};

template <class Enum>
Enum named(const std::array<std::string_view, 2>& names, std::string_view name, const char* what) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names.at(i) == name) return static_cast<Enum>(i);
  throw InvalidArgument(violation(what, fmt::format("{} or {}", names[0], names[1]), name));
}

std::string to_json(const Privatization& how) {
  ordered_json events = ordered_json::array();
  for (const privacy::PlannedEvent& one : how.events)
    events.push_back(
        {{"purpose", one.purpose}, {"event", ordered_json::parse(privacy::json_of(one.event))}});
  const ordered_json value = {{"format", kFormat},
                              {"version", kVersion},
                              {"mechanism", name_of(how.mechanism)},
                              {"scale", how.scale},
                              {"radius", how.radius},
                              {"sensitivity", how.sensitivity},
                              {"transform", name_of(how.transform)},
                              {"keep", how.keep},
                              {"channels", how.shape.channels},
                              {"height", how.shape.height},
                              {"width", how.shape.width},
                              {"events", events},
                              {"delta", how.delta},
                              {"class_names", how.class_names},
                              {"randomness", how.randomness},
                              {"fingerprint", how.fingerprint},
                              {"denoised", how.denoised}};
  return value.dump(1) + "\n";
}

std::int64_t side_from(privacy::StrictObject& object, const std::string& key) {
  const std::int64_t side = object.integer(key);
  if (side < 1 || side > kLargestSide)
    throw InvalidArgument(violation(key, fmt::format("from 1 to {}", kLargestSide), side));
  return side;
}

double positive_from(privacy::StrictObject& object, const std::string& key) {
  const double value = object.number(key);
  if (!std::isfinite(value) || value <= 0)
    throw InvalidArgument(violation(key, "finite and positive", value));
  return value;
}

std::vector<privacy::PlannedEvent> events_from(const json& list) {
  if (!list.is_array()) throw InvalidArgument(violation("events", "a list", list.type_name()));
  std::vector<privacy::PlannedEvent> events;
  for (const json& item : list) {
    privacy::StrictObject object(item, "an entry of events");
    const std::string purpose = object.text("purpose");
    events.push_back({.purpose = purpose, .event = privacy::event_from(object.member("event"))});
    object.finish();
  }
  return events;
}

// Of the noise over the sensitivity, by the event; nothing where it is not this mechanism's.
double multiplier_of(Mechanism mechanism, const privacy::Event& event) {
  if (const auto* one = std::get_if<privacy::LocalGaussian>(&event);
      one != nullptr && mechanism == Mechanism::kGaussian)
    return one->noise_multiplier;
  if (const auto* one = std::get_if<privacy::LocalLaplace>(&event);
      one != nullptr && mechanism == Mechanism::kLaplace)
    return one->scale;
  throw InvalidArgument(violation("the event of the records",
                                  fmt::format("that of the {} mechanism", name_of(mechanism)),
                                  privacy::name_of(event)));
}

// The parts are one by one what they can be; do they fit each other?
void check(const Privatization& how) {
  const std::size_t expected = how.class_names.empty() ? 1 : 2;
  if (how.events.size() != expected)
    throw InvalidArgument(
        violation("the number of events", fmt::format("{}", expected), how.events.size()));
  for (std::size_t i = 0; i < expected; ++i) {
    const privacy::PlannedEvent& one = how.events[i];
    if (one.purpose != (i == 0 ? kRecordsPurpose : kLabelsPurpose))
      throw InvalidArgument(violation(fmt::format("the purpose of event {}", i),
                                      i == 0 ? kRecordsPurpose : kLabelsPurpose, one.purpose));
    if (privacy::neighbours_of(one.event) != privacy::Neighbours::kPerson ||
        privacy::count_of(one.event) != 1)
      throw InvalidArgument(violation(fmt::format("event {}", i), "one release of each person",
                                      privacy::describe(one.event)));
  }
  // The noise is widened a little for what rounding adds to the sensitivity (privacy/noise.h).
  const double nominal = multiplier_of(how.mechanism, how.events[0].event) * how.sensitivity;
  if (!(how.scale >= nominal * (1 - 1e-12) && how.scale <= 2 * nominal))
    throw InvalidArgument(
        violation("scale", fmt::format("{}, as the event says", nominal), how.scale));
  if (!(how.keep > 0 && how.keep <= 1) || (how.transform == Transform::kNone && how.keep != 1))
    throw InvalidArgument(
        violation("keep", "above 0 and at most 1, and 1 without a transform", how.keep));
  const bool is_laplace = how.mechanism == Mechanism::kLaplace;
  if (!(how.delta >= 0 && how.delta < 1) || (how.delta == 0) != is_laplace)
    throw InvalidArgument(violation(
        "delta", is_laplace ? "0 for the Laplace mechanism" : "above 0 and below 1", how.delta));
}

Privatization how_from(const json& value) {
  privacy::StrictObject object(value, "a privatization");
  if (const std::string format = object.text("format"); format != kFormat)
    throw InvalidArgument(violation("format", kFormat, format));
  if (const std::int64_t version = object.integer("version"); version != kVersion)
    throw InvalidArgument(violation("version", "1", version));
  Privatization how;
  how.mechanism = mechanism_from(object.text("mechanism"));
  how.scale = positive_from(object, "scale");
  how.radius = positive_from(object, "radius");
  how.sensitivity = positive_from(object, "sensitivity");
  how.transform = transform_from(object.text("transform"));
  how.keep = object.number("keep");
  how.shape = {.channels = side_from(object, "channels"),
               .height = side_from(object, "height"),
               .width = side_from(object, "width")};
  how.events = events_from(object.member("events"));
  how.delta = object.number("delta");
  const json& names = object.member("class_names");
  if (!names.is_array()) throw InvalidArgument(violation("class_names", "a list", "none"));
  for (const json& name : names) {
    if (!name.is_string()) throw InvalidArgument(violation("a class name", "a text", "none"));
    how.class_names.push_back(name.get<std::string>());
  }
  how.randomness = object.text("randomness");
  how.fingerprint = object.text("fingerprint");
  how.denoised = object.text("denoised");
  object.finish();
  check(how);
  return how;
}

Privatization read_how(const Bytes& bytes, const data::ZipEntry& entry) {
  const data::ReadLimits limits{.max_bytes = kLongestText};
  const auto stream = data::open_zip_entry(bytes, entry, limits);
  const data::NpyHeader header = data::read_npy_header(*stream);
  const std::vector<std::uint8_t> text =
      data::read_npy_values<std::uint8_t>(*stream, header, limits);
  try {
    return how_from(json::parse(text.begin(), text.end()));
  } catch (const json::exception&) {
    throw DataError(violation("a privatization", "JSON", "not", stream->name()));
  } catch (const InvalidArgument& error) {
    throw DataError(fmt::format("{} ({})", error.what(), stream->name()));
  }
}

// An array of `entry` whose shape, as far as it is known, is `shape`; 0: of any size but none.
template <class T>
std::vector<T> read_array(const Bytes& bytes, const data::ZipEntry& entry,
                          const std::vector<std::uint64_t>& shape, const data::ReadLimits& limits) {
  const auto stream = data::open_zip_entry(bytes, entry, limits);
  const data::NpyHeader header = data::read_npy_header(*stream);
  bool fits = header.shape.size() == shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d)
    fits = shape[d] == 0 ? header.shape[d] > 0 : header.shape[d] == shape[d];
  if (!fits)
    throw DataError(violation("the array's shape",
                              fmt::format("[{}], 0 being any number", fmt::join(shape, ", ")),
                              fmt::format("[{}]", fmt::join(header.shape, ", ")), stream->name()));
  return data::read_npy_values<T>(*stream, header, limits);
}

}  // namespace

std::string_view name_of(Mechanism mechanism) {
  return kMechanismNames.at(static_cast<std::size_t>(mechanism));
}

std::string_view name_of(Transform transform) {
  return kTransformNames.at(static_cast<std::size_t>(transform));
}

Mechanism mechanism_from(std::string_view name) {
  return named<Mechanism>(kMechanismNames, name, "the mechanism");
}

Transform transform_from(std::string_view name) {
  return named<Transform>(kTransformNames, name, "the transform");
}

std::int64_t Privatized::count() const {
  return static_cast<std::int64_t>(records.size()) / how.shape.pixels();
}

std::optional<privacy::PublishedCount> published_count(const Privatization& how) {
  constexpr double kFormulaHoldsBelow = 0.5;
  if (how.delta >= kFormulaHoldsBelow) return std::nullopt;
  return published_locally(how.events.at(0).event, how.sensitivity / how.radius);
}

std::string fingerprint_of(const Privatized& data) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(data.records)));
  hash.update(std::as_bytes(std::span(data.labels)));
  return fmt::format("sha256:{}", hash.hex());
}

bool is_privatized(const Path& path) {
  if (!std::filesystem::is_regular_file(path) || path.extension() != ".npz") return false;
  const FileBytes bytes(path);
  for (const data::ZipEntry& entry : data::read_zip_directory(bytes))
    if (entry.name == "privatization.npy") return true;
  return false;
}

Privatized read_privatized(const Path& path, const data::ReadLimits& limits) {
  return read_privatized(FileBytes(path), limits);
}

Privatized read_privatized(const Bytes& bytes, const data::ReadLimits& limits) {
  const std::vector<data::ZipEntry> entries = data::read_zip_directory(bytes);
  const auto find = [&](std::string_view name) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const data::ZipEntry& entry) { return entry.name == name; });
  };
  const auto described = find("privatization.npy");
  const auto records = find("records.npy");
  if (described == entries.end() || records == entries.end())
    throw DataError(violation("privatised data", "a file written by 'obol privatize'",
                              "without the arrays records and privatization", bytes.name()));
  Privatized data{.how = read_how(bytes, *described), .records = {}, .labels = {}};
  const auto numbers = static_cast<std::uint64_t>(data.how.shape.pixels());
  data.records = read_array<float>(bytes, *records, {0, numbers}, limits);
  const bool is_finite = std::all_of(data.records.begin(), data.records.end(),
                                     [](float value) { return std::isfinite(value); });
  if (!is_finite)
    throw DataError(violation("the privatised records", "finite numbers", "not", bytes.name()));
  const auto labels = find("labels.npy");
  const std::size_t num_classes = data.how.class_names.size();
  if ((labels != entries.end()) != (num_classes > 0))
    throw DataError(violation("the array labels", num_classes > 0 ? "there" : "absent, as it says",
                              num_classes > 0 ? "missing" : "there", bytes.name()));
  if (num_classes == 0) return data;
  data.labels =
      read_array<std::int32_t>(bytes, *labels, {static_cast<std::uint64_t>(data.count())}, limits);
  for (const std::int32_t label : data.labels)
    if (label < 0 || static_cast<std::size_t>(label) >= num_classes)
      throw DataError(
          violation("a label", fmt::format("from 0 to {}", num_classes - 1), label, bytes.name()));
  return data;
}

void write_privatized(const Privatized& data, const Path& path) {
  PrivatizedWriter writer(path, data.how.shape, data.count());
  writer.add(data.records);
  if (!data.how.class_names.empty()) writer.add_labels(data.labels);
  Privatization how = data.how;
  how.fingerprint = writer.fingerprint();
  writer.commit(how);
}

PrivatizedWriter::PrivatizedWriter(const Path& path, const data::ImageShape& shape,
                                   std::int64_t count)
    : file_(path), zip_(file_) {
  const std::string header = data::npy_header<float>({count, shape.pixels()});
  const auto bytes = static_cast<std::uint64_t>(count) *
                     static_cast<std::uint64_t>(shape.pixels()) * sizeof(float);
  zip_.start("records.npy", header.size() + bytes);
  zip_.append(header);
}

void PrivatizedWriter::add(std::span<const float> records) {
  zip_.append(std::as_bytes(records));
  hash_.update(std::as_bytes(records));
}

void PrivatizedWriter::add_labels(std::span<const std::int32_t> labels) {
  zip_.end();
  const std::string header =
      data::npy_header<std::int32_t>({static_cast<std::int64_t>(labels.size())});
  zip_.start("labels.npy", header.size() + labels.size_bytes());
  zip_.append(header);
  zip_.append(std::as_bytes(labels));
  hash_.update(std::as_bytes(labels));
}

std::string PrivatizedWriter::fingerprint() const {
  return fmt::format("sha256:{}", Sha256(hash_).hex());
}

void PrivatizedWriter::commit(const Privatization& how) {
  check(how);
  zip_.end();
  const std::string text = to_json(how);
  zip_.add("privatization.npy", [&](const data::ZipWriter::Sink& sink) {
    const std::string header =
        data::npy_header<std::uint8_t>({static_cast<std::int64_t>(text.size())});
    sink(std::as_bytes(std::span(header)));
    sink(std::as_bytes(std::span(text)));
  });
  zip_.finish();
  file_.commit();
}

}  // namespace obol::local
