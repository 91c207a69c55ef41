#include "obol/federated/messages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::federated {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are sent as they are");

std::string bytes_of(std::span<const float> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

std::vector<float> numbers_of(const std::string& bytes, std::int64_t count, const char* what) {
  if (bytes.size() != static_cast<std::size_t>(count) * sizeof(float))
    throw DataError(violation(fmt::format("the size of {}", what), fmt::format("{} numbers", count),
                              fmt::format("{} bytes", bytes.size())));
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); }))
    throw DataError(violation(what, "finite", "not"));
  return numbers;
}

}  // namespace

wire::Question write_question(std::span<const float> images, std::span<const std::int64_t> labels) {
  wire::Question message;
  message.set_images(bytes_of(images));
  for (const std::int64_t label : labels) message.add_labels(static_cast<std::int32_t>(label));
  return message;
}

Question read_question(const wire::Question& message, const Form& form) {
  Question question{.images = numbers_of(message.images(), form.question_numbers(), "the images"),
                    .labels = {message.labels().begin(), message.labels().end()}};
  const auto wanted = form.steps * form.rows;
  if (static_cast<std::int64_t>(question.labels.size()) != wanted)
    throw DataError(
        violation("the number of labels", std::to_string(wanted), question.labels.size()));
  for (const std::int64_t label : question.labels)
    if (label < 0 || label >= form.classes)
      throw DataError(
          violation("a label", fmt::format("at least 0 and below {}", form.classes), label));
  return question;
}

wire::Answer write_answer(std::uint64_t number, std::span<const float> gradient) {
  wire::Answer message;
  message.set_number(number);
  message.set_gradient(bytes_of(gradient));
  return message;
}

std::vector<float> read_gradient(const wire::Answer& message, const Form& form, double longest) {
  std::vector<float> gradient =
      numbers_of(message.gradient(), form.answer_numbers(), "the gradient");
  double square = 0;
  for (const float x : gradient) square += static_cast<double>(x) * static_cast<double>(x);
  if (!(square <= longest * longest))
    throw DataError(violation("the length of a gradient", fmt::format("at most {:.6g}", longest),
                              fmt::format("{:.6g}", std::sqrt(square))));
  return gradient;
}

void check_version(std::uint32_t version) {
  if (version == kProtocol) return;
  throw DataError(
      fmt::format("the protocol must be {} at both ends, but is {} at the client: "
                  "update the {}",
                  kProtocol, version, version < kProtocol ? "client" : "server"));
}

void check_hello(const wire::Hello& message, const std::string& terms_hash) {
  check_version(message.version());
  if (message.terms() != terms_hash)
    throw DataError(
        "the terms that a client agrees to must be those of the server, but are others: joining "
        "again takes a new folder, whose epsilon adds to what the data have cost so far ('obol "
        "account --data' shows it)");
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string line(text.substr(0, kMost));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

double longest_answer(double clipped, double noise, std::int64_t numbers) {
  const double tail = std::sqrt(-2 * std::log(1e-9));
  return clipped + noise * (std::sqrt(static_cast<double>(numbers)) + tail);
}

}  // namespace obol::federated
