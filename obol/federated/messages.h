// Messages, checked: nothing that another machine sent is used before it went through here.
// Without LibTorch and without a network.
//
//   Form form{.steps = 5, .rows = 32, .shape = {1, 28, 28}, .classes = 10};
//   Question question = read_question(message, form);                       // at the client
//   std::vector<float> gradient = read_gradient(answer, form, longest);     // at the server
//
// All throw DataError on what does not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/federated/federation.pb.h"

namespace obol::federated {

// Both ends must have the same.
inline constexpr std::uint32_t kProtocol = 1;

// What every question and every answer of a training looks like.
struct Form {
  std::int64_t steps = 1;  // of a critic for one answer
  std::int64_t rows = 1;
  data::ImageShape shape;
  std::int64_t classes = 1;

  [[nodiscard]] std::int64_t answer_numbers() const noexcept { return rows * shape.pixels(); }
  [[nodiscard]] std::int64_t question_numbers() const noexcept { return steps * answer_numbers(); }
};

struct Question {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
};

wire::Question write_question(std::span<const float> images, std::span<const std::int64_t> labels);
Question read_question(const wire::Question& message, const Form& form);

wire::Answer write_answer(std::uint64_t number, std::span<const float> gradient);
// Finite and at most `longest` in l2. Not to be called on a refusal.
std::vector<float> read_gradient(const wire::Answer& message, const Form& form, double longest);

// The protocol and the terms are those of the server; the message tells the client what to do.
void check_version(std::uint32_t version);
void check_hello(const wire::Hello& message, const std::string& terms_hash);

// What another machine wrote, fit for one line of a log.
std::string shown(std::string_view text);

// An honest answer is longer than this with probability below 1e-9: what is clipped has at most
// length `clipped`, and noise of standard deviation s in d numbers exceeds s (sqrt(d) + t) with
// probability at most exp(-t^2 / 2).
double longest_answer(double clipped, double noise, std::int64_t numbers);

}  // namespace obol::federated
