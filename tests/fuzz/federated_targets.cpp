#include "tests/fuzz/federated_targets.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "obol/base/error.h"
#include "obol/federated/messages.h"
#include "obol/federated/terms.h"

namespace obol::fuzz {
namespace {

using Input = std::span<const std::byte>;

const federated::Form kForm{.steps = 2, .rows = 1, .shape = {1, 2, 2}, .classes = 3};
constexpr double kLongest = 2;

// gRPC refuses what cannot be parsed before anybody sees it.
template <class Message>
Message parsed(Input input) {
  Message message;
  if (!message.ParseFromArray(input.data(), static_cast<int>(input.size())))
    throw DataError("a message must be one, but is not");
  return message;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace

void read_from_client(Input input) {
  const auto message = parsed<federated::wire::FromClient>(input);
  if (message.has_hello()) return federated::check_hello(message.hello(), std::string(64, '0'));
  if (!message.has_answer()) throw DataError("a client must say something, but does not");
  const federated::wire::Answer& answer = message.answer();
  if (answer.has_refusal()) {
    for (const char c : federated::shown(answer.refusal()))
      require(c >= ' ' && c <= '~', "a refusal is shown that is no line");
    return;
  }
  double square = 0;
  for (const float x : federated::read_gradient(answer, kForm, kLongest))
    square += static_cast<double>(x) * static_cast<double>(x);
  require(std::sqrt(square) <= kLongest, "an answer is accepted that is too long");
}

void read_question(Input input) {
  const federated::Question question =
      federated::read_question(parsed<federated::wire::Question>(input), kForm);
  for (const float x : question.images) require(std::isfinite(x), "an image is not finite");
  for (const std::int64_t label : question.labels)
    require(label >= 0 && label < kForm.classes, "a label is none");
}

void read_terms(Input input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const federated::Terms terms = federated::read_terms(text);
  require(std::isfinite(terms.longest()), "an answer of any length would be accepted");
  require(terms.form.question_numbers() > 0, "a question would hold nothing");
}

}  // namespace obol::fuzz
