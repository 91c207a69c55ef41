#include "obol/method/gs_wgan/ask.h"

#include <vector>

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

// Numbers of a GPU stay there.
Tensor random_labels(std::int64_t classes, std::int64_t count, const torch::Device& device,
                     RandomBits& bits) {
  if (device.is_cpu()) return random_indices(classes, count, bits);
  return torch::randint(classes, {count}, torch::TensorOptions(device).dtype(torch::kLong));
}

}  // namespace

Asked ask(Trainee& trainee, std::int64_t classes, std::int64_t steps, std::int64_t n,
          RandomBits& bits) {
  const Tensor labels = random_labels(classes, steps * n, trainee.device(), bits);
  const std::int64_t before = (steps - 1) * n;
  std::vector<Tensor> parts;
  if (before > 0) {
    const torch::NoGradGuard no_grad;
    parts.push_back(trainee.generate(labels.narrow(0, 0, before), bits));
  }
  Asked asked;
  asked.last = trainee.generate(labels.narrow(0, before, n), bits);
  parts.push_back(asked.last.detach());
  const Tensor images = torch::cat(parts);
  asked.question.images = images.unflatten(0, {steps, n});
  asked.question.labels = labels.view({steps, n});
  return asked;
}

}  // namespace obol::method::gs_wgan
