#include "obol/privacy/event_json.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

using nlohmann::json;

std::string refusal(const std::string& text) {
  try {
    event_from(json::parse(text));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(EventJson, HasOneForm) {
  EXPECT_EQ(
      json_of(SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 1, .count = 7}),
      R"({"mechanism":"SampledGaussian","sampling_rate":0.01,"noise_multiplier":1,"count":7})");
  EXPECT_EQ(json_of(Laplace{.scale = 1e-5, .count = 1}),
            R"({"mechanism":"Laplace","scale":1e-05,"count":1})");
}

TEST(EventJson, LeadsBackToEveryEvent) {
  for (const Event& event :
       {Event(SampledGaussian{1.0 / 3, 0.1 + 0.2, 5}), Event(SampledLaplace{1e-300, 3, 1}),
        Event(Gaussian{std::numeric_limits<double>::max(), 2}),
        Event(Laplace{std::numeric_limits<double>::denorm_min(), 2}),
        Event(FixedBatchGaussian{1, 1e22, 9}), Event(ShardGaussian{0.25, 8, 0}),
        Event(LocalGaussian{0.7, std::numeric_limits<std::int64_t>::max()}),
        Event(LocalLaplace{12345678.9, 4}), Event(LocalRandomizedResponse{0.3, 10, 1})}) {
    const Event again = event_from(json::parse(json_of(event)));
    EXPECT_TRUE(same_mechanism(event, again)) << json_of(event);
    EXPECT_EQ(count_of(event), count_of(again));
  }
}

TEST(EventJson, SaysWhatIsWrong) {
  EXPECT_EQ(refusal("7"), "an event must be a JSON object, but is number");
  EXPECT_EQ(refusal("{}"), "an event must have the key mechanism, but has not");
  EXPECT_EQ(refusal(R"({"mechanism":"Gausian"})"),
            R"(the mechanism must be one of the known events, but is "Gausian")");
  EXPECT_EQ(refusal(R"({"mechanism":7})"), "mechanism must be a text, but is number");
  EXPECT_EQ(refusal(R"({"mechanism":"Gaussian","noise_multiplier":1})"),
            "an event must have the key count, but has not");
  EXPECT_EQ(refusal(R"({"mechanism":"Gaussian","noise_multiplier":1,"count":1,"scale":2})"),
            "an event must have no key but count, mechanism, noise_multiplier, but has \"scale\"");
  EXPECT_EQ(refusal(R"({"mechanism":"Gaussian","noise_multiplier":"1","count":1})"),
            "noise_multiplier must be a number, but is string");
  EXPECT_EQ(refusal(R"({"mechanism":"Gaussian","noise_multiplier":1,"count":1.5})"),
            "count must be a whole number of 64 bits, but is 1.5");
  EXPECT_EQ(refusal(R"({"mechanism":"Gaussian","noise_multiplier":1,"count":-1})"),
            "count must be not negative, but is -1");
  EXPECT_EQ(refusal(R"({"mechanism":"Gaussian","noise_multiplier":1,"count":9223372036854775808})"),
            "count must be below 2^63, but is 9223372036854775808");
  EXPECT_EQ(
      refusal(
          R"({"mechanism":"SampledGaussian","sampling_rate":1.5,"noise_multiplier":1,"count":1})"),
      "sampling_rate must be above 0 and at most 1, but is 1.5");
}

TEST(EventJson, RefusesTextsThatAreNotUtf8) { EXPECT_THROW(json_of("\xff"), InvalidArgument); }

}  // namespace
}  // namespace obol::privacy
