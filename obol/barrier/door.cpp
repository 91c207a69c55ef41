#include "obol/barrier/door.h"

#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>

#include <ATen/Parallel.h>

#include "obol/barrier/barrier.h"
#include "obol/barrier/gpu.h"
#include "obol/barrier/mechanism.h"
#include "obol/base/error.h"
#include "obol/privacy/noise.h"

namespace obol::barrier {
namespace {

double multiplier_of(const privacy::Event& event) {
  return std::visit(
      [](const auto& one) -> double {
        using E = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<E, privacy::SampledGaussian> ||
                      std::is_same_v<E, privacy::Gaussian>)
          return one.noise_multiplier;
        else
          throw UnsupportedEvent("a release must be Gaussian, but its event is not");
      },
      event);
}

// Secure bits have no order to keep: each thread draws its own.
template <class Real>
void add_noise(RandomBits& bits, std::span<Real> values, const privacy::GaussianNoise& noise) {
  if (dynamic_cast<SecureBits*>(&bits) == nullptr) {
    privacy::add_gaussian(bits, values, noise);
    return;
  }
  constexpr std::int64_t kWorthAThread = 16384;
  privacy::GaussianNoise of_part = noise;
  of_part.dimension = values.size();
  at::parallel_for(0, static_cast<std::int64_t>(values.size()), kWorthAThread,
                   [&](std::int64_t begin, std::int64_t end) {
                     SecureBits own;
                     privacy::add_gaussian(own,
                                           values.subspan(static_cast<std::size_t>(begin),
                                                          static_cast<std::size_t>(end - begin)),
                                           of_part);
                   });
}

}  // namespace

Door::Door(privacy::BudgetGuard& guard, RandomBits& bits) : guard_(guard), bits_(bits) {}
Door::~Door() = default;

void Door::pay(std::string_view purpose, const privacy::Event& event, Times times) {
  if (recorded_ != nullptr) {
    if (times == Times::kOnce)
      throw Error("what is released once must not be part of a step that is replayed");
    recorded_->push_back({std::string(purpose), event});
    return;
  }
  if (times == Times::kOnce)
    guard_.pay_once(purpose, event);
  else
    guard_.pay(purpose, event);
}

torch::Tensor Door::noisy(const torch::Tensor& opened, const privacy::Event& event,
                          const Bound& bound) {
  const privacy::GaussianNoise noise{.sensitivity = bound.sensitivity,
                                     .noise_multiplier = multiplier_of(event)};
  if (opened.is_cuda()) {
    if (!device_bits_) device_bits_ = std::make_unique<gpu::Bits>(bits_, opened.device());
    return bound.clip > 0 ? gpu::clipped_with_noise(*device_bits_, opened, bound.clip, noise)
                          : gpu::with_noise(*device_bits_, opened, noise);
  }
  // Counts and sums in double keep all their digits until they have noise.
  const bool is_wide = bound.clip == 0 && opened.scalar_type() == torch::kDouble;
  torch::Tensor noisy = torch::empty(opened.sizes(), is_wide ? torch::kDouble : torch::kFloat)
                            .copy_(bound.clip > 0 ? clip_rows(opened, bound.clip) : opened);
  const auto count = static_cast<std::size_t>(noisy.numel());
  if (is_wide)
    add_noise(bits_, std::span(noisy.data_ptr<double>(), count), noise);
  else
    add_noise(bits_, std::span(noisy.data_ptr<float>(), count), noise);
  return noisy;
}

void Door::pay(const std::vector<Toll>& tolls) {
  for (const Toll& toll : tolls) guard_.pay(toll.purpose, toll.event);
}

}  // namespace obol::barrier
