#include "obol/app/privatize.h"

#include <algorithm>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "obol/app/request.h"
#include "obol/base/error.h"

namespace obol::app {
namespace {

void require_npz(const std::string& path) {
  if (!path.ends_with(".npz")) throw BadRequest("out", "FILE.npz", path);
}

// The first records of the clean data, as floats.
std::vector<float> clean_records(const data::RecipeData& source, const data::ImageShape& shape) {
  constexpr std::int64_t kMost = 1000;
  const data::Dataset clean = data::read(*source.source, source.options());
  if (clean.shape != shape)
    throw DataError(
        violation("the clean images", to_string(shape), to_string(clean.shape), *source.source));
  const auto most = static_cast<std::size_t>(kMost * shape.pixels());
  return std::visit(
      [&](const auto& pixels) {
        const float largest = sizeof(pixels[0]) == 1 ? 255.0F : 1.0F;
        std::vector<float> values(std::min(most, static_cast<std::size_t>(pixels.size())));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<float>(pixels[i]) / largest;
        return values;
      },
      clean.pixels);
}

local::Choice given_choice(const DenoiseRequest& request, const data::ImageShape& shape) {
  if (!request.wavelet)
    throw InvalidArgument("--wavelet must be given without --oracle, but is missing");
  if (!request.levels) throw BadRequest("levels", "given", "missing");
  const std::int64_t most = local::most_levels(shape);
  if (*request.levels < 1 || *request.levels > most)
    throw BadRequest("levels", fmt::format("from 1 to {}", most), *request.levels);
  if (!request.threshold) throw BadRequest("threshold", "given", "missing");
  return {.wavelet = *request.wavelet,
          .levels = static_cast<int>(*request.levels),
          .threshold = *request.threshold};
}

}  // namespace

local::PrivatizeOutcome privatize(const PrivatizeRequest& request) {
  const ReporterScope scope(request.reporter);
  require_npz(request.out);
  plan(request.options, {.channels = 1, .height = 1, .width = 1}, {"0", "1"});
  data::ReadOptions reading = request.source.options();
  reading.reading = data::Reading::kPrivate;
  const std::string& source = *request.source.source;
  // Labels that are dropped need no classes.
  if (!request.options.label_epsilon && !data::declared(source, reading).classes)
    reading.declared.classes = 0;
  const auto records = data::stream(source, reading);
  return local::privatize(*records, request.options,
                          {.path = request.out, .count = request.count, .seed = request.seed});
}

DenoiseAnswer denoise(const DenoiseRequest& request) {
  const ReporterScope scope(request.reporter);
  require_npz(request.out);
  const bool is_oracle = request.clean.source.has_value();
  if (is_oracle == (request.levels || request.threshold))
    throw InvalidArgument(
        "either --levels and --threshold must be given, or --oracle, but not both");
  local::Privatized data = local::read_privatized(request.path);
  if (!data.how.denoised.empty())
    throw DataError(violation(request.path, "as it was privatised", "denoised already"));
  DenoiseAnswer answer;
  if (!is_oracle) {
    local::denoise(data, given_choice(request, data.how.shape), local::Selection::kGiven);
  } else {
    const std::vector<float> clean = clean_records(request.clean, data.how.shape);
    const double before = mean_squared_distance(data, clean);
    local::denoise(data, best_choice(data, clean, request.wavelet), local::Selection::kOracle);
    answer.gain = {before, mean_squared_distance(data, clean)};
  }
  write_privatized(data, request.out);
  answer.how = data.how.denoised;
  return answer;
}

}  // namespace obol::app
