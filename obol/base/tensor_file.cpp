#include "obol/base/tensor_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "obol/base/error.h"
#include "obol/base/sha256.h"

namespace obol {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kSizeBytes = 8;
constexpr std::size_t kAlignment = 8;
constexpr std::uint64_t kLargestHeader = std::uint64_t{1} << 20;
constexpr std::size_t kMostTensors = 4096;
constexpr std::size_t kMostTexts = 64;
constexpr std::size_t kMostDimensions = 8;
constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestText = 1024;
constexpr std::size_t kSumDigits = 64;
constexpr const char* kMetadata = "__metadata__";
constexpr const char* kFormatKey = "format";
constexpr const char* kFormat = "obol-tensors-1";
constexpr const char* kSumKey = "sha256";
constexpr std::array<NumberType, 3> kTypes = {NumberType::kFloat32, NumberType::kFloat64,
                                              NumberType::kInt64};

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '/';
}

bool is_of_text(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), is_of_name);
}

bool is_text(std::string_view text) {
  return text.size() <= kLongestText && std::all_of(text.begin(), text.end(), is_of_text);
}

// Nothing where the product, in bytes, is beyond 63 bits.
std::optional<std::uint64_t> bytes_of(NumberType type, const std::vector<std::int64_t>& shape) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = size_of(type);
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    const auto times = static_cast<std::uint64_t>(size);
    if (times != 0 && bytes > kMost / times) return std::nullopt;
    bytes *= times;
  }
  return bytes;
}

std::string header_of(const TensorTexts& texts, const std::vector<NamedTensor>& tensors) {
  std::string header = fmt::format("{{\"{}\":{{", kMetadata);
  for (const auto& [key, text] : texts)
    header += fmt::format("{}\"{}\":\"{}\"", header.ends_with('{') ? "" : ",", key, text);
  header += '}';
  std::uint64_t from = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::uint64_t to = from + tensor.bytes.size();
    header +=
        fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", tensor.name,
                    name_of(tensor.type), fmt::join(tensor.shape, ","), from, to);
    from = to;
  }
  header += '}';
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return header;
}

void check_can_be_written(const TensorTexts& texts, const std::vector<NamedTensor>& tensors) {
  const auto require = [](bool holds, std::string_view what, std::string_view must,
                          std::string_view is) {
    if (!holds) throw InvalidArgument(violation(what, must, is));
  };
  for (const auto& [key, text] : texts) {
    require(is_name(key) && key != kFormatKey && key != kSumKey, "the name of a text", "a free one",
            key);
    require(is_text(text), key, "short printable ASCII without quotation marks", text);
  }
  TensorTexts names;
  for (const NamedTensor& tensor : tensors) {
    require(is_name(tensor.name) && tensor.name != kMetadata, "the name of a tensor",
            "letters, digits, '.', '_', '-' and '/'", tensor.name);
    require(names.emplace(tensor.name, "").second, tensor.name, "there once", "there twice");
    require(tensor.shape.size() <= kMostDimensions, tensor.name, "of 8 dimensions at most",
            "of more");
    require(bytes_of(tensor.type, tensor.shape) == tensor.bytes.size(), tensor.name,
            "as long as its shape says", "not");
  }
  require(texts.size() + 2 <= kMostTexts, "the texts of a file of tensors", "few", "many");
  require(tensors.size() <= kMostTensors, "the tensors of a file", "4096 at most", "more");
}

// Takes the header from the left; what comes next must be what the writer would have put there.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] bool is_next(std::string_view wanted) const {
    return text_.substr(at_, wanted.size()) == wanted;
  }
  void take(std::string_view wanted) {
    if (!is_next(wanted)) refuse(fmt::format("with {} here", wanted), "without");
    at_ += wanted.size();
  }
  std::string name() { return quoted(is_name, "a name"); }
  std::string text() { return quoted(is_text, "a short text"); }
  // From 0 to what 63 bits hold, in the one way to write it.
  std::int64_t number() {
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    const bool is_plain = error == std::errc() && *begin != '-' && (*begin != '0' || value == 0) &&
                          (*begin != '0' || stop == begin + 1);
    if (!is_plain) refuse("with a whole number here", "without");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }
  void finish() {
    const bool is_short = text_.size() - at_ < kAlignment && text_.size() % kAlignment == 0;
    if (!is_short || text_.find_first_not_of(' ', at_) != std::string_view::npos)
      refuse("at its end here, but for spaces", "longer");
  }
  [[noreturn]] void refuse(std::string_view must, std::string_view is) const {
    throw DataError(violation("the header of a file of tensors", must, is,
                              fmt::format("{}, offset {}", where_, kSizeBytes + at_)));
  }

 private:
  template <class Check>
  std::string quoted(const Check& check, std::string_view what) {
    take("\"");
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos || !check(text_.substr(at_, end - at_)))
      refuse(fmt::format("with {} here", what), "without");
    std::string found(text_.substr(at_, end - at_));
    at_ = end + 1;
    return found;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

NumberType type_from(HeaderReader& reader) {
  for (const NumberType type : kTypes) {
    const std::string quoted = fmt::format("\"{}\"", name_of(type));
    if (!reader.is_next(quoted)) continue;
    reader.take(quoted);
    return type;
  }
  reader.refuse("with F32, F64 or I64 here", "without");
}

std::vector<std::int64_t> shape_from(HeaderReader& reader) {
  std::vector<std::int64_t> shape;
  reader.take("[");
  while (!reader.is_next("]")) {
    if (!shape.empty()) reader.take(",");
    if (shape.size() == kMostDimensions) reader.refuse("of 8 dimensions at most", "of more");
    shape.push_back(reader.number());
  }
  reader.take("]");
  return shape;
}

// The place of the checksum's digits in the header.
std::size_t read_texts(HeaderReader& reader, TensorTexts& texts) {
  std::optional<std::size_t> sum;
  reader.take(fmt::format("{{\"{}\":{{", kMetadata));
  while (!reader.is_next("}")) {
    if (!texts.empty()) reader.take(",");
    const std::string key = reader.name();
    if (!texts.empty() && key <= texts.rbegin()->first)
      reader.refuse("with its texts in order, each once", "otherwise");
    if (texts.size() == kMostTexts) reader.refuse("of few texts", "of many");
    reader.take(":");
    if (key == kSumKey) sum = reader.at() + 1;
    texts[key] = reader.text();
  }
  reader.take("}");
  if (texts[kFormatKey] != kFormat) reader.refuse(fmt::format("of format {}", kFormat), "another");
  if (!sum || texts[kSumKey].size() != kSumDigits) reader.refuse("with a checksum", "without");
  return *sum;
}

// As it lies in `numbers`, at `from`.
NamedTensor read_tensor(HeaderReader& reader, std::span<const std::byte> numbers,
                        std::uint64_t from) {
  NamedTensor tensor;
  reader.take(",");
  tensor.name = reader.name();
  reader.take(":{\"dtype\":");
  tensor.type = type_from(reader);
  reader.take(",\"shape\":");
  tensor.shape = shape_from(reader);
  const auto bytes = bytes_of(tensor.type, tensor.shape);
  if (!bytes || *bytes > numbers.size() - from)
    reader.refuse(fmt::format("of tensors that fit the {} bytes left", numbers.size() - from),
                  "of larger ones");
  reader.take(fmt::format(",\"data_offsets\":[{},{}]}}", from, from + *bytes));
  tensor.bytes = numbers.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(*bytes));
  return tensor;
}

std::string sum_of(std::span<const std::byte> before, std::span<const std::byte> after) {
  Sha256 hash;
  hash.update(before);
  hash.update(std::string(kSumDigits, '0'));
  hash.update(after);
  return hash.hex();
}

template <class Number>
bool all_finite(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof(Number));
    if (!std::isfinite(number)) return false;
  }
  return true;
}

}  // namespace

std::string_view name_of(NumberType type) {
  switch (type) {
    case NumberType::kFloat32:
      return "F32";
    case NumberType::kFloat64:
      return "F64";
    case NumberType::kInt64:
      break;
  }
  return "I64";
}

std::size_t size_of(NumberType type) { return type == NumberType::kFloat32 ? 4 : 8; }

std::string in_words(NumberType type, const std::vector<std::int64_t>& shape) {
  return fmt::format("{} [{}]", name_of(type), fmt::join(shape, ", "));
}

bool is_finite(const NamedTensor& tensor) {
  if (tensor.type == NumberType::kFloat32) return all_finite<float>(tensor.bytes);
  return tensor.type != NumberType::kFloat64 || all_finite<double>(tensor.bytes);
}

std::string tensor_file(const TensorTexts& texts, const std::vector<NamedTensor>& tensors,
                        TensorSum sum) {
  check_can_be_written(texts, tensors);
  std::vector<NamedTensor> ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return size_of(a.type) > size_of(b.type);
  });
  TensorTexts all = texts;
  all[kFormatKey] = kFormat;
  all[kSumKey] = std::string(kSumDigits, '0');
  const std::string header = header_of(all, ordered);
  if (header.size() > kLargestHeader)
    throw InvalidArgument(violation("the header of a file of tensors",
                                    fmt::format("at most {} bytes", kLargestHeader),
                                    header.size()));
  const std::uint64_t size = header.size();
  std::string file(kSizeBytes, '\0');
  std::memcpy(file.data(), &size, kSizeBytes);
  file += header;
  std::size_t total = file.size();
  for (const NamedTensor& tensor : ordered) total += tensor.bytes.size();
  file.reserve(total);
  for (const NamedTensor& tensor : ordered)
    file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  if (sum == TensorSum::kElsewhere) return file;
  Sha256 hash;
  hash.update(file);
  const std::string key = fmt::format("\"{}\":\"", kSumKey);
  file.replace(file.find(key) + key.size(), kSumDigits, hash.hex());
  return file;
}

TensorFile::TensorFile(std::span<const std::byte> bytes, const std::string& where, TensorSum sum)
    : where_(where) {
  std::uint64_t size = 0;
  if (bytes.size() >= kSizeBytes) std::memcpy(&size, bytes.data(), kSizeBytes);
  if (bytes.size() < kSizeBytes || size > std::min(kLargestHeader, bytes.size() - kSizeBytes))
    throw DataError(violation("a file of tensors", "one in the layout of safetensors",
                              "something else, or cut short", where));
  const auto header = bytes.subspan(kSizeBytes, static_cast<std::size_t>(size));
  const auto numbers = bytes.subspan(kSizeBytes + header.size());
  HeaderReader reader({reinterpret_cast<const char*>(header.data()), header.size()}, where_);
  const std::size_t digits = kSizeBytes + read_texts(reader, texts_);
  std::uint64_t from = 0;
  while (!reader.is_next("}")) {
    if (tensors_.size() == kMostTensors) reader.refuse("of 4096 tensors at most", "of more");
    NamedTensor tensor = read_tensor(reader, numbers, from);
    if (!tensors_.empty() && size_of(tensor.type) > size_of(tensors_.back().type))
      reader.refuse("with the numbers of 8 bytes first", "otherwise");
    from += tensor.bytes.size();
    if (tensor.name == kMetadata || !by_name_.emplace(tensor.name, tensors_.size()).second)
      reader.refuse("with each name once", "with one twice");
    tensors_.push_back(std::move(tensor));
  }
  reader.take("}");
  reader.finish();
  if (from != numbers.size())
    throw DataError(violation("a file of tensors", fmt::format("of {} bytes of numbers", from),
                              fmt::format("of {}", numbers.size()), where));
  const std::string expected =
      sum == TensorSum::kElsewhere
          ? std::string(kSumDigits, '0')
          : sum_of(bytes.first(digits), bytes.subspan(digits + kSumDigits));
  if (expected != texts_[kSumKey])
    throw DataError(violation("the checksum of a file of tensors", "that of its content",
                              "another; the file is damaged", where));
  texts_.erase(kFormatKey);
  texts_.erase(kSumKey);
}

const NamedTensor* TensorFile::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace obol
